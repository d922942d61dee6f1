"""Symmetric matrices as vectors of the same length."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Triangle = tuple[NDArray[np.intp], NDArray[np.intp], Array]
KEPT = 64
"""Triangles of matrices of so many rows, which take longer to number than to read, are kept."""


def flat(matrix: Array) -> Array:
    """The upper triangle of a symmetric matrix, off the diagonal times sqrt(2): its l2 norm is the
    matrix's Frobenius norm."""
    rows, columns, factors = triangle(len(matrix))
    return np.asarray(matrix[rows, columns] * factors)


def unflat(values: Array, d: int) -> Array:
    """The symmetric matrix of `flat`."""
    rows, columns, factors = triangle(d)
    matrix = np.empty((d, d))
    matrix[columns, rows] = matrix[rows, columns] = values / factors
    return matrix


def triangle(d: int) -> Triangle:
    """Rows and columns of the upper triangle, and what `flat` multiplies its entries by."""
    return _kept_triangle(d) if d <= KEPT else _triangle(d)


def _triangle(d: int) -> Triangle:
    rows, columns = np.triu_indices(d)
    factors = np.where(rows == columns, 1.0, math.sqrt(2))
    for kept in (rows, columns, factors):  # by all who ask
        kept.flags.writeable = False
    return rows, columns, factors


_kept_triangle = lru_cache(maxsize=64)(_triangle)
