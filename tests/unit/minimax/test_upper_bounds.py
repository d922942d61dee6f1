"""Upper bounds for regression: ingredients by brute force, closed forms, regimes and rates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

from minimax.core import calibration
from minimax.core.best import VACUOUS, Best
from minimax.core.bound import OutsideRegime, UpperBound
from minimax.core.calibration import Scales
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods import recursion as descent
from minimax.papers import cite
from minimax.problems.erm import upper as erm_upper
from minimax.problems.logistic import upper as logistic_upper
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.regression import upper as regression_upper
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_regression import upper as sparse_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.thresholded import restricted_interval

BUDGET = Approximate(0.5, 3.98e-4)


def hard(z: np.ndarray, s: int) -> np.ndarray:
    out = np.zeros_like(z)
    keep = np.argsort(-np.abs(z), kind="stable")[:s]
    out[keep] = z[keep]
    return out


# --- Hard thresholding ---------------------------------------------------------------------------

SHAPES = [(2, 1, 1), (3, 1, 1), (4, 2, 2), (6, 3, 2), (5, 4, 2), (8, 4, 2), (9, 6, 3)]


def stretch(d: int, s: int, s_star: int, rng: np.random.Generator, draws: int) -> float:
    """Largest |H_s(z) - x|^2/|z - x|^2 found: structured and random z, best x for each."""
    worst = 0.0
    for _ in range(draws):
        z = rng.choice([1.0, 0.999, rng.random(), 0.0], d) * rng.choice([-1, 1], d)
        kept = hard(z, s)
        for support in itertools.combinations(range(d), s_star):
            for scale in (1.0, 1.3, 1.618, 2.0, 2.618, 3.5):
                x = np.zeros(d)
                x[list(support)] = z[list(support)]
                off = [j for j in support if kept[j] == 0]
                x[off] *= scale
                apart = float(np.sum((z - x) ** 2))
                if apart > 1e-9:
                    worst = max(worst, float(np.sum((kept - x) ** 2)) / apart)
    return worst


@pytest.mark.parametrize(("d", "s", "s_star"), SHAPES)
def test_hard_thresholding_never_stretches_more(d: int, s: int, s_star: int) -> None:
    nu = descent.thresholding_factor(s, s_star, d)
    found = stretch(d, s, s_star, np.random.default_rng(d), 25)
    assert found <= nu * (1 + 1e-12)


@pytest.mark.parametrize(("d", "s", "s_star"), SHAPES)
def test_hard_thresholding_factor_is_attained(d: int, s: int, s_star: int) -> None:
    nu, r = (f(s, s_star, d) for f in (descent.thresholding_factor, descent.thresholding_ratio))
    missed = min(s_star, d - s)
    z = np.zeros(d)
    z[:s] = 1.0  # kept
    z[s : s + missed] = 1.0 - 1e-9  # just missed; x stretches them by nu/(nu - 1)
    x = np.zeros(d)
    x[s : s + missed] = nu / (nu - 1)
    shared = s_star - missed
    x[:shared] = z[:shared]
    ratio = np.sum((hard(z, s) - x) ** 2) / np.sum((z - x) ** 2)
    assert ratio == pytest.approx(nu, rel=1e-6)
    assert math.sqrt(nu) - 1 / math.sqrt(nu) == pytest.approx(math.sqrt(r), abs=1e-12)


def test_hard_thresholding_hand_values() -> None:
    assert descent.thresholding_factor(3, 3, 10) == pytest.approx((3 + math.sqrt(5)) / 2)
    assert descent.thresholding_factor(5, 2, 5) == 1.0
    assert descent.thresholding_ratio(8, 2, 100) == pytest.approx(1 / 4)


# --- Eigenvalues, largest noises -----------------------------------------------------------------


@pytest.mark.parametrize("cost", [1e-9, 1e-5, 0.003, 0.2, 0.97, 3.0, 80.0])
def test_chernoff_interval_solves_its_equation(cost: float) -> None:
    # size = 2, failure = 4 e^{-c}: the cost is c reach/(n l) with n = l = h = 1
    c = 1.0 if cost < 1 else cost + 2
    found = descent.chernoff_interval(
        1.0, 2, cost / c, descent.Interval(1.0, 1.0), 4 * math.exp(-c)
    )
    with mpmath.workdps(40):
        rate = [mpmath.mpf(float(u)) for u in found]
        k = [float(u * mpmath.log(u) - u + 1) if u > 0 else 1.0 for u in rate]
    assert float(found.low) < 1 < float(found.high)
    assert k[1] == pytest.approx(cost, rel=1e-6)
    assert k[0] == pytest.approx(min(cost, 1.0), rel=1e-6)


def test_chernoff_interval_hand_value() -> None:
    # d e^{-(n l/c) k(u)} = p/2 on both sides, n = 10^4, l = h = 1/20
    low, high = descent.chernoff_interval(1e4, 20, 1.0, descent.Interval(0.05, 0.05), 1e-3)
    for end in (float(low), float(high)):
        u = end / 0.05
        chance = 20 * math.exp(-500 * (u * math.log(u) - u + 1))
        assert chance == pytest.approx(5e-4, rel=1e-6)


def test_intervals_narrow_with_n_and_failure() -> None:
    def width(n: float, p: float) -> tuple[float, float]:
        a = descent.chernoff_interval(n, 5, 1.0, descent.Interval(0.2, 0.2), p)
        b = descent.coherence_interval(n, 9, 5, 0.2, p)
        return float(a.high - a.low), float(b.high - b.low)

    for near, far in (((1e5, 1e-3), (1e4, 1e-3)), ((1e5, 1e-3), (1e5, 1e-9))):
        assert all(x < y for x, y in zip(width(*near), width(*far), strict=True))
    assert float(descent.coherence_interval(1e4, 10, 3, 1.0, 1e-2).high) == pytest.approx(
        1 + 2 * math.sqrt(2 * math.log(1e4) / 1e4)
    )


def test_restricted_interval_takes_the_narrower() -> None:
    small = SparseRegressionProblem(10**5, 10**9, 1)
    by_pairs = descent.coherence_interval(10**5, 10**9, 3, 1.0, 1e-6)
    assert restricted_interval(small.point, 1.0, 3, 1e-6).high == pytest.approx(by_pairs.high)
    large = SparseRegressionProblem(10**5, 1000, 10)
    by_pairs = descent.coherence_interval(10**5, 1000, 30, 0.1, 1e-6)
    assert restricted_interval(large.point, 1.0, 30, 1e-6).high < by_pairs.high


def test_largest_noises() -> None:
    assert descent.gaussian_top(7, 7) == pytest.approx(7)
    assert descent.gaussian_top(0, 5) == 0
    # k = 1, d = 2: E max(g1^2, g2^2) = 1 + 2/pi
    assert 1 + 2 / math.pi <= descent.gaussian_top(1, 2) <= 1.2 * (1 + 2 / math.pi)
    for k, d in ((1, 10), (5, 1000), (300, 1000)):
        exact, _ = integrate.quad(
            lambda t, k=k, d=d: min(k, d * 2 * stats.norm.sf(math.sqrt(t))), 0, 200, limit=400
        )
        assert descent.gaussian_top(k, d) == pytest.approx(exact, rel=1e-4)
        assert descent.gaussian_top(k, d) <= descent.gaussian_top_expression(k, d)
        assert descent.gaussian_top(k, d) <= descent.subgaussian_top(k, d)


@pytest.mark.parametrize("u", [-2.0, -0.3, 0.0, 0.7, 4.0])
def test_excess_of_a_gaussian(u: float) -> None:
    exact, _ = integrate.quad(
        lambda x: max(abs(x) - u, 0.0) ** 2 * stats.norm.pdf(x, scale=1.5), -25, 25, limit=400
    )
    assert sparse_upper.excess_rms(u, 1.5) == pytest.approx(math.sqrt(exact), rel=1e-6)


def test_gradient_sensitivity_is_reached_and_not_exceeded() -> None:
    R, c, c0 = 1.5, 2.0, 0.7
    claim = calibration.gradient_sensitivity(10, R, c, c0)
    A = c * c0
    s = 2 * A / (R + math.sqrt(R * R + 8 * A * A))
    m = math.asin(s)
    x, other = (c * np.array([math.cos(m), sign * math.sin(m)]) for sign in (1, -1))
    b = c0 * np.array([0.0, 1.0])
    ends = [z * (z @ b - y) for z, y in ((x, -R), (other, R))]
    assert np.linalg.norm(ends[0] - ends[1]) / 10 == pytest.approx(claim)
    rng = np.random.default_rng(0)
    for _ in range(300):
        rows, b = rng.standard_normal((2, 3)), rng.standard_normal(3)
        rows *= c / np.linalg.norm(rows, axis=1, keepdims=True)
        b *= c0 / np.linalg.norm(b)
        y = rng.choice([-R, R], 2)
        assert np.linalg.norm(rows.T @ ((rows @ b - y) * [1, -1])) / 10 <= claim + 1e-12


# --- The recursion -------------------------------------------------------------------------------


def test_recursion_hand_value_and_cap() -> None:
    recursion = descent.Recursion(0.5, 0.1, 0.2)
    first = math.sqrt((0.5 * 2 + 0.1) ** 2 + 0.04)
    assert float(recursion.run(2.0, 2)) == pytest.approx(math.sqrt((0.5 * first + 0.1) ** 2 + 0.04))
    assert float(descent.Recursion(2.0, 0.0, 0.0).run(1.0, 50, 3.0)) == 3.0
    for steps in (1, 3, 30):
        assert float(recursion.run(2.0, steps)) ** 2 <= recursion.closed_form(2.0, steps)


@lru_cache(maxsize=1)
def bounds() -> list[UpperBound]:
    """A certified bound of each kind, some vacuous."""
    out = []
    for n, noise in ((10**4, 1e-3), (10**6, 1e-5), (10**8, 1e-7)):
        for L in (1.0, 1.5):
            out.append(
                regression_upper.noisy_gradient_upper(
                    RegressionProblem(n, 20, L=L),
                    row_bound=1.0,
                    radius=1.5,
                    R=4.0,
                    step_size=18.0,
                    steps=6,
                    noise=noise,
                )
            )
            sparse = SparseRegressionProblem(n, 200, 4, L=L)
            scales = calibration.step_scales(n, 4, 0.5, 1.0, 5.0, 4.0, ZeroConcentrated(0.01))
            out.append(
                sparse_upper.private_thresholding_upper(
                    sparse,
                    s=4,
                    entry_bound=0.5,
                    radius=1.0,
                    R=5.0,
                    step_size=4.0 * 2 / (L + 1 / L),
                    steps=5,
                    method="gumbel",
                    scales=scales,
                )
            )
            for loss, step in (("squared", 4.0), ("logistic", 16.0)):
                out.append(
                    sparse_upper.noisy_thresholding_upper(
                        sparse,
                        s=4,
                        radius=1.0,
                        G=60.0,
                        step_size=step,
                        steps=8,
                        noise=noise,
                        loss=loss,  # type: ignore[arg-type]
                    )
                )
        out.append(
            logistic_upper.noisy_logistic_upper(
                LogisticProblem(n, 10), radius=1.0, G=1.0, step_size=40.0, steps=5, noise=noise
            )
        )
    out.append(erm_upper.theorem_5_4(**GENERIC))
    out.append(erm_upper.theorem_8(**EXCESS))
    return out


GENERIC = {
    "d": 1000,
    "s": 20,
    "s_star": 10,
    "curvature": 0.8,
    "smoothness": 1.2,
    "gradient": 1e-3,
    "radius": 1.0,
    "noise": 1e-4,
    "steps": 20,
}
EXCESS = {
    "d": 1000,
    "s": 70,
    "s_star": 2,
    "curvature": 1.0,
    "smoothness": 1.0,
    "gap": 0.5,
    "noise": 1e-3,
    "steps": 40,
}


def test_closed_forms_are_never_below_the_value() -> None:
    vacuous = 0
    for bound in bounds():
        value = bound.value()
        assert value <= bound.closed_form() * (1 + 1e-12), bound.name
        parts = bound.parts()
        assert parts.statistical is not None
        assert parts.privacy is not None
        assert parts.statistical + parts.privacy == pytest.approx(value)
        assert min(parts.statistical, parts.privacy) >= 0
        assert cite(bound.source)
        assert bound.latex()
        vacuous += bound.is_vacuous()
        assert bound.remark.startswith("vacuous here") == bound.is_vacuous()
        if not bound.is_vacuous():
            # where it says something the two forms are close
            assert bound.closed_form() <= 8 * value, bound.name
    assert 0 < vacuous < len(bounds())


def test_sparse_bound_by_hand_where_only_statistics_are_left() -> None:
    """nu (1/s*) eta^2 g^2 with eta = s* = 4: thresholding costs nu = 2.618, the places 2s log."""
    n, d, s_star = 10**12, 100, 4
    scales = Scales(1.0, 1e-12, 1e-12, 1e-24)
    bound = sparse_upper.private_thresholding_upper(
        SparseRegressionProblem(n, d, s_star, sigma=2.0),
        s=4,
        entry_bound=0.5,
        radius=1.0,
        R=40.0,
        step_size=4.0,
        steps=30,
        method="gumbel",
        scales=scales,
    )
    places = 4 + 2 * 8 * (math.log(2 * 96 / 8) + 1)
    hand = 2.618034 / 4 * 16 * (4 / (4 * n)) * places
    assert bound.value() == pytest.approx(hand, rel=1e-3)
    assert bound.closed_form() == pytest.approx(hand, rel=1e-3)


def test_bounds_at_another_point_are_those_made_there() -> None:
    """Settings that are given stay; the chance of failure and all else follow the point."""

    def made(n: int) -> list[UpperBound]:
        problem = SparseRegressionProblem(n, 200, 4)
        fixed = {"radius": 1.0, "steps": 6, "noise": 1e-5}
        return [
            regression_upper.noisy_gradient_upper(
                RegressionProblem(n, 20), row_bound=1.0, R=4.0, step_size=18.0, **fixed
            ),
            logistic_upper.noisy_logistic_upper(
                LogisticProblem(n, 10), G=1.0, step_size=40.0, **fixed
            ),
            sparse_upper.noisy_thresholding_upper(problem, s=4, G=60.0, step_size=4.0, **fixed),
        ]

    for bound, there in zip(made(10**6), made(10**9), strict=True):
        assert bound.value(n=10**9) == there.value() < bound.value()
        assert bound.closed_form(n=10**9) == there.closed_form()


def test_outside_their_regime_bounds_refuse() -> None:
    def dense(**changed: float) -> UpperBound:
        given = {"row_bound": 1.0, "radius": 1.0, "R": 4.0, "step_size": 20.0} | changed
        return regression_upper.noisy_gradient_upper(
            RegressionProblem(10**5, 20), steps=3, noise=1e-4, **given
        )

    def sparse(problem: SparseRegressionProblem, s: int, entry_bound: float = 1.0) -> UpperBound:
        scales = calibration.step_scales(10**5, s, 0.5, 1.0, 5.0, 4.0, Pure(0.1))
        return sparse_upper.private_thresholding_upper(
            problem,
            s=s,
            entry_bound=entry_bound,
            radius=1.0,
            R=5.0,
            step_size=4.0,
            steps=2,
            method="peeling",
            scales=scales,
        )

    problem = SparseRegressionProblem(10**5, 50, 4)
    wide = SparseRegressionProblem(10**5, 50, 4, L=1.2)
    for bound, text in (
        (dense(row_bound=0.9), "row_bound"),
        (dense(radius=0.9), "radius"),
        (sparse(problem, 3), "s\\* <= s"),
        (sparse(wide, 5), "L = 1 or s = s"),
        (sparse(problem, 4, entry_bound=0.4), "entry_bound"),
        (erm_upper.theorem_8(**{**EXCESS, "s": 60}), "k >="),
        (erm_upper.theorem_5_4(**{**GENERIC, "curvature": 0.1}), "sqrt"),
    ):
        with pytest.raises(OutsideRegime, match=text):
            bound.value()
        with pytest.raises(OutsideRegime, match=text):
            bound.closed_form()
    assert dense().value() < 0.05
    assert sparse(problem, 6).value() > 0


def test_theorem_5_4_needs_the_sparsity_it_says() -> None:
    for kappa in (4.0, 10.0, 30.0):
        least = (kappa**2 - 1) ** 2 / (16 * kappa**2)
        for s, works in ((math.ceil(8 * least) + 1, True), (math.floor(8 * least) - 1, False)):
            if s < 8:
                continue
            bound = erm_upper.theorem_5_4(
                **{**GENERIC, "s": s, "s_star": 8, "curvature": 1.0, "smoothness": kappa}
            )
            assert bool(bound.broken()) != works


def test_theorem_8_constants() -> None:
    # k = (1 + 64) k*: t = 1/66; (24) as printed has 2t (4 kappa - 1) = .0909 but says 1/8
    t = 1 / 66
    assert 2 * t * 3 == pytest.approx(0.0909, abs=1e-4)
    given = {**EXCESS, "s": 130, "noise": 1e-9, "steps": 1}
    left = erm_upper.theorem_8(**given).value() / 0.5
    assert 1 - left == pytest.approx(1 / 8 + t * (2 - 1 / 4), rel=1e-6)
    assert 1 - left > 1 / 8
    # noise only: W/f by hand, j = 132, k = 130 of the other 868 coordinates
    f, long = 1 - left, erm_upper.theorem_8(**{**given, "noise": 1.0, "steps": 10**4}).value()
    top = descent.gaussian_top(130, 868)
    assert long == pytest.approx(((132 + top) / (1 - 4 * t) + 132 * (0.5 - t)) / 2 / f)


# --- What the calculator uses --------------------------------------------------------------------

UPPERS: list[tuple[str, Callable[[int], Best], float]] = [
    ("regression", lambda n: regression_upper.best_upper(RegressionProblem(n, 20), BUDGET), 1 / 20),
    ("logistic", lambda n: logistic_upper.best_upper(LogisticProblem(n, 20), BUDGET), 1 / 20),
    (
        "sparse",
        lambda n: sparse_upper.best_upper(SparseRegressionProblem(n, 300, 5), BUDGET),
        1 / 5,
    ),
    (
        "sparse, pure, L = 1.5",
        lambda n: sparse_upper.best_upper(SparseRegressionProblem(n, 300, 5, L=1.5), Pure(0.5)),
        1.5 / 5,
    ),
]


@pytest.mark.parametrize(("name", "upper", "nothing"), UPPERS, ids=[u[0] for u in UPPERS])
def test_best_upper_falls_with_n_from_the_data_free_risk(
    name: str, upper: Callable[[int], Best], nothing: float
) -> None:
    values = [upper(10**k) for k in (1, 3, 4, 5, 6, 7, 8, 9)]
    assert (values[0].risk, values[0].note) == (pytest.approx(nothing), VACUOUS)
    risks = [best.risk for best in values]
    assert all(a >= b for a, b in itertools.pairwise(risks))
    assert risks[-1] < 1e-4 * nothing
    assert values[-1].estimator.startswith(("NoisyGradientRegression", "NoisyHard", "PrivateHard"))


def test_pure_budgets_in_low_dimension() -> None:
    """Laplace noise on every coordinate for linear regression, nothing yet for logistic."""
    best = regression_upper.best_upper(RegressionProblem(10**9, 5, L=2.0), Pure(1.0))
    assert best.risk < 1e-6
    assert str(best).startswith("PrivateHardThresholding with s = 5, selection_share")
    assert regression_upper.best_upper(RegressionProblem(100, 5, L=2.0), Pure(1.0)).risk == 0.4
    assert logistic_upper.best_upper(LogisticProblem(10**9, 4, 2.0), Pure(1.0)).risk == 1.0


def test_values_at_the_reference_point() -> None:
    """n = 10^4 and 10^6, d = 20, epsilon = .5, delta = 3.98e-4: useful already at the first."""
    assert regression_upper.best_upper(RegressionProblem(10**4, 20), BUDGET).risk < 0.0094
    # least squares has about d/n = 2e-5
    assert 2e-5 < regression_upper.best_upper(RegressionProblem(10**6, 20), BUDGET).risk < 2.4e-5
    assert logistic_upper.best_upper(LogisticProblem(10**6, 20), BUDGET).risk < 1.5e-4
    vacuous = SparseRegressionProblem(10**4, 1000, 10)
    assert sparse_upper.best_upper(vacuous, BUDGET) == Best(0.1, note=VACUOUS)
    useful = SparseRegressionProblem(10**6, 1000, 10)
    assert sparse_upper.best_upper(useful, BUDGET).risk < 3.2e-3


def exponent(risk: Callable[[float], float], at: float, factor: float = 4.0) -> float:
    return math.log(risk(at * factor) / risk(at)) / math.log(factor)


def dense(n: float, d: float, mu: float) -> float:
    return regression_upper.best_upper(RegressionProblem(round(n), round(d)), Gaussian(mu)).risk


def sparse(n: float, d: float, s: float, rho: float) -> float:
    problem = SparseRegressionProblem(round(n), round(d), round(s))
    return sparse_upper.best_upper(problem, ZeroConcentrated(rho)).risk


def test_slopes_of_theorem_4_2() -> None:
    """d/n where statistics dominate, (d/(n mu))^2 up to logarithms where privacy does."""
    assert exponent(lambda n: dense(n, 20, 1.0), 1e8) == pytest.approx(-1, abs=0.03)
    assert exponent(lambda d: dense(1e9, d, 1.0), 10) == pytest.approx(1, abs=0.03)
    assert exponent(lambda n: dense(n, 20, 1e-6), 1e12) == pytest.approx(-2, abs=0.15)
    assert exponent(lambda mu: dense(1e12, 20, mu), 1e-7) == pytest.approx(-2, abs=0.15)
    assert exponent(lambda d: dense(1e12, d, 1e-6), 20) == pytest.approx(2, abs=0.15)
    claimed = regression_upper.claimed_theorem_4_2()
    point = {"n": 1e12, "d": 20, "sigma": 1, "epsilon": 1e-6, "delta": 1e-13}
    assert claimed.slope("d", **point) == pytest.approx(2, abs=0.05)
    assert claimed.slope("n", **point) == pytest.approx(-2, abs=0.15)


def test_slopes_of_theorem_4_4() -> None:
    """s log d/n, and (s log d)^2/(n^2 rho) up to logarithms, in the number of coordinates."""
    assert exponent(lambda n: sparse(n, 500, 5, 0.1), 1e11) == pytest.approx(-1, abs=0.05)
    assert exponent(lambda s: sparse(1e12, 10**5, s, 0.1), 5) == pytest.approx(1, abs=0.2)
    assert exponent(lambda n: sparse(n, 500, 5, 1e-14), 1e12) == pytest.approx(-2, abs=0.2)
    assert exponent(lambda r: sparse(1e12, 500, 5, r), 1e-14) == pytest.approx(-1, abs=0.1)
    assert exponent(lambda s: sparse(1e12, 10**5, s, 1e-14), 5) == pytest.approx(2, abs=0.2)
    # log^2 d: the exponent in log d is 2 less what (log d + 2)^2 is short of it at these d
    in_log = [math.log(sparse(1e12, 10.0**k, 5, 1e-14)) for k in (3, 6)]
    assert 1.4 < (in_log[1] - in_log[0]) / math.log(2) < 2


def test_claims() -> None:
    point = {"n": 1e6, "d": 100, "s": 5, "sigma": 2, "radius": 3, "epsilon": 0.5, "delta": 1e-7}
    cost = math.log(1e7) / (5e5) ** 2
    log_d = math.log(100)
    for bound, first, second in (
        (
            regression_upper.claimed_theorem_4_2(),
            4e-4,
            4 * 1e4 * math.log(1e6) ** 3 * cost,
        ),
        (
            sparse_upper.claimed_theorem_4_4(),
            2e-5 * log_d,
            100 * log_d**2 * math.log(1e6) ** 3 * cost,
        ),
        (sparse_upper.claimed_corollary_5_6(), 2e-5 * log_d, 13 * 25 * log_d * cost),
        (sparse_upper.claimed_corollary_5_8(), 5e-6 * log_d, 5 * log_d * cost),
        (erm_upper.claimed_theorem_8(), 0.0, 5 * math.log(1e6) * log_d * cost),
    ):
        given = {k: point[k] for k in bound.names}
        parts = bound.parts(**given)
        assert parts.statistical == pytest.approx(first)
        assert parts.privacy == pytest.approx(second)
        assert bound.closed_form(**given) == pytest.approx(parts.total)
        assert bound.kind == "claimed"
        assert cite(bound.source)


def test_values_at_one_point() -> None:
    """Pinned, so that no constant of the proofs moves unseen."""
    problem = SparseRegressionProblem(10**6, 40, 3, 1.0, 1.0)
    squared = sparse_upper.noisy_thresholding_upper(
        problem, s=3, radius=1.0, G=20.0, step_size=3.0, steps=3, noise=1e-4
    )
    assert squared.value() == pytest.approx(5.88980e-3, rel=1e-5)
    logistic = sparse_upper.noisy_thresholding_upper(
        problem, s=3, radius=1.0, G=4.0, step_size=8.0, steps=9, noise=1e-5, loss="logistic"
    )
    assert logistic.value() == pytest.approx(1.635060e-2, rel=1e-5)
    scales = calibration.step_scales(10**6, 3, 3**-0.5, 1.0, 4.0, 3.0, ZeroConcentrated(0.01))
    options = {"s": 3, "entry_bound": 3**-0.5, "radius": 1.0, "R": 4.0, "step_size": 3.0}
    for method, value in (("gumbel", 2.306070e-4), ("peeling", 2.341512e-4)):
        found = sparse_upper.private_thresholding_upper(
            problem, **options, steps=2, method=method, scales=scales
        )
        assert found.value() == pytest.approx(value, rel=1e-5)
    fixed = erm_upper.theorem_5_4(
        d=50, s=6, s_star=2, curvature=1.0, smoothness=1.3, gradient=0.01, radius=1.0,
        noise=0.01, steps=8,
    )  # fmt: skip
    assert fixed.value() == pytest.approx(1.547201e-2, rel=1e-5)
