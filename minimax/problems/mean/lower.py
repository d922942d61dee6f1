r"""Lower and upper bounds for estimating a mean vector (CWZ19 §3.1, §3.2).

Two classes. `mean`: sub-Gaussian(sigma) laws on R^d with |mean_j| <= radius. `bounded-mean`: laws
on [-sigma, sigma]^d, whose bounds are proved in `minimax.problems.bounded_mean.lower` with sign
data. Diluted sign data lie in both classes, so that bound serves both.
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
from minimax.methods.couplings import BlockPacking, Data
from minimax.methods.packing import (
    closed_form_size,
    packing_expression,
    packing_formula,
    packing_search,
)
from minimax.methods.priors import BlockPrior, CosinePrior
from minimax.methods.score_model import ScoreModel, Traced, best_witness
from minimax.methods.tracing import GAUSSIAN, PAIR, choices, chosen_gain, closed_gain, gain
from minimax.methods.van_trees import cosine_information, van_trees
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.diluted import dilution

WIDE_PRIOR = Assumption(
    "n * radius >= pi * sigma (the prior is not sharper than the data)",
    lambda p: p["n"] * p["radius"] >= math.pi * p["sigma"],
)


# --- Gaussian data -------------------------------------------------------------------------------


def statistical_gaussian() -> LowerBound:
    r"""**Statement.** R >= d^2/(nd/sigma^2 + d pi^2/a^2) for N(mu, sigma^2 I), |mu_j| <= a.

    **Proof.** `van_trees` with the cosine-squared prior. **Source.** the statistical term of
    CWZ19: Theorem 3.1, with its constant.
    """
    return LowerBound(
        name="van Trees: Gaussian data",
        source="CWZ19: Theorem 3.1 (first term)",
        parameters=("n", "d", "sigma", "radius"),
        formula=lambda p, found: Terms(_gaussian_statistics(p), None),
        expression=lambda: _gaussian_statistics(LETTERS),
        prior_at=_cosine_prior,
        slack=1.0,
    )


def _gaussian_statistics(p: Point) -> Number:
    d = p["d"]
    return van_trees(d, p["n"] * d / p["sigma"] ** 2, cosine_information(d, p["radius"]))


def _cosine_prior(p: Point, parts: Parts) -> Prior:
    return CosinePrior(int(p["d"]), p["radius"], p["sigma"])


def tracing_gaussian(model: type[Privacy], *, shifted: bool = False) -> LowerBound:
    r"""Tracing with the leave-one-out residual, Gaussian data.

    **Statement.** For N(mu, sigma^2 I_d), |mu_j| <= a: `minimax.methods.tracing.ScoreModel` with
    the scores (x_i - mu)/sigma^2, information d/sigma^2, spread 1/sigma and the cosine-squared
    prior, J = d pi^2/a^2. With kappa = d/(nd/sigma^2 + J) it gives R >= kappa d + eta^2, eta the
    root of

        d - kappa J - sqrt(J) eta = (n G/sigma) sqrt(eta^2 + 2 kappa sqrt(J) eta/n
            + kappa^2 d/sigma^2) + leak sqrt(n) D,  for any t > 0
        D = sqrt((sqrt n + sqrt d + t)^2 eta^2/sigma^2 + tail_t) + kappa sqrt(n d (d+2))/sigma^2.

    Roughly sigma^2 d/n + sigma^2 d^2/(n G)^2: statistics plus privacy.

    **Assumptions.** n a >= pi sigma.

    **Proof.** M may be projected on [-a, a]^d. A score's inner product with an independent V is
    N(0, |V|^2/sigma^2). For delta > 0, lambda_max(sum s_i s_i') <= (sqrt n + sqrt d + t)^2/sigma^2
    but for a chance e^{-t^2/2} (Davidson and Szarek) whose contribution, by Cauchy-Schwarz with
    |M - mu|^2 <= 4 a^2 d and |sum s_i|^2 <= n F, F = sum |s_i|^2, is tail_t =
    3 q [(4 a^2 d + kappa^2 J) sqrt(E F^2) + kappa^2 n sqrt(E F^4)], q = e^{-t^2/4}; with side
    information there are four terms in place of three.

    **Constants.** `shifted=False` takes G from the moment bound as it stands,
    sqrt(2/pi) sinh(eps) + e^{-eps} sqrt(delta/2), and leak = sqrt(delta). `shifted=True` takes them
    from the record's own channel (`gain_at`): for small delta G is half as large at eps = 1/2 and a
    quarter at eps = 2, and leak about twice. The closed form linearises the square root and takes
    t^2 = 4 log((nd)^3 (1 + a/sigma)^2); it is within the stated factor in its regime.

    **Source.** CWZ19: Theorem 3.1 (privacy term), by a proof that keeps its constants.
    """

    def traced(p: Point, found: Optimum) -> Traced:
        G = chosen_gain(model, p, GAUSSIAN, found)
        return _gaussian_model(model, p, G.leak), G.own

    def optimise(p: Point) -> Optimum:
        member = _gaussian_model(model, p).member()
        tried = choices(model, p, GAUSSIAN, member=member) if shifted else [PAIR]
        return best_witness(tried, lambda found: traced(p, found))

    def formula(p: Point, found: Optimum) -> Terms:
        scores, G = traced(p, found)
        return Terms(*scores.proved(G, found))

    def expression() -> Expression:
        G = closed_gain(model, GAUSSIAN, shifted=shifted)
        return _gaussian_model(model, LETTERS, G.leak).closed_form(G.own)

    return LowerBound(
        name="tracing: Gaussian data" + (", shifted score" if shifted else ""),
        source=f"{THIS_WORK}: tracing_gaussian (for CWZ19: Theorem 3.1)",
        parameters=("n", "d", "sigma", "radius", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        assumptions=(WIDE_PRIOR,),
        prior_at=_cosine_prior,
        slack=3.0 if model is not Approximate else 4.0,
        slack_regime=Assumption(
            "d >= 16 G^2 and delta n d <= 1/100",
            lambda p: (
                math.sqrt(p["d"]) >= 4 * gain(at_point(model, p), GAUSSIAN, shifted=shifted)
                and p.get("delta", 0.0) * p["n"] * p["d"] <= 0.01
            ),
        ),
    )


def _gaussian_model(model: type[Privacy], p: Point, leak: Number = 1) -> ScoreModel:
    n, d, sigma, radius = p["n"], p["d"], p["sigma"], p["radius"]
    scores = (n, d, d / sigma**2, 1 / sigma, cosine_information(d, radius))
    if model is not Approximate:
        return ScoreModel(*scores)
    return ScoreModel(*scores, leak_square=leak**2, leak=GaussianLeak(n, d, sigma, radius))


@dataclass(frozen=True)
class GaussianLeak:
    """The delta term of `tracing_gaussian`, scores (x_i - mu)/sigma^2: see its proof."""

    n: Number
    d: Number
    sigma: Number
    radius: Number

    def terms(self, kappa: Number, side: Number, t: Number) -> tuple[Number, Number, Number]:
        """(slope, tail, own) of `minimax.methods.score_model.Leak`."""
        use = library(self.n)
        n, d, variance = self.n, self.d, self.sigma**2
        N = n * d
        F2 = N * (N + 2) / variance**2
        F4 = F2 * (N + 4) * (N + 6) / variance**2
        J = cosine_information(d, self.radius)
        pieces = (4 * self.radius**2 * d + kappa**2 * (J + side)) * use.sqrt(F2)
        pieces += kappa**2 * n * use.sqrt(F4)
        terms = 3 if side == 0 else 4  # |a + b + c|^2 <= 3 (...), |a + b + c + e|^2 <= 4 (...)
        tail = terms * use.exp(-(t**2) / 4) * pieces
        slope = (use.sqrt(n) + use.sqrt(d) + t) / self.sigma
        return slope, tail, kappa * use.sqrt(n * d * (d + 2)) / variance

    def closed_form_t(self) -> Number:
        """q = e^{-t^2/4} = (nd)^{-3} (1 + a/sigma)^{-2}."""
        use = library(self.n)
        width = use.log1p(self.radius / self.sigma)
        return 2 * use.sqrt(3 * use.log(self.n * self.d) + 2 * width)


# --- Packing and claims --------------------------------------------------------------------------


def dense_packing(model: type[Privacy], data: Data = "sub-Gaussian") -> LowerBound:
    r"""Packing of {-1, 1}^d. See `minimax.methods.packing.packing_formula` (blocks of size one, s =
    d)."""

    def packing(p: Point) -> BlockPacking:
        return BlockPacking(p["n"], 1, int(p["d"]), p["sigma"], p.get("radius", p["sigma"]), data)

    own = ("n", "d", "sigma") if data == "bounded" else ("n", "d", "sigma", "radius")
    return LowerBound(
        name=f"packing: {data} data",
        source=f"{THIS_WORK}: packing_bound",
        parameters=(*own, *parameter_names(model)),
        optimise=lambda p: packing_search(packing(p), at_point(model, p)),
        formula=lambda p, found: Terms(
            None, packing_formula(packing(p), at_point(model, p), found)
        ),
        expression=lambda: packing_expression(
            model, library(LETTERS["d"]).log(2), LETTERS["d"], data
        ),
        assumptions=(at_least("n", 4),),
        prior_at=lambda p, parts: BlockPrior(
            int(p["d"]), int(p["d"]), parts.optimum["alpha"], parts.optimum["height"]
        ),
        slack=300.0,
        slack_regime=Assumption(
            "d >= 18, radius <= 10 sigma and 1 <= N_0 <= n/10",
            lambda p: (
                p["d"] >= 18
                and p.get("radius", p["sigma"]) <= 10 * p["sigma"]
                and 1 <= closed_form_size(1, int(p["d"]), at_point(model, p)) <= p["n"] / 10
            ),
        ),
    )


def claimed_theorem_3_1() -> Bound:
    r"""CWZ19: Theorem 3.1 as claimed: sigma^2 (d/n + d^2 log(1/delta)/(n eps)^2)."""

    def rate(p: Point) -> Terms:
        privacy = p["d"] ** 2 * library(p["delta"]).log(1 / p["delta"])
        square = (p["n"] * p["epsilon"]) ** 2
        return Terms(p["sigma"] ** 2 * p["d"] / p["n"], p["sigma"] ** 2 * privacy / square)

    return claimed_bound(
        LowerBound,
        "tracing: claimed rate of Theorem 3.1",
        "CWZ19: Theorem 3.1",
        ("n", "d", "sigma", "epsilon", "delta"),
        rate,
        assumptions=(
            Assumption("epsilon < 1", lambda p: p["epsilon"] < 1),
            Assumption(
                "e^(-n eps)/n < delta < 1/n",
                lambda p: math.exp(-p["n"] * p["epsilon"]) / p["n"] < p["delta"] < 1 / p["n"],
            ),
            Assumption(
                "n >= sqrt(d log(1/delta))/epsilon",
                lambda p: p["n"] * p["epsilon"] >= math.sqrt(p["d"] * math.log(1 / p["delta"])),
            ),
        ),
    )


def lower_bounds(model: type[Privacy]) -> list[Bound]:
    """Every lower bound for the class `mean` under one privacy definition."""
    bounds = [
        statistical_gaussian(),
        tracing_gaussian(model),
        *([tracing_gaussian(model, shifted=True)] if model in (Pure, Approximate) else []),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model),
    ]
    return bounds + ([claimed_theorem_3_1()] if model is Approximate else [])
