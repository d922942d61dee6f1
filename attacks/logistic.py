r"""The score attack on logistic regression (Cai, Wang and Zhang, 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from attacks.score import DirectAttack, LeaveOneOutAttack, check_prior
from minimax.methods.priors import LogisticInstance, LogisticPrior
from minimax.methods.tracing import BOUNDED_PRODUCT, Tail

Array = NDArray[np.float64]
FAR = 14.0
"""Where pi u/sinh(pi u) is below 1e-17."""
DEEP = 45.0
"""e^-45 is below the rounding of a sum of order one."""


def mean_variance(coef: Array, scale: float) -> float:
    r"""E p(1 - p), p = 1/(1 + exp(-T)), T = <x, coef>, over x uniform on {-scale, scale}^d.

    **Proof.** p(1 - p) is the logistic density at T, whose characteristic function is
    pi u/sinh(pi u), and T has that of prod_j cos(scale coef_j u); so E p(1 - p) is the integral of
    their product over 2 pi (Parseval). By Poisson's formula the trapezoidal sum with step h errs by
    the density of the sum at multiples of 2 pi/h, at most exp(|T| - 2 pi/h): nothing.
    """
    step = 2 * math.pi / (DEEP + scale * float(np.abs(coef).sum()))
    u = step * np.arange(1, math.ceil(FAR / step))
    smooth = math.pi * u / np.sinh(math.pi * u)
    signs = np.prod(np.cos(scale * np.outer(coef, u)), axis=0)
    return step / (2 * math.pi) * (1 + 2 * float(smooth @ signs))


@dataclass(frozen=True)
class LogisticFamily:
    """P(y = 1 | x) = p(<x, beta>), p the logistic function: w = y - p, phi = 1."""

    sigma: ClassVar[float] = 0.5
    dispersion: ClassVar[float] = 1.0
    tail: ClassVar[Tail] = BOUNDED_PRODUCT
    symmetric: ClassVar[bool] = False

    def mean(self, predictor: Array) -> Array:
        return np.asarray(special.expit(predictor))

    def variance(self, instance: LogisticInstance) -> float:
        return mean_variance(instance.target, instance.scale)


@dataclass(frozen=True)
class ScoreAttack(DirectAttack):
    r"""A = <M - beta, (y - p) x>, p = P(y = 1 | x).

    **Soundness.** E_Q A = 0 and E_Q A^2 = E p(1 - p) <M - beta, x>^2 <= E|M - beta|^2/(4d).

    **Completeness.** sum_i E A_i = d - E<M - beta, grad log pi> under the ball prior, for every
    estimator: `DirectAttack`.

    **Source.** Cai, Wang and Zhang (2023), the score attack;
    `minimax.problems.logistic.lower.tracing`.
    """

    prior: LogisticPrior
    name: ClassVar[str] = "score attack <M-beta, (y-p) x>"
    source: ClassVar[str] = "tracebound: logistic.tracing"

    def __post_init__(self) -> None:
        check_prior(self.prior, LogisticPrior)

    @property
    def family(self) -> LogisticFamily:
        return LogisticFamily()


@dataclass(frozen=True)
class ScoreResidualAttack(LeaveOneOutAttack):
    r"""A_i = <V_i, (y_i - p_i) x_i>, V_i the leave-one-out residual: `LeaveOneOutAttack`.

    **Soundness.** E_Q A = 0 and E_Q A^2 <= E|V|^2/(4d); given V, A is a centred number that is
    sub-Gaussian(1/2) given x, times a weighted sum of signs:
    `minimax.methods.tracing.BOUNDED_PRODUCT`.

    **Completeness.** sum_i E A_i = d - E<M - beta, grad log pi> >= `floor`.

    **Source.** tracebound: logistic.tracing.
    """

    prior: LogisticPrior
    name: ClassVar[str] = "leave-one-out score attack on logistic regression"
    source: ClassVar[str] = "tracebound: logistic.tracing"

    def __post_init__(self) -> None:
        check_prior(self.prior, LogisticPrior)

    @property
    def family(self) -> LogisticFamily:
        return LogisticFamily()
