"""Tune every method on its grid, measure it on fresh trials, compare the pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from threadpoolctl import threadpool_limits

from estimators.core.accounting import compose
from minimax.core.privacy import Approximate
from verify.rates.backends import Processes
from verify.rates.measure import interval
from verify.rates.special.ordering.experiments import (
    Array,
    Experiment,
    Method,
    Setting,
    experiments,
)
from verify.rates.special.ordering.rows import Comparison, MethodRow, Ordering, Pair, Tally, compare
from verify.seeds import cell_seed

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator

TUNING_SHARE = 0.4
"""Tuning trials relative to the others."""


def intervals(chosen: Sequence[Experiment] | None = None) -> int:
    """How many intervals a run has, by which an error budget is to be divided."""
    return sum(
        len(e.points) * (len(e.methods) + len(e.reported) + len(e.also))
        for e in (experiments() if chosen is None else chosen)
    )


@dataclass(frozen=True)
class Fit:
    """A method to be fitted at a point, and with which options."""

    point: Setting
    method: Method
    options: Mapping[str, object]


@dataclass(frozen=True)
class Outcome:
    """The relative error of a fit, and what it cost."""

    error: float
    spent: float | None
    """Real epsilon at the delta asked for; None if not private."""


def spent(estimator: BaseEstimator, delta: float) -> float | None:
    """The epsilon that a fit really gives at this delta."""
    given = estimator.privacy_
    if given is None:
        return None
    if not (isinstance(given, Approximate) and given.delta <= delta):
        given = compose(estimator.ledger_, Approximate, delta)
    return float(given.epsilon)


def trial(experiment: Experiment, fits: Sequence[Fit], seed: int, name: str) -> list[Outcome]:
    """One data set, and every fit on it. All fits must have the same size of data."""
    (size,) = {fit.point.size for fit in fits}
    label = f"{experiment.name}|{size}|{name}"
    X, y, theta = experiment.draw(size, np.random.default_rng(cell_seed(seed, label)))
    length = float(np.linalg.norm(theta))
    out: list[Outcome] = []
    exact: dict[str, Outcome] = {}
    for fit in fits:
        # The noise is another for every budget and option, but the same whatever else is run.
        what = f"{label}|{fit.method.name}|{dict(fit.options)}"
        if what in exact:
            out.append(exact[what])
            continue
        noise = cell_seed(seed, f"{what}|{fit.point.epsilon:g}")
        estimator = fit.method.make(fit.point, fit.options, noise).fit(X, y)
        error = float(np.linalg.norm(estimator.coef_ - theta)) / length
        out.append(Outcome(error, spent(estimator, fit.point.delta)))
        if not fit.method.private:
            exact[what] = out[-1]
    return out


def _by_size(fits: Sequence[Fit]) -> list[list[int]]:
    """Places of the fits that can share a data set."""
    groups: dict[tuple[int, int, int], list[int]] = {}
    for place, fit in enumerate(fits):
        groups.setdefault(fit.point.size, []).append(place)
    return list(groups.values())


def _run(
    plans: Sequence[tuple[Experiment, Sequence[Fit]]],
    trials: float,
    seed: int,
    name: str,
    workers: Processes,
) -> list[list[list[Outcome]]]:
    """For each plan, each of its fits in order, the outcomes of all trials."""
    tasks = [
        (k, group, t)
        for k, (experiment, fits) in enumerate(plans)
        for group in _by_size(fits)
        for t in range(max(2, math.ceil(trials * experiment.weight)))
    ]

    def outcomes_of(task: tuple[int, list[int], int]) -> list[Outcome]:
        k, group, t = task
        experiment, fits = plans[k]
        return trial(experiment, [fits[i] for i in group], seed, f"{name} {t}")

    outcomes = dict(workers.completed(outcomes_of, tasks))
    found: list[list[list[Outcome]]] = [[[] for _ in fits] for _, fits in plans]
    for order, (k, group, _) in enumerate(tasks):
        for place, outcome in zip(group, outcomes[order], strict=True):
            found[k][place].append(outcome)
    return found


def measure(
    profile_trials: int,
    seed: int,
    jobs: int,
    alpha: float,
    chosen: Sequence[Experiment] | None = None,
) -> Ordering:
    """Tune every method, measure it on fresh trials, compare the pairs.

    `alpha` is the error probability of each interval; there are `intervals()` of them.
    """
    todo = experiments() if chosen is None else tuple(chosen)
    every = [(e, [Fit(p, m, o) for p in e.points for m in e.methods for o in m.grid]) for e in todo]
    with threadpool_limits(limits=1), closing(Processes(jobs)) as workers:
        tuned = _run(every, profile_trials * TUNING_SHARE, seed, "tuning", workers)
        plans = [
            (e, _best(e, fits, outcomes)) for (e, fits), outcomes in zip(every, tuned, strict=True)
        ]
        tested = _run(plans, profile_trials, seed, "test", workers)
    ordering = Ordering([], [], [])
    for (experiment, fits), outcomes in zip(plans, tested, strict=True):
        _tell(ordering, experiment, list(zip(fits, outcomes, strict=True)), alpha, seed)
    return ordering


def _tell(
    ordering: Ordering,
    experiment: Experiment,
    tested: Sequence[tuple[Fit, Sequence[Outcome]]],
    alpha: float,
    seed: int,
) -> None:
    """Add what was found in one experiment."""
    errors: dict[tuple[Setting, str], Array] = {}
    for fit, outcomes in tested:
        values = np.array([outcome.error for outcome in outcomes])
        errors[fit.point, fit.method.name] = values
        ordering.rows.append(_row(experiment, fit, outcomes, values, alpha, seed))
    for names in (*experiment.reported, *experiment.also):
        reported = names in experiment.reported
        pair = Pair(experiment.name, *names, reported, experiment.source)
        gaps = [
            compare(errors[point, pair.first], errors[point, pair.second], alpha)
            for point in experiment.points
        ]
        ordering.comparisons.extend(
            Comparison(pair, point, gap, seed)
            for point, gap in zip(experiment.points, gaps, strict=True)
        )
        ordering.claims.append(Tally.of(pair, [gap.verdict for gap in gaps]))


def _best(
    experiment: Experiment, fits: Sequence[Fit], outcomes: Sequence[Sequence[Outcome]]
) -> list[Fit]:
    """For each point and method the options with the smallest mean error."""
    means = [float(np.mean([o.error for o in of_fit])) for of_fit in outcomes]
    best: dict[tuple[Setting, str], tuple[float, Fit]] = {}
    for fit, mean in zip(fits, means, strict=True):
        key = fit.point, fit.method.name
        if key not in best or mean < best[key][0]:
            best[key] = mean, fit
    return [best[p, m.name][1] for p in experiment.points for m in experiment.methods]


def _row(
    experiment: Experiment,
    fit: Fit,
    outcomes: Sequence[Outcome],
    errors: Array,
    alpha: float,
    seed: int,
) -> MethodRow:
    costs = [outcome.spent for outcome in outcomes if outcome.spent is not None]
    return MethodRow(
        experiment=experiment.name,
        source=experiment.source,
        variable=experiment.variable,
        method=fit.method.name,
        private=fit.method.private,
        point=fit.point,
        measured=interval(errors, alpha, seed),
        options={**fit.method.fixed, **fit.options},
        options_tried=len(fit.method.grid),
        epsilon_spent=max(costs, default=None),
    )
