r"""Tukey median of small models: least squares on disjoint batches, then a private point in the
middle of the fits (Amin, Joseph, Ribero and Vassilvitskii, 2023, "Easy differentially private
linear regression", ICLR).

**Algorithm.** Rows are dealt into m batches; each gives least squares z_1, ..., z_m in R^d. The
depth of w is the least, over coordinates, of the number of z on either side of w. Depth i or more
is the box between the i-th smallest and i-th largest value of each coordinate; V_i is its volume.
With t = m/4, a propose-test-release check, and if it passes a draw of w from the density
proportional to exp(eta depth(w)) on the box of depth t.

**Privacy** (a record replaced, so one z). All depths move by 1 at most. Let
r = min over g >= 0 of e^(-eta (g + 1)) V_(t-1)/V_(t+g). The normaliser N is at least
e^(eta (t+g)) V_(t+g), that of a neighbour at most e^eta (N + e^(eta (t-1)) V_(t-1)) <=
e^eta N (1 + r), and the part of the box of depth t that a neighbour's does not have is of depth t
exactly: it has probability at most e^(eta t) V_t/N <= e^eta r. So P(S) <= e^(2 eta) Q(S) +
(e^(2 eta) + e^eta) r, which is (2 eta, delta) if r <= delta/(e^(2 eta) + e^eta): the data are good.
With k records replaced V_(t-1) is at most V_(t-1-k) and V_(t+g) at least V_(t+g+k). Let D be the
largest k for which min over g of e^(-eta (g+1)) V_(t-1-k)/V_(t+g+k) is small enough, -1 if none:
it moves by 1 at most when a record is replaced, and D >= 1 says that the data and all their
neighbours are good. The test passes if D + Laplace(1/epsilon') > log(1/(2 delta))/epsilon'. If
D >= 1, test and draw are (epsilon' + 2 eta, delta) for the neighbours; if not, it passes with a
chance of at most delta. Here epsilon' = 2 eta = epsilon/2, so that all is (epsilon, delta).

**Departure from the paper**: its exponents and thresholds are for another neighbourhood; those here
are what the proof above gives for ours.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from minimax.core.privacy import Approximate

SPREAD = 1e-10
"""Fits are moved by so little noise that ties are broken, as the authors do."""
TRIES = 20
MODEL_COUNTS = tuple(250 * 2 ** (k / 2) for k in range(13))


class Boxes(NamedTuple):
    """The sorted fits, a row for each coordinate, and what the mechanism needs of them."""

    ordered: np.ndarray

    @property
    def log_volumes(self) -> np.ndarray:
        """log V_i for i = 1, ..., m // 2, at index i - 1."""
        return np.asarray(np.sum(np.log(self.widths), axis=0))

    @property
    def widths(self) -> np.ndarray:
        """The boxes' sides: a row for each coordinate, a column for each depth."""
        half = self.ordered.shape[1] // 2
        return np.asarray(self.ordered[:, ::-1][:, :half] - self.ordered[:, :half])


def distance_to_unsafe(log_volumes: np.ndarray, t: int, eta: float, delta: float) -> int:
    """D of the module's docstring."""
    level = math.log(delta) - 2 * eta - math.log1p(math.exp(-eta))
    deepest = len(log_volumes)
    found = -1
    for k in range(min(t - 1, deepest - t + 1)):  # the boxes of depth t - 1 - k and t + k exist
        inner = log_volumes[t + k - 1 :]
        gains = eta * np.arange(1, len(inner) + 1)
        if np.min(log_volumes[t - 2 - k] - inner - gains) > level:
            break
        found = k
    return found


def draw(boxes: Boxes, t: int, eta: float, rng: np.random.Generator) -> np.ndarray:
    """A point of depth t or more, of density proportional to exp(eta depth)."""
    logs, widths = boxes.log_volumes, boxes.widths
    with np.errstate(divide="ignore"):
        shells = logs + np.log1p(-np.exp(np.append(np.diff(logs), -np.inf)))
    depths = np.arange(t, len(logs) + 1)
    chosen = int(depths[np.argmax(shells[t - 1 :] + eta * depths + rng.gumbel(size=len(depths)))])
    low, high = boxes.ordered[:, chosen - 1], boxes.ordered[:, -chosen]
    if chosen == len(logs):
        return np.asarray(rng.uniform(low, high))
    inside = boxes.ordered[:, chosen], boxes.ordered[:, -chosen - 1]
    leaving = _leaving_coordinate(widths[:, chosen - 1], widths[:, chosen], rng)
    point = rng.uniform(low, high)
    point[:leaving] = rng.uniform(*inside)[:leaving]
    left, right = inside[0][leaving] - low[leaving], high[leaving] - inside[1][leaving]
    place = rng.uniform(0, left + right)
    point[leaving] = low[leaving] + place if place < left else high[leaving] - (place - left)
    return np.asarray(point)


def _leaving_coordinate(outer: np.ndarray, inner: np.ndarray, rng: np.random.Generator) -> int:
    """The first coordinate in which a uniform point of a box outside an inner one leaves that.

    It is j with a chance in proportion to inner_1 ... inner_(j-1) (outer_j - inner_j) outer_(j+1)
    ... outer_d, the factors being lengths of sides.
    """
    before = np.concatenate([[0.0], np.cumsum(np.log(inner))[:-1]])
    after = np.append(np.cumsum(np.log(outer)[::-1])[::-1][1:], 0.0)
    with np.errstate(divide="ignore"):
        chances = before + np.log(outer - inner) + after
    return int(np.argmax(chances + rng.gumbel(size=len(outer))))


def median_of_fits(
    fits: np.ndarray, privacy: Approximate, rng: np.random.Generator
) -> np.ndarray | None:
    """A private point in the middle of the fits (a row each), or None if the test fails."""
    moved = fits + SPREAD * rng.uniform(size=fits.shape)
    boxes, t = Boxes(np.sort(moved.T, axis=1)), len(fits) // 4
    eta, tested = privacy.epsilon / 4, privacy.epsilon / 2
    distance = distance_to_unsafe(boxes.log_volumes, t, eta, privacy.delta)
    threshold = math.log(1 / (2 * privacy.delta)) / tested
    if distance + rng.laplace(scale=1 / tested) <= threshold:
        return None
    return draw(boxes, t, eta, rng)


def models_needed(d: int, privacy: Approximate) -> int:
    """How many models pass the test nine times in ten if they are N(0, I): the authors' way to
    choose their number, without data."""
    rng = np.random.default_rng(d)
    for count in MODEL_COUNTS:
        sets = (rng.standard_normal((int(count), d)) for _ in range(TRIES))
        passed = sum(median_of_fits(fits, privacy, rng) is not None for fits in sets)
        if passed >= 0.9 * TRIES:
            return int(count)
    return int(MODEL_COUNTS[-1])


def batch_fits(Z: np.ndarray, y: np.ndarray, m: int, rng: np.random.Generator) -> np.ndarray:
    """Least squares on each of m disjoint batches of equal size, rows dealt at random."""
    order, size = rng.permutation(len(Z)), len(Z) // m
    batches = order[: m * size].reshape(m, size)
    return np.array([np.linalg.lstsq(Z[rows], y[rows], rcond=None)[0] for rows in batches])


def small_models(Z: np.ndarray, y: np.ndarray, privacy: Approximate, seed: int) -> np.ndarray:
    """The private median of as many models as are needed and as there are rows for; 0 if the test
    fails."""
    rng = np.random.default_rng((seed, 7))
    m = min(models_needed(Z.shape[1], privacy), len(Z) // Z.shape[1])
    found = median_of_fits(batch_fits(Z, y, m, rng), privacy, rng)
    return np.zeros(Z.shape[1]) if found is None else found
