"""The claims for logistic regression: the planned descent, and the papers' algorithm."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from estimators.controls.regression import IterativeHardThresholding
from estimators.logistic import PlannedLogisticRegression
from estimators.sparse_erm import NoisyHardThresholdingClassifier
from minimax.core.bound import LowerBound, Point, Setting
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
    at_point,
)
from minimax.problems.logistic import lower as logistic
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.logistic.upper import best_descent
from verify.rates.claim import Claim, Factory, Sweep, proven

SMALL = {"n": 200_000, "d": 3, "radius": 1.0}
"""Where statistics << privacy << releasing 0 for the budgets below."""
CAUTION = 0.7
"""The reach that the plan counts on, in units of the radius: between the root mean square of
<x, beta> where privacy dominates, .58 of it, and the largest value."""


def _planned(model: type[Privacy]) -> Factory:
    return lambda p: PlannedLogisticRegression(
        privacy=at_point(model, p),
        radius=p["radius"],
        row_bound=1.0,
        reach=CAUTION * p["radius"],
    )


def _classifier(model: type[Privacy]) -> Factory:
    """At the step size and number of steps of least proven risk."""

    def at(p: Point) -> NoisyHardThresholdingClassifier:
        privacy = at_point(model, p)
        best = _best_settings(LogisticProblem.at(p), privacy)
        return NoisyHardThresholdingClassifier(privacy).set_params(**best)

    return at


@lru_cache(maxsize=64)
def _best_settings(problem: LogisticProblem, privacy: SpendablePrivacy) -> Mapping[str, Setting]:
    """Of the descent of least proven risk: found by a search, and needed in every trial."""
    return best_descent(problem, privacy).keywords()


def _maximum_likelihood(p: Point) -> IterativeHardThresholding:
    return IterativeHardThresholding(s=LogisticProblem.at(p).d, loss="logistic")


def _best_tracing(model: type[Privacy]) -> LowerBound:
    """By the two labels of a row, or by the record's own channel."""
    if model in (ZeroConcentrated, Gaussian):
        return logistic.antipodal_pairs(model)
    return logistic.tracing(model)


def _tracing(model: type[Privacy], *sweeps: Sweep) -> Claim:
    estimator_at = _planned(model)
    return Claim(
        name=f"logistic/tracing/{model.name}",
        problem=LogisticProblem,
        model=model,
        lower=_best_tracing(model),
        estimator="PlannedLogisticRegression",
        estimator_at=estimator_at,
        non_private=_maximum_likelihood,
        sweeps=sweeps,
        upper=proven(estimator_at, LogisticProblem.at),
        projects=True,
    )


def _descent(model: type[Privacy], *sweeps: Sweep) -> Claim:
    estimator_at = _classifier(model)
    return Claim(
        name=f"logistic/tracing/{model.name}/descent",
        problem=LogisticProblem,
        model=model,
        lower=_best_tracing(model),
        estimator="NoisyHardThresholdingClassifier",
        estimator_at=estimator_at,
        non_private=_maximum_likelihood,
        sweeps=sweeps,
        upper=proven(estimator_at, LogisticProblem.at),
        projects=True,
    )


def claims() -> list[Claim]:
    """Every claim about logistic regression."""
    return [
        _tracing(
            ZeroConcentrated,
            Sweep(
                "privacy",
                {**SMALL, "rho": 2e-6},
                {"n": 1e16, "d": 1e4, "radius": 1.0, "rho": 1e-14},
                ("n", "d", "rho"),
                weight=2,
                fits=2,
            ),
            Sweep(
                "statistics",
                {"n": 20_000, "d": 12, "radius": 2.0, "rho": 1.0},
                {"n": 1e12, "d": 1e3, "radius": 4.0, "rho": 1.0},
                ("n", "d"),
                weight=2,
            ),
        ),
        _tracing(Gaussian, Sweep("privacy", {**SMALL, "mu": 2e-3}, weight=6)),
        _tracing(
            Approximate, Sweep("privacy", {**SMALL, "epsilon": 3e-3, "delta": 1e-10}, weight=3)
        ),
        _tracing(Pure, Sweep("privacy", {**SMALL, "epsilon": 3e-3}, weight=3)),
        _descent(
            ZeroConcentrated,
            Sweep(
                "privacy",
                {"n": 50_000, "d": 8, "radius": 4.0, "rho": 5e-5},
                weight=2,
                control_weight=3,
            ),
        ),
        _descent(Gaussian, Sweep("privacy", {**SMALL, "mu": 2e-3}, weight=8)),
    ]
