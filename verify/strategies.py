"""Hypothesis strategies for neighbouring data and for budgets: property tests of privacy.

Importing this module imports Hypothesis (``pip install 'tracebound[audit]'``); nothing else does.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)


def log_floats(low: float, high: float) -> st.SearchStrategy[float]:
    """Floats uniform on a log scale."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def log_integers(low: int, high: int) -> st.SearchStrategy[int]:
    """Integers about uniform on a log scale."""
    return log_floats(low, high).map(lambda x: min(max(round(x), low), high))


def privacies() -> st.SearchStrategy[Pure | Approximate | ZeroConcentrated | Gaussian]:
    """Budgets of every kind."""
    return st.one_of(
        st.builds(Pure, log_floats(1e-3, 8)),
        st.builds(Approximate, log_floats(1e-3, 8), log_floats(1e-14, 1e-3)),
        st.builds(ZeroConcentrated, log_floats(1e-6, 20)),
        st.builds(Gaussian, log_floats(1e-3, 6)),
    )


def local_privacies() -> st.SearchStrategy[Renyi | OffsetConcentrated]:
    """Budgets that only the local problems take."""
    return st.one_of(
        st.builds(Renyi, log_floats(1.01, 100), log_floats(1e-6, 20)),
        st.builds(OffsetConcentrated, log_floats(1e-6, 5), log_floats(1e-6, 20)),
    )


Data = tuple[np.ndarray, np.ndarray]
"""(X, y): a record is a row and its response."""


@st.composite
def neighbours(
    draw: Any,
    elements: st.SearchStrategy[float],
    *,
    responses: st.SearchStrategy[float] | None = None,
    records: tuple[int, int] = (1, 8),
    columns: tuple[int, int] = (1, 4),
) -> tuple[Data, Data]:
    """Two data sets that differ in one record; responses are like other elements if not given."""
    responses = elements if responses is None else responses
    n, d = draw(st.integers(*records)), draw(st.integers(*columns))
    X = draw(hnp.arrays(float, (n, d), elements=elements))
    y = draw(hnp.arrays(float, n, elements=responses))
    other_X, other_y, i = X.copy(), y.copy(), draw(st.integers(0, n - 1))
    other_X[i], other_y[i] = draw(hnp.arrays(float, d, elements=elements)), draw(responses)
    return (X, y), (other_X, other_y)


def neighbouring_rows(
    elements: st.SearchStrategy[float], **sizes: tuple[int, int]
) -> st.SearchStrategy[tuple[np.ndarray, np.ndarray]]:
    """Two samples X that differ in one row."""
    return neighbours(elements, responses=st.just(0.0), **sizes).map(
        lambda pair: (pair[0][0], pair[1][0])
    )
