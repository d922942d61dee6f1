r"""The least Bayes risk over *all* private mechanisms of a tiny problem, by linear programming.

A mechanism is a table p(a | x): data sets x, outputs a. Its Bayes risk under a prior is linear in
the table, and so is privacy, so that the best private mechanism is a linear program. It knows
nothing of tracing or packing: an oracle for the lower bounds, which must stay below it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse, special

from minimax.core.privacy import Approximate, Pure

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FiniteProblem:
    """Data sets, which of them are neighbours, and their joint law with the target.

    `joint[x, i]` is the probability of data set x together with `targets[i]`, a point of R^d. It
    may be zero: a mechanism must be private on data sets that never occur as well. Leaving such
    data sets out drops constraints, so a bound below the reduced optimum is below the full one.
    """

    joint: Array
    targets: Array
    neighbours: NDArray[np.int64]

    def moments(self) -> tuple[Array, Array]:
        """For each data set, its mass times the posterior mean, and times the mean of |.|^2."""
        return self.joint @ self.targets, self.joint @ np.sum(self.targets**2, axis=1)

    def costs(self, outputs: Array) -> Array:
        """costs[x, a] = E |outputs[a] - target|^2 1(x)."""
        first, second = self.moments()
        mass = self.joint.sum(axis=1)
        sizes = np.sum(outputs**2, axis=1)
        return second[:, None] - 2 * first @ outputs.T + mass[:, None] * sizes

    def bayes_risk(self) -> float:
        """The least risk without privacy."""
        first, second = self.moments()
        mass = np.maximum(self.joint.sum(axis=1), 1e-300)  # first is zero where the mass is
        return float(np.sum(second - np.sum(first**2, axis=1) / mass))

    def prior_variance(self) -> float:
        """The risk of the best constant: what privacy so strict that nothing is released leaves."""
        first, second = self.moments()
        return float(second.sum() - np.sum(first.sum(axis=0) ** 2))


def counting_problem(
    n: int,
    prior: Array,
    chances: Array,
    targets: Array,
    keep: Callable[[Array], Array] | None = None,
) -> FiniteProblem:
    r"""n independent records with finitely many values; `chances[i]` is their law given target i.

    The data set is reduced to the counts of the values. That loses nothing: for a private M on
    sequences, M of a random permutation is as private, has the same risk since the records are
    exchangeable, and depends on the counts only. Replacing a record moves one unit between two
    counts. `keep` selects among the tables of counts, one a row.
    """
    cells = chances.shape[1]
    table = np.array([c for c in product(range(n + 1), repeat=cells) if sum(c) == n])
    if keep is not None:
        table = table[keep(table)]
    ways = special.gammaln(n + 1) - special.gammaln(table + 1).sum(axis=1)
    logs = special.xlogy(table[:, None, :], chances[None, :, :]).sum(axis=2)
    joint = np.exp(ways[:, None] + logs) * prior
    moved = np.abs(table[:, None, :] - table[None, :, :]).sum(axis=2)
    return FiniteProblem(joint, targets.reshape(len(prior), -1), np.argwhere(moved == 2))


def lattice(reach: float, points: int, d: int = 1) -> tuple[Array, float]:
    """(outputs, price): a lattice on [-reach, reach]^d and what confining outputs to it costs.

    Rounding each coordinate at random to one of the two nearest points, without bias, is
    post-processing and adds at most h^2/4 a coordinate to the risk.
    """
    axis = np.linspace(-reach, reach, points)
    grid = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return grid, d * (axis[1] - axis[0]) ** 2 / 4


def least_risk(
    problem: FiniteProblem, privacy: Pure | Approximate, points: int
) -> tuple[float, float]:
    """(low, high) around the least Bayes risk of a private mechanism; high is the program's value.

    (epsilon, delta): for an ordered pair of neighbours sum_a (p(a|x) - e^eps p(a|x'))^+ <= delta,
    the positive parts as extra variables.
    """
    reach = float(np.abs(problem.targets).max())
    outputs, price = lattice(reach, points, problem.targets.shape[1])
    costs = problem.costs(outputs)
    scale = problem.prior_variance()
    states, size = costs.shape
    delta = privacy.parameters.get("delta", 0.0)
    pairs, eye = problem.neighbours, sparse.identity(size, format="csr")
    rows = np.arange(len(pairs))
    shape = (len(pairs), states)
    change = sparse.csr_matrix((np.ones(len(pairs)), (rows, pairs[:, 0])), shape)
    change = change - math.exp(privacy.epsilon) * sparse.csr_matrix(
        (np.ones(len(pairs)), (rows, pairs[:, 1])), shape
    )
    upper, limit = sparse.kron(change, eye), np.zeros(len(pairs) * size)
    objective = costs.ravel() / scale
    total = sparse.kron(sparse.identity(states), np.ones((1, size)))
    if delta:
        slack = sparse.identity(len(limit))
        mass = sparse.kron(sparse.identity(len(pairs)), np.ones((1, size)))
        upper = sparse.bmat([[upper, -slack], [None, mass]])
        limit = np.concatenate([limit, np.full(len(pairs), delta)])
        objective = np.concatenate([objective, np.zeros(slack.shape[0])])
        total = sparse.hstack([total, sparse.csr_matrix((states, slack.shape[0]))])
    found = optimize.linprog(
        objective,
        upper.tocsr(),
        limit,
        total.tocsr(),
        np.ones(states),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
    )
    if found.status != 0:
        raise RuntimeError(found.message)
    return scale * found.fun - price, scale * found.fun


def least_pure_risk(problem: FiniteProblem, epsilon: float) -> float:
    r"""The same for a pure budget and data sets in a path (counts of a binary value), exactly.

    For each output the column p(a | .) lies in the cone |log p(a|x) - log p(a|x+1)| <= epsilon,
    whose extreme rays take one of the two ends at every step. A ray's best output is the posterior
    mean that it leads to, so the program has one variable for each of the 2^n rays and no lattice.
    """
    first, second = problem.moments()
    mass = problem.joint.sum(axis=1)
    steps = np.array(list(product([-1.0, 1.0], repeat=len(mass) - 1))).reshape(-1, len(mass) - 1)
    levels = np.cumsum(np.hstack([np.zeros((len(steps), 1)), steps]), axis=1)
    rays = np.exp(epsilon * (levels - levels.max(axis=1, keepdims=True)))
    costs = rays @ second - np.sum((rays @ first) ** 2, axis=1) / (rays @ mass)
    scale = problem.prior_variance()
    found = optimize.linprog(costs / scale, A_eq=rays.T, b_eq=np.ones(len(mass)), method="highs")
    return float(scale * found.fun)
