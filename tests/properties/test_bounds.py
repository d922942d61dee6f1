"""One contract for all bounds, over random points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from minimax.catalogue import PROBLEMS
from minimax.core.bound import Bound, OutsideRegime
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.bounded_mean.diluted import TO_THE_SAMPLE_MEAN
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.label_regression import lower as label_regression
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import one_shot_label_upper
from minimax.problems.local_regression import lower as local_regression
from minimax.problems.local_regression.halving import halving_upper
from minimax.problems.local_regression.problem import SQUARED, SUM, LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper
from minimax.problems.logistic import lower as logistic
from minimax.problems.mean import lower as mean
from minimax.problems.mean import upper as mean_upper
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.regression import lower as regression
from minimax.problems.sparse_mean import lower as sparse_mean
from minimax.problems.sparse_mean import upper as sparse_mean_upper
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_regression import lower as sparse_regression
from tests.effort import part
from tests.strategies import local_privacies, log_floats, log_integers, privacies

MODELS = (Pure, Approximate, ZeroConcentrated, Gaussian)
BOUNDS: dict[str, Bound] = {
    f"{problem}/{model.name}/{bound.name}": bound
    for model in MODELS
    for problem, bounds in (
        ("mean", mean.lower_bounds(model)),
        ("bounded", bounded_mean.bounded_lower_bounds(model)),
        ("sparse", sparse_mean.lower_bounds(model)),
        ("regression", regression.lower_bounds(model)),
        ("sparse-regression", sparse_regression.lower_bounds(model)),
        ("logistic", logistic.lower_bounds(model)),
    )
    for bound in bounds
}
BOUNDS |= {
    f"{problem}/{model.__name__}/{bound.name}": bound
    for model in (*MODELS, Renyi, OffsetConcentrated)
    for problem, bounds in (
        ("local", local_regression.lower_bounds(model)),
        ("label", label_regression.lower_bounds(model)),
        ("linear-label", label_regression.lower_bounds(model, link=False)),
    )
    for bound in bounds
}
CERTIFIED = {name: bound for name, bound in BOUNDS.items() if bound.kind == "certified"}
POPULATION = [name for name, bound in CERTIFIED.items() if bound.loss is not TO_THE_SAMPLE_MEAN]


@st.composite
def points(draw: st.DrawFn) -> dict[str, float]:
    """A point with every parameter that any bound may need."""
    d = draw(log_integers(1, 3000))
    s = draw(log_integers(1, d))
    return {
        "n": draw(log_integers(5, 10**7)),
        "d": d,
        "s": s,
        "sigma": draw(log_floats(0.01, 100)),
        "radius": draw(log_floats(0.01, 100)),
        "epsilon": draw(log_floats(1e-3, 400)),
        "delta": draw(log_floats(1e-14, 1e-3)),
        "rho": draw(log_floats(1e-6, 10)),
        "mu": draw(log_floats(1e-3, 4)),
        "p": draw(log_integers(s, 3000)),
        "C": draw(log_floats(0.01, 100)),
        "b": draw(log_floats(0.1, 10)),
        "alpha": draw(log_floats(1.1, 50)),
        "kappa": draw(log_floats(1e-4, 3)),
    }


def scales(bound: Bound, point: dict[str, float]) -> dict[str, float]:
    """The bounded classes have no radius of their own."""
    return point if "radius" in bound.parameters else {**point, "radius": point["sigma"]}


@pytest.mark.parametrize("name", CERTIFIED)
@settings(max_examples=part(4, of=15), deadline=None, derandomize=True)
@given(point=points())
def test_value_is_at_least_the_closed_form(name: str, point: dict[str, float]) -> None:
    bound = CERTIFIED[name]
    try:
        value = bound.value(**point)
    except OutsideRegime:
        assert bound.broken(**point)
        return
    closed = bound.closed_form(**point)
    assert math.isfinite(value)
    assert value >= 0
    assert closed <= value * (1 + 1e-9)
    if bound.slack is not None and (bound.slack_regime is None or bound.slack_regime.holds(point)):
        assert value <= bound.slack * closed * (1 + 1e-9)


@pytest.mark.parametrize("name", POPULATION)
@settings(max_examples=part(3, of=8), deadline=None, derandomize=True)
@given(point=points(), seed=st.integers(0, 2**20))
def test_a_data_free_guess_is_never_beaten(name: str, point: dict[str, float], seed: int) -> None:
    """Releasing 0 is perfectly private: no bound may exceed its mean loss under its own prior."""
    bound = CERTIFIED[name]
    point = {**scales(bound, point), "n": min(point["n"], 2000), "d": min(point["d"], 200)}
    point["s"] = min(point["s"], point["d"])
    point["p"] = max(min(point["p"], 200), point["s"])
    try:
        value = bound.value(**point)
        prior = bound.prior(**point)
    except OutsideRegime:
        return
    rng = np.random.default_rng(seed)
    instances = [prior.draw(rng) for _ in range(60)]
    sizes = np.array([drawn.loss(np.zeros_like(drawn.target)) for drawn in instances])
    assert value <= sizes.mean() + 6 * sizes.std() / math.sqrt(len(sizes)) + 1e-12


@pytest.mark.parametrize("name", CERTIFIED)
@settings(max_examples=part(3, of=8), deadline=None, derandomize=True)
@given(point=points(), factor=log_floats(1.5, 30))
def test_more_records_or_less_privacy_never_raise_a_bound(
    name: str, point: dict[str, float], factor: float
) -> None:
    bound = CERTIFIED[name]
    assume(not bound.broken(**point))
    value = bound.value(**point)
    budget = [k for k in ("epsilon", "rho", "mu", "kappa") if k in bound.parameters]
    for moved in ("n", *budget):
        easier = {**point, moved: point[moved] * factor}
        if moved == "n":
            easier["n"] = round(easier["n"])
        if bound.broken(**easier):
            continue
        # Optimised on grids, so equal values may differ in their last digits.
        assert bound.value(**easier) <= value * (1 + 2e-3) + 1e-300


@pytest.mark.oldest
@settings(max_examples=part(12, of=80), deadline=None, derandomize=True)
@given(
    privacy=privacies(),
    n=log_integers(4, 10**7),
    d=log_integers(2, 3000),
    sigma=log_floats(0.05, 20),
    data=st.data(),
)
def test_lower_bounds_stay_below_the_proven_upper_bounds(
    privacy: Pure | Approximate | ZeroConcentrated | Gaussian,
    n: int,
    d: int,
    sigma: float,
    data: st.DataObject,
) -> None:
    s = data.draw(st.integers(1, max(1, d // 2)))
    # The proven upper bounds are for Gaussian or bounded data, so sub-Gaussian packings are left
    # to the measurements.
    point = {"n": n, "d": d, "s": s, "sigma": sigma, "radius": sigma, **privacy.parameters}
    pairs = [
        (
            [mean.statistical_gaussian(), mean.tracing_gaussian(type(privacy), shifted=True)],
            mean_upper.best_upper(MeanProblem(n, d, sigma, sigma), privacy).risk,
        ),
        (
            [
                b
                for b in bounded_mean.bounded_lower_bounds(type(privacy))
                if "in-sample" not in b.name
            ],
            mean_upper.best_upper(BoundedMeanProblem(n, d, sigma, sigma), privacy).risk,
        ),
        (
            [sparse_mean.statistical(), sparse_mean.known_support(type(privacy))],
            sparse_mean_upper.best_upper(SparseMeanProblem(n, d, s, sigma, sigma), privacy).risk,
        ),
    ]
    for bounds, upper in pairs:
        for bound in bounds:
            if not bound.broken(**point):
                assert bound.value(**point) <= upper * (1 + 1e-9)


@settings(max_examples=part(8, of=40), deadline=None, derandomize=True)
@given(
    privacy=privacies(),
    n=log_integers(4, 10**7),
    d=log_integers(2, 1000),
    sigma=log_floats(0.05, 5),
    radius=log_floats(0.2, 5),
    data=st.data(),
)
def test_lower_bounds_of_regression_stay_below_the_proven_upper_bounds(
    privacy: Pure | Approximate | ZeroConcentrated | Gaussian,
    n: int,
    d: int,
    sigma: float,
    radius: float,
    data: st.DataObject,
) -> None:
    s = data.draw(st.integers(1, max(1, d // 2)))
    point = {"n": n, "d": d, "s": s, "sigma": sigma, "radius": radius}
    for name in ("regression", "sparse-regression", "logistic"):
        problem = PROBLEMS[name].at(point)
        upper = problem.best_upper(privacy).risk
        assert problem.best_lower(privacy).risk <= upper * (1 + 1e-9)


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    privacy=st.one_of(privacies(), local_privacies()),
    n=log_integers(1, 10**9),
    p=log_integers(1, 3000),
    C=log_floats(0.01, 50),
    data=st.data(),
)
def test_lower_bounds_under_local_privacy_stay_below_the_proven_upper_bounds(
    privacy: Any, n: int, p: int, C: float, data: st.DataObject
) -> None:
    s = data.draw(log_integers(1, p))
    labels = LabelRegressionProblem(n, p, s, C)
    records = [
        LocalRegressionProblem(n, p, C, interactive, loss)
        for interactive in (False, True)
        for loss in (SQUARED, SUM)
    ]
    for problem in (labels, *records):
        upper = problem.best_upper(privacy).risk
        assert problem.best_lower(privacy).risk <= upper * (1 + 1e-9)
        assert upper <= 1
    bounds = [one_shot_label_upper(labels, privacy)]
    for problem in records[:2]:
        bounds += [one_shot_upper(problem, privacy), halving_upper(problem, privacy)]
    for bound in bounds:
        if not bound.broken():
            assert bound.value() <= bound.closed_form() * (1 + 1e-9)


@pytest.mark.oldest
@pytest.mark.parametrize("name", BOUNDS)
def test_every_bound_prints_and_has_a_slope(name: str) -> None:
    bound = BOUNDS[name]
    point = {
        "n": 10**7, "d": 10**5, "s": 10**3, "sigma": 1.0, "radius": 1.0,
        "epsilon": 0.05, "delta": 1e-30, "rho": 0.001, "mu": 0.05,
        "p": 10**5, "C": 2.0, "b": 1.5, "alpha": 2.0, "kappa": 0.001,
    }  # fmt: skip
    if bound.kind == "claimed":
        point["delta"] = 1e-9
    assert len(bound.latex()) > 10
    assert bound.slope("n", **point) < 0.01
    if bound.kind != "certified":
        with pytest.raises(OutsideRegime):
            bound.prior(**point)


def test_every_certified_bound_states_its_factor() -> None:
    assert [name for name, bound in CERTIFIED.items() if bound.slack is None] == []


@pytest.mark.oldest
def test_a_bound_refuses_bad_points() -> None:
    bound = mean.tracing_gaussian(Approximate)
    good = {"n": 100, "d": 5, "sigma": 1, "radius": 1, "epsilon": 1, "delta": 1e-6}
    with pytest.raises(TypeError, match="missing delta"):
        bound.value(**{k: v for k, v in good.items() if k != "delta"})
    with pytest.raises(ValueError, match="n must be positive"):
        bound.value(**{**good, "n": 0})
    with pytest.raises(OutsideRegime, match="n >= 4"):
        mean.dense_packing(Approximate).value(**{**good, "n": 3})
    with pytest.raises(OutsideRegime, match="zero here"):
        mean.dense_packing(Pure).slope("n", n=100, d=2, sigma=1, radius=1, epsilon=1)


def test_the_upper_bound_covers_the_whole_class_not_just_gaussians() -> None:
    """A two-point coordinate that is exactly sub-Gaussian(1) and skewed beats the Gaussian bias."""
    from minimax.methods.couplings import kearns_saul

    R, alpha = 3.0869, 0.042393
    height = 1 / math.sqrt(float(kearns_saul(alpha)))
    values, chances = np.array([1 - height * alpha, 1 + height * (1 - alpha)]), [1 - alpha, alpha]
    bias = abs(float(np.dot(np.clip(values, -R, R), chances)) - 1)
    assert bias > 2 * mean_upper.clip_bias(R, 1.0, 1.0)
    assert bias <= mean_upper.subgaussian_clip_bias(R, 1.0, 1.0)


def test_an_upper_bound_is_a_function_of_the_point() -> None:
    bound = mean_upper.noisy_mean_upper(MeanProblem(100, 5), R=3.0, noise_variance=0.1)
    assert bound.value(n=100) == bound.value()
    other = mean_upper.noisy_mean_upper(MeanProblem(200, 5), R=3.0, noise_variance=0.1)
    assert bound.value(n=200) == other.value() < bound.value()


def test_where_the_prior_limits_nothing_else_is_lost() -> None:
    """At a tiny budget the bound is next to the prior's own: d/(pi/a)^2, where 10.04 of the 10.13
    possible was all that an attack with the prior's part as a loss could prove."""
    bound = mean.tracing_gaussian(ZeroConcentrated)
    point = {"n": 10, "d": 100, "sigma": 1.0, "radius": 1.0, "rho": 1e-4}
    direct = (100 / (10 * math.sqrt(2e-4) + math.sqrt(100 * math.pi**2))) ** 2
    assert direct < 10.05 < bound.value(**point) <= 100 / math.pi**2
    assert bound.value(**point) == pytest.approx(100 / (math.pi**2 + 2e-4), rel=1e-4)


def test_estimator_and_calculator_use_the_same_noise() -> None:
    from estimators.mean import NoisyMean

    for privacy in (Pure(0.5), Approximate(0.5, 1e-6), ZeroConcentrated(0.1), Gaussian(0.3)):
        problem = MeanProblem(1000, 20, 1.0, 1.0)
        best = mean_upper.best_noisy_mean(problem, privacy, law="Gaussian")
        named = NoisyMean(privacy=privacy, tails="Gaussian", **best.keywords())
        assert named.risk_bound(problem).value() == pytest.approx(best.value(), rel=1e-12)
        advised = mean_upper.best_upper(problem, privacy)
        followed = NoisyMean(privacy=privacy, **advised.settings)
        assert followed.risk_bound(problem).value() == advised.risk
        narrower = mean_upper.upper_bounds(problem, privacy)
        for bound, tails in zip(narrower, ("vectors", "Gaussian"), strict=True):
            default = NoisyMean(privacy=privacy, sigma=1.0, radius=1.0, tails=tails)
            assert default.risk_bound(problem).value() == bound.value()
            assert dict(bound.keywords()) == {"sigma": 1.0, "radius": 1.0, "tails": tails}
        assert narrower[1].value() <= narrower[0].value() * (1 + 1e-3)
