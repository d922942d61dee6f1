"""Numbers as proofs: certified bounds evaluated in balls (``python -m minimax ... --rigorous``).

A bound that rests on a certificate of a linear programme has it proved in balls on the way
(`minimax.methods.pair_positivity`); one that is not proved leaves the bound without a number.
"""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minimax.core.balls import Ball, Undecided, precision
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


@dataclass(frozen=True)
class Certificate:
    """What ball arithmetic proves of a bound at a point."""

    name: str
    source: str
    side: Side
    proved: float | None
    """The lower end of a lower bound's ball, the upper end of an upper bound's."""
    radius: float | None
    """The relative radius of the ball."""
    why_not: str = ""
    """Why nothing is proved, where nothing is."""


def certificates(bounds: Iterable[Bound], place: Mapping[str, float]) -> Iterator[Certificate]:
    """A certificate of each certified bound, at the free parameters that its search finds."""
    for bound in bounds:
        if bound.kind == "certified":
            known = {name: place[name] for name in bound.parameters if name in place}
            yield _enclosed(bound.name, bound.source, bound.side, bound.ball, known)


def best_certificate(problem: Problem, privacy: Privacy) -> Certificate:
    """That of the least proven risk: an estimator's, or that of releasing 0."""
    best = problem.best_upper(privacy)
    ball = _zero_release(problem) if best.bound is None else best.bound.ball
    return _enclosed(f"best proven: {best}", THIS_WORK, "upper", ball, {})


def _zero_release(problem: Problem) -> Callable[[], Ball]:
    def ball() -> Ball:
        with precision(PRECISIONS[0]):
            exact = {name: Ball(value) for name, value in problem.point.items()}
            return Ball(problem.zero_release_risk(exact))

    return ball


def _enclosed(
    name: str, source: str, side: Side, enclose: Callable[..., Ball], place: Mapping[str, float]
) -> Certificate:
    try:
        ball = enclose(**place)
    except OutsideRegime as outside:
        needs = f"needs {'; '.join(outside.needs)}"
        return Certificate(name, source, side, None, None, needs)
    except (Undecided, NotProved) as doubt:
        return Certificate(name, source, side, None, None, f"not enclosed: {doubt}")
    proved = max(ball.low, 0.0) if side == "lower" else ball.high
    return Certificate(name, source, side, proved, ball.relative_radius)


def shown(found: Sequence[Certificate], title: str, unproved: int) -> str:
    """The certificates as a table of 80 columns, and how many rows there are without a proof."""
    header = [*title.splitlines(), ABOUT]
    lines = [line for text in header for line in textwrap.wrap(text, WIDTH)] + [""]
    lines.append(f"{'proved':>30}  radius  bound")
    for certificate in found:
        lines += _row(certificate)
    if unproved:
        lines.append(f"(without a proof, see the table without --rigorous: {unproved} claimed)")
    return "\n".join(lines)


def _row(certificate: Certificate) -> list[str]:
    """The inequality, its radius and what it is called."""
    number, radius, name = "-", "-", f"{certificate.name}: {certificate.why_not}"
    if certificate.proved is not None:
        sign = ">=" if certificate.side == "lower" else "<="
        number, name = f"risk {sign} {certificate.proved!r}", certificate.name
        radius = f"{certificate.radius:.0e}"
    start = f"{number:>30}  {radius:>6}  "
    hanging = textwrap.TextWrapper(
        WIDTH, initial_indent=start, subsequent_indent=" " * len(start), break_on_hyphens=False
    )
    return hanging.wrap(name)
