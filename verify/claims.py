"""What is claimed: pairings of a lower bound, a private estimator and an upper bound."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.base import BaseEstimator

from estimators.mean import CoinPressMean, KarwaVadhanMean, NoisyMean
from estimators.nonprivate import HardThresholdedMean, SampleMean
from estimators.sparse_mean import SparseMean
from estimators.stable_sparse_mean import StableSparseMean
from minimax import mean, sparse_mean
from minimax.bound import Bound, Point
from minimax.mean import BoundedMeanProblem, MeanProblem
from minimax.privacy import (
    Approximate,
    Gaussian,
    Model,
    Pure,
    ZeroConcentrated,
    at_point,
)
from minimax.sparse_mean import SparseMeanProblem

Factory = Callable[[Point], BaseEstimator]


@dataclass(frozen=True)
class Claim:
    """At every point: lower(point) <= Bayes risk of the estimator under lower's prior <= upper."""

    name: str
    problem: str
    model: Model
    lower: Bound
    estimator: str
    make: Factory
    twin: Factory
    """The non-private twin: the control that must break the lower bound where privacy dominates."""
    upper: Callable[[Point], Bound] | None = None


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
        _, R = mean.best_upper(mean_problem(p), privacy)
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


def _upper(make: Factory, problem: Callable[[Point], Any]) -> Callable[[Point], Bound]:
    return lambda p: make(p).risk_bound(problem(p))


def _mean_claims() -> list[Claim]:
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
                _upper(make, mean_problem),
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
            _upper(best, mean_problem),
        ),
        Claim(
            "mean/tracing/pure",
            "mean",
            Pure,
            mean.tracing_gaussian(Pure, shifted=True),
            "NoisyMean",
            pure,
            _sample_mean,
            _upper(pure, mean_problem),
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
                mean.tracing_signs_additive(model),
                "NoisyMean",
                make,
                _sample_mean,
                _upper(make, bounded_problem),
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
            _upper(gumbel, sparse_problem),
        ),
        Claim(
            "sparse-mean/known support/approximate/peeling",
            "sparse-mean",
            Approximate,
            sparse_mean.known_support(Approximate, shifted=True),
            "SparseMean (peeling, Theorem 3.4)",
            peeled,
            _thresholded,
            _upper(peeled, sparse_problem),
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
            _upper(gumbel, sparse_problem),
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


def all_claims() -> list[Claim]:
    """Every claim of `verify.rates`."""
    return _mean_claims() + _bounded_claims() + _sparse_claims()
