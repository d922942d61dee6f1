r"""Trials until a verdict: a measurement ends as soon as all that rests on it is decided.

**Statement.** There are K = `len(LOOKS)` looks. At a look a task has one of K numbers of trials
that are fixed in advance; whether it goes on may depend on everything seen so far. If the interval
of a risk at each of the K numbers has the level 1 - alpha/K, then the one at which the task ends
holds the risk with a chance of at least 1 - alpha, whatever the rule. An exponent fitted to m tasks
has the level 1 - alpha if its interval has 1 - alpha/K^m at each of the K^m combinations. Where the
losses of a task are plain or adjusted (`known_noise`), as they themselves decide, there are 2 K and
(2 K)^m.

**Proof.** The interval that is reported is one of so many intervals from trials whose number was
fixed in advance. The chance that any of these misses is at most the sum of theirs. (The levels of
single intervals are nominal where they are Student's: losses of few coordinates are skewed, and
their upper ends miss more often than they say, by orders of magnitude at 16 trials of one
coordinate. So the first look is not early, and is the full number where that is `FEWEST` or less.)

**Rule.** A task goes on while something that rests on it is open: a level or an exponent that is
not consistent, a control that has not broken, a risk that may be larger than that of releasing 0.
Before the full number of trials, `Task.trials`, no violation is believed, and a level or a coverage
ends only if its interval clears the bound itself: the margin for bounds that are equalities is
granted at the full number, as if there had been no looks. What is inconclusive there gets up to
`LOOKS[-1]` times as many. So the looks save trials where the answer is plain, spend them where it
is not, and make no check easier: a bound that is false by any factor is passed early only if an
interval misses.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple, Protocol, Union

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from threadpoolctl import ThreadpoolController

from attacks.intervals import student_half_width
from verify.console import track
from verify.rates.backends import Backend
from verify.rates.grid import told
from verify.rates.judge import Verdict
from verify.rates.known_noise import LEAST, STATES, adjusted
from verify.rates.measure import Measurement, TrialError, interval, proportion
from verify.rates.results import Key, Results
from verify.rates.rows import Control, LevelControl, Row, SlopeControl, SlopeRow
from verify.seeds import cell_seed

if TYPE_CHECKING:
    from verify.rates.special.coverage import CoverageRow

Array = NDArray[np.float64]

LOOKS = tuple(2 ** (k / 2) for k in range(-4, 7))
"""When it is looked at, in units of a task's full number of trials."""
FEWEST = 32
"""Trials of a first look, at least, where the full number is not smaller."""
PIECE = 6e6
"""Numbers that are drawn in the time of a short piece of work, some 40 milliseconds. The trials
that a task gets at a look are cut into (numbers/PIECE)^(2/3) pieces: many workers share what little
is left at the last looks, and a long run does not hand out pieces faster than one process can
(`bench/scaling.py`). Who works does not matter, so what is kept is found again by anyone."""
OVERHEAD = 2e5
"""What a trial costs besides its numbers, in numbers."""


STOPPED = threading.Event()
"""Set by Ctrl-C: what it raises may be lost in the cleaning up of finished workers."""


class Task(Protocol):
    """Something that is tried again and again: an estimator under a prior at a point."""

    @property
    def label(self) -> str:
        """Its name, which determines its seeds."""

    @property
    def trials(self) -> int:
        """The full number of trials."""

    @property
    def size(self) -> float:
        """Numbers that a trial draws, about."""

    def key(self, written: bool) -> Key:
        """What decides its values besides the packages; with its parts `written` out if asked."""

    def values(self, seed: int, first: int, last: int) -> Array:
        """What the trials first, ..., last - 1 gave: a number or a row of numbers for each."""


class TaskFailed(RuntimeError):
    """A trial raised an error: which one, in a sentence."""


@dataclass(frozen=True)
class Seen:
    """What the trials have given so far."""

    values: Mapping[str, Array]
    seed: int
    alpha: float
    """Error budget of an interval at one look."""
    noise_known: bool = False
    """Whether noise that was seen is as long as it is stated to be."""

    def risk(self, label: str, drawn_as: str | None = None) -> Measurement:
        """The mean of a task's losses, with Student's interval; `drawn_as` names its seed if the
        label does not. Plain and adjusted losses have half of the error each, and no interval is
        narrower than `LEAST` times that of the plain ones."""
        own, level = cell_seed(self.seed, drawn_as or label), self.alpha / STATES
        losses, values = self.losses(label), self.values[label]
        plain = values if values.ndim == 1 else values[:, 0]
        return interval(losses, level, own, LEAST * student_half_width(plain, level))

    def losses(self, label: str) -> Array:
        """Of a task, adjusted by what is known of their noise if that was seen."""
        values = self.values[label]
        if values.ndim == 1:
            return values
        return adjusted(values) if self.noise_known else values[:, 0]

    def share(self, label: str, column: int) -> Measurement:
        """In how many trials of a task something was so, with the exact interval."""
        held = self.values[label][:, column]
        own = cell_seed(self.seed, label)
        return proportion(int(np.count_nonzero(held)), len(held), self.alpha, own)


Judged = Union[Row, SlopeRow, "CoverageRow", Control]


class Check(NamedTuple):
    """A verdict, and the tasks of which more trials would make it surer."""

    found: Judged
    labels: tuple[str, ...]

    def is_open(self, full: bool) -> bool:
        """Whether more trials may decide it; `full`: its tasks had their full number."""
        if isinstance(self.found, (LevelControl, SlopeControl)):
            return not self.found.broke
        if isinstance(self.found, Row) and self.found.may_be_worse:
            return True
        if full:
            return self.found.verdict is Verdict.INCONCLUSIVE
        return not self.found.is_clear


class Study(Protocol):
    """Tasks, and what is concluded from them."""

    @property
    def tasks(self) -> Sequence[Task]:
        """What is tried."""

    def checks(self, seen: Seen) -> list[Check]:
        """Every verdict, from the trials so far."""


def number(task: Task, look: float) -> int:
    """How many trials a task has had by a look."""
    return max(math.ceil(look * task.trials), min(FEWEST, task.trials))


class Piece(NamedTuple):
    """Some trials of a task, run in one go."""

    task: Task
    first: int
    last: int


def piece_values(piece: Piece, seed: int) -> Array:
    """What its trials gave. One thread: processes are what uses the other cores."""
    task, first, last = piece
    with _libraries().limit(limits=1), _named(task, "a trial"):
        return task.values(seed, first, last)


@contextmanager
def _named(task: Task, what: str) -> Iterator[None]:
    """Errors as sentences that name the task. Code that calls exit() ends no run."""
    try:
        yield
    except TrialError as error:
        raise _failed(task, f"trial {error.number}", error.why) from error
    except (Exception, SystemExit) as error:
        raise _failed(task, what, error) from error


def _failed(task: Task, what: str, error: BaseException) -> TaskFailed:
    return TaskFailed(f"{task.label}: {what} failed: {told(error)}")


@cache
def _libraries() -> ThreadpoolController:
    """Those that have threads of their own: looking for them takes longer than short pieces do."""
    return ThreadpoolController()


def pieces(task: Task, first: int, last: int) -> list[Piece]:
    """The trials of a task in pieces of about the same size, so that many workers can share."""
    if first >= last:
        return []
    count = math.ceil(((last - first) * (task.size + OVERHEAD) / PIECE) ** (2 / 3))
    ends = np.linspace(first, last, min(count, last - first) + 1).round().astype(int).tolist()
    return [Piece(task, a, b) for a, b in itertools.pairwise(ends)]


@dataclass
class Simulation:
    """How tasks are run, and what is known of them."""

    seed: int
    alpha: float
    """Error budget of an interval at one look."""
    known: Results
    backend: Backend
    console: Console | None = None
    own: bool = False
    """Whether claims are a user's own, whose parts may come from anywhere."""
    noise_known: bool = False
    """Whether noise that is seen is as long as it is stated to be."""
    values: dict[str, Array] = field(default_factory=dict, init=False)
    _asked: int = field(default=0, init=False)
    _keys: dict[str, Key] = field(default_factory=dict, init=False)

    @property
    def seen(self) -> Seen:
        return Seen(self.values, self.seed, self.alpha, self.noise_known)

    def run(self, studies: Sequence[Study]) -> list[list[Check]]:
        """The checks of every study, once no more trials would decide anything."""
        tasks = {task.label: task for study in studies for task in study.tasks}
        going = set(tasks)
        found: list[list[Check]] = []
        for look in LOOKS:
            grown = self._grow([tasks[label] for label in tasks if label in going], look)
            if found and not grown:
                continue  # FEWEST trials are as many as at the look before
            found = [study.checks(self.seen) for study in studies]
            going = set(self._open([check for part in found for check in part], tasks))
        if self.known.found and self.console is not None:
            told = f"{self.known.found} of {self._asked} measurements were there already"
            self.console.print(told)
        return found

    def _open(self, checks: Sequence[Check], tasks: Mapping[str, Task]) -> Iterator[str]:
        for check in checks:
            full = all(len(self.values[label]) >= tasks[label].trials for label in check.labels)
            if check.is_open(full):
                yield from check.labels

    def _grow(self, tasks: Sequence[Task], look: float) -> bool:
        """Bring tasks to a look; whether there was anything to do."""
        wanted = [
            piece
            for task in tasks
            for piece in pieces(task, len(self.values.get(task.label, ())), number(task, look))
        ]
        if not wanted:
            return False
        found = {place: self.known.get(self._key(p), _decoded) for place, p in enumerate(wanted)}
        there = {place: values for place, values in found.items() if values is not None}
        self._asked += len(wanted)
        # The longest go first so that a look does not end with one slow piece.
        left = [place for place in range(len(wanted)) if place not in there]
        left.sort(key=lambda place: -_cost(wanted[place]))
        there |= self._completed(wanted, left, f"up to {look:.0%} of the trials")
        for place, piece in enumerate(wanted):
            before = self.values.get(piece.task.label)
            new = there[place]
            self.values[piece.task.label] = new if before is None else np.concatenate([before, new])
        return True

    def _completed(self, wanted: Sequence[Piece], left: list[int], what: str) -> dict[int, Array]:
        """The pieces that are left, run and kept as they come."""
        out: dict[int, Array] = {}
        if left:
            call = partial(piece_values, seed=self.seed)
            completed = self.backend.completed(call, [wanted[place] for place in left])
            for k, values in track(completed, self.console, what, len(left)):
                if STOPPED.is_set():
                    raise KeyboardInterrupt
                out[left[k]] = values
                self.known.keep(self._key(wanted[left[k]]), values.tolist())
        return out

    def _key(self, piece: Piece) -> Key:
        label = piece.task.label
        if label not in self._keys:
            with _named(piece.task, "its estimator"):
                self._keys[label] = piece.task.key(self.own and self.known.folder is not None)
        span = {"seed": self.seed, "first": piece.first, "last": piece.last}
        return {**self._keys[label], **span}


def _cost(piece: Piece) -> float:
    return (piece.last - piece.first) * (piece.task.size + OVERHEAD)


def _decoded(values: object) -> Array:
    array = np.array(values, dtype=float)
    if array.ndim not in (1, 2):
        raise ValueError("it holds no list of losses")
    return array
