r"""Lower bounds for linear regression (CWZ19 §4.1).

The class: rows x with |x|_2 <= 1 and E x x' = Sigma, whose eigenvalues lie in [1/(L d), L/d];
y = <x, beta> + N(0, sigma^2), |beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. The lower bounds
are proved with uniform signs x in {-1/sqrt d, 1/sqrt d}^d, for which L = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from minimax.core.bound import Assumption, LowerBound, Optimum, Parts, Point, Prior, Terms, at_least
from minimax.core.claimed import claimed_bound
from minimax.core.once import made_once
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
    at_point,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library
from minimax.methods.antipodal_gain import average_pair_gain, pointwise_pair_gain
from minimax.methods.concentration import largest_eigenvalue
from minimax.methods.couplings import RegressionPacking
from minimax.methods.packing import (
    closed_form_size,
    packing_formula,
    packing_search,
    sign_design_expression,
)
from minimax.methods.priors import RegressionBlockPrior, RegressionPrior
from minimax.methods.resampled_sign import sign_contraction
from minimax.methods.score_model import ScoreModel, SecondMoments, Traced, best_witness
from minimax.methods.tracing import GAUSSIAN_PRODUCT, PAIR, choices, chosen_gain, closed_gain, gain
from minimax.methods.van_trees import ball_information, van_trees
from minimax.papers import THIS_WORK
from minimax.problems.regression.problem import LOSS

NAMES = ("n", "d", "sigma", "radius")


PAPER_BUDGET = (
    Assumption("epsilon < 1", lambda p: p["epsilon"] < 1),
    Assumption("delta < 1/n", lambda p: p["delta"] < 1 / p["n"]),
)
"""What CWZ19: Theorems 4.1 and 4.3 ask of the budget (delta < n^-(1+omega) for some omega > 0)."""


def statistical() -> LowerBound:
    r"""**Statement.** R >= d/(n/sigma^2 + J), J the information of the ball prior.

    **Proof.** `van_trees`: a score is (y - <x, beta>) x/sigma^2 and |x| = 1, so n records have
    information n/sigma^2; the loss is |.|^2/d. **Source.** the statistical term of CWZ19:
    Theorem 4.1, with its constant.
    """
    return LowerBound(
        name="van Trees: sign design",
        source="CWZ19: Theorem 4.1 (first term)",
        parameters=NAMES,
        formula=lambda p, found: Terms(_statistics(p), None),
        expression=lambda: _statistics(LETTERS),
        prior_at=_ball_prior,
        slack=1.0,
        loss=LOSS,
    )


def _statistics(p: Point) -> Number:
    J = ball_information(p["d"], p["radius"])
    return van_trees(p["d"], p["n"] / p["sigma"] ** 2, J) / p["d"]


def _ball_prior(p: Point, parts: Parts) -> Prior:
    return RegressionPrior(int(p["d"]), p["radius"], p["sigma"])


def tracing(model: type[Privacy], *, shifted: bool = False) -> LowerBound:
    r"""Tracing, sign design.

    **Statement.** `minimax.methods.score_model.ScoreModel` with the scores s_i = xi_i x_i/sigma^2,
    xi_i = y_i - <x_i, beta>, information 1/sigma^2, spread 1/(sigma sqrt d) and the ball prior,
    J = 2d (1 + sqrt(d/2+1))^2/radius^2. It bounds E|M - beta|^2 = d R; without delta

        R >= 1/(J/d + 1/q),   q = (1 - 1/n) sigma^2 d/n + (sigma d/(n G))^2.

    **Proof.** M may be projected on the ball. |x_i| = 1, so E|s_i|^2 = 1/sigma^2. For V independent
    of record i, E<V, s_i>^2 = |V|^2/(d sigma^2), and <V, s_i> is xi times a weighted sum of signs:
    `GAUSSIAN_PRODUCT` gives the G of (eps, delta) and pure budgets, which up to eps = .99 is that
    of a Gaussian score; it is not sub-Gaussian, so zCDP and GDP go through chi-square here. For
    delta > 0 see `RegressionLeak`.

    **Constants.** `shifted` as in `minimax.problems.mean.lower.tracing_gaussian`. The prior's J is
    within 5.5 % of the least possible, 4 j^2 with j the first zero of the Bessel function of order
    d/2 - 1, and has a closed form.

    **Source.** CWZ19: Theorem 4.1 (privacy term), by a proof that keeps its constants; the paper's
    drops a boundary term of its truncated normal prior.
    """

    def traced(p: Point, found: Optimum) -> Traced:
        G = chosen_gain(model, p, GAUSSIAN_PRODUCT, found)
        return _model(model, p, G.leak), G.own

    def optimise(p: Point) -> Optimum:
        member = _model(model, p).member()
        tried = choices(model, p, GAUSSIAN_PRODUCT, member=member) if shifted else [PAIR]
        return best_witness(tried, lambda found: traced(p, found))

    def formula(p: Point, found: Optimum) -> Terms:
        scores, G = traced(p, found)
        return _per_coefficient(p, scores.proved(G, found))

    def expression() -> Expression:
        G = closed_gain(model, GAUSSIAN_PRODUCT, shifted=shifted)
        return _model(model, LETTERS, G.leak).closed_form(G.own) / LETTERS["d"]

    return LowerBound(
        name="tracing: sign design" + (", shifted score" if shifted else ""),
        source=f"{THIS_WORK}: regression.tracing (for CWZ19: Theorem 4.1)",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=_ball_prior,
        slack=4.0,
        slack_regime=Assumption(
            "d >= 16 G^2, epsilon <= 4, delta n d <= 1/1000 and log(n d) <= n/(100 d)",
            lambda p: (
                math.sqrt(p["d"]) >= 4 * gain(at_point(model, p), GAUSSIAN_PRODUCT, shifted=shifted)
                and p.get("epsilon", 0.0) <= 4
                and p.get("delta", 0.0) * p["n"] * p["d"] <= 1e-3
                and math.log(p["n"] * p["d"]) <= p["n"] / (100 * p["d"])
            ),
        ),
        loss=LOSS,
    )


def antipodal_pairs(model: type[Privacy]) -> LowerBound:
    r"""Tracing with antipodal pairs, sign design, under zCDP or Gaussian DP.

    **Statement.** `tracing` with the gain sqrt(2/pi) `pointwise_pair_gain`: to leading order
    G^2 = rho/pi or mu^2/(2 pi), so that R is about sigma^2 d/n + pi sigma^2 d^2/(rho n^2), which
    the noisy sign of the residuals reaches.

    **Proof.** Given x, the residual xi and its opposite are equally likely, and the scores are
    opposite. With y = xi x sqrt(d)/sigma and Delta_y <= 4 g^2 for every y, as in
    `minimax.problems.mean.lower.antipodal_gaussian`, E<V, y> <= g E sqrt(y'S y), S = E_m V V'; here
    that is g E|xi/sigma| E sqrt(d x'S x) <= g sqrt(2/pi) sqrt(tr S), as E x x' = I/d. Where rho is
    large, `average_pair_gain` for a score of unit covariance that need not be sub-Gaussian is less.

    **Source.** this work.
    """

    def gain_of(p: Point) -> Number:
        use = library(p["d"])
        pointwise = use.sqrt(2 / use.pi) * pointwise_pair_gain(model, p)
        return use.least(pointwise, average_pair_gain(model, p, sub_gaussian=False))

    def formula(p: Point, found: Optimum) -> Terms:
        return _per_coefficient(p, _scores(p).proved(gain_of(p), found))

    return LowerBound(
        name="tracing: sign design, antipodal pairs",
        source=f"{THIS_WORK}: regression.antipodal_pairs (for CWZ19: Theorem 4.1)",
        parameters=(*NAMES, *parameter_names(model)),
        formula=formula,
        expression=lambda: _scores(LETTERS).closed_form(gain_of(LETTERS)) / LETTERS["d"],
        prior_at=_ball_prior,
        slack=4.0,
        loss=LOSS,
    )


def resampled_sign(model: type[Privacy]) -> LowerBound:
    r"""Tracing with only the sign of the residual resampled, sign design.

    **Statement.** `minimax.methods.score_model.ScoreModel` with G = 0, h = |xi|/sigma and
    sqrt(2/pi) T^2 leaked, T^2 from `minimax.methods.resampled_sign.sign_contraction`: for d << n
    about sigma^2 d/n + (pi/2) sigma^2 d^2/(n T)^2, at any budget.

    **Proof.** The sign of xi is fair given x and |xi|. The weight h puts E|xi| = sqrt(2/pi) sigma
    twice where E xi^2 would stand: in E h, and in the mean of sum_i |xi_i| x_i x_i'.

    **Source.** this work.
    """

    def scores(p: Point) -> ScoreModel:
        use = library(p["d"])
        leaked = use.sqrt(2 / use.pi) * sign_contraction(model, p)
        return replace(_scores(p), leak_square=leaked, leak=_leak(p, weighted=True))

    def formula(p: Point, found: Optimum) -> Terms:
        return _per_coefficient(p, scores(p).proved(0.0, found))

    return LowerBound(
        name="tracing: sign design, resampled sign",
        source=f"{THIS_WORK}: regression.resampled_sign (for CWZ19: Theorem 4.1)",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=lambda p: scores(p).search(0.0),
        formula=formula,
        expression=lambda: scores(LETTERS).closed_form(0) / LETTERS["d"],
        prior_at=_ball_prior,
        slack=2.0,
        slack_regime=Assumption(
            "100 d log(n d) <= n", lambda p: 100 * p["d"] * math.log(p["n"] * p["d"]) <= p["n"]
        ),
        loss=LOSS,
    )


def _scores(p: Point) -> ScoreModel:
    n, d, sigma = p["n"], p["d"], p["sigma"]
    spread = 1 / (sigma * library(d).sqrt(d))
    return ScoreModel(n, d, 1 / sigma**2, spread, ball_information(d, p["radius"]))


def _model(model: type[Privacy], p: Point, leak: Number = 1) -> ScoreModel:
    """The scores, with the leak of a gain if there is a delta."""
    if model is not Approximate:
        return _scores(p)
    return replace(_scores(p), leak_square=leak**2, leak=_leak(p))


def _leak(p: Point, *, weighted: bool = False) -> RegressionLeak:
    return RegressionLeak(p["n"], p["d"], p["sigma"], p["radius"], weighted)


def _per_coefficient(p: Point, terms: tuple[Number, Number]) -> Terms:
    """The loss is that of beta over d."""
    return Terms(terms[0] / p["d"], terms[1] / p["d"])


@dataclass(frozen=True)
class RegressionLeak:
    r"""The second moments of the scores s_i = z_i x_i/sigma, z_i = xi_i/sigma; h = 1, or |z| if
    `weighted`.

    sigma^2 sum s_i s_i'/h_i = sum Y_i, Y_i = y_i x_i x_i' with y = z^2 (or |z|). Unless some
    |z_i| > b (chance at most n e^{-b^2/2} = e^{-t}), 0 <= Y_i <= b^2 (b), the mean of the sum is at
    most n I/d (sqrt(2/pi) n I/d) and that of the squares at most 3 n I/d (n I/d), so
    `largest_eigenvalue` at log d + t bounds it with a further chance e^{-t}. On the rest, of
    chance at most q = 2 e^{-t}, |N|^2 <= 3 (4 a^2)(1 + |sum s_i|^2/I + |grad log pi|^2/J), a the
    radius, as D^2/I and x^2/J are at most the risk. There the eigenvalue is at most Y = sum y_i and
    |sum s_i|^2/I <= W, W = sum z_i^2 (or Y^2/n <= W), while grad log pi is independent of the z_i.
    So the tail is at most 12 a^2/sigma^2 times E 1_q Y (2 + W); by Hoelder's inequality with the
    eighth norm, and as |W^k|_8 = (E W^{8k})^{1/8} <= (n + 8k - 1)^k (the geometric mean of
    n, n + 2, ... is at most their mean) and Y <= sqrt(n W) if weighted, it is at most
    q^{7/8} (2 (n + 7) + (n + 15)^2), or q^{7/8} sqrt(n) (2 sqrt(n + 3) + (n + 11)^{3/2}).

    E|s|^4/h = 3/sigma^4, or E|z|^3/sigma^4 = sqrt(8/pi)/sigma^4. The wobble at
    g = (E|s|^4/h)/E|s|^2 is (15 - 9)/sigma^6, or (3 - 8/pi)/sigma^6.
    """

    n: Number
    d: Number
    sigma: Number
    radius: Number
    weighted: bool = False

    def moments(self, t: Number) -> SecondMoments:
        """See `minimax.methods.score_model.SecondMoments`."""
        use = library(self.n)
        n, precision = self.n, 1 / self.sigma**2
        largest = 2 * (use.log(n) + t)  # b^2
        if self.weighted:
            mean, square, largest = use.sqrt(2 / use.pi), 1, use.sqrt(largest)
            fourth, wobble = use.sqrt(8 / use.pi), 3 - 8 / use.pi
            reached = use.sqrt(n) * (2 * use.sqrt(n + 3) + (n + 11) * use.sqrt(n + 11))
        else:
            mean, square, fourth, wobble = 1, 3, 3, 6
            reached = 2 * (n + 7) + (n + 15) ** 2
        share = n / self.d
        top = largest_eigenvalue(mean * share, square * share, largest, use.log(self.d) + t)
        rare = use.exp(7 * (use.log(2) - t) / 8)
        return SecondMoments(
            slope=use.sqrt(top * precision),
            tail=12 * self.radius**2 * precision * rare * reached,
            fourth=fourth * precision**2,
            wobble=wobble * precision**3,
        )

    def closed_form_t(self) -> Number:
        """e^{-7t/8} = (nd + 1)^{-4} (1 + radius/sigma)^{-2}."""
        use = library(self.n)
        width = use.log1p(self.radius / self.sigma)
        return (32 * use.log(self.n * self.d + 1) + 16 * width) / 7


def dense_packing(model: type[Privacy]) -> LowerBound:
    """`packing` of {-1, 1}^d: blocks of one coefficient, s = d."""
    return packing(model, sparse=False)


def packing(model: type[Privacy], *, sparse: bool) -> LowerBound:
    r"""Packing by s blocks of m = floor(d/s) coefficients, records coupled with those of beta = 0.

    **Statement.** `minimax.methods.packing.packing_formula` with `RegressionPacking`: beta = g v,
    R >= sup r g^2 F, F about 1 - E T_K(q_r), K ~ Poisson(n alpha(g)).
    Dense: s = d, m = 1. **Constants.** Closed form min(2 pi sigma^2 (N_0/(2n))^2, radius^2/s)/8,
    half of it for (eps, delta).
    **Source.** for CWZ19: Theorems 4.1 and 4.3.
    """

    def shape(p: Point) -> tuple[int, int]:
        s = int(p["s"]) if sparse else int(p["d"])
        return int(p["d"]) // s, s

    def coupled(p: Point) -> RegressionPacking:
        return RegressionPacking(p["n"], *shape(p), p["sigma"], p["radius"])

    def expression() -> Expression:
        d, s = LETTERS["d"], LETTERS["s" if sparse else "d"]
        log_size, steepness = library(d).log(d / s if sparse else 2), 2 * library(d).pi
        return sign_design_expression(model, log_size, s, steepness * LETTERS["sigma"] ** 2)

    fits = Assumption("d >= 2 s", lambda p: p["d"] >= 2 * p["s"])
    return LowerBound(
        name="packing: sign design" + (", blocks" if sparse else ""),
        source=f"{THIS_WORK}: packing_bound (for CWZ19: Theorem {'4.3' if sparse else '4.1'})",
        parameters=(
            *(("n", "d", "s", "sigma", "radius") if sparse else NAMES),
            *parameter_names(model),
        ),
        optimise=lambda p: packing_search(coupled(p), at_point(model, p)),
        formula=lambda p, found: Terms(
            None, packing_formula(coupled(p), at_point(model, p), found)
        ),
        expression=expression,
        assumptions=((fits,) if sparse else ()) + (at_least("n", 4),),
        prior_at=lambda p, parts: RegressionBlockPrior(
            int(p["d"]), shape(p)[1], parts.optimum["height"], p["sigma"]
        ),
        slack=1000.0 if model is Approximate else 500.0,
        slack_regime=Assumption(
            "s log(d/s) >= 12 (dense: d >= 18) and 1 <= N_0 <= n/10",
            lambda p: (
                shape(p)[1] * math.log(p["d"] / p["s"] if sparse else 2) >= 12
                and 1 <= closed_form_size(*shape(p), at_point(model, p)) <= p["n"] / 10
            ),
        ),
        loss=LOSS,
    )


def claimed_theorem_4_1() -> LowerBound:
    r"""CWZ19: Theorem 4.1 as claimed: sigma^2 (d/n + d^2/(n eps)^2)."""

    def rate(p: Point) -> Terms:
        n, d, variance = p["n"], p["d"], p["sigma"] ** 2
        return Terms(variance * d / n, variance * (d / (n * p["epsilon"])) ** 2)

    return claimed_bound(
        LowerBound,
        "tracing: claimed rate of Theorem 4.1",
        "CWZ19: Theorem 4.1",
        ("n", "d", "sigma", "epsilon", "delta"),
        rate,
        assumptions=PAPER_BUDGET,
        loss=LOSS,
    )


@made_once
def lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `regression` under one privacy definition."""
    bounds = [
        statistical(),
        tracing(model),
        *([tracing(model, shifted=True)] if model in (Pure, Approximate) else []),
        *([antipodal_pairs(model)] if model in (ZeroConcentrated, Gaussian) else []),
        *([resampled_sign(model)] if model is not Pure else []),
        dense_packing(model),
    ]
    return bounds + ([claimed_theorem_4_1()] if model is Approximate else [])
