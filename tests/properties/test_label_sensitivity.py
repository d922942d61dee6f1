"""A label is as private as the ledger says, whatever it is: 1e6 times or 1e300 outside the range.

The predicates are about the estimators: the randomiser is the one that a fit used, at the bound
that it used, and the guarantee is the one that it reported. Controls: a range that is not enforced,
half the noise, the printed noise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attacks.one_report import index_tradeoff, tradeoff
from estimators import LabelHardThresholding, LabelLasso
from estimators.randomisers.labels import BinaryLabels, GaussianLabels, LaplaceLabels
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from tests.effort import part
from tests.strategies import log_floats

QUICK = settings(max_examples=part(15, of=40), deadline=None, derandomize=True)
X = np.random.default_rng(0).choice([-1.0, 1.0], (40, 6))
INSIDE = X[:, 0].copy()
ROUNDING = 1e-9
LABELS = st.one_of(
    st.sampled_from([0.0, -1.0, 1e6, -1e6, 1e300, -1e300, 1.7e308, 5e-324]), st.floats(-5, 5)
)


def fitted(kind: Any, budget: Any, **options: Any) -> Any:
    return kind(budget, s=2, C=0.1, random_state=0, **options).fit(X, INSIDE)


def log_ratio(randomiser: Any, reports: Any, y: float, other: float) -> float:
    difference = randomiser.log_likelihood(reports, y) - randomiser.log_likelihood(reports, other)
    return float(np.max(np.abs(difference)))


@QUICK
@given(
    st.sampled_from([LabelHardThresholding, LabelLasso]),
    st.sampled_from(["auto", "laplace", "binary"]),
    log_floats(1e-3, 12),
    LABELS,
    LABELS,
)
def test_reports_of_any_two_labels_are_within_epsilon(
    kind: Any, mechanism: str, epsilon: float, y: float, other: float
) -> None:
    estimator = fitted(kind, Pure(epsilon, scope="label"), mechanism=mechanism)
    randomiser, bound = estimator.randomiser_, estimator.randomiser_.bound
    reports = [-1e300, -bound, -0.3, 0.3, bound, 1e300]
    allowed = estimator.privacy_.epsilon
    assert allowed == pytest.approx(epsilon)
    assert log_ratio(randomiser, reports, y, other) <= allowed * (1 + ROUNDING) + ROUNDING
    # Attained, so nothing was wasted; and half the noise is seen.
    assert log_ratio(randomiser, reports, 1e300, -1e300) == pytest.approx(allowed, rel=1e-6)
    louder = type(randomiser)(bound, 2 * epsilon)
    assert log_ratio(louder, reports, 1e300, -1e300) > 1.9 * allowed


@QUICK
@given(
    st.sampled_from(
        [
            Approximate(1.0, 1e-3, scope="label"),
            ZeroConcentrated(0.3, scope="label"),
            Gaussian(0.7, scope="label"),
        ]
    ),
    LABELS,
    LABELS,
)
def test_gaussian_reports_of_any_two_labels_are_within_the_curve(
    budget: Any, y: float, other: float
) -> None:
    estimator = fitted(LabelHardThresholding, budget, mechanism="gaussian")
    curve = tradeoff(estimator.randomiser_, y, other)
    with np.errstate(divide="ignore"):
        allowed = estimator.ledger_[0].guarantees[0].tradeoff_log(np.log(curve.false_positive))
    assert np.all(curve.true_positive <= allowed + ROUNDING)
    worst = tradeoff(estimator.randomiser_, 1e300, -1e300)
    assert worst.excess == pytest.approx(0, abs=ROUNDING)
    louder = GaussianLabels(estimator.randomiser_.bound, estimator.randomiser_.scale / 2)
    beyond = tradeoff(louder, 1e300, -1e300).true_positive - worst.true_positive
    assert beyond.max() > 0.05


@QUICK
@given(LABELS, LABELS, st.integers(0, 10**6))
def test_genprot_index_of_any_two_labels_is_within_epsilon(
    y: float, other: float, seed: int
) -> None:
    estimator = fitted(LabelHardThresholding, Pure(0.7, scope="label"), mechanism="genprot")
    mechanism = estimator.randomiser_
    public = mechanism.base.reference((mechanism.samples,), np.random.default_rng(seed))
    curve = index_tradeoff(mechanism, public, y, other)
    assert curve.epsilon <= estimator.privacy_.epsilon + ROUNDING
    assert estimator.privacy_.epsilon <= 0.7


@pytest.mark.parametrize("y", [4.0, 1e6, 1e100])
def test_without_the_clip_the_guarantee_is_violated(y: float) -> None:
    """The same noise, for labels that are not clipped: any range that holds them shows it."""
    bound, epsilon = 2.0, 1.0
    laplace = LaplaceLabels(bound, epsilon)
    unclipped = LaplaceLabels(y, y / bound * epsilon)  # the same scale, and the label kept
    assert unclipped.scale == pytest.approx(laplace.scale)
    assert log_ratio(laplace, y, y, -y) <= epsilon * (1 + ROUNDING)
    assert log_ratio(unclipped, y, y, -y) > 1.9 * epsilon
    # One bit: the chance (1 + (y/bound) tanh(epsilon/2))/2 is no chance once y is far outside.
    share = y / bound * math.tanh(epsilon / 2)
    if share >= 1:
        assert (1 - share) / 2 <= 0
    else:
        assert math.log((1 + share) / (1 - share)) > 1.9 * epsilon
    assert log_ratio(BinaryLabels(bound, epsilon), [1.0, -1.0], y, -y) == pytest.approx(epsilon)


@QUICK
@given(st.sampled_from([1e6, -1e6, 1e100, -1e300, 1.7e308]), st.integers(0, 39))
def test_a_label_far_outside_changes_nothing_but_its_own_clipped_report(
    y: float, place: int
) -> None:
    """With the same seed a label outside the range gives the release of a label at its end."""
    for kind in (LabelHardThresholding, LabelLasso):
        for mechanism in ("laplace", "binary", "genprot"):
            moved, end = INSIDE.copy(), INSIDE.copy()
            moved[place], end[place] = y, math.copysign(1.6, y)
            options: dict[str, Any] = {"bound": 1.6, "mechanism": mechanism, "random_state": 1}
            released = [kind(s=2, **options).fit(X, labels).coef_ for labels in (moved, end)]
            assert np.array_equal(*released)


def test_the_printed_noise_is_not_within_its_budget() -> None:
    budget = Approximate(1.0, 1e-3, scope="label")
    printed = LabelHardThresholding(budget, s=6, C=0.05, calibration="paper", random_state=0)
    curve = tradeoff(printed.fit(X, INSIDE).randomiser_, 1e6, -1e6)
    with np.errstate(divide="ignore"):
        allowed = budget.tradeoff_log(np.log(curve.false_positive))
    assert (curve.true_positive - allowed).max() > 0.9
