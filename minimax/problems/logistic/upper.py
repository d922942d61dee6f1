r"""Upper bounds for logistic regression by noisy gradient descent (WG19 §5.2 with s = d).

The class is that of `minimax.problems.logistic.lower`.
"""

from __future__ import annotations

from minimax.core.best import VACUOUS, Best
from minimax.core.bound import Point, Rule, UpperBound, rule_at
from minimax.core.calibration import Allowance, budget_of, repeated_noise
from minimax.core.privacy import Privacy, Pure
from minimax.core.symbolic import Number, library
from minimax.methods.noisy_descent import (
    Descent,
    Schedule,
    descent_upper,
    logistic_flatness,
    logistic_outset,
    one_step,
)
from minimax.methods.recursion import Interval, chernoff_interval
from minimax.problems.logistic.planned import planned_logistic_upper
from minimax.problems.logistic.problem import LogisticProblem


def _descent_at(point: Point, L: float, radius: Number) -> Descent:
    n, d = point["n"], point["d"]
    flattest = logistic_flatness(library(point["radius"]).largest(point["radius"], radius))

    def curvature(failure: Number) -> Interval:
        low, high = chernoff_interval(n, d, 1.0, Interval(1 / (L * d), L / d), failure)
        return Interval(flattest * low, high / 4)

    return Descent(
        d=d,
        unit=L / d,
        start=point["radius"],
        cap=point["radius"] + radius,
        variance=1 / (4 * n),
        curvature=curvature,
        outset=logistic_outset(n, d, L, point["radius"]),
    )


def noisy_logistic_upper(
    problem: LogisticProblem,
    *,
    radius: Rule,
    G: float,
    step_size: Rule,
    steps: Rule,
    noise: Rule,
    privacy: Privacy | None = None,
) -> UpperBound:
    r"""Risk of noisy projected gradient descent on the logistic loss.

    **Statement.** For b <- Proj(b - eta [(1/n) sum (p(<x_i, b>) - y_i) x_i + w]),
    p(u) = 1/(1 + e^-u), w ~ N(0, tau^2 I_d), T times from b = 0, and any f in (0, 1):

        E|b_T - beta|^2_Sigma <= (L/d) [m_T^2 + 1{T > 1} f (c0 + a)^2],
        m_1^2 = (q_1 a)^2 + eta^2/(4n) + eta^2 d tau^2,
        m_{t+1}^2 = (q m_t + eta/sqrt(4n))^2 + eta^2 d tau^2,

    where q_1 = max |1 - eta lambda| over [k/(L d), L/(4d)], k = tanh(a/2)/(2a), and q that over
    [g l, h/4], g = e^c0/(1 + e^c0)^2, [l, h] of `chernoff_interval` at f. The best f is taken, and
    (L/d) (c0 + a)^2 is never exceeded.

    **Assumptions.** c0 = radius >= a; gradients of the class are not clipped: G >= 1.

    **Proof.** `Descent.first` and then `Recursion` (descent). At b = 0 the expected gradient is
    -E (p(<x, beta>) - 1/2) x = -M beta, M = E v x x', v = (p(u) - 1/2)/u at u = <x, beta>,
    |u| <= a, so k <= v <= 1/4 (`logistic_secant`) and k/(L d) <= M <= L/(4d). A record's gradient
    at 0 is (1/2 - y) x, of length at most 1/2. Later, the gradient at b less that at beta is
    M (b - beta), M = (1/n) sum v_i x_i x_i' with v_i the mean of p (1 - p) between <x_i, beta> and
    <x_i, b>. Both are at most c0 in size, so g <= v_i <= 1/4 and g H <= M <= H/4. The gradient at
    beta is a mean of independent centred terms with second moments at most |x|^2/4.

    **Constants.** T = 1 is within a few per cent of what some law of the class has if L = 1: rows
    +-e_j, j uniform, and all of beta on one coordinate make |(I - eta M) beta| = |1 - eta k/d| a.
    The curvature g after the first step is a worst case of both ends, and loses e^c0 where the
    radius is large: there few steps are proved to be best.

    **Source.** WG19: Corollary 5.8 with s = d, projected on the ball.
    """
    return descent_upper(
        lambda point: _descent_at(point, problem.L, rule_at(radius, point)),
        Schedule(step_size, steps, noise),
        name="noisy gradient descent, logistic loss",
        source="WG19: Corollary 5.8 (s = d)",
        problem=problem,
        privacy=privacy,
        radius=radius,
        clips=("G", G),
        estimator="NoisyHardThresholding",
        keywords=lambda found: {"loss": "logistic", "s": problem.d, "clip": G},
    )


def best_upper(problem: LogisticProblem, privacy: Privacy) -> Best:
    """The least risk proven for a descent on the logistic loss, or releasing 0.

    For L = 1 PlannedLogisticRegression, which counts on the curvature that is typical or on the
    least; unless the budget is pure, NoisyHardThresholding with s = d, clip = 1 and the class's
    radius.
    """
    bounds = []
    if problem.L == 1:
        reaches = (None, problem.radius)
        bounds += [planned_logistic_upper(problem, privacy, reach=reach) for reach in reaches]
    if not isinstance(privacy, Pure):
        bounds.append(best_descent(problem, privacy))
    nothing = Best(problem.zero_release_risk(), note=VACUOUS)
    found = min(map(Best.of, bounds), key=lambda best: best.risk, default=nothing)
    return found.or_zero(nothing.risk, VACUOUS)


def best_descent(problem: LogisticProblem, privacy: Privacy) -> UpperBound:
    """The bound for noisy descent at the step size and number of steps of least proven risk."""
    a, model = problem.radius, type(privacy)
    step_size, steps, _ = _descent_at(problem.point, problem.L, a).best(
        lambda steps: [repeated_noise(budget_of(privacy), 2 / problem.n, steps)], [0.0]
    )
    return noisy_logistic_upper(
        problem,
        radius=a,
        G=1.0,
        step_size=step_size,
        steps=steps,
        noise=lambda at: repeated_noise(Allowance(model, at), 2 / at["n"], steps),
        privacy=privacy,
    )


def one_step_upper(problem: LogisticProblem, privacy: Privacy) -> UpperBound:
    """`noisy_logistic_upper` for one step, that of `Descent.first_step`, a formula; L = 1."""
    model = type(privacy)

    def noise(at: Point) -> Number:
        return repeated_noise(Allowance(model, at), 2 / at["n"], 1)

    def step_size(at: Point) -> Number:
        return _descent_at(at, 1.0, at["radius"]).first_step(noise(at))

    bound = noisy_logistic_upper(
        problem,
        radius=lambda at: at["radius"],
        G=1.0,
        step_size=step_size,
        steps=1,
        noise=noise,
        privacy=privacy,
    )
    return one_step(bound, step_size)
