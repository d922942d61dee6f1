"""The law that the noise of a call should have, and whether it was drawn for this call alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

if TYPE_CHECKING:
    from verify.privacy.whitebox import Call

Array = NDArray[np.float64]
ADDING = ("laplace", "gaussian", "k-norm")
"""Mechanisms whose release is the value plus noise."""
RESPONSE, CHOICE = "randomised response", "exponential"
TINY = np.finfo(float).tiny
EQUAL = 1e-11
"""Sizes of noise, in units of the scale, that are as near as this are one draw."""


@dataclass(frozen=True)
class NoiseLaw:
    """The law of noise in units of its scale, and a size of it whose sum has a Gamma law."""

    cdf: Callable[[Array], Array]
    size: Callable[[Array], Array]
    shape: float
    """Of the Gamma law of one size."""

    def chance(self, drawn: Array) -> float:
        """Twice the least p-value of Kolmogorov's test and of the exact test of the scale."""
        total = stats.gamma(self.shape * len(drawn))
        summed = float(self.size(drawn).sum())
        scale = 2 * min(total.cdf(summed), total.sf(summed))
        return 2 * min(float(stats.kstest(drawn, self.cdf).pvalue), float(scale))


def _levelled(call: Call, rng: np.random.Generator) -> Array:
    """Uniform numbers, if the two reports +-scale have the chances that make them unbiased.

    With u uniform, a report of chance p is spread over its share of [0, 1], the one that has the
    value's sign last: too much of the truth shows at that end.
    """
    scale = call.entries[0].scale
    likelier = np.minimum(1 + np.abs(np.ravel(call.before)) / scale, 2.0) / 2
    told, u = np.ravel(call.value), rng.random(len(likelier))
    if not np.isin(told, (-scale, scale)).all():
        return np.zeros(len(told))
    true = (told > 0) == (np.ravel(call.before) >= 0)
    return np.where(true, 1 - likelier * u, (1 - likelier) * (1 - u))


def has_law(call: Call) -> bool:
    """Whether the law of its release is tested."""
    if len(call.entries) != 1:
        return False
    name = call.entries[0].mechanism
    if name == CHOICE:  # of places in a list, one or several
        return np.asarray(call.value).dtype.kind == "i" and np.ndim(call.before) == 1
    return name in (*ADDING, RESPONSE)


def _chosen(call: Call, rng: np.random.Generator) -> Array:
    """Uniform numbers, if choices among those left have chances in proportion to e^(score/scale).

    With u uniform, a choice of chance p is spread over its share of [0, 1], the likeliest last: too
    much of the truth shows at that end.
    """
    scores = np.array(call.before, dtype=float) / call.entries[0].scale
    found = []
    for winner in np.atleast_1d(call.value):
        chances = np.exp(scores - scores.max())
        chances /= chances.sum()
        order = np.argsort(chances, kind="stable")
        before = order[: int(np.flatnonzero(order == winner)[0])]
        found.append(chances[before].sum() + rng.random() * chances[winner])
        scores[winner] = -np.inf
    return np.array(found)


def law_of(call: Call, rng: np.random.Generator) -> tuple[tuple[str, float], NoiseLaw, Array]:
    """Which law the noise of a call should have, and what of it has this law."""
    name = call.entries[0].mechanism
    if name in (RESPONSE, CHOICE):
        own = NoiseLaw(stats.uniform.cdf, lambda u: -np.log(np.maximum(u, TINY)), 1.0)
        return (name, 1.0), own, (_levelled if name == RESPONSE else _chosen)(call, rng)
    noise = np.ravel(call.noise)
    if name == "laplace":
        return (name, 1.0), NoiseLaw(stats.laplace.cdf, np.abs, 1.0), noise
    if name == "gaussian":
        return (name, 1.0), NoiseLaw(stats.norm.cdf, lambda z: z**2 / 2, 0.5), noise
    order, d = 2 if call.entries[0].norm == "l2" else math.inf, float(len(noise))
    length = np.atleast_1d(np.linalg.norm(noise, order))
    return (name, d), NoiseLaw(stats.gamma(d).cdf, np.abs, d), length


def used_twice(calls: Sequence[Call]) -> bool:
    """Whether two calls of a fit were given one draw of noise, whatever its sign and scale.

    Each call alone has the stated law then, and moves by no more than is stated, and their
    difference tells. Of fresh noise with densities of at most 1 two of N numbers are so near with
    probability below N^2 1e-11: for N = 4000 below 2e-4, and in two fits of a few below 1e-6.
    """
    added = [c for c in calls if len(c.entries) == 1 and c.entries[0].mechanism in ADDING]
    sizes = [_distinct(np.abs(np.ravel(call.noise))) for call in added]
    return sum(map(len, sizes)) > len(_distinct(np.concatenate([np.empty(0), *sizes])))


def _distinct(numbers: Array) -> Array:
    """One of each group of numbers that are as good as equal."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-np.inf) >= EQUAL]
