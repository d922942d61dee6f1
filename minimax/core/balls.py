"""Ball arithmetic: numbers that hold their own error, so that a value is a proof.

A `Ball` is a real number known to lie between two others. Every operation encloses the true result
(Arb, by Johansson, through python-flint: the extra ``tracebound[rigorous]``), so the lower end of a
ball that a lower bound's formula gives is a proved lower bound, whatever was rounded on the way.

A comparison that the balls do not decide is `Undecided`: as a truth value it raises, and `choose`
takes the hull of both branches. There is no conversion to float: a formula that leaves the balls
fails instead of losing its proof. `middle` is for first guesses.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, NoReturn

Plain = Any
"""What is exact as it stands: an int, a float; or a ball."""


class MissingFlint(ImportError):
    """Balls were asked for and python-flint is not installed."""


class Undecided(ArithmeticError):
    """A decision that the precision does not allow: more of it may."""


class Maybe:
    """The answer to a comparison that the balls do not decide."""

    def __bool__(self) -> NoReturn:
        raise Undecided("balls overlap: the comparison is not decided at this precision")


@functools.cache
def flint() -> ModuleType:
    """python-flint, imported when the first ball is made."""
    try:
        import flint as module
    except ImportError:
        raise MissingFlint(
            "numbers as proofs need python-flint: pip install python-flint\n"
            "or pip install 'tracebound[rigorous]'"
        ) from None
    return module


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """So many bits for all that is computed inside."""
    with flint().ctx.workprec(bits):
        yield


def bits() -> int:
    """The bits in use."""
    return int(flint().ctx.prec)


class Ball:
    """A real number, enclosed."""

    __slots__ = ("arb",)
    arb: Any
    __array_ufunc__ = None  # numpy's floats leave the operation to the ball

    def __init__(self, value: Plain) -> None:
        self.arb = value.arb if isinstance(value, Ball) else _arb(value)

    # --- Ends ---

    @property
    def lower_end(self) -> Ball:
        """The exact number below."""
        return _made(self.arb.lower())

    @property
    def upper_end(self) -> Ball:
        """The exact number above."""
        return _made(self.arb.upper())

    @property
    def low(self) -> float:
        """A float that is at most the number."""
        end = float(self.arb.lower())
        while not self.arb >= end and end > -math.inf:
            end = math.nextafter(end, -math.inf)
        return end

    @property
    def high(self) -> float:
        """A float that is at least the number."""
        return -(-self).low

    @property
    def middle(self) -> float:
        """A float near the number: for first guesses, never part of a value."""
        return float(self.arb.mid())

    @property
    def relative_radius(self) -> float:
        """Radius over the least size the number can have; 0 for an exact one."""
        radius = self.arb.rad()
        if radius == 0:
            return 0.0
        return math.inf if self.arb.abs_lower() == 0 else float(radius / self.arb.abs_lower())

    @property
    def is_finite(self) -> bool:
        """Whether anything is known of the number."""
        return bool(self.arb.is_finite())

    # --- Arithmetic ---

    def __add__(self, other: Plain) -> Ball:
        return _made(self.arb + _arb(other))

    def __sub__(self, other: Plain) -> Ball:
        return _made(self.arb - _arb(other))

    def __rsub__(self, other: Plain) -> Ball:
        return _made(_arb(other) - self.arb)

    def __mul__(self, other: Plain) -> Ball:
        return _made(self.arb * _arb(other))

    def __truediv__(self, other: Plain) -> Ball:
        return _made(self.arb / _arb(other))

    def __rtruediv__(self, other: Plain) -> Ball:
        return _made(_arb(other) / self.arb)

    def __pow__(self, other: Plain) -> Ball:
        if other == 0.5:
            return _made(_root(self.arb))
        return _made(self.arb ** _arb(other))

    def __rpow__(self, other: Plain) -> Ball:
        return _made(_arb(other) ** self.arb)

    def __neg__(self) -> Ball:
        return _made(-self.arb)

    def __pos__(self) -> Ball:
        return self

    def __abs__(self) -> Ball:
        return _made(abs(self.arb))

    __radd__ = __add__
    __rmul__ = __mul__

    # --- Decisions ---

    def __lt__(self, other: Plain) -> bool | Maybe:
        other = _arb(other)
        return _decided(self.arb < other, self.arb >= other)

    def __le__(self, other: Plain) -> bool | Maybe:
        other = _arb(other)
        return _decided(self.arb <= other, self.arb > other)

    def __gt__(self, other: Plain) -> bool | Maybe:
        other = _arb(other)
        return _decided(self.arb > other, self.arb <= other)

    def __ge__(self, other: Plain) -> bool | Maybe:
        other = _arb(other)
        return _decided(self.arb >= other, self.arb < other)

    def __eq__(self, other: object) -> bool | Maybe:  # type: ignore[override]
        other = _arb(other)
        return _decided(self.arb == other, self.arb != other)

    def __ne__(self, other: object) -> bool | Maybe:  # type: ignore[override]
        other = _arb(other)
        return _decided(self.arb != other, self.arb == other)

    __hash__ = None  # type: ignore[assignment]

    def __int__(self) -> int:
        """The whole number that this is: an exact one."""
        whole = self.arb.unique_fmpz()
        if whole is None or not self.arb.is_exact():
            raise Undecided(f"{self} is not known to be a whole number")
        return int(whole)

    def __repr__(self) -> str:
        return f"Ball({self.arb.str(20)})"


def _made(value: Any) -> Ball:
    ball = Ball.__new__(Ball)
    ball.arb = value
    return ball


def _arb(value: Plain) -> Any:
    """An exact number as Arb's."""
    if type(value) is Ball:
        return value.arb
    return flint().arb(value)


def _decided(yes: bool, no: bool) -> bool | Maybe:
    return True if yes else False if no else Maybe()


def surely(condition: object) -> bool:
    """Whether a condition is known to hold: what a proof may rest on."""
    return not isinstance(condition, Maybe) and bool(condition)


def hull(first: Plain, *others: Plain) -> Ball:
    """A ball around all of them."""
    return _made(functools.reduce(lambda a, b: a.union(_arb(b)), others, _arb(first)))


def between(low: Plain, high: Plain) -> Ball:
    """A number of which these bounds are known."""
    return hull(low, high)


def root_near(
    function: Callable[[Ball], Ball], slope: Callable[[Ball], Ball], start: float
) -> Ball:
    """A root at which a continuous function grows, from a float that is near it.

    Newton's method, which proves nothing, and then the ball between two numbers at the lower of
    which the function is surely negative and at the upper one positive.
    """
    root = Ball(start)
    for _ in range(2 + math.ceil(math.log2(bits() / 24))):
        move = function(root) / slope(root)
        root = _made((root - move).arb.mid())
        if not root.is_finite:
            raise Undecided("Newton's method leaves the domain")
    radius = abs(root) * Ball(2) ** (16 - bits()) + abs(move)
    for _ in range(12):
        low, high = _made((root - radius).arb.lower()), _made((root + radius).arb.upper())
        if surely(function(low) < 0) and surely(function(high) > 0):
            return between(low, high)
        radius = radius * 16
    raise Undecided("the root is not enclosed at this precision")


def integral(integrand: Callable[[Any, bool], Any], low: float, high: float) -> Ball:
    """The integral of a function that takes and gives Arb's complex balls, and is meromorphic."""
    return _made(flint().acb.integral(integrand, low, high).real)


# --- The library of a formula ---------------------------------------------------------------------


def _function(name: str) -> Callable[[Plain], Ball]:
    def apply(x: Plain) -> Ball:
        return _made(getattr(_arb(x), name)())

    return apply


def _root(x: Any) -> Any:
    """The root of a number that is not negative, though its ball may reach below 0."""
    if x >= 0 or x < 0:
        return x.sqrt()
    return x.nonnegative_part().sqrt() if x.is_finite() else x


def _choose(condition: object, yes: Callable[[], Plain], no: Callable[[], Plain]) -> Plain:
    if isinstance(condition, Maybe):
        return hull(yes(), no())
    return yes() if condition else no()


def _least(first: Plain, *others: Plain) -> Ball:
    return _made(functools.reduce(lambda a, b: a.min(_arb(b)), others, _arb(first)))


def _largest(first: Plain, *others: Plain) -> Ball:
    return _made(functools.reduce(lambda a, b: a.max(_arb(b)), others, _arb(first)))


def upper_gamma(a: Plain, z: Plain) -> Ball:
    """The regularised incomplete gamma function Q(a, z)."""
    return _made(_arb(z).gamma_upper(_arb(a), True))


def log_gamma(x: Plain) -> Ball:
    """log Gamma(x)."""
    return _made(_arb(x).lgamma())


def _ndtr(x: Plain) -> Ball:
    arb = _arb(x)
    return _made((-arb / flint().arb(2).sqrt()).erfc() / 2)


def _log_ndtr(x: Plain) -> Ball:
    if surely(Ball(x) > 0):
        return BALLS.log1p(-_ndtr(-x))
    return BALLS.log(_ndtr(x))


def _ndtri_exp(log_chance: Plain) -> Ball:
    """z with log Phi(z) = log_chance < 0: by the inverse of erfc, of the smaller tail."""
    log_chance = Ball(log_chance)
    root = BALLS.sqrt(2)
    if surely(log_chance < -1):
        return -root * _made((2 * BALLS.exp(log_chance)).arb.erfcinv())
    return root * _made((-2 * BALLS.expm1(log_chance)).arb.erfcinv())


def _pi() -> Ball:
    return _made(flint().arb.pi())


class _Constants(SimpleNamespace):
    """Constants have the precision of where they are asked for."""

    @property
    def pi(self) -> Ball:
        return _pi()

    @property
    def resolution(self) -> Ball:
        return Ball(2) ** (8 - bits())


BALLS: SimpleNamespace = _Constants(
    exp=_function("exp"),
    expm1=_function("expm1"),
    log=_function("log"),
    log1p=_function("log1p"),
    sqrt=lambda x: _made(_root(_arb(x))),
    sinh=_function("sinh"),
    cosh=_function("cosh"),
    tanh=_function("tanh"),
    atan=_function("atan"),
    erf=_function("erf"),
    erfc=_function("erfc"),
    erfinv=_function("erfinv"),
    ndtr=_ndtr,
    log_ndtr=_log_ndtr,
    ndtri_exp=_ndtri_exp,
    loggamma=_function("lgamma"),
    harmonic=lambda d: _made((_arb(d) + 1).digamma() + flint().arb.const_euler()),
    inverse_squares=lambda d: _made(flint().arb(2).zeta() - flint().arb(2).zeta(_arb(d) + 1)),
    floor=_function("floor"),
    least=_least,
    largest=_largest,
    choose=_choose,
    ulp=0,
    is_symbolic=False,
)
"""What `minimax.core.symbolic.library` gives for balls."""
