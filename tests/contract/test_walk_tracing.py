"""Every bound by tracing, van Trees or a paper's claim, over its whole domain and in 50 digits."""

from __future__ import annotations

import pytest

from minimax.core.bound import LowerBound
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.problems.bounded_mean import diluted
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.logistic import lower as logistic
from minimax.problems.mean import lower as mean
from minimax.problems.regression import lower as regression
from minimax.problems.sparse_mean import lower as sparse_mean
from minimax.problems.sparse_regression import lower as sparse_regression
from tests.contract.walk import walk

MODELS = (Pure, Approximate, ZeroConcentrated, Gaussian)
SHIFTED = (Pure, Approximate)


def every_bound() -> list[LowerBound]:
    found = [
        mean.statistical_gaussian(),
        mean.claimed_theorem_3_1(),
        bounded_mean.statistical_signs(),
        sparse_mean.refuted_theorem_3_3(),
        sparse_mean.refuted_lemma_3_2(),
        regression.statistical(),
        regression.claimed_theorem_4_1(),
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
    for model in SHIFTED:
        found += [
            mean.tracing_gaussian(model, shifted=True),
            sparse_mean.known_support(model, shifted=True),
            regression.tracing(model, shifted=True),
            sparse_regression.known_support(model, shifted=True),
        ]
    return found


def label(bound: LowerBound) -> str:
    return f"{bound.source.split(':')[0]} {bound.name} {' '.join(bound.parameters)}"


@pytest.mark.parametrize("bound", every_bound(), ids=label)
def test_no_value_lies_beyond_the_exact_one(bound: LowerBound) -> None:
    seen = walk(bound)
    assert not seen.faults
    assert seen.evaluated >= 300
    if bound.kind == "certified":
        assert seen.compared >= 300
        assert seen.excess <= 0
