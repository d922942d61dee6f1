r"""The prior of CWZ19 B.2 and B.6 by quadrature: the top s of d truncated normals.

nu_1..nu_d are N(0, gamma^2) truncated to [-1, 1], gamma^2 = 1/(4 log(d/4s)), and S holds the s of
largest magnitude. Given nu_j = t, j is in S with the chance h(t) that at most s - 1 of the others
exceed |t|: a binomial probability. So sums over S are integrals over one coordinate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, stats

from attacks.sparse_mean import TopNormalPrior

Array = NDArray[np.float64]
NODES = 4001


@dataclass(frozen=True)
class TopEntries:
    """Integrals under `TopNormalPrior`."""

    d: int
    s: int

    @cached_property
    def prior(self) -> TopNormalPrior:
        return TopNormalPrior(self.d, self.s)

    @property
    def gamma(self) -> float:
        return math.sqrt(self.prior.variance)

    def density(self, t: Array) -> Array:
        """pi, on [-1, 1]."""
        mass = 1 - 2 * stats.norm.sf(1 / self.gamma)
        return np.asarray(stats.norm.pdf(t / self.gamma) / (self.gamma * mass))

    def exceeds(self, t: Array) -> Array:
        """P(|nu_j| > t) for 0 <= t <= 1."""
        beyond = 2 * stats.norm.sf(1 / self.gamma)
        return np.asarray((2 * stats.norm.sf(t / self.gamma) - beyond) / (1 - beyond))

    def chosen(self, t: Array) -> Array:
        """h(t) = P(j in S | nu_j = t)."""
        others = np.clip(self.exceeds(np.abs(t)), 0, 1)
        return np.asarray(stats.binom.cdf(self.s - 1, self.d - 1, others))

    def mean_over(self, values: Array, *, selected: bool = True) -> float:
        """d E[f(nu_j) 1(j in S)], f at `nodes`; with `selected` off, s coordinates fixed before."""
        weight = self.d * self.chosen(self.nodes) if selected else self.s
        return 2 * float(
            integrate.trapezoid(values * weight * self.density(self.nodes), self.nodes)
        )

    @property
    def nodes(self) -> Array:
        """Points of [0, 1]; everything is even in nu_j."""
        return np.linspace(0, 1, NODES)

    def signal(self, *, selected: bool = True) -> float:
        """E sum_{j in S} nu_j^2."""
        return self.mean_over(self.nodes**2, selected=selected)
