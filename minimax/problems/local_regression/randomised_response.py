"""The exact Bayes risk of randomised response: an upper bound under the prior of the proof."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

from minimax.methods.divergences import tv_contraction

Array = NDArray[np.float64]


# --- An exact upper bound under the same prior ----------------------------------------------------


def randomised_response_risk(n: int, p: int, epsilon: float, B: float, delta: float) -> float:
    r"""Exact Bayes risk of randomised response under the prior of WX21: Theorems 1 and 2.

    **Protocol.** User i reports w_j, j = i mod p, with its sign kept with probability
    e^eps/(1 + e^eps): eps-LDP and non-interactive. The estimate is the posterior mean.

    **Statement.** Under M_0 reports are fair coins, and v = +-e_j tilts those of coordinate j by
    +-tau, tau = delta tanh(eps/2)/B. With l_j^+ and l_j^- the likelihood ratios, T = l^+ + l^-,
    D = l^+ - l^-, the posterior mean of v_j is D_j/sum_k T_k, so

        risk = delta^2 (1 - (1/2p) sum_j E_0 D_j^2/sum_k T_k),

    and 1/x = int e^{-tx} dt turns the mean of the ratio into one integral of products over
    independent coordinates, which is computed by the trapezoidal rule in log t.
    """
    tau = delta / B * float(tv_contraction(epsilon))
    if not (0 < tau < 1 and n >= p >= 1):
        raise ValueError(f"need n >= p >= 1 and delta < B, got {n=}, {p=}, {delta=}, {B=}")
    few, more = divmod(n, p)
    kinds = [(few, p - more), *([(few + 1, more)] if more else [])]
    tables = [_tilted_coins(count, tau) for count, _ in kinds]
    low = -max(float(log_T.max()) for _, log_T, _ in tables) - 45
    high = -min(float(log_T.min()) for _, log_T, _ in tables) + 7
    # The integrand mixes shifts of e^{u - e^u}, for which step h errs by about e^{-pi^2/h}.
    log_t = np.linspace(low, high, math.ceil(6 * (high - low)))
    log_phi, log_pull = [], []
    for log_chance, log_T, log_D2 in tables:
        decay = log_chance[None, :] - np.exp(np.minimum(log_t[:, None] + log_T[None, :], 700.0))
        log_phi.append(special.logsumexp(decay, axis=1))
        log_pull.append(special.logsumexp(decay + log_D2[None, :], axis=1))
    everyone = sum(size * phi for (_, size), phi in zip(kinds, log_phi, strict=True))
    total = sum(
        size * np.exp(log_t + pull + everyone - phi)
        for (_, size), phi, pull in zip(kinds, log_phi, log_pull, strict=True)
    )
    known = float(integrate.trapezoid(total, log_t)) / (2 * p)
    return delta**2 * max(1 - known, 0.0)  # the integral is good to some 1e-10


def _tilted_coins(count: int, tau: float) -> tuple[Array, Array, Array]:
    """log P_0, log T and log D^2 over the number of heads among `count` reports."""
    heads = np.arange(count + 1, dtype=float)
    # Beyond 14 standard deviations of every law involved the chances add up to nothing.
    kept = np.abs(heads - count / 2) <= count * tau / 2 + 7 * math.sqrt(count) + 1
    heads = heads[kept]
    log_chance = (
        -count * math.log(2) - np.log(count + 1) - special.betaln(heads + 1, count - heads + 1)
    )
    plus = heads * math.log1p(tau) + (count - heads) * math.log1p(-tau)
    minus = heads * math.log1p(-tau) + (count - heads) * math.log1p(tau)
    larger, gap = np.maximum(plus, minus), np.abs(plus - minus)
    log_D = np.where(gap > 0, larger + np.log(-np.expm1(-np.maximum(gap, 1e-300))), -1e300)
    return log_chance, np.logaddexp(plus, minus), 2 * np.maximum(log_D, -1e299)
