r"""Losses less what is known of the noise that made them: the same mean, a narrower interval.

Where privacy dominates, most of what makes a loss large or small is how long the drawn noise was,
and its length has a known law. A witness (`estimators.core.witness`) sees each call that adds noise
w of scale b to k numbers, and tells the *surplus* q = |w|^2/E|w|^2 - 1.

**Statement.** Trials 0, 1, ... are independent; trial t has the loss L_t and the surplus q_t of the
j-th call of its fits (0 if there is none). For each half of the trials, even and odd, let c be any
number that depends on the other half alone. Then every L_t - c q_t has the mean E L_t.

**Proof.** Noise is drawn independently of all that was before, whatever made the j-th call happen:
E q_t = 0. c is independent of trial t. (So j may be chosen in the other half too, and there may be
several; the surplus of the records themselves, `known_sampling`, is one more.)

**Teeth.** If a mechanism drew other noise than its entry says, q would have another mean, and
subtracting it would hide what the claims are there to notice. A call draws its noise and writes its
entry by one number, so that this can only be the mechanism's own fault: `as_stated` asks every
mechanism first, for some 10^6 numbers, and where one is off by a hundredth of its mean square, or
has one sign oftener than the other, no noise is used at all, and none is opposed. In each task it
is used only while the mean of q is within its own interval about 0, of level 1 - `DOUBT`; else
losses stay as they are, and so they do in claims of one's own, whose mechanisms are not known. The
interval that is reported misses only if that of the plain losses or that of the adjusted ones does:
each has half of the error, whatever decides between them.

**What is nominal.** Both are Student's intervals. A loss that is convex in a surplus leaves, once
that is subtracted, a rest that is skewed more, for its size, than the loss was: that of w^4, one
coordinate, is missed up to twice as often as w^4 itself, and that of |w|^4 of eight coordinates two
to four times as often, the more so the stricter the level. What so few trials did not show of a
loss might be in no surplus: so intervals are `LEAST` times as wide as those of plain losses at
least. Where DOUBT chooses, the mean of what is chosen is off by some hundredths of its standard
error. A sampler whose records had another variance than it states is guarded against by DOUBT, and
by tests of its law: subtracting leads from what it draws towards what it states.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from attacks.intervals import student_half_width
from estimators.core.accounting import LedgerEntry
from estimators.core.mechanisms import Release, gaussian, k_norm, laplace
from estimators.core.witness import seen_by

Array = NDArray[np.float64]
CALLS = 8
"""Surpluses that are kept of a trial: those of the first calls, the last one with all that come
after it."""
DOUBT = 0.01
"""How seldom noise that is as it should be is not used."""
FEWEST = 24
"""Trials from which on anything is learnt of them."""
STATES = 2
"""Plain and adjusted: what a task's losses may be taken as."""
LEAST = 1 / 30
"""Adjusted losses have intervals that are at least so wide, in units of plain ones'."""
TOLD = 2
"""Surpluses that are used at the most: one of noise and that of the records, say."""
MEAN_SQUARES: dict[tuple[str, str], Callable[[int], float]] = {
    ("gaussian", "l2"): lambda k: k,
    ("laplace", "l1"): lambda k: 2 * k,
    ("k-norm", "l2"): lambda k: k * (k + 1),
    ("k-norm", "linf"): lambda k: k * (k + 1) * (k + 2) / 3,
}
"""E|w|^2/b^2 for k numbers, by mechanism and norm."""


class NoiseSeen:
    """A witness: the surpluses of a trial's calls, added up over its fits.

    Of two fits that are `paired` the second has the noise of the first with the other sign, call by
    call, where both calls add noise of one kind to as many numbers: all of these laws are
    symmetric, and what noise and other errors have in common cancels in the mean of the two.
    """

    def __init__(self, *, paired: bool = False) -> None:
        self.surpluses = np.zeros(CALLS)
        self._calls, self._paired, self._opposed = 0, paired, True
        self._before: list[UnitNoise] = []
        """Of the fit before, if it is opposed now; else of this one."""

    def begin_fit(self) -> None:
        """The next call is the first of another fit."""
        self._calls, self._opposed = 0, self._paired and not self._opposed
        if not self._opposed:
            self._before = []

    def __call__(self, before: Any, result: Any) -> Any:
        noise = unit_noise(before, result)
        if noise is None:
            return result
        if not self._opposed:
            self._before.append(noise)
        elif self._calls < len(self._before) and noise.is_like(self._before[self._calls]):
            noise = noise._replace(drawn=-self._before[self._calls].drawn)
            moved = np.reshape(result.entry.scale * noise.drawn, np.shape(before))
            result = result._replace(value=before + moved)
        self.surpluses[min(self._calls, CALLS - 1)] += noise.surplus
        self._calls += 1
        return result


class UnitNoise(NamedTuple):
    """What a call added, over its scale."""

    kind: tuple[str, str]
    drawn: Array

    @property
    def surplus(self) -> float:
        """|w|^2/E|w|^2 - 1."""
        return float(self.drawn @ self.drawn) / MEAN_SQUARES[self.kind](len(self.drawn)) - 1

    def is_like(self, other: UnitNoise) -> bool:
        """Whether the two have one law."""
        return self.kind == other.kind and len(self.drawn) == len(other.drawn)


def unit_noise(before: Any, result: Any) -> UnitNoise | None:
    """What a call added to numbers; None if it did something else."""
    if not isinstance(result, Release) or not isinstance(result.entry, LedgerEntry):
        return None
    release, entry = result
    kind = entry.mechanism, entry.norm
    if kind not in MEAN_SQUARES or callable(before) or np.shape(before) != np.shape(release):
        return None
    drawn = np.subtract(release, before, dtype=float).ravel() / entry.scale
    return UnitNoise(kind, drawn) if len(drawn) else None


def seen_loss(loss: Callable[[], float]) -> Array:
    """A row: the loss that is returned, and the surpluses of the noise that was drawn for it."""
    noise = NoiseSeen()
    with seen_by(noise):
        value = loss()
    return np.array([value, *noise.surpluses])


def adjusted(values: Array) -> Array:
    """Losses, in the first column, less what the surpluses in the others tell of them."""
    losses, surpluses = values[:, 0], values[:, 1:]
    if len(losses) < FEWEST:
        return losses
    moved = np.zeros(len(losses))
    for half in (0, 1):
        here, other = slice(half, None, 2), slice(1 - half, None, 2)
        columns, factors = _told(losses[other], surpluses[other])
        if any(_is_doubtful(surpluses[:, column]) for column in columns):
            return losses
        moved[here] = surpluses[here][:, columns] @ factors
    return losses - moved if losses.mean() > moved.mean() else losses


def _is_doubtful(column: Array) -> bool:
    """Whether surpluses may have another mean than 0."""
    return abs(float(column.mean())) > student_half_width(column, DOUBT)


def _told(losses: Array, surpluses: Array) -> tuple[list[int], Array]:
    """The columns, `TOLD` at the most, that tell most of the losses, the best first, and what a
    unit of each adds to them.

    A column is left out if it tells no more than the best of so many of pure chance might.
    """
    centred, loss = surpluses - surpluses.mean(axis=0), losses - losses.mean()
    squares = np.sum(centred**2, axis=0)
    by_chance = 4 * math.log(2 * len(squares)) / len(losses)
    columns: list[int] = []
    factors, left = np.zeros(0), loss
    for _ in range(TOLD):
        products = (left @ centred) ** 2
        told = np.divide(products, squares, out=np.zeros(len(squares)), where=squares > 0)
        best = int(np.argmax(told))
        if told[best] <= by_chance * float(left @ left):
            break
        columns.append(best)
        factors = np.linalg.lstsq(centred[:, columns], loss, rcond=None)[0]
        left = loss - centred[:, columns] @ factors
    return columns, factors


# --- Is noise as long as it is stated to be? -----------------------------------------------------

ASKED = 0.01
"""How far from its stated mean square noise may be."""
SURE = 6.0
"""Standard errors that the mean of what is drawn must be within of its stated value."""
WIDE, NARROW = 1000, 3
"""Numbers that get noise together: many, where the mean square is soon known, and few."""
CALLED: dict[tuple[str, str], Callable[[Array, np.random.Generator], Any]] = {
    ("gaussian", "l2"): lambda zeros, rng: gaussian(zeros, l2_sensitivity=1.0, scale=3.0, rng=rng),
    ("laplace", "l1"): lambda zeros, rng: laplace(zeros, l1_sensitivity=1.0, epsilon=0.5, rng=rng),
    ("k-norm", "l2"): lambda zeros, rng: k_norm(
        zeros, norm="l2", sensitivity=2.0, epsilon=0.5, rng=rng
    ),
    ("k-norm", "linf"): lambda zeros, rng: k_norm(
        zeros, norm="linf", sensitivity=2.0, epsilon=0.5, rng=rng
    ),
}
"""A call of each mechanism whose noise is known."""


def as_stated(seed: int) -> bool:
    """Whether every mechanism draws noise whose mean square is as stated, and whose mean and mean
    cube are 0, as if both signs are as likely."""
    rng = np.random.default_rng([seed, len(CALLED)])
    wide = [_drawn(name, WIDE, 2000, rng) for name in CALLED]
    narrow = [_drawn(name, NARROW, 2000, rng) for name in CALLED]
    return (
        all(abs(float(surpluses.mean())) <= ASKED for surpluses, *_ in wide)
        and all(_is_centred(surpluses) for surpluses, *_ in narrow)
        and all(_is_centred(means) for _, *odd in (*wide, *narrow) for means in odd)
    )


def _drawn(name: tuple[str, str], k: int, calls: int, rng: np.random.Generator) -> Array:
    """The surpluses of so many calls on k zeros, the means of their noise, and the sums of its
    cubes."""
    zeros = np.zeros(k)
    noises = [unit_noise(zeros, CALLED[name](zeros, rng)) for _ in range(calls)]
    found = [
        (noise.surplus, float(noise.drawn.mean()), float(noise.drawn @ noise.drawn**2))
        for noise in noises
        if noise is not None
    ]
    return np.array(found, dtype=float).T


def _is_centred(numbers: Array) -> bool:
    error = float(np.std(numbers)) / math.sqrt(len(numbers))
    return abs(float(numbers.mean())) <= SURE * error
