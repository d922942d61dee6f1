"""The claims for linear regression.

In the cells where privacy dominates the noise sigma is small against the signal. Privacy costs
sigma^2 d^2/(n G)^2 by the lower bounds, which phases of clipped residuals reach up to a constant;
noisy gradient descent, whose sensitivity is that of the largest response, stays far above and has
one cell of each definition.
"""

from __future__ import annotations

from estimators.baselines.regression import AdaptiveSufficientStatistics
from estimators.controls.regression import LeastSquares
from estimators.core.truncation import theoretical_truncation
from estimators.regression import NoisyGradientRegression
from estimators.residual_clipped import ResidualClippedRegression
from minimax.core.bound import LowerBound, Point
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated, at_point
from minimax.problems.regression import lower as regression
from minimax.problems.regression.problem import RegressionProblem
from verify.rates.claim import Claim, Factory, Sweep, proven

BASE = {"n": 50_000, "d": 8, "sigma": 0.05, "radius": 1.0}
ASYMPTOTIC = {"n": 1e16, "d": 1e4, "sigma": 1e-3, "radius": 1.0}


def _phases(model: type[Privacy]) -> Factory:
    return lambda p: ResidualClippedRegression(
        privacy=at_point(model, p),
        row_bound=1.0,
        radius=p["radius"],
        sigma=p["sigma"],
        second_moment="isotropic",
    )


def _descent(model: type[Privacy]) -> Factory:
    return lambda p: NoisyGradientRegression(
        privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"]
    )


def _statistics(p: Point) -> AdaptiveSufficientStatistics:
    R = theoretical_truncation(RegressionProblem.at(p).n, p["sigma"], p["radius"])
    return AdaptiveSufficientStatistics(privacy=at_point(ZeroConcentrated, p), R=R)


def _least_squares(p: Point) -> LeastSquares:
    return LeastSquares()


def _best_tracing(model: type[Privacy]) -> LowerBound:
    """By antipodal pairs, or by the record's own channel."""
    if model in (Approximate, Pure):
        return regression.tracing(model, shifted=True)
    return regression.antipodal_pairs(model)


def _tracing(model: type[Privacy], *sweeps: Sweep) -> Claim:
    estimator_at = _phases(model)
    return Claim(
        name=f"regression/tracing/{model.name}",
        problem=RegressionProblem,
        model=model,
        lower=_best_tracing(model),
        estimator="ResidualClippedRegression",
        estimator_at=estimator_at,
        non_private=_least_squares,
        sweeps=sweeps,
        upper=proven(estimator_at, RegressionProblem.at),
        noise_factor=4.0,
        projects=True,
    )


def _second(model: type[Privacy], sweep: Sweep) -> Claim:
    """The same bound with noisy gradient descent."""
    estimator_at = _descent(model)
    return Claim(
        name=f"regression/tracing/{model.name}/descent",
        problem=RegressionProblem,
        model=model,
        lower=_best_tracing(model),
        estimator="NoisyGradientRegression",
        estimator_at=estimator_at,
        non_private=_least_squares,
        sweeps=(sweep,),
        upper=proven(estimator_at, RegressionProblem.at),
        noise_factor=2.0,
        projects=True,
    )


def claims() -> list[Claim]:
    """Every claim about linear regression."""
    approximate = {**BASE, "n": 100_000, "d": 4, "epsilon": 8.5e-3, "delta": 1e-9}
    return [
        _tracing(
            ZeroConcentrated,
            Sweep("privacy", {**BASE, "rho": 1e-4}, fits=2),
            # With fewer records the first phases are a part of the risk, and it falls faster.
            Sweep(
                "privacy",
                {**BASE, "n": 100_000, "rho": 7e-5},
                {**ASYMPTOTIC, "rho": 1e-14},
                ("n", "d", "rho"),
                fits=2,
            ),
            Sweep(
                "statistics",
                {"n": 20_000, "d": 20, "sigma": 1.0, "radius": 1.0, "rho": 200.0},
                {"n": 1e12, "d": 1e3, "sigma": 1.0, "radius": 1.0, "rho": 1.0},
                ("n", "d", "rho"),
            ),
        ),
        # Its risk falls faster than the bound here: phases that come in time with a larger budget.
        _tracing(Approximate, Sweep("privacy", approximate, weight=2, control_weight=2)),
        _tracing(
            Gaussian,
            Sweep("privacy", {**BASE, "mu": 0.014}, {**ASYMPTOTIC, "mu": 1e-7}, ("mu",), fits=2),
        ),
        _tracing(
            Pure,
            Sweep("privacy", {**BASE, "n": 100_000, "d": 4, "epsilon": 0.01}, weight=4),
        ),
        # What is proved of one step is nearly an equality; nearly all of its loss is known noise.
        _second(ZeroConcentrated, Sweep("privacy", {**BASE, "rho": 1e-4})),
        _second(Gaussian, Sweep("privacy", {**BASE, "mu": 0.014})),
        _second(
            Approximate,
            Sweep(
                "privacy",
                approximate,
                {**ASYMPTOTIC, "epsilon": 1e-7, "delta": 1e-60},
                ("epsilon",),
                fits=2,
            ),
        ),
        Claim(
            name="regression/tracing/zCDP/AdaSSP",
            problem=RegressionProblem,
            model=ZeroConcentrated,
            lower=_best_tracing(ZeroConcentrated),
            estimator="AdaptiveSufficientStatistics",
            estimator_at=_statistics,
            non_private=_least_squares,
            sweeps=(Sweep("privacy", {**BASE, "rho": 2.5e-5}),),
            unproved="the inverse of a matrix with Gaussian noise has no second moment",
        ),
    ]
