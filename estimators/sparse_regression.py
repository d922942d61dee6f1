"""Private sparse linear regression: gradient steps, each followed by a private hard threshold."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.accounting import LedgerEntry
from estimators.core.base import LinearPredictor, Seed, split_budget
from estimators.core.checks import (
    check_between,
    check_no_start,
    check_problem,
    check_whole,
    checked_start,
    safe_range,
)
from estimators.core.schedules import (
    Options,
    Schedule,
    check_planned,
    cwz19_theorem_4_4,
    follows_theorem,
    run_with,
)
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import clipped_design
from estimators.core.truncation import SEARCHED, Truncation, theoretical_truncation
from estimators.core.tuning import (
    Method,
    SparseCalibration,
    SparseEstimator,
    tuning_grid,
)
from estimators.regression import projected
from estimators.sparse_descent import Descent, choose_regression_sparsity
from minimax.core.bound import Point, UpperBound
from minimax.core.calibration import (
    Allowance,
    Scales,
    budget_of,
    gradient_bound,
    gumbel_range_rms,
    laplace_maximum_rms,
    step_scales,
)
from minimax.core.privacy import (
    Approximate,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
    at_point,
)
from minimax.core.symbolic import Number
from minimax.problems.sparse_regression.private_thresholding import private_thresholding_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

SAFE_RANGE = safe_range(15)
"""Where bounds and step sizes must lie, so that products of a few of them can be squared."""
MOST_STEPS = 100


class PrivateHardThresholding(LinearPredictor, SparseEstimator):
    """Gradient descent for sparse least squares, each iterate released by private thresholding.

    **Algorithm** (CWZ19: Algorithm 4.2). Entries of X are clipped to [-b, b], b = `entry_bound`,
    and y to [-R, R]. From `start`, `steps` times: a gradient step beta - (eta/n) sum_i
    (<x_i, beta> - y_i) x_i; s coordinates of large magnitude are chosen, by one pass of Gumbel
    noise (``method="gumbel"``) or s rounds of Laplace noise (``"peeling"``, CWZ19: Algorithm 3.2),
    and released with noise; the others become 0; the result is projected to the l2 ball of
    `radius`. Dense X is copied once if an entry must be clipped, and CSR stays sparse.

    **Privacy.** An iterate has at most s entries and norm at most `radius`, so |<x_i, beta>| <=
    sqrt(s) b radius and one record moves every coordinate of the half-step by at most
    2 eta (R + sqrt(s) b radius) b/n, whatever the data; with y in [low, high] R is
    max(-low, high), as the sign of x_j is free. Each step is a sparse release at that
    sensitivity with 1/steps of the budget (`sparse_scales`); steps compose adaptively. Step size
    and number of steps never depend on the data. With ``s="cv"`` the ledger depends on the s
    chosen but its zCDP total does not, so `privacy_` of an (epsilon, delta) budget is then read
    from the zCDP total alone; see `choose_regression_sparsity`.

    **Risk.** `risk_bound`. CWZ19: Theorem 4.4 has the rate
    sigma^2 [s log d/n + (s log d)^2 log(1/delta) log^3 n/(n eps)^2] in the norm of Sigma = E x x',
    for s at least a constant times L^4 s*.

    **Source.** CWZ19: Algorithms 3.2 and 4.2, Lemma 4.4, §5.1, §5.2.

    **Departures from the paper.** (D1') and (D2') for all index sets contradict each other; here
    eigenvalues of Sigma on a few s coordinates are to lie in [b^2/L, L b^2], which with
    b = 1/sqrt(s) is the class they mean, and clipping makes (D1') a fact. The budget is divided
    over the steps in zCDP (by addition under a pure budget), and the sensitivity is half of their
    B = 4 (R + c_0 c_x) c_x/sqrt(s), c_x = sqrt(s) b. ``calibration="paper"`` has their B and gives
    each step (epsilon/T, delta/T) as printed; `privacy_` reports what that really spends. R =
    sigma sqrt(2 log n) forgets <x, beta> and cuts off some y with a chance of about 1/6; "theory"
    here is sqrt(s) b radius + 4 sigma sqrt(log n). Their step s/(6L) and T = C L^2 log(8 c_0^2 L n)
    serve the proof (``schedule="theorem"``); for the choices made here see `step_size`, `steps`.

    Parameters
    ----------
    privacy : Pure, Approximate or ZeroConcentrated
    s : int or "cv"
        Number of non-zero coefficients, or private cross-validation over `s_grid`.
    entry_bound : float or None
        b; None is 1/sqrt(s), with ``s="cv"`` 1/sqrt(min(s_grid)). Give it where s exceeds the
        sparsity for which the rows were scaled.
    R : float, "theory", "quantile" or "percentiles"
        Truncation level of y: given; ``sqrt(s) b radius + 4 sigma sqrt(log n)`` (with the largest
        s of the grid); a private quantile of |y|, which spends `range_share` of the budget; or
        two, the upper and the lower one of y (`private_window`), which share that.
    radius, sigma : float
        l2 norm of the coefficients, and scale of y - <x, beta> (used by "theory" only).
    L : float, at least 1
        How far eigenvalues may be from b^2, used by "theory" only.
    step_size : float or "theory"
        eta; "theory" is 2/(b^2 (L + 1/L)), best for eigenvalues in [b^2/L, L b^2], which shrinks
        the error by (L^2 - 1)/(L^2 + 1) a step.
    steps : int or "theory"
        "theory" weighs what is left of the start against the noise, which grows with every step
        that shares the budget: it minimises (q^T radius)^2 + s (tau_T^2 + 4 w_T^2) over
        T <= 100. Here q = min(.9, max_lambda |1 - eta lambda| + 2 sqrt(s log(2d)/n)), the second
        term for the sampling error of X'X/n; tau_T and w_T are the root mean squares of the
        noise on a value and of the largest selection noise. For L = 1 and a usual budget 1 to 4.
    method : {"gumbel", "peeling"}
    calibration : {"zcdp", "paper"}
        "paper" needs ``method="peeling"`` and an Approximate budget.
    selection_share : float
        Share of the release's budget that selection gets (``method="gumbel"``).
    s_grid : sequence of at least two int, n_folds : int, tuning_share : float
        Used by ``s="cv"`` only.
    quantile, range_share : float
        Used where R is found: the order of the quantile (of low, 1 less this), and what it spends.
    schedule : {"planned", "theorem"}
        "theorem" sets R, `step_size`, `steps`, `method` and `calibration` to those of CWZ19:
        Theorem 4.4: `schedules.cwz19_theorem_4_4`. It needs s given and an Approximate budget.
    start : array of shape (d,) or None
        beta_0, public, in the ball and with at most s (the least of `s_grid`) non-zeros; None is 0.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, support_ (sorted), n_iter_, s_, R_ (for "percentiles" the pair low, high), entry_bound_,
    step_size_, selection_scale_, noise_scale_, privacy_, ledger_, n_features_in_
    """

    releases = (
        "coef_",
        "support_",
        "s_",
        "R_",
        "selection_scale_",
        "noise_scale_",
        "ledger_",
        "privacy_",
    )
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        s: int | Literal["cv"] = 1,
        entry_bound: float | None = None,
        R: Truncation = "theory",
        radius: float = 1.0,
        sigma: float = 1.0,
        L: float = 1.0,
        step_size: float | Literal["theory"] = "theory",
        steps: int | Literal["theory"] = "theory",
        method: Method = "gumbel",
        calibration: SparseCalibration = "zcdp",
        selection_share: float = 0.5,
        s_grid: Any = None,
        n_folds: int = 5,
        tuning_share: float = 0.5,
        quantile: float = 0.975,
        range_share: float = 0.1,
        schedule: Schedule = "planned",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.s = s
        self.entry_bound, self.R = entry_bound, R
        self.radius, self.sigma, self.L = radius, sigma, L
        self.step_size, self.steps = step_size, steps
        self.method, self.calibration = method, calibration
        self.selection_share = selection_share
        self.s_grid, self.n_folds, self.tuning_share = s_grid, n_folds, tuning_share
        self.quantile, self.range_share = quantile, range_share
        self.schedule, self.start, self.random_state = schedule, start, random_state

    def fit(self, X: Any, y: ArrayLike) -> PrivateHardThresholding:
        """Release private sparse coefficients of y on the columns of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, d = X.shape
        budget = self._check_options(n, d)
        if follows_theorem(self.schedule):
            return run_with(self, self._theorem(n), lambda copy: copy.fit(X, y))
        rng = self._rng()
        ledger: list[LedgerEntry] = []
        search, budget = self._split_for_range(budget)
        window = self._window(y, search, rng, ledger).within(SAFE_RANGE[1])
        y, level = window.clipped(y), window.largest
        design = clipped_design(X, self._entry_bound)
        s = self._grid[-1]
        if self.s == "cv":
            tuning, budget = split_budget(budget, self.tuning_share, 1 - self.tuning_share)
            s, entries = choose_regression_sparsity(
                design,
                y,
                self._grid,
                plan=lambda m, share: self._descent(m, d, self._grid[-1], level, share),
                budget=tuning if isinstance(tuning, Pure) else tuning.to_zcdp(),
                n_folds=self.n_folds,
                smallest_loss=(self._entry_bound * self.radius) ** 2 / self._grid[-1],
                rng=rng,
            )
            ledger += entries
        descent = self._descent(n, d, s, level, budget)
        support, values, released = descent.run(design, y, np.full(n, 1 / n), rng)
        ledger += released
        self._account(ledger)
        self.coef_ = np.zeros(d)
        self.coef_[support] = projected(values, self.radius)
        self.support_ = np.sort(support)
        self.n_iter_, self.s_, self.R_ = descent.steps, s, self._reported(window)
        self.entry_bound_, self.step_size_ = self._entry_bound, descent.step_size
        self.selection_scale_ = descent.scales.selection
        self.noise_scale_ = descent.scales.value
        return self

    def risk_bound(self, problem: SparseRegressionProblem) -> UpperBound:
        """The proven upper bound on the risk, CWZ19: Theorem 4.4: see
        `private_thresholding_upper`."""
        check_problem(problem, SparseRegressionProblem)
        budget = self._check_options(problem.n, problem.d)
        check_no_start(self.start)
        check_planned(self.schedule)
        if self._searches:
            raise ValueError("risk_bound covers R given or 'theory'")
        if isinstance(self.s, str):
            raise ValueError("risk_bound covers a given s")
        asked, s = self._budget(Pure, Approximate, ZeroConcentrated), self.s

        def spendable(at: Point) -> SpendablePrivacy:
            spent = at_point(type(asked), at)
            return spent if isinstance(budget, (Pure, Approximate)) else spent.to_zcdp()

        def scales(at: Point) -> Scales:
            level = self._fixed_level(at["n"])
            return self._scales(at["n"], s, level, Allowance(type(asked), at), at["steps"])

        return private_thresholding_upper(
            problem,
            s=s,
            entry_bound=self._entry_bound,
            radius=float(self.radius),
            R=lambda at: self._fixed_level(at["n"]),
            step_size=self._step_size,
            steps=lambda at: self._steps(at["n"], at["d"], spendable(at)),
            method=self.method,
            scales=scales,
            privacy=asked,
            options={"selection_share": self.selection_share},
        )

    def _theorem(self, n: int) -> Options:
        if self.s == "cv":
            raise ValueError("schedule='theorem' needs s given, not 'cv'")
        scales = {"radius": float(self.radius), "sigma": float(self.sigma), "L": float(self.L)}
        return cwz19_theorem_4_4(n, entry_bound=self._entry_bound, **scales)

    @property
    def _grid(self) -> tuple[int, ...]:
        """The sparsities that may be used, increasing."""
        return tuning_grid(self.s_grid if self.s == "cv" else (self.s,))

    @property
    def _entry_bound(self) -> float:
        given = self.entry_bound
        return 1 / math.sqrt(self._grid[0]) if given is None else float(given)

    @property
    def _step_size(self) -> float:
        if isinstance(self.step_size, str):
            return 2 / (self._entry_bound**2 * (self.L + 1 / self.L))
        return float(self.step_size)

    def _fixed_level(self, n: Number) -> Number:
        """R where it does not depend on the data: |<x, beta>| <= sqrt(s) b radius."""
        if isinstance(self.R, str):
            reach = math.sqrt(self._grid[-1]) * self._entry_bound * self.radius
            return theoretical_truncation(n, self.sigma, reach)
        return float(self.R)

    def _scales(
        self, n: Number, s: int, level: Number, budget: SpendablePrivacy | Allowance, steps: int
    ) -> Scales:
        """The noise of one of `steps` steps. The printed calibration divides epsilon and delta,
        and takes records for twice as large as they can be; a part of a budget that was divided
        in rho, as for cross-validation, goes on in rho."""
        whole = budget_of(budget)
        paper = self.calibration == "paper" and whole.model is Approximate
        return step_scales(
            n,
            s,
            self._entry_bound,
            self.radius,
            level,
            self._step_size * (2 if paper else 1),
            whole.printed_share(steps) if paper else whole.share(steps),
            method=self.method,
            calibration="paper" if paper else "zcdp",
            selection_share=self.selection_share,
        )

    def _steps(self, n: int, d: int, budget: SpendablePrivacy) -> int:
        """The number of steps. Public: what was found or chosen privately plays no part in it."""
        if not isinstance(self.steps, str):
            return int(self.steps)
        s, level = self._grid[-1], self._fixed_level(n)
        size = self._step_size * self._entry_bound**2
        shrinking = max(abs(1 - size / self.L), abs(1 - size * self.L))
        shrinking = min(shrinking + 2 * math.sqrt(s * math.log(2 * d) / n), 0.9)
        extreme = (laplace_maximum_rms if self.method == "peeling" else gumbel_range_rms)(d)

        found, least = 1, math.inf
        for steps in range(1, MOST_STEPS + 1):
            scales = self._scales(n, s, level, budget, steps)
            noise = s * (scales.value_variance + 4 * (scales.selection * extreme) ** 2)
            if noise >= least:  # it grows with the steps: none that come are better
                break
            error = (shrinking**steps * self.radius) ** 2 + noise
            found, least = (steps, error) if error < least else (found, least)
        return found

    def _descent(self, n: int, d: int, s: int, level: float, budget: SpendablePrivacy) -> Descent:
        steps = self._steps(n, d, budget)
        largest = gradient_bound(s, self._entry_bound, self.radius, level)
        return Descent(
            s=s,
            steps=steps,
            step_size=self._step_size,
            radius=float(self.radius),
            sensitivity=2 * self._step_size * largest / n,
            scales=self._scales(n, s, level, budget, steps),
            method=self.method,
            pure=isinstance(budget, Pure),
            start=checked_start(self.start, d, radius=self.radius, s=self._grid[0]),
        )

    def _check_options(self, n: int, d: int) -> SpendablePrivacy:
        """Everything that can be wrong, checked before any noise is drawn; the budget to spend."""
        self._check_truncation("theory", *SEARCHED)
        check_between(*SAFE_RANGE, radius=self.radius, sigma=self.sigma, L=self.L)
        if self.L < 1:
            raise ValueError(f"L must be at least 1, got {self.L!r}")
        if not isinstance(self.R, str):
            check_between(*SAFE_RANGE, R=self.R)
        if self.entry_bound is not None:
            check_between(*SAFE_RANGE, entry_bound=self.entry_bound)
        if not isinstance(self.step_size, str):
            check_between(*SAFE_RANGE, step_size=self.step_size)
        elif self.step_size != "theory":
            raise ValueError(f"step_size must be a number or 'theory', got {self.step_size!r}")
        if not isinstance(self.steps, str):
            check_whole(steps=self.steps)
        elif self.steps != "theory":
            raise ValueError(f"steps must be an integer or 'theory', got {self.steps!r}")
        budget = self._check_selection(n, d)
        checked_start(self.start, d, radius=self.radius, s=self._grid[0])
        return budget
