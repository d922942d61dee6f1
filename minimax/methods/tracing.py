r"""Tracing: what privacy lets an attack score reach.

The set-up of every tracing proof. P is the joint law of a release M(X) and a record x of X; Q the
joint law of M(X') and x, where X' has x replaced by an independent copy. An attack scores
A = <V, x - E x>, where V depends on the release and the other records. Under Q, V and x are
independent, so E_Q A = 0; V has the same marginal law under P and under Q. Privacy bounds E_P A
(`gain`); accuracy forces the sum of E_P A over the records to be large
(`minimax.methods.score_model`). The two meet in a lower bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from minimax.core.bound import Point
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.core.symbolic import LETTERS, PRECISE, Expression, Number, approximately, library, lift

Array = NDArray[np.float64]


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


# --- Tails of scores -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Tail:
    """What is known of the score's law under Q given V, in units of its scale sigma |V|.

    `log_excess(t)` bounds log E (A - t)^+ and `shortfall(t)` bounds sqrt(E ((A - t)^-)^2), for
    t >= 0. Both take floats, arrays or mpmath numbers. The excess is kept as a logarithm because
    it meets e^eps, and neither need fit a float where their product does.
    """

    name: str
    log_excess: Callable[[Number], Number]
    shortfall: Callable[[Number], Number]
    reach: Callable[[Array], Array]
    """For each epsilon, the largest shift t worth trying."""
    transport: bool = True
    """Whether E exp(lambda A) <= exp(lambda^2/2), so that a KL bound can be used."""

    def excess(self, t: Number) -> Number:
        """A bound on E (A - t)^+."""
        return library(t).exp(self.log_excess(t))


FAR = 30.0
"""Beyond this shift the Gaussian excess is bounded by phi(t)/(1 + t^2)."""


def _log_density(t: Number) -> Number:
    return -(t**2) / 2 - library(t).log(2 * library(t).pi) / 2


def _mills(t: Number) -> Number:
    """P(Z > t)/phi(t)."""
    if isinstance(t, PRECISE):
        use = library(t)
        return use.sqrt(use.pi / 2) * use.exp(t**2 / 2) * use.erfc(t / use.sqrt(2))
    return math.sqrt(math.pi / 2) * special.erfcx(t / math.sqrt(2))


def _log_gaussian_excess(t: Number) -> Number:
    """log of phi(t) (1 - t m(t)), m Mills' ratio; beyond `FAR`, as m(t) >= t/(1 + t^2), at most
    phi(t)/(1 + t^2): there the difference would cancel."""
    use = library(t)
    near = use.least(t, lift(FAR, t))
    rest = use.choose(
        t <= FAR, lambda: use.log(1 - near * _mills(near)), lambda: -use.log(1 + t**2)
    )
    return _log_density(t) + rest


def _gaussian_shortfall(t: Number) -> Number:
    use = library(t)
    return use.sqrt((1 + t**2) * use.ndtr(t) + t * use.exp(_log_density(t)))


def _log_variance_excess(t: Number) -> Number:
    """(sqrt(1 + t^2) - t)/2, the sharp bound on E (A - t)^+ for a centred A of variance <= 1."""
    use = library(t)
    return -use.log(2 * (use.sqrt(1 + t**2) + t))


def _variance_shortfall(t: Number) -> Number:
    return library(t).sqrt(1 + t**2)


def _log_subgaussian_excess(t: Number) -> Number:
    use = library(t)
    by_tail = use.log(2 * use.pi) / 2 + use.log_ndtr(-t)
    return use.least(_log_variance_excess(t), by_tail)


def _log_chernoff_excess(t: Number) -> Number:
    """log of e^{-lambda t - 1}/(lambda sqrt(1 - lambda^2)) at lambda = 1 - h, h = 1/(2(t + 1))."""
    use = library(t)
    h = 1 / (2 * (t + 1))
    return -(1 - h) * t - 1 - use.log1p(-h) - use.log(h * (2 - h)) / 2


def _log_mixture_excess(t: Number) -> Number:
    use = library(t)
    past = use.largest(t, lift(MIXTURE_TURN, t))
    return use.choose(
        t <= MIXTURE_TURN,
        lambda: _log_gaussian_excess(t),
        lambda: use.least(use.log(MIXTURE_TOP / past), _log_chernoff_excess(past)),
    )


def _gaussian_reach(epsilon: Array) -> Array:
    return np.sqrt(2 * epsilon) + 3.0


def _product_reach(epsilon: Array) -> Array:
    return epsilon + 3.0


GAUSSIAN = Tail("Gaussian", _log_gaussian_excess, _gaussian_shortfall, _gaussian_reach)
"""x - E x is N(0, sigma^2 I): both functions are exact (the excess up to `FAR`)."""

SUBGAUSSIAN = Tail("sub-Gaussian", _log_subgaussian_excess, _variance_shortfall, _gaussian_reach)
"""Centred, variance at most one, sub-Gaussian(1).

E (A-t)^+ <= (sqrt(1+t^2) - t)/2 is the sharp bound for unit variance, and the tail bound
P(A > x) <= e^{-x^2/2} gives E (A-t)^+ <= int_t^inf e^{-x^2/2} dx.
"""

MIXTURE_TURN = 0.6120031809624807
"""The r at which r (phi(r) - r P(Z > r)) is largest, phi(r) = 2 r P(Z > r), rounded down."""
MIXTURE_TOP = 0.10122824509401247
"""That largest value, rounded up."""

GAUSSIAN_PRODUCT = Tail(
    "Gaussian times signs",
    _log_mixture_excess,
    _gaussian_shortfall,
    _product_reach,
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


def _log_bounded_product_excess(t: Number) -> Number:
    return library(t).least(_log_variance_excess(t), _log_chernoff_excess(t))


BOUNDED_PRODUCT = Tail(
    "bounded times signs",
    _log_bounded_product_excess,
    _variance_shortfall,
    _product_reach,
    transport=False,
)
"""A = b W, b centred and sub-Gaussian(1) given the signs, W a sum of signs of unit variance: the
score of logistic regression, in units of |V|/2. Variance at most one; Chernoff as above."""


# --- The gain ------------------------------------------------------------------------------------


def gain_at(
    model: type[Privacy],
    point: Point,
    tail: Tail,
    shift: Number = 0.0,
    *,
    member: Number = 0.0,
    size: Number = 1,
) -> Number:
    r"""G with E_P A <= G sigma sqrt(E|V|^2), for a group of `size` records at once.

    **Statement.** zCDP: sqrt(2 rho) k. GDP: mu k; for a score that is not sub-Gaussian given V,
    sqrt(exp(2 rho k^2) - 1) and sqrt(exp(mu^2 k^2) - 1). For (eps, delta), any t >= 0 (`shift`)
    and |A| <= `member` sigma |V| under P,

        G = (1 - e^{-eps}) t + 2 sinh(eps) excess(t) + sqrt(delta) (member + e^{-eps} shortfall(t)),

    eps and delta those of the group; pure: the same with delta = 0, or sqrt(2 eps tanh(eps/2)) if
    that is smaller and the score is sub-Gaussian given V.

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

    **Constants.** 2 sinh(eps) excess(t) is the exponential of one sum of logarithms, so nothing
    overflows before it does itself; then G is infinite, which says nothing and is true.
    """
    if model in (ZeroConcentrated, Gaussian):
        square = (2 * point["rho"] if model is ZeroConcentrated else point["mu"] ** 2) * size**2
        use = library(square)
        return use.sqrt(square) if tail.transport else use.sqrt(use.expm1(square))
    if model not in (Pure, Approximate):
        raise TypeError(f"privacy: no tracing lemma for {model.__name__}")
    epsilon = point["epsilon"] * size
    use = library(epsilon, shift)
    t = lift(shift, epsilon)
    growth = use.exp(epsilon + use.log(-use.expm1(-2 * epsilon)) + tail.log_excess(t))
    by_shift = -use.expm1(-epsilon) * t + growth
    if model is Approximate:
        delta = group_delta(point["epsilon"], point["delta"], size)
        return by_shift + use.sqrt(delta) * (member + use.exp(-epsilon) * tail.shortfall(t))
    if not tail.transport:
        return by_shift
    return use.least(by_shift, use.sqrt(2 * epsilon * use.tanh(epsilon / 2)))


def group_delta(epsilon: Number, delta: Number, size: Number) -> Number:
    """delta for groups of `size` records: delta (e^{size eps} - 1)/(e^eps - 1), at most 1.

    Proof: iterate P_{i+1}(S) <= e^eps P_i(S) + delta along a path of neighbouring data sets.
    """
    use = library(epsilon * size)
    grown = size * epsilon
    log_factor = grown - epsilon + _log_one_minus_exp(grown) - _log_one_minus_exp(epsilon)
    return use.exp(use.least(library(delta).log(delta) + log_factor, 0 * grown))


def _log_one_minus_exp(x: Number) -> Number:
    """log(1 - e^-x)."""
    use = library(x)
    return use.log(-use.expm1(-x))


def best_shifts(
    model: type[Privacy], point: Point, tail: Tail, *, member: float = 0.0, sizes: ArrayLike = 1
) -> Array:
    """A good shift for each group size: the best on a grid with the closed forms' choices in it."""
    k = np.atleast_1d(np.asarray(sizes, dtype=float))
    if model in (ZeroConcentrated, Gaussian):
        return np.zeros_like(k)
    epsilon = k * approximately(point["epsilon"])
    sharp = -special.ndtri_exp(-np.logaddexp(0.0, epsilon))
    by_variance = np.sinh(np.minimum(epsilon, 20.0) / 2)  # far beyond the best shift at 20
    grid = np.linspace(0.0, 1.0, 300)[:, None] * tail.reach(epsilon)
    t = np.vstack([grid, by_variance, np.sqrt(2 * epsilon), sharp])
    place = {name: approximately(point[name]) for name in ("epsilon", "delta") if name in point}
    found = np.argmin(gain_at(model, place, tail, t, member=member, size=k), axis=0)
    return np.asarray(t[found, np.arange(len(k))])


def best_shift(model: type[Privacy], point: Point, tail: Tail, *, member: float = 0.0) -> float:
    """`best_shifts` for a single record."""
    return float(best_shifts(model, point, tail, member=member)[0])


def gain(privacy: Privacy, tail: Tail, *, member: float = 0.0, shifted: bool = True) -> float:
    """`gain_at` for one record, at the best shift (or none)."""
    model, point = type(privacy), privacy.parameters
    shift = best_shift(model, point, tail, member=member) if shifted else 0.0
    return float(gain_at(model, point, tail, shift, member=member))


def closed_gain(
    model: type[Privacy], tail: Tail, *, member: Number = 0, shifted: bool = True
) -> Expression:
    """A closed form that is at least `gain`, as an expression in the model's parameters."""
    eps, delta = LETTERS["epsilon"], LETTERS["delta"]
    use = library(eps)
    if model in (ZeroConcentrated, Gaussian):
        square = 2 * LETTERS["rho"] if model is ZeroConcentrated else LETTERS["mu"] ** 2
        return use.sqrt(square) if tail.transport else use.sqrt(use.expm1(square))
    leak = use.sqrt(delta) if model is Approximate else 0
    by_variance = 2 * use.sinh(eps / 2) + leak * (member + use.exp(-eps) * use.cosh(eps / 2))
    if tail is SUBGAUSSIAN and model is Pure:
        return use.sqrt(2 * eps * use.tanh(eps / 2))
    if tail in (SUBGAUSSIAN, BOUNDED_PRODUCT):
        return by_variance
    if not shifted:
        plain = use.sqrt(2 / use.pi) * use.sinh(eps)
        if model is Pure and tail.transport:
            return use.least(plain, use.sqrt(2 * eps * use.tanh(eps / 2)))
        return plain + leak * (member + use.exp(-eps) / use.sqrt(2))
    sharp = _sharp_gain(eps, leak, member)
    if tail is GAUSSIAN_PRODUCT:  # the sharp shift is below MIXTURE_TURN while eps < .993
        return use.choose(100 * eps <= 99, lambda: sharp, lambda: by_variance)
    return use.choose(eps <= 40, lambda: sharp, lambda: _large_gain(eps, leak, member))


def _large_gain(eps: Expression, leak: Expression, member: Number) -> Expression:
    """The gain at t = sqrt(2 eps), where 2 sinh(eps) E(Z - t)^+ <= 1/t (past erfinv)."""
    use = library(eps)
    t = use.sqrt(2 * eps)
    return t + 1 / t + leak * (member + use.exp(-eps) * use.sqrt(1 + t**2))


def _sharp_gain(eps: Expression, leak: Expression, member: Number) -> Expression:
    """The gain at the t that is best for a pure budget."""
    use = library(eps)
    t = use.sqrt(2) * use.erfinv(use.tanh(eps / 2))
    density = use.exp(-(t**2) / 2) / use.sqrt(2 * use.pi)
    below = (1 + use.tanh(eps / 2)) / 2
    shortfall = use.sqrt((1 + t**2) * below + t * density)
    return 2 * use.sinh(eps) * density + leak * (member + use.exp(-eps) * shortfall)
