"""Rows of signs, packed as simulations keep them."""

from __future__ import annotations

import numpy as np

from estimators.core.summaries import Signs


def packed(X: np.ndarray) -> Signs:
    """The rows of an array, whose entries are of one size."""
    bits = np.packbits(X > 0, axis=1).T.astype(np.intp, order="C")
    return Signs(bits, X.shape[1], float(np.abs(X).max()))
