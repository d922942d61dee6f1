"""What the calculator shows of a problem: one row for each bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from minimax.core.bound import Bound, Kind, OutsideRegime
from minimax.core.loss import Loss
from minimax.core.privacy import Privacy, check_privacy
from minimax.core.problem import Problem
from minimax.papers import THIS_WORK


@dataclass(frozen=True)
class Row:
    """A bound at a point; outside its regime there are no numbers, and the reason is given."""

    name: str
    source: str
    kind: Kind
    statistical: float | None
    privacy: float | None
    total: float | None
    assumptions: list[str]


@dataclass(frozen=True)
class ClosedForm:
    """The closed form of a bound: on the safe side of its value, and with its exponents."""

    name: str
    closed_form: str
    latex: str


def closed_form(bound: Bound) -> ClosedForm:
    """That of a bound."""
    return ClosedForm(bound.name, str(bound.expr), bound.latex())


def rows(problem: Problem, privacy: Privacy) -> list[Row]:
    """One row per lower bound."""
    check_privacy(privacy)
    point = {**problem.point, **privacy.parameters}
    return [bound_row(bound, point, problem.loss) for bound in problem.lower(type(privacy))]


def upper_rows(problem: Problem, privacy: Privacy) -> list[Row]:
    """The best proven upper bound, then those that the sources state."""
    best, point = problem.best_upper(privacy), {**problem.point, **privacy.parameters}
    first = Row(f"best proven: {best}", THIS_WORK, "certified", None, None, best.risk, [])
    return [first, *(bound_row(bound, point, problem.loss) for bound in problem.upper(privacy))]


def bound_row(bound: Bound, point: Mapping[str, float], compared_in: Loss | None = None) -> Row:
    """A bound at a point; its loss is named unless it is the one that bounds are compared in."""
    notes = [assumption.text for assumption in bound.assumptions]
    if bound.loss is not compared_in:
        notes.append(f"loss: {bound.loss}")
    if bound.remark:
        notes.append(bound.remark)
    row = Row(bound.name, bound.source, bound.kind, None, None, None, notes)
    try:
        parts = bound.parts(**{k: v for k, v in point.items() if k in bound.parameters})
    except OutsideRegime as outside:
        return replace(row, assumptions=[*notes, f"NOT MET: {'; '.join(outside.needs)}"])
    return replace(row, statistical=parts.statistical, privacy=parts.privacy, total=parts.total)
