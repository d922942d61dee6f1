"""A theorem as a value: statement, constants, assumptions, proof's prior and source together."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

import mpmath
import sympy as sp

from minimax.core.bound import (
    Assumption,
    Instance,
    Labelled,
    OutsideRegime,
    Parts,
    Prior,
    Sample,
    fit_arguments,
)

Point = Mapping[str, float]
__all__ = ["Instance", "Labelled", "Sample", "fit_arguments"]
"""Re-exported."""

n, d, s, sigma, radius = sp.symbols("n d s sigma a", positive=True)
epsilon, delta, rho, mu = sp.symbols("epsilon delta rho mu", positive=True)
p, C, b, alpha, kappa = sp.symbols("p C b alpha kappa", positive=True)
SYMBOLS: dict[str, sp.Symbol] = {
    "n": n,
    "d": d,
    "s": s,
    "sigma": sigma,
    "radius": radius,
    "epsilon": epsilon,
    "delta": delta,
    "rho": rho,
    "mu": mu,
    "p": p,
    "C": C,
    "b": b,
    "alpha": alpha,
    "kappa": kappa,
}


@dataclass(frozen=True)
class Bound:
    """A bound on a risk.

    `kind` is ``certified`` (explicit constant, proved here), ``claimed`` (the paper's rate with the
    hidden constant set to one) or ``refuted`` (with the reason in `remark`).
    """

    name: str
    source: str
    side: Literal["lower", "upper"]
    kind: Literal["certified", "claimed", "refuted"]
    names: tuple[str, ...]
    compute: Callable[[Point], Parts]
    expr: sp.Expr
    assumptions: tuple[Assumption, ...] = ()
    prior_at: Callable[[Point, Parts], Prior] | None = None
    slack: float | None = None
    """Stated factor: value <= slack * expr wherever `slack_regime` holds."""
    slack_regime: Assumption | None = None
    loss: str = "squared l2 distance to the population mean"
    remark: str = ""
    defaults: Mapping[str, float] = field(default_factory=dict)
    """For an upper bound: the problem it was made for, whose noise and truncation it contains."""

    def point(self, given: Point) -> dict[str, float]:
        """The named numbers this bound needs, checked to be there, finite and positive."""
        changed = [k for k in given if k in self.defaults and given[k] != self.defaults[k]]
        if changed:
            raise TypeError(
                f"{self.name}: {', '.join(changed)} belong to the problem it was made for"
            )
        merged = {**self.defaults, **given}
        missing = [name for name in self.names if name not in merged]
        if missing:
            raise TypeError(f"{self.name}: missing {', '.join(missing)}")
        point = {name: float(merged[name]) for name in self.names}
        for name, value in point.items():
            if not (value > 0 and math.isfinite(value)):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        return point

    def broken(self, **given: float) -> list[str]:
        """The assumptions that fail at a point, in words."""
        point = self.point(given)
        return [a.text for a in self.assumptions if not a.holds(point)]

    def parts(self, **given: float) -> Parts:
        """The value with its split; raises `OutsideRegime` where nothing is proved.

        A value that is not finite is refused too: numbers failed, and nothing is known.
        """
        failed = self.broken(**given)
        if failed:
            raise OutsideRegime(f"{self.name}: needs {'; '.join(failed)}", tuple(failed))
        point = self.point(given)
        parts = self.compute(point)
        if not math.isfinite(parts.total):
            where = ", ".join(f"{name}={value:g}" for name, value in point.items())
            raise ValueError(f"{self.name}: the value at {where} is {parts.total}, not a number")
        return parts

    def value(self, **given: float) -> float:
        """The bound, optimised over the free parameters of its proof."""
        return self.parts(**given).total

    def closed_form(self, **given: float) -> float:
        """`expr` evaluated at the point (valid, and for a lower bound at most `value`)."""
        failed = self.broken(**given)
        if failed:
            raise OutsideRegime(f"{self.name}: needs {'; '.join(failed)}", tuple(failed))
        point = self.point(given)
        with mpmath.workdps(30):
            arguments = (mpmath.mpf(point[name]) for name in self.names)
            return float(mpmath.re(self._function()(*arguments)))

    def slope(self, name: str, **given: float) -> float:
        """x d log(expr)/dx: the local exponent of the bound in one of its parameters."""
        if self.closed_form(**given) <= 0:
            raise OutsideRegime(f"{self.name}: the closed form is zero here, it has no slope")
        point = self.point(given)
        function = self._function()

        def log_expr(log_x: Any) -> Any:
            moved = {**point, name: mpmath.exp(log_x)}
            return mpmath.log(mpmath.re(function(*(mpmath.mpf(moved[k]) for k in self.names))))

        # Differentiated at 40 digits: sympy's derivative of nested Min and Max does not evaluate.
        with mpmath.workdps(40):
            return float(mpmath.diff(log_expr, mpmath.log(point[name])))

    def latex(self) -> str:
        """The closed form as LaTeX."""
        return str(sp.latex(self.expr))

    def prior(self, **given: float) -> Prior:
        """The prior of the proof at this point, with its free parameters at their optimum."""
        if self.prior_at is None:
            raise OutsideRegime(f"{self.name}: a {self.kind} bound has no prior to sample")
        return self.prior_at(self.point(given), self.parts(**given))

    def _function(self) -> Callable[..., Any]:
        arguments = tuple(SYMBOLS.get(k, sp.Symbol(k, positive=True)) for k in self.names)
        return _compiled(self.expr, arguments)


@lru_cache(maxsize=1024)
def _compiled(expression: sp.Expr, arguments: tuple[sp.Symbol, ...]) -> Callable[..., Any]:
    """The expression as an mpmath function, so that no cancellation or overflow can hide in it."""
    function: Callable[..., Any] = sp.lambdify(arguments, expression, modules="mpmath")
    return function


HIDDEN_CONSTANT = "constant hidden in the paper, shown as 1"


def printed(
    name: str,
    source: str,
    names: tuple[str, ...],
    statistical: sp.Expr | None,
    privacy: sp.Expr,
    *,
    side: Literal["lower", "upper"] = "lower",
    kind: Literal["claimed", "refuted"] = "claimed",
    assumptions: tuple[Assumption, ...] = (),
    loss: str = Bound.loss,
    remark: str = HIDDEN_CONSTANT,
) -> Bound:
    """A paper's statement as printed, from its two terms."""
    arguments = tuple(SYMBOLS[k] for k in names)

    def number(expression: sp.Expr, p: Point) -> float:
        with mpmath.workdps(30):
            value = _compiled(expression, arguments)(*(mpmath.mpf(p[k]) for k in names))
            return float(mpmath.re(value))

    def compute(p: Point) -> Parts:
        first = None if statistical is None else number(statistical, p)
        second = number(privacy, p)
        return Parts(first, second, (first or 0.0) + second)

    return Bound(
        name=name,
        source=source,
        side=side,
        kind=kind,
        names=names,
        compute=compute,
        expr=privacy if statistical is None else statistical + privacy,
        assumptions=assumptions,
        loss=loss,
        remark=remark,
    )


def at_least(name: str, value: float, text: str | None = None) -> Assumption:
    """The assumption `name >= value`."""
    return Assumption(text or f"{name} >= {value:g}", lambda point: point[name] >= value)


def positive_part(expression: sp.Expr) -> sp.Expr:
    """max(expression, 0)."""
    return sp.Max(expression, 0)
