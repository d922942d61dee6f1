r"""Score attacks on a release of regression coefficients, for any model with a canonical link.

The models: x uniform on {-1/sqrt d, 1/sqrt d}^d, so that |x| = 1 and E xx' = I/d; y given x has
mean m(<x, beta>), and log p(y | x, beta) has the gradient s = w x/phi in beta, where
w = y - m(<x, beta>). beta has the ball prior of radius a, whose log density has the gradient
grad = -2 k beta/(a^2 - |beta|^2).

Both attacks have the form A_i = <V_i, w_i x_i>, with V_i free of record i except through the
release. An outsider then has E_Q A = 0 and E_Q A^2 = E w^2 <V, x>^2 <= sigma^2 E|V|^2/d, sigma^2
bounding the variance of w given x. The members' sum is an identity, from integration by parts over
the prior, that holds for *every* estimator. `minimax.methods.score_model.ScoreModel` is the proof
they belong to. A score is a weight times an inner product with a row: no array of the size of X is
made.

With `prior.support` the attacks use those coefficients alone and d is their number.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Instance, Labelled
from minimax.methods.priors import LogisticPrior, RegressionPrior
from minimax.methods.tracing import Tail
from minimax.methods.van_trees import ball_exponent, ball_information

Array = NDArray[np.float64]


class Family(Protocol):
    """The law of y given x, as far as score attacks need it."""

    @property
    def tail(self) -> Tail:
        """What is known of w <V, x> given V, in units of sigma |V|/sqrt d."""

    @property
    def sigma(self) -> float:
        """w is sub-Gaussian(sigma) given x."""

    @property
    def dispersion(self) -> float:
        """phi."""

    @property
    def symmetric(self) -> bool:
        """Whether w ~ -w given x."""

    def mean(self, predictor: Array) -> Array:
        """m, of <x, beta>."""

    def variance(self, instance: Any) -> float:
        """E w^2 at the coefficients of an instance, at most sigma^2."""


def ball_gradient(coef: Array, radius: float) -> Array:
    """-2 k b/(a^2 - |b|^2): the gradient of the ball prior's log density, which is infinite at a.

    Its square has mean J (`ball_information`) and infinite variance up to d = 6.
    """
    room = radius**2 - float(coef @ coef)
    if not room > 0:
        raise ValueError(f"prior.radius must exceed the coefficients' norm, got {radius!r}")
    return np.asarray(-2 * ball_exponent(len(coef)) / room * coef)


@dataclass(frozen=True)
class BallPriorAttack(ABC):
    """What both attacks share: the prior, the model's weights w, the completeness identity."""

    prior: Any
    """A `RegressionPrior` or a `LogisticPrior`, unless an attack takes others too."""
    name: ClassVar[str]
    source: ClassVar[str]

    @property
    @abstractmethod
    def family(self) -> Family:
        """The law of y given x."""

    @property
    def sigma(self) -> float:
        return self.family.sigma

    @property
    def tail(self) -> Tail:
        return self.family.tail

    @property
    def symmetric(self) -> bool:
        return self.family.symmetric

    @property
    def d(self) -> int:
        """The number of coefficients attacked."""
        support = getattr(self.prior, "support", None)
        return int(self.prior.d if support is None else support)

    def completeness(self, release: Array, instance: Instance, n: int) -> float | None:
        coef, error = self._error(release, instance)
        return self.family.dispersion * (self.d - float(error @ self._gradient(coef)))

    def _gradient(self, coef: Array) -> Array:
        return ball_gradient(coef, self.prior.radius)

    def _attacked(self, instance: Instance) -> int:
        """How many coefficients, the first ones, are attacked."""
        return self.d

    def _error(self, release: Array, instance: Instance) -> tuple[Array, Array]:
        size = self._attacked(instance)
        coef = instance.target[:size]
        return coef, release[:size] - coef

    def _weighted(self, name: str, records: Labelled, instance: Instance) -> tuple[Array, Array]:
        """The rows on the attacked coordinates and the weights w."""
        if not isinstance(records, Labelled):
            raise TypeError(f"{name} must be Labelled(X, y), got {type(records).__name__}")
        X, y = records
        if X.shape != (len(y), len(instance.target)):
            raise ValueError(
                f"{name} must hold X of shape {(len(y), len(instance.target))}, got {X.shape}"
            )
        size = self._attacked(instance)
        rows = X[:, :size]
        return rows, y - self.family.mean(rows @ instance.target[:size])


@dataclass(frozen=True)
class DirectAttack(BallPriorAttack):
    r"""A_i = <M - beta, w_i x_i>.

    **Soundness.** E_Q A = 0 and E_Q|A| <= sqrt(E_Q A^2) <= sigma sqrt(E|M - beta|^2/d).

    **Completeness.** sum_i E A_i = phi (d - E<M - beta, grad>). *Proof.* Given beta, sum_i w_i x_i
    is phi times the score of the sample, so sum_i E[A_i | beta] = phi div E[M | beta]; integrate by
    parts against the prior, which vanishes at the boundary, and use E<beta, grad> = -d.
    """

    def scores(
        self, records: Labelled, release: Array, instance: Instance, sample: Labelled
    ) -> Array:
        rows, weights = self._weighted("records", records, instance)
        return np.asarray(weights * (rows @ self._error(release, instance)[1]))

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        error = self._error(release, instance)[1]
        return float(error @ error) / self.d


@dataclass(frozen=True)
class LeaveOneOutAttack(BallPriorAttack):
    r"""A_i = <V_i, w_i x_i> with the leave-one-out residual of
    `minimax.methods.score_model.ScoreModel`.

    With s_k = w_k x_k/phi, U = sum_k s_k + grad, J = E|grad|^2 and
    kappa = d/(n sigma^2/phi^2 + J):

        N = M - beta - kappa U,   V_i = N + kappa s_i.

    V_i contains record i through M only, so an outsider in position i meets the same V_i.

    **Completeness.** For every M, with r = E<M - beta, grad> and R = E|M - beta|^2,

        sum_i E A_i = phi (d - r) >= phi (d - kappa J - sqrt(J) eta),   eta^2 = R - kappa d,

    the sum of the direct attack. *Proof.* Given beta the s_k are independent with mean zero, so
    E<N, sum_k s_k> = E<M - beta, sum_k s_k> - kappa n i, i = E|s|^2 = E w^2/phi^2, and the
    kappa s_i add kappa n i. Also r = kappa J + E<N, grad>, and as E<M - beta, U> = d,
    E|N|^2 = R - 2 kappa d + kappa^2 (n i + J) <= eta^2, because i <= sigma^2/phi^2.

    **Spread.** In the same way avg_i E|V_i|^2 = R - 2 kappa d + kappa^2 ((n - 1) i + J) +
    (2 kappa/n)(d - r). `spread` (that over d) and `completeness` average |M - beta|^2 and
    <M - beta, grad>: the same means as with N, but |grad|^2, which has heavy tails, has left them.
    It has not left the outsiders' squared scores; for d <= 6 their rms has no valid interval.
    """

    heavy: ClassVar[bool] = True

    @property
    def information(self) -> float:
        """J, the prior's information."""
        return float(ball_information(self.d, self.prior.radius))

    def kappa(self, n: int) -> float:
        """d/(n sigma^2/phi^2 + J)."""
        family = self.family
        return self.d / (n * (family.sigma / family.dispersion) ** 2 + self.information)

    def scores(
        self, records: Labelled, release: Array, instance: Instance, sample: Labelled
    ) -> Array:
        members, own = self._weighted("sample", sample, instance)
        candidates, weights = self._weighted("records", records, instance)
        if candidates.shape != members.shape:
            raise ValueError(
                f"records must be as many as sample, {len(members)}, got {len(candidates)}"
            )
        coef, error = self._error(release, instance)
        kappa, phi = self.kappa(len(members)), self.family.dispersion
        residual = error - kappa * (own @ members / phi + self._gradient(coef))
        alike = np.einsum("ij,ij->i", members, candidates)
        return np.asarray(weights * (candidates @ residual + kappa / phi * own * alike))

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        coef, error = self._error(release, instance)
        kappa, drift = self.kappa(n), float(error @ self._gradient(coef))
        information = self.family.variance(instance) / self.family.dispersion**2
        square = float(error @ error) - 2 * kappa * self.d
        square += kappa**2 * ((n - 1) * information + self.information)
        return (square + 2 * kappa / n * (self.d - drift)) / self.d

    def floor(self, n: int, loss: float) -> float:
        """phi (d - kappa J - sqrt(J) eta): the least members' sum at risk `loss`.

        `loss` is the Bayes risk E|M - beta|^2/d on the attacked coefficients, at least kappa.
        """
        kappa, J = self.kappa(n), self.information
        if not loss >= kappa * (1 - 1e-12):
            raise ValueError(f"loss must be at least kappa = {kappa:.4g}, got {loss!r}")
        eta = math.sqrt(max(self.d * (loss - kappa), 0.0))
        return self.family.dispersion * (self.d - kappa * J - math.sqrt(J) * eta)


def check_prior(prior: object, kind: type[RegressionPrior] | type[LogisticPrior]) -> None:
    """Raise unless an attack was given the prior of its own model."""
    if not isinstance(prior, kind):
        raise TypeError(f"prior must be a {kind.__name__}, got {prior!r}")
