"""Upper bounds for sparse regression when labels are private, and what WX21 prints."""

from __future__ import annotations

from minimax.core.best import VACUOUS, Best, with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, report_signal
from minimax.core.privacy import Approximate, Privacy
from minimax.core.symbolic import LETTERS, Number, library
from minimax.papers import THIS_WORK
from minimax.problems.label_regression.lower import S_AT_MOST_P
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.local_regression.problem import SQUARED
from minimax.problems.local_regression.upper import (
    LARGEST,
    NO_MEAN,
    claimed_in_the_ball,
    reach,
    report_at,
    threshold_factor,
)

RANDOM_ROWS = "for rows independent and uniform on {-1, 1}^p"
NOTHING_FOR_A_LINK = "no estimator is proven here for a link f"


def one_shot_label_upper(problem: LabelRegressionProblem, privacy: Privacy) -> UpperBound:
    r"""Risk of one step of LabelHardThresholding, from 0 and of length 1, on one-bit labels.

    **Protocol.** User i reports y clipped to [-B, B], B = sqrt(s) + C, as one bit z_i.
    u = (1/n) sum_i z_i x_i. The estimate is H_s(u), projected on the unit ball.

    **Statement.** With v = (B/tanh(e/2))^2/n, e of `randomised_response_epsilon`:
    E|estimate - theta|^2 <= v `threshold_factor`(p, s), and never more than 4.

    **Assumptions.** The rows are independent and uniform on {-1, 1}^p. The lower bounds hold for
    every design, hence for this one too.

    **Proof.** |y| <= |theta|_1 + C <= B. z_i x_ij is +-M with mean E y x_j = theta_j, independent
    over i: by Hoeffding's lemma u_j - theta_j has the proxy M^2/n.

    **Constants.** About 4 (sqrt(s) + C)^2 s log(p/s)/(n tanh(e/2)^2) for large p/s: the rate of
    WX21: Theorem 7 but for the s in B^2, where the other coordinates' share of y counts as noise.

    **Source.** WX21: Algorithm 2 with one step from 0 and one-bit reports.
    """
    defaults = {**problem.point, **privacy.parameters}

    def bound_at(point: Point) -> Number:
        return library(point["s"]).sqrt(point["s"]) + point["C"]

    def formula(point: Point, found: Optimum) -> Terms:
        M = reach(bound_at(point), found)
        factor = threshold_factor(point["p"], point["s"])
        return Terms(None, min(M * M / point["n"] * factor, LARGEST[SQUARED]))

    def expression() -> Number:
        M = bound_at(LETTERS) / report_signal(Allowance(type(privacy), LETTERS))
        return M**2 / LETTERS["n"] * threshold_factor(LETTERS["p"], LETTERS["s"])

    bound = UpperBound(
        name="one-shot correlation with private labels",
        source=f"{THIS_WORK}: local_upper.one_shot_label_upper",
        parameters=tuple(defaults),
        formula=formula,
        optimise=report_at(privacy),
        expression=expression,
        assumptions=(S_AT_MOST_P, Assumption(RANDOM_ROWS, lambda at: True)),
        loss=SQUARED,
        defaults=defaults,
        estimator="LabelHardThresholding",
        settings=lambda point, found: {"mechanism": "binary", "steps": 1, "step_size": 1},
        zero_release_risk=problem.zero_release_risk,
    )
    return with_remark(bound)


def best_upper(problem: LabelRegressionProblem, privacy: Privacy) -> Best:
    """One step on one-bit labels, for the linear model, or releasing 0."""
    if problem.b is not None:
        return Best(problem.zero_release_risk(), note=NOTHING_FOR_A_LINK)
    bound = one_shot_label_upper(problem, privacy)
    best = Best.of(bound, f"one step on one-bit labels; {RANDOM_ROWS}")
    return best.or_zero(problem.zero_release_risk(), VACUOUS)


# --- What the paper prints ------------------------------------------------------------------------


RANGE = Assumption("epsilon <= 1", lambda at: at["epsilon"] <= 1)


def claimed_label_bounds(privacy: Privacy, *, link: bool) -> list[UpperBound]:
    """WX21: Theorem 6, or with `link` Theorem 11, as claimed: (epsilon, delta)-private labels."""
    if not isinstance(privacy, Approximate):
        return []

    def rate(at: Point) -> Number:
        log = library(at["n"]).log
        size = at["s"] * log(at["p"]) / (at["n"] * at["epsilon"] ** 2)
        return at["C"] ** 2 * log(at["delta"]) ** 2 * size

    names = ("n", "p", "s", "C", "epsilon", "delta")
    remark = (
        "log(1/delta)^2 as printed, log(1/delta) follows from the proof; the noise is for labels "
        f"within [-2C, 2C], but |y| <= sqrt(s) + C; {NO_MEAN}"
    )
    if link:
        more = "needs a/b > sqrt(5)/3; the proof ends with 1/(n epsilon) for 1/(sqrt(n) epsilon)"
        return [
            claimed_in_the_ball(
                "11",
                (*names, "b"),
                lambda at: at["b"] ** 2 * rate(at),
                (RANGE,),
                f"{more}; {remark}",
            )
        ]
    return [claimed_in_the_ball("6", names, rate, (RANGE,), remark)]
