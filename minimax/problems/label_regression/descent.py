r"""Upper bound for hard thresholding on randomised labels, run to its end (WX21 §VI)."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

from minimax.core.best import with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.calibration import Allowance, report_signal
from minimax.core.privacy import Approximate, Privacy, Pure
from minimax.core.symbolic import LETTERS, Number, library
from minimax.methods.recursion import FAILURES, Interval
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import RANDOM_ROWS
from minimax.problems.local_regression.interactive import subgamma_top
from minimax.problems.local_regression.problem import SQUARED
from minimax.problems.local_regression.upper import LARGEST
from minimax.problems.sparse_regression.thresholded import restricted_interval


class LabelTail(Protocol):
    """log E e^{tZ} <= variance t^2/(2 (1 - scale |t|)) for a report less its expected label."""

    @property
    def variance(self) -> float:
        """Bounds that of Z."""

    @property
    def scale(self) -> float:
        """0 if Z is sub-Gaussian."""


class LabelDescent(NamedTuple):
    """What the error of the descent depends on, besides the point."""

    s: int
    flattest: float
    steepest: float
    """The slopes of the link: 1 for the linear model."""
    safety: float
    """The first step is this share of the best one."""

    def interval(self, at: Point, failure: Number) -> Interval:
        """Eigenvalues of X'X/n on every s + s* coordinates, times the link's slopes."""
        one, lib = 0 * at["p"] + 1, library(at["p"])
        size = lib.least(at["s"] + self.s, at["p"])
        rows = {"n": at["n"], "d": at["p"], "s": one}
        low, high = restricted_interval(rows, 1.0, size, failure)
        return Interval(self.flattest * low, self.steepest * high)

    def gradient_square(self, at: Point, variance: Number, scale: Number) -> Number:
        """E|r_I|^2 over the worst I: s* places do not depend on the reports, s others do."""
        v, rest = variance / at["n"], at["p"] - at["s"]
        lib = library(v, rest)
        few = lib.least(self.s + 0 * rest, rest)
        top = lib.choose(
            rest <= 0, lambda: 0 * v, lambda: subgamma_top(few, rest, v, scale / at["n"])
        )
        return at["s"] * v + top

    def risk(self, interval: Interval, failure: Number, square: Number) -> Number:
        """The bound of `label_descent_upper`, given where eigenvalues lie."""
        low, high = interval
        lib = library(low, high, square)
        cap = LARGEST[SQUARED] + 0 * square

        def error() -> Number:
            first = low * (high / self.safety - low)
            m = (lib.sqrt(square) + lib.sqrt(square + first)) / low
            return lib.least(m**2 + failure * cap, cap)

        return lib.choose(low > 0, error, lambda: cap)


def label_descent_upper(
    problem: LabelRegressionProblem,
    privacy: Privacy,
    descent: LabelDescent,
    tail_at: Callable[[Point], LabelTail],
    bound: Callable[[Point], Number],
) -> UpperBound:
    r"""Risk of LabelHardThresholding with its own steps, one or many.

    **Statement.** Labels f(<x, theta>) + noise, a <= f' <= b (f(t) = t: a = b = 1), are reported
    within [-B, B] of f(0), B = b sqrt(s) + C, as y~; r = (1/n) sum_i (y~_i - f(<x_i, theta>)) x_i.
    Let [l, h] hold the eigenvalues of X'X/n on every s + s* coordinates but for a chance p, and let
    q^2 = E|r_I|^2, I the support of theta and the s largest other places. After any number of steps

        E|estimate - theta|^2 <= [q + sqrt(q^2 + a l k)]^2/(a l)^2 + 4 p,   k = b h/.99 - a l,

    and never more than 4. The best p is taken.

    **Assumptions.** Rows independent and uniform on {-1, 1}^p, s >= s*, and steps found by the
    estimator: F never rises.

    **Proof.** F, the mean of Phi(<x_i, .>) - y~_i <x_i, .> with Phi' = f, is convex, with gradient
    -r at theta. A step from c minimises Q_c(.) = F(c) + <F'(c), . - c> + |. - c|^2/(2 eta) over the
    s-sparse points of the ball, and it is taken only if F <= Q_c where it leads. So F does not
    rise, and F(c') <= Q_c(theta) <= F(theta) + (1/eta - a l)|theta - c|^2/2, as
    F(theta) >= F(c) + <F'(c), theta - c> + a l |theta - c|^2/2. The first step starts from c = 0
    and leads along the s largest entries of F'(0), whose stiffness sets eta >= .99/(b h): it is
    taken at once. With |theta| <= 1, F - F(theta) <= k/2 ever after. But at an s-sparse point at
    distance m from theta it is at least a l m^2/2 - |r_I| m. Hence a l m <= |r_I| +
    sqrt(|r_I|^2 + a l k), whose square is a concave function of |r_I|^2: Jensen. Given the rows a
    coordinate of r has variance at most v = (variance of a report)/n and a sub-gamma tail:
    `subgamma_top`. Off the event the loss is at most 4.

    **Constants.** As n grows, 4 q^2: about 8 s log(p/s) (B coth(eps/2))^2/n for one-bit labels, the
    rate of WX21: Theorem 6 but for B where C stands there. Closed form: a report's variance is at
    most (B/tanh(e/2))^2 + C^2, its scale 2B/eps, whichever mechanism is taken; for zCDP and GDP
    (2B/mu)^2 + C^2. k does not shrink with the steps, since steps may be halved.

    **Source.** WX21: Algorithms 2 and 5, Theorems 6 and 11, corrected as in LabelHardThresholding.
    """
    defaults = {**problem.point, **privacy.parameters}
    model = type(privacy)

    def optimise(at: Point) -> Optimum:
        tail = tail_at(at)
        square = descent.gradient_square(at, tail.variance, tail.scale)

        def risk(failure: float) -> float:
            return float(descent.risk(descent.interval(at, failure), failure, square))

        failure = min(map(float, FAILURES), key=risk)
        low, high = map(float, descent.interval(at, failure))
        noise = {"variance": tail.variance, "scale": tail.scale}
        return {"failure": failure, "low": low, "high": high, **noise}

    def formula(at: Point, found: Optimum) -> Terms:
        interval = descent.interval(at, found["failure"])
        zero = 0 * at["n"]
        given = (found["variance"] + zero, found["scale"] + zero)
        square = descent.gradient_square(at, *given)
        total = descent.risk(interval, found["failure"], square)
        quiet = descent.risk(interval, found["failure"], 0 * square)
        return Terms(quiet, total - quiet)

    def closed(at: Point, found: Optimum) -> Number:
        B, C = bound(at), at["C"]
        if model in (Pure, Approximate):
            size = B / report_signal(Allowance(model, at))
            variance, scale = size**2 + C**2, 2 * B / at["epsilon"]
        else:
            variance, scale = (2 * B / Allowance(model, at).mu()) ** 2 + C**2, 0 * B
        square = descent.gradient_square(at, variance, scale)
        given = Interval(found["low"], found["high"])
        return descent.risk(given, found["failure"], square)

    return with_remark(
        UpperBound(
            name="thresholded descent on private labels",
            source="WX21: Theorem 6" if problem.b is None else "WX21: Theorem 11",
            parameters=tuple(defaults),
            formula=formula,
            optimise=optimise,
            expression=lambda: closed(LETTERS, optimise(defaults)),
            closed_formula=closed,
            assumptions=(
                Assumption("s* <= s <= p", lambda at: at["s"] <= descent.s <= at["p"]),
                Assumption(RANDOM_ROWS, lambda at: True),
                Assumption("f' <= b", lambda at: at.get("b", 1.0) <= descent.steepest),
            ),
            loss=SQUARED,
            defaults=defaults,
            estimator="LabelHardThresholding",
            settings=lambda at, found: {"s": descent.s, "C": at["C"]},
            zero_release_risk=problem.zero_release_risk,
            resolve=True,
        )
    )
