"""What clipped residuals release moves by no more than the ledger says, whatever the records.

A fit is run on two neighbouring data sets with answers that no record decides, so that its path is
the same; what it would have released with noise is compared. The check is asked twice: it must hold
of the code, and fail for a smaller sensitivity or where a clip is left out.
"""

from __future__ import annotations

import math
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from estimators import ResidualClippedRegression, residual_clipped
from estimators.core import design, mechanisms
from estimators.core.base import Array
from estimators.core.design import Design
from estimators.core.mechanisms import bisected_quantile, gaussian
from estimators.core.purse import Purse
from minimax.core.calibration import Allowance
from minimax.core.privacy import Gaussian, Pure, SpendablePrivacy
from tests.effort import part
from tests.strategies import Data, neighbours

pytestmark = pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning")
QUICK = settings(max_examples=part(20, of=60), deadline=None, derandomize=True)
EXTREME = [0.0, 5e-324, 1e-200, 1e6, -1e6, 1e300, -1e300, 1.7976931348623157e308]
numbers = st.one_of(st.floats(-3, 3), st.sampled_from(EXTREME))
levels = st.sampled_from([1e-25, 1e-3, 0.7, 5.0, 1e6, 1e25])
Seen = list[tuple[Array, float]]
"""What would be released, with its sensitivity, in order."""


def seen(data: Data, privacy: SpendablePrivacy, **options: Any) -> Seen:
    """The values and sensitivities of a fit whose answers are noise alone."""
    found: Seen = []

    class Deaf(Purse):
        def release(self, value: Array, sensitivity: float, share: float, about: str) -> Array:
            found.append((value.copy(), sensitivity))
            return super().release(np.zeros_like(value), sensitivity, share, about)

        def scale(self, sizes: Array, weights: Array, *public: float) -> float:
            low, high, _ = public
            middle = np.full_like(sizes, math.sqrt(low * high))
            return super().scale(middle, np.ones_like(weights), *public)

    with patch.object(residual_clipped, "Purse", Deaf):
        model = ResidualClippedRegression(privacy, **options, random_state=0).fit(*data)
    told = [entry.sensitivity for entry in model.ledger_ if "scale" not in entry.about]
    assert told == [sensitivity for _, sensitivity in found]
    return found


def movements(pair: tuple[Data, Data], **options: Any) -> list[float]:
    """How far each release moves, in units of its sensitivity."""
    here, there = (seen(data, options["privacy"], **_without(options)) for data in pair)
    assert [s for _, s in here] == [s for _, s in there]
    return [
        float(np.linalg.norm((a - b) / sensitivity))
        for (a, sensitivity), (b, _) in zip(here, there, strict=True)
    ]


def _without(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "privacy"}


def within(moved: list[float], factor: float = 1.0) -> bool:
    """No further than the factor, up to the rounding of a sum of a few terms."""
    return max(moved) <= factor * (1 + 1e-9)


@QUICK
@given(
    pair=neighbours(numbers, records=(1, 5)),
    privacy=st.sampled_from([Gaussian(1.0), Gaussian(1e3), Pure(1.0)]),
    row_bound=levels,
    radius=levels,
    sigma=st.one_of(levels, st.none()),
)
def test_no_release_moves_further_than_its_sensitivity(
    pair: tuple[Data, Data],
    privacy: SpendablePrivacy,
    row_bound: float,
    radius: float,
    sigma: float | None,
) -> None:
    moved = movements(pair, privacy=privacy, row_bound=row_bound, radius=radius, sigma=sigma)
    assert len(moved) > 2  # the mean square, the second moment and a phase
    assert within(moved)


@settings(QUICK, max_examples=20)
@given(pair=neighbours(numbers, records=(1, 5), columns=(2, 2)), start=st.booleans())
def test_nor_where_the_second_moment_is_known(pair: tuple[Data, Data], start: bool) -> None:
    options = {"row_bound": 2.0, "radius": 1.0, "sigma": 0.3, "privacy": Gaussian(2.0)}
    first = {"start": np.array([0.6, -0.8])} if start else {}
    matrix = np.array([[0.5, 0.1], [0.1, 0.3]])
    assert within(movements(pair, second_moment=matrix, **options, **first))
    assert within(movements(pair, second_moment="isotropic", **options, **first))


OPTIONS = {"row_bound": 1.0, "radius": 1.0, "sigma": 0.3, "privacy": Gaussian(5.0)}


def worst_pairs(n: int, outside: float) -> list[tuple[Data, Data]]:
    """Orthogonal rows, which X'X feels most; a row of length 0, which the mean square does; one row
    with opposite responses, which phases do."""
    X, y = np.zeros((n, 3)), np.zeros(n)
    other, shifted = X.copy(), y.copy()
    X[0, 0], other[0, 1] = outside, outside
    rows = (X, y), (other, y)
    y = y.copy()
    y[0], shifted[0] = 1e9, -1e9
    return [rows, ((X, y), (np.zeros_like(X), y)), ((X, y), (X, shifted))]


@pytest.mark.parametrize("n", [1, 4])
@pytest.mark.parametrize("outside", [1.0, 1e6, 1e120])
def test_the_sensitivities_are_reached(n: int, outside: float) -> None:
    rows, lengths, responses = (movements(pair, **OPTIONS) for pair in worst_pairs(n, outside))
    assert within([*rows, *lengths, *responses])
    assert rows[:2] == pytest.approx([0, 1], rel=1e-9)
    assert lengths[0] == pytest.approx(1, rel=1e-9)
    assert responses[:2] == [0, 0]
    assert responses[2:] == pytest.approx(np.ones(len(responses) - 2), rel=1e-9)
    for moved in (rows, lengths, responses):
        assert not within(moved, 0.999)


def _unshortened(part: Array, weights: Array, spare: Array) -> Array:
    return part


def _unclipped(
    self: Design, y: Array, coef: Array, shorten: Array, weights: Array, c: float
) -> Any:
    return self.X.T @ (weights * (y - shorten * (self.X @ coef)))


def test_each_clip_that_is_left_out_breaks_it() -> None:
    rows, lengths, responses = worst_pairs(4, 1e6)
    with patch.object(Design, "mean_square", lambda self, bound: float(np.mean(self.norms**2))):
        assert not within(movements(lengths, **OPTIONS)[:1])
    with patch.object(design, "_weighted", _unshortened):
        assert not within(movements(rows, **OPTIONS)[1:2])
    with patch.object(Design, "shortening", lambda self, bound: np.ones(self.n)):
        assert not within(movements(responses, **OPTIONS)[2:])
    with patch.object(Design, "clipped_correlation", _unclipped):
        assert not within(movements(responses, **OPTIONS)[2:])
    assert within([move for pair in worst_pairs(4, 1e6) for move in movements(pair, **OPTIONS)])


def summed(sizes: Array, weights: Array, quantile: float) -> list[float]:
    """What `bisected_quantile` gives to its mechanism, which goes on at random."""
    given_: list[float] = []

    def deaf(value: Array, **named: Any) -> Any:
        given_.append(float(value[0]))
        return gaussian(np.zeros(1), **named)

    with patch.object(mechanisms, "gaussian", deaf):
        bisected_quantile(
            sizes,
            quantile,
            low=1e-3,
            high=1e3,
            queries=6,
            privacy=Allowance(Gaussian, {"mu": 1.0}),
            rng=np.random.default_rng(0),
            weights=weights,
        )
    return given_


records_ = st.tuples(st.floats(0, 1e3), st.floats(-1.0, 1e300))


@QUICK
@given(
    table=st.lists(records_, min_size=1, max_size=6),
    other=records_,
    quantile=st.sampled_from([0.1, 0.68, 0.99]),
)
def test_a_record_moves_a_weighted_count_by_one_at_most(
    table: list[tuple[float, float]], other: tuple[float, float], quantile: float
) -> None:
    here, there = (summed(*np.array(rows).T, quantile) for rows in (table, [other, *table[1:]]))
    assert np.max(np.abs(np.subtract(here, there))) <= 1 + 1e-12


def test_and_by_one_where_it_is_heavy_and_passes_the_middle() -> None:
    light, heavy = (summed(np.array([size, 1.0]), np.ones(2), 0.68) for size in (1e-3, 1e3))
    assert np.max(np.abs(np.subtract(light, heavy))) == pytest.approx(1)
