"""Objective perturbation: a minimiser is private if the objective is random enough.

The proof is about the exact minimiser, so the two that are needed are computed to rounding level:
for least squares in closed form, for the logistic loss by Newton's method.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy import optimize, special

from estimators.core.base import Array
from minimax.core.privacy import Approximate, Pure

LossName = Literal["squared", "logistic"]

ROUNDING = 4 * float(np.finfo(float).eps)
"""Relative size of the few rounding errors behind each term of a computed gradient."""
MOST_STEPS = 500
"""More Newton steps than are ever made: see `logistic_minimum`."""


class Perturbation(NamedTuple):
    """How an objective is perturbed: ridge Delta, scale of the random linear term, guarantee."""

    ridge: float
    scale: float
    privacy: Pure | Approximate


def objective_perturbation(
    gradient: float, smoothness: float, privacy: Pure | Approximate
) -> Perturbation:
    r"""Ridge and noise that make the minimiser of a perturbed sum of losses private.

    **Statement.** J(b) = sum_i l_i(<x_i, b>) + Delta |b|^2/2 + <g, b> with convex l_i, |gradient of
    a record's term| <= zeta everywhere, and second derivative times |x_i|^2 at most lam. Under
    replacement the minimiser is epsilon-DP if Delta >= lam/(e^{epsilon/2} - 1) and g has density
    proportional to exp(-epsilon |g|/(4 zeta)); it is (epsilon, delta)-DP with that Delta and
    g ~ N(0, tau^2 I), tau = 2 zeta (t + sqrt(t^2 + epsilon))/epsilon, t = sqrt(2 log(1/delta)).

    **Proof.** The minimiser b determines g = -sum of gradients - Delta b, a bijection, so the
    density at b is that of g times |det H|, H = Hessians + Delta I. Neighbours: H' = H - c xx' + c'
    zz', so det H/det H' <= det H/det(H - c xx') <= 1 + lam/Delta <= e^{epsilon/2}. And g' = g + v,
    where v, a difference of two gradients, has |v| <= 2 zeta: the density ratio is at most
    e^{epsilon/2} in the first case. In the second its log is at most (|Pg| h + tau h^2/2)/tau for h
    = 2 zeta/tau, with P the projection on the span of x and z, in which v lies although it depends
    on g; P(|Pg| > t tau) <= e^{-t^2/2} = delta, and h t + h^2/2 = epsilon/2.

    **Source.** Kifer, Smith and Thakurta (2012), Algorithm 1, with Delta = 2 lam/epsilon and
    tau^2 = zeta^2 (8 log(2/delta) + 4 epsilon)/epsilon^2: that is the case |v| <= zeta, of a record
    added or removed. Replacement needs twice that noise.
    """
    ridge = smoothness / math.expm1(min(privacy.epsilon / 2, 20.0))
    if isinstance(privacy, Pure):
        return Perturbation(ridge, 4 * gradient / privacy.epsilon, privacy)
    t = math.sqrt(2 * math.log(1 / privacy.delta))
    scale = 2 * gradient * (t + math.sqrt(t**2 + privacy.epsilon)) / privacy.epsilon
    return Perturbation(ridge, scale, privacy)


def quieter(s: int, epsilon: float, delta: float) -> Pure | Approximate:
    """The guarantee whose random linear term in s dimensions has the smaller E|g|^2.

    s (s + 1) squared scales if pure, s if normal: pure up to an s of about 2 log(1/delta).
    """
    pure, normal = Pure(epsilon), Approximate(epsilon, delta)
    scales = [objective_perturbation(1.0, 1.0, privacy).scale for privacy in (pure, normal)]
    return pure if (s + 1) * scales[0] ** 2 <= scales[1] ** 2 else normal


def linear_term(perturbation: Perturbation, s: int, rng: np.random.Generator) -> Array:
    """g: normal, or for a pure guarantee with a Gamma(s) length in a uniform direction."""
    direction = rng.standard_normal(s)
    if isinstance(perturbation.privacy, Approximate):
        return perturbation.scale * direction
    length = rng.gamma(s, perturbation.scale)
    return np.asarray(length * direction / np.linalg.norm(direction))


def gradient_sum(loss: LossName, Z: Array, y: Array, coef: Array) -> Array:
    """The sum of the records' gradients at coef: what the linear term hides."""
    told = Z @ coef
    return np.asarray(Z.T @ ((told if loss == "squared" else special.expit(told)) - y))


def ball_least_squares(Z: Array, y: Array, ridge: float, linear: Array, radius: float) -> Array:
    """argmin over |b| <= radius of |Zb - y|^2/2 + ridge |b|^2/2 + <linear, b>, in closed form but
    for one multiplier."""
    values, vectors = np.linalg.eigh(Z.T @ Z)
    values = np.maximum(values, 0.0) + ridge
    target = vectors.T @ (Z.T @ y - linear)
    if np.linalg.norm(target / values) > radius:

        def shortage(multiplier: float) -> float:
            return 1 / float(np.linalg.norm(target / (values + multiplier))) - 1 / radius

        most = 2 * float(np.linalg.norm(target)) / radius
        values = values + optimize.brentq(shortage, 0.0, most, xtol=1e-14 * most, rtol=1e-14)
    return np.asarray(vectors @ (target / values))


def logistic_minimum(Z: Array, y: Array, ridge: float, linear: Array) -> Array:
    r"""argmin of J(b) = sum_i [log(1 + e^{<z_i, b>}) - y_i <z_i, b>] + ridge |b|^2/2 + <linear, b>.

    **Algorithm.** Newton's direction, and along it the point where J is lowest, until the gradient
    is at rounding level: |grad J(b)| <= r, r = `ROUNDING` times the sum of the sizes of all that is
    added up in it, sum_i |z_i| (|slope_i| + 1) + (sum_i |z_i|^2/4 + ridge) |b| + |linear|. (The
    third sum bounds how far the gradient moves when b is rounded.)

    **Exactness.** b is the exact minimiser for linear - grad J(b), so for a random term that was
    rounded by r at most: about 10^-9 of its scale for 10^6 records and epsilon = 1. That is what
    the proof of `objective_perturbation` needs; the distance to the minimiser, at most r/ridge, may
    be larger.

    **Convergence.** J is ridge-strongly convex with a bounded and Lipschitz Hessian, so Newton's
    method with an exact line search ends from every start and is quadratic at the end (Boyd and
    Vandenberghe, 2004, §9.5.3). `MOST_STEPS` only guards against an endless loop, and reaching it
    changes nothing that can be seen: the last b is returned, since an error, a warning or another
    release would be decided by the data.
    """
    lengths = np.sqrt(np.einsum("ij,ij->i", Z, Z))
    largest_bend = float(lengths @ lengths) / 4 + ridge
    coef = np.zeros(Z.shape[1])
    for _ in range(MOST_STEPS):
        chance = special.expit(Z @ coef)
        slope = chance - y
        gradient = Z.T @ slope + ridge * coef + linear
        terms = float(lengths @ (np.abs(slope) + 1)) + float(np.linalg.norm(linear))
        terms += largest_bend * float(np.linalg.norm(coef))
        if np.linalg.norm(gradient) <= ROUNDING * terms:
            break
        # By eigenvalues, which cannot fail: a solver may find the matrix singular, or warn.
        values, vectors = np.linalg.eigh((Z.T * (chance * (1 - chance))) @ Z)
        step = -vectors @ (vectors.T @ gradient / (np.maximum(values, 0.0) + ridge))
        rest = ridge * coef + linear
        coef = coef + step * _lowest(Z @ coef, Z @ step, y, rest @ step, ridge * step @ step)
    return coef


def _lowest(prediction: Array, move: Array, y: Array, slope: float, bend: float) -> float:
    """t at which the logistic loss of prediction + t move, plus slope t + bend t^2/2, is lowest.

    The root of the derivative, which rises: values of the loss itself would lose its last digits.
    """

    def derivative(t: float) -> float:
        return float(move @ (special.expit(prediction + t * move) - y)) + slope + bend * t

    if derivative(0.0) >= 0:  # by rounding alone, where the gradient is nearly at its level
        return 1.0
    high = 1.0
    while derivative(high) < 0:
        high *= 2
    return float(optimize.brentq(derivative, 0.0, high, xtol=1e-14, rtol=1e-14))
