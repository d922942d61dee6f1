r"""That a certificate of antipodal pairs is one: D(u, r) >= 0 everywhere, in ball arithmetic.

D and the functions in it are those of `minimax.methods.pair_certificates`; the goal is `ENERGY` or
`INFORMATION`. Each is a sum of products of a function of u (`AlongU`) and one of r (`AlongR`).

**Proof that D >= 0** (`is_proved`). All functions are even in u, so u >= 0. Let C(u) =
cosh((1 + s) u)/cosh^{1 + s} u >= 1; C, cosh(sigma u)/cosh u, u tanh u and, for each r, `joint` (its
derivative is u/cosh^2 u + e^{-r} tanh u) increase in u. `joint` is at least r (1 - e^{-r})
for r >= 0, as u tanh u >= log cosh u, and at least |r| (e^{|r|} - 1) for r <= 0.

- r >= R: the goal is below its limit T(r) for large u, e^r or 2 r + 2 log 2. Drop what is not
  negative: D >= up (e^{s r} - 1) + joint r (1 - e^{-r}) - mass^+ + constant - T(r). It is enough
  that this and its derivative in r are not negative at R and the latter stays so (`_right`).
- r <= -R: with x = -r, D >= constant - up + (e^x - 1)(mass + joint x) + a tanh^2 u - goal, with
  a = kl + joint + pair (sigma - 1)^2/2, because u tanh u >= tanh^2 u and cosh(sigma u)/cosh u >=
  cosh((sigma - 1) u). The goal is at most e^{-x} tanh^2 u, or 2 log 2 - 2 x (`_left`).
- u >= U, -R <= r <= R: D(u, r) >= D(U, r) - (T(r) - goal(U, r)): the cells that touch U must clear
  this gap, which does not decrease in r.
- The box is cut into cells. In a cell of sides h and k, D is at least its least corner minus
  (h^2/8) max D_uu^+ - (k^2/8) max D_rr^+ (bilinear interpolation); or `up` at the corner where it
  is least exceeds all that is subtracted. Cells where neither is sure are cut in two. The maxima
  come term by term from monotone factors.

**Rounding.** Multipliers, orders and the ends of cells are floats, which are exact numbers. All
that is computed of them is a ball, and only what is sure of balls counts: nothing is allowed for.
Cells are many and each takes a hundred operations: there the numbers are Arb's own (`bare`), whose
comparisons are true only where they are sure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from minimax.core.balls import BALLS, Ball, flint, precision, surely
from minimax.core.symbolic import Number, library
from minimax.methods.pair_certificates import Certificate

Arb = Any
"""A ball of Arb's, without the wrapper."""
BITS = 128
CELLS = 60_000
"""No certificate of the tables needs as many cells."""
STEPS = tuple(float(2 ** (k / 4)) for k in range(-64, 32))
"""Where the tails may begin."""


class NotProved(ValueError):
    """A certificate that was to be used is not proved."""


# --- The functions of u and r --------------------------------------------------------------------


class AlongU(NamedTuple):
    """The functions of u >= 0, for any kind of number."""

    tanh: Number
    log_cosh: Number
    sech2: Number
    """1/cosh^2 u."""
    tilt: Number
    """u tanh u."""
    pair: Number
    """cosh(sigma u)/cosh u."""
    rise: Number
    """cosh((1 + s) u)/cosh^{1 + s} u."""
    tanh_pair: Number
    """tanh(sigma u)."""
    tanh_rise: Number
    """tanh((1 + s) u)."""


class AlongR(NamedTuple):
    """The functions of r."""

    r: Number
    exp: Number
    decay: Number
    """e^{-r}."""
    falling: Number
    """e^{-r} - 1."""
    power: Number
    """e^{s r}."""


def along_u(u: Number, sigma: Number, s: Number) -> AlongU:
    """The functions of u; its floats are at most some hundreds over the orders."""
    use = library(u)
    tanh, log = use.tanh(u), log_cosh(u)
    return AlongU(
        tanh=tanh,
        log_cosh=log,
        sech2=use.exp(-2 * log),
        tilt=u * tanh,
        pair=use.exp(log_cosh(sigma * u) - log),
        rise=use.exp(log_cosh((1 + s) * u) - (1 + s) * log),
        tanh_pair=use.tanh(sigma * u),
        tanh_rise=use.tanh((1 + s) * u),
    )


def along_r(r: Number, s: Number) -> AlongR:
    """The functions of r."""
    use = library(r)
    return AlongR(r, use.exp(r), use.exp(-r), use.expm1(-r), use.exp(s * r))


def log_cosh(u: Number) -> Number:
    """log cosh u, to relative accuracy: log(1 + 2 sinh^2(u/2))."""
    use = library(u)
    return use.log1p(2 * use.sinh(u / 2) ** 2)


def joint(u: AlongU, r: AlongR) -> Number:
    """The function of the mean KL divergence."""
    return u.tilt - r.falling * (r.r - u.log_cosh)


@dataclass(frozen=True)
class Goal:
    """What a certificate bounds; the bends are upper bounds of -goal_uu, -goal_rr in cells.

    A cell is given by its least and its largest u, and its least and its largest r.
    """

    name: str
    value: Callable[[AlongU, AlongR], Number]
    gap: Callable[[Arb, AlongU, AlongR], Arb]
    """How far it is below its limit for large u, which is its supremum over u."""
    bend_u: Callable[[AlongU, AlongU, AlongR, AlongR], Arb]
    bend_r: Callable[[AlongU, AlongR], Arb]


def _energy_bend(u0: AlongU, u1: AlongU, r0: AlongR, r1: AlongR) -> Arb:
    """-e^r (tanh^2)'': with t = tanh^2 u, (tanh^2)'' = 2 (1 - t)(1 - 3t), least at t = 2/3."""
    two_thirds = flint().arb(2) / 3
    t = (u0.tanh**2).max(two_thirds.min(u1.tanh**2))
    least = 2 * (1 - t) * (1 - 3 * t)
    return (-least * r0.exp).max(-least * r1.exp)


def _information_bend(u0: AlongU, u1: AlongU, r0: AlongR, r1: AlongR) -> Arb:
    """-2 (u tanh u - log cosh u)'' = -2 (1 - 2 u tanh u)/cosh^2 u."""
    factor = 4 * u1.tilt - 2
    return (factor * u0.sech2).max(factor * u1.sech2)


ENERGY = Goal(
    name="energy",
    value=lambda u, r: r.exp * u.tanh**2,
    gap=lambda _, u, r: r.exp * u.sech2,
    bend_u=_energy_bend,
    bend_r=lambda u, r: -r.exp * u.tanh**2,
)
"""e^r tanh^2 u: Bessel's bound, and a quarter of Delta_w."""
INFORMATION = Goal(
    name="information",
    value=lambda u, r: 2 * (r.r + u.tilt - u.log_cosh),
    gap=lambda at, u, r: 2 * (at - u.tilt + (-2 * at).exp().log1p()),
    bend_u=_information_bend,
    bend_r=lambda u, r: 0 * r.r,
)
"""2 (r + u tanh u - log cosh u): twice the mutual information."""


# --- The proof -----------------------------------------------------------------------------------


@cache
def is_proved(certificate: Certificate, goal: Goal) -> bool:
    """Whether D >= 0 everywhere is proved (see the module); a doubt is a no."""
    if min(certificate[2:]) < 0 or certificate.sigma <= 1 or certificate.constant < 0:
        return False
    with precision(BITS):
        slack = Slack(Certificate._make(map(Ball, certificate)), goal)
        box = _box(slack)
        return box is not None and _is_positive(slack, *box)


def require(certificate: Certificate, goal: Goal) -> None:
    """Raise `NotProved` unless D >= 0 is proved."""
    if not is_proved(certificate, goal):
        raise NotProved(f"the certificate {tuple(certificate)} of {goal.name} is not proved")


class Cell(NamedTuple):
    """0 <= u0 <= u <= u1, r0 <= r <= r1: the ends are floats, and exact."""

    u0: float
    u1: float
    r0: float
    r1: float

    def halves(self, across_u: bool) -> tuple[Cell, Cell]:
        """The cell cut in two."""
        if across_u:
            middle = (self.u0 + self.u1) / 2
            return self._replace(u1=middle), self._replace(u0=middle)
        middle = (self.r0 + self.r1) / 2
        return self._replace(r1=middle), self._replace(r0=middle)


Balls = TypeVar("Balls", Certificate, AlongU, AlongR)


def bare(numbers: Balls) -> Balls:
    """The same numbers as Arb has them."""
    return type(numbers)(*(ball.arb for ball in numbers))


@dataclass(frozen=True)
class Slack:
    """D of a certificate in balls; the functions of u and of r are computed once."""

    certificate: Certificate
    goal: Goal
    columns: dict[float, AlongU] = field(default_factory=dict)
    rows: dict[float, AlongR] = field(default_factory=dict)
    corners: dict[tuple[float, float], Arb] = field(default_factory=dict)
    bends: dict[tuple[float, ...], tuple[Arb, Arb]] = field(default_factory=dict)

    @cached_property
    def multipliers(self) -> Certificate:
        """Those of the certificate, bare."""
        return bare(self.certificate)

    @cached_property
    def zero(self) -> Arb:
        """0, as Arb has it."""
        return flint().arb(0)

    def column(self, u: float) -> AlongU:
        """The functions of u."""
        if u not in self.columns:
            orders = self.certificate.sigma, self.certificate.s
            self.columns[u] = bare(along_u(Ball(u), *orders))
        return self.columns[u]

    def row(self, r: float) -> AlongR:
        """The functions of r."""
        if r not in self.rows:
            self.rows[r] = bare(along_r(Ball(r), self.certificate.s))
        return self.rows[r]

    def at(self, u: float, r: float) -> Arb:
        """D(u, r)."""
        if (u, r) not in self.corners:
            self.corners[u, r] = self._at(self.column(u), self.row(r))
        return self.corners[u, r]

    def _at(self, u: AlongU, r: AlongR) -> Arb:
        c = self.multipliers
        rest = c.mass * r.falling + c.kl * u.tilt + c.joint * joint(u, r)
        orders = c.pair * (u.pair - 1) + c.up * (r.power * u.rise - 1)
        return rest + orders + c.constant - self.goal.value(u, r)

    def gap(self, u: float, r: float) -> Arb:
        """How far the goal is below its supremum over u."""
        return self.goal.gap(flint().arb(u), self.column(u), self.row(r))

    def bend_r(self, cell: Cell) -> Arb:
        """An upper bound of D_rr^+ in a cell.

        (1 - e^{-r})(r - l) has the second derivative e^{-r} (2 - r + l).
        """
        c, (u0, u1, r0, r1) = self.multipliers, self._sides(cell)
        mass = (c.mass * r0.decay).max(c.mass * r1.decay)
        mean = (c.joint * r0.decay * (2 - r0.r + u1.log_cosh)).max(self.zero)
        power = c.up * c.s**2 * r1.power * u1.rise
        return (mass + mean + power + self.goal.bend_r(u0, r0)).max(self.zero)

    def bend_u(self, cell: Cell) -> Arb:
        """An upper bound of D_uu^+ in a cell.

        (u tanh u)'' = 2 (1 - u tanh u)/cosh^2 u. With t = tanh u and T = tanh(k u), the second
        derivatives over the functions themselves are, of cosh(k u)/cosh u, k^2 - 1 - 2 k T t +
        2 t^2, and of cosh(k u)/cosh^k u, k^2 - k - 2 k^2 T t + (k^2 + k) t^2.
        """
        u0, u1, r0, r1 = self._sides(cell)
        if cell[:2] not in self.bends:
            self.bends[cell[:2]] = self._bends(u0, u1)
        alone, rise = self.bends[cell[:2]]
        log = (r0.falling * u0.sech2).max(r0.falling * u1.sech2)
        total = alone + r1.power * rise + self.multipliers.joint * log
        return (total + self.goal.bend_u(u0, u1, r0, r1)).max(self.zero)

    def _bends(self, u0: AlongU, u1: AlongU) -> tuple[Arb, Arb]:
        """What of `bend_u` does not depend on r, and the factor of e^{s r}."""
        c = self.multipliers
        tilt = (c.kl + c.joint) * 2 * u0.sech2 * (1 - u0.tilt).max(self.zero)
        k = c.sigma
        of_pair = k**2 - 1 - 2 * k * u0.tanh_pair * u0.tanh + 2 * u1.tanh**2
        k = c.s + 1
        of_rise = k**2 - k - 2 * k**2 * u0.tanh_rise * u0.tanh + (k**2 + k) * u1.tanh**2
        pair = c.pair * u1.pair * of_pair.max(self.zero)
        return tilt + pair, c.up * u1.rise * of_rise.max(self.zero)

    def _sides(self, cell: Cell) -> tuple[AlongU, AlongU, AlongR, AlongR]:
        return self.column(cell.u0), self.column(cell.u1), self.row(cell.r0), self.row(cell.r1)


def _box(slack: Slack) -> tuple[float, float, float] | None:
    """U and the two ends of r beyond which the tails are proved."""
    c, goal = slack.certificate, slack.goal
    right = next((r for r in STEPS if _right(c, goal, r)), None)
    left = next((x for x in STEPS if _left(c, goal, x)), None)
    if right is None or left is None:
        return None
    edge = [float(r) for r in np.linspace(-left, right, 65)]
    far = next((u for u in STEPS if all(_clears(slack, u, r) for r in edge)), None)
    return None if far is None else (far, -left, right)


def _clears(slack: Slack, u: float, r: float) -> bool:
    """Whether D is above twice the gap: a good place for the end of the box."""
    return bool(slack.at(u, r) > 2 * slack.gap(u, r))


def _right(c: Certificate, goal: Goal, at: float) -> bool:
    """Whether D >= 0 for r >= at."""
    r, rest = Ball(at), c.constant - BALLS.largest(c.mass, 0)
    if goal is ENERGY:
        # up (e^{sr} - 1) - e^r + rest = e^r (up e^{(s-1) r} - 1) + ..., and the bracket increases.
        lead = c.up * BALLS.exp((c.s - 1) * r) - 1
        rises = surely(c.s > 1) and surely(lead > 0)
        return rises and surely(BALLS.exp(r) * lead + rest - c.up > 0)
    falling = BALLS.expm1(-r)
    growth = c.up * BALLS.expm1(c.s * r) - c.joint * r * falling
    slope = c.up * c.s * BALLS.exp(c.s * r) - c.joint * falling
    return surely(slope > 2) and surely(growth + rest - 2 * (r + BALLS.log(2)) > 0)


def _left(c: Certificate, goal: Goal, at: float) -> bool:
    """Whether D >= 0 for r <= -at."""
    x = Ball(at)
    lead = c.mass + c.joint * x
    square = c.kl + c.joint + c.pair * (c.sigma - 1) ** 2 / 2
    low = square > BALLS.exp(-x) if goal is ENERGY else x > BALLS.log(2)
    rest = c.constant - c.up
    return surely(low) and surely(lead >= 0) and surely(BALLS.expm1(x) * lead + rest > 0)


def _dominates(slack: Slack, cell: Cell) -> bool:
    """Whether `up`, least at (u0, r0), exceeds all that is subtracted, for every u >= u0."""
    c, r0, r1 = slack.multipliers, slack.row(cell.r0), slack.row(cell.r1)
    others = abs(c.mass) * (1 + r0.decay) + r1.exp + 2 * abs(r1.r) + 2
    return bool(c.up * (r0.power * slack.column(cell.u0).rise - 1) > others)


def _cells(far: float, low: float, high: float) -> Iterator[Cell]:
    """The first cells of the box."""
    lines = [[float(x) for x in np.linspace(*ends, 17)] for ends in ((0.0, far), (low, high))]
    for u0, u1 in pairwise(lines[0]):
        for r0, r1 in pairwise(lines[1]):
            yield Cell(u0, u1, r0, r1)


def _is_positive(slack: Slack, far: float, low: float, high: float) -> bool:
    """Whether D > 0 in the box, and clears the gap at u = far, by cutting cells."""
    waiting = list(_cells(far, low, high))
    for _ in range(CELLS):
        if not waiting:
            return True
        cell = waiting.pop()
        if _dominates(slack, cell):
            continue
        corners = [slack.at(u, r) for u in cell[:2] for r in cell[2:]]
        if any(corner < 0 for corner in corners):
            return False
        h, k = flint().arb(cell.u1) - cell.u0, flint().arb(cell.r1) - cell.r0
        dip_u, dip_r = h**2 / 8 * slack.bend_u(cell), k**2 / 8 * slack.bend_r(cell)
        needed = dip_u + dip_r + (slack.gap(far, cell.r1) if cell.u1 >= far else 0)
        if not all(corner > needed for corner in corners):
            waiting.extend(cell.halves(across_u=float(dip_u.mid()) >= float(dip_r.mid())))
    return False
