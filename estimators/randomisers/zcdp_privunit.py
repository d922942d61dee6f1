r"""A local randomiser of vectors for rho-zCDP: the soft cap, PrivUnit's counterpart.

**The law.** For a unit vector u the report z has the density e^{k <z, u>^+}/Z relative to N(0, I),
Z = 1/2 + e^{k^2/2} Phi(k): along u it has the density phi(x) e^{k x^+}/Z, across u it is N(0, 1).
E z = mu u with mu = k (Z - 1/2)/Z, as the mean of x is the derivative of log of
int phi(x) e^{s x + k x^+} at s = 0, where phi(0) cancels.

**Statement.** z is rho-zCDP with rho = k mu, and with no smaller rho.

**Proof.** (i) *Opposite inputs are worst.* Let h(x) = e^{k x^+} and alpha > 1. For u, u' with
<u, u'> = t the moment int q_u^alpha q_u'^{1 - alpha} is E h(a)^alpha h(b)^{1 - alpha}/Z over
standard normal a, b of correlation t, with derivative E (h^alpha)'(a) (h^{1 - alpha})'(b)/Z in t
(Price's theorem): h increases, so this is not positive, and t = -1 is worst.
(ii) *Its Renyi curve.* With c = k/2 and sigma = 2 alpha - 1 the moment at t = -1 is
N(sigma)/N(1), N(sigma) = int phi(x) e^{c|x|} cosh(sigma c x) dx. It is to be at most
e^{rho (sigma^2 - 1)/4} for sigma >= 1. They agree at sigma = 1, so it is enough that
(rho/2) sigma N(sigma) - N'(sigma) >= 0. With M_n = int phi(x) e^{c|x|} |x|^n dx this is the power
series sum_j a_j b_j sigma^{2j+1}, where a_j = c^{2j} M_{2j}/(2j)! > 0 and, integrating by parts,

    b_j = rho/2 - c^2 M_{2j+2}/((2j+1) M_{2j}) = rho/2 - c^2 - c^3 M_{2j+1}/((2j+1) M_{2j}).

phi(x) e^{cx} is log-concave on x > 0, so M_n/n! is a log-concave sequence (Borell, 1973; Barlow,
Marshall and Proschan, 1963), its quotients fall and the b_j increase. So the coefficients change
sign at most once, from minus to plus, and the series has at most one positive root, above which it
is positive (Descartes). At sigma = 1 it is N(1) (rho/2 - (log N)'(1)) = 0: the divergence of order
1 at t = -1 is E_u[k x] = k mu = rho, and it is 2 (log N)'(1) too.
(iii) Inputs inside the ball are put on the sphere by private coins, and mixtures have no larger
divergence.

**Error.** For large p and inputs on the sphere of radius r it is p r^2/mu^2, where Gaussian noise
has 2 p r^2/rho: less by 2 mu/k = 2 (Z - 1/2)/Z, which is 1.18 at rho = .1, 1.54 at 1, 1.81 at 3 and
tends to 2.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from estimators.core.accounting import LedgerEntry
from estimators.core.checks import check_positive, check_whole
from estimators.core.mechanisms import Release
from estimators.randomisers.vectors import _directions, blocks, checked_rows
from minimax.core.privacy import ZeroConcentrated

Array = NDArray[np.float64]
LARGEST_RHO = 1e4
"""So much is no privacy; k^2/2 is still far from where floats end."""


def log_tilted(k: float) -> float:
    """log of e^{k^2/2} Phi(k) = int_0^inf phi(x) e^{kx} dx."""
    return k * k / 2 + float(special.log_ndtr(k))


def log_norm(k: float) -> float:
    """log Z."""
    return float(np.logaddexp(-math.log(2), log_tilted(k)))


def mean_along(k: float) -> float:
    """mu: the mean of the report along its input."""
    return k * math.exp(log_tilted(k) - log_norm(k))


def steepness(rho: float) -> float:
    """k with k mu(k) = rho, from below: k^2/2 <= k mu <= k^2."""
    low, high = math.sqrt(rho), math.sqrt(2 * rho)
    found = optimize.brentq(lambda k: k * mean_along(k) - rho, low * (1 - 1e-9), high * (1 + 1e-9))
    return float(found) * (1 - 1e-9)


@dataclass(frozen=True)
class SoftCapRandomiser:
    """rho-zCDP reports of vectors of norm at most `radius`, unbiased: see the module."""

    p: int
    rho: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        check_whole(p=self.p)
        check_positive(rho=self.rho, radius=self.radius)
        if self.rho > LARGEST_RHO:
            raise ValueError(f"rho must be at most {LARGEST_RHO:g}, got {self.rho!r}")

    @cached_property
    def k(self) -> float:
        """How steeply the density rises along the input."""
        return steepness(self.rho)

    @property
    def scale(self) -> float:
        """What z is multiplied with: r/mu."""
        return self.radius / mean_along(self.k)

    @property
    def guarantee(self) -> ZeroConcentrated:
        """rho-zCDP for every report."""
        return ZeroConcentrated(self.rho, scope="local")

    def clip(self, X: ArrayLike) -> Array:
        """Rows shortened to norm r."""
        X, norms, share = _directions(checked_rows(X, self.p, "X"), self.radius)
        return np.asarray(X * (self.radius * share / norms)[:, None])

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> Array:
        """log density of reports at one input x, relative to N(0, scale^2 I)."""
        rows = np.atleast_2d(np.asarray(reports, dtype=float)) / self.scale
        X, norms, share = _directions(checked_rows(np.atleast_2d(x), self.p, "x"), self.radius)
        along = rows @ X[0] / norms[0]
        towards, away = self.k * np.maximum(along, 0), self.k * np.maximum(-along, 0)
        with np.errstate(divide="ignore"):
            weights = np.log([(1 + share[0]) / 2, (1 - share[0]) / 2])
        return np.asarray(np.logaddexp(weights[0] + towards, weights[1] + away) - log_norm(self.k))

    def error(self, x: ArrayLike) -> float:
        """E|R(x) - clip(x)|^2, exactly: E x^2 = [(1 + k^2)(Z - 1/2) + k phi(0) + 1/2]/Z along u."""
        k, log_Z = self.k, log_norm(self.k)
        upper = (1 + k * k) * math.exp(log_tilted(k) - log_Z)
        square = upper + (k / math.sqrt(2 * math.pi) + 0.5) * math.exp(-log_Z)
        length = self.scale**2 * (self.p - 1 + square)
        return length - float(np.sum(self.clip(np.atleast_2d(x)) ** 2))

    def randomise(self, X: ArrayLike, rng: np.random.Generator) -> Release[Array]:
        """One report for each row of X (one user each)."""
        X = checked_rows(X, self.p, "X")
        reports = np.empty(X.shape)
        for rows in blocks(range(len(X)), self.p):
            reports[rows] = self._reports(X[rows], rng)
        return Release(reports, self.entry(len(X)))

    def entry(self, users: int) -> LedgerEntry:
        """The ledger's record of one report from each of some users."""
        return LedgerEntry(
            "soft cap",
            self.radius,
            "l2",
            self.scale,
            (self.guarantee,),
            about=f"one report from each of {users} users",
        )

    def _reports(self, X: Array, rng: np.random.Generator) -> Array:
        X, norms, share = _directions(X, self.radius)
        sign = np.where(2 * rng.random(len(X)) - 1 < share, 1.0, -1.0)
        u = X * (sign / norms)[:, None]
        z = rng.standard_normal(X.shape)
        new = self._along(len(X), rng) - np.einsum("ij,ij->i", z, u)
        return np.asarray(self.scale * (z + new[:, None] * u))

    def _along(self, users: int, rng: np.random.Generator) -> Array:
        """Draws with density phi(x) e^{k x^+}/Z: -|N(0, 1)|, or N(k, 1) if that is positive."""
        x = -np.abs(rng.standard_normal(users))
        upper = np.flatnonzero(rng.random(users) < math.exp(log_tilted(self.k) - log_norm(self.k)))
        while len(upper):  # at least half of the draws are positive
            x[upper] = self.k + rng.standard_normal(len(upper))
            upper = upper[x[upper] < 0]
        return x
