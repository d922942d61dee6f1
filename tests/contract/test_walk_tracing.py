"""Every bound by tracing, van Trees or a paper's claim, over its whole domain and in balls."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest
from scipy import stats

from minimax.core.bound import LowerBound
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.methods.binomial_tails import binomial_tails
from minimax.methods.tracing import GAUSSIAN, GAUSSIAN_PRODUCT, gain
from minimax.problems.bounded_mean import diluted
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.logistic import lower as logistic
from minimax.problems.mean import lower as mean
from minimax.problems.regression import lower as regression
from minimax.problems.sparse_mean import lower as sparse_mean
from minimax.problems.sparse_regression import lower as sparse_regression
from tests.contract.walk import POINTS, log_uniform, points, walk, whole
from tests.effort import part

MODELS = (Pure, Approximate, ZeroConcentrated, Gaussian)
SHIFTED = (Pure, Approximate)
CONCENTRATED = (ZeroConcentrated, Gaussian)
ORDINARY = {
    "n": whole(10, 1e6),
    "d": whole(1, 1e3),
    "s": whole(1, 1e2),
    "epsilon": log_uniform(0.01, 5),
    "delta": log_uniform(1e-14, 1e-5),
    "rho": log_uniform(1e-5, 5),
    "mu": log_uniform(0.003, 3),
    "sigma": log_uniform(0.1, 10),
    "radius": log_uniform(0.1, 10),
}
"""Where the term of privacy matters, which is next to nothing over most of the domain."""


def every_bound() -> list[LowerBound]:
    found = [
        mean.statistical_gaussian(),
        mean.claimed_theorem_3_1(),
        bounded_mean.statistical_signs(),
        sparse_mean.statistical(),
        sparse_mean.refuted_theorem_3_3(),
        sparse_mean.refuted_lemma_3_2(),
        regression.statistical(),
        regression.claimed_theorem_4_1(),
        sparse_regression.statistical(),
        sparse_regression.claimed_theorem_4_3(),
        sparse_regression.refuted_lemma_4_3(),
        logistic.statistical(),
    ]
    for model in MODELS:
        found += [
            bounded_mean.tracing_signs(model),
            bounded_mean.tracing_signs_additive(model),
            diluted.in_sample(model),
            mean.tracing_gaussian(model),
            sparse_mean.known_support(model),
            regression.tracing(model),
            sparse_regression.known_support(model),
            logistic.tracing(model),
        ]
    for model in CONCENTRATED:
        dense, linear = mean.antipodal_gaussian(model), regression.antipodal_pairs(model)
        found += [
            dense,
            linear,
            bounded_mean.antipodal_signs(model),
            logistic.antipodal_pairs(model),
            sparse_mean.on_known_support(dense),
            sparse_regression.on_known_support(linear),
        ]
    for model in (Approximate, *CONCENTRATED):
        dense, linear = mean.resampled_gaussian(model), regression.resampled_sign(model)
        found += [
            dense,
            linear,
            bounded_mean.resampled_signs(model),
            sparse_mean.on_known_support(dense),
            sparse_regression.on_known_support(linear),
        ]
    for model in SHIFTED:
        found += [
            mean.tracing_gaussian(model, shifted=True),
            sparse_mean.known_support(model, shifted=True),
            regression.tracing(model, shifted=True),
            sparse_regression.known_support(model, shifted=True),
        ]
    return found


def packings() -> list[LowerBound]:
    return [
        bound
        for model in MODELS
        for bound in (
            mean.dense_packing(model),
            mean.dense_packing(model, "bounded"),
            sparse_mean.packing(model),
            regression.packing(model, sparse=False),
            regression.packing(model, sparse=True),
        )
    ]


def label(bound: LowerBound) -> str:
    return f"{bound.source.split(':')[0]} {bound.name} {' '.join(bound.parameters)}"


@pytest.mark.parametrize("bound", every_bound(), ids=label)
def test_no_value_lies_beyond_the_exact_one(bound: LowerBound) -> None:
    """Nor at ordinary points; one test of both, since the closed form of a bound is made once."""
    ordinary = points(bound, part(12, of=40), among=40, domain=ORDINARY)
    for places in (points(bound), ordinary):
        seen = walk(bound, places)
        assert not seen.faults
        assert seen.evaluated == len(places)
        if bound.kind == "certified":
            assert seen.compared == len(places)
            assert seen.excess <= 0
    if "tracing" in bound.name and bound.kind == "certified":
        private = sum((bound.parts(**place).privacy or 0) > 0 for place in ordinary)
        assert private >= len(ordinary) / 8


@pytest.mark.parametrize("model", SHIFTED)
def test_dilution_over_its_domain(model: type) -> None:
    """With up to 1200 gains and 8000 chances each."""
    seen = walk(diluted.dilution(model))
    assert not seen.faults
    assert (seen.evaluated, seen.compared) == (POINTS, POINTS)
    assert seen.excess <= 0


@pytest.mark.parametrize("bound", packings(), ids=label)
def test_packings_of_the_problems(bound: LowerBound) -> None:
    places = points(bound, part(18, of=POINTS))
    seen = walk(bound, places)
    assert not seen.faults
    assert (seen.evaluated, seen.compared) == (len(places), len(places))
    assert seen.excess <= 0


def test_no_gain_is_cut_off_below_its_value() -> None:
    """At 0.3.0 exponents were capped at 600 and 700, and these gains came out too small."""
    with mpmath.workdps(30):
        chi = mpmath.sqrt(mpmath.expm1(30**2))
        moment = mpmath.sqrt(2 / mpmath.pi) * mpmath.sinh(705)
    assert gain(Gaussian(30.0), GAUSSIAN_PRODUCT) >= chi * (1 - 1e-12)
    assert gain(Approximate(705.0, 1e-9), GAUSSIAN, shifted=False) >= moment * (1 - 1e-12)


@pytest.mark.parametrize(
    ("n", "p"),
    [
        (7, 0.3),
        (10**4, 0.003),
        (10**15, 4e-14),
        (10**15, 2e-7),
        (60, 1 - 1e-9),  # where the first chance is not a float
        (400, 0.9),
    ],
)
def test_binomial_tails_are_upper_bounds(n: int, p: float) -> None:
    mean_count = n * p
    top = min(n, math.ceil(mean_count + 12 * math.sqrt(mean_count) + 30))
    low = max(math.floor(mean_count - 12 * math.sqrt(mean_count)), 1)
    counts = [0.0, *np.unique(np.round(np.linspace(low, top, 200))).tolist()]
    found = binomial_tails(counts, float(n), p)
    with mpmath.workdps(30):
        exact = binomial_tails(counts, mpmath.mpf(n), mpmath.mpf(p))
    assert [float(tail) for tail in exact] == pytest.approx(found, rel=1e-9)
    truth = stats.binom.sf(counts, n, p) if n < 10**9 else stats.poisson.sf(counts, mean_count)
    assert np.all(np.array(found) >= truth * (1 - 1e-6))
    if mean_count < 1e5:  # summed: sharp as well
        inner = [i for i, tail in enumerate(truth) if i and tail > 1e-12]
        assert np.array(found)[inner] == pytest.approx(truth[inner], rel=1e-6)
