"""What a paper states without a constant, as a bound of the kind ``claimed`` or ``refuted``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import mpmath

from minimax.core.bound import Assumption, LowerBound, Optimum, Point, Terms, UpperBound
from minimax.core.loss import TO_THE_MEAN, Loss
from minimax.core.symbolic import LETTERS

HIDDEN_CONSTANT = "constant hidden in the paper, shown as 1"

AnyBound = TypeVar("AnyBound", LowerBound, UpperBound)
Rate = Callable[[Point], Terms]
"""A paper's two terms at a point, for any kind of number."""


def claimed_bound(
    bound: type[AnyBound],
    name: str,
    source: str,
    parameters: tuple[str, ...],
    rate: Rate,
    *,
    kind: Literal["claimed", "refuted"] = "claimed",
    assumptions: tuple[Assumption, ...] = (),
    loss: Loss = TO_THE_MEAN,
    remark: str = HIDDEN_CONSTANT,
) -> AnyBound:
    """A paper's statement as printed, from its two terms."""

    def formula(point: Point, found: Optimum) -> Terms:
        with mpmath.workdps(30):  # a rate outside its regime may leave the range of floats
            return rate({name: mpmath.mpf(value) for name, value in point.items()})

    return bound(
        name=name,
        source=source,
        kind=kind,
        parameters=parameters,
        formula=formula,
        expression=lambda: rate(LETTERS).total,
        assumptions=assumptions,
        loss=loss,
        remark=remark,
    )
