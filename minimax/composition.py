r"""Noise for an algorithm that makes several Gaussian releases from one budget.

T releases of l2 sensitivity Delta with noise tau each are together one Gaussian mechanism of
sensitivity sqrt(T) Delta: GDP with mu = sqrt(T) Delta/tau, zCDP with rho = T Delta^2/(2 tau^2),
adaptively chosen or not. So tau = sqrt(T) Delta/mu, with mu from the budget: sqrt(2 rho) for zCDP,
the exact Gaussian curve for (epsilon, delta).
"""

from __future__ import annotations

import math
from typing import Literal

from minimax.privacy import Approximate, Gaussian, ZeroConcentrated

Composition = Literal["zcdp", "basic"]


def repeated_noise(
    privacy: Approximate | ZeroConcentrated | Gaussian,
    sensitivity: float,
    releases: int,
    composition: Composition = "zcdp",
) -> float:
    """Standard deviation of the noise on each of `releases` Gaussian releases.

    ``zcdp``: all of them as one Gaussian mechanism (above). ``basic``: each release gets
    (epsilon/T, delta/T) by the classical formula Delta sqrt(2 log(2T/delta))/(epsilon/T), as CWZ19:
    Algorithm 4.1 does; it wastes about a factor sqrt(T).
    """
    if composition == "zcdp":
        return sensitivity * math.sqrt(releases) / privacy.to_gaussian().mu
    if composition != "basic":
        raise ValueError(f"composition must be 'zcdp' or 'basic', got {composition!r}")
    if not isinstance(privacy, Approximate):
        raise ValueError(f"composition='basic' is for (epsilon, delta), not {privacy}")
    log_term = math.log(2 * releases / privacy.delta)
    return sensitivity * math.sqrt(2 * log_term) * releases / privacy.epsilon
