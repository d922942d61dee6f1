r"""Lower bounds for linear regression (CWZ19 §4.1).

The class: rows x with |x|_2 <= 1 and E x x' = Sigma, whose eigenvalues lie in [1/(L d), L/d];
y = <x, beta> + N(0, sigma^2), |beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. The lower bounds
are proved with uniform signs x in {-1/sqrt d, 1/sqrt d}^d, for which L = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from minimax.core.bound import (
    Assumption,
    Bound,
    LowerBound,
    Optimum,
    Parts,
    Point,
    Prior,
    Terms,
    at_least,
    claimed_bound,
)
from minimax.core.privacy import Approximate, Privacy, Pure, at_point, parameter_names
from minimax.core.symbolic import LETTERS, Expression, Number, library
from minimax.methods.concentration import largest_eigenvalue
from minimax.methods.couplings import RegressionPacking
from minimax.methods.packing import (
    closed_form_size,
    packing_formula,
    packing_search,
    regression_expression,
)
from minimax.methods.priors import RegressionBlockPrior, RegressionPrior
from minimax.methods.score_model import ScoreModel, Traced, best_witness
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


WIDE_BALL = Assumption(
    "n >= sigma sqrt(J), J = 2 d (1 + sqrt(d/2 + 1))^2/radius^2 (the prior's information)",
    lambda p: p["n"] >= p["sigma"] * math.sqrt(ball_information(p["d"], p["radius"])),
)


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
    r"""Tracing with the leave-one-out residual, sign design.

    **Statement.** `minimax.methods.tracing.ScoreModel` with the scores s_i = xi_i x_i/sigma^2,
    xi_i = y_i - <x_i, beta>, information 1/sigma^2, spread 1/(sigma sqrt d) and the ball prior,
    J = 2d (1 + sqrt(d/2+1))^2/radius^2. It bounds E|M - beta|^2 = d R:

        R >= d/(n/sigma^2 + J) + eta^2/d,

    with sqrt(eta^2/d) about sigma d/(n G): roughly sigma^2 d/n + sigma^2 d^2/(n G)^2.

    **Assumptions.** n >= sigma sqrt J.

    **Proof.** M may be projected on the ball. |x_i| = 1, so E|s_i|^2 = 1/sigma^2. For V independent
    of record i, E<V, s_i>^2 = |V|^2/(d sigma^2), and <V, s_i> is xi times a weighted sum of signs:
    `GAUSSIAN_PRODUCT` gives the G of (eps, delta) and pure budgets, which up to eps = .99 is that
    of a Gaussian score; it is not sub-Gaussian, so zCDP and GDP go through chi-square, which costs
    next to nothing while rho is small. For delta > 0 see `RegressionLeak`.

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
        statistics, privacy = scores.proved(G, found)
        return Terms(statistics / p["d"], privacy / p["d"])

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
        assumptions=(WIDE_BALL,),
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


def _model(model: type[Privacy], p: Point, leak: Number = 1) -> ScoreModel:
    n, d, sigma, radius = p["n"], p["d"], p["sigma"], p["radius"]
    spread = 1 / (sigma * library(d).sqrt(d))
    scores = (n, d, 1 / sigma**2, spread, ball_information(d, radius))
    if model is not Approximate:
        return ScoreModel(*scores)
    return ScoreModel(*scores, leak_square=leak**2, leak=RegressionLeak(n, d, sigma, radius))


@dataclass(frozen=True)
class RegressionLeak:
    r"""The delta term of `tracing`.

    A_i = <N, s_i> + kappa |s_i|^2 and |s_i|^2 = xi_i^2/sigma^4, so E|s|^4 = 3/sigma^4 and
    sum_i <N, s_i>^2 <= |N|^2 lambda_max(S), S = sum xi_i^2 x_i x_i'/sigma^4. Unless some
    xi_i^2 > b^2 sigma^2 (chance at most n e^{-b^2/2} = e^{-t}), S is a sum of matrices below
    b^2/sigma^2, of mean n I/(d sigma^2) and with sum E Y_i^2 <= 3 n I/(d sigma^4), so
    `largest_eigenvalue` at x = log d + t bounds it with a further chance e^{-t}. On the rest, of
    chance at most 2 e^{-t}, |N|^2 <= 3 (4 radius^2 + kappa^2 |sum s_i|^2 + kappa^2 |grad log pi|^2)
    (four terms with side information), |sum s_i|^2 <= n F and lambda_max(S) <= F = sum |s_i|^2;
    F is independent of beta, and Cauchy-Schwarz with E F^2 = n(n+2)/sigma^4,
    E F^4 = n(n+2)(n+4)(n+6)/sigma^8 ends it.
    """

    n: Number
    d: Number
    sigma: Number
    radius: Number

    def terms(self, kappa: Number, side: Number, t: Number) -> tuple[Number, Number, Number]:
        """(slope, tail, own) of `minimax.methods.score_model.Leak`."""
        use = library(self.n)
        n, d, precision = self.n, self.d, 1 / self.sigma**2
        top = largest_eigenvalue(
            n * precision / d,
            3 * n * precision**2 / d,
            2 * (use.log(n) + t) * precision,
            use.log(d) + t,
        )
        F2 = n * (n + 2) * precision**2
        F4 = F2 * (n + 4) * (n + 6) * precision**2
        J = ball_information(d, self.radius)
        pieces = (4 * self.radius**2 + kappa**2 * (J + side)) * use.sqrt(F2)
        pieces += kappa**2 * n * use.sqrt(F4)
        tail = (3 if side == 0 else 4) * use.sqrt(2) * use.exp(-t / 2) * pieces
        return use.sqrt(top), tail, kappa * use.sqrt(3 * n) * precision

    def closed_form_t(self) -> Number:
        """e^{-t/2} = (nd)^{-3} (1 + radius/sigma)^{-2}."""
        use = library(self.n)
        return 6 * use.log(self.n * self.d + 1) + 4 * use.log1p(self.radius / self.sigma)


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
        return regression_expression(model, library(d).log(d / s if sparse else 2), s)

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


def claimed_theorem_4_1() -> Bound:
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


def lower_bounds(model: type[Privacy]) -> list[Bound]:
    """Every lower bound for the class `regression` under one privacy definition."""
    bounds = [
        statistical(),
        tracing(model),
        *([tracing(model, shifted=True)] if model in (Pure, Approximate) else []),
        dense_packing(model),
    ]
    return bounds + ([claimed_theorem_4_1()] if model is Approximate else [])
