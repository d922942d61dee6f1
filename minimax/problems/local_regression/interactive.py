r"""Upper bound for hard thresholding on privately reported gradients, step after step (WX21 §V)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from minimax.core.best import with_remark
from minimax.core.bound import Optimum, Point, Terms, UpperBound, at_least
from minimax.core.privacy import SpendablePrivacy
from minimax.core.symbolic import LETTERS, Number, approximately, library
from minimax.problems.local_regression.problem import SQUARED, LocalRegressionProblem
from minimax.problems.local_regression.upper import LARGEST, thresholded_loss


class SphereReports(Protocol):
    """A randomiser whose reports are unbiased and of one length."""

    @property
    def length(self) -> float:
        """The Euclidean norm of every report."""

    @property
    def coordinate_moment(self) -> float:
        """The largest second moment of a coordinate of a report, whatever the input."""


Reports = Callable[[int, int, float, float], tuple[SphereReports, int]]
"""The randomiser of the gradients and the number of steps, for n, p, C and epsilon."""


def subgamma_top(k: Number, d: Number, variance: Number, scale: Number) -> Number:
    r"""A bound on E of the sum of the k largest squares among d sums of bounded variables.

    **Statement.** min{d v, k (sqrt(2 v (y + 1)) + c sqrt((y + 1)^2 + 1))^2}, y = log(2d/k), if each
    has second moment v = `variance` at most and P(|e| > sqrt(2 v x) + c x) <= 2 e^-x, c = `scale`:
    means of N independent centred variables of size at most b have that with c = b/(3N)
    (Bernstein). Any dependence is allowed.

    **Proof.** With t(x) = sqrt(2 v x) + c x and N(t) the number of |e| > t, the sum is
    int min(k, N(t)) d(t^2), of mean at most int min(k, 2d e^-x) d(t(x)^2) = k E t(y + E)^2, E
    exponential. Minkowski: E(y + E) = y + 1, E(y + E)^2 = (y + 1)^2 + 1.
    """
    lib = library(k, d, variance, scale)
    y = lib.log(2 * d / k)
    spread = lib.sqrt(2 * variance * (y + 1)) + scale * lib.sqrt((y + 1) ** 2 + 1)
    return lib.least(d * variance, k * spread**2)


def interactive_upper(
    problem: LocalRegressionProblem,
    privacy: SpendablePrivacy,
    reports: Reports,
    fewest: int = 1,
) -> UpperBound:
    r"""Risk of LocalHardThresholding with s = 1, steps of length 1, and no link.

    **Statement.** T groups of users, the last of N = n - (T - 1) floor(n/T) >= n/T. Reports are
    unbiased, of length L, and no coordinate has a second moment above V. With v = V/N and
    t = `subgamma_top`(1, p - 1, v, 2L/(3N)): E|estimate - theta|^2 <= (sqrt v + sqrt t)^2 + t, and
    never more than 4.

    **Assumptions.** Gradients of the class are not clipped: r = sqrt(p) (C + 2). At least `fewest`
    users: one for every step.

    **Proof.** Let b be the iterate before the last step. It depends on earlier groups alone. A user
    of the last group reports g = (<x, b> - y) x, of norm at most sqrt(p) (2 + C), without bias, and
    E g = b - theta, as E x x' = I and the noise has mean zero given x. So the step goes to
    u = b - mean of reports = theta + e: the past is forgotten. Given b, e is a mean of N
    independent centred vectors whose coordinates have variance V at most and size 2L. Then the
    proof of `threshold_factor`, with this tail in place of a Gaussian one.

    **Constants.** Closed form: N >= n/T and, as Gamma((p + 1)/2)/Gamma(p/2) <= sqrt(p/2), L at most
    sqrt(pi p/2) r coth(eps/2), which no best cap exceeds; V <= (L^2 + (p - 1) r^2)/p, as the best
    cap has gamma L = r. About 4 pi T (C + 2)^2 p log(p)/(n eps^2) for small eps: the rate of
    Theorem 5 without log n, of which T = log n steps are the cause. One step would have T = 1: in
    this class, with known E x x', earlier steps serve for nothing.

    **Source.** WX21: Algorithm 1, Theorem 5, with clipped gradients.
    """
    defaults = {**problem.point, **privacy.parameters}

    def optimise(at: Point) -> Optimum:
        found, steps = reports(int(at["n"]), int(at["p"]), at["C"], at["epsilon"])
        return {"length": found.length, "moment": found.coordinate_moment, "steps": float(steps)}

    def risk(at: Point, users: Number, moment: Number, length: Number) -> Number:
        lib, v = library(at["p"], users), moment / users
        top = lib.choose(
            at["p"] <= 1,
            lambda: 0 * v,
            lambda: subgamma_top(1, at["p"] - 1, v, 2 * length / (3 * users)),
        )
        return lib.least(thresholded_loss(v, top), LARGEST[SQUARED] + 0 * v)

    def formula(at: Point, found: Optimum) -> Terms:
        n, steps = int(approximately(at["n"])), int(found["steps"])
        users = 0 * at["n"] + (n - (steps - 1) * (n // steps))
        return Terms(None, risk(at, users, found["moment"] + 0 * users, found["length"]))

    def closed(at: Point, found: Optimum) -> Number:
        lib, p = library(at["p"], at["epsilon"]), at["p"]
        r = lib.sqrt(p) * (at["C"] + 2)
        length = lib.sqrt(lib.pi * p / 2) * r / lib.tanh(at["epsilon"] / 2)
        return risk(at, at["n"] / found["steps"], (length**2 + (p - 1) * r**2) / p, length)

    bound = UpperBound(
        name="thresholded descent on reported gradients",
        source="WX21: Theorem 5",
        parameters=tuple(defaults),
        formula=formula,
        optimise=optimise,
        expression=lambda: closed(LETTERS, optimise(defaults)),
        closed_formula=closed,
        assumptions=(at_least("n", fewest, f"n >= {fewest} (a user for every step)"),),
        loss=SQUARED,
        defaults=defaults,
        estimator="LocalHardThresholding",
        settings=lambda at, found: {"C": at["C"], "steps": int(found["steps"])},
        zero_release_risk=problem.zero_release_risk,
        resolve=True,
    )
    return with_remark(bound)
