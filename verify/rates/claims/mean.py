"""The claims for means, of sub-Gaussian and of bounded records."""

from __future__ import annotations

from dataclasses import replace

from estimators.baselines.mean import CoinPressMean, KarwaVadhanMean
from estimators.controls.mean import SampleMean
from estimators.mean import NoisyMean, Tails
from minimax.core.bound import LowerBound, Point
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated, at_point
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.bounded_mean.diluted import dilution
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.bounded_mean.uniform_part import antipodal_signs
from minimax.problems.mean import lower as mean
from minimax.problems.mean.problem import MeanProblem
from verify.rates.claim import Claim, Factory, Sweep, proven

UNIT = {"sigma": 1.0, "radius": 1.0}
BASE = {**UNIT, "n": 1000, "d": 200}
LONGER = {**UNIT, "n": 6000, "d": 100}
"""Where weaker budgets leave more than releasing 0 does."""
ASYMPTOTIC = {**UNIT, "n": 1e12, "d": 1e9}


# --- Estimators ----------------------------------------------------------------------------------


def _planned_mean(model: type[Privacy], tails: Tails = "Gaussian") -> Factory:
    """With all of its settings found from the point."""
    return lambda p: NoisyMean(
        privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"], tails=tails
    )


def _algorithm_3_1(model: type[Privacy]) -> Factory:
    """CWZ19's, at the truncation of its Theorem 3.2."""
    return lambda p: NoisyMean(
        privacy=at_point(model, p), R="theory", sigma=p["sigma"], radius=p["radius"]
    )


def _bounded_noisy_mean(model: type[Privacy]) -> Factory:
    return lambda p: NoisyMean(privacy=at_point(model, p), R=p["sigma"])


def _coinpress(model: type[Privacy]) -> Factory:
    return lambda p: CoinPressMean(privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"])


def _karwa_vadhan(model: type[Privacy]) -> Factory:
    return lambda p: KarwaVadhanMean(
        privacy=at_point(model, p), sigma=p["sigma"], radius=p["radius"]
    )


def _sample_mean(p: Point) -> SampleMean:
    return SampleMean()


# --- Claims --------------------------------------------------------------------------------------


def _best_tracing(model: type[Privacy]) -> LowerBound:
    """By antipodal pairs, or by the record's own channel."""
    if model in (ZeroConcentrated, Gaussian):
        return mean.antipodal_gaussian(model)
    return mean.tracing_gaussian(model, shifted=True)


def _tracing(
    name: str,
    model: type[Privacy],
    sweeps: tuple[Sweep, ...],
    *,
    estimator_at: Factory | None = None,
    estimator: str = "NoisyMean",
) -> Claim:
    """`NoisyMean` between the tracing bound and what is proved for it."""
    estimator_at = estimator_at or _planned_mean(model)
    return Claim(
        name=f"mean/tracing/{name}",
        problem=MeanProblem,
        model=model,
        lower=_best_tracing(model),
        estimator=estimator,
        estimator_at=estimator_at,
        non_private=_sample_mean,
        sweeps=sweeps,
        upper=proven(estimator_at, MeanProblem.at),
        noise_factor=2.0,
    )


def _as_published(model: type[Privacy], point: Point, weight: float = 1) -> Claim:
    """CWZ19: Algorithm 3.1 where it does better than releasing 0: it needs rho n^2 >> 2000 d.

    Under a pure budget there is no such place where the tracing bound sees privacy as well.
    """
    return _tracing(
        f"{model.name}/Algorithm 3.1",
        model,
        (Sweep("privacy", {**UNIT, **point}, weight=weight, fits=2),),
        estimator_at=_algorithm_3_1(model),
        estimator="NoisyMean (R='theory')",
    )


def _bounded_tracing(model: type[Privacy]) -> LowerBound:
    """By antipodal pairs, or by the record's own channel."""
    if model in (ZeroConcentrated, Gaussian):
        return antipodal_signs(model)
    return bounded_mean.tracing_signs_additive(model)


def _bounded(proof: str, model: type[Privacy], lower: LowerBound, *sweeps: Sweep) -> Claim:
    estimator_at = _bounded_noisy_mean(model)
    return Claim(
        name=f"bounded-mean/{proof}/{model.name}",
        problem=BoundedMeanProblem,
        model=model,
        lower=lower,
        estimator="NoisyMean",
        estimator_at=estimator_at,
        non_private=_sample_mean,
        sweeps=sweeps,
        upper=proven(estimator_at, BoundedMeanProblem.at),
        noise_factor=2.0,
    )


def _other(
    name: str,
    model: type[Privacy],
    lower: LowerBound,
    estimator: str,
    estimator_at: Factory,
    sweep: Sweep,
) -> Claim:
    """With what is proved of the estimator."""
    return Claim(
        name=f"mean/{name}",
        problem=MeanProblem,
        model=model,
        lower=lower,
        estimator=estimator,
        estimator_at=estimator_at,
        non_private=_sample_mean,
        sweeps=(sweep,),
        upper=proven(estimator_at, MeanProblem.at),
    )


PUBLISHED = {"n": 40_000, "d": 200, "epsilon": 0.2, "delta": 1e-7}
"""Where the published algorithms beat releasing 0 and privacy is dear."""
PACKED = {**UNIT, "n": 2000, "d": 50, "epsilon": 0.5}
ZCDP = {**BASE, "rho": 0.05}
APPROXIMATE = {**UNIT, "n": 3000, "d": 200, "epsilon": 0.5, "delta": 1e-7}
PURE_SWEEP = Sweep(
    "privacy",
    {**LONGER, "epsilon": 0.5},
    {**ASYMPTOTIC, "epsilon": 1e-3},
    ("n", "epsilon"),
    fits=2,
)
GDP_SWEEP = Sweep("privacy", {**BASE, "mu": 0.3}, {**ASYMPTOTIC, "mu": 1e-3}, ("n", "mu"), fits=2)


def _tracing_claims() -> list[Claim]:
    return [
        _tracing(
            "approximate",
            Approximate,
            (
                Sweep(
                    "privacy",
                    APPROXIMATE,
                    {**ASYMPTOTIC, "epsilon": 1e-3, "delta": 1e-30},
                    ("n", "d", "epsilon"),
                    fits=2,
                ),
            ),
        ),
        _tracing(
            "zCDP",
            ZeroConcentrated,
            (
                Sweep("privacy", ZCDP, {**ASYMPTOTIC, "rho": 1e-6}, ("n", "d", "rho"), fits=2),
                Sweep(
                    "statistics",
                    {**UNIT, "n": 2000, "d": 40, "rho": 200.0},
                    {**UNIT, "n": 1e9, "d": 1e3, "rho": 200.0},
                    ("n", "d", "rho"),
                    weight=0.5,  # nearly all of the loss is known sampling error
                ),
            ),
        ),
        _tracing(
            "GDP",
            Gaussian,
            (GDP_SWEEP,),
        ),
        _tracing(
            "pure",
            Pure,
            (PURE_SWEEP,),
        ),
        _as_published(Approximate, PUBLISHED, weight=0.5),
        _as_published(ZeroConcentrated, {"n": 20_000, "d": 100, "rho": 0.0025}),
        _as_published(Gaussian, {"n": 20_000, "d": 100, "mu": 0.07}),
    ]


def _other_claims() -> list[Claim]:
    """By other proofs, or of other estimators."""
    return [
        # No slope: its plan truncates below the height of the packing where privacy is dearer. The
        # records of the packing are sub-Gaussian by coordinates.
        _other(
            "packing/pure",
            Pure,
            mean.dense_packing(Pure),
            "NoisyMean",
            _planned_mean(Pure, "coordinates"),
            Sweep("privacy", PACKED, weight=2),
        ),
        _other(
            "packing/pure/R = 4 sigma",
            Pure,
            mean.dense_packing(Pure),
            "NoisyMean (R = 4 sigma)",
            lambda p: NoisyMean(at_point(Pure, p), R=4 * p["sigma"]),
            Sweep(
                "privacy",
                PACKED,
                {**UNIT, "n": 1e20, "d": 1e4, "epsilon": 1e-2},
                ("n", "d", "epsilon"),
                weight=2,
                fits=2,
            ),
        ),
        _other(
            "tracing/zCDP/CoinPress",
            ZeroConcentrated,
            _best_tracing(ZeroConcentrated),
            "CoinPressMean",
            _coinpress(ZeroConcentrated),
            Sweep("privacy", ZCDP),
        ),
        _other(
            "tracing/approximate/KarwaVadhan",
            Approximate,
            _best_tracing(Approximate),
            "KarwaVadhanMean",
            _karwa_vadhan(Approximate),
            Sweep("privacy", {**UNIT, **PUBLISHED}, weight=0.2),
        ),
    ]


def _bounded_claims() -> list[Claim]:
    sweeps: dict[type[Privacy], tuple[Sweep, ...]] = {
        ZeroConcentrated: (
            Sweep("privacy", ZCDP, {**ASYMPTOTIC, "rho": 1e-6}, ("n", "d", "rho"), fits=2),
            Sweep(
                "statistics",
                {**UNIT, "n": 2000, "d": 40, "rho": 5.0},
                {**UNIT, "n": 1e12, "d": 1e3, "rho": 5.0},
                ("n", "d", "rho"),
                weight=4,
            ),
        ),
        # Privacy costs d^3 and statistics d: at 150 a larger epsilon is still seen.
        Pure: (replace(PURE_SWEEP, base={**UNIT, "n": 9000, "d": 150, "epsilon": 0.5}),),
        Approximate: (
            Sweep(
                "privacy",
                {**APPROXIMATE, "n": 4500},
                {**ASYMPTOTIC, "epsilon": 1e-3, "delta": 1e-30},
                ("n", "epsilon"),
                fits=2,
            ),
        ),
        Gaussian: (GDP_SWEEP,),
    }
    diluted = Sweep(
        "privacy",
        {**UNIT, "n": 8000, "d": 200, "epsilon": 0.22, "delta": 1e-9},
        {**UNIT, "n": 1e12, "d": 1e8, "epsilon": 1e-3, "delta": 1e-60},
        ("n", "d", "epsilon"),
        fits=2,
    )
    return [
        *(_bounded("tracing", model, _bounded_tracing(model), *sweeps[model]) for model in sweeps),
        _bounded("dilution", Approximate, dilution(Approximate), diluted),
    ]


def claims() -> list[Claim]:
    """Every claim about a mean."""
    return _tracing_claims() + _other_claims() + _bounded_claims()
