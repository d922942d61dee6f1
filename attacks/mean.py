r"""Tracing attacks on the release of a mean (CWZ19 §2.3, §3.1).

Both attacks have the form A_i = <V_i, x_i - mu>. Their soundness is the independence of V_i and an
outsider; their completeness is an identity, from integration by parts over the prior, that holds
for *every* estimator, accurate or not. So a Monte Carlo run can check it without a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Instance
from minimax.methods.priors import CosinePrior, SignPrior
from minimax.methods.tracing import GAUSSIAN, SUBGAUSSIAN, Tail
from minimax.methods.van_trees import cosine_information

Array = NDArray[np.float64]


@dataclass(frozen=True)
class SignAttack:
    r"""A = <x - mu, M - mu> for data in {-sigma, sigma}^d, or <x - mu, M> with `centred=False`.

    **Soundness.** V = M - mu (or M) is independent of an outsider x, so E_Q A = 0 and
    E_Q A^2 = sum_j Var(x_j) E V_j^2 <= sigma^2 E|V|^2. Given V, A is a sum of independent terms,
    the j-th in an interval of length 2 sigma |V_j|, so by Hoeffding P(A > t | V) <=
    exp(-t^2/(2 sigma^2 |V|^2)): see `threshold`. CWZ19: Lemma 2.1(1) is the uncentred case for
    |M_j| <= sigma, see `lemma_2_1_threshold`.

    **Completeness.** Under SignPrior(u), kappa = u/(u+1), m = M/sigma and p = mu/sigma,

        sum_i E A_i = u E<mu, M> = sigma^2 (kappa d + u E<p, m - p>),

    the same for both versions since sum_i E<x_i - mu, mu> = 0. *Proof.* With g(p) = E[m_j | p],
    E[m_j sum_i (b_ij - p_j) | p] = (1 - p_j^2) dg/dp_j, because sum_i (b_ij - p_j)/(1 - p_j^2) is
    the score of n signs; integrate by parts against (1 - p^2)^{u/2 - 1}, where (1 - p^2)^{u/2}
    vanishes at both ends: the result is u E p_j m_j. Finally E p_j^2 = 1/(u+1).

    **Source.** CWZ19: §2.3 and Lemma 2.1; centred as in
    `minimax.problems.bounded_mean.lower.tracing_signs`.
    """

    prior: SignPrior
    centred: bool = True
    source: ClassVar[str] = "CWZ19: §2.3"
    tail: ClassVar[Tail] = SUBGAUSSIAN

    @property
    def name(self) -> str:
        return "sign attack <x-mu, M-mu>" if self.centred else "sign attack <x-mu, M>"

    @property
    def sigma(self) -> float:
        return self.prior.sigma

    def scores(self, records: Array, release: Array, instance: Instance, sample: Array) -> Array:
        return np.asarray((records - instance.target) @ self._direction(release, instance))

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        return float(np.sum(self._direction(release, instance) ** 2))

    def completeness(self, release: Array, instance: Instance, n: int) -> float:
        return float(self.prior.u * (instance.target @ release))

    def threshold(self, release: Array, instance: Instance, delta: float) -> float:
        """t with P(A > t | release) <= delta for an outsider: sigma |V| sqrt(2 log(1/delta))."""
        norm = math.sqrt(self.spread(release, instance, 1))
        return self.sigma * norm * math.sqrt(2 * math.log(1 / _chance(delta)))

    def _direction(self, release: Array, instance: Instance) -> Array:
        return release - instance.target if self.centred else release


def lemma_2_1_threshold(d: int, sigma: float, delta: float) -> float:
    r"""sigma^2 sqrt(8 d log(1/delta)), as printed in CWZ19: Lemma 2.1(1).

    For |M_j| <= sigma an outsider's <x - mu, M> exceeds it with chance below delta. The paper puts
    the terms in [-2 sigma^2, 2 sigma^2]; their range is 2 sigma |M_j| <= 2 sigma^2, half of that,
    so sqrt(2 d log(1/delta)) suffices and the printed level is exceeded with chance at most
    delta^4.
    """
    return sigma**2 * math.sqrt(8 * d * math.log(1 / _chance(delta)))


@dataclass(frozen=True)
class ResidualAttack:
    r"""A_i = <V_i, x_i - mu> with the leave-one-out residual, for Gaussian data.

    With grad = grad log pi(mu), grad_j = -(pi/a) tan(pi mu_j/(2a)), J = E|grad|^2 = d pi^2/a^2,
    U = sum_k (x_k - mu)/sigma^2 + grad and kappa = d/(nd/sigma^2 + J):

        N = M - mu - kappa U,   V_i = N + kappa (x_i - mu)/sigma^2.

    V_i contains record i through M only, so an outsider in position i meets the same V_i.

    **Soundness.** E_Q A = 0 and, x - mu being N(0, sigma^2 I) and independent of V,
    E_Q A^2 = sigma^2 E|V|^2, E_Q|A| <= sigma sqrt(2/pi) sqrt(E|V|^2).

    **Completeness.** For every estimator M, with r = E<M - mu, grad> and R = E|M - mu|^2,

        sum_i E A_i = sigma^2 (d - r) = sigma^2 (d - kappa J) - sigma^2 E<N, grad>
                   >= sigma^2 (d - kappa J - sqrt(J) eta),    eta^2 = E|N|^2 = R - kappa d.

    *Proof.* pi vanishes on the boundary, so E<M, U> = 0 and E<mu, U> = E<mu, grad> = -d; also
    E|U|^2 = nd/sigma^2 + J and E<U, grad> = J. Hence E<N, U> = 0, E<N, grad> = r - kappa J and
    sum_i E<N, x_i - mu> = sigma^2 E<N, U - grad>; add kappa n d = sigma^2 (d - kappa J).
    The last step is Cauchy-Schwarz.

    **Spread.** In the same way avg_i E|V_i|^2 = R - kappa d - (2 kappa/n)(r - kappa J)
    + kappa^2 d/sigma^2. `spread` and `completeness` average |M - mu|^2 and <M - mu, grad> instead
    of |V|^2 and <N, grad>: the same means, but |grad|^2, whose variance is infinite, has left them.
    It has not left the outsiders' squared scores, so the interval of their rms is only indicative.

    With `prior.support` the attack uses those coordinates alone and d is their number.

    **Source.** tracebound: tracing_gaussian (for CWZ19: Theorem 3.1).
    """

    prior: CosinePrior
    name: ClassVar[str] = "leave-one-out residual attack"
    source: ClassVar[str] = "tracebound: tracing_gaussian (for CWZ19: Theorem 3.1)"
    tail: ClassVar[Tail] = GAUSSIAN
    symmetric: ClassVar[bool] = True
    heavy: ClassVar[bool] = True

    @property
    def sigma(self) -> float:
        return self.prior.sigma

    @property
    def d(self) -> int:
        """The number of coordinates attacked."""
        return self.prior.d if self.prior.support is None else self.prior.support

    @property
    def information(self) -> float:
        """J, the prior's information."""
        return float(cosine_information(self.d, self.prior.radius))

    def kappa(self, n: int) -> float:
        """d/(nd/sigma^2 + J)."""
        return self.d / (n * self.d / self.sigma**2 + self.information)

    def scores(self, records: Array, release: Array, instance: Instance, sample: Array) -> Array:
        if records.shape != sample.shape:
            raise ValueError(
                f"records must have the shape of sample, {sample.shape}, got {records.shape}"
            )
        mean, error = self._error(release, instance)
        members, candidates = sample[:, : self.d] - mean, records[:, : self.d] - mean
        weight = self.kappa(len(sample)) / self.sigma**2
        residual = error - weight * (members.sum(axis=0) + self.sigma**2 * self._gradient(mean))
        own = np.einsum("ij,ij->i", members, candidates)
        return np.asarray(candidates @ residual + weight * own)

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        mean, error = self._error(release, instance)
        kappa, drift = self.kappa(n), float(error @ self._gradient(mean))
        cross = 2 * kappa / n * (drift - kappa * self.information)
        own = kappa**2 * self.d / self.sigma**2
        return float(error @ error) - kappa * self.d - cross + own

    def completeness(self, release: Array, instance: Instance, n: int) -> float:
        mean, error = self._error(release, instance)
        return self.sigma**2 * (self.d - float(error @ self._gradient(mean)))

    def floor(self, n: int, loss: float) -> float:
        """sigma^2 (d - kappa J - sqrt(J) eta): the least members' sum at risk `loss`.

        `loss` is the Bayes risk E|M - mu|^2 on the attacked coordinates, at least kappa d.
        """
        kappa, J = self.kappa(n), self.information
        if loss < kappa * self.d * (1 - 1e-12):
            raise ValueError(f"loss must be at least kappa d = {kappa * self.d:.4g}, got {loss!r}")
        eta = math.sqrt(max(loss - kappa * self.d, 0.0))
        return self.sigma**2 * (self.d - kappa * J - math.sqrt(J) * eta)

    def _error(self, release: Array, instance: Instance) -> tuple[Array, Array]:
        mean = instance.target[: self.d]
        return mean, release[: self.d] - mean

    def _gradient(self, mean: Array) -> Array:
        a = self.prior.radius
        return np.asarray(-(math.pi / a) * np.tan(math.pi * mean / (2 * a)))


def _chance(delta: float) -> float:
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}")
    return delta
