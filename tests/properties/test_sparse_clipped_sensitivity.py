"""Sensitivity of sparse regression on clipped residuals, with neighbours and outliers of any size.

Mechanisms are replaced by ones that note what they are given and release what does not depend on
it, so that both neighbours take the same path. Each property has a witness that reaches the
constant, and controls, the same check without a clip, that must fail.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from estimators import SparseResidualClippedRegression, sparse_phases
from estimators.core import columns, design, mechanisms, purse
from estimators.core.mechanisms import Release
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from tests.effort import part
from tests.strategies import Data, neighbours

ROUNDING = 1 + 1e-9
BUDGETS = (Pure(2.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.1), Gaussian(0.5))
EXTREME = [0.0, 5e-324, 1.0, -1.0, 1e6, -1e6, 1e300, -1e300]
values = st.one_of(st.floats(-3, 3), st.sampled_from(EXTREME))
bounds = st.sampled_from([1.0, 1e8])
reproducible = settings(deadline=None, derandomize=True, max_examples=part(10, of=30))
pytestmark = pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning")


class Seen(NamedTuple):
    """What a mechanism was given."""

    value: np.ndarray
    sensitivity: float
    norm: str


class Mechanisms:
    """Mechanisms that release waves of a given height, and choose in turn."""

    def __init__(self, height: float) -> None:
        self.height, self.seen = height, list[Seen]()

    def _noted(self, value: np.ndarray, sensitivity: float, norm: str) -> np.ndarray:
        self.seen.append(Seen(np.array(value, dtype=float), sensitivity, norm))
        return self.height * np.cos(len(self.seen) + np.arange(value.size))

    def gaussian(self, value: np.ndarray, **named: Any) -> Any:
        wave = self._noted(value, named["l2_sensitivity"], "l2")
        return mechanisms.gaussian(value, **named)._replace(value=wave)

    def k_norm(self, value: np.ndarray, **named: Any) -> Any:
        wave = self._noted(value, named["sensitivity"], named["norm"])
        return mechanisms.k_norm(value, **named)._replace(value=wave)

    def gumbel_top_k(self, value: np.ndarray, k: int, **named: Any) -> Any:
        wave = self._noted(value, named["sensitivity"], "linf")
        chosen = np.argsort(-wave)[:k]
        return mechanisms.gumbel_top_k(value, k, **named)._replace(value=chosen)

    def bisected_quantile(self, value: np.ndarray, *rest: Any, **named: Any) -> Release[float]:
        """A sum over records moves by 1 at most if one record alone decides on its term."""
        self._noted(np.array([value, named["weights"]]), 1.0, "records")
        level = np.clip(self.height, named["low"], named["high"])
        return mechanisms.bisected_quantile(value, *rest, **named)._replace(value=float(level))


def given_to_mechanisms(
    data: Data, privacy: SpendablePrivacy, height: float = 0.3, **options: Any
) -> list[Seen]:
    """Everything that mechanisms were given in one fit."""
    told = {"s": 1, "entry_bound": 1.0, "radius": 1.0, "sigma": 0.5, "random_state": 0, **options}
    noting = Mechanisms(height)
    with pytest.MonkeyPatch.context() as patch:
        for module in (sparse_phases, purse):
            for name in ("gaussian", "k_norm", "gumbel_top_k", "bisected_quantile"):
                patch.setattr(module, name, getattr(noting, name), raising=False)
        SparseResidualClippedRegression(privacy, **told).fit(*data)
    return noting.seen


def moved(before: Seen, after: Seen) -> float:
    """How far a neighbour moved it, over the sensitivity."""
    shift = np.abs(before.value - after.value)
    if before.norm == "records":
        return float(np.count_nonzero(shift.any(axis=0)))
    unit = before.sensitivity
    size = shift.max() if before.norm == "linf" else np.linalg.norm(shift / unit) * unit
    return float(size) / unit


def moves(pair: tuple[Data, Data], privacy: SpendablePrivacy, **options: Any) -> list[float]:
    """How far each release moved, over its sensitivity, which no record decides on."""
    both = [given_to_mechanisms(data, privacy, **options) for data in pair]
    for before, after in zip(*both, strict=True):
        assert before[1:] == after[1:]
    return [moved(before, after) for before, after in zip(*both, strict=True)]


@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
@reproducible
@given(
    pair=neighbours(values, records=(5, 5), columns=(3, 3)),  # plans are made once for each size
    s=st.sampled_from([1, 2, 3]),
    entry_bound=bounds,
    sigma=st.sampled_from([None, 1e-3]),
    moment=st.sampled_from(["private", "isotropic", 0.01]),
    height=st.sampled_from([1e-9, 0.3, 1e9]),
    as_sparse=st.booleans(),
)
def test_releases_move_no_more_than_the_ledger_says(
    privacy: SpendablePrivacy,
    pair: tuple[Data, Data],
    s: int,
    entry_bound: float,
    sigma: float | None,
    moment: str | float,
    height: float,
    as_sparse: bool,
) -> None:
    form = sparse.csr_matrix if as_sparse else np.asarray
    both: Any = [(form(X), y) for X, y in pair]
    options = {"s": s, "sigma": sigma, "second_moment": moment, "height": height}
    assert max(moves(both, privacy, entry_bound=entry_bound, **options)) <= ROUNDING


def far_pair(size: float = 1.0, d: int = 2) -> tuple[Data, Data]:
    """Residuals beyond every clip, rows beyond the bound for sizes above 1; one turns round."""
    X = np.full((4, d), size)
    other, y = X.copy(), np.full(4, 1e300)
    other[0] = -size
    return (X, y), (other, y)


@pytest.mark.parametrize("size", [1.0, 1e300])
@pytest.mark.parametrize("privacy", BUDGETS, ids=str)
def test_sensitivities_of_choices_and_values_are_reached(
    privacy: SpendablePrivacy, size: float
) -> None:
    found = moves(far_pair(size), privacy, second_moment="isotropic", height=1e-3)
    assert len(found) > 1
    assert found == pytest.approx([1.0] * len(found))


def test_the_second_moment_reaches_its_sensitivity() -> None:
    """Orthogonal rows of the largest length: a factor sqrt(2)."""
    (X, y), (other, _) = far_pair()
    other[0] = 1.0, -1.0
    both = [given_to_mechanisms(data, Pure(2.0), s=2) for data in ((X, y), (other, y))]
    square, moment = (moved(*pair) for pair in list(zip(*both, strict=True))[:2])
    assert both[0][1].value.size == 3
    assert (square, moment) == pytest.approx((0.0, 1.0))


class Unclipped:
    """numpy without its clip, which gives back what it is given."""

    def __getattr__(self, name: str) -> Any:
        return (lambda values, *ends: values) if name == "clip" else getattr(np, name)


@pytest.mark.parametrize(
    ("home", "name", "replaced"),
    [
        (design, "clipped_entries", lambda X, bound: X),
        (sparse_phases, "np", Unclipped()),
        (columns, "shortening", lambda norms, bound: np.ones(norms.shape)),
    ],
    ids=["entries", "residuals", "rows"],
)
def test_without_a_clip_releases_move_more(home: Any, name: str, replaced: Any) -> None:
    """Rows are shortened where the mean square of entries, here 0.01, is less than the largest."""
    pair, options = far_pair(2.0, 3), {"s": 2, "second_moment": "private", "height": 0.01}
    assert max(moves(pair, ZeroConcentrated(0.1), **options)) <= ROUNDING
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(home, name, replaced)
        assert max(moves(pair, ZeroConcentrated(0.1), **options)) > 1.2
