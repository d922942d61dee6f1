"""How far a record moves a logistic gradient: the bound, a pair that reaches it, and controls."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from estimators import planned_descent
from estimators.core.losses import (
    BoundedLoss,
    HuberLoss,
    LogisticLoss,
    ProbitLoss,
    SmoothHingeLoss,
)
from estimators.core.mechanisms import Release, gaussian, k_norm
from estimators.logistic import PlannedLogisticRegression
from estimators.planned_descent import PlannedRobustRegression
from minimax.core.balls import Ball
from minimax.core.calibration import Allowance
from minimax.core.logistic_gradient import logistic_half_width
from minimax.core.privacy import Pure, SpendablePrivacy, ZeroConcentrated
from minimax.core.symbolic import LETTERS
from minimax.problems.logistic.planned import Plan, Setting, _with_phases
from tests.effort import part
from tests.strategies import neighbours

ROUNDING = 1 + 1e-12
REACHES = [0.0, 1e-6, 0.3, 1.0, 2.0, 4.0, 10.0, 100.0, 1e6]
reproducible = settings(deadline=None, derandomize=True, max_examples=part(30, of=100))
entries = st.one_of(st.floats(-3, 3), st.floats(-1e300, 1e300), st.sampled_from([0.0, 1e-300]))
pairs = neighbours(entries, responses=st.floats(-2, 2), records=(1, 5), columns=(1, 4))


def gradient(x: np.ndarray, y: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray((special.expit(x @ b) - y)[..., None] * x)


def widest(reach: float) -> tuple[np.ndarray, np.ndarray]:
    """The two rows of the proof, with y = 1: at an angle to b that a fine grid finds."""
    sine = np.linspace(0, 1, 200_001)
    s = float(sine[np.argmax(special.expit(reach * sine) * np.sqrt(1 - sine**2))])
    cosine = math.sqrt(1 - s * s)
    return np.array([-s, cosine]), np.array([-s, -cosine])


@pytest.mark.parametrize("reach", REACHES)
def test_no_two_gradients_are_further_apart(reach: float) -> None:
    """Over a grid of the whole disc, which is all that a plane through b sees of longer rows."""
    angle, length = np.linspace(0, 2 * math.pi, 361), np.linspace(0.1, 1, 6)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    rows = (length[:, None, None] * circle).reshape(-1, 2)
    b = np.array([reach, 0.0])
    found = np.concatenate([gradient(rows, np.full(len(rows), y), b) for y in (0.0, 0.3, 1.0)])
    apart = max(float(np.linalg.norm(found - one, axis=1).max()) for one in found[::7])
    assert apart <= 2 * logistic_half_width(reach) * ROUNDING
    assert apart > 1.999 * logistic_half_width(reach)


@pytest.mark.parametrize("reach", REACHES)
def test_the_bound_is_reached(reach: float) -> None:
    x, other = widest(reach)
    b, one = np.array([reach, 0.0]), np.ones(())
    apart = np.linalg.norm(gradient(x, one, b) - gradient(other, one, b))
    assert apart == pytest.approx(2 * logistic_half_width(reach), rel=1e-6)


def test_what_is_known_at_zero_is_too_little_elsewhere() -> None:
    assert logistic_half_width(0.0) == 0.5
    x, other = widest(1.0)
    b, one = np.array([1.0, 0.0]), np.ones(())
    assert np.linalg.norm(gradient(x, one, b) - gradient(other, one, b)) > 1.09
    assert 2 * logistic_half_width(1.0) < 1.1 < 2 * special.expit(1.0)  # two longest gradients


@pytest.mark.parametrize("reach", REACHES[1:])
def test_the_width_in_every_kind_of_number(reach: float) -> None:
    with mpmath.workdps(50):
        top = mpmath.findroot(
            lambda s: reach / (1 + mpmath.exp(reach * s)) - s / (1 - s * s),
            _first_guess(reach),
        )
        exact = mpmath.sqrt(1 - top**2) / (1 + mpmath.exp(-reach * top))
    assert logistic_half_width(reach) == pytest.approx(float(exact), rel=1e-14)
    ball = logistic_half_width(Ball(reach))
    assert float(exact) * (1 - 1e-15) <= ball.high <= float(exact) * (1 + 1e-12)
    symbol = LETTERS["radius"]
    closed = float(logistic_half_width(symbol).subs({symbol: reach}))
    assert float(exact) * (1 - 1e-12) <= closed <= 1.16 * float(exact)


def _first_guess(reach: float) -> float:
    sine = np.geomspace(1e-8, 0.7, 20_001)
    return float(sine[np.argmax(special.expit(reach * sine) * np.sqrt(1 - sine**2))])


# --- The estimator --------------------------------------------------------------------------------


def three_phases(setting: Setting, budget: Allowance) -> Plan:
    """As planned for so many phases, with a step that follows what is released."""
    strength = float(budget.epsilon if budget.is_pure else budget.mu())
    plan = _with_phases(setting, budget.is_pure, strength, 3)
    return plan._replace(phases=tuple(phase._replace(step_size=1.0) for phase in plan.phases))


def phases(estimator: Any, X: Any, y: Any, path: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The statistic of each phase when the releases before it are held at `path`, and what the
    ledger says that a record can move it by."""
    seen: list[np.ndarray] = []

    def recording(mechanism: Any) -> Any:
        def released(value: np.ndarray, **rest: Any) -> Release[np.ndarray]:
            seen.append(value.copy())
            return Release(path[len(seen) - 1], mechanism(value, **rest).entry)

        return released

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planned_descent, "best_plan", three_phases)
        patch.setattr(planned_descent, "gaussian", recording(gaussian))
        patch.setattr(planned_descent, "k_norm", recording(k_norm))
        fitted = estimator.fit(X, y)
    return np.array(seen), np.array([entry.sensitivity for entry in fitted.ledger_])


@pytest.mark.parametrize("privacy", [ZeroConcentrated(1e9), Pure(1e6)], ids=str)
@reproducible
@given(pairs, st.sampled_from([0.1, 1.0, 50.0]), st.sampled_from([1.0, 3.0]))
def test_phases_move_no_more_than_the_ledger_says(
    privacy: SpendablePrivacy, pair: Any, radius: float, row_bound: float
) -> None:
    (X, y), (other_X, other_y) = pair
    path = 1e3 * np.random.default_rng(0).standard_normal((3, X.shape[1]))
    estimator = PlannedLogisticRegression(
        privacy, radius, row_bound, reach=radius, classes=(False, True), random_state=0
    )
    ours, allowed = phases(estimator, X, y > 0, path)
    theirs, same = phases(estimator, other_X, other_y > 0, path)
    assert np.array_equal(allowed, same)
    assert (np.linalg.norm(ours - theirs, axis=1) <= allowed * ROUNDING).all()
    assert (allowed == 1).all()


@pytest.mark.parametrize("row_bound", [1.0, 5.0])
def test_phases_move_as_much_as_the_ledger_says(row_bound: float) -> None:
    """At 0 by the label alone; then at the edge of the ball, where half of it would not do."""
    radius = 2.0 / row_bound
    x, other = (row_bound * row for row in widest(2.0))
    X, swapped = np.array([x, x, x]), np.array([x, x, other])
    y = np.array([True, True, True])
    estimator = PlannedLogisticRegression(
        ZeroConcentrated(1e9), radius, row_bound, classes=(False, True), random_state=0
    )
    path = np.array([[-1e6, 0.0]] * 3)
    ours, allowed = phases(estimator, X, y, path)
    theirs, _ = phases(estimator, swapped, y, path)
    apart = np.linalg.norm(ours - theirs, axis=1)
    assert apart[1:] == pytest.approx(allowed[1:], rel=1e-6)
    label, _ = phases(estimator, X, np.array([True, True, False]), path)
    assert np.linalg.norm(label - ours, axis=1)[0] == pytest.approx(allowed[0])


# --- Other losses ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Lying(HuberLoss):
    """A loss whose slope is far beyond what it claims."""

    def slope(self, prediction: np.ndarray, y: np.ndarray) -> np.ndarray:
        return 1e6 * (prediction - y)


LABELS = [ProbitLoss(), SmoothHingeLoss(), SmoothHingeLoss(3.0)]
REAL = [HuberLoss(0.3), HuberLoss(1e-9), HuberLoss(1e9), LogisticLoss(), Lying(0.5)]


@pytest.mark.parametrize("loss", [*LABELS, *REAL], ids=repr)
@reproducible
@given(pairs, st.sampled_from([0.1, 1.0, 50.0]), st.sampled_from([1.0, 3.0]))
def test_nor_do_phases_on_other_losses(
    loss: BoundedLoss, pair: Any, radius: float, row_bound: float
) -> None:
    """Responses are any numbers for the regressor: those of the logistic loss are clipped too."""
    path = 1e3 * np.random.default_rng(0).standard_normal((3, pair[0][0].shape[1]))
    budget = ZeroConcentrated(1e9)
    if loss in LABELS:
        estimator: Any = PlannedLogisticRegression(
            budget, radius, row_bound, classes=(False, True), loss=loss, random_state=0
        )
        pair = tuple((X, y > 0) for X, y in pair)
    else:
        estimator = PlannedRobustRegression(budget, radius, row_bound, loss, random_state=0)
    ours, allowed = phases(estimator, *pair[0], path)
    theirs, same = phases(estimator, *pair[1], path)
    assert np.array_equal(allowed, same)
    assert (np.linalg.norm(ours - theirs, axis=1) <= allowed * (1 + 1e-9)).all()


@pytest.mark.parametrize("loss", [HuberLoss(0.3), Lying(0.3)], ids=repr)
def test_opposite_responses_move_them_as_much_as_the_ledger_says(loss: BoundedLoss) -> None:
    X, y, other = np.ones((2, 1)), np.array([0.0, 1e3]), np.array([0.0, -1e3])
    estimator = PlannedRobustRegression(ZeroConcentrated(1e9), 1.0, 1.0, loss, random_state=0)
    path = np.zeros((3, 1))
    ours, allowed = phases(estimator, X, y, path)
    theirs, _ = phases(estimator, X, other, path)
    assert np.abs(ours - theirs)[:, 0] == pytest.approx(allowed)
    with pytest.MonkeyPatch.context() as patch:  # a control: half of the width is not enough
        patch.setattr(planned_descent, "half_width", lambda loss, reach: 0.5 * loss.width)
        ours, theirs = (phases(estimator, X, labels, path)[0] for labels in (y, other))
    assert (np.abs(ours - theirs)[:, 0] > 1.5 * allowed).all()
