"""What is known of an attack score's law: how much of it lies beyond a shift."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.symbolic import PRECISE, Number, library, lift

Array = NDArray[np.float64]


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


def _variance_reach(epsilon: Array) -> Array:
    return np.asarray(np.sinh(np.minimum(epsilon, 400.0) / 2) + 3.0)


VARIANCE = Tail(
    "known variance",
    _log_variance_excess,
    _variance_shortfall,
    _variance_reach,
    transport=False,
)
"""Centred, variance at most one, and nothing else: the best shift under pure privacy is
sinh(eps/2)."""
