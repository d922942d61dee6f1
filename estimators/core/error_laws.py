r"""The laws of regressions' errors, from which `intervals` are made.

Each is a function of releases and of public numbers: options, n, d, scales of noise. Estimators
state what a law takes for granted; where it cannot be known, `NoLaw` says why.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.intervals import (
    Array,
    ErrorLaw,
    KnownVariance,
    NoiseLaw,
    NoLaw,
    NormalNoise,
    chi_square_rule,
)
from minimax.methods.residual_clip import clipped_normal

# --- Gradient steps -------------------------------------------------------------------------------


class Descent(NamedTuple):
    """Gradient steps on least squares, in public numbers."""

    n: int
    steps: int
    step_size: float
    noise: float
    """Deviation of the noise on a coordinate of each averaged gradient."""
    row_bound: float
    radius: float
    sigma: float
    start: Array


def iterate_error(coef: Array, descent: Descent) -> ErrorLaw | NoLaw:
    r"""The law of the last iterate about beta, for rows with E xx' = lam I, lam = row_bound^2/d.

    **Statement.** With q = 1 - eta lam and the shrinkage
    g = 1 - q^T - (T choose 2) q^{T-2} (eta lam)^2 (d - 1)/n, and v = beta - b_0,
    b_0 + (b_T - b_0)/g - beta has, on a coordinate, to
    leading order in d/n and on average over coordinates, mean 0, noise of variance
    (eta tau/g)^2 (1 - q^{2T})/(1 - q^2), and a sampling error of variance
    [sigma^2/lam + (T q^{T-1} eta lam/g)^2 |v|^2 (d - 1)/d]/n.

    **Proof.** While no clip and no projection acts, b_T - b_0 = [I - (I - eta H)^T] v +
    eta sum_{k<T} (I - eta H)^k (X'e/n - noise), H = X'X/n = lam I + D. To second order in D the
    bracket is (1 - q^T) I + T q^{T-1} eta D - (T choose 2) q^{T-2} eta^2 D^2. As E|x|^2 =
    row_bound^2 is the largest that |x|^2 can be, |x| is constant: E D^2 = lam^2 (d - 1)/n I and
    E|D v|^2 = lam^2 |v|^2 (d - 1)/n. The sum has (I - eta H)^k = q^k I to leading order.
    For |v|^2 the release stands, whose noise makes it too large, but not above the largest it can
    be. A release on the ball's border was moved there.
    """
    n, T, eta, start = descent.n, descent.steps, descent.step_size, descent.start
    d = coef.size
    lam = descent.row_bound**2 / d
    q, unit = 1 - eta * lam, eta * lam
    if not abs(q) < 1:
        return NoLaw("step_size is too long for the rows that L = 1 tells of")
    second = math.comb(T, 2) * q ** (T - 2) * unit**2 * (d - 1) / n if T > 1 else 0.0
    g = 1 - q**T - second
    if not g > 0:
        return NoLaw("steps are too many for so few records")
    if float(np.linalg.norm(coef)) >= descent.radius * (1 - 1e-9):
        return NoLaw("coef_ was moved to the border of the ball of `radius`; give a larger one")
    reach = descent.radius + float(np.linalg.norm(start))
    size = min(float(np.linalg.norm(coef - start)) / g, reach) ** 2
    design = (T * q ** (T - 1) * unit / g) ** 2 * size * (d - 1) / d
    kept = math.fsum(q ** (2 * k) for k in range(T))
    return ErrorLaw(
        KnownVariance(np.array((descent.sigma**2 / lam + design) / n)),
        NormalNoise(eta * descent.noise / g * math.sqrt(kept)),
        shrinkage=g,
        origin=start,
    )


# --- A Newton step on clipped residuals -----------------------------------------------------------

SATURATED = 1e4
"""Residuals of so many clips are all clipped: beyond it E psi_c^2 is c^2 to 1e-4."""


class LastPhase(NamedTuple):
    """A Newton step on clipped residuals, in public numbers and releases."""

    n: int
    clip: float
    slope: float
    sigma: float
    """Deviation of the responses' noise."""
    before: float
    """E<x, b - beta>^2 before it."""


def last_phase_error(
    phase: LastPhase, inverse: Array, noise: NoiseLaw, covariance: Array
) -> ErrorLaw:
    r"""The law of b' = b + S^{-1}/slope [(1/n) sum_i psi_c(r_i) x_i + noise] about beta.

    **Statement.** Let rows have the second moment S, residuals be r = xi + <x, beta - b> with xi
    N(0, sigma^2), and b - beta be N(0, S^{-1} before/d), so that u^2 = E_x <x, b - beta>^2 is
    before chi^2_d/d. To leading order, a coordinate of b' - beta has mean 0, the noise's variance,
    and the variance [S^{-1}]_jj times E psi_c(r)^2/(slope^2 n) + E k^2 u^2/d,
    k = 1 - P(|r| <= c)/slope, where given u r is taken to be N(0, sigma^2 + u^2).

    **Proof.** The mean of psi_c(r) x has covariance S E psi_c(r)^2/n, and by Stein's lemma the mean
    S (beta - b) P(|r| <= c): k of b - beta stays. Given u, directions of S^{1/2} (b - beta) are
    uniform: a coordinate of b - beta has the variance [S^{-1}]_jj u^2/d.
    **Constants.** k is small where `before` is small against the clip and sigma.
    """
    d, clip = len(inverse), phase.clip
    shares, weights = chi_square_rule(d)
    missed = phase.before * shares
    spread = np.sqrt(phase.sigma**2 + missed)
    clipped = clipped_normal(clip, spread)
    square = np.where(spread > SATURATED * clip, clip**2, clipped.square) @ weights
    left = ((1 - clipped.slope / phase.slope) ** 2 * missed) @ weights
    return ErrorLaw(
        KnownVariance((square / phase.slope**2 / phase.n + left / d) * np.diag(inverse)),
        noise,
        np.sqrt(np.diag(covariance)) / noise.deviation,
    )


# --- Noisy sufficient statistics ------------------------------------------------------------------


def solved_error(
    coef: Array, gram: Array, gram_noise: float, vector_noise: float, sigma: float
) -> ErrorLaw:
    r"""The law of b = (G + Z)^{-1} (X'y + xi) about beta, without a ridge; G = X'X.

    **Statement.** Let M = (G + Z)^{-1}, xi be N(0, s^2) in each coordinate and Z symmetric and
    N(0, tau^2) in Frobenius norm. To leading order in |M Z| a coordinate of b - beta has mean 0,
    sampling variance sigma^2 M_jj and noise of variance
    |M_j|^2 (s^2 + tau^2 |beta|^2/2) + tau^2 (M_j beta)^2/2, M_j being a row of M.

    **Proof.** b - beta = M (X'e + xi - Z beta), and G M = I - Z M. E (Z u)(Z u)' =
    tau^2 (|u|^2 I + uu')/2. **Constants.** b stands for beta, the release G + Z for G.
    """
    inverse = np.linalg.inv(gram)
    rows, half = np.linalg.norm(inverse, axis=1), gram_noise / math.sqrt(2)
    of_gram = half * np.hypot(rows * np.linalg.norm(coef), inverse @ coef)
    return ErrorLaw(
        KnownVariance(sigma**2 * np.diag(inverse)),
        NormalNoise(1.0),
        np.hypot(rows * vector_noise, of_gram),
    )
