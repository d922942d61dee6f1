"""The contraction constants against the best channel there is, computed on small alphabets.

Every bound is compared with the supremum over all epsilon-LDP channels (a linear program over
staircase columns). Where a constant is sharp, nine tenths of it must fail.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import special

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.core.randomised_response import randomised_response_epsilon
from minimax.methods import divergences, fano
from minimax.methods.binary_reports import label_contraction
from minimax.methods.divergences import staircase_supremum
from minimax.problems.local_regression import lower as local_regression
from minimax.problems.local_regression.reports import label_information
from tests.effort import part
from tests.strategies import log_floats
from verify import channels as command
from verify import contraction
from verify.channels import (
    FROM_TV,
    Divergence,
    chi2,
    cube,
    energy,
    hellinger,
    kl,
    supremum,
    worst_pair,
)

Array = np.ndarray
CHECKS = settings(max_examples=part(15, of=40), deadline=None, derandomize=True)


@st.composite
def pairs(draw: st.DrawFn, zeros: bool = True) -> Array:
    """Two laws on four letters, sometimes close; with `zeros` some letters may be missing."""
    chances = st.floats(0.01, 1) | st.just(0.0) if zeros else st.floats(0.01, 1)
    weights = st.lists(chances, min_size=4, max_size=4)
    drawn = [np.array(draw(weights)) for _ in range(2)]
    assume(all(w.sum() > 0 for w in drawn))
    first, second = (w / w.sum() for w in drawn)
    mix = draw(st.sampled_from([0.0, 0.5, 0.95]))
    return np.array([first, mix * first + (1 - mix) * second])


@pytest.mark.parametrize("name", FROM_TV)
@CHECKS
@given(laws=pairs(), epsilon=log_floats(0.05, 6))
def test_no_channel_beats_the_bound_from_total_variation(
    name: str, laws: Array, epsilon: float
) -> None:
    divergence, bound = FROM_TV[name]
    t = float(fano.pairwise_tv(laws)[0, 1])
    assume(t > 1e-3)
    assert supremum(divergence, laws, epsilon) <= bound(epsilon, t) * (1 + 1e-7) + 1e-12


@pytest.mark.parametrize("name", FROM_TV)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_bounds_are_reached_by_randomised_response(name: str, epsilon: float) -> None:
    divergence, bound = FROM_TV[name]
    reached = supremum(divergence, np.eye(2), epsilon)
    assert reached == pytest.approx(bound(epsilon, 1.0), rel=1e-7)
    assert reached > 0.9 * bound(epsilon, 1.0)  # nine tenths of the constant is refuted


@CHECKS
@given(epsilon=log_floats(0.01, 6), t=st.floats(0.001, 1))
def test_the_classical_constant_is_implied(epsilon: float, t: float) -> None:
    sharper = divergences.symmetrised_kl(epsilon, t)
    classical = divergences.symmetrised_kl_quadratic(epsilon, t)
    assert sharper <= classical * (1 + 1e-12)
    assert divergences.information_from_tv(epsilon, t**2) == pytest.approx(classical / 2)


@pytest.mark.parametrize(
    ("epsilon", "t", "sharper", "classical"),
    [
        (0.1, 0.3, 1.035, 1.106), (1.0, 0.3, 1.269, 2.925), (4.0, 0.3, 1.018, 160.3),
        (0.1, 1.0, 1.000, 1.107), (1.0, 1.0, 1.000, 3.195), (4.0, 1.0, 1.000, 372.5),
    ],
)  # fmt: skip
def test_the_slack_of_the_symmetrised_divergence(
    epsilon: float, t: float, sharper: float, classical: float
) -> None:
    """Bound over supremum at the pair (1-t, t, 0), (1-t, 0, t), the worst at this distance."""
    laws = worst_pair(t)
    truth = supremum(FROM_TV["symmetrised kl"][0], laws, epsilon)
    assert divergences.symmetrised_kl(epsilon, t) / truth == pytest.approx(sharper, rel=1e-3)
    old = divergences.symmetrised_kl_quadratic(epsilon, t)
    assert old / truth == pytest.approx(classical, rel=1e-3)


@pytest.mark.parametrize("divergence", [kl, chi2, hellinger])
@CHECKS
@given(laws=pairs(zeros=False), epsilon=log_floats(0.05, 6))
def test_strong_contraction(divergence: Divergence, laws: Array, epsilon: float) -> None:
    data = float(np.sum(divergence(*laws)))
    assume(data > 1e-6)
    factor = divergences.strong_contraction_pure(epsilon)
    assert supremum(divergence, laws, epsilon) <= factor * data * (1 + 1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_strong_contraction_is_sharp(epsilon: float) -> None:
    laws = np.array([[0.501, 0.499], [0.5, 0.5]])
    reached = supremum(chi2, laws, epsilon) / float(np.sum(chi2(*laws)))
    assert reached == pytest.approx(divergences.strong_contraction_pure(epsilon), rel=1e-6)


def channels() -> st.SearchStrategy[Array]:
    """Channels with 4 inputs and 5 reports, from nearly constant to revealing."""
    return st.builds(
        lambda seed, spread: special.softmax(
            spread * np.random.default_rng(seed).standard_normal((4, 5)), axis=1
        ),
        st.integers(0, 2**20),
        log_floats(0.02, 3),
    )


def levels(K: Array) -> tuple[float, float, float]:
    """The largest D_2, KL and D_{1/2} between inputs."""
    a, b = K[:, None, :], K[None, :, :]
    order_two = np.log((a**2 / b).sum(axis=2)).max()
    half = -2 * np.log(np.sqrt(a * b).sum(axis=2)).min()
    return float(order_two), float(kl(a, b).sum(axis=2).max()), float(half)


@CHECKS
@given(K=channels(), laws=pairs())
def test_renyi_and_concentrated_channels(K: Array, laws: Array) -> None:
    t = float(fano.pairwise_tv(laws)[0, 1])
    assume(t > 1e-3)
    order_two, largest, half = levels(K)
    reports = laws @ K
    found = float(np.sum(chi2(*reports)))
    assert found <= divergences.chi2_from_tv_renyi(order_two, t) * (1 + 1e-9)
    assert np.sum(kl(*reports)) <= divergences.kl_from_tv_bounded(largest, t) * (1 + 1e-9)
    assert half <= largest + 1e-12 <= order_two + 2e-12
    if (laws > 0).all():
        factor = divergences.strong_contraction(half)
        assert found <= factor * np.sum(chi2(*laws)) * (1 + 1e-9)
        assert np.sum(kl(*reports)) <= factor * np.sum(kl(*laws)) * (1 + 1e-9)


def test_renyi_bounds_are_reached_by_two_inputs() -> None:
    K = np.array([[0.7, 0.3], [0.4, 0.6]])
    order_two, largest, _ = levels(K)
    pair = K if np.sum(chi2(*K)) > np.sum(chi2(*K[::-1])) else K[::-1]
    assert np.sum(chi2(*pair)) > 0.9 * divergences.chi2_from_tv_renyi(order_two, 1.0)
    pair = K if np.sum(kl(*K)) > np.sum(kl(*K[::-1])) else K[::-1]
    assert np.sum(kl(*pair)) > 0.9 * divergences.kl_from_tv_bounded(largest, 1.0)


# --- What one report tells about a record ---------------------------------------------------------


@pytest.mark.parametrize("p", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 4.0])
def test_report_energy_is_above_the_best_channel(p: int, epsilon: float) -> None:
    best = staircase_supremum(lambda c: energy(c, p), 2**p, epsilon)
    at = {"p": p, "epsilon": epsilon}
    plain = local_regression.report_energy(Pure, at)
    sharp = local_regression.report_energy(Pure, at, sharp=True)
    assert best <= sharp * (1 + 1e-9)
    assert sharp <= plain * (1 + 1e-12)
    if p == 1 or epsilon <= 0.1:
        assert best > 0.9 * plain  # here the constant is sharp
    assert best > 0.64 * sharp


def test_report_energy_at_known_values() -> None:
    for epsilon, best, plain, sharp in ((0.5, 0.0600, 0.0638, 0.0623), (2.0, 0.756, 1.381, 0.949)):
        at = {"p": 3, "epsilon": epsilon}
        found = staircase_supremum(lambda c: energy(c, 3), 8, epsilon)
        assert found == pytest.approx(best, rel=2e-3)
        assert local_regression.report_energy(Pure, at) == pytest.approx(plain, rel=2e-3)
        assert local_regression.report_energy(Pure, at, sharp=True) == pytest.approx(
            sharp, rel=2e-3
        )


@CHECKS
@given(K=channels())
def test_report_energy_of_renyi_and_concentrated_channels(K: Array) -> None:
    order_two, largest, _ = levels(K)
    found = float(energy(K.T, 2).sum())
    by_renyi = local_regression.report_energy(Renyi, {"p": 2, "alpha": 2.0, "epsilon": order_two})
    assert found <= by_renyi * (1 + 1e-9)
    # kappa + 2 rho = D_2 and kappa + rho = KL fit this channel at the orders that the proof uses.
    offset = {"p": 2, "kappa": 2 * largest - order_two, "rho": order_two - largest}
    if offset["kappa"] > 0:
        assert found <= local_regression.report_energy(OffsetConcentrated, offset) * (1 + 1e-9)


def hockey_stick(K: Array, epsilon: float) -> float:
    """The largest delta at this epsilon between inputs."""
    excess = K[:, None, :] - math.exp(epsilon) * K[None, :, :]
    return float(np.maximum(excess, 0).sum(axis=2).max())


@CHECKS
@given(K=channels(), epsilon=log_floats(1e-3, 2))
def test_a_coordinate_of_a_private_report(K: Array, epsilon: float) -> None:
    """E omega_j^2 by enumeration, against the share T^2 of every definition that K satisfies."""
    omega = K.T @ cube(2) / 4 / K.mean(axis=0)[:, None]
    found = float((K.mean(axis=0) @ omega**2).max())
    _, kl, half = levels(K)
    assert found <= divergences.strong_contraction(half) * (1 + 1e-9)
    assert found <= label_contraction(ZeroConcentrated, {"rho": kl}) * (1 + 1e-9)
    at = {"epsilon": epsilon, "delta": hockey_stick(K, epsilon)}
    for model, budget in ((Renyi, {"alpha": 1.5, "epsilon": kl}), (Approximate, at)):
        assert found <= label_contraction(model, budget) * (1 + 1e-9)
        top = local_regression.report_energy(model, {"p": 2, **budget})
        assert float(energy(K.T, 2).sum()) <= top * (1 + 1e-9)


@pytest.mark.parametrize("rho", [1e-3, 0.125, 1.0, 5.0])
def test_the_share_of_a_concentrated_report_is_that_of_randomised_response(rho: float) -> None:
    """Nine tenths of T^2 are refuted by it, and 1 - e^-rho is up to twice as large."""
    e = randomised_response_epsilon(ZeroConcentrated(rho))
    share = label_contraction(ZeroConcentrated, {"rho": rho})
    assert math.tanh(e / 2) ** 2 == pytest.approx(share, rel=1e-9)
    assert share < -math.expm1(-rho)


@CHECKS
@given(
    logs=st.lists(st.floats(-4, 4), min_size=6, max_size=6),
    weights=st.lists(st.floats(0.01, 1), min_size=6, max_size=6),
    tilt=st.floats(0.01, 1),
)
def test_what_a_report_tells_about_a_tilted_label(
    logs: list[float], weights: list[float], tilt: float
) -> None:
    """Channels with two inputs, far from symmetric, against all that their KL allows."""
    K = np.array(weights) * np.exp(np.array([np.zeros(6), logs]))
    K /= K.sum(axis=1, keepdims=True)
    largest = float(max(np.sum(kl(*K)), np.sum(kl(*K[::-1]))))
    assume(largest > 1e-6)
    chances = np.array([1 + tilt, 1 - tilt]) / 2 @ K
    found = float(np.sum(kl(chances, K.mean(axis=0)))) / tilt**2
    for model, at in ((ZeroConcentrated, {"rho": largest}), (Renyi, {"epsilon": largest})):
        assert found <= label_information(model, at, tilt) * (1 + 1e-9)


def test_the_label_information_needs_the_one_sided_ratio() -> None:
    """A report that nearly rules a value out tells more of a rare label than c(1) T^2 says."""
    rare = 0.02
    K = np.array([[1 - rare, rare], [1 - rare * 1e-3, rare * 1e-3]])
    largest = float(max(np.sum(kl(*K)), np.sum(kl(*K[::-1]))))
    share = label_contraction(ZeroConcentrated, {"rho": largest})
    tilt = 0.999
    chances = np.array([1 - tilt, 1 + tilt]) / 2 @ K
    found = float(np.sum(kl(chances, K.mean(axis=0)))) / tilt**2
    assert found <= label_information(ZeroConcentrated, {"rho": largest}, tilt)
    omega = (K[0] - K[1]) / K.sum(axis=0)
    energy_of = float(K.mean(axis=0) @ omega**2)
    assert found > 1.2 * local_regression.entropy_ratio(tilt) * energy_of
    assert energy_of <= share


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 1e-3), (0.2, 0.3)])
def test_the_share_of_an_approximate_report_is_reached(epsilon: float, delta: float) -> None:
    """By asking about one coordinate; a report that has a chance to reveal it is not pure."""
    kept = 1 / (1 + math.exp(-epsilon))
    plus = np.array([delta, 0, (1 - delta) * kept, (1 - delta) * (1 - kept)])
    K = np.array([plus if w[0] > 0 else plus[[1, 0, 3, 2]] for w in cube(3)])
    assert hockey_stick(K, epsilon) == pytest.approx(delta)
    share = label_contraction(Approximate, {"epsilon": epsilon, "delta": delta})
    assert float(energy(K.T, 3).sum()) == pytest.approx(share)
    assert share > divergences.strong_contraction_pure(epsilon) + delta / 2  # delta matters


@pytest.mark.parametrize("mu", [0.1, 0.7, 2.0])
def test_gaussian_reports_of_records(mu: float) -> None:
    """z = (mu/2) <a, w>/|a|_1 + N: mu-GDP; omega by quadrature over z."""
    z = np.linspace(-12.0, 12.0, 4001)
    for weights in ([1.0, 0.0], [0.5, 0.5], [0.8, 0.2]):
        K = np.exp(-((z - mu / 2 * (cube(2) @ weights)[:, None]) ** 2) / 2) / math.sqrt(2 * math.pi)
        total = float(energy(K.T, 2).sum() * (z[1] - z[0]))
        share = label_contraction(Gaussian, {"mu": mu})
        assert total <= local_regression.report_energy(Gaussian, {"p": 2, "mu": mu}) * (1 + 1e-9)
        if weights == [1.0, 0.0]:
            assert total == pytest.approx(share, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 2.0])
def test_report_information_and_variance(epsilon: float) -> None:
    k = 10
    uniform = np.eye(k)
    information = staircase_supremum(lambda c: fano.mutual_information(c, uniform), k, epsilon)
    bound = divergences.report_information(epsilon)
    assert 0.9 * bound < information <= bound * (1 + 1e-9)
    variance = staircase_supremum(lambda c: c.var(axis=1) / c.mean(axis=1), k, epsilon)
    top = divergences.report_variance(epsilon)
    assert 0.9 * top < variance <= top * (1 + 1e-9)


@pytest.mark.parametrize("t", [1e-1, 1e-3, 1e-5])
def test_the_supremum_is_found_at_every_scale(t: float) -> None:
    """Close laws: every divergence shrinks like t^2, far below a solver's absolute tolerance."""
    epsilon = 0.1
    laws = worst_pair(t)
    for divergence in (chi2, hellinger):
        first, second = laws @ _selection(epsilon)
        reached = float(np.sum(divergence(first, second)))
        found = supremum(divergence, laws, epsilon)
        assert reached * (1 - 1e-9) <= found < 1.6 * reached


def _selection(epsilon: float) -> Array:
    """Report one of three letters, the true one with odds e^epsilon: a channel to compare with."""
    odds = np.ones((3, 3)) + np.expm1(epsilon) * np.eye(3)
    return odds / odds.sum(axis=1, keepdims=True)


def test_the_program_refuses_large_alphabets() -> None:
    with pytest.raises(ValueError, match="inputs"):
        staircase_supremum(lambda c: c[:, 0], 15, 1.0)


# --- The command ----------------------------------------------------------------------------------


def test_the_slack_is_printed(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "slack.json"
    assert command.main(["--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "0 below the supremum" in out
    assert "smaller: none" in out
    rows = json.loads(path.read_text())["slacks"]
    assert min(row["slack"] for row in rows) == pytest.approx(1, abs=1e-6)
    assert all(row["bound"] >= row["supremum"] * (1 - 1e-7) for row in rows)


@pytest.mark.parametrize("factor", [0.8, 1.25])
def test_a_wrong_constant_is_seen(factor: float, monkeypatch: pytest.MonkeyPatch) -> None:
    divergence, bound = FROM_TV["chi2"]
    wrong = {"chi2": (divergence, lambda e, t: factor * bound(e, t))}
    monkeypatch.setattr(command, "FROM_TV", wrong)
    assert command.main([]) == 1


def test_the_old_name_of_the_command_names_the_new_one_and_runs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "main", lambda argv: 7 if argv == ["--json", "x"] else 0)
    assert contraction.main(["--json", "x"]) == 7
    assert "verify.channels" in capsys.readouterr().err
