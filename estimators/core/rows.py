"""Inner products of rows with rows, by the fastest way for their length."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
SHORT, LONG = 16, 64
"""Up to so many columns products are added up by a matrix product, from so many on row by row."""
CACHED = 1 << 15
"""Products that are formed before they are added up."""
_long_products = getattr(np, "vecdot", None)  # there is none before numpy 2


def row_products(A: Array, B: Array) -> Array:
    """<a_i, b_i> for the rows of two arrays of floats. What overflows is infinite, or no number."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        if A.shape[1] <= SHORT:
            return _short_products(A, B)
        if A.shape[1] >= LONG and _long_products is not None:
            return np.asarray(_long_products(A, B))
        return np.asarray(np.einsum("ij,ij->i", A, B))


def _short_products(A: Array, B: Array) -> Array:
    (n, d), ones = A.shape, np.ones(A.shape[1])
    out, each = np.empty(n), max(1, CACHED // max(1, d))
    for first in range(0, n, each):
        rows = slice(first, first + each)
        np.matmul(A[rows] * B[rows], ones, out=out[rows])
    return out
