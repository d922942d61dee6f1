"""Private linear regression in low dimension: noisy gradient descent on clipped data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from estimators.core.accounting import LedgerEntry
from estimators.core.base import Array, LinearPredictor, Seed
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_no_start,
    check_positive,
    check_problem,
    check_whole,
    checked_start,
    safe_range,
)
from estimators.core.error_laws import Descent, iterate_error
from estimators.core.intervals import ErrorLaw, NoLaw, WithIntervals
from estimators.core.mechanisms import gaussian
from estimators.core.schedules import (
    Options,
    Schedule,
    check_planned,
    cwz19_theorem_4_2,
    follows_theorem,
    run_with,
)
from estimators.core.spending import GivenPrivacy
from estimators.core.summaries import as_design
from estimators.core.truncation import (
    SEARCHED,
    TruncatingEstimator,
    Truncation,
    theoretical_truncation,
)
from minimax.core.bound import Point, UpperBound
from minimax.core.calibration import (
    Allowance,
    Composition,
    gradient_sensitivity,
    repeated_noise,
)
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
    at_point,
)
from minimax.core.symbolic import Number
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.regression.upper import noisy_gradient_upper

GRAM_FEATURES, GRAM_STEPS = 200, 6
"""Up to so many features and from so many steps on the Gram matrix is formed: it costs about as
much as three to seven gradient steps."""
MOST_STEPS = 1000
Gradient = Callable[[Array], Array]


def expected_spectrum(n: int, d: int, L: float, row_bound: float) -> tuple[float, float]:
    """[(1-r)^2/(L d), (1+r)^2 L/d] row_bound^2, r = sqrt(d/n), with 0 below if d >= n.

    The eigenvalues of the covariance lie in [1/(L d), L/d] row_bound^2; those of a sample of n
    spread by the factors (1 -+ r)^2 in the limit of a design with independent entries.
    """
    r, unit = math.sqrt(d / n), row_bound**2 / d
    return max(1 - r, 0.0) ** 2 / L * unit, (1 + r) ** 2 * L * unit


def best_schedule(
    spectrum: tuple[float, float],
    radius: float,
    d: int,
    noise: Callable[[int], float],
    *,
    step_size: float | None = None,
    steps: int | None = None,
) -> tuple[float, int]:
    """eta and T, where not given, for small q^{2T} radius^2 + eta^2 d noise(T)^2 sum_k q^{2k}.

    That bounds the squared distance to least squares after T steps if the sample covariance has
    this spectrum: q = max |1 - eta eigenvalue| is the contraction of a step, the first term what is
    left of a start at most `radius` away, the sum over k < T the noise, which grows with T because
    the budget is shared. eta is at most 2/(least + largest), which contracts most; a shorter step
    lets less noise in. T is the first that its successor does not improve. All of it is public,
    given R.
    """
    least, largest = spectrum
    sizes = np.geomspace(1, 1e-3, 61) * 2 / (least + largest)
    if step_size is not None:
        sizes = np.array([step_size])
    q = np.minimum(np.maximum(abs(1 - sizes * least), abs(1 - sizes * largest)), 1.0) ** 2
    best, shortest = (float(sizes[0]), steps or 1), math.inf
    for T in range(1, MOST_STEPS + 1) if steps is None else (steps,):
        kept = np.where(q < 1, (1 - q**T) / np.maximum(1 - q, 1e-300), T)
        length = np.minimum(sizes * (noise(T) / radius), 1e120)  # its square is finite
        distance = q**T + d * kept * length**2
        if not distance.min() < shortest:
            break
        shortest, best = distance.min(), (float(sizes[distance.argmin()]), T)
    return best


def clipped_gradient(X: Any, y: Array, R: float, row_bound: float, *, gram: bool) -> Gradient:
    """b -> (1/n) sum_i (<x_i, b> - y_i) x_i, rows shortened to `row_bound` and y clipped to R.

    With `gram` the data enter once, through X'X and X'y; otherwise each call costs two products
    with X. X is not copied: clipping a row is a weight per record.
    """
    design = as_design(X)
    weights = design.shortening(row_bound)
    clipped, n = np.clip(y, -R, R), design.n
    if gram:
        quadratic, linear = design.moments(weights, clipped)
        return lambda coef: (quadratic @ coef - linear) / n
    return lambda coef: design.correlate(weights * (weights * design.predict(coef) - clipped)) / n


def projected(coef: Array, radius: float) -> Array:
    """The nearest point of the l2 ball."""
    unit = max(float(np.abs(coef).max()), radius)  # in this unit squares cannot overflow
    norm = unit * float(np.linalg.norm(coef / unit))
    return coef * (radius / norm) if norm > radius else coef


class _Plan(NamedTuple):
    """What a fit will do, known before it does it."""

    sensitivity: float
    step_size: float
    steps: int
    noise: float


class NoisyGradientRegression(WithIntervals, LinearPredictor, TruncatingEstimator):
    """Gradient descent on least squares with clipped records and noise in every step.

    **Algorithm** (CWZ19: Algorithm 4.1). Rows are shortened to l2 norm `row_bound` and responses
    clipped to [-R, R]. From b = `start`, T times: b <- b - eta [(1/n) sum_i (<x_i, b> - y_i) x_i +
    noise], projected on the l2 ball of `radius`. The last b is released. There is no intercept.

    **Privacy.** Every b is in the ball, so replacing a record moves each averaged gradient by at
    most `gradient_sensitivity`, whatever the data; with y in [low, high] at R = max(-low, high), as
    its proof lets rows have either sign. T Gaussian releases compose, to the same total
    for every T; the step and the projection come after.

    **Risk.** `risk_bound`; CWZ19: Theorem 4.2 has the rate
    sigma^2 [d/n + d^2 log(1/delta) log^3(n)/(n eps)^2] in the norm of the covariance.

    **Intervals.** `confidence_interval(level)` and `stderr_`: `iterate_error`. They are about
    `coef_` over its shrinkage, and take for granted what L = 1 says, E xx' = (row_bound^2/d) I, a
    deviation `sigma` of the responses' noise, and that neither R nor the ball of `radius` is met.
    There are none unless L = 1 is given, as the rows' second moment is not known, where R is found,
    for schedule="theorem", and where `coef_` lies on the border of the ball.

    **Source.** CWZ19: Algorithm 4.1, Lemma 4.2, Theorem 4.2, §5.1. The law of noisy iterates is
    also that of Brown, Dvijotham, Evans, Liu, Smith and Thakurta (2024), "Private gradient descent
    for linear regression", ICML, whose intervals are about least squares on the records; these are
    about the coefficients of the law that records come from.

    **Departures from the paper.** Rows are clipped, so that privacy does not rest on (D1). The
    noise has the exact sensitivity and the T releases are composed as one Gaussian mechanism;
    ``composition="basic"`` is the paper's noise to the letter, B = 4 (R + c0 c_x) c_x with
    (eps/T, delta/T) each, and `privacy_` then reports the smaller epsilon it really spends.
    R = sigma sqrt(2 log n) ignores <x, beta> and clips some response with probability near 0.16 at
    n = 10^4; here R = c0 c_x + 4 sigma sqrt(log n). eta = d/(2L) and T = 8 L^2 log(c0^2 n) make the
    budget pay for far more steps than it needs (74 at L = 1, n = 10^4, where one or two do);
    ``schedule="theorem"`` has them. Eigenvalues of the covariance are relative to `row_bound`^2.

    Parameters
    ----------
    privacy : Approximate, ZeroConcentrated or Gaussian, default Approximate(1, 1e-6)
    R : float, "theory", "quantile" or "percentiles"
        Truncation of the responses: given; ``radius row_bound + 4 sigma sqrt(log n)``; a private
        quantile of |y|, which spends `range_share` of the budget; or two, the upper and the lower
        one of y (`private_window`), which share that.
    row_bound, radius : float
        c_x and c0: bounds on the norm of the rows and on that of the coefficients.
    L : None or float, at least 1
        The eigenvalues of E xx' are expected in [1/(L d), L/d] row_bound^2; used by "theory" and by
        intervals only. Too small a value can make the steps too long; accuracy then suffers,
        privacy does not. None: nothing is known; steps are planned as for L = 1.
    step_size : float or "theory"
        eta; the default balances contraction against noise, see `best_schedule`.
    steps : int or "theory"
        T; the default balances what is left of the start against noise, see `best_schedule`.
    composition : {"zcdp", "basic"}
        "basic" needs an Approximate budget, and `steps` given where R is found.
    sigma : float
        Standard deviation of the responses' noise, used by ``R="theory"`` and by intervals.
    quantile, range_share : float
        Used where R is found: the order of the quantile (of low, 1 less this), and what it spends.
    schedule : {"planned", "theorem"}
        "theorem" sets R, `step_size`, `steps` and `composition` to those of CWZ19: Theorem 4.2:
        `schedules.cwz19_theorem_4_2`. It needs an Approximate budget.
    start : array of shape (d,) or None
        beta_0, a public point in the ball; None is 0. It must not be read off the data. The plan
        takes it to be at most `radius` away from the truth, as 0 is.
    random_state : None, int, Generator or RandomState

    Attributes
    ----------
    coef_, stderr_, n_iter_ (T), step_size_, R_ (for "percentiles" the pair low, high), noise_scale_
    (of each averaged gradient), error_law_ (what intervals are made of), privacy_, ledger_,
    n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> from minimax import ZeroConcentrated
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], (50_000, 4))
    >>> y = X @ [0.6, 0, 0, -0.6] + 0.1 * rng.standard_normal(50_000)
    >>> model = NoisyGradientRegression(ZeroConcentrated(0.1), sigma=0.1, random_state=0).fit(X, y)
    >>> bool(np.abs(model.coef_ - [0.6, 0, 0, -0.6]).max() < 0.02), str(model.privacy_)
    (True, 'zCDP(rho=0.1)')
    """

    releases = (
        "coef_",
        "R_",
        "n_iter_",
        "step_size_",
        "noise_scale_",
        "error_law_",
        "ledger_",
        "privacy_",
    )
    _sparse_rows = True

    def __init__(
        self,
        privacy: GivenPrivacy = None,
        R: Truncation = "theory",
        row_bound: float = 1.0,
        radius: float = 1.0,
        L: float | None = None,
        step_size: float | Literal["theory"] = "theory",
        steps: int | Literal["theory"] = "theory",
        composition: Composition = "zcdp",
        sigma: float = 1.0,
        quantile: float = 0.975,
        range_share: float = 0.1,
        schedule: Schedule = "planned",
        start: ArrayLike | None = None,
        random_state: Seed = None,
    ) -> None:
        self.privacy = privacy
        self.R = R
        self.row_bound, self.radius, self.L = row_bound, radius, L
        self.step_size, self.steps = step_size, steps
        self.composition = composition
        self.sigma = sigma
        self.quantile, self.range_share = quantile, range_share
        self.schedule, self.start, self.random_state = schedule, start, random_state

    def fit(self, X: Any, y: ArrayLike) -> NoisyGradientRegression:
        """Release private coefficients of y on the columns of X."""
        X, y = self._validated_pair(X, y, sparse_rows=True)
        n, d = X.shape
        search, budget = self._split_for_range(self._check_options())
        if follows_theorem(self.schedule):
            run_with(self, self._theorem(n, d), lambda copy: copy.fit(X, y))
            self.error_law_ = NoLaw("schedule='theorem' clips responses that rows explain")
            return self
        coef = start = checked_start(self.start, d, radius=float(self.radius))
        rng = self._rng()
        ledger: list[LedgerEntry] = []
        window = self._window(y, search, rng, ledger).within(SAFE_RANGE[1])
        y, level = window.clipped(y), window.largest
        plan = self._plan(n, d, level, budget)
        gram = d <= GRAM_FEATURES and plan.steps >= GRAM_STEPS
        gradient = clipped_gradient(X, y, level, float(self.row_bound), gram=gram)
        for _ in range(plan.steps):
            noisy, entry = gaussian(
                gradient(coef),
                l2_sensitivity=plan.sensitivity,
                scale=plan.noise,
                rng=rng,
                about="averaged gradient",
            )
            coef = projected(coef - plan.step_size * noisy, float(self.radius))
        ledger.append(replace(entry, count=plan.steps))
        self._account(ledger)
        self.coef_, self.R_ = coef, self._reported(window)
        self.n_iter_, self.step_size_, self.noise_scale_ = plan.steps, plan.step_size, plan.noise
        self.error_law_ = self._error_law(n, plan, start)
        return self

    def _can_draw(self, kind: type[SpendablePrivacy]) -> bool:
        """The paper's composition is for (epsilon, delta)."""
        printed = self.composition == "basic" or self.schedule == "theorem"
        return (not printed or kind is Approximate) and super()._can_draw(kind)

    def risk_bound(self, problem: RegressionProblem) -> UpperBound:
        """The proven upper bound on the risk, CWZ19: Theorem 4.2: see `noisy_gradient_upper`."""
        check_problem(problem, RegressionProblem)
        asked = self._check_options()
        check_no_start(self.start)
        check_planned(self.schedule)
        if self._searches:
            raise ValueError("risk_bound covers R given or 'theory'")

        def level(at: Point) -> Number:
            return self._fixed_level(at["n"])

        def plan(at: Point) -> _Plan:
            return self._plan(at["n"], at["d"], level(at), at_point(type(asked), at))

        def noise(at: Point) -> Number:
            _, calibrated = self._sensitivity(at["n"], level(at))
            budget = Allowance(type(asked), at)
            return repeated_noise(budget, calibrated, at["steps"], self.composition)

        return noisy_gradient_upper(
            problem,
            row_bound=float(self.row_bound),
            radius=float(self.radius),
            R=level,
            step_size=lambda at: plan(at).step_size,
            steps=lambda at: plan(at).steps,
            noise=noise,
            privacy=asked,
        )

    def _theorem(self, n: int, d: int) -> Options:
        c, radius, sigma = float(self.row_bound), float(self.radius), float(self.sigma)
        return cwz19_theorem_4_2(n, d, L=self._spread, radius=radius, row_bound=c, sigma=sigma)

    def _error_law(self, n: int, plan: _Plan, start: Array) -> ErrorLaw | NoLaw:
        if self._searches:
            return NoLaw(f"R={self.R!r} moves coefficients by an unknown amount; give R or sigma")
        if self.L != 1:
            return NoLaw(
                "the rows' second moment is not known; L=1 says that it is row_bound^2/d I"
            )
        known = float(self.row_bound), float(self.radius), float(self.sigma)
        descent = Descent(n, plan.steps, plan.step_size, plan.noise, *known, start)
        return iterate_error(self.coef_, descent)

    @property
    def _spread(self) -> float:
        """L, or 1 where it is not given."""
        return 1.0 if self.L is None else float(self.L)

    def _fixed_level(self, n: Number) -> Number:
        if isinstance(self.R, str):
            reach = float(self.radius) * float(self.row_bound)
            return theoretical_truncation(n, self.sigma, reach)
        return float(self.R)

    def _plan(self, n: int, d: int, level: float, budget: SpendablePrivacy) -> _Plan:
        """Step, number of steps and noise: functions of public numbers and of R."""
        assert not isinstance(budget, Pure)
        c, radius = float(self.row_bound), float(self.radius)
        sensitivity, calibrated = self._sensitivity(n, level)

        def noise(steps: int) -> float:
            return repeated_noise(budget, calibrated, steps, self.composition)

        step_size, steps = best_schedule(
            expected_spectrum(n, d, self._spread, c),
            radius,
            d,
            noise,
            step_size=None if isinstance(self.step_size, str) else float(self.step_size),
            steps=None if isinstance(self.steps, str) else int(self.steps),
        )
        return _Plan(sensitivity, step_size, steps, noise(steps))

    def _sensitivity(self, n: Number, level: Number) -> tuple[Number, Number]:
        """The l2 sensitivity of an averaged gradient, and what the noise is calibrated to."""
        c, radius = float(self.row_bound), float(self.radius)
        if self.composition == "zcdp":
            exact = gradient_sensitivity(n, level, c, radius)
            return exact, exact
        # Not the exact one: its ratio to B/n would depend on R, which may come from the data.
        simple = 2 * (level + radius * c) * c / n
        return simple, 2 * simple

    def _check_options(self) -> SpendablePrivacy:
        """Everything that can be wrong, checked before any noise is drawn; the budget to spend."""
        self._check_truncation("theory", *SEARCHED)
        check_between(*SAFE_RANGE, row_bound=self.row_bound, radius=self.radius, sigma=self.sigma)
        if not isinstance(self.R, str):
            check_between(*SAFE_RANGE, R=self.R)
        if self.L is not None:
            check_positive(L=self.L)
            if not 1 <= self.L < SAFE_RANGE[1]:
                raise ValueError(f"L must lie in [1, {SAFE_RANGE[1]:g}), got {self.L!r}")
        if isinstance(self.step_size, str):
            _check_theory(step_size=self.step_size)
        else:
            check_between(*safe_range(2), step_size=self.step_size)
        if isinstance(self.steps, str):
            _check_theory(steps=self.steps)
        else:
            check_whole(steps=self.steps)
        if self.composition not in ("zcdp", "basic"):
            raise ValueError(f"composition must be 'zcdp' or 'basic', got {self.composition!r}")
        budget = self._budget(Approximate, ZeroConcentrated, Gaussian)
        if self.composition == "basic" and not isinstance(budget, Approximate):
            raise ValueError(f"composition='basic' needs an Approximate budget, got {budget}")
        if self.composition == "basic" and self._searches and isinstance(self.steps, str):
            # What T basic compositions really spend depends on T, so T may not depend on the data.
            raise ValueError(f"steps must be given for composition='basic' with R={self.R!r}")
        return budget


def _check_theory(**named: str) -> None:
    for name, value in named.items():
        if value != "theory":
            raise ValueError(f"{name} must be a number or 'theory', got {value!r}")
