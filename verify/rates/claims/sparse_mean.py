"""The claims for sparse means."""

from __future__ import annotations

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
WIDE = {"sigma": 1.0, "radius": 20.0}
"""Means that are large against sigma and the noise: nearly all of the support is found, and the
truncation, close to the radius, is the same in all cells of a sweep."""
GUMBEL = "SparseMean (Gumbel)"


def _gumbel(model: type[Privacy]) -> Factory:
    return lambda p: SparseMean(
        privacy=at_point(model, p),
        s=SparseMeanProblem.at(p).s,
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
    *sweeps: Sweep,
    unproved: str = "",
) -> Claim:
    return Claim(
        name=f"sparse-mean/{name}",
        problem=SparseMeanProblem,
        model=model,
        lower=lower,
        estimator=estimator,
        estimator_at=estimator_at,
        non_private=_thresholded,
        sweeps=sweeps,
        upper=None if unproved else proven(estimator_at, SparseMeanProblem.at),
        unproved=unproved,
    )


def claims() -> list[Claim]:
    """Every claim about a sparse mean."""
    base = {**WIDE, "n": 2000, "d": 800, "s": 20, "rho": 0.015}
    deep = {**WIDE, "n": 1e12, "d": 1e10, "s": 1e9, "rho": 1e-6}
    return [
        _claim(
            "known support/zCDP",
            ZeroConcentrated,
            sparse_mean.on_known_support(antipodal_gaussian(ZeroConcentrated)),
            GUMBEL,
            _gumbel(ZeroConcentrated),
            # In d the bound is constant, and the risk grows like d^.22 here as selection does: it
            # takes more trials to see that this is within the tolerance.
            Sweep("privacy", base, deep, ("d",), weight=6, base_weight=1, fits=2),
            Sweep("privacy", base, deep, ("s",), weight=2, base_weight=1, fits=2),
            Sweep("privacy", base, deep, ("n", "rho"), fits=2),
        ),
        _claim(
            "known support/approximate",
            Approximate,
            sparse_mean.known_support(Approximate, shifted=True),
            GUMBEL,
            _gumbel(Approximate),
            Sweep(
                "privacy",
                {**WIDE, "n": 20_000, "d": 100, "s": 20, "epsilon": 0.06, "delta": 1e-7},
                {**WIDE, "n": 1e12, "d": 1e10, "s": 1e9, "epsilon": 1e-3, "delta": 1e-30},
                ("epsilon",),
                weight=2,
                base_weight=1,
                fits=2,
            ),
        ),
        _claim(
            "known support/approximate/peeling",
            Approximate,
            sparse_mean.known_support(Approximate, shifted=True),
            "SparseMean (peeling, Theorem 3.4)",
            _peeling,
            # It beats releasing 0 if n epsilon is some 300 sqrt(s), and privacy is seen only if
            # n epsilon^2 is of order s at most.
            Sweep(
                "privacy",
                {**WIDE, "n": 100_000, "d": 8, "s": 4, "epsilon": 0.01, "delta": 1e-7},
            ),
        ),
        _claim(
            "packing/pure",
            Pure,
            sparse_mean.packing(Pure),
            GUMBEL,
            _gumbel(Pure),
            Sweep(
                "privacy",
                {**WIDE, "n": 5000, "d": 60, "s": 6, "epsilon": 0.5},
                {**WIDE, "n": 1e25, "d": 1e12, "s": 1e4, "epsilon": 1e-2},
                ("n", "s", "epsilon"),
                weight=12,
                base_weight=3,
            ),
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
                weight=0.4,
            ),
        ),
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
            unproved="at this n every test refuses, and the worst of the class loses what releasing"
            " 0 does; risk_bound is of use from n epsilon = 2000 on",
        ),
    ]
