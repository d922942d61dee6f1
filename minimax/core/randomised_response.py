"""The epsilon of randomised response that spends a given budget, of any definition."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy import optimize, special

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
)

# --- Randomised response --------------------------------------------------------------------------


def root_above(excess: Callable[[float], float], low: float) -> float:
    """The zero of an increasing function, at or above `low`; found on the log scale."""
    if excess(low) >= 0:
        return low
    reach = 1.0
    while excess(low * math.exp(reach)) < 0:
        reach *= 2
    root = optimize.brentq(lambda x: excess(low * math.exp(x)), 0.0, reach, xtol=1e-14)
    return low * math.exp(float(root)) * (1 - 1e-12)


def randomised_response_epsilon(privacy: Privacy) -> float:
    r"""The epsilon at which randomised response spends a budget of any definition.

    **Statement.** Two inputs, two reports with the chances e^e/(1 + e^e) and 1/(1 + e^e).
    (eps, delta): e = log((e^eps + delta)/(1 - delta)). mu-GDP: e = log(Phi(mu/2)/Phi(-mu/2)).
    (alpha, eps)-RDP: `_response_renyi` at e is eps. zCDP: e tanh(e/2) = rho. All of these are
    exact. (kappa, rho)-zCDP: (e - kappa) tanh(e/2) = rho, which is enough.

    **Proof.** (eps, delta): see `Pure.to_approximate`. GDP: the trade-off curve joins (0, 1),
    (q, q) and (1, 0), q = 1/(1 + e^e). That of N(0, 1) against N(mu, 1) is convex and has the same
    ends, so it is nowhere above if and only if it is not at q: Phi(-mu/2) <= q. zCDP: the log ratio
    is +-e, with mean e tanh(e/2) = k and, by Kearns and Saul
    (`minimax.methods.packing.kearns_saul`), variance proxy 2k; so (alpha - 1) D_alpha <= (alpha -
    1) k + (alpha - 1)^2 k = (alpha - 1) alpha k, with equality as alpha tends to 1. With an
    offset: D_alpha <= min{alpha k, e}, which is at most kappa + alpha rho everywhere if it is at
    alpha = coth(e/2), where alpha k = e.
    """
    if isinstance(privacy, Pure):
        return privacy.epsilon
    if isinstance(privacy, Approximate):
        grown = float(np.logaddexp(privacy.epsilon, math.log(privacy.delta)))
        return grown - math.log1p(-privacy.delta)
    if isinstance(privacy, Gaussian):
        if privacy.mu < 1:
            return 2 * math.atanh(math.erf(privacy.mu / math.sqrt(8)))  # the same, uncancelled
        return float(special.log_ndtr(privacy.mu / 2) - special.log_ndtr(-privacy.mu / 2))
    if isinstance(privacy, Renyi):
        alpha, level = privacy.alpha, privacy.epsilon
        low = max(level, math.sqrt(2 * level / alpha))  # D_alpha <= min{e, alpha e^2/2}
        return root_above(lambda e: _response_renyi(alpha, e) - level, low)
    kappa = privacy.kappa if isinstance(privacy, OffsetConcentrated) else 0.0
    return kappa + root_above(lambda g: g * math.tanh((kappa + g) / 2) - privacy.rho, privacy.rho)


def _response_renyi(alpha: float, e: float) -> float:
    r"""D_alpha of randomised response: log(cosh((alpha - 1/2) e)/cosh(e/2))/(alpha - 1).

    The ratio less 1 is 2 sinh(alpha e/2) sinh((alpha - 1) e/2)/cosh(e/2), which does not cancel.
    """
    if alpha * e > 100:
        total = (alpha - 1) * e - math.log1p(math.exp(-e))  # the rest is below e^-100
        return total / (alpha - 1)
    excess = 2 * math.sinh(alpha * e / 2) * math.sinh((alpha - 1) * e / 2) / math.cosh(e / 2)
    return math.log1p(excess) / (alpha - 1)
