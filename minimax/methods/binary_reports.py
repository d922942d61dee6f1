"""What a private report tells about a binary part of its input: a label, or a sign.

`minimax.problems.label_regression.lower` and `minimax.problems.local_regression.lower` rest on
this one number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import mpmath
import numpy as np
from scipy import integrate

from minimax.core.balls import BALLS, Ball, between, bits, integral
from minimax.core.bound import Point
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.core.symbolic import ULP, Number, is_symbolic
from minimax.methods.divergences import strong_contraction, strong_contraction_pure


def label_contraction(model: type[Privacy], at: Point) -> Number:
    r"""T^2: a private report of a binary label keeps at most this share of its information.

    **Statement.** Let a label take two values, with chances (1 +- u)/2 under P_u, and let omega be
    (m_+ - m_-)/(m_+ + m_-) for the reports' densities at the two. Then E_0 omega^2 <= T^2 and
    KL(M_u|M_0) <= T^2 c(t u) u^2, c of `minimax.problems.local_regression.lower.entropy_ratio`,
    with pure: T^2 = tanh(eps/2)^2, t = tanh(eps/2);
    (eps, delta): T^2 = (1 - delta) tanh(eps/2)^2 + delta, t = 1;
    mu-GDP: T^2 = E tanh(mu (mu/2 + N)/2)^2, N standard normal under the mixture, t = 1;
    rho-zCDP: T^2 = 1 - e^-rho, with kappa 1 - e^-(kappa + rho), (alpha, eps)-RDP: T^2 = 1 - e^-eps,
    all with t = 1.

    The first inequality holds too where m_+ and m_- are mixtures over many inputs each, as where
    the label is a part of the record.

    **Proof.** With two inputs every (eps, delta) channel is a post-processing of one that reveals
    the label with chance delta and else applies randomised response (Kairouz, Oh and Viswanath),
    and a mu-GDP channel one of N(+-mu/2, 1) (Blackwell). For these, omega is symmetric under M_0,
    so KL(M_u|M_0) = E c(u |omega|) u^2 omega^2, and E_0 omega^2 = T^2. For the others
    `strong_contraction`: D_{1/2} <= KL <= kappa + rho or eps, KL(P_u|P_0) = c(u) u^2, and
    E_0 omega^2 = chi^2(M_u|M_0)/u^2. Finally
    E_0 omega^2 = (1/2) int (m_+ - m_-)^2/(m_+ + m_-) is an f-divergence: it shrinks by
    post-processing, and it is jointly convex, so that mixtures have at most its largest value
    between two inputs.

    For mu-GDP T^2 <= 1 - e^{-mu^2/4} (`strong_contraction`), at most 1.16 times it, is used in the
    closed form.
    """
    if model is Pure:
        return strong_contraction_pure(at["epsilon"])
    if model is Approximate:
        return (1 - at["delta"]) * strong_contraction_pure(at["epsilon"]) + at["delta"]
    if model is Gaussian:
        mu = at["mu"]
        return strong_contraction(mu**2 / 4) if is_symbolic(mu) else _gaussian_share(mu)
    if model is Renyi:
        return strong_contraction(at["epsilon"])
    if model not in (ZeroConcentrated, OffsetConcentrated):
        raise ValueError(f"no bound is proved for private labels under {model.name!r} privacy")
    return strong_contraction(at["rho"] + (at["kappa"] if model is OffsetConcentrated else 0))


def _gaussian_share(mu: Number) -> Number:
    """E tanh(mu Z/2)^2 with Z from N(mu/2, 1); by symmetry the sign of the mean does not matter."""
    if isinstance(mu, Ball):
        return _enclosed_share(mu)
    return _precise_share(mu) if isinstance(mu, mpmath.mpf) else _float_share(float(mu))


@lru_cache(maxsize=1024)
def _float_share(mu: float) -> float:
    """By the trapezoid rule, some ulps up for its sum.

    Its own error is below 1e-30 of the value: the integrand is analytic up to |Im z| = pi/mu, and
    where that is not far against the step, its poles have weight e^{-mu^2/8}.
    """
    z = np.linspace(-12.0, 12.0, 4001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    share = float(integrate.trapezoid(np.tanh(mu * (z + mu / 2) / 2) ** 2 * density, z))
    return min(share * (1 + 256 * ULP), 1.0)


def _precise_share(mu: mpmath.mpf) -> mpmath.mpf:
    """By quadrature in pieces, to 25 digits: far more than the rounding of reported floats."""

    def weight(z: mpmath.mpf) -> mpmath.mpf:
        return mpmath.tanh(mu * (z + mu / 2) / 2) ** 2 * mpmath.npdf(z)

    cuts = sorted({mpmath.mpf(-12), max(-mu / 2, mpmath.mpf(-12)), *map(mpmath.mpf, (0, 4, 12))})
    with mpmath.workdps(25):
        return mpmath.quad(weight, cuts)


def _enclosed_share(mu: Ball) -> Ball:
    """By a rigorous integral up to L; beyond, tanh(x)^2 <= min(1, x^2) leaves next to nothing."""
    end = math.ceil(math.sqrt(2 * math.log(2) * bits())) + 1
    tail, density = BALLS.ndtr(-end), BALLS.exp(-(Ball(end) ** 2) / 2) / BALLS.sqrt(2 * BALLS.pi)
    square = mu**2 / 4 * ((1 + mu**2 / 4) * tail + end * density)
    beyond = between(0, 2 * BALLS.least(tail, square))
    half = mu.arb / 2

    def weight(z: Any, analytic: bool) -> Any:
        return (half * (z + half)).tanh() ** 2 * (-(z**2) / 2).exp()

    return integral(weight, -end, end) / BALLS.sqrt(2 * BALLS.pi) + beyond
