r"""Explicit constants for noisy gradient descent, with and without hard thresholding.

An upper bound on the error of an iterative estimator is put together from four pieces, each proved
in the docstring of its function:

* where the eigenvalues of H = (1/n) sum x_i x_i', or of its principal submatrices, lie but for a
  given chance (`chernoff_interval`, `coherence_interval`);
* how much hard thresholding can stretch an error (`thresholding_factor`);
* how large the k largest of d noise coordinates are (`gaussian_top`, `subgaussian_top`);
* the recursion for the error that follows (`Recursion`).

`minimax.methods.noisy_descent` and the problems' upper bounds put them together for the papers'
theorems. Formulas take arrays of chances and step sizes, over which a risk is minimised, and any
kind of number, for which it is proved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import NamedTuple

import mpmath
import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.balls import BALLS, Ball, root_near
from minimax.core.symbolic import FLOATS, Library, Number, approximately, library

Array = NDArray[np.float64]
FAILURES: Array = np.logspace(-18, -0.3, 40)
"""Chances of failure of the eigenvalue bounds among which a proven risk is minimised."""
EULER = 0.5772156649015329

ARRAYS: Library = SimpleNamespace(
    sqrt=np.sqrt,
    log=np.log,
    hypot=np.hypot,
    least=np.minimum,
    largest=np.maximum,
    is_symbolic=False,
)


def functions(*values: Number) -> Library:
    """`library`, or numpy's functions if one of the values is an array."""
    if any(isinstance(value, np.ndarray) for value in values):
        return ARRAYS
    return library(*values)


def hypot(x: Number, y: Number) -> Number:
    """sqrt(x^2 + y^2), without overflow for floats and arrays."""
    lib = functions(x, y)
    if lib is ARRAYS:
        return np.hypot(x, y)
    return math.hypot(x, y) if lib is FLOATS else lib.sqrt(x**2 + y**2)


class Interval(NamedTuple):
    """Where eigenvalues lie; arrays if the chance of failure is an array."""

    low: Number
    high: Number


# --- Eigenvalues of the sample covariance --------------------------------------------------------


def chernoff_interval(
    n: Number,
    size: Number,
    reach: Number,
    population: Interval,
    failure: Number,
    log_sets: Number = 0.0,
) -> Interval:
    r"""Eigenvalues of (1/n) sum x_i x_i' for n independent rows in R^size with |x_i|^2 <= reach.

    **Statement.** If E x x' has eigenvalues in [l, h] then, but for a chance `failure`, all
    eigenvalues lie in [l u_-, h u_+], where u_- <= 1 <= u_+ solve

        (n l/reach) k(u_-) = (n h/reach) k(u_+) = log(2 size/failure) + log_sets,

    k(u) = u log u - u + 1; u_- = 0 if there is no solution. With `log_sets` = log N this holds for
    N such families at once, by the union bound.

    **Proof.** Matrix Chernoff (Tropp, 2012, Theorem 1.1): P(lambda_min <= u l) <=
    size exp(-(n l/reach) k(u)) for u < 1, and the same with h above. Tropp states it with the
    extreme eigenvalues of the mean in place of l and h; m k(c/m) falls in m < c and grows in m > c,
    so weaker l and h are allowed. k is convex, so Newton's method from a first guess (Lambert's W)
    lands on the safe side.
    """
    cost = (functions(failure, n).log(2 * size / failure) + log_sets) * reach / n
    return Interval(
        population.low * (1 + _deviation(cost / population.low, -1)),
        population.high * (1 + _deviation(cost / population.high, 0)),
    )


def isotropic_deviation(n: Number, size: Number, failure: Number) -> Number:
    """The largest |eigenvalue - 1| of (size/n) sum x_i x_i', |x_i| = 1, E x x' = I/size.

    But for a chance `failure`. It is u_+ - 1 of `chernoff_interval`, without the rounding of
    (1 + x) - 1: k(1 + x) <= k(1 - x) for x > 0, so 1 - u_- is no larger.
    """
    return _deviation(functions(failure, n).log(2 * size / failure) * size / n, 0)


def _deviation(cost: Number, branch: int) -> Number:
    """x with (1 + x) log(1 + x) - x = cost: below 0 (branch -1; -1 if none) or above (branch 0)."""
    if type(cost) is float:  # searches ask often
        return _float_deviation(cost, branch)
    if isinstance(cost, Ball):
        return _enclosed_deviation(cost, branch)
    if isinstance(cost, mpmath.mpf):
        x = mpmath.mpf(_deviation(float(cost), branch))
        if branch == -1 and (cost >= 1 or x <= -1):
            return mpmath.mpf(-1)
        for _ in range(3):
            log = mpmath.log1p(x)
            x -= ((1 + x) * log - x - cost) / log
        return x
    held = np.asarray(cost, dtype=float)
    reachable = held < 1 - 1e-12 if branch == -1 else np.full(held.shape, True)
    held = np.where(reachable, held, 0.5)
    # Near x = 0, where W has a branch point, cost is x^2/2 to first order.
    far = special.lambertw((np.maximum(held, 1e-3) - 1) / math.e, branch).real
    x = np.where(held < 1e-3, (1 + 2 * branch) * np.sqrt(2 * held), np.expm1(1 + far))
    for _ in range(4):
        x = np.maximum(x - (_rate(x) - held) / np.log1p(x), 1e-300 - 1)
    found = np.where(reachable, x, -1.0)
    return found if isinstance(cost, np.ndarray) else float(found)


def _float_deviation(cost: float, branch: int) -> float:
    """`_deviation` for one float: Newton's method from the far side of the root.

    Above 0 the function is at least x^2/(2 (1 + x/3)) (Bernstein), below at least x^2/2, so the
    starts have at least the cost; it is convex, so every step stays on that side.
    """
    if branch == -1 and cost >= 1 - 1e-12:
        return -1.0
    if branch == -1:
        x = max(-math.sqrt(2 * cost), 1e-16 - 1)
    else:
        x = cost / 3 + math.sqrt((cost / 3) ** 2 + 2 * cost)
    for _ in range(50):
        step = (_float_rate(x) - cost) / math.log1p(x)
        x -= step
        if abs(step) <= 1e-15 * abs(x):
            break
    return x


def _float_rate(x: float) -> float:
    """`_rate` for one float."""
    if abs(x) >= 0.1:
        return (1 + x) * math.log1p(x) - x
    total = 0.0
    for k in range(15, 1, -1):
        total = 1 / (k * (k - 1)) - x * total
    return x * x * total


def _enclosed_deviation(cost: Ball, branch: int) -> Ball:
    """`_deviation` as a ball: the function grows above 0, and minus the function below."""
    start = _deviation(cost.middle, branch)
    if branch == -1 and (cost >= 1 or start <= -1):
        return Ball(-1)
    sign = 1 + 2 * branch
    return root_near(
        lambda x: sign * ((1 + x) * BALLS.log1p(x) - x - cost),
        lambda x: sign * BALLS.log1p(x),
        start,
    )


def _rate(x: Array) -> Array:
    """(1 + x) log(1 + x) - x, by its series sum_k (-x)^k/(k (k - 1)) where that cancels."""
    near = np.clip(x, -0.1, 0.1)
    series = np.zeros_like(near)
    for k in range(15, 1, -1):
        series = 1 / (k * (k - 1)) - near * series
    series *= near * near
    return np.asarray(np.where(np.abs(x) < 0.1, series, (1 + x) * np.log1p(x) - x))


def coherence_interval(
    n: Number, d: Number, size: Number, unit: Number, failure: Number
) -> Interval:
    r"""Eigenvalues of every principal submatrix of that size for uncorrelated signs.

    **Statement.** Rows with x_j^2 = unit and E x_j x_k = 0: but for a chance `failure` they lie in
    unit [1 - g, 1 + g], g = (size - 1) sqrt(2 log(d^2/failure)/n).

    **Proof.** Each of the d(d-1)/2 off-diagonal entries of H/unit is a mean of n independent
    centred variables in [-1, 1], so it exceeds t with chance at most 2 exp(-n t^2/2) (Hoeffding);
    the diagonal is 1; Gershgorin.
    """
    lib = functions(failure, n, d)
    spread = (size - 1) * lib.sqrt(2 * lib.log(d**2 / failure) / n)
    return Interval(unit * lib.largest(1 - spread, 0.0), unit * (1 + spread))


def contraction(step_size: Number, interval: Interval) -> Number:
    """Largest |1 - step_size lambda| over an interval: the norm of I - step_size H."""
    low, high = (abs(1 - step_size * end) for end in interval)
    return functions(low, high).largest(low, high)


# --- Hard thresholding ---------------------------------------------------------------------------


def thresholding_ratio(s: Number, s_star: Number, d: Number) -> Number:
    """Largest |S* without S|/|S without S*| over sets S of size s and S* of size s_star <= s.

    With a = |S* without S| <= min(s_star, d - s) it is a/(s - s_star + a), which grows in a. Not
    meant for s < s_star, where it is kept finite so that a bound can refuse such an s by itself.
    """
    lib = library(s_star, d)
    missed = lib.largest(lib.least(s_star, d - s), 0)
    return missed / lib.largest(s - s_star + missed, 1)


def thresholding_factor(s: Number, s_star: Number, d: Number) -> Number:
    r"""nu: |H_s(z) - x|^2 <= nu |z - x|^2 for every z in R^d and x with at most s_star entries.

    **Statement.** nu = 1 + (r + sqrt(r (4 + r)))/2, r = `thresholding_ratio`, and nu is the best
    such constant: sqrt(nu) - 1/sqrt(nu) = sqrt(r).

    **Proof.** Let S be the set kept, S* the support of x, A = S* \ S, B = S \ S*. On S and S*
    together the errors agree and off both only the right side has any, so it is enough that
    |x_A|^2 + |z_B|^2 <= nu (|z_A - x_A|^2 + |z_B|^2). Every entry of z_A is at most every entry of
    z_B in size, so |z_A|^2 <= (|A|/|B|) |z_B|^2 <= r |z_B|^2. Let |z_B| = 1, |z_A| = v <= sqrt r:
    the worst x_A is parallel to z_A, and u^2 + 1 <= nu ((u - v)^2 + 1) for all u if and only if
    nu v^2 <= (nu - 1)^2; at v = sqrt r that is the quadratic whose larger root nu is.

    **Source.** Shen and Li (2017), A tight bound of hard thresholding, Theorem 1.
    """
    r = thresholding_ratio(s, s_star, d)
    return 1 + (r + library(r).sqrt(r * (4 + r))) / 2


def selection_error(s: Number, s_star: Number, d: Number, method: str, scale: Number) -> Number:
    r"""What choosing the coordinates with noisy scores adds to hard thresholding.

    **Statement.** Let S be s coordinates chosen by the scores |z_j| + noise, in one pass of Gumbel
    noise or s rounds of Laplace noise. Then for x with at most s_star entries, in root mean square,

        |z_S - x| <= sqrt(nu) (|z - x| + w),   w = scale sqrt(r s) (highest_d + lowest_{s*}),

    nu of `thresholding_factor`, r of `thresholding_ratio`; highest_d bounds the root mean square
    of the largest of d unit noises (positive part), lowest_m that of minus the least of m.

    **Proof.** A and B as there. Some k in B, chosen in round i, was preferred to every j in A:
    |z_j| <= |z_k| + e_k, e_k = max_l w_il - min over S* of w_il (S* filled up to s_star places).
    Averaging over k in B and then over j in A, |z_A| <= sqrt(|A|/|B|) |z_B + e_B| <=
    sqrt(r) (|z_B| + |e_B|). Shorten z_A to length at most sqrt(r) |z_B|: that moves z by at most
    sqrt(r) |e_B| and leaves z_S as it is, and `thresholding_factor` holds for the shortened z,
    since its proof uses no more. E|e_B|^2 <= s E e_1^2. For m Laplace variables P(max > t) <=
    (m/2) e^{-t}, so E (max^+)^2 <= (t + 1)^2 + 1, t = log(max(m, 2)/2). The largest of d Gumbels is
    log d plus a Gumbel; minus the least of m exceeds log log 3m by y with chance at most
    m exp(-(1 + y) log 3m), a second moment of at most (2/3)/log^2 3m.

    **Source.** takes the place of CWZ19: Lemma 3.4, which has 1 + c where its proof has 1 + 1/c.
    """
    lib = library(s_star, d)
    if method == "peeling":
        rms = _laplace_rms(d) + _laplace_rms(s_star)
    else:
        highest = lib.sqrt((lib.log(d) + EULER) ** 2 + lib.pi**2 / 6)
        log3m = lib.log(3 * s_star)
        rms = highest + lib.log(log3m) + lib.sqrt(2 / 3) / log3m
    return scale * lib.sqrt(thresholding_ratio(s, s_star, d) * s) * rms


def _laplace_rms(m: Number) -> Number:
    lib = library(m)
    return lib.sqrt((lib.log(lib.largest(m, 2) / 2) + 1) ** 2 + 1)


# --- The largest of many noises ------------------------------------------------------------------


def gaussian_top(k: Number, d: Number) -> Number:
    r"""A bound on E of the sum of the k largest squares among d standard Gaussians.

    **Statement.** k u^2 + 2 d [u phi(u) + (1 - u^2) Phi(-u)] for any u >= 0; the best u has
    P(|g| > u) = k/d, where it is k + 2 d u phi(u). d if k = d. Any dependence is allowed.

    **Proof.** The sum is int min(k, N(t)) dt, N(t) the number of squares above t, and
    E min(k, N) <= min(k, E N); integrate k up to u^2 and d P(g^2 > t) above.
    """
    if k <= 0:
        return 0.0
    lib = library(k, d)
    u = 0 * d - min(float(special.ndtri(approximately(k / d) / 2)), 0.0)  # of the kind of d
    density = lib.exp(-u * u / 2) / lib.sqrt(2 * lib.pi)
    return k * u * u + 2 * d * (u * density + (1 - u * u) * lib.ndtr(-u))


def gaussian_top_expression(k: Number, d: Number) -> Number:
    """2 k (log(d/k) + 1) >= `gaussian_top`, since P(g^2 > t) <= e^{-t/2}; 0 for d = 0."""
    lib = library(k, d)
    return lib.choose(d > 0, lambda: 2 * k * (lib.log(d / k) + 1), lambda: 0 * d)


def subgaussian_top(k: Number, d: Number) -> Number:
    """The same for sub-Gaussian(1) variables: min(d, 2 k (log(2d/k) + 1)), as P <= 2 e^{-t/2}."""
    if k == 0:
        return 0
    lib = library(k, d)
    return lib.least(d + 0 * k, 2 * k * (lib.log(2 * d / k) + 1))


# --- The recursion -------------------------------------------------------------------------------


class Recursion(NamedTuple):
    r"""One step of a noisy descent, in root mean square: m' = sqrt((rate m + drift)^2 + noise^2).

    **Descent.** b' = Proj(b - eta (M (b - beta) - r) + eta w), M symmetric with |I - eta M| <= q, r
    what the gradient at beta is in error by, w independent of the past with mean zero. The
    projection on a convex set that holds beta shortens distances, and w is uncorrelated with the
    rest: E|b' - beta|^2 <= E|(I - eta M)(b - beta) + eta r|^2 + eta^2 E|w|^2, so by Minkowski's
    inequality m' follows with rate = q, drift = eta rms(r), noise = eta rms(w).

    **Thresholded descent** (WG19: Algorithm 1). b' = Proj H_s(b - eta (M (b - beta) - r) + eta w),
    w ~ N(0, tau^2 I_d). Let J, chosen before w, hold the supports of b and beta,
    |J| = min(s + s*, d); K = supp(b') without J; I = J and K. The noise on J is uncorrelated with
    the rest, that on K is among d - |J| coordinates, at most k = min(s, d - |J|) of them. If
    |(I - eta M)_I| <= q and a^2 = E|((I - eta M)(b - beta) + eta r)_I|^2 then
    E|H_s - beta|^2 <= nu [a^2 + eta^2 |J| tau^2 + 2 a eta g + eta^2 g^2] with
    g^2 = tau^2 `gaussian_top`(k, d - |J|): rate = sqrt(nu) q, drift = sqrt(nu) eta (rms(r_I) + g),
    noise^2 = nu eta^2 |J| tau^2. For s = d it is the descent above.

    **Privately thresholded descent** (CWZ19: Algorithm 4.2). Without w, but S chosen privately and
    z_S released with fresh noise of variance v a coordinate: rate = sqrt(nu) q,
    drift = sqrt(nu) (eta rms(r_I) + w), w of `selection_error`, noise^2 = s v. Besides, by
    `minimax.methods.missed_selection`, rate = (1 + k) q, drift = (1 + k) eta rms(r_I) + k w',
    k^2 = r s, w' = `missed_rms` times the scale: each e_j is among those on some I.
    """

    rate: Number
    drift: Number
    noise: Number

    def run(self, start: Number, steps: int, cap: Number = math.inf) -> Number:
        """m after so many steps from m = start, never above `cap` (the diameter of the set)."""
        return least_after((self,), start, steps, cap)

    def after(self, m: Number) -> Number:
        """m after one step."""
        return hypot(self.rate * m + self.drift, self.noise)

    def closed_form(self, start: Number, steps: int) -> Number:
        """At least m^2, for rate < 1: the smaller of

        rate^T start^2 + drift^2/(1 - rate)^2 + noise^2/(1 - rate), from
        (x + y)^2 <= x^2/rate + y^2/(1 - rate), and
        (drift/(1 - rate) + sqrt(rate^{2T} start^2 + noise^2/(1 - rate^2)))^2, as by Minkowski
        m_t <= c_t + e_t, c' = rate c + drift, e'^2 = rate^2 e^2 + noise^2.
        """
        gap = 1 - self.rate
        squares = self.rate**steps * start**2 + self.drift**2 / gap**2 + self.noise**2 / gap
        rest = self.rate ** (2 * steps) * start**2 + self.noise**2 / (1 - self.rate**2)
        lib = library(rest, self.drift)
        return lib.least(squares, (self.drift / gap + lib.sqrt(rest)) ** 2)


def least_after(
    proved: Sequence[Recursion], start: Number, steps: int, cap: Number = math.inf
) -> Number:
    """m after so many steps of which several recursions are proved: the least one in each."""
    lib = functions(start, cap, *(number for recursion in proved for number in recursion))
    m = lib.least(start, cap)
    for _ in range(steps):
        after = cap
        for recursion in proved:
            after = lib.least(after, recursion.after(m))
        if lib is not BALLS and np.all(after == m):
            break
        m = after
    return m


def gaussian_terms(
    s: int, s_star: Number, d: Number, step_size: Number, noise: Number, *, closed: bool = False
) -> tuple[Number, Number]:
    """(eta g, noise) of `Recursion` (thresholded descent) for N(0, noise^2 I_d) on the gradient.

    `closed` takes `gaussian_top_expression` for `gaussian_top`.
    """
    lib = library(s_star, d)
    fixed = lib.least(s + s_star, d)
    few, rest = lib.least(s, d - fixed), d - fixed
    top = (gaussian_top_expression if closed else gaussian_top)(few, rest)
    nu = thresholding_factor(s, s_star, d)
    return step_size * noise * lib.sqrt(top), step_size * noise * lib.sqrt(nu * fixed)


# --- The best settings ----------------------------------------------------------------------------


SHRINKING: Array = np.array([1.0, 0.8, 0.6, 0.4, 0.2])
"""Fractions of the step that contracts most which are tried: a short step adds less noise."""


class StepGrid(NamedTuple):
    """Chances of failure and step sizes, as columns, over which a proven risk is minimised."""

    failure: Array
    step_size: Array


def step_grid(curvature: Callable[[Array], Interval], outset: Interval | None = None) -> StepGrid:
    """Every other chance in FAILURES with each of SHRINKING times 2/(low + high) there.

    With `outset`, also times 2/(low + high) of that interval, which no chance moves.
    """
    chances = FAILURES[::2, None]
    ends = [curvature(chances), *([] if outset is None else [outset])]
    longest = [np.broadcast_to(2 / (end.low + end.high), chances.shape) for end in ends]
    steps = np.concatenate(longest) * SHRINKING
    failure = np.broadcast_to(np.tile(chances, (len(ends), 1)), steps.shape)
    return StepGrid(failure.reshape(-1, 1), steps.reshape(-1, 1))


def least_risk(risk: Callable[[int], Array], longest: int = 2000) -> tuple[int, int, int]:
    """(steps, row, column) of the least entry of `risk`(steps): all small numbers of steps are
    tried, then by sixths more, until several in a row bring nothing."""
    steps, least, found, since = 1, math.inf, (1, 0, 0), 0
    while steps <= longest and since < 6:
        values = risk(steps)
        i, j = np.unravel_index(int(np.argmin(values)), values.shape)
        since += 1
        if values[i, j] < least:
            least, found, since = float(values[i, j]), (steps, int(i), int(j)), 0
        steps += max(1, steps // 6)
    return found


def rounded(value: float, digits: int = 8) -> float:
    """The value as it will be printed, so that what is printed is what was proved."""
    return float(f"{value:.{digits}g}")
