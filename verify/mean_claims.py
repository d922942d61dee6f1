"""The claims for means and sparse means, and where they are checked."""

from __future__ import annotations

from typing import Any

from estimators.mean import CoinPressMean, KarwaVadhanMean, NoisyMean
from estimators.nonprivate import HardThresholdedMean, SampleMean
from estimators.sparse_mean import SparseMean
from estimators.stable_sparse_mean import StableSparseMean
from minimax.core.bound import Point
from minimax.core.privacy import Approximate, Gaussian, Model, Pure, ZeroConcentrated, at_point
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.mean import lower as mean
from minimax.problems.mean import upper as mean_upper
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.sparse_mean import lower as sparse_mean
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from verify.claim import Claim, Factory, Sweep, proven

UNIT = {"sigma": 1.0, "radius": 1.0}


def mean_problem(p: Point) -> MeanProblem:
    """The Gaussian mean problem at a point."""
    return MeanProblem(int(p["n"]), int(p["d"]), p["sigma"], p["radius"])


def bounded_problem(p: Point) -> BoundedMeanProblem:
    """The bounded mean problem at a point."""
    return BoundedMeanProblem(int(p["n"]), int(p["d"]), p["sigma"], p["sigma"])


def sparse_problem(p: Point) -> SparseMeanProblem:
    """The sparse mean problem at a point."""
    return SparseMeanProblem(int(p["n"]), int(p["d"]), int(p["s"]), p["sigma"], p["radius"])


def _noisy_mean(model: Model) -> Factory:
    """At the truncation of CWZ19: Theorem 3.2."""
    return lambda p: NoisyMean(
        privacy=at_point(model, p), R="theory", sigma=p["sigma"], radius=p["radius"]
    )


def _noisy_mean_best(model: Model) -> Factory:
    """At the truncation for which the proven risk is least."""

    def make(p: Point) -> NoisyMean:
        privacy = at_point(model, p)
        R = float(mean_upper.best_noisy_mean(mean_problem(p), privacy).keywords()["R"])
        return NoisyMean(privacy=privacy, R=R, sigma=p["sigma"], radius=p["radius"])

    return make


def _bounded_noisy_mean(model: Model) -> Factory:
    return lambda p: NoisyMean(privacy=at_point(model, p), R=p["sigma"])


def _coinpress(model: Model) -> Factory:
    return lambda p: CoinPressMean(privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"])


def _karwa_vadhan(model: Model) -> Factory:
    return lambda p: KarwaVadhanMean(
        privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"]
    )


def _sparse_mean(model: Model, **options: Any) -> Factory:
    return lambda p: SparseMean(
        privacy=at_point(model, p),
        s=int(p["s"]),
        sigma=p["sigma"],
        radius=p["radius"],
        **options,
    )


def _stable(model: Model) -> Factory:
    return lambda p: StableSparseMean(
        privacy=at_point(model, p), s=int(p["s"]), sigma=p["sigma"], radius=p["radius"]
    )


def _sample_mean(p: Point) -> SampleMean:
    return SampleMean()


def _thresholded(p: Point) -> HardThresholdedMean:
    return HardThresholdedMean(threshold=0.0, s=int(p["s"]))


def _dense_claims() -> list[Claim]:
    claims = []
    for model in (Approximate, ZeroConcentrated, Gaussian):
        make = _noisy_mean(model)
        claims.append(
            Claim(
                f"mean/tracing/{model.name}",
                "mean",
                model,
                mean.tracing_gaussian(model, shifted=model is Approximate),
                "NoisyMean",
                make,
                _sample_mean,
                proven(make, mean_problem),
                noise_factor=2.0,
            )
        )
    pure, best = _noisy_mean(Pure), _noisy_mean_best(ZeroConcentrated)
    claims += [
        Claim(
            "mean/tracing/zCDP/best R",
            "mean",
            ZeroConcentrated,
            mean.tracing_gaussian(ZeroConcentrated),
            "NoisyMean (best R)",
            best,
            _sample_mean,
            proven(best, mean_problem),
            noise_factor=2.0,
        ),
        Claim(
            "mean/tracing/pure",
            "mean",
            Pure,
            mean.tracing_gaussian(Pure, shifted=True),
            "NoisyMean",
            pure,
            _sample_mean,
            proven(pure, mean_problem),
            noise_factor=2.0,
        ),
        Claim(
            "mean/packing/pure",
            "mean",
            Pure,
            mean.dense_packing(Pure),
            "NoisyMean",
            pure,
            _sample_mean,
        ),
        Claim(
            "mean/dilution/approximate",
            "mean",
            Approximate,
            mean.dilution(Approximate),
            "NoisyMean",
            _bounded_noisy_mean(Approximate),
            _sample_mean,
        ),
        Claim(
            "mean/tracing/zCDP/CoinPress",
            "mean",
            ZeroConcentrated,
            mean.tracing_gaussian(ZeroConcentrated),
            "CoinPressMean",
            _coinpress(ZeroConcentrated),
            _sample_mean,
        ),
        Claim(
            "mean/tracing/approximate/KarwaVadhan",
            "mean",
            Approximate,
            mean.tracing_gaussian(Approximate, shifted=True),
            "KarwaVadhanMean",
            _karwa_vadhan(Approximate),
            _sample_mean,
        ),
    ]
    return claims


def _bounded_claims() -> list[Claim]:
    claims = []
    for model in (ZeroConcentrated, Pure, Approximate, Gaussian):
        make = _bounded_noisy_mean(model)
        claims.append(
            Claim(
                f"bounded-mean/tracing/{model.name}",
                "bounded-mean",
                model,
                bounded_mean.tracing_signs_additive(model),
                "NoisyMean",
                make,
                _sample_mean,
                proven(make, bounded_problem),
                noise_factor=2.0,
            )
        )
    return claims


def _sparse_claims() -> list[Claim]:
    gumbel, peeled = (
        _sparse_mean(ZeroConcentrated),
        _sparse_mean(Approximate, method="peeling", calibration="paper"),
    )
    pure = _sparse_mean(Pure)
    return [
        Claim(
            "sparse-mean/known support/zCDP",
            "sparse-mean",
            ZeroConcentrated,
            sparse_mean.known_support(ZeroConcentrated),
            "SparseMean (Gumbel)",
            gumbel,
            _thresholded,
            proven(gumbel, sparse_problem),
        ),
        Claim(
            "sparse-mean/known support/approximate/peeling",
            "sparse-mean",
            Approximate,
            sparse_mean.known_support(Approximate, shifted=True),
            "SparseMean (peeling, Theorem 3.4)",
            peeled,
            _thresholded,
            proven(peeled, sparse_problem),
        ),
        Claim(
            "sparse-mean/packing/pure",
            "sparse-mean",
            Pure,
            sparse_mean.packing(Pure),
            "SparseMean (Gumbel)",
            pure,
            _thresholded,
        ),
        Claim(
            "sparse-mean/statistics/zCDP",
            "sparse-mean",
            ZeroConcentrated,
            sparse_mean.statistical(),
            "SparseMean (Gumbel)",
            gumbel,
            _thresholded,
            proven(gumbel, sparse_problem),
        ),
        Claim(
            "sparse-mean/packing/approximate/stable",
            "sparse-mean",
            Approximate,
            sparse_mean.packing(Approximate),
            "StableSparseMean",
            _stable(Approximate),
            _thresholded,
        ),
    ]


def claims() -> list[Claim]:
    """Every claim about a mean."""
    return _dense_claims() + _bounded_claims() + _sparse_claims()


_DEEP_PRIVACY = {**UNIT, "n": 1e12, "d": 1e9}

SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        "mean/tracing/approximate",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5, "delta": 1e-7},
        {**_DEEP_PRIVACY, "epsilon": 1e-3, "delta": 1e-30},
        ("n", "d", "epsilon"),
    ),
    Sweep(
        "mean/tracing/zCDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "rho": 0.05},
        {**_DEEP_PRIVACY, "rho": 1e-6},
        ("n", "d", "rho"),
    ),
    Sweep(
        "mean/tracing/zCDP",
        "statistics",
        {**UNIT, "n": 2000, "d": 40, "rho": 200.0},
        {**UNIT, "n": 1e9, "d": 1e3, "rho": 200.0},
        ("n", "d", "rho"),
        weight=4,
    ),
    Sweep("mean/tracing/zCDP/best R", "privacy", {**UNIT, "n": 1000, "d": 200, "rho": 0.05}),
    Sweep(
        "mean/tracing/GDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "mu": 0.3},
        {**_DEEP_PRIVACY, "mu": 1e-3},
        ("n", "mu"),
    ),
    Sweep(
        "mean/tracing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5},
        {**_DEEP_PRIVACY, "epsilon": 1e-3},
        ("n", "epsilon"),
        weight=2,
    ),
    Sweep(
        "mean/packing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 50, "epsilon": 0.5},
        {**UNIT, "n": 1e20, "d": 1e4, "epsilon": 1e-2},
        ("n", "d", "epsilon"),
    ),
    Sweep(
        "mean/dilution/approximate",
        "privacy",
        {**UNIT, "n": 1000, "d": 400, "epsilon": 0.5, "delta": 1e-9},
        {**UNIT, "n": 1e12, "d": 1e8, "epsilon": 1e-3, "delta": 1e-60},
        ("n", "d", "epsilon"),
    ),
    Sweep(
        "mean/tracing/zCDP/CoinPress",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "rho": 0.05},
        {**_DEEP_PRIVACY, "rho": 1e-6},
    ),
    Sweep(
        "mean/tracing/approximate/KarwaVadhan",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5, "delta": 1e-7},
    ),
    Sweep(
        "bounded-mean/tracing/zCDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "rho": 0.05},
        {**_DEEP_PRIVACY, "rho": 1e-6},
        ("n", "d", "rho"),
    ),
    Sweep(
        "bounded-mean/tracing/zCDP",
        "statistics",
        {**UNIT, "n": 2000, "d": 40, "rho": 5.0},
        {**UNIT, "n": 1e12, "d": 1e3, "rho": 5.0},
        ("n", "d", "rho"),
        weight=4,
    ),
    Sweep(
        "bounded-mean/tracing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5},
        {**_DEEP_PRIVACY, "epsilon": 1e-3},
        ("n", "epsilon"),
        weight=2,
    ),
    Sweep(
        "bounded-mean/tracing/approximate",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "epsilon": 0.5, "delta": 1e-7},
        {**_DEEP_PRIVACY, "epsilon": 1e-3, "delta": 1e-30},
        ("n", "epsilon"),
    ),
    Sweep(
        "bounded-mean/tracing/GDP",
        "privacy",
        {**UNIT, "n": 1000, "d": 200, "mu": 0.3},
        {**_DEEP_PRIVACY, "mu": 1e-3},
        ("n", "mu"),
    ),
    Sweep(
        "sparse-mean/known support/zCDP",
        "privacy",
        {**UNIT, "n": 400, "d": 800, "s": 100, "rho": 0.02},
        {**UNIT, "n": 1e12, "d": 1e10, "s": 1e9, "rho": 1e-6},
        ("n", "d", "s", "rho"),
    ),
    Sweep(
        "sparse-mean/known support/approximate/peeling",
        "privacy",
        {**UNIT, "n": 400, "d": 800, "s": 100, "epsilon": 0.2, "delta": 1e-7},
        {**UNIT, "n": 1e12, "d": 1e10, "s": 1e9, "epsilon": 1e-3, "delta": 1e-30},
        ("n", "s", "epsilon"),
    ),
    Sweep(
        "sparse-mean/packing/pure",
        "privacy",
        {**UNIT, "n": 1000, "d": 2000, "s": 10, "epsilon": 0.5},
        {**UNIT, "n": 1e25, "d": 1e12, "s": 1e4, "epsilon": 1e-2},
        ("n", "s", "epsilon"),
        weight=4,
    ),
    Sweep(
        "sparse-mean/statistics/zCDP",
        "statistics",
        {**UNIT, "n": 1000, "d": 1000, "s": 10, "rho": 500.0},
        {**UNIT, "n": 1e9, "d": 1e5, "s": 1e3, "rho": 500.0},
        ("n", "s"),
    ),
    Sweep(
        "sparse-mean/packing/approximate/stable",
        "privacy",
        {**UNIT, "n": 1000, "d": 2000, "s": 1, "epsilon": 0.1, "delta": 1e-7},
    ),
)
