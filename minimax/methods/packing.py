r"""Block packings: how well can a data-free guess do, and what does privacy add to it.

The packing: s blocks of m coordinates, one random signed unit entry v in each. For a guess u that
does not depend on v, in every block

    log E exp(b (2<u, v> - |u|^2)) <= h_m(b) = max_{0<=c<=1} -b c^2 + log((m - 1 + cosh 2bc)/m).

(At fixed |u| the mean of cosh(2 b u_j) is convex in the u_j^2, so one coordinate takes it all; past
c = 1 the expression decreases.) Hence P(|u - v|^2 < r s) <= exp(-s sup_b [(1 - r) b - h_m(b)]).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special, stats

from minimax import bound as symbols
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.binomial import binomial_cdf

Array = NDArray[np.float64]
RADII = np.concatenate([[0.5], np.linspace(0.02, 0.96, 48)])
"""Relative squared radii r tried for the success event; 1/2 is the closed form's."""


def _block_objective(b: Array, c: Array, m: int) -> Array:
    x = 2 * b * c
    # log((m - 1 + cosh x)/m) without overflow.
    rest = math.log(m - 1) if m > 1 else -math.inf  # math.log takes integers of any size
    return -b * c**2 + np.logaddexp(rest, np.logaddexp(x, -x) - math.log(2)) - math.log(m)


def block_exponent(b: ArrayLike, m: int) -> Array:
    """h_m(b), to about 1e-12, by a grid and a golden-section polish."""
    b = np.atleast_1d(np.asarray(b, dtype=float))
    grid = np.linspace(0.0, 1.0, 513)
    best = np.argmax(_block_objective(b[:, None], grid[None, :], m), axis=1)
    low = grid[np.maximum(best - 1, 0)]
    high = grid[np.minimum(best + 1, len(grid) - 1)]
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        go_left = _block_objective(b, left, m) >= _block_objective(b, right, m)
        low, high = np.where(go_left, low, left), np.where(go_left, right, high)
    return np.maximum(_block_objective(b, (low + high) / 2, m), 0.0)


def free_exponent(m: int) -> float:
    r"""b_m = sup{b : h_m(b) = 0}; log(2m)/2 <= b_m <= log(2m).

    **Lower end.** With l = log 2m and b = l/2 one needs log(1 + (cosh x - 1)/m) <= x^2/(2l) on
    [0, l]. (cosh x - 1)/x^2 increases, so (cosh x - 1)/m <= x^2 (cosh l - 1)/(m l^2)
    <= x^2 (1 - 1/2m)^2/l^2, and (1 - 1/2m)^2 <= l/2 for every m >= 1.
    **Upper end.** At c = 1, e^{2b}/(2m) <= cosh(2b)/m <= e^b.
    """
    if m == 1:
        return 0.5  # cosh x <= e^{x^2/2} and its expansion at 0
    low, high = math.log(2 * m) / 2, math.log(2 * m)
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if block_exponent(middle, m)[0] <= 1e-14 else (low, middle)
    return low


@lru_cache(maxsize=256)
def _exponents(m: int) -> tuple[Array, Array]:
    """A grid of b with h_m(b), which holds the closed form's b = log(2m)/2."""
    b = np.concatenate(
        [[math.log(2 * m) / 2, free_exponent(m)], np.linspace(0.02, 1.5 * math.log(2 * m) + 3, 240)]
    )
    return b, block_exponent(b, m)


def log_guess_probability(m: int, s: int, radii: Array = RADII) -> Array:
    """-log of the bound on P(|u - v|^2 < r s) for a guess u without data, for each r."""
    b, h = _exponents(m)
    return np.maximum(s * np.max((1 - radii[:, None]) * b - h, axis=1), 0.0)


def kearns_saul(alpha: Any) -> Any:
    """Sub-Gaussian variance proxy of a Bernoulli(alpha): (1 - 2 alpha)/(2 log((1 - alpha)/alpha)).

    (Kearns and Saul, 1998; the optimal one. Its limits at 1/2 and 1 are 1/4 and 0.)
    """
    if isinstance(alpha, sp.Basic):
        return (1 - 2 * alpha) / (2 * sp.log((1 - alpha) / alpha))
    alpha = np.asarray(alpha, dtype=float)
    special_case = (np.abs(alpha - 0.5) < 1e-6) | (alpha >= 1)
    safe = np.where(special_case, 0.25, alpha)
    proxy = (1 - 2 * safe) / (2 * np.log((1 - safe) / safe))
    return np.where(special_case, np.where(alpha >= 1, 0.0, 0.25), proxy)


@dataclass(frozen=True)
class PackingOptimum:
    """Where the packing bound is largest."""

    value: float
    alpha: float
    height: float
    r: float


class Packing(Protocol):
    """A family of laws indexed by the sign blocks v, each coupled record by record with one law.

    Given v, a record differs from that of the common law with probability alpha, independently of
    the other records. *Which* records differ may depend on the common data; if the common law is a
    single point it cannot.
    """

    @property
    def n(self) -> int:
        """Number of records."""

    @property
    def m(self) -> int:
        """Coordinates in a block."""

    @property
    def s(self) -> int:
        """Number of blocks."""

    def height(self, alpha: Array) -> Array:
        """The size of a non-zero entry that goes with alpha."""

    def separation(self, alpha: Array) -> Array:
        """The loss of an estimate at relative squared distance 1 from v."""

    def saturation(self) -> float:
        """The largest alpha worth having (it may be 1)."""

    def intensity(self, alpha: Array) -> tuple[Array, Array] | None:
        """Mean and standard deviation (or bounds on them) of Lambda in `packing_bound`.

        None if the common law is a point.
        """


@dataclass(frozen=True)
class BlockPacking:
    """Means alpha B v: a record is B v with probability alpha and 0 otherwise.

    B = sigma for bounded data; for sub-Gaussian data B = sigma/sqrt(v_alpha) with the Kearns-Saul
    proxy v_alpha, lowered to radius/alpha where the class asks |mean_j| <= radius.
    """

    n: int
    m: int
    s: int
    sigma: float
    radius: float
    data: str

    def height(self, alpha: ArrayLike) -> Array:
        """B: the size of a non-zero record's entries that keeps the law in the class."""
        alpha = np.asarray(alpha, dtype=float)
        top = np.full_like(alpha, self.sigma)
        if self.data != "bounded":
            top = self.sigma / np.sqrt(np.maximum(kearns_saul(alpha), 1e-300))
        return np.minimum(top, self.radius / alpha)

    def separation(self, alpha: Array) -> Array:
        """s (alpha B)^2."""
        return np.asarray(self.s * (alpha * self.height(alpha)) ** 2)

    def saturation(self) -> float:
        """The smallest alpha at which the mean's entries alpha B reach the radius (or 1)."""

        def excess(log_alpha: float) -> float:
            alpha = math.exp(log_alpha)
            free = self.sigma
            if self.data != "bounded":
                free = self.sigma / math.sqrt(float(kearns_saul(alpha)))
            return alpha * free - self.radius

        if excess(math.log(1 - 1e-9)) <= 0:
            return 1.0
        if excess(-600.0) >= 0:
            return math.exp(-600.0)
        return math.exp(float(optimize.brentq(excess, -600.0, math.log(1 - 1e-9))))

    def intensity(self, alpha: Array) -> None:
        """The common law is the point 0."""


@dataclass(frozen=True)
class RegressionPacking:
    r"""Regression coefficients g v with x uniform on {-1/sqrt s, 1/sqrt s}^d, loss |.|^2/s.

    N(<x, beta>, sigma^2) and N(0, sigma^2) agree but for a chance 2 Phi(|<x, beta>|/(2 sigma)) - 1
    (maximal coupling), and <x, beta> = g W with W the mean of s signs times sqrt(s). So a record
    differs from one of beta = 0 with probability alpha(g) = E 2 Phi(g |W|/(2 sigma)) - 1
    (`difference`). At relative squared distance r from v the loss is r g^2. The class asks
    g sqrt(s) <= radius.
    """

    n: int
    m: int
    s: int
    sigma: float
    radius: float

    def difference(self, g: ArrayLike) -> Array:
        r"""alpha(g): exact for s <= 500, beyond that a bound with the normal law in place of W.

        For Z ~ N(0, 1), E 2 Phi(c |Z|) - 1 = (2/pi) arctan c; the Wasserstein distance of W and Z
        is at most 1/sqrt(s) (Goldstein, 2010), and the function has slope at most 2 c/sqrt(2 pi).
        By Jensen's inequality alpha(g) <= 2 Phi(c) - 1 for every s.
        """
        c = np.asarray(g, dtype=float) / (2 * self.sigma)
        if self.s > 500:
            normal = 2 / math.pi * np.arctan(c) + 2 * c / math.sqrt(2 * math.pi * self.s)
            return np.minimum(normal, special.erf(c / math.sqrt(2)))
        W, chance = self._walk()
        return np.asarray(special.erf(c[..., None] * W / math.sqrt(2)) @ chance)

    def _walk(self) -> tuple[Array, Array]:
        """The values of |W| and their chances."""
        ups = np.arange(self.s + 1)
        return np.abs(2 * ups - self.s) / math.sqrt(self.s), stats.binom.pmf(ups, self.s, 0.5)

    def height(self, alpha: ArrayLike) -> Array:
        """A g with alpha(g) <= alpha, or the largest the class allows.

        alpha(g) is concave and 0 at 0, so from a g that is small enough g alpha/alpha(g) is
        again; it converges in a few rounds. The first g is, by Jensen's inequality.
        """
        alpha = np.asarray(alpha, dtype=float)
        g = math.sqrt(8) * self.sigma * special.erfinv(np.minimum(alpha, 1 - 1e-12))
        for _ in range(8):
            g = g * np.maximum(alpha / self.difference(g), 1.0)
        return np.minimum(g, self.radius / math.sqrt(self.s))

    def separation(self, alpha: Array) -> Array:
        """g^2."""
        return np.asarray(self.height(alpha) ** 2)

    def saturation(self) -> float:
        """The alpha at which g reaches radius/sqrt(s)."""
        return min(max(float(self.difference(self.radius / math.sqrt(self.s))), 1e-250), 1.0)

    def intensity(self, alpha: Array) -> tuple[Array, Array]:
        r"""Exact for s <= 500, beyond that bounds.

        A record of beta = 0 has log-likelihood ratio l = c^2/2 - c xi, c = g |W|/sigma,
        xi ~ N(0, 1), so that given W

            E l^+ = c phi(c/2) + (c^2/2) Phi(c/2),
            E (l^+)^2 = (c^2 + c^4/4) Phi(c/2) + (c^3/2) phi(c/2).

        For large s: E l^+ <= E c^2/2 + c xi^+, E|W| <= sqrt(2/pi) + 1/sqrt(s) as in `difference`,
        and l^+ varies less than l, whose variance is E c^2 + Var(c^2)/4.
        """
        # Past 1e50 every record differs; there is nothing to gain there but overflow.
        c = np.minimum(self.height(alpha) / self.sigma, 1e50)
        if self.s > 500:
            size = min(math.sqrt(2 / math.pi) + 1 / math.sqrt(self.s), 1.0)
            mean, variance = c**2 / 2 + c * size / math.sqrt(2 * math.pi), c**2 + c**4 / 2
        else:
            W, chance = self._walk()
            c = c[..., None] * W
            density, below = stats.norm.pdf(c / 2), special.ndtr(c / 2)
            mean = (c * density + c**2 / 2 * below) @ chance
            square = ((c**2 + c**4 / 4) * below + c**3 / 2 * density) @ chance
            variance = np.maximum(square - mean**2, 0.0)
        return self.n * mean, np.sqrt(self.n * variance)

    @staticmethod
    def expression(model: type[Any], log_size: Any, s: Any) -> Any:
        r"""The closed form g^2/8 (g^2/16 for (eps, delta)): r = 1/2, alpha = N_0/(2n), k = N_0.

        g >= sigma sqrt(2 pi) alpha, and P = P(N <= N_0) >= 1/2 by Markov. N_0 makes T_{N_0}(q) at
        most 1/4 without the delta, which is at most 1/4 too. P (1 - T(q/P)) grows with P, so it is
        at least (1 - T(2q))/2: for a pure budget T(2q) <= 1/2, with delta 3/4; for zCDP and GDP
        T(2q) = exp(-(sqrt(L - log 2) - sqrt L + sqrt(log 4))^2), which falls with L from 1/2 at
        L = log 4, where N_0 = 0.
        """
        alpha = _closed_size_expression(model, log_size, s) / (2 * symbols.n)
        reach = 2 * sp.pi * (symbols.sigma * alpha) ** 2
        return sp.Min(reach, symbols.radius**2 / s) / (16 if model is Approximate else 8)


def _best(packing: Packing, privacy: Privacy, alphas: Array, radii: Array) -> PackingOptimum:
    """The largest value over the given alphas and success radii."""
    log_guess = log_guess_probability(packing.m, packing.s, radii)
    sizes = _group_sizes(privacy, float(log_guess.max()), packing.n, 400)
    intensity = packing.intensity(alphas)
    if intensity is None:
        below = binomial_cdf(sizes[:, None], packing.n, alphas[None, :])
        failure = _mixed_failure(privacy, sizes, below, log_guess)
    else:
        mean, deviation = intensity
        below = stats.poisson.cdf(sizes[:, None], mean[None, :])
        excess = deviation / 2 * poisson_mode(mean)
        failure = _mixed_failure(privacy, sizes, below, log_guess) - excess[:, None]
        failure = np.maximum(failure, _truncated_failure(packing, privacy, alphas, log_guess))
    values = radii * packing.separation(alphas)[:, None] * failure
    i, k = np.unravel_index(int(np.argmax(values)), values.shape)
    height = float(packing.height(alphas)[i])
    return PackingOptimum(float(values[i, k]), float(alphas[i]), height, float(radii[k]))


def _mixed_failure(privacy: Privacy, sizes: Array, below: Array, log_guess: Array) -> Array:
    """1 - E T_N(q) for each law of N, a column of `below` = P(N <= size)."""
    success = np.stack([_success(privacy, k, -log_guess) for k in sizes])
    weights = np.diff(below, axis=0, prepend=0.0)
    return np.asarray(np.clip(below[-1][:, None] - weights.T @ success, 0.0, 1.0))


def _truncated_failure(
    packing: Packing, privacy: Privacy, alphas: Array, log_guess: Array
) -> Array:
    """max_k P(N <= k) (1 - T_k(q/P(N <= k)))."""
    sizes = _group_sizes(privacy, float(log_guess.max()), packing.n, 120)
    closed = math.floor(closed_form_size(packing.m, packing.s, privacy))
    sizes = np.unique(np.append(sizes, min(closed, packing.n)))
    below = binomial_cdf(sizes[:, None], packing.n, alphas[None, :])
    failure = np.zeros((len(alphas), len(log_guess)))
    for k, reached in zip(sizes, below, strict=True):
        chance = np.maximum(reached, 1e-300)[:, None]
        fails = chance * (1 - _success(privacy, k, -log_guess - np.log(chance)))
        failure = np.maximum(failure, fails)
    return failure


def poisson_mode(mean: Array) -> Array:
    """At least the largest probability of a Poisson law, by Stirling's k! >= (k/e)^k sqrt(2 pi k).

    It decreases with the mean and at the mean k it is k^k e^-k/k!.
    """
    return np.asarray(1 / np.sqrt(np.maximum(2 * math.pi * np.floor(mean), 1.0)))


def _success(privacy: Privacy, size: float, log_q: Array) -> Array:
    """T_k(q): the largest chance, after changing k records, of an event that had chance q."""
    log_q = np.minimum(log_q, 0.0)
    return np.asarray(privacy.group(int(size)).tradeoff_log(log_q)) if size else np.exp(log_q)


def packing_bound(packing: Packing, privacy: Privacy) -> PackingOptimum:
    r"""The private packing bound, optimised over alpha and the success radius.

    **Statement.** For every private M, some law of the packing and every r in (0, 1),
    risk >= r separation(alpha) F, where F = 1 - E_N T_N(q_r), N ~ Binomial(n, alpha), if the common
    law is a point, and in general F is the larger of

        1 - E T_K(q_r) - w(lambda) dev(Lambda)/2,       K ~ Poisson(lambda), lambda >= E Lambda,
        max_k P(N <= k) (1 - T_k(q_r/P(N <= k))).

    q_r is the probability with which a guess without data comes within the radius, T_k(q) the
    largest probability that privacy lets such an event have after changing k records, Lambda =
    sum_i (log p_0/p_v)^+ over n records of the common law p_0 and w(lambda) the largest
    probability of a Poisson(lambda) law.

    **Proof.** Couple the data with n records of the common law, whose release is independent of v:
    N of them differ. Let p be the conditional probability of success of a release from the common
    data, E p <= q. Given the coupling, success has probability at most T_N(p), which is concave
    in p and grows with N. If the common data are fixed, N is independent of p. If not:

    * In the maximal coupling a record of the common data is changed with chance
      (1 - p_v/p_0)^+ = 1 - e^{-(log p_0/p_v)^+}, given those data independently of the others. A
      Bernoulli of that chance is stochastically below a Poisson of mean (log p_0/p_v)^+ (both are
      0 with the same chance), so given the data N is below Poisson(Lambda). With f(x) =
      E T_Poisson(x)(p), f'(x) = sum_k P(Poisson(x) = k) (T_{k+1} - T_k) <= w(x), as T grows from
      at least 0 to at most 1; w decreases, so f(Lambda) <= f(lambda) + w(lambda) (Lambda -
      lambda)^+. Take means: Jensen for the first term, E (Lambda - E Lambda)^+ =
      E|Lambda - E Lambda|/2 <= dev/2 for the second. What is left of the dependence is the small
      spread of Lambda: for regression w dev is of order sqrt(lambda/n).
    * P(success, N <= k) <= E 1(N <= k) T_k(p) <= P(N <= k) T_k(E[p 1(N <= k)]/P(N <= k)).

    Then Markov's inequality for the loss.

    (For a random common law 1 - E_N T_N(q) is false: with one sign, n = 4 records y x of mean g or
    0, and randomised response on the sign of their sum, success has probability .971 at g = 1,
    epsilon = 5, where it gives .926.)
    """
    largest = float(log_guess_probability(packing.m, packing.s).max())
    closed = closed_form_size(packing.m, packing.s, privacy)
    alphas = np.append(_mixing_weights(packing.n, privacy, largest, closed), packing.saturation())
    best = _best(packing, privacy, alphas, RADII)
    for width in (0.16, 0.02, 0.0025):
        near = np.minimum(best.alpha * np.linspace(1 - width, 1 + width, 33), 1.0)
        radii = np.clip(best.r + width / 8 * np.linspace(-1, 1, 21), 1e-3, 1 - 1e-3)
        best = max(best, _best(packing, privacy, near, radii), key=lambda found: found.value)
    return best


def _trivial_size(privacy: Privacy, log_guess: float) -> float:
    """A group size beyond which privacy says (next to) nothing about the success event."""
    if isinstance(privacy, ZeroConcentrated):
        return math.sqrt(log_guess / privacy.rho)
    if isinstance(privacy, Gaussian):
        return (math.sqrt(2 * log_guess) + 6) / privacy.mu
    if isinstance(privacy, Approximate):
        return min(log_guess, _log_room(privacy.epsilon, privacy.delta)) / privacy.epsilon
    assert isinstance(privacy, Pure)
    return log_guess / privacy.epsilon


def _log_room(epsilon: float, delta: float) -> float:
    """log(1 + (e^epsilon - 1)/delta): k epsilon at which the group's delta reaches 1."""
    log_growth = epsilon + math.log(-math.expm1(-epsilon))
    return float(np.logaddexp(0.0, log_growth - math.log(delta)))


def _group_sizes(privacy: Privacy, log_guess: float, n: int, most: int) -> Array:
    """Group sizes at which success is evaluated; between them the larger one's bound is used."""
    top = min(math.ceil(_trivial_size(privacy, log_guess)) + 1, n)
    if top <= most:
        return np.arange(0, top + 1, dtype=float)
    return np.unique(np.round(np.linspace(0, top, most + 1)))


def _mixing_weights(n: int, privacy: Privacy, log_guess: float, closed: float) -> Array:
    top = _trivial_size(privacy, log_guess)
    centres = np.geomspace(max(top / 200, 1e-3), max(4 * top, 1.0), 160) / n
    alphas = np.append(centres, min(closed, n) / (2 * n))
    return np.unique(np.minimum(alphas[alphas > 0], 1.0))


def closed_form_size(m: int, s: int, privacy: Privacy) -> float:
    """N_0 of the closed form: the group size after which success has chance at most 1/2."""
    L = s * math.log(2 * m) / 4
    quarter = math.log(4)
    if quarter >= L:
        return 0.0
    if isinstance(privacy, (ZeroConcentrated, Gaussian)):
        return (math.sqrt(L) - math.sqrt(quarter)) / math.sqrt(privacy.to_zcdp().rho)
    room = L - quarter
    if isinstance(privacy, Approximate):
        room = min(room, _log_room(privacy.epsilon, 4 * privacy.delta))
    assert isinstance(privacy, (Pure, Approximate))
    return room / privacy.epsilon


def packing_expression(model: type[Any], log_size: Any, s: Any, data: str) -> Any:
    r"""The closed form s N_0^2 B^2/(32 n^2) of a `BlockPacking`, with alpha = N_0/(2n).

    Take r = 1/2 and b = log(2m)/2 (h_m vanishes there), so that a guess succeeds with chance at
    most e^{-L}, L = s log(2m)/4 (`log_size` is a lower bound on log 2m). N_0 is chosen so that
    success after changing N_0 records has chance at most 1/2; Markov gives P(N <= N_0) >= 1/2.
    """
    n, sigma, radius = symbols.n, symbols.sigma, symbols.radius
    size = _closed_size_expression(model, log_size, s)
    if data == "bounded":
        return s * size**2 * sigma**2 / (32 * n**2)
    # With alpha < 1/2 the proxy is at most 1/4 but the exact one carries a logarithm more.
    alpha = sp.Max(size, n * sp.Float("1e-30")) / (2 * n)
    squared_height = sp.Min(sigma**2 / kearns_saul(alpha), radius**2 / alpha**2)
    return s * size**2 * squared_height / (32 * n**2)


def _closed_size_expression(model: type[Any], log_size: Any, s: Any) -> Any:
    """N_0 of `closed_form_size` as an expression, at most .99 n."""
    L, quarter = s * log_size / 4, sp.log(4)
    if model in (ZeroConcentrated, Gaussian):
        rho = symbols.rho if model is ZeroConcentrated else symbols.mu**2 / 2
        size = (sp.sqrt(L) - sp.sqrt(quarter)) / sp.sqrt(rho)
    else:
        room = L - quarter
        if model is Approximate:
            growth = (sp.exp(symbols.epsilon) - 1) / (4 * symbols.delta)
            room = sp.Min(room, sp.log(1 + growth))
        size = room / symbols.epsilon
    return sp.Min(symbols.positive_part(size), symbols.n * sp.Rational(99, 100))


def information_bound(n: float, m: int, s: int, sigma: float, radius: float) -> tuple[float, float]:
    r"""(bound, tau): the statistical bound for a mean tau v of Gaussian data.

    **Statement.** R >= sup_{b, tau <= radius} s tau^2 [1 - (h_m(b) + n tau^2/(2 sigma^2))/b].

    **Proof.** Donsker-Varadhan with the loss itself: with u = M/tau,
    b E(2<u, v> - |u|^2) <= I(v; X) + s h_m(b), and I(v; X) <= s n tau^2/(2 sigma^2). At
    tau^2 = sigma^2 (b - h)/n the value is s sigma^2 (b - h)^2/(2 n b); at b = b_m,
    s b_m sigma^2/(2n).
    """
    b, h = _exponents(m)
    tau_squared = np.minimum(sigma**2 * np.maximum(b - h, 0.0) / n, radius**2)
    values = s * tau_squared * (1 - (h + n * tau_squared / (2 * sigma**2)) / b)
    i = int(np.argmax(values))
    return float(values[i]), float(math.sqrt(tau_squared[i]))
