r"""Lower and upper bounds for estimating a mean vector (CWZ19 §3.1, §3.2).

Two classes. `mean`: sub-Gaussian(sigma) laws on R^d with |mean_j| <= radius. `bounded-mean`: laws
on [-sigma, sigma]^d, whose bounds are proved in `minimax.problems.bounded_mean.lower` with sign
data. Diluted sign data lie in both classes, so that bound serves both.
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
from minimax.methods.couplings import BlockPacking, Data
from minimax.methods.packing import (
    closed_form_size,
    packing_expression,
    packing_formula,
    packing_search,
)
from minimax.methods.priors import BlockPrior, CosinePrior
from minimax.methods.resampled_sign import sign_contraction
from minimax.methods.score_model import ScoreModel, SecondMoments, Traced, best_witness
from minimax.methods.tracing import GAUSSIAN, PAIR, choices, chosen_gain, closed_gain, gain
from minimax.methods.van_trees import cosine_information, van_trees
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.diluted import dilution

NAMES = ("n", "d", "sigma", "radius")


# --- Gaussian data -------------------------------------------------------------------------------


def statistical_gaussian() -> LowerBound:
    r"""**Statement.** R >= d^2/(nd/sigma^2 + d pi^2/a^2) for N(mu, sigma^2 I), |mu_j| <= a.

    **Proof.** `van_trees` with the cosine-squared prior. **Source.** the statistical term of
    CWZ19: Theorem 3.1, with its constant.
    """
    return LowerBound(
        name="van Trees: Gaussian data",
        source="CWZ19: Theorem 3.1 (first term)",
        parameters=NAMES,
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
    r"""Tracing, Gaussian data.

    **Statement.** For N(mu, sigma^2 I_d), |mu_j| <= a: `minimax.methods.score_model.ScoreModel`
    with the scores (x_i - mu)/sigma^2, information d/sigma^2, spread 1/sigma and the cosine-squared
    prior, J = d pi^2/a^2. Without delta

        R >= d/(pi^2/a^2 + 1/q),   q = (1 - 1/n) sigma^2/n + sigma^2 d/(n G)^2:

    statistics plus privacy, and what the prior knows. For delta > 0 see `GaussianLeak`.

    **Proof.** M may be projected on [-a, a]^d. A score's inner product with an independent V is
    N(0, |V|^2/sigma^2), which `gain_at` takes.

    **Constants.** `shifted=False` takes G from the moment bound as it stands,
    sqrt(2/pi) sinh(eps) + e^{-eps} sqrt(delta/2), and leak = sqrt(delta). `shifted=True` takes them
    from the record's own channel (`gain_at`): for small delta G is half as large at eps = 1/2 and a
    quarter at eps = 2, and leak about twice. The closed form has the same shape, a gain in closed
    form and a t of its own; it is within the stated factor in its regime.

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
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
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


def antipodal_gaussian(model: type[Privacy]) -> LowerBound:
    r"""Tracing with antipodal pairs, Gaussian data, under zCDP or Gaussian DP.

    **Statement.** `tracing_gaussian` with the gain of a symmetric score: to leading order
    G = sqrt(rho/2), or mu/2, half of what it is there, so that
    R is about sigma^2 d/n + 2 sigma^2 d^2/(rho n^2), which the Gaussian mechanism on the ball of
    radius sigma sqrt(d) reaches. For d = 1 it is larger by pi/2.

    **Proof.** mu + y and mu - y are equally likely records, and their scores are opposite. G is the
    least of `average_pair_gain` and of c_d `pointwise_pair_gain`: if
    Delta_y = int (q_y - q_{-y})^2/m <= 4 g^2 for every y, m = E q_y, then
    E<V, y> = (1/2) E int <V, y>(q_y - q_{-y}) <= g E sqrt(y'S y), S = E_m V V'. That is concave in
    S and the same for all rotations of S, so it is largest at S = tr(S) I/d, where it is
    g c_d sqrt(tr S), c_d = E|Z|/sqrt(d), Z ~ N(0, I_d).

    **Constants.** c_d^2 <= 1 - (1 - 2/pi)/d, an equality at d = 1: Watson's
    Gamma(x + 1)/Gamma(x + 1/2) <= sqrt(x + 1/pi) at x = (d - 1)/2. The closed form has the gain's,
    which is at most twice the gain.

    **Source.** this work.
    """
    return LowerBound(
        name="tracing: Gaussian data, antipodal pairs",
        source=f"{THIS_WORK}: antipodal_gaussian (for CWZ19: Theorem 3.1)",
        parameters=(*NAMES, *parameter_names(model)),
        formula=lambda p, found: Terms(*_scores(p).proved(_pair_gain(model, p), found)),
        expression=lambda: _scores(LETTERS).closed_form(_pair_gain(model, LETTERS)),
        prior_at=_cosine_prior,
        slack=4.0,
    )


def _pair_gain(model: type[Privacy], p: Point) -> Number:
    use = library(p["d"])
    mean_length = use.sqrt(1 - (1 - 2 / use.pi) / p["d"])
    return use.least(average_pair_gain(model, p), mean_length * pointwise_pair_gain(model, p))


def resampled_gaussian(model: type[Privacy]) -> LowerBound:
    r"""Tracing with only the sign of a record resampled, Gaussian data.

    **Statement.** `minimax.methods.score_model.ScoreModel` with G = 0 and the leak T^2 of
    `minimax.methods.resampled_sign.sign_contraction`, moments by `GaussianLeak`: for d << n about
    sigma^2 d/n + (1 - T^2) sigma^2 d^2/(n T)^2 (1 + sqrt(d/n))^{-2}. T^2 is at most rho/2, mu^2/4
    or (1 - delta) tanh^2(eps/2) + delta, at any budget.

    **Proof.** As for `antipodal_gaussian`, the score's sign is fair given its size.

    **Source.** this work.
    """

    def optimise(p: Point) -> Optimum:
        return _leaking_scores(p, sign_contraction(model, p)).search(0.0)

    def formula(p: Point, found: Optimum) -> Terms:
        return Terms(*_leaking_scores(p, sign_contraction(model, p)).proved(0.0, found))

    def expression() -> Expression:
        return _leaking_scores(LETTERS, sign_contraction(model, LETTERS)).closed_form(0)

    return LowerBound(
        name="tracing: Gaussian data, resampled sign",
        source=f"{THIS_WORK}: resampled_gaussian (for CWZ19: Theorem 3.1)",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=_cosine_prior,
        slack=2.0,
    )


def _scores(p: Point) -> ScoreModel:
    n, d, sigma = p["n"], p["d"], p["sigma"]
    return ScoreModel(n, d, d / sigma**2, 1 / sigma, cosine_information(d, p["radius"]))


def _leaking_scores(p: Point, leaked: Number) -> ScoreModel:
    leak = GaussianLeak(p["n"], p["d"], p["sigma"], p["radius"])
    return replace(_scores(p), leak_square=leaked, leak=leak)


def _gaussian_model(model: type[Privacy], p: Point, leak: Number = 1) -> ScoreModel:
    """The scores, with the leak of a gain if there is a delta."""
    return _leaking_scores(p, leak**2) if model is Approximate else _scores(p)


@dataclass(frozen=True)
class GaussianLeak:
    r"""The second moments of the scores (x_i - mu)/sigma^2, h = 1.

    lambda_max(sum s_i s_i') = lambda <= (r + Y)^2/sigma^2, r = sqrt n + sqrt d + t, where Y <= 0
    but for a chance e^{-t^2/2} and P(Y > y) <= e^{-(t + y)^2/2} (Davidson and Szarek); so on the
    rare event its k-th power has at most the mean e^{-t^2/2} E(r + Y)^{2k}/sigma^{2k} with Y
    exponential of rate t. There |N|^2 <= 3 (4 a^2 d)(1 + |sum s_i|^2/I + |grad log pi|^2/J), as
    M and mu lie in [-a, a]^d and D^2/I and x^2/J are at most the risk; |sum s_i|^2 <= n lambda, and
    grad log pi is independent of lambda. F = sigma^2|s|^2 is chi-square with d degrees of freedom:
    E F^2 = d(d + 2), E F (F - d - 2)^2 = 2 d (d + 2).
    """

    n: Number
    d: Number
    sigma: Number
    radius: Number

    def moments(self, t: Number) -> SecondMoments:
        """See `minimax.methods.score_model.SecondMoments`."""
        use = library(self.n)
        n, d, variance = self.n, self.d, self.sigma**2
        r = use.sqrt(n) + use.sqrt(d) + t
        square = r**2 + 2 * r / t + 2 / t**2
        fourth = r**4 + 4 * r**3 / t + 12 * r**2 / t**2 + 24 * r / t**3 + 24 / t**4
        reached = 12 * self.radius**2 * d * use.exp(-(t**2) / 2)
        return SecondMoments(
            slope=r / self.sigma,
            tail=reached * (2 * square + fourth / d) / variance,
            fourth=d * (d + 2) / variance**2,
            wobble=2 * d * (d + 2) / variance**3,
        )

    def closed_form_t(self) -> Number:
        """e^{-t^2/2} = (nd + 1)^{-4} (1 + a/sigma)^{-2}."""
        use = library(self.n)
        width = use.log1p(self.radius / self.sigma)
        return 2 * use.sqrt(2 * use.log(self.n * self.d + 1) + width)


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


def claimed_theorem_3_1() -> LowerBound:
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


@made_once
def lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `mean` under one privacy definition."""
    bounds = [
        statistical_gaussian(),
        tracing_gaussian(model),
        *([tracing_gaussian(model, shifted=True)] if model in (Pure, Approximate) else []),
        *([antipodal_gaussian(model)] if model in (ZeroConcentrated, Gaussian) else []),
        *([resampled_gaussian(model)] if model is not Pure else []),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model),
    ]
    return bounds + ([claimed_theorem_3_1()] if model is Approximate else [])
