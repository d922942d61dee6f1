"""``python -m verify.pair_certificates``: certificates of antipodal pairs, found again.

The tables of minimax.methods.pair_certificates hold dual solutions of linear programmes over laws
of (u, r). Here such a programme is solved on a grid (HiGHS, through scipy), over the orders sigma
and s of its two Renyi constraints, rounded and raised until the certificate is proved in ball
arithmetic, and held against what the table gives at the same rho. Exit code 0: proved, and within
two percent of the table. 1: otherwise. 2: bad usage.
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from minimax.methods.pair_certificates import AVERAGE, POINTWISE, TRANSPORT, Certificate
from minimax.methods.pair_positivity import (
    ENERGY,
    INFORMATION,
    Goal,
    along_r,
    along_u,
    is_proved,
    joint,
)
from verify.console import command_parser, leave

Array = NDArray[np.float64]
NODES = 60
"""Of u and of r in the programme; the finer grid that its solution is checked on has thrice as
many."""
SEARCH = 80
"""Pairs of orders that are tried."""
RAISES = (0.0, 1e-4, 3e-4, 1e-3, 3e-3, 0.01)
"""By which shares the multipliers are raised until the certificate is proved."""
LARGEST_LOG = 40.0
"""Rows with larger powers are left out: the multiplier of the power alone fulfils them."""
TOLERANCES = dict.fromkeys(("primal_feasibility_tolerance", "dual_feasibility_tolerance"), 1e-10)
"""The least that HiGHS takes: with its own, nothing is proved below rho = 1e-6."""
NAMES = ("constant", "mass", "kl", "joint", "pair", "up")
WITHIN = 1.02
EXAMPLES = """\
examples:
  python -m verify.pair_certificates --rho 0.01
  python -m verify.pair_certificates --rho 0.01 --table pointwise
  python -m verify.pair_certificates --rho 1 --table transport
"""


class Table(NamedTuple):
    """A table of certificates, what they bound, and whether they use `joint`."""

    certificates: Sequence[Certificate]
    goal: Goal
    averages: bool

    def least(self, rho: float) -> float:
        """The least bound at rho."""
        return min(float(found.bound(rho)) for found in self.certificates)


TABLES = {
    "average": Table(AVERAGE, ENERGY, averages=True),
    "pointwise": Table(POINTWISE, ENERGY, averages=False),
    "transport": Table(TRANSPORT, INFORMATION, averages=True),
}


class Rows(NamedTuple):
    """1, mass, kl, joint, pair and up, and the goal, at the nodes of a grid."""

    functions: Array
    goal: Array


def grid(rho: float, nodes: int) -> tuple[Array, Array]:
    """Nodes of u and r: even near 0 on the scale sqrt(rho), geometric far from it."""
    scale = math.sqrt(rho)

    def spaced(end: float, count: int) -> Array:
        return scale * np.sinh(np.linspace(0, math.asinh(end / scale), count))

    u = spaced(8.0, nodes)
    r = np.concatenate([-spaced(6.0, nodes // 2)[:0:-1], spaced(40.0, nodes)])
    return u, r


def rows(table: Table, rho: float, sigma: float, s: float, nodes: int) -> Rows:
    """The functions of a certificate on the grid, as far as their powers are moderate."""
    at_u, at_r = grid(rho, nodes)
    u, r = (axis.ravel() for axis in np.meshgrid(at_u, at_r, indexing="ij"))
    keep = (sigma * u < LARGEST_LOG) & ((1 + s) * u < 10 * LARGEST_LOG) & (s * r < LARGEST_LOG)
    u, r = u[keep], r[keep]
    column, row = along_u(u, sigma, s), along_r(r, s)
    up = row.power * column.rise - 1
    mean = joint(column, row) if table.averages else np.zeros_like(u)
    functions = (np.ones_like(u), row.falling, column.tilt, mean, column.pair - 1, up)
    moderate = up < math.exp(LARGEST_LOG)
    return Rows(np.column_stack(functions)[moderate], table.goal.value(column, row)[moderate])


def solution(table: Table, rho: float, sigma: float, s: float, nodes: int) -> Certificate | None:
    """The best multipliers on the grid for given orders; none if there are none."""
    none = Certificate(0.0, 0.0, 0.0, 0.0, 0.0, sigma, 0.0, s)
    costs = [float(none._replace(**{name: 1.0}).bound(rho)) for name in NAMES]
    scale = rho / np.array([cost or 1.0 for cost in costs])  # `mass` costs nothing
    found = rows(table, rho, sigma, s, nodes)
    left = found.functions * scale
    size = np.abs(left).max(axis=1)
    free = [(None, None) if name == "mass" else (0, None) for name in NAMES]
    solved = optimize.linprog(
        [1.0, 0.0, 1.0, 1.0, 1.0, 1.0],
        A_ub=-left / size[:, None],
        b_ub=-found.goal / size,
        bounds=free,
        options=TOLERANCES,
    )
    if solved.status != 0:
        return None
    weights = dict(zip(NAMES, map(float, solved.x * scale), strict=True))
    if not table.averages:
        weights["joint"] = 0.0
    return Certificate(**weights, sigma=sigma, s=s)


def best_solution(table: Table, rho: float, nodes: int) -> Certificate:
    """The best multipliers on the grid over the two orders."""

    def cost(logs: Array) -> float:
        found = solution(table, rho, *_orders(logs), nodes)
        return math.inf if found is None else float(found.bound(rho)) / rho

    start = np.log([2.6 * rho**-0.25, 1.2 * rho**-0.5])
    simplex = start + np.array([[0.0, 0.0], [0.3, 0.0], [0.0, 0.3]])
    best = optimize.minimize(
        cost, start, method="Nelder-Mead", options={"maxfev": SEARCH, "initial_simplex": simplex}
    )
    found = solution(table, rho, *_orders(best.x), nodes)
    if found is None:
        raise ValueError(f"no multipliers are found on a grid of {nodes} nodes at rho = {rho:g}")
    return found


def _orders(logs: Array) -> tuple[float, float]:
    """sigma > 1 and s > 0, in four digits."""
    sigma, s = (float(f"{math.exp(log):.4g}") for log in logs)
    return max(sigma, 1.001), s


def raised(table: Table, rho: float, found: Certificate, nodes: int) -> Certificate | None:
    """The certificate, rounded and raised until it is proved; none if that takes too much."""
    finer = rows(table, rho, found.sigma, found.s, 3 * nodes)
    weights = np.array([getattr(found, name) for name in NAMES])
    deepest = float(np.min(finer.functions @ weights - finer.goal))
    constant = found.constant + max(-deepest, 0.0)
    for share in RAISES:
        certificate = found._replace(
            constant=_rounded(constant * (1 + share) + share * rho / 10),
            mass=float(f"{found.mass:.7g}"),
            **{name: _rounded(getattr(found, name) * (1 + share)) for name in NAMES[2:]},
        )
        if is_proved(certificate, table.goal):
            return certificate
    return None


def _rounded(value: float) -> float:
    """A little more, in seven digits."""
    return float(f"{value * (1 + 1e-6):.7g}")


def _positive(text: str) -> float:
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"must be positive and finite, got {text}")
    return value


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = command_parser("verify.pair_certificates", __doc__, EXAMPLES)
    parser.add_argument("--rho", type=_positive, required=True, help="the budget, zCDP")
    parser.add_argument(
        "--table", choices=TABLES, metavar="NAME", default="average", help=", ".join(TABLES)
    )
    parser.add_argument(
        "--nodes", type=int, default=NODES, help=f"of each axis of the grid (default {NODES})"
    )
    args = parser.parse_args(argv)
    if args.nodes < 10:
        parser.error("--nodes: at least 10")
    table = TABLES[args.table]
    found = best_solution(table, args.rho, args.nodes)
    certificate = raised(table, args.rho, found, args.nodes)
    print(f"on the grid: B = {_constant(found.bound(args.rho), args.rho)}")
    if certificate is None:
        print("not proved: raise --nodes")
        return 1
    bound, least = float(certificate.bound(args.rho)), table.least(args.rho)
    print(f"proved:      B = {_constant(bound, args.rho)}")
    print(f"the table:   B = {_constant(least, args.rho)}")
    print(textwrap.fill(str(tuple(certificate)), 80))
    return 0 if bound <= WITHIN * least else 1


def _constant(bound: float, rho: float) -> str:
    return f"{bound / (rho / 2):.5f}"


if __name__ == "__main__":
    leave(main)
