r"""The least Bayes risk over *all* private mechanisms of a tiny problem, by linear programming.

**The programme.** An output o of a mechanism acts through its *ray* r = (p(o | x))_x alone, x over
the data sets, and that up to a factor: the best estimate after o and its cost depend on the ray,

    cost(r) = min_a sum_x r_x E[loss(a, theta); x],

and so do its shares q f(p/q) of f-divergences between neighbours (p, q entries of the ray). A
mechanism is therefore a measure w on rays with sum_o w_o r_o = 1 at every data set; its risk is
sum_o w_o cost(r_o), and pure, (epsilon, delta), Renyi, concentrated and Gaussian privacy are
constraints sum_o w_o q f(p/q) <= limit: everything is linear in w. There is no lattice of outputs.

**Which rays.** cost is concave, so where the constraints are linear in r between hyperplanes the
extreme rays of that arrangement are enough: for a pure budget those whose logarithms are epsilon
times a whole-numbered potential that moves by at most one between neighbours, for (epsilon, delta)
the same on a connected set of data sets and zero outside; on a path of data sets these are all of
them, and the optimum is exact. Gaussian privacy is replaced by the law of a Gaussian in a few cells
(`gaussian_cells`), which is stricter; its constraints are of this kind too. For Renyi divergences,
which are curved, rays are added where their reduced cost is negative, in steps of several lengths
around those in use, until the value stands still.

**Which side.** Every measure on some rays is a mechanism. If it breaks a constraint that was left
out (an order between those in the programme) it is mixed with a constant release until all hold:
the f-divergences shrink in proportion. So `Mechanism.risk` is the risk of a private mechanism,
which no lower bound may exceed, whether or not the optimum was reached. How near it is to the
optimum decides how much the comparison can see; the tests hold it against closed forms.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from tests.contract.finite_problems import Array, FiniteProblem, Pairs

# --- Privacy as limits of f-divergences -----------------------------------------------------------


@dataclass(frozen=True)
class Closeness:
    """sum_o q f(p/q) <= limit for every level of a family of f with f(1) = 0."""

    levels: Array
    limits: Array
    first: NDArray[np.int64]
    """The levels to begin with; the others join when they are broken."""
    share: Callable[[Array, Array, Array], Array]
    """q f(p/q), of p, q and the level."""
    reach: float
    """Between neighbours |log(p/q)| is kept at most this."""

    def shares(self, rays: Array, pairs: Pairs, chosen: Array) -> Array:
        """shares[o, pair, level] in units of the limit."""
        p, q = (rays[:, [pair[side] for pair in pairs], None] for side in (0, 1))
        return self.share(p, q, self.levels[chosen]) / self.limits[chosen]


def _hockey_stick(p: Array, q: Array, epsilon: Array) -> Array:
    return np.maximum(p - np.exp(epsilon) * q, 0.0)


def _renyi(p: Array, q: Array, order: Array) -> Array:
    """q (t^a - 1 - a (t - 1))/(a (a - 1)), t = p/q; at a = 1 its limit, t log t - t + 1.

    It sums to (e^{(a-1) D_a} - 1)/(a (a - 1)). No difference of numbers near one is taken.
    """
    log_t = np.log(p) - np.log(q)
    near_one = np.abs(order - 1) < 1e-9
    a = np.where(near_one, 2.0, order)
    power = (special.expm1(a * log_t) - a * special.expm1(log_t)) / (a * (a - 1))
    entropy = np.exp(log_t) * log_t - special.expm1(log_t)
    return np.asarray(q * np.maximum(np.where(near_one, entropy, power), 0.0))


MESH = 400
"""Levels at which a mechanism is checked; convexity in the level leaves little between them."""


def closeness(problem: FiniteProblem, privacy: Privacy | None) -> Closeness:
    """The constraints of a definition; a pure budget has none that its rays do not obey."""
    nothing = np.arange(0)
    match privacy:
        case None | Pure():
            return Closeness(np.empty(0), np.empty(0), nothing, _hockey_stick, math.inf)
        case Approximate():
            level, limit = np.array([privacy.epsilon]), np.array([privacy.delta])
            return Closeness(level, limit, np.arange(1), _hockey_stick, math.inf)
        case Gaussian():
            return _gaussian_closeness(problem, privacy)
        case ZeroConcentrated():
            return _renyi_curve(0.0, privacy.rho)
        case OffsetConcentrated():
            return _renyi_curve(privacy.kappa, privacy.rho)
        case Renyi():
            order = np.array([privacy.alpha])
            limit = _renyi_limits(order, np.array([privacy.epsilon]))
            return Closeness(order, limit, np.arange(1), _renyi, privacy.epsilon + 6.0)
    raise TypeError(f"no constraints for {privacy}")


def _renyi_curve(kappa: float, rho: float) -> Closeness:
    """D_a <= kappa + a rho; orders beyond reach/rho cannot be broken by rays within the reach."""
    reach = kappa + rho + 4.5 * math.sqrt(2 * rho)
    orders = np.append(1.0, 1 + np.geomspace(1e-3, max(reach / rho - 1, 1e-2), MESH - 1))
    first = np.linspace(0, MESH - 1, 6).astype(int)
    return Closeness(orders, _renyi_limits(orders, kappa + orders * rho), first, _renyi, reach)


def _renyi_limits(orders: Array, curve: Array) -> Array:
    a = np.maximum(orders, 1 + 1e-9)
    return np.asarray(np.where(orders == 1, curve, np.expm1((a - 1) * curve) / (a * (a - 1))))


def gaussian_cells(problem: FiniteProblem, mu: float) -> tuple[Array, Array]:
    r"""(steps, limits): the logs t_j > 0 of the ratios of N(mu/2, 1) and N(-mu/2, 1) over cells of
    the line, and the hockey-stick divergences of the two laws of the cell at 0, t_1, ..., t_{K-1}.

    The cells are symmetric about 0, one in the middle and K to each side. As a function of e^eps
    the divergence is convex, with kinks where a ratio is. So if all ratios of a mechanism are among
    +-t_j and 1, and its divergences are at most the cells' at the kinks, then so they are
    everywhere (both are linear between), which is mu-GDP: cells are post-processing.
    """
    sides = _sides(problem)
    edges = math.sqrt(3) * special.ndtri(0.5 + (np.arange(sides) + 0.5) / (2 * sides + 1))
    edges = np.append(edges, np.inf)
    upper = special.ndtr(edges[1:] - mu / 2) - special.ndtr(edges[:-1] - mu / 2)
    lower = special.ndtr(-edges[:-1] - mu / 2) - special.ndtr(-edges[1:] - mu / 2)
    steps = np.log(upper / lower)
    kinks = np.append(0.0, steps[:-1])
    return steps, np.maximum(upper - np.exp(kinks)[:, None] * lower, 0).sum(axis=1)


def _sides(problem: FiniteProblem) -> int:
    """Cells to each side, so many that a path of data sets has some thousand rays."""
    if not problem.is_path:
        return 8
    return int(np.clip((3000 ** (1 / (len(problem.joint) - 1)) - 1) / 2, 1, 20))


def _gaussian_closeness(problem: FiniteProblem, privacy: Gaussian) -> Closeness:
    steps, limits = gaussian_cells(problem, privacy.mu)
    kinks = np.append(0.0, steps[:-1])
    mesh = np.linspace(0, steps[-1], MESH)
    return Closeness(
        np.append(kinks, mesh),
        np.append(limits, [privacy.delta(epsilon) for epsilon in mesh]),
        np.arange(len(kinks)),
        _hockey_stick,
        float(steps[-1]),
    )


# --- Rays -----------------------------------------------------------------------------------------


def _adjacency(pairs: Pairs, states: int) -> NDArray[np.bool_]:
    near = np.zeros((states, states), dtype=bool)
    near[tuple(np.array(pairs).T)] = True
    return near


def _connected(graphs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether each graph (a symmetric table) is connected."""
    size = graphs.shape[-1]
    reached = (graphs | np.eye(size, dtype=bool)).astype(np.float32)
    for _ in range(max(size - 1, 1).bit_length()):
        reached = (reached @ reached > 0).astype(np.float32)
    return np.asarray(reached.all(axis=(-1, -2)))


@lru_cache
def potentials(pairs: Pairs, states: int) -> Array:
    """Whole numbers that move by at most one between neighbours, the moves by one connecting all.

    They are grown along the graph, from its first data set.
    """
    near, order = _adjacency(pairs, states), [0]
    while len(order) < states:
        order.append(next(x for x in range(states) if x not in order and near[x, order].any()))
    grown = np.zeros((1, 1), dtype=int)
    for place in range(1, states):
        known = near[order[place], order[:place]]
        steps = grown[:, known][:, :1] + np.array([-1, 0, 1])
        wider = np.column_stack([np.repeat(grown, 3, axis=0), steps.ravel()])
        grown = wider[np.all(np.abs(wider[:, :-1][:, known] - wider[:, [-1]]) <= 1, axis=1)]
    table = grown[:, np.argsort(order)]
    tight = near & (np.abs(table[:, :, None] - table[:, None, :]) == 1)
    return np.asarray(table[_connected(tight)], dtype=float)


@lru_cache
def partial_potentials(pairs: Pairs, states: int) -> Array:
    """`potentials` on every connected set of data sets, and minus infinity outside."""
    near, whole = _adjacency(pairs, states), potentials(pairs, states)
    found = []
    for mask in map(np.array, product([False, True], repeat=states)):
        if mask.any() and _connected(near[np.ix_(mask, mask)][None])[0]:
            inside = np.where(mask, whole, -np.inf)
            found.append(np.unique(inside - inside.max(axis=1, keepdims=True), axis=0))
    return np.vstack(found)


SCALES = (0.03, 0.08, 0.15, 0.25, 0.4, 0.65)
"""Sizes of the first steps between neighbours, in units of the reach."""


def first_log_rays(problem: FiniteProblem, privacy: Privacy | None, reach: float) -> Array:
    """The rays to begin with: all that are needed for pure and (epsilon, delta) budgets."""
    states = len(problem.joint)
    match privacy:
        case None:
            return np.where(np.eye(states) > 0, 0.0, -np.inf)
        case Pure():
            return privacy.epsilon * potentials(problem.neighbours, states)
        case Approximate():
            return privacy.epsilon * partial_potentials(problem.neighbours, states)
        case Gaussian():
            steps = gaussian_cells(problem, privacy.mu)[0]
            if problem.is_path:
                every = np.concatenate([-steps[::-1], [0.0], steps])
                table = np.array(list(product(every, repeat=states - 1)))
                return np.column_stack([np.zeros(len(table)), np.cumsum(table, axis=1)])
            shapes = potentials(problem.neighbours, states)
            return np.vstack([np.zeros((1, states)), *(step * shapes for step in steps)])
    shapes = potentials(problem.neighbours, states)
    return np.vstack([np.zeros((1, states)), *(scale * reach * shapes for scale in SCALES)])


def nearby(log_rays: Array, pairs: Pairs, reach: float) -> Array:
    """Rays around the given ones: one data set, or all up to one, moved by several lengths."""
    states = log_rays.shape[1]
    parts = np.vstack([np.eye(states), np.tril(np.ones((states, states)))[1:-1]])
    lengths = reach / 4 * 3.0 ** -np.arange(7)
    moves = np.concatenate([s * length * parts for length in lengths for s in (-1, 1)])
    found = (log_rays[:, None, :] + moves).reshape(-1, states)
    p, q = (found[:, [pair[side] for pair in pairs]] for side in (0, 1))
    return found[np.all(np.abs(p - q) <= reach, axis=1)]


# --- The programme --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mechanism:
    """A private mechanism: `channel[o, x]` is the chance of output o on data set x."""

    channel: Array
    risk: float
    """Its Bayes risk."""
    relaxed: float
    """The programme's value: below `risk` by what the mixing with a constant release cost."""


PAIR_ROUNDS = 80
"""Rounds times pairs of neighbours, at most: with the pairs the programme of a round grows."""
STANDSTILL = 1e-4
"""Relative gain of a round below which the rays are taken to be enough."""
NEW_RAYS = 120


def least_risk(problem: FiniteProblem, privacy: Privacy | None) -> Mechanism:
    """The best private mechanism that is found; without a definition, the best of all."""
    rules = closeness(problem, privacy)
    log_rays = _normalised(first_log_rays(problem, privacy, rules.reach))
    chosen, before = rules.first, math.inf
    curved = rules.share is _renyi
    for _ in range(PAIR_ROUNDS // len(problem.neighbours)):
        solved = _Programme(problem, rules, chosen, np.exp(log_rays)).solve()
        broken = solved.worst_level()
        if not curved or (broken is None and before - solved.value < STANDSTILL * solved.value):
            break
        before = solved.value if broken is None else math.inf
        chosen = chosen if broken is None else np.union1d(chosen, broken)
        fresh = nearby(log_rays[solved.weights > 0], problem.neighbours, rules.reach)
        fresh = _normalised(fresh)
        gains = solved.reduced_costs(np.exp(fresh))
        best = np.argsort(gains)[:NEW_RAYS]
        kept = solved.reduced_costs(np.exp(log_rays)) < 1e-3 * solved.scale
        log_rays = np.vstack([log_rays[kept], fresh[best[gains[best] < -1e-12 * solved.scale]]])
    return solved.mechanism()


def _normalised(log_rays: Array) -> Array:
    return np.asarray(log_rays - log_rays.max(axis=1, keepdims=True))


@dataclass(frozen=True)
class _Programme:
    """The measure on these rays with the least risk, under the constraints of chosen levels."""

    problem: FiniteProblem
    rules: Closeness
    chosen: NDArray[np.int64]
    rays: Array

    def rows(self, rays: Array) -> Array:
        shares = self.rules.shares(rays, self.problem.neighbours, self.chosen)
        return shares.reshape(len(rays), -1)

    def solve(self) -> _Solution:
        scale = self.problem.constant_risk()
        rows = self.rows(self.rays)
        found = optimize.linprog(
            self.problem.costs(self.rays) / scale,
            rows.T if rows.size else None,
            np.ones(rows.shape[1]) if rows.size else None,
            self.rays.T,
            np.ones(self.rays.shape[1]),
            method="highs",
            options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
        )
        if found.status != 0:
            raise RuntimeError(found.message)
        duals = found.ineqlin.marginals if rows.size else np.empty(0)
        return _Solution(self, found.x, scale * found.fun, scale, found.eqlin.marginals, duals)


@dataclass(frozen=True)
class _Solution:
    programme: _Programme
    weights: Array
    value: float
    scale: float
    prices: Array
    """Of the data sets."""
    fines: Array
    """Of the constraints."""

    def reduced_costs(self, rays: Array) -> Array:
        problem, rules = self.programme.problem, self.programme.rules
        fines = self.fines.reshape(len(problem.neighbours), -1)
        fined = np.any(fines != 0, axis=0)  # the others need not be computed
        shares = rules.shares(rays, problem.neighbours, self.programme.chosen[fined])
        paid = rays @ self.prices + np.tensordot(shares, fines[:, fined], 2)
        return np.asarray(problem.costs(rays) - self.scale * paid)

    def spent(self) -> Array:
        """By level, the largest f-divergence between neighbours in units of its limit."""
        rules, problem = self.programme.rules, self.programme.problem
        if not len(rules.levels):
            return np.zeros(1)
        used = self.weights > 0
        every = np.arange(len(rules.levels))
        shares = rules.shares(self.programme.rays[used], problem.neighbours, every)
        return np.asarray(np.tensordot(self.weights[used], shares, 1).max(axis=0))

    def worst_level(self) -> int | None:
        """The level that is broken most, if any is by more than `STANDSTILL`."""
        spent = self.spent()
        return int(np.argmax(spent)) if spent.max() > 1 + STANDSTILL else None

    def mechanism(self) -> Mechanism:
        """Mixed with a constant release, as much as it takes to keep every limit."""
        kept = 1 / max(1.0, float(self.spent().max()))
        used = self.weights > 0
        channel = kept * self.weights[used, None] * self.programme.rays[used]
        constant = np.full((1, channel.shape[1]), 1 - kept)
        risk = kept * self.value + (1 - kept) * self.scale
        return Mechanism(np.vstack([channel, constant]), risk, self.value)
