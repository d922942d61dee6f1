"""Formulas that are written once: for floats, arrays, mpmath numbers, balls and sympy expressions.

A formula asks `library` for the functions that fit its arguments. Floats give the value that is
reported, arrays of them serve its search, mpmath numbers give its value in many digits, balls
(`minimax.core.balls`) enclose it, sympy expressions give the closed form. sympy and python-flint
are imported only when they are asked for.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from functools import cache, lru_cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

import mpmath
import numpy as np
from scipy import special

from minimax.core.balls import BALLS, Ball

if TYPE_CHECKING:
    import sympy

Number: TypeAlias = Any
"""A float, an array of floats, an mpmath number, a ball or a sympy expression."""
Expression: TypeAlias = "sympy.Expr"
Library: TypeAlias = SimpleNamespace
"""exp, expm1, log, log1p, sqrt, sinh, cosh, tanh, atan, erf, erfc, erfinv, ndtr, log_ndtr,
ndtri_exp, least, largest, choose, pi, ulp, resolution and is_symbolic, for one kind of number.
`ulp` is the relative error of one operation: 0 for precise numbers, so that a margin of some ulps
keeps floats on the safe side. `resolution` is about the least number that 1 can be told apart by.
"""
PRECISE = (mpmath.mpf, Ball)
"""The kinds of number in which a float's value is checked."""

PLAIN_LETTERS = {"radius": "a"}
"""Parameters whose letter in a formula is not their name."""


@cache
def symbol(name: str) -> sympy.Symbol:
    """The positive symbol that stands for a parameter."""
    import sympy

    return sympy.Symbol(PLAIN_LETTERS.get(name, name), positive=True)


def symbols(names: str) -> tuple[sympy.Symbol, ...]:
    """The symbols of several parameters, named with blanks between them."""
    return tuple(map(symbol, names.split()))


class Letters(dict[str, Number]):
    """A point whose numbers are symbols: ``LETTERS["n"]``. Made on demand."""

    def __missing__(self, name: str) -> Number:
        return symbol(name)


LETTERS = Letters()


def renamed(expression: Expression, old: str, new: str) -> Expression:
    """A closed form with one parameter's letter in the place of another's."""
    return with_value(expression, old, symbol(new))


def with_value(expression: Expression, name: str, value: Number) -> Expression:
    """A closed form with an expression in the place of a parameter's letter.

    The form stays as it was written: sympy would compare the terms of nested minima anew, which
    takes seconds and finds nothing.
    """
    import sympy

    with sympy.evaluate(False):
        found: Expression = expression.xreplace({symbol(name): value})
    return found


@lru_cache(maxsize=1024)
def latex_of(expression: Expression) -> str:
    """A closed form as LaTeX: problems of other sizes and subproblems share their forms."""
    import sympy

    return str(sympy.latex(expression))


@lru_cache(maxsize=1024)
def compiled(expression: Expression, arguments: tuple[Number, ...]) -> Callable[..., Number]:
    """The expression as an mpmath function, so that no cancellation or overflow can hide in it.

    Terms are added in the order in which they are stored, and nothing is described: to sort and
    to print them took most of the time, and moves a value by 1e-30 of its size.
    """
    import sympy
    from sympy.printing.pycode import MpmathPrinter

    kinds = {"fully_qualified_modules": False, "inline": True, "allow_unknown_functions": True}
    printer = MpmathPrinter({**kinds, "order": "none"})
    function: Callable[..., Number] = sympy.lambdify(
        arguments, expression, modules="mpmath", printer=printer, docstring_limit=0
    )
    return function


PLAIN = {float, int, np.float64, np.ndarray}
"""The kinds of number that are floats, or many of them."""


def is_symbolic(*values: Number) -> bool:
    """Whether some value is a sympy expression (without importing sympy)."""
    sympy = sys.modules.get("sympy")
    return sympy is not None and any(isinstance(value, sympy.Basic) for value in values)


def library(*values: Number) -> Library:
    """The functions for these values: sympy's if one is symbolic, else a ball's, or mpmath's."""
    for value in values:  # searches ask often
        if type(value) is not float:
            break
    else:
        return FLOATS
    kinds = set(map(type, values))
    if kinds <= PLAIN:
        return ARRAYS if np.ndarray in kinds else FLOATS
    if is_symbolic(*values):
        return _symbolic_library()
    if any(isinstance(value, Ball) for value in values):
        return BALLS
    if any(isinstance(value, mpmath.mpf) for value in values):
        return EXACT
    return ARRAYS if any(isinstance(value, np.ndarray) for value in values) else FLOATS


def lift(value: float, like: Number) -> Number:
    """A float as the kind of number that `like` is, without loss."""
    return type(like)(value) if isinstance(like, PRECISE) else value


def approximately(value: Number) -> float:
    """A float near the value: for searches and first guesses, never part of what is proved."""
    return value.middle if isinstance(value, Ball) else float(value)


def exact_float(value: Number) -> float:
    """The float that a point's number is: points are given in floats."""
    if not isinstance(value, Ball):
        return float(value)
    if value != value.middle:
        raise ValueError(f"{value} is not a float")
    return value.middle


def _exp(x: float) -> float:
    """e^x, infinite where it overflows: the bounds that use it know what to do with that."""
    return math.exp(x) if x < 709.7 else math.inf


def _expm1(x: float) -> float:
    return math.expm1(x) if x < 709.7 else math.inf


def _sinh(x: float) -> float:
    return math.sinh(x) if abs(x) < 709.7 else math.copysign(math.inf, x)


def _quantile(log_chance: mpmath.mpf) -> mpmath.mpf:
    """z with log Phi(z) = log_chance < 0, by Newton's method from the float."""
    z = mpmath.mpf(float(special.ndtri_exp(float(log_chance))))
    for _ in range(8):
        tail = mpmath.erfc(-z / mpmath.sqrt(2)) / 2
        slope = mpmath.npdf(z) / tail
        z -= (mpmath.log(tail) - log_chance) / slope
    return z


def _quiet(function: Callable[[Number], Number]) -> Callable[[Number], Number]:
    """A ufunc that is infinite, without a warning, where it overflows."""

    def quiet(x: Number) -> Number:
        with np.errstate(over="ignore"):
            return function(x)

    return quiet


ULP = 2.0**-52
FLOATS: Library = SimpleNamespace(
    exp=_exp,
    expm1=_expm1,
    log=math.log,
    log1p=math.log1p,
    sqrt=math.sqrt,
    sinh=_sinh,
    cosh=lambda x: math.cosh(x) if abs(x) < 709.7 else math.inf,
    tanh=math.tanh,
    atan=math.atan,
    erf=math.erf,
    erfc=math.erfc,
    erfinv=lambda x: float(special.erfinv(x)),
    ndtr=lambda x: float(special.ndtr(x)),
    log_ndtr=lambda x: float(special.log_ndtr(x)),
    ndtri_exp=lambda x: float(special.ndtri_exp(x)),
    floor=math.floor,
    least=min,
    largest=max,
    choose=lambda condition, yes, no: yes() if condition else no(),
    pi=math.pi,
    ulp=ULP,
    resolution=ULP,
    is_symbolic=False,
)

ARRAYS: Library = SimpleNamespace(
    exp=_quiet(np.exp),
    expm1=_quiet(np.expm1),
    log=np.log,
    log1p=np.log1p,
    sqrt=np.sqrt,
    sinh=_quiet(np.sinh),
    cosh=_quiet(np.cosh),
    tanh=np.tanh,
    atan=np.arctan,
    erf=special.erf,
    erfc=special.erfc,
    erfinv=special.erfinv,
    ndtr=special.ndtr,
    log_ndtr=special.log_ndtr,
    ndtri_exp=special.ndtri_exp,
    floor=np.floor,
    least=lambda first, *others: functools.reduce(np.minimum, others, first),
    largest=lambda first, *others: functools.reduce(np.maximum, others, first),
    choose=lambda condition, yes, no: np.where(condition, yes(), no()),
    pi=math.pi,
    ulp=ULP,
    resolution=ULP,
    is_symbolic=False,
)


class _Exact(SimpleNamespace):
    """mpmath's functions; the resolution is that of where it is asked for."""

    @property
    def resolution(self) -> mpmath.mpf:
        return mpmath.mp.eps


EXACT: Library = _Exact(
    exp=mpmath.exp,
    expm1=mpmath.expm1,
    log=mpmath.log,
    log1p=mpmath.log1p,
    sqrt=mpmath.sqrt,
    sinh=mpmath.sinh,
    cosh=mpmath.cosh,
    tanh=mpmath.tanh,
    atan=mpmath.atan,
    erf=mpmath.erf,
    erfc=mpmath.erfc,
    erfinv=mpmath.erfinv,
    ndtr=lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2,
    log_ndtr=lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
    ndtri_exp=_quantile,
    loggamma=mpmath.loggamma,
    harmonic=mpmath.harmonic,
    inverse_squares=lambda d: mpmath.pi**2 / 6 - mpmath.psi(1, d + 1),
    floor=mpmath.floor,
    least=min,
    largest=max,
    choose=lambda condition, yes, no: yes() if condition else no(),
    pi=mpmath.pi,
    ulp=0,
    is_symbolic=False,
)


@cache
def _symbolic_library() -> Library:
    import sympy as sp

    return SimpleNamespace(
        exp=sp.exp,
        expm1=lambda x: sp.exp(x) - 1,
        log=sp.log,
        log1p=lambda x: sp.log(1 + x),
        sqrt=sp.sqrt,
        sinh=sp.sinh,
        cosh=sp.cosh,
        tanh=sp.tanh,
        atan=sp.atan,
        erf=sp.erf,
        erfc=sp.erfc,
        erfinv=sp.erfinv,
        ndtr=lambda x: sp.erfc(-x / sp.sqrt(2)) / 2,
        log_ndtr=lambda x: sp.log(sp.erfc(-x / sp.sqrt(2)) / 2),
        least=lambda *values: sp.Min(*values, evaluate=False),
        largest=lambda *values: sp.Max(*values, evaluate=False),
        choose=lambda condition, yes, no: sp.Piecewise((yes(), condition), (no(), True)),
        pi=sp.pi,
        ulp=0,
        is_symbolic=True,
    )
