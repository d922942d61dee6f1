r"""Concentration of sums of random matrices."""

from __future__ import annotations

from minimax.core.symbolic import Number, library

NEWTON_STEPS = 6


def largest_eigenvalue(
    mean: Number, variance: Number, largest: Number, log_chance: Number
) -> Number:
    r"""L with lambda_max(sum Y_i) <= L but for a chance d e^{-x}.

    **Statement.** Y_i independent d x d matrices, 0 <= Y_i <= `largest`; `mean` bounds
    |sum E Y_i| and `variance` |sum E Y_i^2|. Numbers: the matrix Bennett inequality,
    L = mean + (variance/largest) u with h(u) = (1+u) log(1+u) - u >= c = x largest^2/variance.
    Symbols: its relaxation by Bernstein, u_0 = c/3 + sqrt((c/3)^2 + 2 c), which is not smaller.

    **Constants.** u comes from `NEWTON_STEPS` steps of Newton's method for h(u) = c that start at
    u_0. As h is convex and h(u_0) >= c, every step stays on the safe side of the root, and six
    reach it in floats.

    **Source.** Tropp (2012), Theorems 1.4 and 6.1, applied to Y_i - E Y_i <= largest.
    """
    use = library(mean, variance, largest, log_chance)
    c = log_chance * largest**2 / variance
    u = c / 3 + use.sqrt((c / 3) ** 2 + 2 * c)
    if not use.is_symbolic:
        for _ in range(NEWTON_STEPS):
            # u - (h(u) - c)/h'(u), with (1 + u) log(1 + u) - u - c = (1 + u) h'(u) - u - c.
            u = (u + c) / use.log1p(u) - 1
    return mean + variance / largest * u


def largest_row_eigenvalue(rows: Number, d: Number, t: Number) -> Number:
    r"""L with lambda_max(sum y_i y_i') <= L but for a chance e^{-t}, y_i in R^d sub-Gaussian(1).

    **Statement.** L = (n + 2 sqrt(n x) + 2 x)/(1 - 1/32)^2, x = d log 9 + t, for n independent
    rows whose <v, y_i> is sub-Gaussian(1), for every unit vector v.

    **Proof.** E e^{l <v, y>^2} <= (1 - 2l)^{-1/2} (average E e^{h <v, y>} over Gaussian h), so
    sum <v, y_i>^2 exceeds n + 2 sqrt(n x) + 2 x with a chance of at most e^{-x} (Laurent and
    Massart, 2000, Lemma 1, whose proof uses the moment generating function alone). Take this for
    all v in a net of the sphere of mesh 1/4, at most 9^d points. One of them, v, has
    <v, v*> >= 1 - 1/32 for the eigenvector v*, and v' Y v >= <v, v*>^2 lambda_max as Y >= 0.
    """
    use = library(rows, d, t)
    x = d * use.log(9 * (rows / rows)) + t
    return (rows + 2 * use.sqrt(rows * x) + 2 * x) * 1024 / 961
