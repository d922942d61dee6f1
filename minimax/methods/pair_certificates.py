r"""Certificates for antipodal pairs: linear programmes whose dual solutions are checked once.

The letters are those of `minimax.methods.antipodal_gain`: u = (1/2) log(q_w/q_{-w}), and
r = log(p_w/m). rho-zCDP bounds the mean of each function g_k(u, r) below by b_k(rho):

    mass      e^{-r} - 1                                    0 (an equality: any sign)
    kl        u tanh u                                      rho/2
    joint     u tanh u + (1 - e^{-r})(r - log cosh u)       rho
    pair      cosh(sigma u)/cosh u - 1                      e^{rho (sigma^2 - 1)/4} - 1, sigma > 1
    up        e^{s r} cosh((1 + s) u)/cosh^{1 + s} u - 1    e^{rho s (s + 1)} - 1, s > 0

**Statement.** If D(u, r) = constant + sum_k lambda_k g_k(u, r) - goal(u, r) >= 0 for all u and r,
with lambda_k >= 0 but for `mass`, then E goal(u, r) <= constant + sum_k lambda_k b_k(rho) at
*every* rho: D does not contain rho. The tables hold certificates that are good near some rho; the
bound is the least of them.

**Proof that D >= 0** (`holds`). All functions are even in u, so u >= 0. Let C(u) =
cosh((1 + s) u)/cosh^{1 + s} u >= 1; C, cosh(sigma u)/cosh u, u tanh u and, for each r, `joint` (its
derivative is u/cosh^2 u + e^{-r} tanh u) increase in u. `joint` is at least (r - 0)(1 - e^{-r})
for r >= 0, as u tanh u >= log cosh u, and at least |r| (e^{|r|} - 1) for r <= 0.

- r >= R: the goal is below its limit T(r) for large u, e^r or 2 r + 2 log 2. Drop what is not
  negative: D >= up (e^{s r} - 1) + joint r (1 - e^{-r}) - mass^+ + constant - T(r). It is enough
  that this and its derivative in r are not negative at R and the latter stays so (`_right`).
- r <= -R: with x = -r, D >= constant - up + (e^x - 1)(mass + joint x) + a tanh^2 u - goal, with
  a = kl + joint + pair (sigma - 1)^2/2, because u tanh u >= tanh^2 u and cosh(sigma u)/cosh u >=
  cosh((sigma - 1) u). The goal is at most e^{-x} tanh^2 u, or 2 log 2 - 2 x (`_left`).
- u >= U, |r| <= R: D(u, r) >= D(U, r) - (T(r) - goal(U, r)): the cells that touch U must clear
  this gap, which does not decrease in r.
- The box is cut into cells. In a cell of sides h and k, D is at least its least corner minus
  (h^2/8) max D_uu^+ - (k^2/8) max D_rr^+ (bilinear interpolation); cells where this is not enough
  are cut in two. The maxima come term by term from monotone factors.

**Rounding.** Corners carry an allowance of 2^-46 of the size of everything that was added, 64 times
what one operation loses; the maxima one of 10^-9, and their differences of squares one of 10^-12 of
the squares. Elementary functions are taken to be right to a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.core.symbolic import Number, library

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
ALLOWANCE = 2.0**-46
CAP = 600.0
"""Larger exponents are cut to this: values err downwards, and bounds of curvatures are not used."""
CELLS = 400_000
"""No certificate of the tables needs as many cells."""


class Certificate(NamedTuple):
    """Multipliers of a dual solution, and the orders of the Renyi constraints they belong to."""

    constant: float
    mass: float
    kl: float
    joint: float
    pair: float
    sigma: float
    up: float
    s: float

    def bound(self, rho: Number) -> Number:
        """constant + sum_k lambda_k b_k(rho)."""
        use = library(rho)
        total = self.constant + (self.kl / 2 + self.joint) * rho
        for weight, exponent in (
            (self.pair, (self.sigma**2 - 1) / 4),
            (self.up, self.s * (self.s + 1)),
        ):
            if weight:  # no weight at an infinite power is nothing
                total += weight * use.expm1(rho * exponent)
        return total


@dataclass(frozen=True)
class Goal:
    """What a certificate bounds; the curvatures are upper bounds of -goal_uu, -goal_rr in cells."""

    value: Callable[[Array, Array], Array]
    gap: Callable[[Array, Array], Array]
    """How far it is below its limit for large u, which is its supremum over u."""
    bend_u: Callable[[Array, Array, Array, Array], Array]
    bend_r: Callable[[Array, Array], Array]


def log_cosh(u: Array) -> Array:
    """log cosh u for u >= 0, to relative accuracy."""
    near = np.log1p(2 * np.sinh(np.minimum(u, 1.0) / 2) ** 2)
    return np.where(u < 1, near, u + np.log1p(np.exp(-2 * u)) - math.log(2))


def _squared_tanh_bend(u0: Array, u1: Array, r0: Array, r1: Array) -> Array:
    """-e^r (tanh^2)'': with t = tanh^2 u, (tanh^2)'' = 2 (1 - t)(1 - 3t), least at t = 2/3."""
    t = np.clip(2 / 3, np.tanh(u0) ** 2, np.tanh(u1) ** 2)
    least = 2 * (1 - t) * (1 - 3 * t)
    return -least * np.exp(np.where(least > 0, r0, r1))


def _information_bend(u0: Array, u1: Array, r0: Array, r1: Array) -> Array:
    """-2 (u tanh u - log cosh u)'' = -2 (1 - 2 u tanh u)/cosh^2 u."""
    factor = 1 - 2 * u1 * np.tanh(u1)
    return -2 * factor * np.exp(-2 * log_cosh(np.where(factor > 0, u1, u0)))


ENERGY = Goal(
    value=lambda u, r: np.exp(r) * np.tanh(u) ** 2,
    gap=lambda u, r: np.exp(r - 2 * log_cosh(u)),
    bend_u=_squared_tanh_bend,
    bend_r=lambda u, r: -np.exp(r) * np.tanh(u) ** 2,
)
"""e^r tanh^2 u: Bessel's bound, and a quarter of Delta_w."""
INFORMATION = Goal(
    value=lambda u, r: 2 * (r + u * np.tanh(u) - log_cosh(u)),
    gap=lambda u, r: 2 * (u * (1 - np.tanh(u)) + np.log1p(np.exp(-2 * u))),
    bend_u=_information_bend,
    bend_r=lambda u, r: np.zeros_like(r),
)
"""2 (r + u tanh u - log cosh u): twice the mutual information."""


def holds(certificate: Certificate, goal: Goal) -> bool:
    """Whether D >= 0 everywhere is proved (see the module); a doubt is a no."""
    if min(certificate[2:]) < 0 or certificate.sigma <= 1 or certificate.constant < 0:
        return False
    box = _box(certificate, goal)
    return box is not None and _positive(certificate, goal, *box)


def _box(c: Certificate, goal: Goal) -> tuple[float, float, float] | None:
    """U and the two ends of r beyond which the tails are proved."""
    steps = 2.0 ** np.arange(-16, 8, 0.25)
    right = next((float(r) for r in steps if _right(c, goal, r)), None)
    left = next((float(x) for x in steps if _left(c, goal, x)), None)
    if right is None or left is None:
        return None
    r = np.linspace(-left, right, 65)
    clear = (float(u) for u in steps if np.all(slack(c, goal, u, r)[0] > 2 * goal.gap(u, r)))
    far = next(clear, None)
    return None if far is None else (far, -left, right)


def _right(c: Certificate, goal: Goal, r: float) -> bool:
    rest = c.constant - max(c.mass, 0.0)
    if goal is ENERGY:
        # up (e^{sr} - 1) - e^r + rest = e^r (up e^{(s-1) r} - 1) + ..., and the bracket increases.
        lead = c.up * math.exp(min((c.s - 1) * r, CAP)) - 1 if c.s > 1 else -1.0
        return lead > 0 and math.exp(r) * lead + rest - c.up > 1e-9 * (c.up + abs(rest))
    power = min(c.s * r, CAP)
    growth = c.up * math.expm1(power) - c.joint * r * math.expm1(-r)
    slope = c.up * c.s * math.exp(power) - c.joint * math.expm1(-r)
    return slope > 2 + 1e-9 and growth + rest - 2 * (r + math.log(2)) > 1e-9 * (growth + c.up)


def _left(c: Certificate, goal: Goal, x: float) -> bool:
    lead = c.mass + c.joint * x
    square = c.kl + c.joint + c.pair * (c.sigma - 1) ** 2 / 2
    low = square > math.exp(-x) * (1 + 1e-9) if goal is ENERGY else x > math.log(2) + 1e-9
    return low and lead >= 0 and math.expm1(x) * lead + c.constant - c.up > 1e-9 * c.up


def slack(c: Certificate, goal: Goal, u: Array, r: Array) -> tuple[Array, Array]:
    """D(u, r) and the size of what was added to get it."""
    tanh, log = u * np.tanh(u), log_cosh(u)
    falling = np.expm1(-r)
    pair, power = _exponents(c, u, r, log)
    terms = (
        c.mass * falling,
        (c.kl + c.joint) * tanh,
        -c.joint * falling * r,
        c.joint * falling * log,
        c.pair * np.expm1(pair),
        c.up * np.expm1(power),
        -goal.value(u, r),
    )
    exponent = np.abs(c.s * r) + (1 + c.s) * 2 * log + log_cosh((1 + c.s) * u)
    size = c.constant + c.up * np.exp(power) * (1 + exponent)
    size += c.pair * np.exp(pair) * (log_cosh(c.sigma * u) + log)
    size += sum(np.abs(term) for term in terms) + (
        np.abs(r) + tanh + log if goal is INFORMATION else 0
    )
    return np.asarray(c.constant + sum(terms)), size


def _exponents(c: Certificate, u: Array, r: Array, log: Array) -> tuple[Array, Array]:
    """The logarithms of the functions `pair` and `up`, plus one; at most `CAP`."""
    pair = log_cosh(c.sigma * u) - log
    power = c.s * r + log_cosh((1 + c.s) * u) - (1 + c.s) * log
    return np.minimum(pair, CAP), np.minimum(power, CAP)


def _bend_r(c: Certificate, goal: Goal, u0: Array, u1: Array, r0: Array, r1: Array) -> Array:
    """An upper bound of D_rr in cells."""
    mass = c.mass * np.exp(-np.where(c.mass > 0, r0, r1))
    joint = c.joint * np.maximum(np.exp(-r0) * (2 - r0 + log_cosh(u1)), 0)
    power = c.up * c.s**2 * np.exp(_exponents(c, u1, r1, log_cosh(u1))[1])
    return _summed(mass, joint, power, goal.bend_r(u0, r0))


def _bend_u(c: Certificate, goal: Goal, u0: Array, u1: Array, r0: Array, r1: Array) -> Array:
    """An upper bound of D_uu in cells.

    (u tanh u)'' = 2 (1 - u tanh u)/cosh^2 u. With t = tanh u and T = tanh(k u), the second
    logarithmic-derivative forms are cosh(k u)/cosh u: k^2 - 1 - 2 k T t + 2 t^2, and
    cosh(k u)/cosh^k u: k^2 - k - 2 k^2 T t + (k^2 + k) t^2, times the function itself.
    """
    t0, t1, log1 = np.tanh(u0), np.tanh(u1), log_cosh(u1)
    sech0, sech1 = np.exp(-2 * log_cosh(u0)), np.exp(-2 * log1)
    kl = (c.kl + c.joint) * 2 * sech0 * np.maximum(1 - u0 * t0, 0)
    falling = np.expm1(-r0)
    joint = c.joint * falling * np.where(falling > 0, sech0, sech1)
    pair, power = _exponents(c, u1, r1, log1)
    k = c.sigma
    of_pair = k**2 - 1 - 2 * k * np.tanh(k * u0) * t0 + 2 * t1**2
    k = 1 + c.s
    of_power = k**2 - k - 2 * k**2 * np.tanh(k * u0) * t0 + (k**2 + k) * t1**2
    return _summed(
        kl,
        joint,
        c.pair * np.exp(pair) * np.maximum(of_pair + 1e-12 * c.sigma**2, 0),
        c.up * np.exp(power) * np.maximum(of_power + 1e-12 * k**2, 0),
        goal.bend_u(u0, u1, r0, r1),
    )


def _summed(*terms: Array) -> Array:
    """Their sum, upwards, and not below 0."""
    size = sum(np.abs(term) for term in terms)
    return np.asarray(np.maximum(sum(terms) + 1e-9 * size, 0))


def _below_cap(c: Certificate, u1: Array, r1: Array) -> Mask:
    return np.maximum(*_exponents(c, u1, r1, log_cosh(u1))) < CAP


def _dominated(c: Certificate, u0: Array, r0: Array, r1: Array) -> Mask:
    """Whether `up`, least at (u0, r0), exceeds all that is subtracted, for every u >= u0."""
    power = _exponents(c, u0, r0, log_cosh(u0))[1]
    others = abs(c.mass) * (1 + np.exp(-r0)) + np.exp(r1) + 2 * np.abs(r1) + 2
    return c.up * np.expm1(power) > others * (1 + 1e-9)


def _positive(c: Certificate, goal: Goal, far: float, low: float, high: float) -> bool:
    """Whether D > 0 in the box, and clears the gap at u = far, by cutting cells."""
    u, r = np.linspace(0, far, 17), np.linspace(low, high, 17)
    grids = np.meshgrid(u[:-1], r[:-1], indexing="ij"), np.meshgrid(u[1:], r[1:], indexing="ij")
    (u0, r0), (u1, r1) = ([side.ravel() for side in grid] for grid in grids)
    seen = 0
    while len(u0):
        seen += len(u0)
        corners = [slack(c, goal, u, r) for u in (u0, u1) for r in (r0, r1)]
        least = np.min([value - ALLOWANCE * size for value, size in corners], axis=0)
        if least.min() < 0 or seen > CELLS:
            return False
        least -= np.where(u1 >= far, goal.gap(u1, r1) * (1 + 1e-9), 0)
        along_u = (u1 - u0) ** 2 / 8 * _bend_u(c, goal, u0, u1, r0, r1)
        along_r = (r1 - r0) ** 2 / 8 * _bend_r(c, goal, u0, u1, r0, r1)
        proved = (least > along_u + along_r) & _below_cap(c, u1, r1) | _dominated(c, u0, r0, r1)
        u0, u1, r0, r1, cut_u = (a[~proved] for a in (u0, u1, r0, r1, along_u >= along_r))
        middle_u, middle_r = (u0 + u1) / 2, (r0 + r1) / 2
        u0, u1, r0, r1 = (
            np.concatenate([u0, np.where(cut_u, middle_u, u0)]),
            np.concatenate([np.where(cut_u, middle_u, u1), u1]),
            np.concatenate([r0, np.where(cut_u, r0, middle_r)]),
            np.concatenate([np.where(cut_u, r1, middle_r), r1]),
        )
    return True


# --- The tables ----------------------------------------------------------------------------------


def _table(*rows: tuple[float, ...]) -> tuple[Certificate, ...]:
    return tuple(map(Certificate._make, rows))


AVERAGE = _table(
    (4.214e-15, -4.984e-10, 0.2198352, 1.58904e-05, 6.448328e-06, 491.9, 3.33e-19, 43480.0),
    (2.416e-14, -1.58186e-09, 0.05979414, 2.81301e-05, 1.657627e-05, 336.8, 1.303e-18, 25170.0),
    (1.281e-13, -4.99694e-09, 0.006081592, 4.97641e-05, 3.276541e-05, 246.3, 5.937e-18, 14350.0),
    (7.056e-13, -1.57735e-08, 0.0001413688, 8.87568e-05, 5.91209e-05, 183.9, 2.027e-17, 8083.0),
    (3.993e-12, -5.02999e-08, 0.02879522, 0.000159288, 0.0001000736, 139.3, 2.79e-16, 4660.0),
    (2.23e-11, -1.58585e-07, 0.0, 0.000284165, 0.0001891648, 102.8, 4.888e-15, 2569.0),
    (1.253e-10, -5.00129e-07, 0.04641761, 0.000501237, 0.0003030853, 79.29, 4.769e-14, 1498.0),
    (7.007e-10, -1.57882e-06, 0.0, 0.000893458, 0.0005928314, 58.04, 5.818e-13, 808.1),
    (3.989e-09, -5.03845e-06, 0.05579311, 0.0016011, 0.0009428208, 44.69, 4.032e-12, 474.4),
    (2.243e-08, -1.58555e-05, 0.05040199, 0.00283041, 0.001675727, 33.58, 8.39e-11, 236.6),
    (1.259e-07, -5.0178e-05, 0.03086276, 0.00506469, 0.00308629, 24.95, 6.946e-10, 138.2),
    (7.047e-07, -0.00015995, 0.0799836, 0.00924057, 0.004937717, 19.14, 3.136e-09, 87.23),
    (3.999e-06, -0.000508495, 0.02981869, 0.0166564, 0.009481316, 14.1, 2.13e-08, 52.43),
    (6.45e-06, -0.000735384, 0.0, 0.0216397, 0.01304059, 12.18, 1.485e-07, 36.15),
    (1.266e-05, -0.00109962, 0.0165898, 0.0248948, 0.01400682, 11.6, 2.244e-07, 31.17),
    (2.263e-05, -0.00159672, 0.08052556, 0.0297647, 0.01425004, 11.04, 8.21e-07, 23.64),
    (3.885e-05, -0.00233856, 0.0, 0.037333, 0.02059205, 9.552, 1.31e-06, 20.78),
    (7.011e-05, -0.00344533, 0.07003399, 0.0454195, 0.02058274, 9.108, 2.864e-06, 17.14),
    (0.0001256, -0.00510473, 0.0, 0.0565865, 0.02820632, 8.022, 6.629e-06, 13.75),
    (0.0002245, -0.00751241, 0.01920578, 0.0696774, 0.03160151, 7.404, 1.61e-05, 11.26),
    (0.0004067, -0.011236, 0.04371725, 0.0877433, 0.03394092, 6.915, 3.375e-05, 9.176),
    (0.000726, -0.016486, 0.1043811, 0.108333, 0.03294005, 6.583, 8.538e-05, 7.459),
    (0.001337, -0.0256435, 0.0181764, 0.142506, 0.04392645, 5.849, 9.613e-05, 6.773),
    (0.002246, -0.0345227, 0.06409854, 0.16719, 0.04323876, 5.513, 0.0005735, 4.757),
    (0.004042, -0.0520032, 0.004185124, 0.21619, 0.05146438, 4.998, 0.00113, 3.963),
    (0.005137, -0.0612826, 0.0, 0.243406, 0.05471582, 4.725, 0.002, 3.495),
    (0.006586, -0.0733881, 0.0, 0.276635, 0.05540861, 4.521, 0.002985, 3.182),
    (0.008754, -0.0883539, 0.0, 0.312543, 0.05354981, 4.375, 0.004867, 2.828),
    (0.01033, -0.0979118, 0.0, 0.344629, 0.05539993, 4.146, 0.007787, 2.547),
    (0.01268, -0.0985133, 0.0, 0.335863, 0.05832143, 3.969, 0.01452, 2.232),
    (0.01694, -0.105608, 0.0, 0.346247, 0.05148068, 3.948, 0.02627, 1.93),
    (0.02414, -0.0812344, 0.0, 0.312222, 0.0712567, 3.373, 0.06963, 1.539),
)
"""Bounds of `ENERGY` in the mean over w, good near rho = 1e-9 ... 0.46."""

TRANSPORT = _table(
    (0.003683, -2.02847, 0.0, 1.07968, 7.28312e-07, 6.768, 0.004795, 2.38),
    (0.004566, -2.03366, 0.0, 1.08716, 0.0, 2.0, 0.005918, 2.176),
    (0.006447, -2.04242, 0.0, 1.09733, 0.0, 2.0, 0.008362, 1.891),
    (0.007519, -2.0482, 0.0, 1.10478, 0.0, 2.0, 0.009428, 1.781),
    (0.01253, -2.06795, 0.0, 1.11967, 0.0, 2.0, 0.01411, 1.492),
    (0.01823, -2.08685, 0.0, 1.13389, 0.0, 2.0, 0.02055, 1.268),
    (0.02237, -2.09992, 0.0, 1.14448, 5.368746e-07, 4.652, 0.02421, 1.168),
    (0.02827, -2.11815, 0.0, 1.15745, 0.0, 2.0, 0.03019, 1.049),
    (0.03901, -2.14593, 0.0, 1.17316, 0.0, 2.0, 0.04144, 0.903),
    (0.06551, -2.21081, 0.0, 1.21137, 0.0, 2.0, 0.06169, 0.7156),
    (0.07941, -2.24078, 0.0, 1.22559, 0.0, 2.0, 0.07287, 0.6506),
    (0.09463, -2.27098, 0.0, 1.23928, 0.0, 2.0, 0.08403, 0.597),
    (0.1543, -2.37652, 0.0, 1.28218, 0.0, 2.0, 0.1205, 0.4683),
    (0.1997, -2.43839, 0.0, 1.29844, 0.0, 2.0, 0.1526, 0.407),
    (0.4599, -2.73663, 0.0, 1.37032, 1.028567e-10, 3.984, 0.2324, 0.2746),
    (0.6869, -2.9508, 0.0, 1.42821, 0.0, 2.0, 0.2885, 0.2116),
    (1.13, -3.24166, 0.0, 1.46686, 4.44138e-10, 2.454, 0.3779, 0.1586),
    (2.759, -3.9447, 0.0, 1.54338, 0.0, 2.0, 0.5505, 0.09048),
    (7.73, -5.04345, 0.0, 1.61668, 0.0, 2.0, 0.9218, 0.042),
)
"""Bounds of `INFORMATION`, good near rho = 0.2 ... 50."""

POINTWISE = _table(
    (1.141e-15, 1.04889e-10, 0.4583223, 0.0, 9.306015e-06, 341.2, 6.396e-15, 32690.0),
    (5.885e-15, 3.64403e-10, 0.3759719, 0.0, 1.804417e-05, 263.0, 3.983e-14, 17930.0),
    (3.371e-14, 1.1331e-09, 0.3175615, 0.0, 3.915903e-05, 186.7, 2.206e-13, 10030.0),
    (1.917e-13, 3.595e-09, 0.2401903, 0.0, 8.842559e-05, 131.1, 1.245e-12, 5644.0),
    (1.037e-12, 1.18893e-08, 0.0, 0.0, 0.0003157253, 79.6, 7.175e-12, 3153.0),
    (5.769e-12, 3.39789e-08, 0.2291048, 0.0, 0.0002910985, 72.79, 3.701e-11, 1814.0),
    (3.672e-11, 1.28207e-07, 0.1673612, 0.0, 0.0005416895, 55.46, 2.521e-10, 976.3),
    (1.916e-10, 3.6308e-07, 0.2298961, 0.0, 0.0009594166, 40.09, 1.258e-09, 565.3),
    (1.062e-09, 1.16058e-06, 0.0, 0.0, 0.002893516, 26.32, 7.184e-09, 314.2),
    (6.017e-09, 3.59512e-06, 0.08774517, 0.0, 0.004089572, 21.16, 3.947e-08, 178.9),
    (3.355e-08, 1.114e-05, 0.1142465, 0.0, 0.00716196, 15.78, 2.178e-07, 101.1),
    (1.98e-07, 3.75665e-05, 0.1319509, 0.0, 0.0116003, 12.3, 1.321e-06, 55.74),
    (1.127e-06, 0.000118259, 0.06152059, 0.0, 0.0229956, 9.118, 7.469e-06, 31.31),
    (2.014e-06, 0.000172933, 0.05807218, 0.0, 0.02744513, 8.375, 1.329e-05, 25.84),
    (3.64e-06, 0.000256106, 0.1049612, 0.0, 0.03290757, 7.481, 2.401e-05, 21.24),
    (6.583e-06, 0.000379455, 0.1783728, 0.0, 0.03234389, 7.242, 4.345e-05, 17.45),
    (1.116e-05, 0.000563751, 0.2374225, 0.0, 0.03344648, 6.882, 7.704e-05, 14.39),
    (1.983e-05, 0.00080472, 0.1164533, 0.0, 0.05268907, 5.924, 0.0001341, 11.96),
    (3.311e-05, 0.00129307, 0.0, 0.0, 0.09683758, 4.703, 0.0002539, 9.694),
    (6.101e-05, 0.00174973, 0.0, 0.0, 0.1074768, 4.478, 0.0004287, 8.133),
    (0.0001258, 0.00307738, 0.2260632, 0.0, 0.06842396, 4.906, 0.0009509, 6.323),
    (0.0002168, 0.00400314, 0.2825678, 0.0, 0.07608233, 4.525, 0.001506, 5.406),
    (0.0004011, 0.00645594, 0.04415013, 0.0, 0.1569166, 3.665, 0.002968, 4.358),
    (0.0007105, 0.00967461, 0.0, 0.0, 0.1914182, 3.401, 0.005406, 3.594),
    (0.001372, 0.0147058, 0.06387647, 0.0, 0.1861116, 3.326, 0.01039, 2.898),
    (0.002697, 0.0247507, 0.1204526, 0.0, 0.1707381, 3.282, 0.02187, 2.305),
    (0.00446, 0.0399489, 0.0, 0.0, 0.2571683, 2.845, 0.04148, 1.902),
    (0.008556, 0.0617925, 0.0, 0.0, 0.24865, 2.754, 0.07976, 1.565),
    (0.01708, 0.0950953, 0.0, 0.0, 0.1686427, 2.883, 0.1544, 1.298),
    (0.02622, 0.132743, 0.0, 0.0, 0.1654294, 2.646, 0.2423, 1.156),
    (0.04581, 0.155925, 0.0, 0.0, 0.1632352, 2.398, 0.3317, 1.076),
)
"""Bounds of `ENERGY` without `joint`: for each w; good near rho = 1e-9 ... 1."""
