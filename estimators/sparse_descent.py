"""A private sparse descent, given its noise, and the choice of its sparsity by cross-validation."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, equal_part, split_budget
from estimators.core.design import Design
from estimators.core.tuning import Method, choose_smallest_loss
from estimators.regression import projected
from estimators.sparse_mean import Indices, sparse_release
from minimax.core.calibration import Scales
from minimax.core.privacy import Pure, SpendablePrivacy, ZeroConcentrated


def half_step(design: Design, y: Array, beta: Array, weights: Array, step_size: float) -> Array:
    """beta - step_size sum_i weights_i (<x_i, beta> - y_i) x_i."""
    return beta - step_size * design.correlate(weights * (design.predict(beta) - y))


class Descent(NamedTuple):
    """Everything about a run but the data: functions of the parameters, n and the budget."""

    s: int
    steps: int
    step_size: float
    radius: float
    sensitivity: float
    """How far one record can move a coordinate of a half-step."""
    scales: Scales
    method: Method
    pure: bool
    start: Array

    def run(
        self, design: Design, y: Array, weights: Array, rng: np.random.Generator
    ) -> tuple[Indices, Array, tuple[LedgerEntry, ...]]:
        """The last step's coordinates, best first, their noisy values before projection, and the
        ledger of all steps. Entries of X and y must have been clipped."""
        beta = self.start
        for _ in range(self.steps):
            support, values, entries = sparse_release(
                half_step(design, y, beta, weights, self.step_size),
                self.s,
                self.sensitivity,
                self.scales,
                method=self.method,
                pure=self.pure,
                rng=rng,
            )
            beta = np.zeros(design.d)
            beta[support] = projected(values, self.radius)
        return support, values, tuple(replace(e, count=e.count * self.steps) for e in entries)


def choose_regression_sparsity(
    design: Design,
    y: Array,
    grid: tuple[int, ...],
    *,
    plan: Callable[[int, SpendablePrivacy], Descent],
    budget: Pure | ZeroConcentrated,
    n_folds: int,
    smallest_loss: float,
    rng: np.random.Generator,
) -> tuple[int, list[LedgerEntry]]:
    """A sparsity from the increasing `grid` by truncated cross-validation (CWZ19 §5.2).

    **Algorithm.** Record i belongs to fold i mod K. For each fold, one descent with s = max(grid)
    on the other records (`plan` of their number and a budget) ends in a list of coordinates, best
    first, with noisy values v_j; its first s entries are the candidate beta_s. A held-out record's
    loss is (y_i - <x_i, beta_s>)^2 less the same for the smallest candidate;
    `choose_smallest_loss` does the rest.

    **Privacy.** Let the neighbours differ in record i. Folds depend on the position alone, so i is
    held out of exactly one fold, whose descent never sees it: K-1 descents are charged, each
    calibrated to the smallest complement. Given the lists, the losses of every other record are
    fixed numbers and record i's are a function of (x_i, y_i) alone. Lists, truncation and choice
    compose adaptively; 80, 5 and 15 per cent of the budget go to them, whatever the data.

    **Departures from the paper.** It leaves the cost of the training fits unstated and truncates
    errors per fold; here everything released is charged, and truncation is per record, at no less
    than `smallest_loss`. One list serves all sizes, so the grid's length costs nothing. For a
    given budget the lists have K/sqrt(K-1) times (5 folds: 2.5) the noise of one fit with
    s = max(grid). Noise on the values makes large s look worse than they are, and noise in the
    selection small s, so that the choice is only as good as the lists are.
    """
    training, search, choice = split_budget(budget, 0.80, 0.05, 0.15)
    n = design.n
    each = equal_part(training, n_folds - 1)
    descent = plan(n - math.ceil(n / n_folds), each)
    columns = np.array(grid) - 1
    losses = np.empty((n, len(grid)))
    entries: tuple[LedgerEntry, ...] = ()
    for fold in range(n_folds):
        weights = np.ones(n)
        weights[fold::n_folds] = 0.0
        support, values, entries = descent.run(design, y, weights / weights.sum(), rng)
        held = design.X[fold::n_folds][:, support]
        held = held.toarray() if sparse.issparse(held) else held
        fits = np.cumsum(held * values, axis=1)[:, columns]
        losses[fold::n_folds] = fits * (fits - 2 * y[fold::n_folds, None])
    ledger = [
        replace(e, count=e.count * (n_folds - 1), about=f"cross-validation: {e.about}")
        for e in entries
    ]
    chosen, rest = choose_smallest_loss(
        losses[:, 1:] - losses[:, :1], start=smallest_loss, search=search, choice=choice, rng=rng
    )
    return grid[chosen], [*ledger, *rest]
