r"""Lower bounds for logistic regression: the score attack (Cai, Wang and Zhang, 2023).

The class: rows x with |x|_2 <= 1 and E x x' = I/d; y in {0, 1} with
P(y = 1 | x) = 1/(1 + exp(-<x, beta>)), |beta|_2 <= radius. Loss |estimate - beta|^2/d. Proved with
uniform signs x in {-1/sqrt d, 1/sqrt d}^d.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from minimax.core.bound import Assumption, LowerBound, Optimum, Parts, Point, Prior, Terms
from minimax.core.once import made_once
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    ZeroConcentrated,
    at_point,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library
from minimax.methods.antipodal_gain import pointwise_pair_gain
from minimax.methods.concentration import largest_eigenvalue
from minimax.methods.priors import LogisticPrior
from minimax.methods.score_model import ScoreModel, SecondMoments, Traced, best_witness
from minimax.methods.tracing import (
    BOUNDED_PRODUCT,
    choices,
    chosen_gain,
    closed_gain,
    gain,
    gain_at,
)
from minimax.methods.van_trees import ball_information, van_trees
from minimax.papers import THIS_WORK
from minimax.problems.regression.problem import LOSS

NAMES = ("n", "d", "radius")


def statistical() -> LowerBound:
    r"""**Statement.** R >= d/(n/4 + J), J the information of the ball prior.

    **Proof.** `van_trees`: the score of a record is (y - p) x, p = P(y = 1 | x), and
    E (y - p)^2 |x|^2 = E p(1 - p) <= 1/4; the loss is |.|^2/d.
    """
    return LowerBound(
        name="van Trees: sign design",
        source=f"{THIS_WORK}: logistic.statistical",
        parameters=NAMES,
        formula=lambda p, found: Terms(_statistics(p), None),
        expression=lambda: _statistics(LETTERS),
        prior_at=_ball_prior,
        slack=1.0,
        loss=LOSS,
    )


def _statistics(p: Point) -> Number:
    return van_trees(p["d"], p["n"] / 4, ball_information(p["d"], p["radius"])) / p["d"]


def _ball_prior(p: Point, parts: Parts) -> Prior:
    return LogisticPrior(int(p["d"]), p["radius"])


def tracing(model: type[Privacy]) -> LowerBound:
    r"""The score attack.

    **Statement.** `minimax.methods.score_model.ScoreModel` with the scores s_i = (y_i - p_i) x_i,
    information at most 1/4, spread 1/(2 sqrt d) and the ball prior, J = 2d (1 +
    sqrt(d/2+1))^2/radius^2. It bounds E|M - beta|^2 = d R; without delta

        R >= 1/(J/d + 1/q),   q = (1 - 1/n) 4d/n + (2d/(n G))^2.

    **Proof.** M may be projected on the ball. E|s_i|^2 = E p(1-p) <= 1/4, known only up to that
    bound (`exact=False`). For V independent of record i, E<V, s_i>^2 = E p(1-p) <V, x_i>^2 <=
    |V|^2/(4d); y - p is sub-Gaussian(1/2) given x (Hoeffding), so <V, s_i> is such a number times
    a weighted sum of signs: `BOUNDED_PRODUCT`. For delta > 0 see `LogisticLeak`.

    **Source.** Cai, Wang and Zhang (2023), the score attack, with the constants of this work.
    """

    def traced(p: Point, found: Optimum) -> Traced:
        G = chosen_gain(model, p, BOUNDED_PRODUCT, found)
        return _model(model, p, G.leak), G.own

    def optimise(p: Point) -> Optimum:
        member = _model(model, p).member()
        tried = choices(model, p, BOUNDED_PRODUCT, member=member)
        return best_witness(tried, lambda found: traced(p, found))

    def formula(p: Point, found: Optimum) -> Terms:
        scores, G = traced(p, found)
        statistics, privacy = scores.proved(G, found)
        return Terms(statistics / p["d"], privacy / p["d"])

    def expression() -> Expression:
        G = closed_gain(model, BOUNDED_PRODUCT)
        return _model(model, LETTERS, G.leak).closed_form(G.own) / LETTERS["d"]

    return LowerBound(
        name="tracing: score attack, sign design",
        source=f"{THIS_WORK}: logistic.tracing",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=_ball_prior,
        slack=4.0,
        slack_regime=Assumption(
            "d >= 16 G^2, epsilon <= 4, delta n d <= 1/1000 and log(n d) <= n/(100 d)",
            lambda p: (
                math.sqrt(p["d"]) >= 4 * gain(at_point(model, p), BOUNDED_PRODUCT)
                and p.get("epsilon", 0.0) <= 4
                and p.get("delta", 0.0) * p["n"] * p["d"] <= 1e-3
                and math.log(p["n"] * p["d"]) <= p["n"] / (100 * p["d"])
            ),
        ),
        loss=LOSS,
    )


def antipodal_pairs(model: type[Privacy]) -> LowerBound:
    r"""The score attack, by the two labels of a row, under zCDP or Gaussian DP.

    **Statement.** `tracing` with the gain `pointwise_pair_gain`, or its own if that is less: to
    leading order G^2 = rho/2 or mu^2/4, so that R is about 4d/n + 8 d^2/(rho n^2), which one noisy
    gradient at 0 reaches where beta is small.

    **Proof.** The score takes the values (1 - p) x and -p x, which are not opposite, but they meet
    the two labels of x with the same weight: with q_{x,y} the law of the release given the record,
    everything else fixed, and m its mean over records,

        E<V, s> = E_x p (1 - p) int <V, x> (q_{x,1} - q_{x,0}).

    `pointwise_pair_gain` is about any two records and any mixture m of neighbours: it says
    int (q_{x,1} - q_{x,0})^2/m <= 4 g^2. So, with S = E_m V V' and Cauchy-Schwarz against m,
    E<V, s> <= (1/4) 2g E sqrt(x'S x) <= (g/2) sqrt(tr S/d), as E x x' = I/d: G = g.

    **Source.** this work.
    """

    def gain_of(p: Point) -> Number:
        pair = pointwise_pair_gain(model, p)
        return library(pair).least(pair, gain_at(model, p, BOUNDED_PRODUCT).own)

    def formula(p: Point, found: Optimum) -> Terms:
        statistics, privacy = _model(model, p).proved(gain_of(p), found)
        return Terms(statistics / p["d"], privacy / p["d"])

    return LowerBound(
        name="tracing: score attack, sign design, antipodal pairs",
        source=f"{THIS_WORK}: logistic.antipodal_pairs",
        parameters=(*NAMES, *parameter_names(model)),
        formula=formula,
        expression=lambda: _model(model, LETTERS).closed_form(gain_of(LETTERS)) / LETTERS["d"],
        prior_at=_ball_prior,
        slack=4.0,
        loss=LOSS,
    )


def _model(model: type[Privacy], p: Point, leak: Number = 1) -> ScoreModel:
    n, d, radius = p["n"], p["d"], p["radius"]
    quarter = n / (4 * n)  # of the kind of number that n is
    spread = 1 / (2 * library(d).sqrt(d))
    scores = (n, d, quarter, spread, ball_information(d, radius), False)
    if model is not Approximate:
        return ScoreModel(*scores)
    return ScoreModel(*scores, leak_square=leak**2, leak=LogisticLeak(n, d, radius))


@dataclass(frozen=True)
class LogisticLeak:
    r"""The second moments of the scores, h = 1.

    |s_i|^2 = (y_i - p_i)^2 <= 1, and E|s_i|^6 <= E|s_i|^4 = E p(1-p)(1 - 3p(1-p)) <= 1/12. The
    matrices s_i s_i' are below 1, with sum of means at most n I/(4d) and of squares at most
    n I/(12 d), so `largest_eigenvalue` at x = log d + t bounds sum s_i s_i' but for a chance
    e^{-t}, whatever beta. On the rest the eigenvalue is at most n and, as D^2/I and x^2/J are at
    most the risk, |N|^2 <= 3 (4 a^2)(1 + |sum s_i|^2/I + |grad log pi|^2/J), a the radius,
    |sum s_i|^2 <= n^2 and I = n/4.

    The cubes s_i |s_i|^2 = (y_i - p_i)^3 x_i have a mean tau given beta that is not 0:
    tau = E f x, f = p(1-p)(1-2p) <= 1/(6 sqrt 3), so |tau|^2 <= E f^2/d <= 1/(108 d), as <x, v>^2
    has mean 1/d for every unit vector v. So E|sum_i s_i |s_i|^2|^2 <= n/12 + n (n - 1)/(108 d).
    """

    n: Number
    d: Number
    radius: Number

    def moments(self, t: Number) -> SecondMoments:
        """See `minimax.methods.score_model.SecondMoments`."""
        use = library(self.n)
        n, twelfth = self.n, self.n / (12 * self.n)
        top = largest_eigenvalue(n / (4 * self.d), twelfth * n / self.d, 1, use.log(self.d) + t)
        tail = 12 * self.radius**2 * n * use.exp(-t) * (2 + 4 * n)
        wobble = twelfth + (n - 1) / (108 * self.d)
        return SecondMoments(use.sqrt(top), tail, twelfth, wobble)

    def closed_form_t(self) -> Number:
        """e^{-t} = (nd + 1)^{-4} (1 + radius)^{-2}."""
        use = library(self.n)
        return 4 * use.log(self.n * self.d + 1) + 2 * use.log1p(self.radius)


@made_once
def lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `logistic` under one privacy definition."""
    pairs = [antipodal_pairs(model)] if model in (ZeroConcentrated, Gaussian) else []
    return [statistical(), tracing(model), *pairs]
