"""The calculator's closed forms as JavaScript, printed from the bounds' sympy expressions.

An expression is printed as it stands: what occurs in it several times becomes a variable, and
nothing is rearranged. A condition of a bound is read from its words, which a test holds against its
code; one that is no formula (“Gaussian records”) is shown and not evaluated.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

import sympy
from sympy.parsing.sympy_parser import (
    convert_xor,
    implicit_multiplication_application,
    parse_expr,
    standard_transformations,
)
from sympy.printing.jscode import JavascriptCodePrinter

from minimax.catalogue import PROBLEMS
from minimax.core.bound import COUNTS, SHARED, Bound, Point, UpperBound
from minimax.core.symbolic import LETTERS, PLAIN_LETTERS, symbol
from verify.companion import addresses as where
from verify.companion.prose import inline
from verify.companion.upper_forms import upper_forms
from verify.proofs.theorems import BUDGETS, REFERENCE, Carried, carried_bounds

if TYPE_CHECKING:
    from minimax.core.privacy import Privacy

BUDGET_FORMS: tuple[dict[str, object], ...] = (
    {"key": "Pure", "label": "ε-DP", "parameters": ["epsilon"]},
    {"key": "Approximate", "label": "(ε, δ)-DP", "parameters": ["epsilon", "delta"]},
    {"key": "ZeroConcentrated", "label": "ρ-zCDP", "parameters": ["rho"]},
    {"key": "Gaussian", "label": "μ-GDP", "parameters": ["mu"]},
)


def budget_label(budget: Privacy) -> str:
    """A kind of budget, in its letters."""
    return next(str(b["label"]) for b in BUDGET_FORMS if b["key"] == type(budget).__name__)


RELATION = re.compile(r"\s*(<=|>=|<|>)\s*")
REMARK = re.compile(r" \([^()]*[a-z]{3,} [^()]*\)$")
"""Words behind a condition that say what it is for."""
FUNCTIONS = {"erf": "COMPANION.erf", "erfc": "COMPANION.erfc"}
READ = (*standard_transformations, convert_xor, implicit_multiplication_application)


class _Printer(JavascriptCodePrinter):
    """Prints an expression in terms of variables for what occurs in it several times."""

    def __init__(self) -> None:
        super().__init__({"user_functions": FUNCTIONS})
        self.names: dict[Any, str] = {}
        self.whole: Any = None

    def of(self, expression: Any) -> str:
        """The code of an expression whose parts may have names."""
        self.whole = expression
        return str(self.doprint(expression))

    def _print(self, expr: Any, **settings: Any) -> str:
        if expr in self.names and expr is not self.whole:
            return self.names[expr]
        return str(super()._print(expr, **settings))

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        """A sum; where digits would be lost in a difference, by a function that keeps them."""
        excess = _excess(expr)
        if excess is not None:
            return f"(2*COMPANION.excess({self._print(excess)}))"
        exponents = [part for part in expr.args if isinstance(part, sympy.exp)]
        if set(expr.args) == {*exponents, sympy.S.NegativeOne} and len(exponents) == 1:
            return f"Math.expm1({self._print(exponents[0].args[0])})"
        negative = [-part for part in expr.args if isinstance(-part, sympy.exp)]
        if set(expr.args) == {*(-part for part in negative), sympy.S.One} and len(negative) == 1:
            return f"(-Math.expm1({self._print(negative[0].args[0])}))"
        return str(super()._print_Add(expr, order))


def _excess(expr: Any) -> Any | None:
    """w, if a sum is 2 (g - 1 - log g) with g = w/(1 - e^-w), which is about w^2/4 for small w."""
    logs = [part.args[-1] for part in expr.args if part.func is sympy.Mul and part.has(sympy.log)]
    if len(expr.args) != 3 or len(logs) != 1 or not isinstance(logs[0], sympy.log):
        return None
    g = logs[0].args[0]
    exponents = [-part.args[0] for part in g.atoms(sympy.exp)]
    if len(exponents) != 1:
        return None
    w = exponents[0]
    same = g == w / (1 - sympy.exp(-w)) and expr == 2 * g - 2 * sympy.log(g) - 2
    return w if same else None


def script_of(expression: Any) -> str:
    """The body of a function that computes an expression from its letters."""
    expression = sympy.sympify(expression)
    seen: Counter[Any] = Counter()
    order: list[Any] = []

    def visit(part: Any) -> None:
        seen[part] += 1
        if seen[part] == 1:
            for inner in part.args:
                visit(inner)
            order.append(part)

    visit(expression)
    shared = [part for part in order if seen[part] > 1 and part.args and not _is_relation(part)]
    printer, lines = _Printer(), []
    for i, part in enumerate(shared):
        lines.append(f"const t{i}={printer.of(part)};")
        printer.names[part] = f"t{i}"  # from here on: a quotient may be printed before its root
    return "".join([*lines, f"return {printer.of(expression)};"])


def _is_relation(part: Any) -> bool:
    return not isinstance(part, sympy.Expr) or isinstance(part, sympy.Number)


def letter(name: str) -> str:
    """The letter of a parameter in closed forms."""
    return PLAIN_LETTERS.get(name, name)


def condition(text: str) -> Any | None:
    """The relation that an assumption's words state, or None if they state none."""
    parts = RELATION.split(REMARK.sub("", text))
    if len(parts) < 3:
        return None
    letters = {letter(name): symbol(name) for name in SHARED}
    letters |= {"eps": symbol("epsilon"), "radius": symbol("radius"), "e": sympy.E}
    try:
        sides = [parse_expr(p, local_dict=letters, transformations=READ) for p in parts[::2]]
    except (SyntaxError, TypeError, ValueError, AttributeError, sympy.SympifyError):
        return None
    if any(side.free_symbols - set(letters.values()) for side in sides):
        return None
    relations = {"<=": sympy.Le, ">=": sympy.Ge, "<": sympy.Lt, ">": sympy.Gt}
    pairs = zip(sides, parts[1::2], sides[1:], strict=False)
    return sympy.And(*(relations[sign](left, right) for left, sign, right in pairs))


def has_closed_form(bound: Bound) -> bool:
    """Whether the closed form is a formula of the point: no settings stand in it as numbers."""
    settled = isinstance(bound, UpperBound) and (bound.resolve or bound.closed_formula is not None)
    return not settled


def _function(names: tuple[str, ...], expression: Any) -> str:
    letters = ",".join(f'{letter(name)}=at["{name}"]' for name in names)
    start = f"const {letters};" if names else ""
    return f"function(at){{{start}{script_of(expression)}}}"


def _conditions(bound: Bound, point: Point) -> str:
    held = []
    for assumption in bound.assumptions:
        relation = condition(assumption.text)
        if relation is not None:
            test = _function(bound.parameters, relation)
        else:  # of the problem's form, which is the same at every point
            test = "null" if assumption.holds(point) else "()=>false"
        held.append(f"[{json.dumps(assumption.text)},{test}]")
    return f"[{','.join(held)}]"


def _bound_script(page: str, name: str, bound: Bound, budget: Privacy) -> str:
    """A bound under one budget, as an object of the calculator."""
    problem = PROBLEMS[name].at(REFERENCE)
    point = bound.point({**problem.point, **budget.parameters})
    outward = 1 + bound.outward * bound.rounding if bound.kind == "certified" else 1.0
    facts = {
        "name": bound.name,
        "side": bound.side,
        "kind": bound.kind,
        "source": bound.source,
        "page": page,
        "parameters": bound.parameters,
        "comparable": bound.loss is problem.loss,
        "loss": str(bound.loss),
        "outward": outward,
    }
    closed = _function(bound.parameters, bound.expr) if has_closed_form(bound) else "null"
    plain = json.dumps(facts, ensure_ascii=False)
    return f'{plain[:-1]},"conditions":{_conditions(bound, point)},"value":{closed}}}'


def bounds_under(name: str, budget: Privacy) -> list[tuple[Carried, Bound]]:
    """The bounds of a problem under a budget, with the pages that they are on."""
    return [
        (carried, carried.forms[carried.budgets.index(budget)])
        for carried in carried_bounds()
        if carried.problem == name and budget in carried.budgets
    ]


def problem_script(name: str) -> str:
    """All closed forms of a problem, by budget."""
    at = PROBLEMS[name].at(REFERENCE)
    budgets = []
    for budget in BUDGETS:
        held = [
            _bound_script(where.bound_address(carried), name, bound, budget)
            for carried, bound in bounds_under(name, budget)
        ]
        for form in upper_forms(name, budget):
            page = where.object_address("estimators", form.estimator)
            held.append(_bound_script(page, name, form, budget))
        budgets.append(f'"{type(budget).__name__}":[{",".join(held)}]')
    zero = _function(tuple(at.point), at.zero_release_risk(LETTERS))
    return f'COMPANION.problem("{name}",{{"zero":{zero},"budgets":{{{",".join(budgets)}}}}});\n'


@cache
def calculator_problems() -> list[dict[str, object]]:
    """The problems as the calculator's form asks for them."""
    found: list[dict[str, object]] = []
    for name, problem in PROBLEMS.items():
        at = problem.at(REFERENCE)
        numbers = [
            {
                "name": key,
                "value": f"{at.point[key]:g}" if key in at.point else "",
                "count": key in COUNTS,
            }
            for key in at.point
        ]
        about = inline(f"{problem.about}; loss: {at.loss}")
        found.append({"name": name, "about": about, "numbers": numbers})
    return found
