"""Which private method has the smaller error, where the papers report an ordering.

Unlike a bound, an ordering can fall either way without anything being wrong, so nothing here is a
verdict on the code: orderings are measured and told.

**Protocol.** Per trial one data set is drawn and every method is fitted to it at every budget, each
with noise of its own, so differences between methods are paired. A method's options are those of
its declared grid with the smallest mean error over separate tuning trials, for which theta* must be
known; no privacy is charged for it. That is optimistic, for every method alike: what is compared is
the best each can do on its grid. (WG19 §6 tunes by cross-validation, also without charge; CWZ19
§5.1 tunes R privately.) Every private fit really has the (epsilon, delta) asked for, except rows
named "paper's noise", which spend more, each by a factor of its own: `epsilon_spent`.

**Error.** |coef - theta*|_2/|theta*|_2. Releasing 0 has error 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from scipy import stats

from estimators.accounting import total
from minimax.privacy import Approximate
from verify.rates.measure import cell_seed, interval
from verify.rates.report import LABELS, save_figure, write_whole
from verify.rates.special.ordering_experiments import (
    CLIPPED,
    DESCENT,
    DP_IGHT,
    FRANK_WOLFE,
    IGHT,
    MANY_STEPS,
    OLS,
    PAPER_IGHT,
    PAPER_WOLFE,
    PEELING,
    PROJECTION,
    STATISTICS,
    TWO_STAGE,
    Array,
    Experiment,
    Method,
    Setting,
    experiments,
)

Standing = Literal["ahead", "behind", "not separated"]
TUNING_SHARE = 0.4
"""Tuning trials relative to the others."""


@dataclass(frozen=True)
class Ordering:
    """What was measured, as plain data."""

    rows: list[dict[str, Any]]
    """One per experiment, point and method: error with its interval, options chosen, budget."""
    comparisons: list[dict[str, Any]]
    """One per experiment, point and pair: the paired difference and what it says."""
    claims: list[dict[str, Any]]
    """One per experiment and pair: at how many points the first is ahead, behind, neither."""


def intervals(chosen: Sequence[Experiment] | None = None) -> int:
    """How many intervals a run has, by which an error budget is to be divided."""
    return sum(
        len(e.points) * (len(e.methods) + len(e.reported) + len(e.also))
        for e in (experiments() if chosen is None else chosen)
    )


# --- Measuring -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Fit:
    """A method to be fitted at a point, and with which options."""

    point: Setting
    method: Method
    options: Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The relative error of a fit, and what it cost."""

    error: float
    spent: float | None
    """Real epsilon at the delta asked for; None if not private."""


def spent(estimator: Any, delta: float) -> float | None:
    """The epsilon that a fit really gives at this delta."""
    given = estimator.privacy_
    if given is None:
        return None
    if not (isinstance(given, Approximate) and given.delta <= delta):
        given = total(estimator.ledger_, Approximate, delta)
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
    jobs: int,
) -> list[list[list[Outcome]]]:
    """For each plan, each of its fits in order, the outcomes of all trials."""
    tasks = [
        (k, group, t)
        for k, (experiment, fits) in enumerate(plans)
        for group in _by_size(fits)
        for t in range(max(2, math.ceil(trials * experiment.weight)))
    ]
    calls = (
        delayed(trial)(plans[k][0], [plans[k][1][i] for i in group], seed, f"{name} {t}")
        for k, group, t in tasks
    )
    found: list[list[list[Outcome]]] = [[[] for _ in fits] for _, fits in plans]
    for (k, group, _), outcomes in zip(tasks, Parallel(n_jobs=jobs)(calls), strict=True):
        for place, outcome in zip(group, outcomes, strict=True):
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
    tuned = _run(every, profile_trials * TUNING_SHARE, seed, "tuning", jobs)
    plans = [
        (e, _best(e, fits, outcomes)) for (e, fits), outcomes in zip(every, tuned, strict=True)
    ]
    tested = _run(plans, profile_trials, seed, "test", jobs)
    ordering = Ordering([], [], [])
    for (experiment, fits), outcomes in zip(plans, tested, strict=True):
        errors = {}
        for fit, results in zip(fits, outcomes, strict=True):
            values = np.array([outcome.error for outcome in results])
            errors[fit.point, fit.method.name] = values
            costs = [outcome.spent for outcome in results if outcome.spent is not None]
            ordering.rows.append(
                _row(experiment, fit, values, max(costs, default=None), alpha, seed)
            )
        for pair in (*experiment.reported, *experiment.also):
            compared = [
                compare(errors[point, pair[0]], errors[point, pair[1]], alpha)
                for point in experiment.points
            ]
            of = {
                "experiment": experiment.name,
                "first": pair[0],
                "second": pair[1],
                "reported": pair in experiment.reported,
                "source": experiment.source,
            }
            ordering.comparisons.extend(
                {**of, "point": asdict(point), **found, "seed": seed}
                for point, found in zip(experiment.points, compared, strict=True)
            )
            ordering.claims.append({**of, **tally([found["verdict"] for found in compared])})
    return ordering


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
    errors: Array,
    epsilon: float | None,
    alpha: float,
    seed: int,
) -> dict[str, Any]:
    found = interval(errors, alpha, seed)
    return {
        "experiment": experiment.name,
        "source": experiment.source,
        "variable": experiment.variable,
        "method": fit.method.name,
        "private": fit.method.private,
        "point": asdict(fit.point),
        "error": found.risk,
        "ci_low": found.ci_low,
        "ci_high": found.ci_high,
        "against_zero": against_zero(found.ci_low, found.ci_high),
        "trials": found.trials,
        "seed": seed,
        "options": {**fit.method.fixed, **fit.options},
        "options_tried": len(fit.method.grid),
        "epsilon_spent": epsilon,
    }


def against_zero(low: float, high: float) -> str:
    """Whether the error is below or above 1, that of releasing 0."""
    return "better" if high < 1 else "worse" if low > 1 else "not separated"


def compare(first: Array, second: Array, alpha: float) -> dict[str, Any]:
    """Mean of second - first over trials on the same data, its Student interval of level 1 - alpha,
    and where the first is by it."""
    gaps = np.asarray(second) - np.asarray(first)
    mean, n = float(np.mean(gaps)), len(gaps)
    half = float(stats.t.isf(alpha / 2, n - 1)) * float(np.std(gaps, ddof=1)) / math.sqrt(n)
    verdict: Standing = "not separated"
    if mean - half > 0:
        verdict = "ahead"
    elif mean + half < 0:
        verdict = "behind"
    ends = {"ci_low": mean - half, "ci_high": mean + half}
    return {"gap": mean, **ends, "trials": n, "verdict": verdict}


def tally(verdicts: Sequence[Standing]) -> dict[str, Any]:
    """How often each verdict was found; an ordering is reproduced if ahead at all points."""
    names: tuple[Standing, ...] = ("ahead", "behind", "not separated")
    counts = {name.replace(" ", "_"): list(verdicts).count(name) for name in names}
    return {"points": len(verdicts), **counts, "ahead_at_all": counts["ahead"] == len(verdicts)}


# --- Plot ----------------------------------------------------------------------------------------

COLOURS = {
    IGHT: "tab:gray", OLS: "tab:gray", DP_IGHT: "tab:blue", DESCENT: "tab:blue",
    PAPER_IGHT: "tab:cyan", FRANK_WOLFE: "tab:red", PAPER_WOLFE: "tab:pink",
    PROJECTION: "tab:red", CLIPPED: "tab:orange", MANY_STEPS: "tab:orange",
    TWO_STAGE: "tab:green", PEELING: "tab:purple", STATISTICS: "tab:olive",
}  # fmt: skip


def plot(ordering: Ordering, path: Path) -> None:
    """Relative error against epsilon or n, one panel per experiment."""
    names = list(dict.fromkeys(row["experiment"] for row in ordering.rows))
    columns = min(len(names), 2)
    lines = -(-len(names) // columns)
    figure = Figure(figsize=(5.6 * columns, 1.0 + 4.6 * lines), dpi=110, layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns)).ravel()
    for axis, name in zip(axes, names, strict=False):
        _panel(axis, [row for row in ordering.rows if row["experiment"] == name])
    for unused in axes[len(names) :]:
        unused.set_visible(False)
    figure.suptitle(
        "relative ℓ₂ error of each method at the options chosen for it; bars are intervals"
    )
    write_whole(path, partial(save_figure, figure))


def _panel(axis: Any, rows: list[dict[str, Any]]) -> None:
    variable, methods = rows[0]["variable"], list(dict.fromkeys(row["method"] for row in rows))
    axis.set_yscale("log")
    if variable == "n":
        axis.set_xscale("log")
    ticks = sorted({row["point"][variable] for row in rows})
    for place, method in enumerate(methods):
        mine = [row for row in rows if row["method"] == method]
        # Side by side, so that bars do not hide each other.
        shift = (place - (len(methods) - 1) / 2) * 0.012
        x = np.array([row["point"][variable] for row in mine], dtype=float)
        x = x * (1 + 4 * shift) if variable == "n" else x + shift * 10
        y = np.array([row["error"] for row in mine])
        low = np.array([max(row["ci_low"], row["error"] / 30) for row in mine])
        high = np.array([row["ci_high"] for row in mine])
        style = {"color": COLOURS.get(method, "black"), "capsize": 3, "markersize": 4}
        line = "o--" if not mine[0]["private"] else "o-"
        axis.errorbar(x, y, yerr=[y - low, high - y], fmt=line, label=method, **style)
    axis.axhline(1.0, color="black", linewidth=0.8, linestyle=":", label="releasing 0")
    point = rows[0]["point"]
    fixed = " ".join(f"{k}={point[k]:g}" for k in ("n", "d", "s", "epsilon") if k != variable)
    axis.set_title(f"{rows[0]['experiment']} ({rows[0]['source']})\n{fixed}", fontsize=9)
    axis.set_xlabel(LABELS[variable])
    axis.set_ylabel("relative ℓ₂ error")
    axis.set_xticks(ticks, [f"{value:g}" for value in ticks])
    if len(ticks) == 1:
        axis.set_xlim(ticks[0] / 1.5, ticks[0] * 1.5)
    axis.xaxis.set_minor_locator(NullLocator())
    axis.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.yaxis.set_minor_locator(NullLocator())
    axis.grid(alpha=0.3)
    axis.legend(fontsize=7, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.14))
