"""Numbers as proofs: certified bounds evaluated in balls (``python -m minimax ... --rigorous``).

A bound that rests on a certificate of a linear programme has it proved in balls on the way
(`minimax.methods.pair_positivity`); one that is not proved leaves the bound without a number.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from minimax.core.balls import Ball, Undecided, precision
from minimax.core.best import Best
from minimax.core.bound import PRECISIONS, Bound, OutsideRegime, Side
from minimax.core.privacy import Privacy
from minimax.core.problem import Problem
from minimax.methods.pair_positivity import NotProved
from minimax.papers import THIS_WORK

WIDTH = 80
ABOUT = (
    "The end of a ball around each certified bound, and the ball's relative radius. A row that"
    " rests on a certificate of a linear programme had it proved in balls, too."
)


NO_BALL = "no ball around a bound is smaller"
SAME = 1e-6
"""Relative difference of a ball and the value in floats above which they are different forms."""


@dataclass(frozen=True)
class Certificate:
    """What ball arithmetic proves of a bound at a point."""

    name: str
    source: str
    side: Side
    proved: float | None = None
    """The lower end of a lower bound's ball, the upper end of an upper bound's."""
    radius: float | None = None
    """The relative radius of the ball."""
    in_floats: float | None = None
    """What the calculator says without balls."""
    why_not: str = ""
    """Why nothing is proved, where nothing is."""

    @property
    def note(self) -> str:
        """What there is to say besides the number."""
        if self.proved is None or self.in_floats is None:
            return self.why_not
        if abs(self.proved - self.in_floats) <= SAME * self.in_floats:
            return ""
        return f"a simpler form than that in floats, {self.in_floats:.4g}"


def certificates(bounds: Iterable[Bound], place: Mapping[str, float]) -> Iterator[Certificate]:
    """A certificate of each certified bound, at the free parameters that its search finds."""
    for bound in bounds:
        if bound.kind == "certified":
            known = {name: place[name] for name in bound.parameters if name in place}
            nothing = Certificate(bound.name, bound.source, bound.side)
            yield _enclosed(nothing, partial(bound.value, **known), partial(bound.ball, **known))


def best_certificate(problem: Problem, privacy: Privacy) -> Certificate:
    """That of the least proven risk: an estimator's, or that of releasing 0."""
    best = problem.best_upper(privacy)
    zero = Best(problem.zero_release_risk(), note=NO_BALL if best.bound else best.note)
    released = _best(zero, lambda: _zero_release(problem))
    if best.bound is None:
        return released
    found = _best(best, best.bound.ball)
    return min(found, released, key=lambda each: math.inf if each.proved is None else each.proved)


def _best(best: Best, ball: Callable[[], Ball]) -> Certificate:
    nothing = Certificate(f"best proven: {best}", THIS_WORK, "upper")
    return _enclosed(nothing, lambda: best.risk, ball)


def _zero_release(problem: Problem) -> Ball:
    with precision(PRECISIONS[0]):
        exact = {name: Ball(value) for name, value in problem.point.items()}
        return Ball(problem.zero_release_risk(exact))


def _enclosed(
    nothing: Certificate, value: Callable[[], float], enclose: Callable[[], Ball]
) -> Certificate:
    """What was known of the bound, with its ball or the reason why there is none."""
    try:
        ball = enclose()
    except OutsideRegime as outside:
        return replace(nothing, why_not=f"needs {'; '.join(outside.needs)}")
    except (Undecided, NotProved) as doubt:
        return replace(nothing, in_floats=value(), why_not=f"not enclosed: {doubt}")
    proved = max(ball.low, 0.0) if nothing.side == "lower" else ball.high
    return replace(nothing, proved=proved, radius=ball.relative_radius, in_floats=value())


def shown(found: Sequence[Certificate], title: str, unproved: int) -> str:
    """The certificates as a table of 80 columns, and how many rows there are without a proof."""
    header = [*title.splitlines(), ABOUT]
    lines = [line for text in header for line in textwrap.wrap(text, WIDTH)] + [""]
    lines.append(f"{'proved':>30}  radius  bound")
    for certificate in found:
        lines += _row(certificate)
    if unproved:
        lines.append(f"(claimed or refuted, shown without --rigorous: {unproved} more)")
    return "\n".join(lines)


def _row(certificate: Certificate) -> list[str]:
    """The inequality, its radius and what it is called."""
    number, radius, name = "-", "-", certificate.name
    if certificate.note:
        name += f" ({certificate.note})"
    if certificate.proved is not None:
        sign = ">=" if certificate.side == "lower" else "<="
        number, radius = f"risk {sign} {certificate.proved!r}", f"{certificate.radius:.0e}"
    start = f"{number:>30}  {radius:>6}  "
    hanging = textwrap.TextWrapper(
        WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False
    )
    return hanging.wrap(name)
