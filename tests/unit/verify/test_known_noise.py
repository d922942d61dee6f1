"""Losses less what is known of their noise: the same mean, narrower, and blind to nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from estimators.core import mechanisms, noise
from estimators.core.witness import seen_by
from estimators.mean import NoisyMean
from minimax.core.privacy import ZeroConcentrated
from verify.rates import known_noise
from verify.rates.claim import Claim, Sweep
from verify.rates.claims import all_claims
from verify.rates.grid import Profile
from verify.rates.judge import Verdict
from verify.rates.known_noise import CALLS, LEAST, NoiseSeen, adjusted, as_stated
from verify.rates.measure import interval, losses_with_noise
from verify.rates.report import NOISE, failures
from verify.rates.run import run
from verify.rates.sequential import Seen

ALPHA = 1e-6
ZEROS = np.zeros(5)
CALLED: dict[str, Callable[[np.random.Generator], object]] = {
    "gaussian": lambda rng: mechanisms.gaussian(ZEROS, l2_sensitivity=1.0, scale=3.0, rng=rng),
    "laplace": lambda rng: mechanisms.laplace(ZEROS, l1_sensitivity=1.0, epsilon=0.3, rng=rng),
    "l2": lambda rng: mechanisms.k_norm(ZEROS, norm="l2", sensitivity=2.0, epsilon=0.3, rng=rng),
    "linf": lambda rng: mechanisms.k_norm(
        ZEROS, norm="linf", sensitivity=2.0, epsilon=0.3, rng=rng
    ),
}


@pytest.mark.parametrize("name", CALLED)
def test_a_surplus_has_mean_zero(name: str) -> None:
    rng, found = np.random.default_rng(0), []
    for _ in range(4000):
        seen = NoiseSeen()
        with seen_by(seen):
            CALLED[name](rng)
        found.append(seen.surpluses[0])
    error = np.std(found) / math.sqrt(len(found))
    assert abs(np.mean(found)) < 5 * error
    assert error < 0.03  # noise of another scale or another law would be seen


def test_calls_have_places() -> None:
    """A selection has none, and the last place has all that come late."""
    rng, seen = np.random.default_rng(0), NoiseSeen()
    with seen_by(seen):
        for _ in range(2):
            seen.begin_fit()
            mechanisms.gumbel_top_k(ZEROS, 2, sensitivity=1.0, epsilon=1.0, rng=rng)
            for _ in range(CALLS + 3):
                CALLED["gaussian"](rng)
    alone = NoiseSeen()
    with seen_by(alone):
        CALLED["gaussian"](rng)
    assert np.all(seen.surpluses != 0)
    assert np.count_nonzero(alone.surpluses) == 1


def drawn(rng: np.random.Generator, trials: int, noise_scale: float = 1.0) -> np.ndarray:
    """Losses |w + e|^2, w noise of one call and e half as long, and w's surplus."""
    w = noise_scale * rng.standard_normal((trials, 4))
    values = np.zeros((trials, 1 + CALLS))
    values[:, 0] = np.sum((w + 0.5 * rng.standard_normal((trials, 4))) ** 2, axis=1)
    values[:, 3] = np.sum(w**2, axis=1) / 4 - 1
    return values


def test_the_mean_stays_and_the_interval_shrinks() -> None:
    rng, means, widths = np.random.default_rng(1), [], []
    for _ in range(3000):
        values = drawn(rng, 64)
        plain, used = (interval(v, 0.01, 0) for v in (values[:, 0], adjusted(values)))
        means.append(used.risk)
        widths.append((used.ci_high - used.ci_low) / (plain.ci_high - plain.ci_low))
    error = np.std(means) / math.sqrt(len(means))
    assert abs(np.mean(means) - 5) < 4 * error < 0.05
    assert np.median(widths) < 0.75


def test_the_interval_keeps_its_level() -> None:
    rng = np.random.default_rng(2)
    found = [interval(adjusted(drawn(rng, 64)), 0.1, 0) for _ in range(3000)]
    missed = np.mean([not m.ci_low <= 5 <= m.ci_high for m in found])
    assert 0.06 < missed < 0.13


def test_too_little_noise_is_not_made_up_for() -> None:
    """Half of the noise that an entry states: the losses stay as they are."""
    values = drawn(np.random.default_rng(3), 64, noise_scale=0.5)
    assert np.array_equal(adjusted(values), values[:, 0])
    trusted = values[:, 0] - np.polyfit(values[:, 3], values[:, 0], 1)[0] * values[:, 3]
    assert trusted.mean() > 1.5 * values[:, 0].mean()  # what would have been believed


def test_a_tenth_less_noise_is_found_out_in_time() -> None:
    """The noise of a fifth less variance is believed in few trials at most, and then not."""
    rng = np.random.default_rng(5)
    used = []
    for trials in (64, 512):
        drawings = [drawn(rng, trials, noise_scale=0.9) for _ in range(200)]
        used.append(np.mean([not np.array_equal(adjusted(v), v[:, 0]) for v in drawings]))
    right = [drawn(rng, 64) for _ in range(200)]
    assert np.mean([not np.array_equal(adjusted(v), v[:, 0]) for v in right]) > 0.95
    assert used[0] > used[1]
    assert used[1] < 0.02


def test_few_trials_tell_nothing() -> None:
    values = drawn(np.random.default_rng(4), 20)
    assert np.array_equal(adjusted(values), values[:, 0])


def scaled(factor: float) -> Callable[..., object]:
    """`with_gaussian` with another scale than is stated."""
    return lambda value, scale, rng: noise.with_gaussian(value, factor * scale, rng)


def test_mechanisms_are_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundredth of the mean square is seen in each of them, for many numbers and for few."""
    assert all(as_stated(seed) for seed in range(5))
    for factor in (0.985, 1.015):
        with monkeypatch.context() as patched:
            patched.setattr(mechanisms, "with_gaussian", scaled(factor))
            assert not as_stated(0)
    for name in ("laplace", "l2", "linf"):
        key = next(k for k in known_noise.CALLED if name in k and k != ("gaussian", "l2"))
        right = known_noise.CALLED[key]

        def off(zeros: np.ndarray, rng: np.random.Generator, right: Any = right) -> object:
            release, entry = right(zeros, rng)
            return mechanisms.Release(1.02 * release, entry)

        with monkeypatch.context() as patched:
            patched.setitem(known_noise.CALLED, key, off)
            assert not as_stated(0)


def test_noise_for_few_numbers_is_asked_for_too(monkeypatch: pytest.MonkeyPatch) -> None:
    right = noise.with_gaussian

    def off(value: np.ndarray, scale: float, rng: np.random.Generator) -> object:
        return right(value, 0.8 * scale if value.size < 10 else scale, rng)

    monkeypatch.setattr(mechanisms, "with_gaussian", off)
    assert not as_stated(0)


@pytest.mark.parametrize("factor", [0.5, 1.15])
def test_a_run_notices_noise_that_is_not_as_stated(
    factor: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An upper bound that is an equality but for statistics, at a point where these are nothing."""
    base = {"n": 1000, "d": 100, "sigma": 1.0, "radius": 1.0, "rho": 1e-3}
    sweep = replace(claim().sweeps[0], base=base, variables=(), asymptotic_point={})
    short = Profile("short", (0,), 60, 200, 2)
    asked = replace(claim(), sweeps=(sweep,))
    whole = run([asked], short, seed=1)
    monkeypatch.setattr(mechanisms, "with_gaussian", scaled(factor))
    changed = run([asked], short, seed=1)
    before, after = whole.cells[0], changed.cells[0]
    assert (whole.noise_as_stated, changed.noise_as_stated) == (True, False)
    assert (whole.exit_code, changed.exit_code) == (0, 1)
    assert replace(whole, noise_as_stated=False).exit_code == 1
    assert replace(whole, noise_as_stated=None).exit_code == 0
    assert (failures(whole), failures(changed)[0]) == ([], NOISE)
    assert before.verdict is Verdict.CONSISTENT
    assert after.measured.risk == pytest.approx(factor**2 * before.measured.risk, rel=0.1)
    if factor > 1:
        assert after.verdict is Verdict.VIOLATED


def claim() -> Claim:
    return next(c for c in all_claims() if c.name == "bounded-mean/tracing/zCDP")


def test_a_mechanism_with_half_its_noise_is_measured_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Through the whole path: witness, trials, interval."""
    point = {"n": 1000, "d": 20, "sigma": 1.0, "radius": 1.0, "rho": 0.001}
    prior = claim().lower.prior(**point)

    def measured() -> float:
        values = losses_with_noise(
            lambda p: NoisyMean(ZeroConcentrated(p["rho"]), R=1.0), prior, point, 64, 0
        )
        assert values[:, 1].any()
        return interval(adjusted(values), ALPHA, 0).risk

    right = measured()
    monkeypatch.setattr(
        mechanisms,
        "with_gaussian",
        lambda value, scale, rng: noise.with_gaussian(value, scale / 2, rng),
    )
    assert measured() < 0.4 * right


def test_reports_of_users_are_not_watched() -> None:
    local = next(c for c in all_claims() if c.name == "local-regression/Theorem 1/pure")
    sweep: Sweep = local.sweeps[0]
    values = losses_with_noise(
        local.estimator_at, local.lower.prior(**sweep.base), sweep.base, 2, 0
    )
    assert not values[:, 1:].any()


def noises(seen: NoiseSeen, calls: list[str], rng: np.random.Generator) -> list[np.ndarray]:
    """What each call of a fit added."""
    seen.begin_fit()
    with seen_by(seen):
        return [CALLED[name](rng).value for name in calls]  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", CALLED)
def test_every_second_fit_has_the_noise_of_the_first_turned_round(name: str) -> None:
    rng, seen = np.random.default_rng(0), NoiseSeen(paired=True)
    (first,), (second,), (third,), (fourth,) = (noises(seen, [name], rng) for _ in range(4))
    assert np.allclose(second, -first, rtol=1e-12)
    assert np.allclose(fourth, -third, rtol=1e-12)
    assert not np.allclose(np.abs(third), np.abs(first), rtol=0.01)
    alone = NoiseSeen()
    (first,), (second,) = (noises(alone, [name], rng) for _ in range(2))
    assert not np.allclose(np.abs(second), np.abs(first), rtol=0.01)


def test_noise_of_another_kind_is_not_turned_round() -> None:
    rng, seen = np.random.default_rng(0), NoiseSeen(paired=True)
    first = noises(seen, ["gaussian", "laplace"], rng)
    second = noises(seen, ["laplace", "laplace", "laplace"], rng)
    assert not np.allclose(np.abs(second[0]), np.abs(first[0]), rtol=0.01)
    assert np.allclose(second[1], -first[1], rtol=1e-12)
    assert not np.allclose(np.abs(second[2]), np.abs(first[1]), rtol=0.01)


def test_opposed_fits_have_the_same_risk_and_less_scatter() -> None:
    """Against one fit a trial: the means agree, and two fits have less than half its variance."""
    point = {"n": 1000, "d": 20, "sigma": 1.0, "radius": 1.0, "rho": 0.01}
    prior = claim().lower.prior(**point)
    one, two = (
        losses_with_noise(
            lambda p: NoisyMean(ZeroConcentrated(p["rho"]), R=1.0),
            prior,
            point,
            2000,
            fits,
            0,
            fits,
            paired=True,
        )
        for fits in (1, 2)
    )
    error = math.sqrt((one[:, 0].var() + two[:, 0].var()) / 2000)
    assert abs(one[:, 0].mean() - two[:, 0].mean()) < 4 * error < 0.1 * one[:, 0].mean()
    assert adjusted(two).var() < 0.3 * adjusted(one).var()


def test_noise_that_is_not_centred_is_not_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lengths as stated, all numbers positive."""

    def positive(value: np.ndarray, scale: float, rng: np.random.Generator) -> object:
        return value + np.abs(noise.with_gaussian(np.zeros_like(value), scale, rng))

    monkeypatch.setattr(mechanisms, "with_gaussian", positive)
    assert not as_stated(0)


@pytest.mark.parametrize("own", [True, False])
def test_fits_are_opposed_only_where_noise_is_known(
    own: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noise on one side alone, turned round, would be as much on the other, and cancel."""
    base = {"n": 1000, "d": 100, "sigma": 1.0, "radius": 1.0, "rho": 1e-3}
    sweep = replace(claim().sweeps[0], base=base, variables=(), asymptotic_point={}, fits=2)
    asked, short = replace(claim(), sweeps=(sweep,)), Profile("short", (0,), 60, 200, 2)
    opposed: list[bool] = []

    class Told(NoiseSeen):
        def __init__(self, *, paired: bool = False) -> None:
            opposed.append(paired)
            super().__init__(paired=paired)

    monkeypatch.setattr("verify.rates.measure.NoiseSeen", Told)
    run([asked], short, own=own)
    assert any(opposed) == (not own)
    opposed.clear()
    monkeypatch.setattr(mechanisms, "with_gaussian", scaled(1.1))
    run([asked], short, own=own)
    assert opposed
    assert not any(opposed)


def test_no_interval_is_much_narrower_than_that_of_plain_losses() -> None:
    """A loss that is linear in its surplus, but for what few trials do not show."""
    surpluses = np.random.default_rng(0).chisquare(1, 400) - 1
    values = {"task": np.column_stack([1 + surpluses, surpluses])}
    plain, known = (Seen(values, 0, 0.1, noise_known=known).risk("task") for known in (False, True))
    widths = [found.ci_high - found.risk for found in (plain, known)]
    assert widths[1] == pytest.approx(LEAST * widths[0])
    assert widths[1] > widths[0] / 40
    assert known.risk == pytest.approx(1)


def test_what_is_left_of_a_convex_loss_is_missed_at_most_twice_as_often() -> None:
    """As the docstring says: w^4 less what w^2 tells of it, against w^4, at 160 trials."""
    rng, missed, narrower = np.random.default_rng(5), np.zeros(2), 0
    for _ in range(4000):
        w = rng.standard_normal(160)
        values = np.column_stack([w**4, w**2 - 1])
        plain, less = interval(values[:, 0], 0.01, 0), interval(adjusted(values), 0.01, 0)
        missed += [plain.ci_high < 3, less.ci_high < 3]
        narrower += (3 - less.risk) > (less.ci_high - less.risk) / 2
    assert missed[0] > 0.01 * 4000  # a level is nominal for losses of one coordinate
    assert missed[1] < 2.4 * missed[0] < narrower  # halved, it would be missed more often


def test_noise_that_is_skewed_is_not_as_stated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mean and mean square as stated, but what is opposed to it has another law."""

    def skewed(value: np.ndarray, scale: float, rng: np.random.Generator) -> object:
        return value + scale * (rng.standard_exponential(value.shape) - 1)

    monkeypatch.setattr(mechanisms, "with_gaussian", skewed)
    assert not as_stated(0)


def test_what_is_taken_from_a_loss_is_learnt_from_the_other_half() -> None:
    rng = np.random.default_rng(0)
    surplus = rng.chisquare(4, 200) / 4 - 1
    values = np.column_stack([2 + surplus + 0.1 * rng.standard_normal(200), surplus])
    other = values.copy()
    other[0::2, 0] *= 1.5
    taken = [each[:, 0] - adjusted(each) for each in (values, other)]
    assert taken[0][0::2] == pytest.approx(taken[1][0::2])
    assert taken[0][1::2] != pytest.approx(taken[1][1::2])
