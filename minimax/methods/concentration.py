r"""Concentration of sums of random matrices."""

from __future__ import annotations

import math
from typing import Any

import sympy as sp
from scipy import special


def largest_eigenvalue(mean: Any, variance: Any, largest: Any, log_chance: Any) -> Any:
    r"""L with lambda_max(sum Y_i) <= L but for a chance d e^{-x}.

    **Statement.** Y_i independent d x d matrices, 0 <= Y_i <= `largest`; `mean` bounds
    |sum E Y_i| and `variance` |sum E Y_i^2|. Numbers: the matrix Bennett inequality,
    L = mean + (variance/largest) u with (1+u) log(1+u) - u = x largest^2/variance, solved by
    Lambert's W. Symbols: its relaxation by Bernstein,
    L = mean + R x/3 + sqrt((R x/3)^2 + 2 variance x), R = largest, which is not smaller.

    **Source.** Tropp (2012), Theorems 1.4 and 6.1, applied to Y_i - E Y_i <= largest.
    """
    x = log_chance
    if isinstance(mean, sp.Basic):
        third = largest * x / 3
        return mean + third + sp.sqrt(third**2 + 2 * variance * x)
    c = x * largest**2 / variance
    u = math.expm1(1 + float(special.lambertw((c - 1) / math.e).real))
    return mean + variance / largest * u
