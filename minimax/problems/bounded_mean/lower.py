"""Lower bounds for the mean of bounded data, proved with sign vectors (CWZ19 §2.3, §3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from operator import itemgetter

from minimax.core.bound import LowerBound, Optimum, Point, Terms
from minimax.core.once import made_once
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.concentration import largest_row_eigenvalue
from minimax.methods.score_model import ScoreModel, SecondMoments, Traced
from minimax.methods.tracing import SUBGAUSSIAN, Gain, chosen_gain, closed_gain
from minimax.methods.van_trees import sign_bayes_risk
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.diluted import dilution, in_sample
from minimax.problems.bounded_mean.signs import (
    SMALL_EPSILON,
    SignGain,
    best_on_log_scale,
    best_sign_gain,
    closed_sign_gains,
    largest,
    sign_choices,
    sign_gain,
    sign_gain_of,
    sign_prior,
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

    **Statement.** For every u > 0, with kappa = u/(u+1), and G, slope and tail of `SignGain` (the
    last two are 0 without delta): R >= sigma^2 (kappa d - tail)^2/((n G + slope)^2 + kappa u d).

    **Proof.** Prior p_j ~ (1 - p^2)^{u/2-1}, b = x/sigma, m = M/sigma in [-1, 1]^d. Integration by
    parts over p: sum_i E m_j (b_ij - p_j) = u E p_j m_j, so D = sum_i E<m - p, b_i - p> =
    kappa d + u E<p, m - p> = kappa d - x. With V = m - p + (x/(kappa u d)) u p the scores
    A_i = <V, b_i - p> have the same sum, and E|V|^2 = r - x^2/(kappa u d), r = E|m - p|^2, as
    E|u p|^2 = kappa u d. b - p is 1-sub-Gaussian, and if 0 <= x <= kappa d, V = m - (D/(kappa d)) p
    has |V|^2 <= 4d: `SignGain` at N = V, c = 0 says D <= (n G + slope) sqrt(E|V|^2) + tail. So
    r >= (kappa d - x - tail)^2/(n G + slope)^2 + x^2/(kappa u d), which is least at the stated
    value. If x > kappa d, r >= x^2/(kappa u d) is more than that; if x < 0, take V = m - p.

    **Constants.** The closed form takes u = sqrt(2/d) (n G + slope).

    **Source.** CWZ19: Lemma 2.1 and §2.3, after Dwork et al. (2015) and Bun, Steinke and Ullman.
    """

    def optimise(p: Point) -> Optimum:
        n, d = p["n"], p["d"]

        def witness(choice: Optimum) -> tuple[float, Optimum]:
            traced = sign_gain(model, p, choice)
            start = _closed_form_u(n, d, traced)
            u = best_on_log_scale(lambda u: _traced(u, n, d, traced), start)
            return _traced(u, n, d, traced), {**choice, "u": u}

        return max(map(witness, sign_choices(model, p)), key=itemgetter(0))[1]

    def formula(p: Point, found: Optimum) -> Terms:
        traced = sign_gain(model, p, found)
        risk = _traced(lift(found["u"], p["n"]), p["n"], p["d"], traced)
        return Terms(None, p["sigma"] ** 2 * risk)

    def expression() -> Expression:
        n, d = LETTERS["n"], LETTERS["d"]

        def risk(traced: SignGain) -> Expression:
            return _traced(_closed_form_u(n, d, traced), n, d, traced)

        return LETTERS["sigma"] ** 2 * largest([risk(G) for G in closed_sign_gains(model)])

    return LowerBound(
        name="tracing: sign data",
        source=f"{THIS_WORK}: tracing_signs (for CWZ19: Lemma 2.1)",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=3.0,
        slack_regime=SMALL_EPSILON,
    )


def _traced(u: Number, n: Number, d: Number, traced: SignGain) -> Number:
    use = library(u, d, traced.gain)
    kappa = u / (u + 1)
    signal = kappa if traced.slope == 0 else use.largest(kappa - traced.tail / d, 0 * d)
    weight = n * traced.gain + traced.slope
    per_coordinate = weight * weight / d  # infinite where it overflows
    return signal**2 * d / (per_coordinate + kappa * u)


def _closed_form_u(n: Number, d: Number, traced: SignGain) -> Number:
    return library(d).sqrt(2 / d) * (n * traced.gain + traced.slope)


def tracing_signs_additive(model: type[Privacy]) -> LowerBound:
    r"""Statistics plus privacy for data in {-sigma, sigma}^d.

    **Statement.** For every u > 0, R >= sigma^2 times `minimax.methods.score_model.ScoreModel` with
    the scores b_i - p, signal and information kappa d, kappa = u/(u+1), spread 1 and J = kappa u d.
    Without privacy that is kappa d/(n + u), the exact Bayes risk.

    **Proof.** Prior as in `tracing_signs`, whose integration by parts gives U = sum(b_i - p) - u p,
    the prior's share -u p, E|u p|^2 = u^2 d/(u + 1). Privacy: `minimax.methods.tracing.Gain` of a
    sub-Gaussian score. With delta, either sqrt(E A_i^2) <= 2 sqrt(d) sqrt(E|V_i|^2) joins the gain
    (t = 0), or `SignMoments` bounds what leaks (any other t).

    **Constants.** The closed form takes u = sqrt(g), 1/g = 1/n + d/(n G)^2.

    **Source.** this work: the analogue for signs of `tracing_gaussian`.
    """

    def optimise(p: Point) -> Optimum:
        n, d = p["n"], p["d"]

        def witness(choice: Optimum) -> tuple[float, Optimum]:
            def risk(u: float) -> float:
                scores, G = _sign_scores(model, p, {**choice, "u": u})
                return float(sum(scores.proved(G, choice)))

            start = _additive_u(n, d, best_sign_gain(model, p))
            u = best_on_log_scale(risk, start)
            return risk(u), {**choice, "u": u}

        rare = float(SignMoments(n, d).closed_form_t())
        tried = [{**choice, "t": rare if choice["t"] else 0.0} for choice in sign_choices(model, p)]
        return max(map(witness, tried), key=itemgetter(0))[1]

    def formula(p: Point, found: Optimum) -> Terms:
        scores, G = _sign_scores(model, p, found)
        statistics, privacy = scores.proved(G, found)
        return Terms(p["sigma"] ** 2 * statistics, p["sigma"] ** 2 * privacy)

    def expression() -> Expression:
        n, d = LETTERS["n"], LETTERS["d"]

        def risk(gain: Gain, spectral: bool) -> Expression:
            t = SignMoments(n, d).closed_form_t() if spectral else 0
            total = sign_gain_of(gain, n, d, t)
            u = _additive_u(n, d, total.gain + total.slope / n)
            scores, G = _scores_with(gain, n, d, u, t)
            return scores.closed_form(G)

        gain = closed_gain(model, SUBGAUSSIAN)
        forms = [risk(gain, spectral) for spectral in ((False, True) if gain.leak else (False,))]
        return LETTERS["sigma"] ** 2 * largest(forms)

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


def _sign_scores(model: type[Privacy], p: Point, found: Optimum) -> Traced:
    gain = chosen_gain(model, p, SUBGAUSSIAN, found)
    n, t = p["n"], found["t"]
    return _scores_with(gain, n, p["d"], lift(found["u"], n), lift(t, n) if t else 0)


def _scores_with(gain: Gain, n: Number, d: Number, u: Number, t: Number) -> Traced:
    """The scores b_i - p, and the G that goes with them, in the form that t stands for."""
    kappa = u / (u + 1)
    scores = ScoreModel(n, kappa * d, kappa * d, 1, kappa * u * d)
    if t == 0:
        return scores, gain.total(2 * library(d).sqrt(d))
    return replace(scores, leak_square=gain.leak**2, leak=SignMoments(n, d, kappa * d)), gain.own


@dataclass(frozen=True)
class SignMoments:
    r"""The second moments of the scores s_i = b_i - p of sign vectors, h = 1.

    Given p, the sum of s_i s_i' is at most `largest_row_eigenvalue` but for a chance e^{-t}. On the
    rest it is at most 4nd, and |N|^2 <= 3 (4d)(1 + |sum s_i|^2/I + |u p|^2/J), as D^2/I and x^2/J
    are at most the risk, at most 4d; |sum s_i|^2 <= 4 n^2 d, and u p depends on p alone. E|s|^4 is
    at most 4 d^2/3 (`SignGain`), and the cross term is at most what Cauchy-Schwarz makes of it: the
    wobble is slope^2 times that.
    """

    n: Number
    d: Number
    information: Number = 1
    """Of one record."""

    def moments(self, t: Number) -> SecondMoments:
        """See `minimax.methods.score_model.SecondMoments`."""
        use = library(self.n)
        n, d = self.n, self.d
        top, fourth = largest_row_eigenvalue(n, d, t), 4 * d**2 / 3
        tail = 48 * n * d**2 * use.exp(-t) * (2 + 4 * n * d / self.information)
        return SecondMoments(use.sqrt(top), tail, fourth, top * fourth)

    def closed_form_t(self) -> Number:
        """e^{-t} = (nd + 1)^{-4}."""
        return 4 * library(self.n).log(self.n * self.d + 1)


def _additive_u(n: Number, d: Number, G: Number) -> Number:
    use = library(d)
    return use.sqrt(n) / use.sqrt(1 + d / n * (1 / G) * (1 / G))


@made_once
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
