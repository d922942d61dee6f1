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
from typing import Any, Protocol

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from minimax import bound as symbols
from minimax.core.closeness import group_delta, kl_pure
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated

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
    """What is known of the score's law under Q given V, in units of its scale sigma |V|.

    `excess(t)` bounds E (A - t)^+ and `shortfall(t)` bounds sqrt(E ((A - t)^-)^2), for t >= 0.
    """

    name: str
    excess: Callable[[Array], Array]
    shortfall: Callable[[Array], Array]
    log_excess: Callable[[Array], Array]
    """A bound on log excess(t) for t > 0, where excess itself would underflow."""
    reach: Callable[[Array], Array]
    """For each epsilon, the largest shift t worth trying."""
    transport: bool = True
    """Whether E exp(lambda A) <= exp(lambda^2/2), so that a KL bound can be used."""


def _density(t: Array) -> Array:
    return np.exp(-(t**2) / 2) / SQRT_2PI


def _far_gaussian(t: Array) -> Array:
    return -(t**2) / 2 - np.log(np.maximum(t, 1e-300))


def _gaussian_excess(t: Array) -> Array:
    return _density(t) - t * special.ndtr(-t)


def _gaussian_shortfall(t: Array) -> Array:
    return np.sqrt((1 + t**2) * special.ndtr(t) + t * _density(t))


def _variance_excess(t: Array) -> Array:
    """(sqrt(1 + t^2) - t)/2: the sharp bound on E (A - t)^+ for a centred A of variance <= 1."""
    return 0.5 / (np.sqrt(1 + t**2) + t)


def _far_product(t: Array) -> Array:
    """log of e^{-lambda t - 1}/(lambda sqrt(1 - lambda^2)) at lambda = 1 - 1/(2(t + 1))."""
    rate = 1 - 0.5 / (t + 1)
    return -rate * t - 1 - np.log(rate) - np.log1p(-(rate**2)) / 2


GAUSSIAN = Tail(
    "Gaussian",
    excess=_gaussian_excess,
    shortfall=_gaussian_shortfall,
    log_excess=_far_gaussian,
    reach=lambda epsilon: np.sqrt(2 * epsilon) + 3.0,
)
"""x - E x is N(0, sigma^2 I): both functions are exact."""

SUBGAUSSIAN = Tail(
    "sub-Gaussian",
    excess=lambda t: np.minimum(_variance_excess(t), SQRT_2PI * special.ndtr(-t)),
    shortfall=lambda t: np.sqrt(1 + t**2),
    log_excess=_far_gaussian,
    reach=lambda epsilon: np.sqrt(2 * epsilon) + 3.0,
)
"""Centred, variance at most one, sub-Gaussian(1).

E (A-t)^+ <= (sqrt(1+t^2) - t)/2 is the sharp bound for unit variance, and the tail bound
P(A > x) <= e^{-x^2/2} gives E (A-t)^+ <= int_t^inf e^{-x^2/2} dx.
"""

MIXTURE_TURN = 0.6120031809624807
"""The r at which r (phi(r) - r P(Z > r)) is largest: phi(r) = 2 r P(Z > r)."""
MIXTURE_TOP = 0.10122824509401247
"""That largest value."""

GAUSSIAN_PRODUCT = Tail(
    "Gaussian times signs",
    excess=lambda t: np.where(
        t <= MIXTURE_TURN,
        _gaussian_excess(t),
        np.minimum(MIXTURE_TOP / np.maximum(t, MIXTURE_TURN), np.exp(_far_product(t))),
    ),
    shortfall=_gaussian_shortfall,
    log_excess=_far_product,
    reach=lambda epsilon: epsilon + 3.0,
    transport=False,
)
r"""A = xi W, xi ~ N(0, 1) and W an independent weighted sum of signs of unit variance: the score
<V, xi x> of linear regression with sign design.

**Excess.** Given W^2 = u the excess is g(u) = sqrt(u) e(t/sqrt u), e the Gaussian one. g is convex,
then concave, and g(u)/u = r e(r)/t, r = t/sqrt u, is largest at r = `MIXTURE_TURN`. As E u = 1, the
concave envelope at 1 bounds E g(u): it is g(1) = e(t) if t <= MIXTURE_TURN, and otherwise the
largest g(u)/u = MIXTURE_TOP/t. The other bound is Chernoff's: (x - t)^+ <= e^{lambda(x-t)-1}/lambda
and E e^{lambda A} = E e^{lambda^2 W^2/2} <= (1 - lambda^2)^{-1/2}.
**Shortfall.** By the heat equation E ((sqrt(u) xi - t)^-)^2 has derivative P(Z < t/sqrt u) in u,
which decreases: it is concave, and Jensen gives the Gaussian value.
"""

BOUNDED_PRODUCT = Tail(
    "bounded times signs",
    excess=lambda t: np.minimum(_variance_excess(t), np.exp(_far_product(t))),
    shortfall=lambda t: np.sqrt(1 + t**2),
    log_excess=_far_product,
    reach=lambda epsilon: epsilon + 3.0,
    transport=False,
)
"""A = b W, b centred and sub-Gaussian(1) given the signs, W a sum of signs of unit variance: the
score of logistic regression, in units of |V|/2. Variance at most one; Chernoff as above."""


def gains(
    privacy: Privacy,
    sizes: ArrayLike,
    tail: Tail,
    *,
    member: float = 0.0,
    shifted: bool = True,
) -> Array:
    r"""G with E_P A <= G sigma sqrt(E|V|^2), for groups of `sizes` records at once.

    **Statement.** zCDP: sqrt(2 rho) k. GDP: mu k; for a score that is not sub-Gaussian given V,
    sqrt(exp(2 rho k^2) - 1) and sqrt(exp(mu^2 k^2) - 1). For (eps, delta), any t >= 0 and
    |A| <= `member` sigma |V| under P,

        G = (1 - e^{-eps}) t + 2 sinh(eps) excess(t) + sqrt(delta) (member + e^{-eps} shortfall(t));

    pure: the same with delta = 0, or sqrt(2 eps tanh(eps/2)) if that is smaller and the score is
    sub-Gaussian given V.

    **Proof.** For zCDP, GDP and pure, `transport_bound` with the definition's KL; or, for any
    score with E_Q A^2 <= sigma^2 E|V|^2, E_P A = E_Q (dP/dQ - 1) A <= sqrt(chi^2 E_Q A^2) with
    chi^2 <= e^{D_2} - 1, D_2 = 2 rho (zCDP) or mu^2 (GDP). For
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
    if isinstance(privacy, (ZeroConcentrated, Gaussian)):
        by_kl = k * privacy.to_gaussian().mu
        return by_kl if tail.transport else np.sqrt(np.expm1(np.minimum(by_kl**2, 600.0)))
    if isinstance(privacy, Pure):
        by_shift = _shifted_gain(k * privacy.epsilon, 0 * k, tail, member, shifted)
        if not tail.transport:
            return by_shift
        return np.minimum(np.sqrt(2 * kl_pure(k * privacy.epsilon)), by_shift)
    if isinstance(privacy, Approximate):
        delta = group_delta(privacy.epsilon, privacy.delta, k)
        return _shifted_gain(k * privacy.epsilon, delta, tail, member, shifted)
    raise TypeError(f"privacy: no tracing lemma for {privacy}")


def gain(privacy: Privacy, tail: Tail, *, member: float = 0.0, shifted: bool = True) -> float:
    """`gains` for a single record."""
    return float(gains(privacy, 1, tail, member=member, shifted=shifted)[0])


def _shifted_gain(epsilon: Array, delta: Array, tail: Tail, member: float, shifted: bool) -> Array:
    # Every t gives a valid G, so a grid with the closed-form choices in it is enough.
    capped = np.minimum(epsilon, 300.0)
    if shifted:
        t = np.linspace(0.0, 1.0, 300)[:, None] * tail.reach(epsilon)
        sharp = -special.ndtri(special.expit(-capped))
        chosen = [np.sinh(np.minimum(capped, 20.0) / 2), np.sqrt(2 * epsilon), sharp]
        t = np.vstack([t, *chosen])
    else:
        t = np.zeros((1, len(epsilon)))
    near = 2 * np.sinh(capped) * tail.excess(np.minimum(t, 30.0))
    # Far out, where exponentials would overflow: 2 sinh(eps) <= e^eps, and logarithms.
    log_far = np.where(t > 0, epsilon + tail.log_excess(np.maximum(t, 1e-300)), np.inf)
    growth = np.where((epsilon > 300.0) | (t > 30.0), np.exp(np.minimum(log_far, 700.0)), near)
    leak = np.sqrt(delta) * (member + np.exp(-epsilon) * tail.shortfall(t))
    return np.asarray(np.min(-np.expm1(-epsilon) * t + growth + leak, axis=0))


def gain_expression(model: type[Any], tail: Tail, *, member: Any = 0, shifted: bool = True) -> Any:
    """A closed form that is at least `gain`, as a sympy expression in the model's parameters."""
    eps, delta = symbols.epsilon, symbols.delta
    if model in (ZeroConcentrated, Gaussian):
        square = 2 * symbols.rho if model is ZeroConcentrated else symbols.mu**2
        return sp.sqrt(square) if tail.transport else sp.sqrt(sp.exp(square) - 1)
    leak = sp.sqrt(delta) if model is Approximate else sp.Integer(0)
    by_variance = 2 * sp.sinh(eps / 2) + leak * (member + sp.exp(-eps) * sp.cosh(eps / 2))
    if tail is SUBGAUSSIAN and model is Pure:
        return sp.sqrt(2 * eps * sp.tanh(eps / 2))
    if tail in (SUBGAUSSIAN, BOUNDED_PRODUCT):
        return by_variance
    if not shifted:
        plain = sp.sqrt(2 / sp.pi) * sp.sinh(eps)
        if model is Pure and tail.transport:
            return sp.Min(plain, sp.sqrt(2 * eps * sp.tanh(eps / 2)))
        return plain + leak * (member + sp.exp(-eps) / sp.sqrt(2))
    if tail is GAUSSIAN_PRODUCT:  # the sharp shift is below MIXTURE_TURN while eps < .993
        sharp = _sharp_gain_expression(eps, leak, member)
        return sp.Piecewise((sharp, eps <= sp.Rational(99, 100)), (by_variance, True))
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


class Leak(Protocol):
    """What delta adds to a residual tracing proof.

    It is sqrt(delta n) (sqrt(slope^2 eta^2 + tail) + own), from sum_i E_P A_i^2 with
    A_i = <N, s_i> + kappa |s_i|^2: slope^2 bounds the largest eigenvalue of sum_i s_i s_i' but on
    an event of small probability, tail is that event's contribution, and own =
    kappa sqrt(n E|s|^4). The event is set by t > 0.
    """

    def terms(self, kappa: Any, side: Any, t: Any) -> tuple[Any, Any, Any]:
        """(slope, tail, own), for numbers or symbols; closed-form relaxations for symbols."""

    def closed_form_t(self) -> Any:
        """The t at which the closed form is taken."""


@dataclass(frozen=True)
class ScoreModel:
    r"""Residual tracing for any parametric model, in terms of the scores of its records.

    **Set-up.** theta in R^d with a prior of information J that vanishes at the boundary of its
    support; records with scores s_i = grad log p(record_i | theta), E|s_i|^2 <= `information` (an
    equality if `exact`), and E_Q <V, s_i>^2 <= spread^2 E|V|^2 for V independent of record i.

    **Statement.** With side information of total information `side` (a Gaussian observation of
    theta which the attacker has and M ignores) and kappa = d/(n information + side + J),
    every M has E|M - theta|^2 >= kappa d + eta^2, where

        d - kappa J - sqrt(J) eta <= n G spread sqrt(eta^2 + 2 kappa sqrt(J) eta/n + own^2) + leak,
        own^2 = kappa^2 (information + 2 side/n), with 2 information in it if not exact.

    **Proof.** U = sum s_i + u + grad log pi, u the side information's score, has
    E<M - theta, U> = d and E|U|^2 = n i + side + J, i = E|s|^2. N = M - theta - kappa U then has
    E<N, U> = d - kappa E|U|^2 = kappa n (information - i) >= 0, so E|M - theta|^2 =
    2 kappa d - kappa^2 E|U|^2 + E|N|^2 >= kappa d + eta^2. The attack A_i = <V_i, s_i> with
    V_i = N + kappa s_i has V_i free of record i except through M. As E<N, u> = -kappa side,

        sum_i E A_i = E<N, U - u - grad log pi> + kappa n i = d - kappa J - E<N, grad log pi>,
        (1/n) sum_i E|V_i|^2 = eta^2 + (2 kappa/n) E<N, sum s_i> + kappa^2 i
            <= eta^2 + 2 kappa sqrt(J) eta/n + kappa^2 (2 information - i + 2 side/n).

    Privacy bounds each E A_i by G spread sqrt(E|V_i|^2) (`gains`) and, for delta > 0, by
    sqrt(delta E A_i^2) more; sum over i with Jensen. side -> infinity is the direct attack
    <M - theta, s_i>, and sqrt R >= d/(n G spread + sqrt J).

    **Source.** The residual form is this work's; the direct attack is the score attack of Cai,
    Wang and Zhang (2023), which CWZ19 (3.2), (4.2) are instances of.
    """

    n: Any
    d: Any
    information: Any
    spread: Any
    prior: Any
    exact: bool = True

    def residual(self, G: Any, side: Any = 0) -> tuple[Any, Residual]:
        """(kappa, the residual inequality), for numbers or symbols."""
        root = sp.sqrt if isinstance(self.n, sp.Basic) else math.sqrt
        kappa = self.d / (self.n * self.information + side + self.prior)
        own = self.information * (1 if self.exact else 2) + 2 * side / self.n
        return kappa, Residual(
            signal=self.d - kappa * self.prior,
            drag=root(self.prior),
            weight=self.n * G * self.spread,
            cross=2 * kappa * root(self.prior) / self.n,
            own=kappa * root(own),
        )

    def at(
        self, G: float, side: float = 0.0, *, delta: float = 0.0, leak: Leak | None = None
    ) -> tuple[float, float]:
        """(kappa d, eta^2), the leak's t optimised."""
        kappa, residual = self.residual(G, side)
        if delta == 0 or leak is None:
            return kappa * self.d, residual.floor() ** 2
        root = math.sqrt(delta * self.n)

        def eta(t: float) -> float:
            slope, tail, own = leak.terms(kappa, side, t)
            return residual.floor(lambda e: root * (math.sqrt((slope * e) ** 2 + tail) + own))

        start = leak.closed_form_t()
        found = optimize.minimize_scalar(
            lambda t: -eta(t),
            bounds=(start / 20, 2 * start + 4),
            method="bounded",
            options={"xatol": 1e-3},
        )
        return kappa * self.d, max(eta(start), -float(found.fun)) ** 2

    def best(
        self, G: float, *, delta: float = 0.0, leak: Leak | None = None
    ) -> tuple[float, float]:
        """(kappa d, eta^2) at the best side information: none, unless n is small for the prior."""
        plain = self.at(G, delta=delta, leak=leak)
        width = self.prior / self.information
        scaled = G * self.spread * math.sqrt(self.d / self.information)
        turning = math.sqrt(width**1.5 * math.sqrt(self.d) / scaled)
        if turning <= self.n / 8:
            return plain

        def aided(log_side: float) -> tuple[float, float]:
            return self.at(G, self.information * math.exp(log_side), delta=delta, leak=leak)

        found = optimize.minimize_scalar(
            lambda log_side: -sum(aided(log_side)),
            bounds=(math.log(self.n) - 7, math.log(max(turning, self.n)) + 9),
            method="bounded",
        )
        return max(plain, aided(found.x), key=sum)

    def closed_form(self, G: Any, *, delta: Any = 0, leak: Leak | None = None) -> Any:
        """A closed form below kappa d + eta^2; needs J <= n^2 information."""
        kappa, residual = self.residual(G)
        constant: Any = 0
        slope: Any = 0
        if leak is not None:
            per_eta, tail, own = leak.terms(kappa, 0, leak.closed_form_t())
            root = sp.sqrt(delta * self.n)
            constant, slope = root * (sp.sqrt(tail) + own), root * per_eta
        return kappa * self.d + residual.linear_floor(constant, slope) ** 2
