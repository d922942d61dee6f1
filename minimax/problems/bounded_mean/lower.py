"""Lower bounds for the mean of bounded data, proved with sign vectors (CWZ19 §2.3, §3.1)."""

from __future__ import annotations

import math

from minimax.core.bound import LowerBound, Optimum, Point, Terms
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.score_model import ScoreModel
from minimax.methods.van_trees import sign_bayes_risk
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.diluted import dilution, in_sample
from minimax.problems.bounded_mean.signs import (
    SMALL_EPSILON,
    best_on_log_scale,
    closed_sign_gain,
    sign_gain,
    sign_prior,
    sign_shift,
)
from minimax.problems.bounded_mean.uniform_part import antipodal_signs, resampled_signs
from minimax.problems.mean.lower import dense_packing


def statistical_signs() -> LowerBound:
    r"""**Statement.** R >= sigma^2 d/(sqrt n + 1)^2 for data in {-sigma, sigma}^d.

    **Proof.** `sign_bayes_risk` at u = sqrt n; it is the exact minimax risk. **Source.** classical
    (Hodges and Lehmann, 1950).
    """

    def formula(p: Point, found: Optimum) -> Terms:
        risk = sign_bayes_risk(p["n"], lift(found["u"], p["n"]))
        return Terms(p["sigma"] ** 2 * p["d"] * risk, None)

    def expression() -> Expression:
        root = library(LETTERS["n"]).sqrt(LETTERS["n"])
        return LETTERS["sigma"] ** 2 * LETTERS["d"] / (root + 1) ** 2

    return LowerBound(
        name="van Trees: sign data",
        source=f"{THIS_WORK}: statistical_signs",
        parameters=("n", "d", "sigma"),
        optimise=lambda p: {"u": math.sqrt(p["n"])},
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=1.0,
    )


def tracing_signs(model: type[Privacy]) -> LowerBound:
    r"""Fingerprinting for data in {-sigma, sigma}^d.

    **Statement.** For every u > 0, with kappa = u/(u+1),
    R >= sigma^2 (kappa d)^2/((n G)^2 + kappa u d).

    **Proof.** Prior p_j ~ (1 - p^2)^{u/2-1}, b = x/sigma, m = M/sigma. Integration by parts over p:
    sum_i E m_j (b_ij - p_j) = u E p_j m_j, so sum_i E<m - p, b_i - p> = kappa d + u E<p, m - p>
    = kappa d - x. With V = m - p + (x/(kappa u d)) u p the scores A_i = <V, b_i - p> have the same
    sum, and E|V|^2 = r - x^2/(kappa u d), r = E|m - p|^2, as E|u p|^2 = kappa u d. Privacy:
    b - p is 1-sub-Gaussian and |b - p| <= 2 sqrt d, so each E A_i <= G sqrt(E|V|^2) (`gains` with
    member = 2 sqrt d): r >= (kappa d - x)^2/(n G)^2 + x^2/(kappa u d), least at the stated value.

    **Constants.** The closed form takes u = sqrt(2/d) n G.

    **Source.** CWZ19: Lemma 2.1 and §2.3, after Dwork et al. (2015) and Bun, Steinke and Ullman.
    """

    def optimise(p: Point) -> Optimum:
        n, d, shift = p["n"], p["d"], sign_shift(model, p)
        G = float(sign_gain(model, p, shift))
        start = _closed_form_u(n, d, G)
        return {"u": best_on_log_scale(lambda u: _traced(u, n, d, G), start), "shift": shift}

    def formula(p: Point, found: Optimum) -> Terms:
        G = sign_gain(model, p, found["shift"])
        traced = _traced(lift(found["u"], p["n"]), p["n"], p["d"], G)
        return Terms(None, p["sigma"] ** 2 * traced)

    def expression() -> Expression:
        n, d, G = LETTERS["n"], LETTERS["d"], closed_sign_gain(model)
        return LETTERS["sigma"] ** 2 * _traced(_closed_form_u(n, d, G), n, d, G)

    return LowerBound(
        name="tracing: sign data",
        source=f"{THIS_WORK}: tracing_signs (for CWZ19: §2.3)",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=3.0,
        slack_regime=SMALL_EPSILON,
    )


def _traced(u: Number, n: Number, d: Number, G: Number) -> Number:
    kappa = u / (u + 1)
    per_coordinate = (n * G) * (n * G) / d  # infinite where it overflows
    return kappa**2 * d / (per_coordinate + kappa * u)


def _closed_form_u(n: Number, d: Number, G: Number) -> Number:
    return library(d).sqrt(2 / d) * n * G


def tracing_signs_additive(model: type[Privacy]) -> LowerBound:
    r"""Statistics plus privacy for data in {-sigma, sigma}^d.

    **Statement.** For every u > 0, R >= sigma^2 times `minimax.methods.score_model.ScoreModel` with
    the scores b_i - p, signal and information kappa d, kappa = u/(u+1), spread 1 and J = kappa u d.
    Without privacy that is kappa d/(n + u), the exact Bayes risk.

    **Proof.** Prior as in `tracing_signs`, whose integration by parts gives U = sum(b_i - p) - u p,
    the prior's share -u p, E|u p|^2 = u^2 d/(u + 1). Privacy bounds each E A_i by
    G sqrt(E|V_i|^2), the delta term included.

    **Constants.** The closed form takes u = sqrt(g), 1/g = 1/n + d/(n G)^2.

    **Source.** this work: the analogue for signs of `tracing_gaussian`.
    """

    def optimise(p: Point) -> Optimum:
        n, d, shift = p["n"], p["d"], sign_shift(model, p)
        G = float(sign_gain(model, p, shift))

        def risk(u: float) -> float:
            return float(sum(_sign_scores(n, d, u).proved(G, {})))

        return {"u": best_on_log_scale(risk, _additive_u(n, d, G)), "shift": shift}

    def formula(p: Point, found: Optimum) -> Terms:
        scores = _sign_scores(p["n"], p["d"], lift(found["u"], p["n"]))
        statistics, privacy = scores.proved(sign_gain(model, p, found["shift"]), found)
        return Terms(p["sigma"] ** 2 * statistics, p["sigma"] ** 2 * privacy)

    def expression() -> Expression:
        n, d, G = LETTERS["n"], LETTERS["d"], closed_sign_gain(model)
        return LETTERS["sigma"] ** 2 * _sign_scores(n, d, _additive_u(n, d, G)).closed_form(G)

    return LowerBound(
        name="tracing: sign data, statistics + privacy",
        source=f"{THIS_WORK}: tracing_signs_additive",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=3.0,
        slack_regime=SMALL_EPSILON,
    )


def _sign_scores(n: Number, d: Number, u: Number) -> ScoreModel:
    kappa = u / (u + 1)
    return ScoreModel(n, kappa * d, kappa * d, 1, kappa * u * d)


def _additive_u(n: Number, d: Number, G: Number) -> Number:
    use = library(d)
    return use.sqrt(n) / use.sqrt(1 + d / n * (1 / G) * (1 / G))


def bounded_lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `bounded-mean` under one privacy definition."""
    return [
        statistical_signs(),
        tracing_signs(model),
        tracing_signs_additive(model),
        *([antipodal_signs(model)] if model in (ZeroConcentrated, Gaussian) else []),
        *([resampled_signs(model)] if model is not Pure else []),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model, "bounded"),
        in_sample(model),
    ]
