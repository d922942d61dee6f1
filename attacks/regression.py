r"""Tracing attacks on linear regression (CWZ19 §4.1), and the boundary term of its Lemma 4.1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacks.score import DirectAttack, LeaveOneOutAttack, check_prior
from minimax.core.bound import Instance, Prior
from minimax.methods.priors import RegressionPrior
from minimax.methods.tracing import GAUSSIAN_PRODUCT, VARIANCE, Tail

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LinearFamily:
    """y = <x, beta> + N(0, sigma^2): w = y - <x, beta>, phi = sigma^2."""

    sigma: float
    tail: ClassVar[Tail] = GAUSSIAN_PRODUCT
    symmetric: ClassVar[bool] = True

    @property
    def dispersion(self) -> float:
        return self.sigma**2

    def mean(self, predictor: Array) -> Array:
        return predictor

    def variance(self, instance: Instance) -> float:
        return self.sigma**2


@dataclass(frozen=True)
class UnknownFamily(LinearFamily):
    """y = <x, beta> + noise of mean zero and variance at most sigma^2 given x, and no more."""

    tail: ClassVar[Tail] = VARIANCE
    symmetric: ClassVar[bool] = False


@dataclass(frozen=True)
class RegressionAttack(DirectAttack):
    r"""A = <M - beta, (y - <x, beta>) x>: CWZ19: (4.2).

    `prior` may be any that draws a linear model whose loss is |M - beta|^2_Sigma, Sigma = E xx'.
    Its noise is taken to be N(0, prior.sigma^2) and its rows to be signs of one size, unless
    `noise` is given: then its variance is at most noise^2 given x, and nothing else is assumed.

    **Soundness** (Lemma 4.1(1)). E_Q A = 0 and E_Q|A| <= sqrt(E_Q A^2) <=
    sigma sqrt(E|M - beta|^2_Sigma), an equality for Gaussian noise. (The proof prints E A' for
    E|A'|.)

    **Completeness.** sum_i E A_i = sigma^2 (d - E<M - beta, grad log pi>) under the ball prior, for
    every estimator: `DirectAttack`. Lemma 4.1(2), at least of order sigma^2 d where the risk
    vanishes, follows by Cauchy-Schwarz. The paper's own prior does not vanish at its boundary and
    the proof drops what is left there: `lemma_4_1_boundary`. Other priors have no identity here.

    **Source.** CWZ19: (4.2).
    """

    prior: Prior
    noise: float | None = None
    name: ClassVar[str] = "regression attack <M-beta, (y-x'beta) x>"
    source: ClassVar[str] = "CWZ19: (4.2)"

    def __post_init__(self) -> None:
        sigma = getattr(self.prior, "sigma", None) if self.noise is None else self.noise
        if not hasattr(self.prior, "draw"):
            raise TypeError(f"prior must draw instances, got {self.prior!r}")
        if not (isinstance(sigma, (int, float)) and 0 < sigma < math.inf):
            raise ValueError(f"noise must be given, positive and finite: {self.prior!r} has none")

    @property
    def family(self) -> LinearFamily:
        if self.noise is not None:
            return UnknownFamily(self.noise)
        return LinearFamily(getattr(self.prior, "sigma"))  # noqa: B009  (checked above)

    def completeness(self, release: Array, instance: Instance, n: int) -> float | None:
        ball = isinstance(self.prior, RegressionPrior) and self.noise is None
        return super().completeness(release, instance, n) if ball else None

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        ball = isinstance(self.prior, RegressionPrior)
        return super().spread(release, instance, n) if ball else instance.loss(release)

    def _attacked(self, instance: Instance) -> int:
        return self.d if isinstance(self.prior, RegressionPrior) else len(instance.target)


@dataclass(frozen=True)
class RegressionResidualAttack(LeaveOneOutAttack):
    r"""A_i = <V_i, (y_i - <x_i, beta>) x_i>, V_i the leave-one-out residual: `LeaveOneOutAttack`.

    **Soundness.** E_Q A = 0, E_Q A^2 = sigma^2 E|V|^2/d, and A is Gaussian times a weighted sum of
    signs given V: `minimax.methods.tracing.GAUSSIAN_PRODUCT`.

    **Completeness.** sum_i E A_i = sigma^2 (d - E<M - beta, grad log pi>) >= `floor`.

    **Source.** tracebound: regression.tracing (for CWZ19: Theorem 4.1).
    """

    prior: RegressionPrior
    name: ClassVar[str] = "leave-one-out residual attack on regression"
    source: ClassVar[str] = "tracebound: regression.tracing (for CWZ19: Theorem 4.1)"

    def __post_init__(self) -> None:
        check_prior(self.prior, RegressionPrior)

    @property
    def family(self) -> LinearFamily:
        return LinearFamily(self.prior.sigma)


class BoundaryTerm(NamedTuple):
    """Stein's identity for nu ~ N(0, 1) truncated to [-1, 1], and what CWZ19: (B.4) makes of it."""

    interior: float
    """E g(nu) nu."""
    boundary: float
    """(g(1) - g(-1)) pi(1), which the proof drops."""
    risk: float
    """E (g(nu) - nu)^2."""
    claimed: float
    """E nu^2 - sqrt(risk E nu^2): the right side of (B.4) over sigma^2 d."""

    @property
    def derivative(self) -> float:
        """E g'(nu), jumps of g included: the members' sum over sigma^2 d."""
        return self.interior + self.boundary

    @property
    def holds(self) -> bool:
        """Whether (B.4) is true of this g."""
        return self.derivative >= self.claimed


def lemma_4_1_boundary(flipped: float = 0.0) -> BoundaryTerm:
    r"""The boundary term that the proof of CWZ19: Lemma 4.1(2) drops, exactly.

    The proof's prior is beta_j = nu_j/sqrt d, nu_j ~ N(0, 1) truncated to [-1, 1], whose density pi
    does not vanish at the ends. For g = E[M_j | beta] (in units of 1/sqrt d) the members' sum is
    sigma^2 d E g'(nu), and integration by parts gives

        E g'(nu) = (g(1) - g(-1)) pi(1) + E g(nu) nu >= (g(1) - g(-1)) pi(1) + E nu^2
                   - sqrt(E (g - nu)^2 E nu^2).

    The proof has the last two terms only. For an unbiased M, g = nu, the sum is 1 = .709 + .291:
    most of it was dropped. For fixed d the lemma's risk o(1) at *every* beta makes g(1) > g(-1),
    and a positive term was dropped. Not so when d grows: an error of 3/sqrt d in the first
    coordinate that is next to its end costs 9/d and makes the term negative for every j. **(B.4)**,
    which is stated in the Bayes risk, is false for every d: take g(nu) = nu, but -nu where
    |nu| > 1 - `flipped`. As flipped -> 0 the risk vanishes and (B.4) claims .291, while
    E g' -> .291 - .709 < 0. A prior that vanishes at its boundary has no such term
    (`RegressionAttack`), and the lemma is true with it.
    """
    if not 0 <= flipped <= 1:
        raise ValueError(f"flipped must lie in [0, 1], got {flipped!r}")

    def density(t: float) -> float:
        return math.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)

    def within(c: float) -> float:
        """E nu^2 1(|nu| <= c), times the normal law's mass on [-1, 1]."""
        return float(special.erf(c / math.sqrt(2))) - 2 * c * density(c)

    mass = float(special.erf(1 / math.sqrt(2)))
    second, outer = within(1.0) / mass, (within(1.0) - within(1 - flipped)) / mass
    boundary = (2 if flipped == 0 else -2) * density(1.0) / mass
    risk = 4 * outer
    return BoundaryTerm(second - 2 * outer, boundary, risk, second - math.sqrt(risk * second))
