"""Private mechanisms. Each call returns its release together with its ledger entry.

Sensitivities are under replacement of one record and are arguments: the caller must have clipped
so that they are facts of the code. Noise is drawn in `estimators.core.noise`: numpy's floats, made
for studying error and privacy over the real numbers, or hardened. An auditor may look on:
`estimators.core.witness`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from typing import Generic, Literal, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from estimators.core.accounting import LedgerEntry, LossLaw
from estimators.core.checks import check_positive, check_sparsity
from estimators.core.noise import gumbel_top, noisy_winner, with_gaussian, with_laplace
from estimators.core.witness import witnessed
from minimax.core import calibration as calibration_of
from minimax.core.calibration import Allowance
from minimax.core.closeness import gaussian_hockey_stick
from minimax.core.conversions import half_square
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

Array = NDArray[np.float64]
Calibration = Literal["analytic", "classical", "paper"]
T = TypeVar("T")


class Release(NamedTuple, Generic[T]):
    """What a mechanism gives out, and the record of how."""

    value: T
    entry: LedgerEntry


@witnessed
def laplace(
    value: Array,
    *,
    l1_sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[Array]:
    """value + Laplace(l1_sensitivity / epsilon) on each coordinate: epsilon-DP.

    Privacy: the log density ratio is at most |shift|_1 / scale. Source: CWZ19: Example 2.1.
    """
    check_positive(l1_sensitivity=l1_sensitivity, epsilon=epsilon)
    scale = float(l1_sensitivity) / float(epsilon)
    noisy = with_laplace(value, scale, rng)
    return Release(noisy, _laplace_entry(float(l1_sensitivity), float(epsilon), about))


@lru_cache(maxsize=256)
def _laplace_entry(l1_sensitivity: float, epsilon: float, about: str) -> LedgerEntry:
    """The same for many calls: it depends on their numbers alone."""
    scale, guarantee = l1_sensitivity / epsilon, Pure(epsilon)
    law = LossLaw.LAPLACE
    return LedgerEntry("laplace", l1_sensitivity, "l1", scale, (guarantee,), about=about, law=law)


def gaussian_scale(
    privacy: Approximate | ZeroConcentrated | Gaussian,
    l2_sensitivity: float,
    calibration: Calibration = "analytic",
) -> float:
    """The noise that a Gaussian release gets: see `minimax.core.calibration.gaussian_scale`."""
    check_positive(l2_sensitivity=l2_sensitivity)
    return float(calibration_of.gaussian_scale(privacy, l2_sensitivity, calibration))


@witnessed
def gaussian(
    value: Array,
    *,
    l2_sensitivity: float,
    scale: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[Array]:
    """value + N(0, scale^2) on each coordinate: exactly (l2_sensitivity / scale)-GDP."""
    check_positive(l2_sensitivity=l2_sensitivity, scale=scale)
    noisy = with_gaussian(value, scale, rng)
    return Release(noisy, _gaussian_entry(float(l2_sensitivity), float(scale), about))


@lru_cache(maxsize=256)
def _gaussian_entry(l2_sensitivity: float, scale: float, about: str) -> LedgerEntry:
    """The same for many calls: it depends on their numbers alone."""
    guarantee = Gaussian(l2_sensitivity / scale)
    return LedgerEntry("gaussian", l2_sensitivity, "l2", scale, (guarantee,), about=about)


Norm = Literal["l2", "linf"]


@witnessed
def k_norm(
    value: Array,
    *,
    norm: Norm,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[Array]:
    """value + noise of density proportional to exp(-epsilon |z|/sensitivity): epsilon-DP.

    Privacy: the log density ratio is at most epsilon |shift|/sensitivity, in the norm in which the
    sensitivity is given. A draw is Gamma(d + 1) times a uniform point of the norm's unit ball, so
    that a coordinate has variance (d + 1) (sensitivity/epsilon)^2 for l2 and a third of
    (d + 1)(d + 2) times that for linf, where Laplace noise would have 2 d^2. Source: Hardt and
    Talwar (2010), "On the geometry of differential privacy".
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    scale, d = sensitivity / epsilon, value.size
    if norm == "linf":
        noise = rng.gamma(d + 1) * rng.uniform(-1, 1, size=value.shape)
    else:
        direction = rng.standard_normal(value.shape)
        noise = rng.gamma(d) * direction / np.linalg.norm(direction)
    entry = LedgerEntry("k-norm", sensitivity, norm, scale, (Pure(epsilon),), about=about)
    return Release(value + scale * noise, entry)


def real_delta(scale: float, l2_sensitivity: float, epsilon: float) -> float:
    """The delta that Gaussian noise of this scale really gives at epsilon."""
    check_positive(scale=scale, l2_sensitivity=l2_sensitivity, epsilon=epsilon)
    return gaussian_hockey_stick(l2_sensitivity / scale, epsilon)


@witnessed
def report_noisy_max(
    scores: Array,
    *,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[int]:
    """argmax of scores + Laplace(2 sensitivity / epsilon): epsilon-DP.

    Privacy: fix the noise of the others; moving the winner's score down and the others' up by the
    sensitivity shifts the winning threshold by at most 2 sensitivity (Dwork and Roth, 2014, §3.3).
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    scale = 2 * sensitivity / epsilon
    winner = noisy_winner(scores, scale, rng)
    return Release(
        winner,
        LedgerEntry("noisy max", sensitivity, "linf", scale, (Pure(epsilon),), about=about),
    )


def _exponential_guarantees(epsilon: float) -> tuple[Pure, ZeroConcentrated]:
    """The exponential mechanism is epsilon-DP and, by its bounded range, (epsilon^2/8)-zCDP.

    (Cesar and Rogers, 2021: bounded-range mechanisms.)
    """
    return Pure(epsilon), ZeroConcentrated(half_square(epsilon / 2))


@witnessed
def exponential_mechanism(
    scores: Array,
    *,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[int]:
    """Index i with probability proportional to exp(epsilon scores_i / (2 sensitivity)).

    Drawn by adding Gumbel(2 sensitivity/epsilon) noise and taking the largest.
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    scale = 2 * sensitivity / epsilon
    winner = int(gumbel_top(scores, 1, scale, rng)[0])
    entry = LedgerEntry(
        "exponential", sensitivity, "linf", scale, _exponential_guarantees(epsilon), about=about
    )
    return Release(winner, entry)


@witnessed
def gumbel_top_k(
    scores: Array,
    k: int,
    *,
    sensitivity: float,
    epsilon: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[NDArray[np.intp]]:
    """The k indices of largest scores + Gumbel(2 sensitivity/epsilon), best first.

    Has exactly the law of k rounds of the exponential mechanism, each epsilon-DP, the winner
    removed after each round (Durfee and Rogers, 2019), in one pass over the scores.
    """
    check_positive(sensitivity=sensitivity, epsilon=epsilon)
    check_sparsity(k, len(scores))
    scale = 2 * sensitivity / epsilon
    ordered = gumbel_top(scores, k, scale, rng)
    entry = LedgerEntry(
        "exponential", sensitivity, "linf", scale, _exponential_guarantees(epsilon), k, about
    )
    return Release(ordered, entry)


class Peeled(NamedTuple):
    """What peeling releases: the chosen indices in order, and their noisy values."""

    support: NDArray[np.intp]
    values: Array


@witnessed
def peeling(
    v: Array,
    s: int,
    *,
    sensitivity: float,
    scale: float,
    rng: np.random.Generator,
) -> tuple[Peeled, tuple[LedgerEntry, LedgerEntry]]:
    """CWZ19: Algorithm 3.2 to the letter, at a given Laplace scale.

    In each of s rounds fresh Laplace noise goes on every |v_j| not yet taken and the largest joins
    the support; the s values are then released with fresh Laplace noise. One buffer of d numbers
    is reused, so there is no s x d array.

    Privacy: with |v - v'|_inf <= sensitivity each round is a noisy max, (2 sensitivity/scale)-DP,
    and each released value is a Laplace release, (sensitivity/scale)-DP.
    """
    check_positive(sensitivity=sensitivity, scale=scale)
    check_sparsity(s, len(v))
    magnitude = np.abs(v)
    support = np.empty(s, dtype=np.intp)
    for i in range(s):
        support[i] = noisy_winner(magnitude, scale, rng)
        magnitude[support[i]] = -np.inf
    values = with_laplace(v[support], scale, rng)
    epsilon = sensitivity / scale
    rounds = LedgerEntry(
        "noisy max", sensitivity, "linf", scale, (Pure(2 * epsilon),), s, "peeling: support"
    )
    about, law = "peeling: one value each", LossLaw.LAPLACE
    released = LedgerEntry("laplace", sensitivity, "l1", scale, (Pure(epsilon),), s, about, law=law)
    return Peeled(support, values), (rounds, released)


def above_threshold_quantile(
    scores: Array,
    quantile: float,
    *,
    start: float,
    growth: float,
    epsilon: float,
    rng: np.random.Generator,
    size: Callable[[Array], Array] = np.abs,
    about: str = "",
) -> Release[float]:
    """The first level start * growth^k whose noisy count passes quantile * records: epsilon-DP.

    A record has a row of scores, which depend on that record alone. The count at a level is the sum
    over records of the share of the record's scores of a size below the level, so that it has
    sensitivity 1 under replacement. `size` works entry by entry: the magnitude, or what else is not
    negative.

    Privacy: AboveThreshold with one positive answer, threshold noise Laplace(2/epsilon) and query
    noise Laplace(4/epsilon) (Dwork and Roth, 2014, Theorem 3.23). Needs no bound on the data's
    support, as the levels grow geometrically (Durfee, 2023, "Unbounded differentially private
    quantile and maximum estimation").
    """
    check_positive(start=start, epsilon=epsilon)
    if not 0 < quantile < 1:
        raise ValueError(f"quantile must lie in (0, 1), got {quantile!r}")
    if not growth > 1:
        raise ValueError(f"growth must exceed 1, got {growth!r}")
    counts = counts_below(scores, start=start, growth=growth, size=size)
    found, entry = _first_above(counts, quantile * len(scores), epsilon, rng, about)
    level = math.exp(math.log(start) + found * math.log(growth))  # the power alone may overflow
    return Release(float(level), entry)


@witnessed
def _first_above(
    counts: Array, threshold: float, epsilon: float, rng: np.random.Generator, about: str
) -> Release[int]:
    """The first count that passes the threshold, both with noise; the last one if none does."""
    noisy = threshold + rng.laplace(scale=2 / epsilon)
    found = len(counts) - 1
    for k, count in enumerate(counts):
        if count + rng.laplace(scale=4 / epsilon) >= noisy:
            found = k
            break
    entry = LedgerEntry("above threshold", 1.0, "count", 4 / epsilon, (Pure(epsilon),), about=about)
    return Release(found, entry)


def bisected_quantile(
    sizes: Array,
    quantile: float,
    *,
    low: float,
    high: float,
    queries: int,
    privacy: Allowance,
    rng: np.random.Generator,
    weights: Array | None = None,
    about: str = "",
) -> Release[float]:
    """A quantile of positive numbers between two public ones, by bisection on a log scale.

    Records count with their weights, which are clipped to [0, 1]; None: with 1 each. Each of so
    many steps compares the noisy sum of weight * (1(size <= middle) - quantile) with 0, and goes on
    with one half: the level found is right to a factor (high/low)^(2^-queries) but for noise. The
    budget, GDP or pure, is divided equally.

    Privacy: adaptive composition of the sums. All records' terms lie in [-quantile, 1 - quantile],
    so that replacing one moves a sum by 1 at most.
    """
    check_positive(low=low, high=high)
    bottom, top = math.log(low), math.log(high)
    each = np.ones(len(sizes)) if weights is None else np.clip(weights, 0.0, 1.0)
    wanted = quantile * float(each.sum())
    for _ in range(queries):
        middle = (bottom + top) / 2
        count = np.array([each @ (sizes <= math.exp(middle)) - wanted])
        if privacy.is_pure:
            epsilon = float(privacy.epsilon) / queries
            noisy, entry = laplace(count, l1_sensitivity=1.0, epsilon=epsilon, rng=rng, about=about)
        else:
            scale = math.sqrt(queries) / float(privacy.mu())
            noisy, entry = gaussian(count, l2_sensitivity=1.0, scale=scale, rng=rng, about=about)
        bottom, top = (bottom, middle) if noisy[0] >= 0 else (middle, top)
    return Release(math.exp((bottom + top) / 2), _counted(entry, queries))


@lru_cache(maxsize=256)
def _counted(entry: LedgerEntry, count: int) -> LedgerEntry:
    return replace(entry, count=count)


def counts_below(
    scores: Array, *, start: float, growth: float, size: Callable[[Array], Array] = np.abs
) -> Array:
    """For each level start * growth^k in the range of floats, the sum over records of the share of
    the record's scores of a size below it. One pass over the scores; nothing is sorted.

    A score next to a level may be counted on either side of it: the bin of a score, right or not,
    is a function of that score, and that is all that privacy asks.
    """
    scores = scores.reshape(len(scores), -1)
    step = math.log(growth)
    levels = math.floor((math.log(np.finfo(float).max) - math.log(start)) / step)
    bins = np.zeros(levels + 1, dtype=np.int64)
    rows = max(1, (1 << 16) // scores.shape[1])
    for first in range(0, len(scores), rows):
        sizes = size(scores[first : first + rows].astype(float)).ravel()
        above = (np.log(np.maximum(sizes, start / growth)) - math.log(start)) / step
        place = np.clip(np.floor(above) + 1, 0, levels).astype(np.intp)
        bins += np.bincount(place, minlength=levels + 1)
    return np.cumsum(bins[:-1]) / scores.shape[1]


@witnessed
def propose_test_release(
    distance: float,
    *,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
    about: str = "",
) -> Release[bool]:
    """Whether a proposal may be released exactly: (epsilon, delta)-DP together with that release.

    `distance` must be 1-Lipschitz under replacement, and distance > 1 must mean that no neighbour
    has another proposal. Passes when distance + Laplace(1/epsilon) > 1 + log(1/(2 delta))/epsilon.

    Privacy: if distance > 1 the proposal is common to both neighbours and the bit is a Laplace
    release; if distance <= 1 the test passes with probability at most delta, and failing tells no
    more than the Laplace release (Dwork and Lei, 2009; Smith and Thakurta, 2013).
    """
    check_positive(epsilon=epsilon, delta=delta)
    if not delta < 0.5:
        raise ValueError(f"delta must be below 1/2, got {delta!r}")
    threshold = 1 + math.log(1 / (2 * delta)) / epsilon
    passed = bool(with_laplace(distance, 1 / epsilon, rng) > threshold)
    return Release(passed, _test_entry(float(epsilon), float(delta), about))


@lru_cache(maxsize=256)
def _test_entry(epsilon: float, delta: float, about: str) -> LedgerEntry:
    """The same for many calls: it depends on their numbers alone."""
    guarantee = Approximate(epsilon, delta)
    return LedgerEntry("propose-test-release", 1.0, "count", 1 / epsilon, (guarantee,), about=about)
