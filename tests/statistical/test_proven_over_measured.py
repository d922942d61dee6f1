"""Where privacy dominates, what is proved is at most ten times what is measured."""

from __future__ import annotations

import numpy as np
import pytest

from minimax.core.bound import Point
from minimax.core.symbolic import Number
from minimax.problems.sparse_regression import residual_clipped
from verify.rates.claim import Claim
from verify.rates.claims import logistic, regression, sparse_regression
from verify.rates.measure import losses

MOST = 10.0
FITS = 150
PLANNED = ("ResidualClippedRegression", "SparseResidualClippedRegression", "PlannedLogistic")


def planned_claims() -> dict[str, Claim]:
    """The claims of estimators that plan by what is proved of them."""
    every = [*regression.claims(), *sparse_regression.claims(), *logistic.claims()]
    return {
        claim.name: claim
        for claim in every
        if claim.upper and claim.control_point and claim.estimator.startswith(PLANNED)
    }


CLAIMS = planned_claims()


def measured(claim: Claim, point: Point) -> float:
    """The mean loss under the prior of the claim's lower bound, less two of its errors."""
    found = losses(claim.estimator_at, claim.lower.prior(**point), point, FITS, 5)
    return float(np.mean(found) - 2 * np.std(found) / np.sqrt(FITS))


def proved(claim: Claim, point: Point) -> float:
    assert claim.upper is not None
    return claim.upper(point).value()


def test_dense_sparse_and_logistic_claims_are_among_them() -> None:
    problems = {name.split("/")[0] for name in CLAIMS}
    assert problems == {"regression", "sparse-regression", "logistic"}


@pytest.mark.parametrize("name", CLAIMS)
def test_at_most_ten_times(name: str) -> None:
    claim = CLAIMS[name]
    assert claim.control_point is not None
    point = dict(claim.control_point)
    assert 1 < proved(claim, point) / measured(claim, point) < MOST


def test_a_control_where_the_first_phase_is_held_to_all_errors_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its start is public: if it might depend on the records, ten would be passed."""

    def drift(at: Point, phase: residual_clipped.Phase, x: Number) -> residual_clipped._Drift:
        start = residual_clipped._Error(at["radius"], at["radius"])
        found = {"log_sets": residual_clipped._log_sets(at["d"], at["s"])}
        return residual_clipped._later_drift(at, found, start, phase, x)

    claim = CLAIMS["sparse-regression/known support/GDP"]
    assert claim.control_point is not None
    point = dict(claim.control_point)
    risk = measured(claim, point)
    monkeypatch.setattr(residual_clipped, "_first_drift", drift)
    residual_clipped._search.cache_clear()
    assert proved(claim, point) > MOST * risk
    residual_clipped._search.cache_clear()
