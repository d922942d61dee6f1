"""The claims for linear, sparse and logistic regression, and where they are checked.

In the cells where privacy dominates the noise sigma is small against the signal, as privacy costs
sigma^2 d^2/(n G)^2 by the lower bounds and the estimators, whose sensitivity is that of the largest
response, can only be seen at work where n is large against d^(3/2)/G.
"""

from __future__ import annotations

import math
from typing import Any

from estimators.baselines import AdaptiveSufficientStatistics
from estimators.nonprivate_regression import IterativeHardThresholding, LeastSquares
from estimators.regression import NoisyGradientRegression
from estimators.sparse_erm import NoisyHardThresholding, NoisyHardThresholdingClassifier
from estimators.sparse_regression import PrivateHardThresholding
from estimators.truncation import theoretical_truncation
from minimax import logistic, regression, sparse_regression
from minimax.bound import Point
from minimax.logistic import LogisticProblem
from minimax.privacy import Approximate, Gaussian, Model, Pure, ZeroConcentrated, at_point
from minimax.regression import RegressionProblem
from minimax.sparse_regression import SparseRegressionProblem
from verify.rates.claim import Claim, Factory, Sweep, proven


def regression_problem(p: Point) -> RegressionProblem:
    """The regression problem at a point."""
    return RegressionProblem(int(p["n"]), int(p["d"]), p["sigma"], p["radius"])


def sparse_problem(p: Point) -> SparseRegressionProblem:
    """The sparse regression problem at a point."""
    return SparseRegressionProblem(int(p["n"]), int(p["d"]), int(p["s"]), p["sigma"], p["radius"])


def _descent(model: Model) -> Factory:
    return lambda p: NoisyGradientRegression(
        privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"]
    )


def _statistics(model: Model) -> Factory:
    def make(p: Point) -> AdaptiveSufficientStatistics:
        R = theoretical_truncation(int(p["n"]), p["sigma"], p["radius"])
        return AdaptiveSufficientStatistics(privacy=at_point(model, p), R=R)

    return make


def _thresholding(model: Model, **options: Any) -> Factory:
    return lambda p: PrivateHardThresholding(
        privacy=at_point(model, p),
        s=int(p["s"]),
        sigma=p["sigma"],
        radius=p["radius"],
        **options,
    )


def _gradient_thresholding(model: Model) -> Factory:
    """One step of DP-IGHT, clipped at the largest gradient that the class's records have at 0."""

    def make(p: Point) -> NoisyHardThresholding:
        R = theoretical_truncation(int(p["n"]), p["sigma"], p["radius"])
        return NoisyHardThresholding(
            privacy=at_point(model, p),
            s=int(p["s"]),
            clip=R * math.sqrt(p["d"] / p["s"]),
            steps=1,
            feature_scale=1 / math.sqrt(p["s"]),
            radius=p["radius"],
        )

    return make


def logistic_problem(p: Point) -> LogisticProblem:
    """The logistic problem at a point."""
    return LogisticProblem(int(p["n"]), int(p["d"]), p["radius"])


def _classifier(model: Model, steps: int) -> Factory:
    return lambda p: NoisyHardThresholdingClassifier(
        privacy=at_point(model, p),
        s=int(p["d"]),
        clip=1.0,
        steps=steps,
        feature_scale=1 / math.sqrt(p["d"]),
        radius=p["radius"],
    )


def _least_squares(p: Point) -> LeastSquares:
    return LeastSquares()


def _pursuit(p: Point) -> IterativeHardThresholding:
    return IterativeHardThresholding(s=int(p["s"]))


def _maximum_likelihood(p: Point) -> IterativeHardThresholding:
    return IterativeHardThresholding(s=int(p["d"]), loss="logistic")


def _dense_claims() -> list[Claim]:
    out = []
    for model in (ZeroConcentrated, Approximate, Gaussian):
        make = _descent(model)
        out.append(
            Claim(
                f"regression/tracing/{model.name}",
                "regression",
                model,
                regression.tracing(model, shifted=model is Approximate),
                "NoisyGradientRegression",
                make,
                _least_squares,
                proven(make, regression_problem),
                noise_factor=2.0,
            )
        )
    out.append(
        Claim(
            "regression/tracing/zCDP/AdaSSP",
            "regression",
            ZeroConcentrated,
            regression.tracing(ZeroConcentrated),
            "AdaptiveSufficientStatistics",
            _statistics(ZeroConcentrated),
            _least_squares,
        )
    )
    return out


def _sparse_claims() -> list[Claim]:
    """One step releases s values, each of sensitivity 2 sqrt(s) (R + radius)/n. Under zCDP their
    noise costs a multiple of s^2/(n^2 rho) in the loss |.|^2/s, for every d: the exponents of the
    lower bound. Choosing the support adds a part that grows with log d, which is small if most of
    the budget goes there. Under a pure budget Laplace noise of l1 sensitivity s costs a multiple of
    s^3/(n epsilon)^2, where the lower bound has s^2: no slope in s is fitted. The packing's
    coefficients are far too small to be found, so that most of the budget goes to the values."""
    gumbel = _thresholding(ZeroConcentrated)
    choosy = _thresholding(ZeroConcentrated, selection_share=0.85)
    pure = _thresholding(Pure, selection_share=0.1)
    peeled = _thresholding(Approximate, method="peeling", calibration="paper", steps=1)
    return [
        Claim(
            "sparse-regression/known support/zCDP",
            "sparse-regression",
            ZeroConcentrated,
            sparse_regression.known_support(ZeroConcentrated),
            "PrivateHardThresholding (Gumbel)",
            choosy,
            _pursuit,
            proven(choosy, sparse_problem),
        ),
        Claim(
            "sparse-regression/known support/zCDP/DP-IGHT",
            "sparse-regression",
            ZeroConcentrated,
            sparse_regression.known_support(ZeroConcentrated),
            "NoisyHardThresholding",
            _gradient_thresholding(ZeroConcentrated),
            _pursuit,
        ),
        Claim(
            "sparse-regression/known support/approximate/peeling",
            "sparse-regression",
            Approximate,
            sparse_regression.known_support(Approximate, shifted=True),
            "PrivateHardThresholding (peeling, Theorem 4.4)",
            peeled,
            _pursuit,
            proven(peeled, sparse_problem),
        ),
        Claim(
            "sparse-regression/packing/pure",
            "sparse-regression",
            Pure,
            regression.packing(Pure, sparse=True),
            "PrivateHardThresholding (Gumbel)",
            pure,
            _pursuit,
        ),
        Claim(
            "sparse-regression/statistics/zCDP",
            "sparse-regression",
            ZeroConcentrated,
            sparse_regression.statistical(),
            "PrivateHardThresholding (Gumbel)",
            gumbel,
            _pursuit,
            proven(gumbel, sparse_problem),
        ),
    ]


def _logistic_claims() -> list[Claim]:
    claims = []
    for model, steps in ((ZeroConcentrated, 4), (Approximate, 4), (Gaussian, 2)):
        make = _classifier(model, steps)
        claims.append(
            Claim(
                f"logistic/tracing/{model.name}",
                "logistic",
                model,
                logistic.tracing(model),
                "NoisyHardThresholdingClassifier",
                make,
                _maximum_likelihood,
                None if model is Approximate else proven(make, logistic_problem),
            )
        )
    return claims


def claims() -> list[Claim]:
    """Every claim about regression."""
    return _dense_claims() + _sparse_claims() + _logistic_claims()


_DEEP = {"n": 1e16, "d": 1e4, "sigma": 1e-3, "radius": 1.0}

SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        "regression/tracing/zCDP",
        "privacy",
        {"n": 50_000, "d": 8, "sigma": 0.05, "radius": 1.0, "rho": 1e-4},
        {**_DEEP, "rho": 1e-14},
        ("n", "d", "rho"),
        weight=4,
    ),
    Sweep(
        "regression/tracing/zCDP",
        "statistics",
        {"n": 20_000, "d": 20, "sigma": 1.0, "radius": 1.0, "rho": 200.0},
        {"n": 1e12, "d": 1e3, "sigma": 1.0, "radius": 1.0, "rho": 1.0},
        ("n", "d", "rho"),
        weight=3,
    ),
    Sweep(
        "regression/tracing/approximate",
        "privacy",
        {"n": 100_000, "d": 4, "sigma": 0.05, "radius": 1.0, "epsilon": 8.5e-3, "delta": 1e-9},
        {**_DEEP, "epsilon": 1e-7, "delta": 1e-60},
        ("epsilon",),
        weight=7,
    ),
    Sweep(
        "regression/tracing/GDP",
        "privacy",
        {"n": 50_000, "d": 8, "sigma": 0.05, "radius": 1.0, "mu": 0.014},
        {**_DEEP, "mu": 1e-7},
        ("mu",),
        weight=4,
    ),
    Sweep(
        "regression/tracing/zCDP/AdaSSP",
        "privacy",
        {"n": 50_000, "d": 8, "sigma": 0.05, "radius": 1.0, "rho": 2.5e-5},
    ),
    Sweep(
        "sparse-regression/known support/zCDP",
        "privacy",
        {"n": 60_000, "d": 16, "s": 4, "sigma": 0.01, "radius": 1.0, "rho": 3.3e-5},
        {**_DEEP, "d": 1e8, "s": 1e4, "rho": 1e-14},
        ("n", "d", "s", "rho"),
        weight=6,
    ),
    Sweep(
        "sparse-regression/known support/zCDP/DP-IGHT",
        "privacy",
        {"n": 200_000, "d": 8, "s": 4, "sigma": 0.05, "radius": 1.0, "rho": 1e-5},
    ),
    Sweep(
        "sparse-regression/known support/approximate/peeling",
        "privacy",
        {
            "n": 200_000,
            "d": 8,
            "s": 4,
            "sigma": 0.05,
            "radius": 1.0,
            "epsilon": 6e-3,
            "delta": 1e-9,
        },
    ),
    Sweep(
        "sparse-regression/packing/pure",
        "privacy",
        {"n": 10_000, "d": 32, "s": 2, "sigma": 0.01, "radius": 1.0, "epsilon": 0.014},
        {**_DEEP, "n": 1e25, "d": 1e12, "s": 1e4, "epsilon": 1e-2},
        ("epsilon",),
        weight=18,
    ),
    Sweep(
        "sparse-regression/statistics/zCDP",
        "statistics",
        {"n": 4_000, "d": 100, "s": 5, "sigma": 0.2, "radius": 1.0, "rho": 2000.0},
        {**_DEEP, "n": 1e12, "s": 10, "rho": 2000.0},
        ("n", "s"),
        weight=2,
    ),
    Sweep(
        "logistic/tracing/zCDP",
        "privacy",
        {"n": 50_000, "d": 8, "radius": 4.0, "rho": 5e-5},
        {"n": 1e16, "d": 1e4, "radius": 1.0, "rho": 1e-14},
        ("n", "d", "rho"),
        weight=3,
    ),
    Sweep(
        "logistic/tracing/zCDP",
        "statistics",
        {"n": 20_000, "d": 20, "radius": 4.0, "rho": 1.0},
        {"n": 1e12, "d": 1e3, "radius": 4.0, "rho": 1.0},
        ("n", "d"),
        weight=2,
    ),
    Sweep(
        "logistic/tracing/approximate",
        "privacy",
        {"n": 200_000, "d": 4, "radius": 4.0, "epsilon": 3e-3, "delta": 1e-10},
    ),
    Sweep(
        "logistic/tracing/GDP",
        "privacy",
        {"n": 200_000, "d": 4, "radius": 1.0, "mu": 4e-3},
    ),
)
