"""The claims for logistic regression."""

from __future__ import annotations

import math

from estimators.controls.regression import IterativeHardThresholding
from estimators.sparse_erm import NoisyHardThresholdingClassifier
from minimax.core.bound import Point
from minimax.core.privacy import Approximate, Gaussian, Privacy, ZeroConcentrated, at_point
from minimax.problems.logistic import lower as logistic
from minimax.problems.logistic.problem import LogisticProblem
from verify.rates.claim import Claim, Factory, Sweep, proven


def _classifier(model: type[Privacy], steps: int) -> Factory:
    return lambda p: NoisyHardThresholdingClassifier(
        privacy=at_point(model, p),
        s=LogisticProblem.at(p).d,
        clip=1.0,
        steps=steps,
        feature_scale=1 / math.sqrt(p["d"]),
        radius=p["radius"],
    )


def _maximum_likelihood(p: Point) -> IterativeHardThresholding:
    return IterativeHardThresholding(s=LogisticProblem.at(p).d, loss="logistic")


def _tracing(model: type[Privacy], steps: int, *sweeps: Sweep) -> Claim:
    estimator_at = _classifier(model, steps)
    return Claim(
        name=f"logistic/tracing/{model.name}",
        problem=LogisticProblem,
        model=model,
        lower=logistic.tracing(model),
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
            4,
            Sweep(
                "privacy",
                {"n": 50_000, "d": 8, "radius": 4.0, "rho": 5e-5},
                {"n": 1e16, "d": 1e4, "radius": 1.0, "rho": 1e-14},
                ("n", "d", "rho"),
                weight=3,
            ),
            Sweep(
                "statistics",
                {"n": 20_000, "d": 20, "radius": 4.0, "rho": 1.0},
                {"n": 1e12, "d": 1e3, "radius": 4.0, "rho": 1.0},
                ("n", "d"),
                weight=2,
            ),
        ),
        _tracing(
            Approximate,
            4,
            Sweep(
                "privacy", {"n": 200_000, "d": 4, "radius": 4.0, "epsilon": 3e-3, "delta": 1e-10}
            ),
        ),
        _tracing(Gaussian, 2, Sweep("privacy", {"n": 200_000, "d": 4, "radius": 1.0, "mu": 4e-3})),
    ]
