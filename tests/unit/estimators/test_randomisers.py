"""Local randomisers: exact laws, constants, errors and curves, each with a control that fails.

Statistical checks use fixed seeds and the level ALPHA; what can be computed without sampling is.
"""

from __future__ import annotations

import itertools
import math
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from attacks.one_report import cap_intersection, index_tradeoff, plot_curves, tradeoff
from estimators.randomisers.base import Array, mean_of_reports
from estimators.randomisers.labels import (
    GaussianLabels,
    LaplaceLabels,
    PureFromApproximate,
    label_bound,
    paper_label_scale,
    purifying_clip,
)
from estimators.randomisers.signs import HypercubeRandomiser, randomised_response
from estimators.randomisers.vectors import (
    Randomiser,
    SphereRandomiser,
    best_cap,
    cap_mass,
    cap_moment,
    error_per_dimension,
    privunit,
)
from minimax.core.privacy import Gaussian, Pure

ALPHA = 1e-6
VECTORS: list[Randomiser] = [
    SphereRandomiser(1, 1.0),
    SphereRandomiser(5, 1.0, 2.0),
    privunit(2, 3.0),
    privunit(6, 1.0, 2.0),
    privunit(30, 9.0),
    HypercubeRandomiser(1, 1.0),
    HypercubeRandomiser(4, 2.0, 0.5),
    HypercubeRandomiser(7, 3.0, 2.0, cap="best"),
]


def name(randomiser: object) -> str:
    return repr(randomiser)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def coth(x: float) -> float:
    return 1 / math.tanh(x)


# Constants


def test_lengths_have_their_hand_values() -> None:
    for epsilon in (0.1, 1.0, 5.0):
        factor = coth(epsilon / 2)
        for p, constant in ((1, 1.0), (2, math.pi / 2), (3, 2.0)):
            assert SphereRandomiser(p, epsilon, 3.0).length == pytest.approx(3 * constant * factor)
        kappa = 1 / math.expm1(epsilon)
        for p, size in ((1, factor), (2, 1 + 4 * kappa), (3, 2 * factor), (5, 8 / 3 * factor)):
            assert HypercubeRandomiser(p, epsilon, 3.0).size == pytest.approx(3 * size)


@pytest.mark.parametrize("p", [2, 3, 40, 10_000])
@pytest.mark.parametrize("epsilon", [1e-3, 0.5, 4.0, 60.0])
def test_the_best_cap_solves_its_equation_in_50_digits(p: int, epsilon: float) -> None:
    gamma = best_cap(p, epsilon)
    with mpmath.workdps(50):
        g, half = mpmath.mpf(gamma), mpmath.mpf(p - 1) / 2
        mass = mpmath.betainc(half, 0.5, 0, (1 - g) * (1 + g), regularized=True) / 2
        moment = mpmath.gamma(mpmath.mpf(p) / 2) / mpmath.gamma(half + 1)
        moment *= ((1 - g) * (1 + g)) ** half / (2 * mpmath.sqrt(mpmath.pi))
        length = (mass + 1 / mpmath.expm1(epsilon)) / moment
        assert abs(length * g - 1) < 1e-9
        assert cap_mass(gamma, p) == pytest.approx(float(mass), rel=1e-9)
        assert cap_moment(gamma, p) == pytest.approx(float(moment), rel=1e-9)
        assert privunit(p, epsilon).length == pytest.approx(float(length), rel=1e-9)


def test_the_best_cap_is_the_best() -> None:
    for p, epsilon in ((2, 1.0), (10, 4.0), (1000, 0.5), (1000, 8.0)):
        best = privunit(p, epsilon)
        for gamma in (0.0, best.gamma * 0.9, best.gamma * 1.1):
            assert SphereRandomiser(p, epsilon, cap=gamma).length > best.length
    for p, epsilon in ((20, 0.5), (21, 4.0), (200, 8.0)):
        best_cube = HypercubeRandomiser(p, epsilon, cap="best")
        assert best_cube.length <= HypercubeRandomiser(p, epsilon).length
        kappa, mass, moment = 1 / math.expm1(epsilon), *best_cube._tails
        possible = (mass + kappa)[p // 2 + 1 :] / moment[p // 2 + 1 :]
        assert best_cube.size == pytest.approx(possible.min())


def test_error_per_dimension_of_the_theory_notes() -> None:
    """Their figures are the limit of large p; p = 1000 is within 1 % of it, p = 10 is not."""
    for epsilon, half, best in ((0.5, 26.2, 25.2), (4.0, 1.69, 0.435)):
        for cap, noted in (("half", half), ("best", best)):
            limit = error_per_dimension(epsilon, cap)  # type: ignore[arg-type]
            assert limit == pytest.approx(noted, rel=2e-3)
            unit = np.eye(1, 1000)
            error = SphereRandomiser(1000, epsilon, cap=cap).error(unit) / 1000  # type: ignore[arg-type]
            assert error == pytest.approx(noted, rel=0.01)
            small = SphereRandomiser(10, epsilon, cap=cap).error(np.eye(1, 10)) / 10  # type: ignore[arg-type]
            assert small != pytest.approx(noted, rel=0.04)


# Laws


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("p", [1, 2, 3, 4])
def test_cube_law_sums_to_one_and_is_unbiased_exactly(p: int, share: float) -> None:
    for cap in ("half", "best"):
        randomiser = HypercubeRandomiser(p, 1.3, 2.0, cap=cap)  # type: ignore[arg-type]
        x = 2 * share * np.cos(np.arange(p) + 0.2)
        reports = randomiser.size * np.array(list(itertools.product((-1.0, 1.0), repeat=p)))
        law = np.exp(randomiser.log_likelihood(reports, x)) / 2**p
        assert law.sum() == pytest.approx(1)
        np.testing.assert_allclose(law @ reports, np.clip(x, -2, 2), atol=1e-12)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0, 7.0])
@pytest.mark.parametrize("cap", ["half", "best", 0.7])
def test_circle_law_integrates_to_one_and_is_unbiased_exactly(cap: float, share: float) -> None:
    randomiser = SphereRandomiser(2, 1.3, 2.0, cap=cap)
    x = 2 * share * np.array([math.cos(0.4), math.sin(0.4)])
    half = math.acos(randomiser.gamma)
    edges = sorted({0.0, 2 * math.pi} | {
        (0.4 + turn + side * half) % (2 * math.pi) for turn in (0, math.pi) for side in (-1, 1)
    })  # fmt: skip
    if share == 0:  # then the caps are those of e_1
        edges = sorted({(edge - 0.4) % (2 * math.pi) for edge in edges} | {0.0, 2 * math.pi})

    def moments(phi: float) -> Array:
        v = np.array([math.cos(phi), math.sin(phi)])
        density = math.exp(randomiser.log_likelihood(v, x)[0]) / (2 * math.pi)
        return np.array([1.0, *(randomiser.length * v)]) * density

    found = sum(integrate.quad_vec(moments, a, b)[0] for a, b in itertools.pairwise(edges))
    np.testing.assert_allclose(found, [1.0, *(x * min(1, 1 / max(share, 1e-9)))], atol=1e-8)


@pytest.mark.parametrize("randomiser", VECTORS, ids=name)
def test_reports_have_the_mean_and_length_they_should(randomiser: Randomiser) -> None:
    users, p = 40_000, randomiser.p
    x = rng(1).standard_normal(p)
    x *= 0.8 * randomiser.radius / np.abs(x).sum()
    reports, entry = randomiser.randomise(np.tile(x, (users, 1)), rng(2))
    squares = np.einsum("ij,ij->i", reports, reports)
    np.testing.assert_allclose(squares, randomiser.length**2, rtol=1e-7)
    spread = reports.std(axis=0) / math.sqrt(users)
    limit = stats.norm.isf(ALPHA / (2 * p))
    assert np.all(np.abs(reports.mean(axis=0) - x) < limit * spread)
    # Control: a wrong constant moves the mean along x.
    along = reports @ x / (x @ x)
    error = along.std() / math.sqrt(users)
    assert abs(along.mean() - 1) < limit * error
    assert abs(1.6 * along.mean() - 1) > limit * error
    measured = float(np.mean((reports - x) ** 2) * p)
    assert measured == pytest.approx(randomiser.error(x), rel=0.05)
    assert entry.guarantees == (Pure(randomiser.epsilon, scope="local"),)


@pytest.mark.parametrize(
    ("p", "gamma"), [(2, 0.1), (2, 0.95), (3, 0.6), (40, 0.1), (40, 0.5), (1000, 0.002)]
)
def test_inner_products_have_their_law_inside_and_outside(p: int, gamma: float) -> None:
    epsilon = float(-np.log(cap_mass(gamma, p)))  # so that both sides are often seen
    randomiser = SphereRandomiser(p, epsilon, cap=gamma)
    x = np.eye(1, p)
    t = randomiser.randomise(np.tile(x, (6_000, 1)), rng(3)).value[:, 0] / randomiser.length
    inside = t >= gamma
    count = int(inside.sum())
    assert stats.binomtest(count, len(t), randomiser.likely).pvalue > ALPHA
    assert stats.binomtest(count, len(t), randomiser.mass).pvalue < ALPHA

    def within(values: Array) -> Array:
        return 1 - cap_mass(values, p) / cap_mass(gamma, p)

    def outside(values: Array) -> Array:
        return (1 - cap_mass(values, p)) / (1 - cap_mass(gamma, p))

    assert stats.kstest(t[inside], within).pvalue > ALPHA
    assert stats.kstest(t[~inside], outside).pvalue > ALPHA
    assert stats.kstest(t[inside] ** 1.5, within).pvalue < ALPHA
    shifted = np.maximum(t[~inside] - 0.2 / math.sqrt(p), -1.0)
    assert stats.kstest(shifted, outside).pvalue < ALPHA


def test_the_part_orthogonal_to_the_input_is_uniform() -> None:
    randomiser = privunit(3, 5.0)
    reports = randomiser.randomise(np.tile([[0.0, 0.0, 1.0]], (5_000, 1)), rng(4)).value
    angles = np.arctan2(reports[:, 1], reports[:, 0])
    assert stats.kstest(angles, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > ALPHA


@pytest.mark.parametrize(("p", "cap"), [(3, "half"), (4, "half"), (6, "best")])
def test_cube_reports_have_their_law(p: int, cap: str) -> None:
    randomiser = HypercubeRandomiser(p, 2.0, cap=cap)  # type: ignore[arg-type]
    x = np.array([1.0, -1.0, 0.4, 0.0, -0.5, 3.0][:p])
    reports = randomiser.randomise(np.tile(x, (20_000, 1)), rng(5)).value
    corners = np.array(list(itertools.product((-1.0, 1.0), repeat=p)))
    law = np.exp(randomiser.log_likelihood(corners, x)) / 2**p
    counts = np.bincount((reports > 0) @ 2 ** np.arange(p)[::-1], minlength=2**p)
    assert stats.chisquare(counts, counts.sum() * law / law.sum()).pvalue > ALPHA
    other = np.exp(randomiser.log_likelihood(corners, 0.8 * x)) / 2**p
    assert stats.chisquare(counts, counts.sum() * other / other.sum()).pvalue < ALPHA


@pytest.mark.parametrize("size", [0.0, 5e-324, 1e-170, 1e170, 1.7e308])
def test_extreme_inputs_get_reports_like_any_other(size: float) -> None:
    x = np.array([size, -size, size])
    for randomiser in (SphereRandomiser(3, 3.0), privunit(3, 3.0), HypercubeRandomiser(3, 3.0)):
        reports = randomiser.randomise(np.tile(x, (2_000, 1)), rng(12)).value
        np.testing.assert_allclose(np.linalg.norm(reports, axis=1), randomiser.length)
        clipped = randomiser.clip(x[None])[0]
        spread = reports.std(axis=0) / math.sqrt(2_000)
        assert np.all(np.abs(reports.mean(axis=0) - clipped) < stats.norm.isf(ALPHA / 6) * spread)
        assert np.abs(clipped).max() <= 1
        assert (size < 1) == (np.abs(clipped).max() < 1e-100)


def test_randomised_response_flips_as_often_as_it_says() -> None:
    signs = np.where(np.arange(20_000) % 3 == 0, 1.0, -1.0)
    reports, entry = randomised_response(signs, epsilon=1.0, rng=rng())
    kept = int((reports == signs).sum())
    assert stats.binomtest(kept, len(signs), math.e / (1 + math.e)).pvalue > ALPHA
    assert stats.binomtest(kept, len(signs), math.exp(1.2) / (1 + math.exp(1.2))).pvalue < ALPHA
    assert entry.guarantees == (Pure(1.0, scope="local"),)


# Streaming


def test_mean_of_reports_needs_no_more_memory_for_more_users() -> None:
    p = 20
    randomiser = privunit(p, 2.0)

    def chunks(users: int) -> Iterator[Array]:
        for _ in range(users // 1000):
            yield np.full((1000, p), 0.1)

    peaks = []
    for users in (5_000, 100_000):
        tracemalloc.start()
        mean, entry = mean_of_reports(chunks(users), randomiser, rng(6))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 8 * 100_000 * p / 4
    limit = stats.norm.isf(ALPHA / p) * randomiser.length / math.sqrt(100_000 * p)
    assert np.all(np.abs(mean - 0.1) < 1.1 * limit)
    assert "100000 users" in entry.about


def test_the_mean_is_that_of_the_reports() -> None:
    X = rng(7).standard_normal((300, 4))
    for randomiser in (SphereRandomiser(4, 1.0), privunit(4, 1.0), HypercubeRandomiser(4, 1.0)):
        mean = mean_of_reports([X[:300]], randomiser, rng(8)).value
        np.testing.assert_allclose(mean, randomiser.randomise(X, rng(8)).value.mean(axis=0))


# Curves


CURVES = [
    (SphereRandomiser(3, 1.0), [1.0, 0, 0], [0.3, 0.5, 0]),
    (privunit(2, 2.0), [1.0, 0], [-0.2, 0.7]),
    (privunit(5, 3.0), [0.6, 0, 0, 0, 0], [0.0, 0, 0, 0, 0]),
    (privunit(50, 6.0), np.eye(50)[0], np.eye(50)[0] + 0.1),
    (HypercubeRandomiser(5, 2.0), np.ones(5), [1, 1, -1, -1, 1]),
    (HypercubeRandomiser(6, 4.0, cap="best"), np.ones(6), -np.ones(6)),
    (LaplaceLabels(1.0, 1.0), -1.0, 0.5),
    (GaussianLabels(1.0, 1.0), -1.0, 0.5),
]


@pytest.mark.parametrize(("randomiser", "x", "other"), CURVES, ids=[repr(c[0]) for c in CURVES])
def test_the_attack_attains_its_curve(randomiser, x, other) -> None:  # type: ignore[no-untyped-def]
    """Runs the likelihood-ratio test and compares its rates with the exact ones."""
    curve = tradeoff(randomiser, x, other)
    users = 20_000
    rows = (np.tile(np.asarray(v, dtype=float), (users, 1)) for v in (x, other))
    if isinstance(randomiser, (LaplaceLabels, GaussianLabels)):
        rows = (np.full(users, v) for v in (x, other))
    reports = [randomiser.randomise(data, rng(11 + i)).value for i, data in enumerate(rows)]
    scores = [
        randomiser.log_likelihood(r, x) - randomiser.log_likelihood(r, other) for r in reports
    ]
    threshold = 0.1
    rates = [float(np.mean(score > threshold)) for score in scores]
    # The exact rates of {score > threshold} are on the curve, where its slope is e^threshold.
    tpr, fpr = curve.true_positive, curve.false_positive
    at = int(np.argmax(tpr - math.exp(threshold) * fpr))
    for rate, exact in ((rates[0], tpr[at]), (rates[1], fpr[at])):
        assert stats.binomtest(round(rate * users), users, min(exact, 1)).pvalue > ALPHA / 100
    assert rates[0] - rates[1] > 0.02
    assert curve.excess <= 1e-12
    if isinstance(curve.guarantee, Pure):
        assert curve.epsilon <= curve.guarantee.epsilon + 1e-12


def test_opposite_inputs_use_epsilon_in_full() -> None:
    for randomiser in (SphereRandomiser(10, 1.5), privunit(10, 1.5)):
        curve = tradeoff(randomiser, np.eye(10)[0], -np.eye(10)[0])
        assert curve.epsilon == pytest.approx(1.5)
    half = tradeoff(SphereRandomiser(10, 1.5), np.eye(10)[0], -np.eye(10)[0])
    assert half.advantage == pytest.approx(math.tanh(0.75))
    np.testing.assert_allclose(half.true_positive, half.allowed(half.false_positive))
    same = tradeoff(privunit(10, 1.5), np.eye(10)[0], np.eye(10)[0] * 5)
    assert same.advantage == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("p", [3, 10, 2000])
def test_intersection_of_caps(p: int) -> None:
    gamma = 1 / math.sqrt(p)
    # Orthogonal directions and the half-sphere have closed forms; the rest is monotone.
    assert cap_intersection(0.0, math.pi / 2, p) == pytest.approx(0.25)
    angles = np.linspace(0, math.pi, 9)
    masses = [cap_intersection(gamma, float(angle), p) for angle in angles]
    assert masses[0] == pytest.approx(float(cap_mass(gamma, p)))
    assert all(a >= b for a, b in itertools.pairwise(masses))
    directions = rng(13).standard_normal((20_000, 2))
    rest = rng(14).chisquare(p - 2, 20_000)
    directions /= np.sqrt((directions**2).sum(axis=1) + rest)[:, None]
    for angle, mass in zip(angles[1:4], masses[1:4], strict=True):
        second = directions @ [math.cos(angle), math.sin(angle)]
        both = int(((directions[:, 0] >= gamma) & (second >= gamma)).sum())
        assert stats.binomtest(both, 20_000, mass).pvalue > ALPHA
        assert stats.binomtest(both, 20_000, 1.3 * mass).pvalue < ALPHA


def test_index_curve_and_plot(tmp_path: Path) -> None:
    mechanism = PureFromApproximate(GaussianLabels(1.0, 2.0), 0.3, 12)
    curve = index_tradeoff(mechanism, mechanism.base.reference((12,), rng()), 1.0, -1.0)
    assert 0 < curve.epsilon <= mechanism.epsilon
    assert curve.excess <= 1e-12
    curves = [curve, *(tradeoff(*case) for case in CURVES[:2])]
    plot_curves(curves, tmp_path / "curves.png")
    curve.plot(tmp_path / "curve.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000
    assert set(curve.to_dict()) >= {"false_positive", "true_positive", "epsilon"}
    assert "GenProt" in curve.summary()
    assert tradeoff(*CURVES[-1]).to_dict()["epsilon"] is None


# Bad input


@pytest.mark.parametrize(
    ("build", "match"),
    [
        (lambda: SphereRandomiser(0, 1.0), "p must"),
        (lambda: SphereRandomiser(2.5, 1.0), "p must"),  # type: ignore[arg-type]
        (lambda: SphereRandomiser(3, 0.0), "epsilon"),
        (lambda: SphereRandomiser(3, 701.0), "epsilon"),
        (lambda: SphereRandomiser(3, math.nan), "epsilon"),
        (lambda: SphereRandomiser(3, 1.0, -1.0), "radius"),
        (lambda: SphereRandomiser(3, 1.0, cap=1.0), "cap"),
        (lambda: SphereRandomiser(3, 1.0, cap="most"), "cap"),  # type: ignore[arg-type]
        (lambda: SphereRandomiser(1, 1.0, cap=0.5), "cap"),
        (lambda: HypercubeRandomiser(3, 1.0, cap="most"), "cap"),  # type: ignore[arg-type]
        (lambda: SphereRandomiser(3, 1.0).randomise([[1.0, 2.0]], rng()), "X must"),
        (lambda: SphereRandomiser(2, 1.0).randomise([[1.0, math.nan]], rng()), "X must"),
        (lambda: SphereRandomiser(2, 1.0).randomise([[1.0, math.inf]], rng()), "X must"),
        (lambda: SphereRandomiser(2, 1.0).log_likelihood([1.0, 2.0], [1.0]), "x must"),
        (lambda: SphereRandomiser(2, 1.0).log_likelihood([1.0], [1.0, 2.0]), "reports must"),
        (lambda: mean_of_reports([], SphereRandomiser(2, 1.0), rng()), "chunks"),
        (lambda: mean_of_reports([[[1.0]]], SphereRandomiser(2, 1.0), rng()), "chunks"),
        (lambda: randomised_response([1.0, 0.5], epsilon=1.0, rng=rng()), "signs"),
        (lambda: randomised_response([1.0], epsilon=-1.0, rng=rng()), "epsilon"),
        (lambda: LaplaceLabels(0.0, 1.0), "bound"),
        (lambda: LaplaceLabels(1.0, math.inf), "epsilon"),
        (lambda: LaplaceLabels(1.0, 1.0).randomise([math.nan], rng()), "y must"),
        (lambda: GaussianLabels(1.0, 0.0), "scale"),
        (lambda: GaussianLabels.calibrated(1.0, Pure(1.0)), "privacy"),  # type: ignore[arg-type]
        (lambda: label_bound(0, 1.0), "s must"),
        (lambda: paper_label_scale(1.0, 1.0, 2.0), "delta"),
        (lambda: PureFromApproximate(GaussianLabels(1.0, 1.0), 0.8, 5), "clip"),
        (lambda: PureFromApproximate(GaussianLabels(1.0, 1.0), 0.5, 0), "samples"),
        (lambda: purifying_clip(1.0, 1), "samples"),
        (lambda: tradeoff(HypercubeRandomiser(2, 1.0), [0.5, 1], [1, 1]), "x must"),
        (lambda: tradeoff(Gaussian(1.0), 0, 1), "randomiser"),
        (lambda: plot_curves([], "nowhere.png"), "curves"),
    ],
)
def test_bad_input_names_the_parameter(build, match) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises((ValueError, TypeError), match=match):
        build()
