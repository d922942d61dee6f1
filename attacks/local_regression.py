r"""What a release of coefficients tells of one user's record, or label, in the local model.

Each user sends one private report; the server makes the coefficients M of the reports, and they are
all that this adversary sees. (One who sees the reports has `attacks.one_report`; M is a function
of them, so no attack on M beats those curves.)

**The games.** Whole records: `attacks.game.play` with `RegressionAttack`; an outsider is a fresh
(x, y). Labels: the rows are public, so the adversary knows x_i and asks whether y_i is the label
that was used or a fresh one from the law of y given x_i. `PublicDesignPrior` makes a game of the
first kind of this: it draws the rows with the coefficients, so that member and outsider i share
x_i. The proof in `attacks.game` that one release is enough holds given the rows.

**Between them stands local privacy**, which allows far less than central privacy of the same
epsilon: `local_ceiling`. With the identity of completeness it is a proof of a lower bound:
sigma^2 d <= T sigma sqrt(n d R) for unbiased M gives R >= sigma^2 d/(n T^2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from attacks.estimate import Estimate
from attacks.game import GameResult
from attacks.regression import LinearFamily
from attacks.score import DirectAttack, check_prior
from minimax.core.bound import Instance, Labelled
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.divergences import report_variance, strong_contraction, strong_contraction_pure
from minimax.methods.priors import LinearInstance, RegressionPrior
from minimax.methods.tracing import GAUSSIAN, Tail

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PublicDesignInstance:
    """A linear model whose rows are fixed and public: only labels are drawn."""

    model: LinearInstance
    X: Array

    @property
    def target(self) -> Array:
        """The coefficients."""
        return self.model.target

    def sample(self, n: int, rng: np.random.Generator) -> Labelled:
        """The rows, with fresh labels."""
        if n != len(self.X):
            raise ValueError(f"n must be the number of public rows, {len(self.X)}, got {n}")
        return Labelled(self.X, self.model.answers(self.X, rng))

    def loss(self, estimate: Array) -> float:
        """That of the model."""
        return self.model.loss(estimate)


@dataclass(frozen=True)
class PublicDesignPrior:
    """Coefficients and n rows of a `RegressionPrior`, the rows public."""

    prior: RegressionPrior
    n: int

    def draw(self, rng: np.random.Generator) -> PublicDesignInstance:
        """Coefficients, then rows."""
        model = self.prior.draw(rng)
        return PublicDesignInstance(model, model.sample(self.n, rng).X)


@dataclass(frozen=True)
class LabelAttack(DirectAttack):
    r"""A_i = (y_i - <x_i, beta>) <x_i, M - beta>: is y_i the label that was used?

    Of any estimator with `coef_`; with `prior.support` on those coefficients alone.

    **Soundness.** A fresh label of the same row is independent of M: given rows, beta and M its
    score is N(0, sigma^2 <x_i, M - beta>^2). So E_Q A = 0 and, averaged over i,
    E_Q A^2 = sigma^2 E|X(M - beta)|^2/n exactly.

    **Completeness.** sum_i E A_i = sigma^2 (d - E<M - beta, grad log pi>) under the ball prior, for
    every estimator: the proof of `DirectAttack` given the rows. By Stein's identity it is
    sigma^2 times the degrees of freedom E sum_i d<x_i, M>/dy_i: what is traced is how far fitted
    values follow their labels.

    **Source.** CWZ19: (4.2), given the rows.
    """

    prior: RegressionPrior
    name: ClassVar[str] = "label attack (y-x'beta) <x, M-beta>"
    source: ClassVar[str] = "CWZ19: (4.2), given the rows"
    asks: ClassVar[Literal["label"]] = "label"

    def __post_init__(self) -> None:
        check_prior(self.prior, RegressionPrior)

    @property
    def family(self) -> LinearFamily:
        return LinearFamily(self.prior.sigma)

    @property
    def tail(self) -> Tail:
        return GAUSSIAN

    def spread(self, release: Array, instance: Instance, n: int) -> float:
        if not isinstance(instance, PublicDesignInstance):
            raise TypeError("LabelAttack needs a PublicDesignPrior: member and outsider share rows")
        error = self._error(release, instance)[1]
        return float(np.sum((instance.X[:, : self.d] @ error) ** 2)) / n


def reported_share(privacy: Privacy, d: int) -> float:
    r"""The largest share of E|w x|^2 that one private report keeps: E|E[w x | report]|^2 over it.

    w = y - <x, beta>, the coordinates of w x uncorrelated and of equal variance.

    **Statement.** Label private, x public: T^2 = tanh(eps/2)^2 for epsilon-LDP; 1 - e^-rho for
    rho-zCDP; 1 - e^{-mu^2/4} for mu-GDP; 1 - ((1 - delta)/cosh(eps/2))^2 for (epsilon, delta).
    Whole record private: the smaller of T^2 and, for epsilon-LDP, sinh(eps/2)^2/d.

    **Proof.** `strong_contraction` is Var E[g|report] <= T^2 Var g for every g; use it for each
    coordinate. The affinity of an (epsilon, delta) pair is at least (1 - delta)/cosh(eps/2), that
    of the pair that dominates it. For the last, let r be the report's chance given the record over
    its chance: E[w x_j|report] = E r w x_j are the coefficients of r in an orthogonal system, so
    Bessel bounds their sum of squares by E (w x_1)^2 Var r, and Var r <= sinh(eps/2)^2.
    """
    if privacy.scope not in ("local", "label"):
        raise ValueError(f"privacy.scope must be 'local' or 'label', got {privacy.scope!r}")
    if isinstance(privacy, (Pure, Approximate)):
        share = strong_contraction_pure(privacy.epsilon)
        if isinstance(privacy, Approximate):  # 1 - (1 - delta)^2 (1 - T^2), without cancellation
            share += privacy.delta * (2 - privacy.delta) * (1 - share)
    elif isinstance(privacy, (ZeroConcentrated, Gaussian)):
        affinity = privacy.rho if isinstance(privacy, ZeroConcentrated) else privacy.mu**2 / 4
        share = strong_contraction(affinity)
    else:
        raise TypeError(f"privacy: no contraction is known for {privacy}")
    if privacy.scope == "local" and isinstance(privacy, Pure):
        share = min(share, report_variance(min(privacy.epsilon, 700.0)) / d)
    return float(share)


def local_ceiling(
    result: GameResult, attack: DirectAttack, privacy: Privacy | None = None
) -> Estimate:
    r"""The largest members' sum of a direct attack that local privacy allows.

    **Statement.** sum_i E A_i <= sigma sqrt(share n d R): R the loss of the game (E|M - beta|^2/d
    over all coefficients, attacked or not), share = `reported_share`. By default for the privacy
    that the estimator reports.

    **Proof.** M is a function of the reports. Given beta, and the rows if public, let
    u_i = E[w_i x_i | all reports]. A report depends on its own record and on earlier reports, so
    u_i is a function of reports up to i with mean zero given those before it; the u_i are
    uncorrelated. Hence sum_i E A_i = E<sum_i u_i, M - beta> <= sqrt(sum_i E|u_i|^2 E|M - beta|^2)
    and E|u_i|^2 <= share E|w_i x_i|^2 = share sigma^2, as |x_i| = 1 on the attacked coordinates.

    A central guarantee allows order n eps sigma sqrt(R) instead (`GameResult.ceiling`): sqrt(n/d)
    times more.
    """
    held = result.privacy if privacy is None else privacy
    if held is None:
        raise ValueError("privacy must be given: the estimator reports none")
    weight = result.sigma * math.sqrt(reported_share(held, attack.d) * result.n * attack.d)
    return result.loss.map(lambda loss: weight * math.sqrt(max(loss, 0.0)))
