"""Sensitivity and composition of noisy gradient regression are facts of the code.

Each check is a predicate that is asked twice: it must hold of the ledger's number, and fail for a
smaller one, or for data that are not clipped, at the adversarial pair.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from estimators.regression import NoisyGradientRegression, clipped_gradient
from minimax.core.calibration import gradient_sensitivity
from minimax.core.privacy import Approximate, Gaussian, ZeroConcentrated
from tests.effort import part
from tests.strategies import Data, log_floats, neighbours

Array = NDArray[np.float64]
QUICK = settings(max_examples=part(20, of=60), deadline=None, derandomize=True)
EXTREME = [0.0, 5e-324, 1e-200, 1e6, -1e6, 1e300, -1e300, 1.7976931348623157e308]
numbers = st.one_of(st.floats(-3, 3), st.sampled_from(EXTREME))
levels = st.sampled_from([1e-25, 1e-3, 0.7, 5.0, 1e6, 1e25])


def on_the_sphere(direction: Array, radius: float) -> Array:
    norm = float(np.linalg.norm(direction))
    return radius * direction / norm if norm > 0 else direction


def worst_pair(n: int, d: int, R: float, c: float, c0: float, outside: float) -> Any:
    """The pair and the iterate for which the averaged gradient moves most.

    The row is at the angle m to an axis, its mirror image replaces it, and the iterate is
    orthogonal to the axis; rows and responses are `outside` times beyond their bounds.
    """
    A = c0 * c
    s = 2 * A / (R + math.sqrt(R * R + 8 * A * A))
    X, y, b = np.zeros((n, d)), np.zeros(n), np.zeros(d)
    X[0, :2] = outside * c * math.sqrt(1 - s * s), outside * c * s
    y[0], b[1] = -outside * R, c0
    mirrored = X.copy()
    mirrored[0, 1] *= -1
    return ((X, y), (mirrored, -y)), b


def within(moved: float, sensitivity: float) -> bool:
    """moved <= sensitivity, up to the rounding of a sum of a few terms."""
    return moved <= sensitivity * (1 + 1e-9)


def length(step: Array) -> float:
    unit = float(np.abs(step).max()) or 1.0
    return unit * float(np.linalg.norm(step / unit))


def movement(pair: tuple[Data, Data], b: Array, R: float, c: float, gram: bool) -> float:
    first, second = (clipped_gradient(X, y, R, c, gram=gram)(b) for X, y in pair)
    return length(first - second)


def ledger_sensitivity(data: Data, R: float, c: float, c0: float, **options: Any) -> float:
    estimator = NoisyGradientRegression(
        options.pop("privacy", Gaussian(1.0)), R=R, row_bound=c, radius=c0, steps=1, **options
    )
    return estimator.fit(*data).ledger_[-1].sensitivity


@pytest.mark.parametrize("gram", [True, False])
@QUICK
@given(
    pair=neighbours(numbers, records=(1, 5)),
    direction=hnp.arrays(float, 4, elements=st.floats(-1, 1)),
    share=st.sampled_from([0.0, 0.3, 1.0]),
    R=levels,
    c=levels,
    c0=levels,
)
def test_the_gradient_moves_at_most_its_sensitivity(
    gram: bool,
    pair: tuple[Data, Data],
    direction: Array,
    share: float,
    R: float,
    c: float,
    c0: float,
) -> None:
    b = on_the_sphere(direction[: pair[0][0].shape[1]], share * c0)
    sensitivity = ledger_sensitivity(pair[0], R, c, c0, random_state=0)
    assert within(movement(pair, b, R, c, gram), sensitivity)


@pytest.mark.parametrize("gram", [True, False])
@pytest.mark.parametrize("outside", [1.0, 1e6, 1e90])
@pytest.mark.parametrize(("n", "d"), [(1, 2), (3, 4), (50, 9)])
@pytest.mark.parametrize(("R", "c", "c0"), [(1.0, 1.0, 1.0), (13.0, 1.0, 1.0), (0.1, 2.0, 3.0)])
def test_the_gradient_reaches_its_sensitivity(
    gram: bool, outside: float, n: int, d: int, R: float, c: float, c0: float
) -> None:
    pair, b = worst_pair(n, d, R, c, c0, outside)
    moved = movement(pair, b, R, c, gram)
    sensitivity = ledger_sensitivity(pair[0], R, c, c0, random_state=0)
    assert within(moved, sensitivity)
    assert moved >= (1 - 1e-9) * sensitivity
    assert not within(moved, 0.999 * sensitivity)
    # An iterate outside the ball, a row or a response beyond its bound: each breaks it.
    assert not within(movement(pair, 1.5 * b, R, c, gram), sensitivity)
    if outside > 1:
        assert not within(movement(pair, b, 1.5 * R, c, gram), sensitivity)
        assert not within(movement(pair, b, R, 1.5 * c, gram), sensitivity)


def test_two_largest_gradients_never_oppose_each_other() -> None:
    """Adding their norms, 2 (R + A) c, overstates what can happen by up to a factor two."""
    pair, b = worst_pair(1, 2, 1.0, 1.0, 1.0, 1.0)
    assert movement(pair, b, 1.0, 1.0, False) < 0.65 * 2 * (1 + 1)
    assert gradient_sensitivity(1, 1e-9, 1.0, 1.0) == pytest.approx(1.0)


def unclipped(data: Data, b: Array) -> Array:
    X, y = data
    return np.asarray(X.T @ (X @ b - y) / len(y))


def test_without_clipping_there_is_no_bound() -> None:
    (first, second), b = worst_pair(50, 9, 1.0, 1.0, 1.0, 1e6)
    sensitivity = ledger_sensitivity(first, 1.0, 1.0, 1.0, random_state=0)
    assert length(unclipped(first, b) - unclipped(second, b)) > 1e11 * sensitivity


@QUICK
@given(pair=neighbours(numbers, records=(1, 5)), R=st.sampled_from([0.1, 1.0, 20.0]))
def test_a_fit_of_one_step_moves_at_most_its_sensitivity(pair: tuple[Data, Data], R: float) -> None:
    """The noise depends on the seed alone and nothing is projected, so it cancels."""
    estimator = NoisyGradientRegression(Gaussian(1.0), R=R, step_size=1e-3, steps=1, random_state=0)
    first, second = (estimator.fit(*data).coef_ for data in pair)
    assert np.linalg.norm(first) < 1
    assert within(length(first - second) / 1e-3, 2 * R / len(pair[0][1]) * (1 + 1e-6))
    assert within(2 * R / len(pair[0][1]), estimator.ledger_[-1].sensitivity)


def test_a_fit_of_one_step_reaches_two_R() -> None:
    X, y = np.full((1, 2), 1e300), np.array([1e300])
    estimator = NoisyGradientRegression(
        Gaussian(1.0), R=1.0, step_size=1e-3, steps=1, random_state=0
    )
    first, second = (estimator.fit(X, responses).coef_ for responses in (y, -y))
    assert length(first - second) == pytest.approx(2e-3, rel=1e-9)


# --- composition


def spends_at_most(given: Any, asked: Any) -> bool:
    return all(
        value <= asked.parameters[name] * (1 + 1e-9) for name, value in given.parameters.items()
    )


budgets = st.one_of(
    st.builds(Approximate, log_floats(0.01, 4.0), log_floats(1e-12, 1e-2)),
    st.builds(ZeroConcentrated, log_floats(1e-4, 5.0)),
    st.builds(Gaussian, log_floats(1e-3, 5.0)),
)


@settings(QUICK, max_examples=30)
@given(budget=budgets, steps=st.sampled_from([1, 3, 40]), share=st.floats(0.02, 0.98))
def test_no_fit_spends_more_than_its_budget(budget: Any, steps: int, share: float) -> None:
    data = np.zeros((10, 3)), np.zeros(10)
    fits = [{}, {"steps": "theory"}]
    if not isinstance(budget, Gaussian):
        fits.append({"R": "quantile", "range_share": share})
    if isinstance(budget, Approximate):
        fits.append({"composition": "basic"})
    for options in fits:
        estimator = NoisyGradientRegression(budget, random_state=0, **{"steps": steps, **options})
        assert type(estimator.fit(*data).privacy_) is type(budget)
        assert spends_at_most(estimator.privacy_, budget)


def test_half_the_noise_would_spend_more() -> None:
    """The control of the composition."""
    asked = ZeroConcentrated(0.1)
    fitted = NoisyGradientRegression(asked, steps=5, random_state=0).fit(
        np.zeros((10, 3)), np.zeros(10)
    )
    entry = fitted.ledger_[0]
    rho = entry.count * (entry.sensitivity / entry.scale) ** 2 / 2
    assert rho == pytest.approx(0.1, rel=1e-9)
    assert not spends_at_most(ZeroConcentrated(4 * rho), asked)
