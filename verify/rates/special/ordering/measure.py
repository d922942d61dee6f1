"""Tune every method on its grid, measure it on fresh trials, compare the pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
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
FIRST_SHARE = 0.4
"""Tuning trials in which every option is tried, relative to all of them."""
GOES_ON = 1 / 3
"""The part of a method's options, the best so far, that is tried in the others as well."""


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


Plan = tuple[Experiment, Sequence[Fit]]


def _run(
    plans: Sequence[Plan],
    trials_of: Callable[[Experiment], range],
    seed: int,
    name: str,
    workers: Processes,
) -> list[list[list[Outcome]]]:
    """For each plan, each of its fits in order, the outcomes of its experiment's trials."""
    tasks = [
        (k, group, t)
        for k, (experiment, fits) in enumerate(plans)
        for group in _by_size(fits)
        for t in trials_of(experiment)
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
        plans = _tuned(every, profile_trials * TUNING_SHARE, seed, workers)
        tested = _run(plans, lambda e: range(_count(e, profile_trials)), seed, "test", workers)
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


def _count(experiment: Experiment, trials: float) -> int:
    return max(2, math.ceil(trials * experiment.weight))


def _tuned(every: Sequence[Plan], trials: float, seed: int, workers: Processes) -> list[Plan]:
    """For each point and method the options with the smallest mean error, of those that were among
    the best in the first trials."""

    def first(e: Experiment) -> range:
        return range(max(2, math.ceil(FIRST_SHARE * _count(e, trials))))

    def others(e: Experiment) -> range:
        return range(len(first(e)), _count(e, trials))

    going: list[Plan] = []
    before: list[list[list[float]]] = []
    for (e, fits), outcomes in zip(every, _run(every, first, seed, "tuning", workers), strict=True):
        errors = _errors(outcomes)
        kept = _leaders(fits, errors, GOES_ON)
        going.append((e, [fits[place] for place in kept]))
        before.append([errors[place] for place in kept])
    found: list[Plan] = []
    more = _run(going, others, seed, "tuning", workers)
    for (e, fits), earlier, outcomes in zip(going, before, more, strict=True):
        errors = [a + b for a, b in zip(earlier, _errors(outcomes), strict=True)]
        found.append((e, [fits[place] for place in _leaders(fits, errors, 0.0)]))
    return found


def _errors(outcomes: Sequence[Sequence[Outcome]]) -> list[list[float]]:
    return [[outcome.error for outcome in of_fit] for of_fit in outcomes]


def _leaders(fits: Sequence[Fit], errors: Sequence[Sequence[float]], part: float) -> list[int]:
    """The places, in order, of the best part of each point's and method's options, or of the best
    one: by mean error."""
    groups: dict[tuple[Setting, str], list[int]] = {}
    for place, fit in enumerate(fits):
        groups.setdefault((fit.point, fit.method.name), []).append(place)
    kept: list[int] = []
    for places in groups.values():
        ranked = sorted(places, key=lambda place: float(np.mean(errors[place])))
        kept += ranked[: max(1, math.ceil(part * len(places)))]
    return sorted(kept)


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
