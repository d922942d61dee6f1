"""A sparsity given or found by private cross-validation: what the sparse estimators share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import numpy as np

from estimators.core.accounting import LedgerEntry, compose
from estimators.core.base import Array
from estimators.core.checks import check_between, check_sparsity, check_whole
from estimators.core.mechanisms import (
    above_threshold_quantile,
    exponential_mechanism,
)
from estimators.core.truncation import TruncatingEstimator, pure_share
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy, ZeroConcentrated

Method = Literal["gumbel", "peeling"]
SparseCalibration = Literal["zcdp", "paper"]


def tuning_grid(sizes: Iterable[Any]) -> tuple[int, ...]:
    """The sizes as increasing integers, each once."""
    return tuple(sorted({int(s) for s in sizes}))


def choose_smallest_loss(
    losses: Array,
    *,
    start: float,
    search: SpendablePrivacy,
    choice: SpendablePrivacy,
    rng: np.random.Generator,
    public: Array | float = 0.0,
) -> tuple[int, list[LedgerEntry]]:
    """A candidate with about the smallest total loss: column k of `losses` is that of candidate
    k + 1 less that of candidate 0, and each record's row is a function of that record alone.

    Losses are truncated to [-T, T], T a private 95 per cent quantile of their magnitudes, but at
    least `start`: in a sparse design most losses are 0. Replacing one record moves one row, hence
    the share of losses below a level by at most 1/n and, given T, each sum by at most 2T, as the
    two mechanisms ask. `public` numbers may be added to the sums.
    """
    level, found = above_threshold_quantile(
        losses,
        0.95,
        start=start,
        growth=1.2,
        epsilon=pure_share(search),
        rng=rng,
        about="cross-validation: truncation of the losses",
    )
    sums = np.clip(losses, -level, level).sum(axis=0) + public
    # An exponential mechanism of epsilon is epsilon^2/8-zCDP, four times better than a pure one.
    chosen, entry = exponential_mechanism(
        np.concatenate([[0.0], -sums]),
        sensitivity=2 * level,
        epsilon=pure_share(choice) * (1 if isinstance(choice, Pure) else 2),
        rng=rng,
        about="cross-validation: choice of s",
    )
    return chosen, [found, entry]


class SparseEstimator(TruncatingEstimator):
    """Options and accounting of the estimators that select s coordinates privately."""

    s: int | Literal["cv"]
    method: Method
    calibration: SparseCalibration
    selection_share: float
    tuning_share: float
    s_grid: Any
    n_folds: int

    def _check_selection(self, n: int, d: int) -> SpendablePrivacy:
        """The options of selection and tuning, checked; the budget to spend."""
        if self.method not in ("gumbel", "peeling"):
            raise ValueError(f"method must be 'gumbel' or 'peeling', got {self.method!r}")
        if self.calibration not in ("zcdp", "paper"):
            raise ValueError(f"calibration must be 'zcdp' or 'paper', got {self.calibration!r}")
        check_between(0, 1, selection_share=self.selection_share, tuning_share=self.tuning_share)
        if isinstance(self.s, str):
            self._check_tuning(n, d)
        else:
            check_sparsity(self.s, d)
        budget = self._budget(Pure, Approximate, ZeroConcentrated)
        if self.calibration == "paper":
            if self.method != "peeling" or not isinstance(budget, Approximate):
                raise ValueError(
                    "calibration='paper' needs method='peeling' and an Approximate budget,"
                    f" got method={self.method!r} and {budget}"
                )
            return budget
        return budget if isinstance(budget, Pure) else budget.to_zcdp()

    def _check_tuning(self, n: int, d: int) -> None:
        if self.s != "cv":
            raise ValueError(f"s must be an integer or 'cv', got {self.s!r}")
        if not isinstance(self.s_grid, (list, tuple, range, np.ndarray)):
            raise ValueError(f"s='cv' needs s_grid, a sequence of integers; got {self.s_grid!r}")
        for size in self.s_grid:
            check_sparsity(size, d, "s_grid")
        if len(set(self.s_grid)) < 2:
            raise ValueError(f"s_grid must hold at least two sizes, got {self.s_grid!r}")
        check_whole(2, n_folds=self.n_folds)
        if self.n_folds > n:
            raise ValueError(f"n_folds must lie between 2 and n = {n}, got {self.n_folds}")

    def _account(self, ledger: list[LedgerEntry]) -> None:
        """As for every estimator, unless s was chosen from the data.

        The ledger of the last step then depends on the s chosen, but its zCDP total does not, so
        `privacy_` of an (epsilon, delta) budget is read from that total alone.
        """
        if self.s == "cv" and isinstance(self._asked, Approximate):
            rho = compose(tuple(ledger), ZeroConcentrated).to_zcdp()
            reported = rho.to_approximate(self._asked.delta).assuming(*self._assumptions)
            self._enter(tuple(ledger))
            self.ledger_, self.privacy_ = tuple(ledger), reported
        else:
            super()._account(ledger)
