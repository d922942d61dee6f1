"""Local randomisers of vectors for rho-zCDP: the soft cap, and Gaussian noise for comparison.

The law of the soft cap, the proof of its privacy and its moments: `minimax.core.soft_cap`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.checks import check_positive, check_whole
from estimators.core.rows import row_products
from estimators.randomisers.base import (
    Array,
    VectorRandomiser,
    checked_reports,
    checked_rows,
    directions,
    shortened,
)
from minimax.core.calibration import gaussian_scale
from minimax.core.privacy import ZeroConcentrated
from minimax.core.soft_cap import log_norm, mean_along, second_moment, share, steepness

LARGEST_RHO = 1e6
"""So much is no privacy, and nothing has lost its digits yet."""


@dataclass(frozen=True)
class ConcentratedRandomiser(VectorRandomiser):
    """What both have: rho-zCDP reports of vectors of norm at most `radius`, unbiased."""

    p: int
    rho: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        check_whole(p=self.p)
        check_positive(rho=self.rho, radius=self.radius)
        if self.rho > LARGEST_RHO:
            raise ValueError(f"rho must be at most {LARGEST_RHO:g}, got {self.rho!r}")

    @property
    def guarantee(self) -> ZeroConcentrated:
        """rho-zCDP for every report."""
        return ZeroConcentrated(self.rho, scope="local")

    def clip(self, X: ArrayLike) -> Array:
        """Rows shortened to norm r."""
        return shortened(X, self.p, self.radius)


@dataclass(frozen=True)
class SoftCapRandomiser(ConcentratedRandomiser):
    """A report is likely where it points along its input: less error than Gaussian noise has.

    **Algorithm.** x is clipped to norm r, u = +-x/|x| with probability 1/2 +- |x|/2r (u = +-e_1 for
    x = 0). A standard normal vector gets a new inner product with u, -|N(0, 1)| or N(k, 1) given
    that it is positive, and the factor r/mu. k, mu and why this is rho-zCDP: the module
    `minimax.core.soft_cap`.

    **Error.** E|R(x) - x|^2 = `length`^2 - |x|^2, exactly; `error_per_dimension` is its limit.
    """

    @property
    def name(self) -> str:
        """As the ledger calls it."""
        return "soft cap"

    @cached_property
    def k(self) -> float:
        """How steeply the density rises along the input."""
        return steepness(self.rho)

    @cached_property
    def scale(self) -> float:
        """What z is multiplied with: r/mu."""
        return self.radius / float(mean_along(self.k))

    @cached_property
    def length(self) -> float:
        """sqrt E|R(x)|^2, the same for every input."""
        return self.scale * math.sqrt(self.p - 1 + float(second_moment(self.k)))

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> Array:
        """log density of reports at one input x, relative to N(0, scale^2 I)."""
        rows = checked_reports(reports, self.p) / self.scale
        X, norms, part = directions(checked_rows(np.atleast_2d(x), self.p, "x"), self.radius)
        along = rows @ X[0] / norms[0]
        towards, away = self.k * np.maximum(along, 0), self.k * np.maximum(-along, 0)
        with np.errstate(divide="ignore"):
            weights = np.log([(1 + part[0]) / 2, (1 - part[0]) / 2])
        return np.asarray(np.logaddexp(weights[0] + towards, weights[1] + away) - log_norm(self.k))

    def _fill(self, reports: Array, X: Array, rng: np.random.Generator, scratch: Array) -> None:
        X, norms, part = directions(X, self.radius)
        # u = sign * x/|x|, kept as the factor of x.
        factor = np.where(2 * rng.random(len(X)) - 1 < part, 1.0, -1.0) / norms
        rng.standard_normal(out=reports)
        inner = row_products(reports, X) * factor
        moved = self._along(inner, rng) - inner
        reports += np.multiply(X, (moved * factor)[:, None], out=scratch)
        reports *= self.scale

    def _along(self, inner: Array, rng: np.random.Generator) -> Array:
        """Draws with density phi(x) e^{k x^+}/Z: -|N(0, 1)|, or N(k, 1) if that is positive.

        They are made of standard normal inner products, which the rest of the vectors does not
        depend on.
        """
        upper = rng.random(len(inner)) < share(self.k)
        x = np.where(upper, self.k + inner, -np.abs(inner))
        again = np.flatnonzero(upper & (x < 0))
        while len(again):  # at least half of the draws are positive
            x[again] = self.k + rng.standard_normal(len(again))
            again = again[x[again] < 0]
        return x


@dataclass(frozen=True)
class GaussianRandomiser(ConcentratedRandomiser):
    """x clipped to norm r, plus N(0, (2 r^2/rho) I): what the soft cap is compared with.

    **Privacy.** Two clipped vectors are at most 2r apart (Bun and Steinke, 2016).
    """

    @property
    def name(self) -> str:
        """As the ledger calls it."""
        return "Gaussian noise on a vector"

    @cached_property
    def scale(self) -> float:
        """The noise's standard deviation in each coordinate."""
        return float(gaussian_scale(self.guarantee, 2 * self.radius))

    @property
    def length(self) -> float:
        """sqrt(r^2 + p scale^2), that at an input on the sphere."""
        return math.hypot(self.radius, math.sqrt(self.p) * self.scale)

    def error(self, x: ArrayLike) -> float:
        """E|R(x) - clip(x)|^2 = p scale^2, the same for every input."""
        checked_rows(np.atleast_2d(x), self.p, "x")
        return self.p * self.scale**2

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> Array:
        """log density of reports at one input x, relative to N(0, scale^2 I)."""
        rows = checked_reports(reports, self.p) / self.scale
        centre = shortened(checked_rows(np.atleast_2d(x), self.p, "x"), self.p, self.radius)[0]
        centre /= self.scale
        return np.asarray(rows @ centre - centre @ centre / 2)

    def _fill(self, reports: Array, X: Array, rng: np.random.Generator, scratch: Array) -> None:
        X, norms, part = directions(X, self.radius)
        rng.standard_normal(out=reports)
        reports *= self.scale
        reports += np.multiply(X, (self.radius * part / norms)[:, None], out=scratch)


def error_per_dimension(rho: float) -> float:
    """Limit of the soft cap's error/p at unit vectors as p grows: 1/mu^2; Gaussian noise: 2/rho."""
    check_positive(rho=rho)
    return float(mean_along(steepness(rho))) ** -2
