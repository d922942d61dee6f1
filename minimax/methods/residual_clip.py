r"""Regression with clipped residuals: what a clip leaves, and what one phase does to the error.

A phase moves b by a multiple of the noisy average of psi_c(y_i - <x_i, b>) x_i, psi_c(t) being t
clipped to [-c, c]. Replacing a record moves that average by at most 2 c max|x|/n, whatever the
data. With residual noise xi, psi_c(xi) x has mean 0 as xi is symmetric, so beta is a fixed point;
and psi_c(xi - u) - psi_c(xi) = -v u with

    1(|xi| <= c - |u|) <= v <= 1(|xi| <= c + |u|),

so the error e = b - beta becomes (I - step M) e + step (r + w): M = (1/n) sum v_i x_i x_i' lies
between two Gram matrices of rows that are kept by chance and not by e (`thinned_window`), r is the
average of psi_c(xi_i) x_i, and w the noise. All formulas take any kind of number.
"""

from __future__ import annotations

from typing import NamedTuple

from minimax.core.symbolic import Number, library
from minimax.methods.recursion import Interval, chernoff_interval, contraction

# --- Moments --------------------------------------------------------------------------------------


class ClippedNormal(NamedTuple):
    """xi ~ N(0, sigma^2), clipped to [-c, c]."""

    slope: Number
    """E psi_c'(xi) = P(|xi| <= c): what a small shift of xi leaves in the mean."""
    square: Number
    """E psi_c(xi)^2."""

    @property
    def inefficiency(self) -> Number:
        """square/slope^2: the variance of a record's own estimate; sigma^2 without a clip."""
        return self.square / self.slope**2


def clipped_normal(c: Number, sigma: Number) -> ClippedNormal:
    r"""The two moments of a clipped normal variable.

    **Statement.** With z = c/sigma: slope = erf(z/sqrt 2) and
    square = sigma^2 [slope - 2 z phi(z)] + c^2 [1 - slope].

    **Proof.** int_{-z}^z t^2 phi(t) dt by parts, and P(|xi| > c) = 1 - slope.

    **Constants.** As c -> 0: c/slope -> sigma sqrt(pi/2) and square/slope^2 -> (pi/2) sigma^2, both
    of the sign; as c grows, square/slope^2 -> sigma^2.
    """
    lib = library(c, sigma)
    z = c / sigma
    slope = lib.erf(z / lib.sqrt(2))
    density = lib.exp(-z * z / 2) / lib.sqrt(2 * lib.pi)
    square = sigma**2 * (slope - 2 * z * density) + c**2 * lib.erfc(z / lib.sqrt(2))
    return ClippedNormal(slope, square)


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


# --- The error at beta ----------------------------------------------------------------------------


class Scatter(NamedTuple):
    """Bounds on B = Cov(r + w), given the sizes of the residuals, the rows and all before."""

    trace: Number
    spectral: Number


def clipped_scatter(
    n: Number, size: Number, highest: Number, c: Number, square: Number, failure: Number
) -> Scatter:
    r"""Trace and norm of A = (1/n^2) sum psi_c(xi_i)^2 x_i x_i' for rows of length at most 1.

    **Statement.** But for a chance 2 `failure`: `highest` bounds the eigenvalues of E x x'.

    **Proof.** psi_c^2 x x' lies between 0 and c^2 and has mean `square` E x x'; so has
    psi_c^2 |x|^2 between 0 and c^2, with a mean of at most `square`. `chernoff_interval`, in
    dimension `size` and in dimension 1.
    """

    def high(dimension: Number, mean: Number) -> Number:
        return chernoff_interval(n, dimension, c**2, Interval(mean, mean), failure).high

    trace = high(size / size, square)
    return Scatter(trace / n, high(size, square * highest) / n)


def sum_length(scatter: Scatter, x: Number) -> Number:
    r"""A bound on |r + w| that fails with a chance of at most e^{-x}.

    **Statement.** sqrt(tr B) + sqrt(2 x |B|), w Gaussian and independent.

    **Proof.** The signs of the xi_i are fair and independent of their sizes and of all rows, so
    given those r + w is a fixed matrix times a vector of independent signs and standard Gaussians,
    which is sub-Gaussian(1). Hsu, Kakade and Zhang (2012), Theorem 2.1:
    |r + w|^2 <= tr B + 2 sqrt(x tr B^2) + 2 x |B|, and tr B^2 <= |B| tr B.
    """
    lib = library(*scatter, x)
    return lib.sqrt(scatter.trace) + lib.sqrt(2 * x * scatter.spectral)


def gamma_length(scale: Number, d: Number, x: Number) -> Number:
    """scale (d + sqrt(2 x d) + x), which scale Gamma(d), the length of l2 K-norm noise, exceeds
    with a chance of at most e^{-x} (Boucheron, Lugosi and Massart, 2013, §2.4)."""
    return scale * (d + library(d, x).sqrt(2 * x * d) + x)


# --- One phase ------------------------------------------------------------------------------------


class Error(NamedTuple):
    """What is known of |b - beta|."""

    sure: Number
    """A bound, on the event that the proof is about."""
    rms: Number
    """A bound on the root of its mean square on that event."""


class Step(NamedTuple):
    """What a phase does, besides its curvature."""

    length: Number
    """The multiple of the released average by which b moves."""
    reached: Number
    """A bound on |r + w| on the event."""
    drift: Number
    """sqrt(E|r|^2): sqrt(square/n) for rows of length at most 1."""
    noise: Number
    """sqrt(E|w|^2)."""


def after_phase(before: Error, step: Step, window: Interval, cap: Number) -> Error:
    r"""The error after a phase.

    **Statement.** With q = max |1 - length lambda| over the window,
    sure' = q sure + length reached, rms'^2 = (q rms + length drift)^2 + length^2 noise^2; neither
    above the cap, the diameter of the ball on which b is projected.

    **Proof.** On the event |I - length M| <= q. The triangle inequality; and `Recursion` (descent),
    as w is independent of the past, of the data and of the event up to here. The projection on a
    convex set that holds beta shortens distances.
    """
    q = contraction(step.length, window)
    lib = library(q, before.rms, step.noise)
    moved = q * before.rms + step.length * step.drift
    rms = lib.sqrt(moved**2 + (step.length * step.noise) ** 2)
    sure = lib.least(q * before.sure + step.length * step.reached, cap)
    return Error(sure, lib.least(rms, cap))


# --- What a phase is predicted to do --------------------------------------------------------------


class Predicted(NamedTuple):
    """The parts of a predicted risk."""

    statistics: Number
    noise: Number

    @property
    def risk(self) -> Number:
        """Their sum."""
        return self.statistics + self.noise


def predicted_phase(
    before: Predicted | None, residual: ClippedNormal, spread: Number, noise: Number
) -> tuple[Predicted, Number]:
    r"""(the risk after a phase, the weight of its estimate), to leading order.

    **Statement.** A phase divides its release by the slope of N(0, v^2), v^2 = sigma^2 + risk
    before it. Its own estimate has the statistical risk spread * inefficiency (spread = d/n) and
    the noise given; averaged with the estimate before it by the inverse variances of the noise, so
    that 1/noise adds up. No estimate before it: weight 1.

    **Why.** If <x, e> is normal, y - <x, b> is N(0, v^2) and by Stein's identity the mean of
    psi_c(y - <x, b>) x is exactly -slope Sigma e: the phase removes all of e, and what is left has
    the variance of psi_c. Not a bound: the statistical parts of two phases are taken to be one
    error of averaged size, and <x, e> to be normal.
    """
    statistics = spread * residual.inefficiency
    if before is None:
        return Predicted(statistics, noise), noise / noise
    weight = before.noise / (before.noise + noise)
    mixed = (1 - weight) * before.statistics + weight * statistics
    return Predicted(mixed, weight * noise), weight
