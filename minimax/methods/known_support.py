"""Lower bounds for sparse problems by dense ones: a support that is known can only help."""

from __future__ import annotations

from collections.abc import Callable

from minimax.core.bound import Assumption, LowerBound, Parts, Point, Prior
from minimax.core.symbolic import renamed


def known_support_bound(
    dense: LowerBound, *, name: str, source: str, prior_at: Callable[[Point, Parts], Prior]
) -> LowerBound:
    """The bound of a dense problem in dimension s, for s of d coordinates whose places are known.

    It is true if records restricted to the support are those of the dense proof and the rest of a
    record is independent of everything; `prior_at` is the dense prior put on the support.
    """
    n, d, *others = dense.parameters
    return LowerBound(
        name=name,
        source=source,
        parameters=(n, d, "s", *others),
        optimise=lambda p: dense.optimise(on_support(p)),
        formula=lambda p, found: dense.formula(on_support(p), found),
        expression=lambda: renamed(dense.expr, "d", "s"),
        assumptions=(*dense.assumptions, Assumption("s <= d", lambda p: p["s"] <= p["d"])),
        prior_at=prior_at,
        slack=dense.slack,
        slack_regime=_with_support_for_d(dense.slack_regime),
        loss=dense.loss,
    )


def on_support(p: Point) -> dict[str, float]:
    """The point of the dense problem on the s coordinates of the support."""
    return {**{k: v for k, v in p.items() if k != "s"}, "d": p["s"]}


def _with_support_for_d(assumption: Assumption | None) -> Assumption | None:
    """The assumption of a dense problem, asked of the s coordinates of the support."""
    if assumption is None:
        return None
    return Assumption(f"with d = s: {assumption.text}", lambda p: assumption.holds(on_support(p)))
