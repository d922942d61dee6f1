"""Tiny problems: finitely many data sets, which of them are neighbours, and a prior."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray
from scipy import special

Array = NDArray[np.float64]
Pairs = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FiniteProblem:
    """Data sets, which of them are neighbours, and their joint law with the target.

    `joint[x, i]` is the probability of data set x together with `targets[i]`, a point of R^d. It
    may be zero: a mechanism must be private on data sets that never occur as well. Leaving such
    data sets out drops constraints, so a bound below the reduced optimum is below the full one.
    """

    joint: Array
    targets: Array
    neighbours: Pairs
    """Ordered pairs, both orders of each."""
    absolute: bool = False
    """If true the loss is |sum_j (estimate_j - target_j)|, else the squared distance."""

    @property
    def is_path(self) -> bool:
        """Whether the neighbours of a data set are the one before and the one after it."""
        steps = {(x, x + 1) for x in range(len(self.joint) - 1)}
        return set(self.neighbours) == steps | {(y, x) for x, y in steps}

    def costs(self, rays: Array) -> Array:
        """The least cost of each ray."""
        return self.posterior_costs(rays @ self.joint)

    def posterior_costs(self, seen: Array) -> Array:
        """At the posterior mean, or a median of the sums; `seen[o]` is a posterior times a mass."""
        if self.absolute:
            sums = self.targets.sum(axis=1)
            return np.min(seen @ np.abs(sums[:, None] - sums), axis=1)
        centre = self.joint.sum(axis=0) @ self.targets
        moved = self.targets - centre  # so that a prior far from 0 does not cancel
        first, second = seen @ moved, seen @ np.sum(moved**2, axis=1)
        mass = np.maximum(seen.sum(axis=1), 1e-300)  # first is zero where the mass is
        return np.asarray(second - np.sum(first**2, axis=1) / mass)

    def bayes_risk(self) -> float:
        """The least risk without privacy: every data set is released."""
        return float(self.posterior_costs(self.joint).sum())

    def constant_risk(self) -> float:
        """The least risk of a release that ignores the data."""
        return float(self.costs(np.ones((1, len(self.joint))))[0])


def counting_problem(n: int, prior: Array, chances: Array, targets: Array) -> FiniteProblem:
    r"""n independent records with finitely many values; `chances[i]` is their law given target i.

    The data set is reduced to the counts of the values. That loses nothing: for a private M on
    sequences, M of a random permutation is as private, has the same risk since the records are
    exchangeable, and depends on the counts only. Replacing a record moves one unit between two
    counts.
    """
    values = range(chances.shape[1])
    chosen = combinations_with_replacement(values, n)
    table = np.array([[row.count(value) for value in values] for row in chosen])
    ways = special.gammaln(n + 1) - special.gammaln(table + 1).sum(axis=1)
    logs = special.xlogy(table[:, None, :], chances[None, :, :]).sum(axis=2)
    joint = np.exp(ways[:, None] + logs) * prior
    moved = np.abs(table[:, None, :] - table[None, :, :]).sum(axis=2)
    return FiniteProblem(joint, targets.reshape(len(prior), -1), as_pairs(moved == 2))


def as_pairs(adjacent: NDArray[np.bool_]) -> Pairs:
    """The pairs of a symmetric table."""
    return tuple((int(x), int(y)) for x, y in np.argwhere(adjacent))


def risk_of_reports(laws: list[Array], prior: Array, targets: Array, absolute: bool) -> float:
    """The Bayes risk of independent reports; `laws[i][o, j]` is the chance of o given target j."""
    seen = prior[None, :]
    for law in laws:
        seen = (seen[:, None, :] * law[None, :, :]).reshape(-1, len(prior))
    return FiniteProblem(seen, targets, (), absolute).bayes_risk()
