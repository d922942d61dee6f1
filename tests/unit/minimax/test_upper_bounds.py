"""Upper bounds for regression: closed forms, regimes, pinned values and rates."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
import pytest

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
from minimax.problems.sparse_regression.private_thresholding import private_thresholding_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

BUDGET = Approximate(0.5, 3.98e-4)


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
                private_thresholding_upper(
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
    bound = private_thresholding_upper(
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


def test_one_step_by_hand() -> None:
    """[e + sqrt(s*) (o + w')]^2 + s v over s*, eta = s* = 3: no eigenvalues, so none can fail."""
    scale, value, n, d = 0.03, 0.07, 60_000, 16
    bound = private_thresholding_upper(
        SparseRegressionProblem(n, d, 3, sigma=0.01),
        s=3,
        entry_bound=1.0,
        radius=1.0,
        R=1.2,
        step_size=3.0,
        steps=1,
        method="gumbel",
        scales=Scales(1.0, scale, value, value**2),
    )
    square = (1 / 3 + 1e-4) / 3  # of x_j y
    y = 1 + math.log(2 * 13)
    largest = math.sqrt(2 * square * y / n) + 2 * 1.2 / math.sqrt(3) * math.hypot(y, 1) / (3 * n)
    e, o = 3 * math.sqrt(16 * square / n), 3 * largest
    missed = max(t * math.sqrt(13 / (13 + math.exp(t))) for t in np.linspace(2, 4, 2001))
    hand = ((e + math.sqrt(3) * (o + scale * missed)) ** 2 + 3 * value**2) / 3
    assert bound.value() == pytest.approx(hand, rel=1e-6)
    assert bound.closed_form() == pytest.approx(hand, rel=1e-6)


def test_one_logistic_step_by_hand() -> None:
    """The chord of the logistic function from 0 to the radius, and 1/4 at 0."""
    n, d, a, noise = 50_000, 8, 4.0, 0.004

    def bound(step_size: float) -> float:
        return logistic_upper.noisy_logistic_upper(
            LogisticProblem(n, d, a), radius=a, G=1.0, step_size=step_size, steps=1, noise=noise
        ).value()

    chord = (1 / (1 + math.exp(-a)) - 1 / 2) / a
    for eta in (20.0, 43.0, 80.0):
        left = max(abs(1 - eta * chord / d), abs(1 - eta / (4 * d))) * a
        hand = (left**2 + eta**2 / (4 * n) + eta**2 * d * noise**2) / d
        assert bound(eta) == pytest.approx(hand, rel=1e-6)


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
        return private_thresholding_upper(
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
    named = (
        "ResidualClipped",
        "SparseResidualClipped",
        "NoisyGradientRegression",
        "PlannedLogistic",
        "NoisyHard",
        "PrivateHard",
    )
    assert values[-1].estimator.startswith(named)


def test_pure_budgets_in_low_dimension() -> None:
    """Laplace noise on every coordinate for linear regression."""
    best = regression_upper.best_upper(RegressionProblem(10**9, 5, L=2.0), Pure(1.0))
    assert best.risk < 1e-6
    assert str(best).startswith("PrivateHardThresholding with s = 5, selection_share")
    assert regression_upper.best_upper(RegressionProblem(100, 5, L=2.0), Pure(1.0)).risk == 0.4
    assert logistic_upper.best_upper(LogisticProblem(10**9, 4, 2.0), Pure(1.0)).risk < 1e-6


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
        given = {k: point[k] for k in bound.parameters}
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
    assert squared.value() == pytest.approx(6.370193e-4, rel=1e-5)
    logistic = sparse_upper.noisy_thresholding_upper(
        problem, s=3, radius=1.0, G=4.0, step_size=8.0, steps=9, noise=1e-5, loss="logistic"
    )
    assert logistic.value() == pytest.approx(1.635060e-2, rel=1e-5)
    scales = calibration.step_scales(10**6, 3, 3**-0.5, 1.0, 4.0, 3.0, ZeroConcentrated(0.01))
    options = {"s": 3, "entry_bound": 3**-0.5, "radius": 1.0, "R": 4.0, "step_size": 3.0}
    for method, value in (("gumbel", 2.005298e-4), ("peeling", 2.038411e-4)):
        found = private_thresholding_upper(
            problem, **options, steps=2, method=method, scales=scales
        )
        assert found.value() == pytest.approx(value, rel=1e-5)
    fixed = erm_upper.theorem_5_4(
        d=50, s=6, s_star=2, curvature=1.0, smoothness=1.3, gradient=0.01, radius=1.0,
        noise=0.01, steps=8,
    )  # fmt: skip
    assert fixed.value() == pytest.approx(1.547201e-2, rel=1e-5)
