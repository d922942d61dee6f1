"""The calculator behind ``python -m minimax``: rows of bounds, and their inversion in n."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from minimax.core.best import Best
from minimax.core.bound import Bound, OutsideRegime
from minimax.core.calibration import Budget, repeated_noise
from minimax.core.privacy import Privacy, Pure, Scope
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean import lower as bounded_mean
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.erm import upper as erm_upper
from minimax.problems.label_regression import lower as label_regression
from minimax.problems.label_regression import upper as label_upper
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.local_regression import halving
from minimax.problems.local_regression import lower as local_regression
from minimax.problems.local_regression import problem as local_problem
from minimax.problems.local_regression import upper as local_upper
from minimax.problems.local_regression.problem import LocalRegressionProblem, Loss
from minimax.problems.logistic import lower as logistic
from minimax.problems.logistic import upper as logistic_upper
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.mean import lower as mean
from minimax.problems.mean import upper as mean_upper
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.regression import lower as regression
from minimax.problems.regression import problem as regression_problem
from minimax.problems.regression import upper as regression_upper
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_mean import lower as sparse_mean
from minimax.problems.sparse_mean import upper as sparse_mean_upper
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_regression import lower as sparse_regression
from minimax.problems.sparse_regression import upper as sparse_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

Place = Mapping[str, float]
"""A point without its budget."""
Row = dict[str, Any]
"""What is shown of a bound, as it goes to JSON."""
POPULATION_LOSS = "squared l2 distance to the population mean"
LARGEST_N = 10**15
THEOREM_STEPS = 4
"""Steps at which the calculator shows WG19: Corollary 5.6 with its constants."""


@dataclass(frozen=True)
class ProblemClass:
    """A problem of the calculator: its parameters, lower bounds and best proven upper bound."""

    name: str
    about: str
    needs: tuple[str, ...]
    lower: Callable[[type[Privacy]], Sequence[Bound]]
    upper: Callable[[Place, Privacy], Best]
    loss: str = POPULATION_LOSS
    """The loss in which the lower bounds and the upper bound are compared."""
    radius: float | None = None
    """The default radius; None for sigma."""
    theorems: Callable[[Place, Privacy], Sequence[Bound]] = lambda point, privacy: ()
    """Upper bounds of the papers at a point: with constants where they are proved, and claimed."""
    scope: Scope = "central"
    """Whom the privacy definition trusts."""
    options: tuple[str, ...] = ()
    """What it takes besides `needs`."""


COUNTS = {"n", "d", "s", "p"}


def _numbers(point: Place, names: tuple[str, ...]) -> dict[str, Any]:
    """The numbers of a problem, counts as integers."""
    return {name: int(point[name]) if name in COUNTS else point[name] for name in names}


def _mean(point: Place) -> MeanProblem:
    return MeanProblem(**_numbers(point, ("n", "d", "sigma", "radius")))


def _mean_upper(point: Place, privacy: Privacy) -> Best:
    return mean_upper.best_upper(_mean(point), privacy)


def _bounded_upper(point: Place, privacy: Privacy) -> Best:
    problem = BoundedMeanProblem(**_numbers(point, ("n", "d", "sigma")), radius=point["sigma"])
    return mean_upper.best_upper(problem, privacy)


def _sparse_upper(point: Place, privacy: Privacy) -> Best:
    problem = SparseMeanProblem(**_numbers(point, ("n", "d", "s", "sigma", "radius")))
    return sparse_mean_upper.best_upper(problem, privacy)


def _regression_upper(point: Place, privacy: Privacy) -> Best:
    problem = RegressionProblem(**_numbers(point, ("n", "d", "sigma", "radius")))
    return regression_upper.best_upper(problem, privacy)


def _sparse_regression(point: Place) -> SparseRegressionProblem:
    return SparseRegressionProblem(**_numbers(point, ("n", "d", "s", "sigma", "radius")))


def _sparse_regression_upper(point: Place, privacy: Privacy) -> Best:
    return sparse_upper.best_upper(_sparse_regression(point), privacy)


def _logistic_upper(point: Place, privacy: Privacy) -> Best:
    problem = LogisticProblem(**_numbers(point, ("n", "d", "radius")))
    return logistic_upper.best_upper(problem, privacy)


def _sparse_theorems(point: Place, privacy: Privacy) -> Sequence[Bound]:
    """CWZ19: Theorem 4.4, WG19: Corollary 5.6 (also with its constants), WX21: Theorem 8."""
    claimed: list[Bound] = [
        sparse_upper.claimed_theorem_4_4(),
        sparse_upper.claimed_corollary_5_6(),
        erm_upper.claimed_theorem_8(),
    ]
    if isinstance(privacy, Pure):
        return claimed
    problem, model = _sparse_regression(point), type(privacy)
    G = math.sqrt(problem.d / problem.s) * (4 * problem.radius + 4 * problem.sigma)
    proven = sparse_upper.noisy_thresholding_upper(
        problem,
        s=problem.s,
        radius=problem.radius,
        G=G,
        step_size=float(problem.s),
        steps=THEOREM_STEPS,
        noise=lambda at: repeated_noise(Budget(model, at), 2 * G / at["n"], THEOREM_STEPS),
        privacy=privacy,
    )
    return [proven, *claimed]


def _logistic_theorems(point: Place, privacy: Privacy) -> Sequence[Bound]:
    """WG19: Corollary 5.8 and WX21: Theorem 8, which are for sparse problems: s = d here."""
    return [sparse_upper.claimed_corollary_5_8(), erm_upper.claimed_theorem_8()]


# --- Local privacy --------------------------------------------------------------------------------


def _local_regression(interaction: bool = False, loss: Loss = "squared") -> ProblemClass:
    measured = local_problem.SUM if loss == "sum" else local_problem.SQUARED

    def at(point: Place) -> LocalRegressionProblem:
        return LocalRegressionProblem(**_numbers(point, ("n", "p", "C")))

    def lower(model: type[Privacy]) -> Sequence[Bound]:
        bounds = local_regression.lower_bounds(model, interaction=interaction)
        return [bound for bound in bounds if bound.loss == measured]

    def theorems(point: Place, privacy: Privacy) -> Sequence[Bound]:
        claimed = local_upper.claimed_record_bounds(privacy, interaction=interaction)
        proven = [local_upper.one_shot_upper(at(point), privacy, loss)]
        if interaction:
            proven.append(halving.halving_upper(at(point), privacy, loss))
        bounds = [*proven, *claimed]
        return [bound for bound in bounds if bound.loss == measured]

    best = halving.best_interactive_upper if interaction else local_upper.best_upper
    return ProblemClass(
        "local-regression",
        "x uniform on {-1, 1}^p, y = theta_j x_j + noise, |theta_j| <= 1, |noise| <= C; "
        f"records locally private, {'' if interaction else 'non-'}interactive",
        ("n", "p", "C"),
        lower,
        lambda point, privacy: best(at(point), privacy, loss),
        measured,
        theorems=theorems,
        scope="local",
        options=("interactive", "loss", "alpha", "kappa"),
    )


def _label_regression(link: bool = False) -> ProblemClass:
    def at(point: Place) -> LabelRegressionProblem:
        return LabelRegressionProblem(**_numbers(point, ("n", "p", "s", "C")))

    def upper(point: Place, privacy: Privacy) -> Best:
        if link:
            why = "no estimator is proven here for a link f"
            return Best(local_problem.ZERO_RELEASE_RISK, note=why)
        return label_upper.best_upper(at(point), privacy)

    def theorems(point: Place, privacy: Privacy) -> Sequence[Bound]:
        claimed = label_upper.claimed_label_bounds(privacy, link=link)
        return claimed if link else [label_upper.one_shot_label_upper(at(point), privacy), *claimed]

    model = "f(<x, theta>) + noise, f' <= b" if link else "<x, theta> + noise"
    return ProblemClass(
        "label-regression",
        f"x in {{-1, 1}}^p public, y = {model}, |noise| <= C, at most s non-zero theta_j, "
        "|theta| <= 1; labels locally private",
        ("n", "p", "s", "C", *(("b",) if link else ())),
        lambda model: label_regression.lower_bounds(model, link=link),
        upper,
        local_problem.SQUARED,
        theorems=theorems,
        scope="label",
        options=("b", "alpha", "kappa"),
    )


PROBLEMS: dict[str, ProblemClass] = {
    problem.name: problem
    for problem in (
        ProblemClass(
            "mean",
            "sub-Gaussian(sigma) records in R^d, |mean_j| <= radius",
            ("n", "d", "sigma", "radius"),
            mean.lower_bounds,
            _mean_upper,
            theorems=lambda point, privacy: mean_upper.upper_bounds(_mean(point), privacy),
        ),
        ProblemClass(
            "bounded-mean",
            "records in [-sigma, sigma]^d",
            ("n", "d", "sigma", "radius"),
            bounded_mean.bounded_lower_bounds,
            _bounded_upper,
        ),
        ProblemClass(
            "sparse-mean",
            "sub-Gaussian(sigma) records in R^d, at most s non-zero mean_j, |mean_j| <= radius",
            ("n", "d", "s", "sigma", "radius"),
            sparse_mean.lower_bounds,
            _sparse_upper,
        ),
        ProblemClass(
            "regression",
            "y = <x, beta> + N(0, sigma^2), |x| <= 1, E x x' = I/d, |beta| <= radius",
            ("n", "d", "sigma", "radius"),
            regression.lower_bounds,
            _regression_upper,
            regression_problem.LOSS,
            1.0,
            lambda point, privacy: [regression_upper.claimed_theorem_4_2()],
        ),
        ProblemClass(
            "sparse-regression",
            "the same with at most s non-zero beta_j, |x_j| <= 1/sqrt(s) and E x x' = I/s",
            ("n", "d", "s", "sigma", "radius"),
            sparse_regression.lower_bounds,
            _sparse_regression_upper,
            regression_problem.LOSS,
            1.0,
            _sparse_theorems,
        ),
        ProblemClass(
            "logistic",
            "P(y = 1) = 1/(1 + exp(-<x, beta>)), |x| <= 1, E x x' = I/d, |beta| <= radius",
            ("n", "d", "radius"),
            logistic.lower_bounds,
            _logistic_upper,
            regression_problem.LOSS,
            1.0,
            _logistic_theorems,
        ),
        _local_regression(),
        _label_regression(),
    )
}


def problem_class(
    name: str, *, interaction: bool = False, loss: Loss = "squared", link: bool = False
) -> ProblemClass:
    """The problem of that name in one of its forms; the central problems have but one."""
    if name == "local-regression":
        return _local_regression(interaction, loss)
    return _label_regression(link) if name == "label-regression" else PROBLEMS[name]


def rows(problem: ProblemClass, privacy: Privacy, point: Place) -> list[Row]:
    """One row per lower bound; outside its regime the numbers are None and the reason is given."""
    return _rows(problem, problem.lower(type(privacy)), {**point, **privacy.parameters})


def upper_rows(problem: ProblemClass, privacy: Privacy, point: Place) -> list[Row]:
    """The best proven upper bound, then the papers' theorems; rows as for the lower bounds."""
    best = problem.upper(point, privacy)
    row = _row(f"best proven: {best}", THIS_WORK, "certified", []) | {"total": best.risk}
    full = {**({"s": point["d"]} if "d" in point else {}), **point, **privacy.parameters}
    bounds = problem.theorems(point, privacy)
    return [row, *_rows(problem, [b for b in bounds if set(b.parameters) <= set(full)], full)]


def _row(name: str, source: str, kind: str, assumptions: list[str]) -> Row:
    return {
        "name": name,
        "source": source,
        "kind": kind,
        "statistical": None,
        "privacy": None,
        "total": None,
        "assumptions": assumptions,
    }


def _rows(problem: ProblemClass, bounds: Sequence[Bound], full: Place) -> list[Row]:
    out = []
    for bound in bounds:
        assumptions = [a.text for a in bound.assumptions]
        if bound.loss != problem.loss:
            assumptions.append(f"loss: {bound.loss}")
        if bound.remark:
            assumptions.append(bound.remark)
        row = _row(bound.name, bound.source, bound.kind, assumptions)
        try:
            parts = bound.parts(**{k: v for k, v in full.items() if k in bound.parameters})
        except OutsideRegime as outside:
            assumptions.append(f"NOT MET: {'; '.join(outside.needs)}")
        else:
            row |= {
                "statistical": parts.statistical,
                "privacy": parts.privacy,
                "total": parts.total,
            }
        out.append(row)
    return out


def best_lower(problem: ProblemClass, privacy: Privacy, point: Place) -> tuple[float, str]:
    """The largest certified lower bound on the risk in the problem's loss, and its name."""
    best, name = 0.0, "none"
    full = {**point, **privacy.parameters}
    for bound in problem.lower(type(privacy)):
        if bound.kind != "certified" or bound.loss != problem.loss:
            continue
        try:
            value = bound.value(**full)
        except OutsideRegime:
            continue
        if value > best:
            best, name = value, bound.name
    return best, name


@dataclass(frozen=True)
class Plan:
    """How many records a target risk needs, and how many are proven to be enough."""

    risk: float
    impossible_below: int
    by: str
    enough_at: int | None
    with_estimator: str


def plan(problem: ProblemClass, privacy: Privacy, point: Place, risk: float) -> Plan:
    """Invert the bounds in n by bisection.

    The minimax risk does not grow with n, so a lower bound above `risk` at one n excludes every
    smaller n too, even where the bound itself is not proved.
    """

    def excluded(n: int) -> bool:
        return best_lower(problem, privacy, {**point, "n": n})[0] > risk

    def proven(n: int) -> bool:
        return problem.upper({**point, "n": n}, privacy).risk <= risk

    powers = [2**k for k in range(LARGEST_N.bit_length())]
    low = 0
    for n in powers:
        if excluded(n):
            low = n
        elif low:  # below that, a bound may be outside its regime; above, it only falls
            break
    impossible_below = _bisect(lambda n: not excluded(n), low, 2 * low) if low else 1
    high = next((n for n in powers if proven(n)), None)
    enough = _bisect(proven, high // 2, high) if high else None
    return Plan(
        risk=risk,
        impossible_below=impossible_below,
        by=best_lower(problem, privacy, {**point, "n": max(impossible_below - 1, 1)})[1],
        enough_at=enough,
        with_estimator=str(problem.upper({**point, "n": enough}, privacy)) if enough else "",
    )


def _bisect(condition: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest n in (low, high] at which a condition that holds at `high` begins to hold."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if condition(middle) else (middle, high)
    return high
