r"""Tracing: what privacy lets an attack score reach.

The set-up of every tracing proof. P is the joint law of a release M(X) and a record x of X; Q the
joint law of M(X') and x, where X' has x replaced by an independent copy. An attack scores
A = <V, x - E x>, where V depends on the release and the other records. Under Q, V and x are
independent, so E_Q A = 0; V has the same marginal law under P and under Q. Privacy bounds E_P A;
accuracy forces the sum of E_P A over the records to be large. The two meet in a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from minimax import bound as symbols
from minimax.divergences import group_delta, kl_pure
from minimax.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated

Array = NDArray[np.float64]
SQRT_2PI = math.sqrt(2 * math.pi)


def moment_bound(
    epsilon: float, delta: float, mean_abs: float, rms_member: float, rms_outsider: float
) -> float:
    r"""Upper bound on E_P A for an (epsilon, delta)-close pair with E_Q A = 0.

    **Statement.** E_P A <= sinh(eps) E_Q|A| + sqrt(delta E_P (A^+)^2)
    + e^{-eps} sqrt(delta E_Q (A^-)^2).

    **Proof.** E_P A^+ <= e^eps E_Q A^+ + \int A^+ (p - e^eps q)^+, and Cauchy-Schwarz with
    (p - e^eps q)^+ <= p of mass at most delta bounds the last term by sqrt(delta E_P (A^+)^2).
    Likewise E_P A^- >= e^{-eps} (E_Q A^- - sqrt(delta E_Q (A^-)^2)). Subtract, and use
    E_Q A^+ = E_Q A^- = E_Q|A|/2.

    **Source.** Replaces CWZ19: Lemma B.2, which drops a tail integral and needs delta << 1/n.
    """
    root = math.sqrt(delta)
    return math.sinh(epsilon) * mean_abs + root * (rms_member + math.exp(-epsilon) * rms_outsider)


def transport_bound(kl: float, sigma: float, rms: float) -> float:
    """Upper bound on E_P <V, x - E x> when x is sub-Gaussian(sigma): sigma sqrt(2 KL) rms(V).

    Proof: Donsker-Varadhan with lambda A - lambda^2 sigma^2 |V|^2/2, whose exponential has mean at
    most one under Q; then the best lambda.
    """
    return sigma * math.sqrt(2 * kl) * rms


@dataclass(frozen=True)
class Tail:
    """What is known of the score's law under Q given V, in units of sigma |V|.

    `excess(t)` bounds E (A - t)^+ and `shortfall(t)` bounds sqrt(E ((A - t)^-)^2), for t >= 0.
    """

    name: str
    excess: Callable[[Array], Array]
    shortfall: Callable[[Array], Array]


def _density(t: Array) -> Array:
    return np.exp(-(t**2) / 2) / SQRT_2PI


GAUSSIAN = Tail(
    "Gaussian",
    excess=lambda t: _density(t) - t * special.ndtr(-t),
    shortfall=lambda t: np.sqrt((1 + t**2) * special.ndtr(t) + t * _density(t)),
)
"""x - E x is N(0, sigma^2 I): both functions are exact."""

SUBGAUSSIAN = Tail(
    "sub-Gaussian",
    excess=lambda t: np.minimum((np.sqrt(1 + t**2) - t) / 2, SQRT_2PI * special.ndtr(-t)),
    shortfall=lambda t: np.sqrt(1 + t**2),
)
"""Centred, variance at most one, sub-Gaussian(1).

E (A-t)^+ <= (sqrt(1+t^2) - t)/2 is the sharp bound for unit variance, and the tail bound
P(A > x) <= e^{-x^2/2} gives E (A-t)^+ <= int_t^inf e^{-x^2/2} dx.
"""


def gains(
    privacy: Privacy,
    sizes: ArrayLike,
    tail: Tail,
    *,
    member: float = 0.0,
    shifted: bool = True,
) -> Array:
    r"""G with E_P A <= G sigma sqrt(E|V|^2), for groups of `sizes` records at once.

    **Statement.** zCDP: sqrt(2 rho) k. GDP: mu k. For (eps, delta), any t >= 0 and
    |A| <= `member` sigma |V| under P,

        G = (1 - e^{-eps}) t + 2 sinh(eps) excess(t) + sqrt(delta) (member + e^{-eps} shortfall(t));

    pure: the same with delta = 0, or sqrt(2 eps tanh(eps/2)) if that is smaller.

    **Proof.** For zCDP, GDP and pure, `transport_bound` with the definition's KL. For
    (eps, delta), apply the proof of `moment_bound` to A - t sigma |V| instead of A: as V has one
    law under P and Q, E_P A = t sigma E|V| + E_P (A - t sigma |V|), and
    E_Q (A - t sigma|V|)^- = E_Q (A - t sigma|V|)^+ + t sigma E|V|. At t = 0 this is the moment
    bound itself. The shift makes it sharp: for a pure budget and a Gaussian score the best t has
    P(Z > t) = 1/(1 + e^eps), and G = 2 sinh(eps) phi(t) is then the exact supremum, by duality
    (the ratio p/q lies in [e^-eps, e^eps] and has mean one given V). For a unit-variance score
    t = sinh(eps/2) gives 2 sinh(eps/2). At eps large, G grows like sqrt(2 eps), not like e^eps.

    With `member` = 0 and delta > 0 the term sqrt(delta E_P (A^+)^2) is left to the caller.
    """
    k = np.atleast_1d(np.asarray(sizes, dtype=float))
    if isinstance(privacy, ZeroConcentrated):
        return k * math.sqrt(2 * privacy.rho)
    if isinstance(privacy, Gaussian):
        return k * privacy.mu
    if isinstance(privacy, Pure):
        by_kl = np.sqrt(2 * kl_pure(k * privacy.epsilon))
        return np.minimum(by_kl, _shifted_gain(k * privacy.epsilon, 0 * k, tail, member, shifted))
    if isinstance(privacy, Approximate):
        delta = group_delta(privacy.epsilon, privacy.delta, k)
        return _shifted_gain(k * privacy.epsilon, delta, tail, member, shifted)
    raise TypeError(f"privacy: no tracing lemma for {privacy}")


def gain(privacy: Privacy, tail: Tail, *, member: float = 0.0, shifted: bool = True) -> float:
    """`gains` for a single record."""
    return float(gains(privacy, 1, tail, member=member, shifted=shifted)[0])


def _shifted_gain(epsilon: Array, delta: Array, tail: Tail, member: float, shifted: bool) -> Array:
    # Every t gives a valid G, so a grid with the two closed-form choices in it is enough.
    capped = np.minimum(epsilon, 300.0)
    if shifted:
        best = np.sqrt(2 * epsilon) + 3.0
        t = np.linspace(0.0, 1.0, 300)[:, None] * best
        sharp = -special.ndtri(special.expit(-capped))
        chosen = [np.sinh(np.minimum(capped, 20.0) / 2), np.sqrt(2 * epsilon), sharp]
        t = np.vstack([t, *chosen])
    else:
        t = np.zeros((1, len(epsilon)))
    growth = np.where(tail.excess(t) > 0, 2 * np.sinh(capped) * tail.excess(t), 0.0)
    # Beyond the cap use 2 sinh(eps) <= e^eps and the logarithm of the tail.
    log_tail = np.where(t > 0, epsilon - t**2 / 2 - np.log(np.maximum(t, 1e-300)), np.inf)
    growth = np.where(epsilon > 300.0, np.exp(np.minimum(log_tail, 700.0)), growth)
    leak = np.sqrt(delta) * (member + np.exp(-epsilon) * tail.shortfall(t))
    return np.asarray(np.min(-np.expm1(-epsilon) * t + growth + leak, axis=0))


def gain_expression(model: type[Any], tail: Tail, *, member: Any = 0, shifted: bool = True) -> Any:
    """A closed form that is at least `gain`, as a sympy expression in the model's parameters."""
    eps, delta = symbols.epsilon, symbols.delta
    if model is ZeroConcentrated:
        return sp.sqrt(2 * symbols.rho)
    if model is Gaussian:
        return symbols.mu
    leak = sp.sqrt(delta) if model is Approximate else sp.Integer(0)
    if tail is SUBGAUSSIAN:
        if model is Pure:
            return sp.sqrt(2 * eps * sp.tanh(eps / 2))
        return 2 * sp.sinh(eps / 2) + leak * (member + sp.exp(-eps) * sp.cosh(eps / 2))
    if not shifted:
        plain = sp.sqrt(2 / sp.pi) * sp.sinh(eps)
        if model is Pure:
            return sp.Min(plain, sp.sqrt(2 * eps * sp.tanh(eps / 2)))
        return plain + leak * (member + sp.exp(-eps) / sp.sqrt(2))
    return sp.Piecewise(
        (_sharp_gain_expression(eps, leak, member), eps <= 40),
        (_large_gain_expression(eps, leak, member), True),
    )


def _large_gain_expression(eps: Any, leak: Any, member: Any) -> Any:
    """The gain at t = sqrt(2 eps), where 2 sinh(eps) E(Z - t)^+ <= 1/t (past erfinv)."""
    t = sp.sqrt(2 * eps)
    return t + 1 / t + leak * (member + sp.exp(-eps) * sp.sqrt(1 + t**2))


def _sharp_gain_expression(eps: Any, leak: Any, member: Any) -> Any:
    """The gain at the t that is best for a pure budget."""
    t = sp.sqrt(2) * sp.erfinv(sp.tanh(eps / 2))
    density = sp.exp(-(t**2) / 2) / sp.sqrt(2 * sp.pi)
    below = (1 + sp.tanh(eps / 2)) / 2
    shortfall = sp.sqrt((1 + t**2) * below + t * density)
    return 2 * sp.sinh(eps) * density + leak * (member + sp.exp(-eps) * shortfall)


@dataclass(frozen=True)
class Residual:
    r"""The inequality that ends a residual tracing proof, solved for the residual's size.

    With eta = sqrt(E|N|^2) of the estimator's residual N, the proofs arrive at

        signal - drag eta <= weight sqrt(eta^2 + cross eta + own^2) + extra(eta),

    left side decreasing and right side increasing in eta >= 0, so eta is at least the root.
    """

    signal: Any
    drag: Any
    weight: Any
    cross: Any
    own: Any

    def floor(self, extra: Callable[[float], float] | None = None) -> float:
        """The root eta, or 0 where the inequality holds already at 0."""

        def gap(eta: float) -> float:
            spread = math.sqrt(eta**2 + self.cross * eta + self.own**2)
            more = extra(eta) if extra else 0.0
            return float(self.signal - self.drag * eta - self.weight * spread - more)

        if gap(0.0) <= 0:
            return 0.0
        high = self.signal / self.weight
        return float(optimize.brentq(gap, 0.0, high, xtol=1e-300, rtol=1e-13))

    def linear_floor(self, extra_constant: Any = 0, extra_slope: Any = 0) -> Any:
        """A closed form below `floor`, for numbers or symbols; needs cross <= 2 own.

        From sqrt(eta^2 + cross eta + own^2) <= eta + own and extra <= constant + slope eta.
        """
        excess = self.signal - self.weight * self.own - extra_constant
        slope = self.drag + self.weight + extra_slope
        return symbols.positive_part(excess / slope)
