"""Contestants that take turns: their times and errors, and whether goals are met."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from peer_process import Unavailable

SAME_ERROR = 1.001
"""Errors that agree to this factor are equal: the same support, refitted."""


@dataclass
class Line:
    """One contestant: its best time, that over the reference's, its errors."""

    section: str
    name: str
    seconds: float = math.inf
    ratio: float = math.nan
    errors: list[float] = field(default_factory=list)

    @property
    def error(self) -> float:
        """The median error."""
        return statistics.median(self.errors)

    def shown(self) -> tuple[str, ...]:
        """The cells of a table."""
        cells = self.name, f"{1e3 * self.seconds:.1f}", f"{self.ratio:.2f}"
        if not self.errors:
            return cells
        return *cells, f"{self.error:.2e}  [{min(self.errors):.1e}, {max(self.errors):.1e}]"


class Verdict(NamedTuple):
    """Whether a goal is met, and by how much."""

    goal: str
    met: bool | None
    """None: could not be measured here."""
    detail: str

    def __str__(self) -> str:
        word = {True: "met", False: "NOT MET", None: "not measured"}[self.met]
        return f"{word}: {self.goal}: {self.detail}"


class Outcome(NamedTuple):
    """What a section of the bench found; its first line is the reference."""

    title: str
    lines: list[Line]
    verdicts: list[Verdict]


def seconds(action: Callable[[], object]) -> float:
    """Wall time of one call."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def take_turns(section: str, repetitions: int, **actions: Callable[[], object]) -> list[Line]:
    """Best time of each action over alternating repetitions, after a warm-up of each."""
    lines = [Line(section, name) for name in actions]
    for action in actions.values():
        action()
    for _ in range(repetitions):
        for line, action in zip(lines, actions.values(), strict=True):
            line.seconds = min(line.seconds, seconds(action))
    return relative(lines)


def relative(lines: list[Line]) -> list[Line]:
    """The same lines with their times also in units of the first."""
    for line in lines:
        line.ratio = line.seconds / lines[0].seconds
    return lines


class Contest:
    """Fits that take turns on data sets given one after the other."""

    def __init__(self, section: str, repetitions: int) -> None:
        self.section, self.repetitions = section, repetitions
        self.lines: dict[str, Line] = {}
        self.failed: dict[str, str] = {}

    def run(
        self, beta: np.ndarray, fits: dict[str, Callable[[], tuple[float, np.ndarray]]]
    ) -> None:
        """Let each fit its turns on one data set; its error is that of the last turn."""
        for turn in range(self.repetitions):
            for name, fit in fits.items():
                if name in self.failed:
                    continue
                try:
                    if name not in self.lines:
                        fit()  # warm-up: first use may compile
                    took, coef = fit()
                except Unavailable as reason:
                    self.failed[name] = str(reason)
                    continue
                line = self.lines.setdefault(name, Line(self.section, name))
                line.seconds = min(line.seconds, took)
                if turn == self.repetitions - 1:
                    line.errors.append(float(np.sum((coef - beta) ** 2)))

    def finished(self) -> list[Line]:
        """The lines of those that ran, the first as reference."""
        return relative([line for line in self.lines.values() if line.errors])


def ours(make: Callable[[], Any], X: np.ndarray, y: np.ndarray) -> tuple[float, np.ndarray]:
    """Seconds and coefficients of one of our fits."""
    start = time.perf_counter()
    coef = make().fit(X, y).coef_
    return time.perf_counter() - start, coef


def beaten(mine: Line, other: Line) -> Verdict:
    """Whether `mine` is at least as fast as the other at no larger error."""
    faster, smaller = other.seconds / mine.seconds, other.error / mine.error
    return Verdict(
        f"{mine.name} no slower than {other.name}, error no larger",
        faster >= 1 and smaller * SAME_ERROR >= 1,
        f"takes {mine.seconds / other.seconds:.2f} of its time, "
        f"has {mine.error / other.error:.3g} of its error",
    )
