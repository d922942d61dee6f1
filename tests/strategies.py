"""Hypothesis strategies shared by the property tests."""

from __future__ import annotations

import math

from hypothesis import strategies as st

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
