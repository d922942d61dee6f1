r"""Empirical epsilon: what two fixed neighbouring data sets prove about a mechanism.

(epsilon, delta)-privacy says P(S) <= e^epsilon Q(S) + delta for every event S, P and Q being the
laws of the release on X and on a neighbour X', in either order. Any event therefore gives the lower
bound epsilon >= log((P(S) - delta)/Q(S)). Here S is {statistic >= t} or {statistic <= t}.

**Soundness.** The event and the order of (P, Q) are chosen on one half of the releases; on the
other half P(S) and Q(S) get one-sided Clopper-Pearson bounds, each at level (1 - confidence)/2. As
the halves are independent, S is fixed for the second, and with probability at least `confidence`
both bounds hold: a mechanism that is (epsilon, delta)-private is reported above epsilon with
probability at most 1 - confidence, whatever the data sets, the statistic and the way S was chosen.

**A release without randomness** is a case of its own: P and Q are points. If all releases of each
data set repeat, the mechanism is run once more with every source of randomness taken away
(`attacks.release.NoRandomness`). If it can do without, and no source that it holds nor a global one
has moved, it is a function of the data: refuted at every epsilon and delta where X and X' give
different releases, and otherwise constant, with nothing to audit. Repeating alone would prove
neither: randomised response at epsilon = 10 repeats a thousand times with chance .96, and gets the
bound above. (A discrete mechanism that draws from a source it does not hold, such as the operating
system's, cannot be told from a deterministic one.)

**Completeness.** A lower bound only: a weak pair of data sets or statistic proves little. With m
evaluated releases a side it never reports more than about log(m/log(2/(1 - confidence))).
"""

from __future__ import annotations

import math
import pickle
import random
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from attacks.estimate import check_confidence, check_count
from attacks.release import Attacked, NoRandomness, fresh_estimator, released, sources_in
from minimax.core.bound import Sample

Array = NDArray[np.float64]
Sampler = Callable[[np.random.Generator], object]
Side = Literal[">=", "<="]
CANDIDATES = 400
"""Thresholds tried on the first half."""


@dataclass(frozen=True)
class AuditResult:
    """A lower confidence bound on epsilon, and the event that gives it."""

    epsilon: float
    """At least this, with the given confidence; 0 says nothing, inf that there is none."""
    delta: float
    confidence: float
    threshold: float
    side: Side
    swapped: bool
    """Whether the event is likelier on X' than on X."""
    likelier: int
    """How many releases of the likelier data set fell in the event, of `evaluated`."""
    rarer: int
    evaluated: int
    """Releases of each data set in the half that was not used to choose the event."""
    trials: int
    seed: int
    deterministic: bool
    """Whether the release is a function of the data alone."""

    @property
    def constant(self) -> bool:
        """Whether it is the same on both data sets, too."""
        return self.deterministic and self.epsilon == 0

    def refutes(self, epsilon: float) -> bool:
        """Whether (epsilon, delta)-privacy is refuted at this confidence."""
        return self.epsilon > epsilon

    def summary(self) -> str:
        """One line."""
        if self.constant:
            return "constant release: nothing to audit"
        if self.deterministic:
            return "refuted at every epsilon: the release is a function of the data"
        first, second = ("X'", "X") if self.swapped else ("X", "X'")
        return (
            f"epsilon >= {self.epsilon:.4g} at delta = {self.delta:g} with confidence "
            f"{self.confidence:.8g}: statistic {self.side} {self.threshold:.6g} in "
            f"{self.likelier}/{self.evaluated} releases on {first} and "
            f"{self.rarer}/{self.evaluated} on {second}"
        )

    def to_dict(self) -> dict[str, object]:
        """For JSON; an infinite epsilon is None."""
        finite = self.epsilon if math.isfinite(self.epsilon) else None
        return {**asdict(self), "epsilon": finite}


def audit_epsilon(
    release_on_X: Sampler,
    release_on_X2: Sampler,
    statistic: Callable[[Any], float] = float,
    *,
    trials: int,
    delta: float = 0.0,
    confidence: float = 0.99,
    seed: int = 0,
) -> AuditResult:
    """A lower confidence bound on the epsilon of a mechanism.

    Parameters
    ----------
    release_on_X, release_on_X2 : functions from a generator to one release, on X and on a data set
        that differs from X in one record; see `release_sampler`
    statistic : release -> number
    trials : releases drawn of each; half choose the event and half evaluate it
    """
    for name, count, least in (("trials", trials, 2), ("seed", seed, 0)):
        check_count(name, count, least)
    check_confidence(confidence)
    if not 0 <= delta < 1:
        raise ValueError(f"delta must lie in [0, 1), got {delta!r}")
    rngs = [np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2)]
    first = _draw(release_on_X, statistic, trials, rngs[0])
    second = _draw(release_on_X2, statistic, trials, rngs[1])
    half, level = trials // 2, (1 - confidence) / 2
    event = choose_event(first[:half], second[:half], delta, level)
    p, q = event.count(first[half:]), event.count(second[half:])
    likelier, rarer = (q, p) if event.swapped else (p, q)
    evaluated = trials - half
    found = lower_epsilon(np.array([likelier]), np.array([rarer]), evaluated, delta, level)
    repeats = all(np.all(values == values[0]) for values in (first, second))
    known = _epsilon_without_randomness(release_on_X, release_on_X2) if repeats else None
    return AuditResult(
        epsilon=float(found[0]) if known is None else known,
        delta=delta,
        confidence=confidence,
        threshold=event.threshold,
        side=event.side,
        swapped=event.swapped,
        likelier=likelier,
        rarer=rarer,
        evaluated=evaluated,
        trials=trials,
        seed=seed,
        deterministic=known is not None,
    )


def release_sampler(estimator: Attacked, X: Sample, attribute: str = "mean_") -> Sampler:
    """A function that fits a fresh copy of the estimator to X and returns its release.

    For regression X is `minimax.core.bound.Labelled`, and `attribute` is "coef_". See
    `attacks.release` for where its randomness comes from.
    """

    def draw(rng: np.random.Generator) -> object:
        return released(fresh_estimator(estimator, rng), X, attribute)

    return draw


def lower_epsilon(
    likelier: NDArray[np.int64], rarer: NDArray[np.int64], m: int, delta: float, level: float
) -> Array:
    """log((P_low - delta)/Q_high) or 0, from counts out of m; each bound is off at most `level`."""
    low = np.where(
        likelier > 0, stats.beta.ppf(level, np.maximum(likelier, 1), m - likelier + 1), 0
    )
    high = np.where(rarer < m, stats.beta.isf(level, rarer + 1, np.maximum(m - rarer, 1)), 1.0)
    ratio = np.maximum(low - delta, 0.0) / high
    return np.asarray(np.log(np.maximum(ratio, 1.0)))


class Event(NamedTuple):
    """{statistic side threshold}, thought likelier on X, or on X' if swapped."""

    threshold: float
    side: Side
    swapped: bool

    def count(self, values: Array) -> int:
        """How many values fall in the event."""
        inside = values >= self.threshold if self.side == ">=" else values <= self.threshold
        return int(np.count_nonzero(inside))


def choose_event(first: Array, second: Array, delta: float, level: float) -> Event:
    """The event that proves most on the releases given. Any choice is sound, if made elsewhere."""
    pooled = np.unique(np.concatenate([first, second]))
    if len(pooled) > CANDIDATES:
        # Dense in both tails, where the ratio of the laws is largest.
        share = _tail_levels(CANDIDATES)
        pooled = np.unique(np.quantile(pooled, share, method="lower"))
    best, chosen = -math.inf, Event(float(pooled[0]), ">=", False)
    sides: tuple[Side, ...] = (">=", "<=")
    for side in sides:
        p, q = (_counts(values, pooled, side) for values in (first, second))
        for swapped in (False, True):
            likelier, rarer = (q, p) if swapped else (p, q)
            found = lower_epsilon(likelier, rarer, len(first), delta, level)
            at = int(np.argmax(found))
            if found[at] > best:
                best, chosen = float(found[at]), Event(float(pooled[at]), side, swapped)
    return chosen


def _tail_levels(size: int) -> Array:
    """Quantile levels in (0, 1), evenly spaced on the logit scale."""
    return np.asarray(stats.logistic.cdf(np.linspace(-9, 9, size)))


def _counts(values: Array, thresholds: Array, side: Side) -> NDArray[np.int64]:
    ordered = np.sort(values)
    if side == ">=":
        return np.asarray(len(values) - np.searchsorted(ordered, thresholds, side="left"))
    return np.asarray(np.searchsorted(ordered, thresholds, side="right"))


def _epsilon_without_randomness(*samplers: Sampler) -> float | None:
    """0 if, drawing nothing, both release the same; inf if not the same; None if they draw."""
    nothing: Any = NoRandomness()
    try:
        before = _state(samplers)
        first, second = (release(nothing) for release in samplers)
        drew = _state(samplers) != before
    except Exception:  # whatever it is that failed, it was asked for randomness
        return None
    if drew:
        return None
    return 0.0 if np.array_equal(np.asarray(first), np.asarray(second)) else math.inf


def _state(samplers: tuple[Sampler, ...]) -> bytes:
    """That of the sources of randomness that the samplers hold, and of the global ones."""
    return pickle.dumps((sources_in(samplers), np.random.get_state(), random.getstate()))


def _draw(
    release: Sampler, statistic: Callable[[Any], float], trials: int, rng: np.random.Generator
) -> Array:
    values = np.array([float(statistic(release(rng))) for _ in range(trials)])
    if np.isnan(values).any():
        raise ValueError("statistic must return numbers, got nan")
    return values
