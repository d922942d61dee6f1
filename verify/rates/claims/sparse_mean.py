"""The claims for sparse means."""

from __future__ import annotations

from typing import Literal

from estimators.controls.mean import HardThresholdedMean
from estimators.sparse_mean import SparseMean
from estimators.stable_sparse_mean import StableSparseMean
from minimax.core.bound import LowerBound, Point
from minimax.core.privacy import Approximate, Privacy, Pure, ZeroConcentrated, at_point
from minimax.problems.mean.lower import antipodal_gaussian
from minimax.problems.sparse_mean import lower as sparse_mean
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from verify.rates.claim import Claim, Factory, Sweep, proven

UNIT = {"sigma": 1.0, "radius": 1.0}
GUMBEL = "SparseMean (Gumbel)"


def _gumbel(model: type[Privacy], R: Literal["auto", "theory"] = "auto") -> Factory:
    return lambda p: SparseMean(
        privacy=at_point(model, p),
        s=SparseMeanProblem.at(p).s,
        R=R,
        sigma=p["sigma"],
        radius=p["radius"],
    )


def _peeling(p: Point) -> SparseMean:
    return SparseMean(
        privacy=at_point(Approximate, p),
        s=SparseMeanProblem.at(p).s,
        sigma=p["sigma"],
        radius=p["radius"],
        method="peeling",
        calibration="paper",
    )


def _stable(p: Point) -> StableSparseMean:
    return StableSparseMean(
        privacy=at_point(Approximate, p),
        s=SparseMeanProblem.at(p).s,
        sigma=p["sigma"],
        radius=p["radius"],
    )


def _thresholded(p: Point) -> HardThresholdedMean:
    return HardThresholdedMean(threshold=0.0, s=SparseMeanProblem.at(p).s)


def _claim(
    name: str,
    model: type[Privacy],
    lower: LowerBound,
    estimator: str,
    estimator_at: Factory,
    sweep: Sweep,
    upper: Literal["proven"] | None = None,
) -> Claim:
    return Claim(
        name=f"sparse-mean/{name}",
        problem=SparseMeanProblem,
        model=model,
        lower=lower,
        estimator=estimator,
        estimator_at=estimator_at,
        non_private=_thresholded,
        sweeps=(sweep,),
        upper=proven(estimator_at, SparseMeanProblem.at) if upper else None,
    )


def claims() -> list[Claim]:
    """Every claim about a sparse mean."""
    return [
        _claim(
            "known support/zCDP",
            ZeroConcentrated,
            sparse_mean.on_known_support(antipodal_gaussian(ZeroConcentrated)),
            GUMBEL,
            _gumbel(ZeroConcentrated),
            Sweep(
                "privacy",
                {**UNIT, "n": 40_000, "d": 40, "s": 20, "rho": 4e-4},
                {**UNIT, "n": 1e12, "d": 1e10, "s": 1e9, "rho": 1e-6},
                # The risk falls like (rho n^2)^-.82 here: near the bound's exponent in rho. The fit
                # in n, -1.65 +- .1, is inconclusive; in d and s selection adds to the risk.
                ("rho",),
                weight=2,
            ),
            "proven",
        ),
        _claim(
            "known support/approximate/peeling",
            Approximate,
            sparse_mean.known_support(Approximate, shifted=True),
            "SparseMean (peeling, Theorem 3.4)",
            _peeling,
            Sweep(
                "privacy",
                {**UNIT, "n": 400, "d": 800, "s": 100, "epsilon": 0.2, "delta": 1e-7},
                {**UNIT, "n": 1e12, "d": 1e10, "s": 1e9, "epsilon": 1e-3, "delta": 1e-30},
                ("n", "s", "epsilon"),
            ),
            "proven",
        ),
        _claim(
            "packing/pure",
            Pure,
            sparse_mean.packing(Pure),
            GUMBEL,
            _gumbel(Pure, "theory"),
            Sweep(
                "privacy",
                {**UNIT, "n": 1000, "d": 2000, "s": 10, "epsilon": 0.5},
                {**UNIT, "n": 1e25, "d": 1e12, "s": 1e4, "epsilon": 1e-2},
                ("n", "s", "epsilon"),
                weight=4,
            ),
            "proven",
        ),
        _claim(
            "statistics/zCDP",
            ZeroConcentrated,
            sparse_mean.statistical(),
            GUMBEL,
            _gumbel(ZeroConcentrated),
            Sweep(
                "statistics",
                {**UNIT, "n": 1000, "d": 1000, "s": 10, "rho": 500.0},
                {**UNIT, "n": 1e9, "d": 1e5, "s": 1e3, "rho": 500.0},
                ("n", "s"),
            ),
            "proven",
        ),
        # No upper bound: at this n every test refuses, and the worst of the class loses what
        # releasing 0 does. `risk_bound` is of use from n epsilon = 2000 on.
        _claim(
            "packing/approximate/stable",
            Approximate,
            sparse_mean.packing(Approximate),
            "StableSparseMean",
            _stable,
            Sweep(
                "privacy",
                {**UNIT, "n": 1000, "d": 2000, "s": 1, "epsilon": 0.1, "delta": 1e-7},
            ),
        ),
    ]
