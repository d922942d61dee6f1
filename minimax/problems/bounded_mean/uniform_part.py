r"""Sign data as a symmetric score: a coordinate is a fair sign, or fixed.

Let b in {-1, 1}^d have independent coordinates of mean p_j, t_j = |p_j|. Then b_j is a fair sign
with chance 1 - t_j and sign(p_j) otherwise. Let S be the set of fair ones; given S and the others,
b and the record with the signs in S reversed are equally likely: an antipodal pair. The score
y_j = (1 + t_j) 1(j in S) b_j is symmetric, and E[y_j | b] = b_j - p_j: given b_j = sign(p_j) it is
fair with chance (1 - t_j)/(1 + t_j), given the other sign it is fair for sure.

The covariance of y is diagonal, (1 - t)(1 + t)^2, up to 32/27. Weights make it at most one: with

    a(p) = (1 + t/2)/(1 + t),   s_j = a(p_j)(b_j - p_j) = E[a(p_j) y_j | b],

a^2 (1 - t)(1 + t)^2 = (1 - t)(1 + t/2)^2 = 1 - 3t^2/4 - t^3/4 <= 1, and s is sub-Gaussian(1) as
a <= 1. So a gain for symmetric scores of unit covariance holds for s: E<V, s> = E<V, a y>, and both
have one mean given a release.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from minimax.core.bound import Assumption, LowerBound, Optimum, Point, Terms
from minimax.core.privacy import Privacy, parameter_names
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.antipodal_gain import average_pair_gain, pointwise_pair_gain
from minimax.methods.concentration import largest_eigenvalue
from minimax.methods.resampled_sign import sign_contraction
from minimax.methods.score_model import ScoreModel, SecondMoments
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.signs import best_on_log_scale, sign_prior

TALL = Assumption(
    "100 d log(n d) <= n (where the eigenvalue's closed form is good)",
    lambda p: 100 * p["d"] * math.log(p["n"] * p["d"]) <= p["n"],
)


def weighted_scores(n: Number, d: Number, u: Number) -> ScoreModel:
    r"""The scores s_i under the prior p_j ~ (1 - p^2)^{u/2 - 1}, u >= 2 (for less, that of 2).

    **Statement.** signal/d = E B, B = (1 - t)(1 + t/2); information/d <= E (1 - t)(1 + t^2/4);
    J/d <= E (1/2 + (u - 1) t - (u - 2) t^2/4)^2.

    **Proof.** Let g = E[m_j | p]. As sum_i E[m_j (b_ij - p_j) | p] = (1 - p_j^2) dg/dp_j and
    a (1 - p^2) = B, integration by parts gives E m_j (sum_i s_ij + r_j) = 0 for every m, where
    r = (B pi)'/pi, pi the prior, whose boundary terms vanish; for m = p it gives
    E p r = -E B. So U = sum s_i + r has E<m - p, U> = d E B. E s_j^2 = E a^2 (1 - p^2) =
    E (1 - t)(1 + t^2/(4 (1 + t))). |r| = (u - 2) t (1 + t/2)/(1 + t) + 1/2 + t, and
    (1 + t/2)/(1 + t) <= 1 - t/4.

    **Constants.** E t = Gamma((u + 1)/2)/(sqrt(pi) Gamma(u/2 + 1)) lies between
    1/sqrt(pi u/2 + 1) and 1/sqrt(pi u/2 + pi/4) (Watson, 1959); E t^2 = 1/(u + 1),
    E t^3 = 2 E t/(u + 2), E t^4 = 3/((u + 1)(u + 3)).
    """
    use = library(n, u)
    if not use.is_symbolic:
        u = use.largest(u, 2 + 0 * u)
    most, least = 1 / use.sqrt(use.pi * (2 * u + 1) / 4), 1 / use.sqrt(use.pi * u / 2 + 1)
    square, fourth = 1 / (u + 1), 3 / ((u + 1) * (u + 3))
    information = 1 - least + square / 4 - least / (2 * (u + 2))
    prior = (u - 1) ** 2 * square + (u - 2) ** 2 * fourth / 16 - (u - 2) * square / 4
    prior += (u - 1) * (most - least * (u - 2) / (u + 2)) + lift(0.25, u)
    return ScoreModel(n, d * (1 - (most + square) / 2), d * information, 1, d * prior, exact=False)


def antipodal_signs(model: type[Privacy]) -> LowerBound:
    r"""Tracing with antipodal pairs for data in {-sigma, sigma}^d, under zCDP or Gaussian DP.

    **Statement.** For every u >= 2, R >= sigma^2 times `minimax.methods.score_model.ScoreModel`
    with `weighted_scores`; to leading order G = sqrt(rho/2) or mu/2, and
    R is about sigma^2 d/n + 2 sigma^2 d^2/(rho n^2), which the Gaussian mechanism reaches.

    **Proof.** Flip the fair signs of a record: see the head of this file. The gain is the lesser of
    `average_pair_gain` and `pointwise_pair_gain`. M/sigma may be clipped to [-1, 1]^d.

    **Constants.** The prior costs E|p| = .8/sqrt(u) of the risk, as the data are less symmetric
    where p is not 0, and u d/(n G)^2. The closed form takes u = 2 + (2g/5)^{2/3},
    1/g = 1/n + d/(n G)^2, and the gain's closed form, which is at most twice the gain.

    **Source.** this work.
    """

    def gain_of(p: Point) -> Number:
        return library(p["n"]).least(average_pair_gain(model, p), pointwise_pair_gain(model, p))

    def optimise(p: Point) -> Optimum:
        n, d, G = p["n"], p["d"], float(gain_of(p))
        return {"u": _best_u(lambda u: sum(weighted_scores(n, d, u).proved(G, {})), n, d, G**2)}

    def formula(p: Point, found: Optimum) -> Terms:
        scores = weighted_scores(p["n"], p["d"], lift(found["u"], p["n"]))
        return _scaled(p, scores.proved(gain_of(p), found))

    def expression() -> Expression:
        n, d, G = LETTERS["n"], LETTERS["d"], gain_of(LETTERS)
        scores = weighted_scores(n, d, _closed_form_u(n, d, G**2))
        return LETTERS["sigma"] ** 2 * scores.closed_form(G)

    return LowerBound(
        name="tracing: sign data, antipodal pairs",
        source=f"{THIS_WORK}: antipodal_signs",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=4.5,
    )


def resampled_signs(model: type[Privacy]) -> LowerBound:
    r"""Tracing with only the fair signs of a record flipped together, data in {-sigma, sigma}^d.

    **Statement.** As `antipodal_signs`, with G = 0 and the leak T^2 of
    `minimax.methods.resampled_sign.sign_contraction`, moments by `SignLeak`; for d << n about
    sigma^2 d/n + sigma^2 d^2/(n T)^2, at any budget.

    **Source.** this work.
    """

    def optimise(p: Point) -> Optimum:
        n, d, leaked = p["n"], p["d"], float(sign_contraction(model, p))
        start = {"t": float(SignLeak(n, d).closed_form_t())}

        def risk(u: float) -> float:
            return float(sum(_leaking_scores(n, d, u, leaked).proved(0.0, start)))

        u = _best_u(risk, n, d, leaked)
        return {"u": u, **_leaking_scores(n, d, u, leaked).search(0.0)}

    def formula(p: Point, found: Optimum) -> Terms:
        u, leaked = lift(found["u"], p["n"]), sign_contraction(model, p)
        return _scaled(p, _leaking_scores(p["n"], p["d"], u, leaked).proved(0.0, found))

    def expression() -> Expression:
        n, d, leaked = LETTERS["n"], LETTERS["d"], sign_contraction(model, LETTERS)
        u = _closed_form_u(n, d, leaked)
        return LETTERS["sigma"] ** 2 * _leaking_scores(n, d, u, leaked).closed_form(0)

    return LowerBound(
        name="tracing: sign data, resampled signs",
        source=f"{THIS_WORK}: resampled_signs",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=2.0,
        slack_regime=TALL,
    )


def _leaking_scores(n: Number, d: Number, u: Number, leaked: Number) -> ScoreModel:
    scores = weighted_scores(n, d, u)
    return replace(scores, leak_square=leaked, leak=SignLeak(n, d, scores.information))


def _best_u(risk: Callable[[float], float], n: float, d: float, square: float) -> float:
    """A good u >= 2 for the squared gain."""
    return max(best_on_log_scale(risk, _closed_form_u(n, d, square)), 2.0)


def _closed_form_u(n: Number, d: Number, square: Number) -> Number:
    """2 + (2g/5)^{2/3}, 1/g = 1/n + d/(n G)^2: E|p| costs as much as twice the prior's J."""
    g = n / (1 + d / (n * square))
    third = (g * 0 + 2) / 3
    return 2 + (2 * g / 5) ** third


def _scaled(p: Point, terms: tuple[Number, Number]) -> Terms:
    """The risk of the mean from that of p."""
    return Terms(p["sigma"] ** 2 * terms[0], p["sigma"] ** 2 * terms[1])


@dataclass(frozen=True)
class SignLeak:
    r"""The second moments of `resampled_signs`: those of <V_i, y_i>, y_ij = (1 + t_j/2) 1(j in S_i)
    b_ij the weighted fair part of record i, h = 1.

    Given p, the y_i are independent, with independent symmetric coordinates at most 3/2 in size,
    E y_j^2 = (1 + t/2)^2 (1 - t) <= 1 and E y_j^4 = (1 + t/2)^4 (1 - t) <= 5/4. So
    y_i y_i' <= 9d/4, the sum of the means is at most n I and that of E|y|^2 y y' at most
    n (d + 1/4) I: `largest_eigenvalue` at log d + t bounds sum y_i y_i' but for a chance e^{-t}. On
    the rest it is at most 9nd/4, and |N|^2 <= 3 (4d)(1 + |sum s_i|^2/I + |r|^2/J), as D^2/I and
    x^2/J are at most the risk, |sum s_i|^2 <= 9 n^2 d/4; r depends on p alone.

    <V_i, y_i> = <N, y_i> + (D/I)<s_i, y_i>, and s_j y_j = a^2 (1 + t) 1(j in S)(1 - p_j b_j) has
    its first two moments below one: (1 + t/2)^2 (1 - t)/(1 + t) and
    (1 + t/2)^4 (1 - t)(1 + t^2)/(1 + t)^2. So E<s, y>^2 <= d^2. The cross term by Cauchy-Schwarz:
    the wobble is slope^2 d^2, whatever E<N, sum s_i> is.
    """

    n: Number
    d: Number
    information: Number = 1
    """Of one record."""

    def moments(self, t: Number) -> SecondMoments:
        """See `minimax.methods.score_model.SecondMoments`."""
        use = library(self.n)
        n, d = self.n, self.d
        top = largest_eigenvalue(n, n * (4 * d + 1) / 4, 9 * d / 4, use.log(d) + t)
        tail = 27 * n * d**2 * use.exp(-t) * (2 + 9 * n * d / (4 * self.information))
        return SecondMoments(use.sqrt(top), tail, d**2, top * d**2)

    def closed_form_t(self) -> Number:
        """e^{-t} = (nd + 1)^{-4}."""
        return 4 * library(self.n).log(self.n * self.d + 1)
