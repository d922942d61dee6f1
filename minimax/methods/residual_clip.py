r"""Regression with clipped residuals: what a clip leaves, and what one phase does to the error.

A phase moves b by a multiple of the noisy average of psi_c(y_i - <x_i, b>) x_i, psi_c(t) being t
clipped to [-c, c]. Replacing a record moves that average by at most 2 c max|x|/n, whatever the
data. With residual noise xi, psi_c(xi) x has mean 0 as xi is symmetric, so beta is a fixed point;
and psi_c(xi - u) - psi_c(xi) = -v u with

    1(|xi| <= c - |u|) <= v <= 1(|xi| <= c + |u|),

so the error e = b - beta becomes (I - step M) e + step (r + w): M = (1/n) sum v_i x_i x_i' lies
between two Gram matrices of rows that are kept by chance and not by e (`thinned_window`), r is the
average of psi_c(xi_i) x_i, and w the noise. Where e is noise that does not depend on the records,
the mean of what a phase leaves of it is known much better (`normal_bias`). All formulas take any
kind of number.
"""

from __future__ import annotations

from typing import NamedTuple

from minimax.core.symbolic import Number, library
from minimax.methods.recursion import Interval, chernoff_interval

# --- Moments --------------------------------------------------------------------------------------


class ClippedNormal(NamedTuple):
    """xi ~ N(0, sigma^2), clipped to [-c, c]."""

    slope: Number
    """E psi_c'(xi) = P(|xi| <= c): what a small shift of xi leaves in the mean."""
    square: Number
    """E psi_c(xi)^2."""
    surplus: Number
    """square/sigma^2 - slope^2, which is lost in rounding if it is formed by subtraction."""

    @property
    def inefficiency(self) -> Number:
        """square/slope^2: the variance of a record's own estimate; sigma^2 without a clip."""
        return self.square / self.slope**2


def clipped_normal(c: Number, sigma: Number) -> ClippedNormal:
    r"""The moments of a clipped normal variable.

    **Statement.** With z = c/sigma and q = erfc(z/sqrt 2): slope = erf(z/sqrt 2),
    square = sigma^2 [slope - 2 z phi(z)] + c^2 q and surplus = e(z)^2 - q^2, e(z)^2 of
    `excess_square`.

    **Proof.** int_{-z}^z t^2 phi(t) dt by parts, and P(|xi| > c) = q = 1 - slope: square. As
    e(z)^2 = (1 + z^2) q - 2 z phi(z), square/sigma^2 = e(z)^2 + slope - q; and
    slope - slope^2 = q - q^2.

    **Constants.** As c -> 0: c/slope -> sigma sqrt(pi/2) and square/slope^2 -> (pi/2) sigma^2, both
    of the sign; as c grows, square/slope^2 -> sigma^2.
    """
    lib = library(c, sigma)
    z = c / sigma
    slope, cut = lib.erf(z / lib.sqrt(2)), lib.erfc(z / lib.sqrt(2))
    density = lib.exp(-z * z / 2) / lib.sqrt(2 * lib.pi)
    square = sigma**2 * (slope - 2 * z * density) + c**2 * cut
    return ClippedNormal(slope, square, excess_square(z) - cut * cut)


def excess_square(y: Number) -> Number:
    """e(y)^2 = 2 E((g - y)^+)^2 = 2 [(1 + y^2) Phi(-y) - y phi(y)], g ~ N(0, 1)."""
    lib = library(y)
    density = lib.exp(-y * y / 2) / lib.sqrt(2 * lib.pi)
    return 2 * ((1 + y * y) * lib.ndtr(-y) - y * density)


# --- The curvature --------------------------------------------------------------------------------


def slope_window(c: Number, sigma: Number, reach: Number) -> Interval:
    """P(|xi| <= c - reach) and P(|xi| <= c + reach): the means of the bounds on v if |u| <= reach.

    The first is 0 where c <= reach.
    """
    lib = library(c, sigma, reach)
    kept = lib.largest(c - reach, 0 * c)
    root = sigma * lib.sqrt(2)
    return Interval(lib.erf(kept / root), lib.erf((c + reach) / root))


def thinned_window(
    n: Number,
    size: Number,
    row: Number,
    population: Interval,
    slopes: Interval,
    failure: Number,
    log_sets: Number = 0.0,
) -> Interval:
    r"""Where the eigenvalues of M lie for all e with |<x, e>| <= reach at once.

    **Statement.** Rows of squared length at most `row` whose second moment has eigenvalues in
    `population`; `slopes` of `slope_window` at `reach`. But for a chance `failure` all eigenvalues
    of M = (1/n) sum v_i x_i x_i', whatever e with |<x_i, e>| <= reach, lie in the interval.

    **Proof.** 1(|xi_i| <= c - reach) x_i x_i' <= v_i x_i x_i' <= 1(|xi_i| <= c + reach) x_i x_i',
    and neither end depends on e. xi is independent of x, so the ends have the mean slopes.low
    (slopes.high) times E x x': `chernoff_interval` for each of them, which spends half of the
    failure on either end. For slopes.low = 0 the low end is 0.
    """
    scaled = Interval(population.low * slopes.low, population.high * slopes.high)
    lib = library(n, slopes.low, slopes.high)
    high = chernoff_interval(
        n, size, row, Interval(scaled.high, scaled.high), failure, log_sets
    ).high
    low = lib.choose(
        scaled.low > 0,
        lambda: (
            chernoff_interval(n, size, row, Interval(scaled.low, scaled.low), failure, log_sets).low
        ),
        lambda: 0 * high,
    )
    return Interval(low, high)


# --- Any shift ------------------------------------------------------------------------------------


def clipped_mean(u: Number, c: Number, sigma: Number) -> Number:
    r"""E psi_c(xi + u), xi ~ N(0, sigma^2).

    **Statement.** h(u + c) - h(u - c) - c, h(v) = v Phi(v/sigma) + sigma phi(v/sigma). It is odd,
    and concave for u > 0.

    **Proof.** psi_c(v) = (v + c)^+ - (v - c)^+ - c and h(v) = E(xi + v)^+. Its second derivative is
    the density of xi at u + c less that at u - c, which is larger.
    """
    lib = library(u, c, sigma)

    def excess(v: Number) -> Number:
        z = v / sigma
        return v * lib.ndtr(z) + sigma * lib.exp(-z * z / 2) / lib.sqrt(2 * lib.pi)

    return excess(u + c) - excess(u - c) - c


def slopes_within(reach: Number, c: Number, sigma: Number) -> Interval:
    """Where E psi_c(xi + u)/u lies for 0 < |u| <= reach: it falls in |u| from P(|xi| <= c)."""
    lib = library(reach, c, sigma)
    return Interval(clipped_mean(reach, c, sigma) / reach, lib.erf(c / (sigma * lib.sqrt(2))))


def shift_error(reach: Number, c: Number, sigma: Number, slope: Number) -> Number:
    r"""K: |u - E psi_c(xi + u)/slope| <= K |u| for |u| <= reach; floats get some ulps more."""
    lib = library(reach, c, sigma, slope)
    low, high = slopes_within(reach, c, sigma)
    rounding = 16 * lib.ulp * (reach + c + sigma) / (reach * slope)
    return lib.largest(abs(1 - low / slope), abs(1 - high / slope)) + rounding


# --- Noise in the starting point -----------------------------------------------------------------


def normal_bias(noise: Number, spread: Number, residual: ClippedNormal) -> Number:
    r"""E f(u)^2 at most, f(u) = u - E[psi_c(xi + u) | u]/slope, u ~ N(0, noise), xi normal.

    **Statement.** (noise/s^2)^3 s^2 surplus/slope^2, s^2 = spread^2 = Var(xi + u), with the moments
    `residual` of N(0, s^2) clipped at c, or of N(0, 1) clipped at c/s: these two have no unit.

    **Proof.** Given u, the mean of psi_c(xi + u) is a projection of psi_c, which multiplies the
    Hermite polynomial of degree k by (noise/s^2)^{k/2}. Degree 1 gives slope u (Stein's identity),
    which cancels in f; psi_c is odd, so degree 2 is absent, and the squares of the others sum to at
    most (noise/s^2)^3 (square - slope^2 s^2).
    """
    rest = library(noise, spread, residual.surplus).largest(residual.surplus, 0 * spread)
    return (noise / spread**2) ** 3 * rest * (spread / residual.slope) ** 2


def symmetric_bias(sixth_moment: Number, sigma: Number, slope: Number) -> Number:
    r"""E f(u)^2 at most for f as in `normal_bias`, any symmetric u, slope = P(|xi| <= c).

    **Statement.** kappa^2 E u^6/(slope^2 sigma^4), kappa = e^{-1/2}/(3 sqrt(2 pi)).

    **Proof.** m(u) = E psi_c(xi + u) is odd, its slope at 0 is `slope` and its third derivative,
    that of phi_sigma(c + u) - phi_sigma(c - u), is at most twice the largest slope of phi_sigma,
    2 e^{-1/2}/(sqrt(2 pi) sigma^2). So |m(u) - slope u| <= kappa |u|^3/sigma^2 by Taylor's formula.
    """
    lib = library(sixth_moment, sigma, slope)
    kappa = lib.exp(-sigma / sigma / 2) / (3 * lib.sqrt(2 * lib.pi))
    return (kappa / (slope * sigma**2)) ** 2 * sixth_moment


# --- What phases are predicted to do -------------------------------------------------------------


class Predicted(NamedTuple):
    """The parts of a predicted risk."""

    statistics: Number
    noise: Number
    bias: Number

    @property
    def risk(self) -> Number:
        """Their sum."""
        return self.statistics + self.noise + self.bias


def predicted_phase(
    before: Number,
    sigma: Number,
    ratio: Number,
    spread: Number,
    unit_noise: Number,
    unit: ClippedNormal | None = None,
) -> Predicted:
    r"""The risk after a phase of clip ratio * s, s^2 = sigma^2 + before, to leading order.

    **Statement.** `before` is the risk before it, E<x, e>^2; the release is divided by the slope of
    N(0, s^2). Statistics: spread (= d/n) times the inefficiency. Noise: unit_noise (c/slope)^2,
    where unit_noise is the risk that a release with clip 1 would have. Bias: `normal_bias`.
    `unit`, the moments of N(0, 1) clipped at `ratio`, spares a search that has them their cost.

    **Why.** If <x, e> is normal, y - <x, b> is N(0, s^2) and by Stein's identity the mean of
    psi_c(y - <x, b>) x is -slope Sigma e: the phase removes e but for `normal_bias`. Not a bound,
    because e depends on the data through its statistical part.
    """
    lib = library(before, sigma)
    s = lib.sqrt(sigma**2 + before)
    unit = unit or clipped_normal(ratio, 1.0)
    return Predicted(
        spread * s**2 * unit.inefficiency,
        unit_noise * (ratio * s / unit.slope) ** 2,
        normal_bias(before, s, unit),
    )
