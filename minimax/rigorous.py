"""Numbers as proofs: certified bounds evaluated in balls (``python -m minimax ... --rigorous``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from minimax.core.balls import Undecided
from minimax.core.bound import Bound, OutsideRegime, Side


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
        if bound.kind != "certified":
            continue
        known = {name: place[name] for name in bound.parameters if name in place}
        try:
            ball = bound.ball(**known)
        except OutsideRegime as outside:
            needs = f"needs {'; '.join(outside.needs)}"
            yield Certificate(bound.name, bound.source, bound.side, None, None, needs)
        except Undecided as undecided:
            yield Certificate(bound.name, bound.source, bound.side, None, None, str(undecided))
        else:
            proved = max(ball.low, 0.0) if bound.side == "lower" else ball.high
            yield Certificate(bound.name, bound.source, bound.side, proved, ball.relative_radius)


def shown(certificate: Certificate) -> str:
    """One line: the inequality, its radius and what it is called."""
    if certificate.proved is None:
        return f"{'-':>30}   {certificate.name}: {certificate.why_not}"
    sign = ">=" if certificate.side == "lower" else "<="
    number = f"risk {sign} {certificate.proved!r}"
    return f"{number:>30}   {certificate.name} (radius {certificate.radius:.0e})"
