r"""Local randomisers of vectors: one report a user, epsilon-LDP for every input whatsoever.

All are of one kind. Around an input lies a set H of reports; the density of a report, relative to
the uniform law over all reports, is high in H and low outside, with high/low = e^epsilon exactly.
With q the uniform mass of H and kappa = 1/(e^epsilon - 1),

    low = 1/(1 + q (e^epsilon - 1)),    P(report in H) = (1 + kappa) q/(q + kappa).

For a direction u let M = E[<u, V> 1{V in H}] under the uniform law, whose mean is zero. Then
E[V] = u M (high - low) = u M/(q + kappa), so that a report of length (q + kappa)/M is unbiased.

**Privacy.** Densities lie in [low, e^epsilon low] for each input, and so do their mixtures over
private coins. Inputs are put on the extreme points by such coins: a vector of norm at most r goes
to +-r x/|x| with probability 1/2 +- |x|/2r, a coordinate in [-r, r] to +-r in the same way. What is
outside is clipped *first*: otherwise these are no probabilities, and there is no privacy
(WX21: the randomiser of Algorithm 1, as printed, has inputs with |x| > r).

**Error.** A report has one length, so E|R(x) - x|^2 = length^2 - |x|^2 for |x| <= r.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

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
from minimax.core.privacy import Pure

LARGEST_EPSILON = 700.0
"""e^epsilon and the mass of the smallest cap are still floating-point numbers."""


@dataclass(frozen=True)
class Randomiser(VectorRandomiser):
    """What every pure randomiser of vectors has: see the module's docstring for the mathematics."""

    p: int
    epsilon: float
    radius: float = 1.0

    def __post_init__(self) -> None:
        check_whole(p=self.p)
        check_positive(epsilon=self.epsilon, radius=self.radius)
        if self.epsilon > LARGEST_EPSILON:
            raise ValueError(f"epsilon must be at most {LARGEST_EPSILON:g}, got {self.epsilon!r}")

    @property
    @abstractmethod
    def mass(self) -> float:
        """q, the uniform mass of the likely set."""

    @property
    @abstractmethod
    def length(self) -> float:
        """The Euclidean norm of every report."""

    @abstractmethod
    def _inside(self, reports: Array, x: Array) -> Array:
        """Probability, over the private coins of input x, that a report is in the likely set."""

    @property
    def guarantee(self) -> Pure:
        """epsilon-LDP."""
        return Pure(self.epsilon, scope="local")

    @property
    def log_low(self) -> float:
        """log of the least density that any report has, relative to the uniform law."""
        return -math.log1p(self.mass * math.expm1(self.epsilon))

    @property
    def likely(self) -> float:
        """P(report in the likely set): (1 + kappa) q/(q + kappa)."""
        kappa = 1 / math.expm1(self.epsilon)
        return (1 + kappa) * self.mass / (self.mass + kappa)

    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> Array:
        """log density of reports at one input x, relative to the uniform law of reports."""
        row = checked_rows(np.atleast_2d(np.asarray(x, dtype=float)), self.p, "x")[0]
        inside = self._inside(checked_reports(reports, self.p), row)
        return np.asarray(self.log_low + np.log1p(math.expm1(self.epsilon) * inside))


@dataclass(frozen=True)
class SphereRandomiser(Randomiser):
    r"""Reports on a sphere, likely within the cap {<u, v> >= gamma} of the input's direction u.

    **Algorithm.** x is clipped to norm r, u = +-x/|x| with probability 1/2 +- |x|/2r (u = +-e_1 for
    x = 0). The report is uniform in the cap or outside it, and has length r (q + kappa)/M with

        q = I_{1 - gamma^2}((p-1)/2, 1/2)/2,
        M = Gamma(p/2)/(2 sqrt(pi) Gamma((p+1)/2)) (1 - gamma^2)^{(p-1)/2}.

    * ``cap="half"``: gamma = 0, the randomiser of Duchi, Jordan and Wainwright (2018), of length
      r sqrt(pi) Gamma((p+1)/2)/Gamma(p/2) (e^eps + 1)/(e^eps - 1).
    * ``cap="best"``: PrivUnit (Bhowmick et al., 2018) with the gamma of least error. As
      dq = -rho dgamma and dM = -gamma rho dgamma for rho = the density of <u, V>, the length
      (q + kappa)/M is stationary where gamma = M/(q + kappa), that is where

          kappa gamma = E(<u, V> - gamma)^+,

      an increasing against a decreasing function: there is one root, it is the minimum over all
      caps (that the ratio e^eps is used in full is best for any cap), and the length is r/gamma.
      The error at a unit vector is 1/gamma^2 - 1. (Asi, Feldman and Talwar, 2022, show that this
      is the least variance in a large family of locally private randomisers.)
    * a number: that gamma, in [0, 1).

    **Source.** WX21: Algorithm 1. **Departures from the paper.** Inputs are clipped; the constant
    O(r sqrt p) is the exact one.
    """

    cap: Literal["half", "best"] | float = "half"

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.cap, str):
            if self.cap not in ("half", "best"):
                raise ValueError(f"cap must be 'half', 'best' or a number, got {self.cap!r}")
        elif not 0 <= self.cap < 1:
            raise ValueError(f"cap must lie in [0, 1), got {self.cap!r}")
        elif self.p == 1 and self.cap > 0:
            raise ValueError(f"cap must be 0 if p = 1, got {self.cap!r}")

    @property
    def name(self) -> str:
        """As the ledger calls it."""
        return "sphere randomiser" if self.gamma == 0 else "PrivUnit"

    @cached_property
    def gamma(self) -> float:
        """The least inner product with the input's direction within the cap."""
        if isinstance(self.cap, str):
            return 0.0 if self.cap == "half" else best_cap(self.p, self.epsilon)
        return float(self.cap)

    @cached_property
    def mass(self) -> float:
        """q, the uniform mass of the cap."""
        return float(cap_mass(self.gamma, self.p))

    @cached_property
    def length(self) -> float:
        """r (q + kappa)/M."""
        unit = (self.mass + 1 / math.expm1(self.epsilon)) / cap_moment(self.gamma, self.p)
        return self.radius * unit

    @property
    def coordinate_moment(self) -> float:
        r"""The largest second moment of a coordinate of a report, whatever the input.

        With L the length, a report is L V, and E<u, V>^2 = (1 + (p - 1) gamma r/L)/p: that of the
        part in the cap is (q + (p - 1) gamma M)/p by partial integration. The rest of the length is
        spread evenly over the other directions, so that no direction has more than u.
        """
        tilt = (self.p - 1) * self.gamma * self.radius
        return self.length * (self.length + tilt) / self.p

    def clip(self, X: ArrayLike) -> Array:
        """Rows shortened to norm r."""
        return shortened(X, self.p, self.radius)

    def _fill(self, reports: Array, X: Array, rng: np.random.Generator, scratch: Array) -> None:
        X, norms, share = directions(X, self.radius)
        users = len(X)
        # u = sign * x/|x|, kept as the factor of x.
        factor = np.where(2 * rng.random(users) - 1 < share, 1.0, -1.0) / norms
        likely = rng.random(users) < self.likely
        rng.standard_normal(out=reports)
        squares = row_products(reports, reports)
        inner = row_products(reports, X) * factor
        if self.gamma == 0:
            wrong = (inner >= 0) != likely
            reports *= (np.where(wrong, -self.length, self.length) / np.sqrt(squares))[:, None]
            return
        t = inner / np.sqrt(squares)
        wrong = (t >= self.gamma) != likely
        # A uniform direction on the wrong side keeps its part orthogonal to u and gets a new <u, v>
        # from the law on the right side: both parts are independent on the sphere.
        into, out = wrong & likely, wrong & ~likely
        t[into] = _inner_products_within(self.gamma, self.p, int(into.sum()), rng)
        t[out] = _inner_products_outside(self.gamma, self.p, int(out.sum()), rng)
        rest = squares - inner**2
        steep = np.flatnonzero(rest < 1e-6 * squares)
        if len(steep):  # the difference has lost its digits
            parts = reports[steep] - X[steep] * (inner * factor)[steep, None]
            rest[steep] = row_products(parts, parts)
        stretch = np.sqrt(np.where(wrong, (1 - t) * (1 + t) / rest, 1 / squares))
        reports *= (self.length * stretch)[:, None]
        along = self.length * factor * np.where(wrong, t - stretch * inner, 0.0)
        reports += np.multiply(X, along[:, None], out=scratch)

    def _inside(self, reports: Array, x: Array) -> Array:
        X, norms, share = directions(x[None], self.radius)
        t = reports @ X[0] / (norms[0] * np.sqrt(row_products(reports, reports)))
        # A report in both closed caps, which only gamma = 0 allows, has measure zero.
        towards, away = t >= self.gamma, (-t >= self.gamma) & (t < self.gamma)
        return np.asarray(
            np.where(towards, 0.5 + share[0] / 2, np.where(away, 0.5 - share[0] / 2, 0))
        )


def privunit(p: int, epsilon: float, radius: float = 1.0) -> SphereRandomiser:
    """PrivUnit with the cap of least error."""
    return SphereRandomiser(p, epsilon, radius, cap="best")


def cap_mass(gamma: ArrayLike, p: int) -> Array:
    """P(V_1 >= gamma) for V uniform on the sphere in p dimensions and gamma in [-1, 1]."""
    gamma = np.asarray(gamma, dtype=float)
    if p == 1:
        return np.where(gamma > 0, np.where(gamma > 1, 0.0, 0.5), 0.5)
    size = np.abs(gamma)
    # The same number twice: gamma^2 has its digits near 0, 1 - gamma^2 near 1.
    tail = np.where(
        size < 0.5,
        special.betaincc(0.5, (p - 1) / 2, np.minimum(size, 0.5) ** 2),
        special.betainc((p - 1) / 2, 0.5, (1 - size) * (1 + size)),
    )
    tail /= 2
    return np.where(gamma >= 0, tail, 1 - tail)


def cap_moment(gamma: float, p: int) -> float:
    """E[V_1 1{V_1 >= gamma}] for V uniform on the sphere in p dimensions."""
    log_half = special.loggamma(p / 2) - special.loggamma((p + 1) / 2) - math.log(4 * math.pi) / 2
    # 1 - gamma^2 as a product: gamma may be within rounding of 1.
    return math.exp(float(log_half) + (p - 1) / 2 * math.log((1 - gamma) * (1 + gamma)))


@lru_cache(maxsize=1024)
def best_cap(p: int, epsilon: float) -> float:
    """The root of kappa gamma = E(V_1 - gamma)^+; see `SphereRandomiser`."""
    if p == 1:
        return 0.0
    log_kappa = -epsilon - math.log(-math.expm1(-epsilon))

    def excess(gamma: float) -> float:
        mean_above = cap_moment(gamma, p) - gamma * float(cap_mass(gamma, p))
        return log_kappa + math.log(gamma) - math.log(max(mean_above, 1e-320))

    # E(V_1 - gamma)^+ <= E V_1^+, so gamma is at most E V_1^+/kappa; and it is below 1.
    high = min(math.exp(min(math.log(cap_moment(0.0, p)) - log_kappa, 0.0)), 1 - 1e-15)
    low = high
    while excess(low) >= 0:
        low /= 2
    return float(optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-14)) if low < high else low


def error_per_dimension(epsilon: float, cap: Literal["half", "best"]) -> float:
    """Limit of error/p at unit vectors as p grows: <u, V> sqrt p tends to a standard normal Z.

    For the half (pi/2) coth^2(epsilon/2); for the best cap 1/t^2 with kappa t = E(Z - t)^+.
    """
    check_positive(epsilon=epsilon)
    if cap == "half":
        return math.pi / 2 / math.tanh(epsilon / 2) ** 2
    kappa = 1 / math.expm1(epsilon)

    def excess(t: float) -> float:
        density = math.exp(-(t**2) / 2) / math.sqrt(2 * math.pi)
        return kappa * t - density + t * float(special.ndtr(-t))

    high = 1.0
    while excess(high) < 0:
        high *= 2
    return float(optimize.brentq(excess, 0.0, high, xtol=1e-300, rtol=1e-14)) ** -2


def _inner_products_within(gamma: float, p: int, size: int, rng: np.random.Generator) -> Array:
    """Draws of V_1 given V_1 >= gamma, exactly."""
    mass = float(cap_mass(gamma, p))
    if mass > 0.05:
        return _accepted(size, 2 * mass, lambda m: _keep(np.abs(_marginal(p, m, rng)), gamma))

    def tail(m: int) -> Array:
        # t^2 has density proportional to t^{-1} (1 - t^2)^{(p-3)/2}: the second factor is inverted,
        # the first is the chance gamma/t of keeping a draw.
        t = np.sqrt(1 - (1 - gamma**2) * rng.random(m) ** (2 / (p - 1)))
        return np.asarray(t[rng.random(m) * t < gamma])

    return _accepted(size, 0.7, tail)


def _inner_products_outside(gamma: float, p: int, size: int, rng: np.random.Generator) -> Array:
    """Draws of V_1 given V_1 < gamma, exactly."""

    def below(m: int) -> Array:
        t = _marginal(p, m, rng)
        return np.asarray(t[t < gamma])

    return _accepted(size, 0.5, below)


def _marginal(p: int, size: int, rng: np.random.Generator) -> Array:
    return 2 * rng.beta((p - 1) / 2, (p - 1) / 2, size) - 1


def _keep(t: Array, gamma: float) -> Array:
    return np.asarray(t[t >= gamma])


def _accepted(size: int, rate: float, draw: Callable[[int], Array]) -> Array:
    """`size` draws that were accepted, by rounds of as many as are expected to be needed."""
    found = np.empty(size)
    filled = 0
    while filled < size:
        kept = draw(int((size - filled) / rate) + 16)[: size - filled]
        found[filled : filled + len(kept)] = kept
        filled += len(kept)
    return found
