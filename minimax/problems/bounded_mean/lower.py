"""Lower bounds for the mean of bounded data, proved with sign vectors (CWZ19 §2.3, §3.1)."""

from __future__ import annotations

import math
from operator import itemgetter

from minimax.core.bound import Assumption, LowerBound, Optimum, Point, Terms
from minimax.core.privacy import Approximate, Privacy, Pure, parameter_names
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.score_model import Residual
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
    sign_prior,
)
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
    last two are 0 without delta): sqrt R >= sigma (kappa d - tail)/(n G + kappa sqrt((u+1) d) +
    slope).

    **Proof.** Prior p_j ~ (1 - p^2)^{u/2-1}, b = x/sigma, m = M/sigma. Integration by parts over p:
    sum_i E m_j (b_ij - p_j) = u E p_j m_j, so sum_i E<m - p, b_i - p> = kappa d + u E<p, m - p>
    >= kappa d - kappa sqrt((u+1) d) sqrt(r), r = E|m - p|^2, as E p_j^2 = 1/(u+1). Privacy:
    b - p is 1-sub-Gaussian, and `SignGain` at N = m - p, c = 0 bounds the sum.

    **Constants.** The closed form takes u = (2 (n G + slope)/sqrt d)^{2/3}.

    **Source.** CWZ19: Lemma 2.1 and §2.3, after Dwork et al. (2015) and Bun, Steinke and Ullman.
    """

    def optimise(p: Point) -> Optimum:
        n, d = p["n"], p["d"]

        def witness(choice: Optimum) -> tuple[float, Optimum]:
            traced = sign_gain(model, p, choice)
            start = _closed_form_u(n, d, traced)
            u = best_on_log_scale(lambda u: _traced_root(u, n, d, traced), start)
            return _traced_root(u, n, d, traced), {**choice, "u": u}

        return max(map(witness, sign_choices(model, p)), key=itemgetter(0))[1]

    def formula(p: Point, found: Optimum) -> Terms:
        traced = sign_gain(model, p, found)
        root = _traced_root(lift(found["u"], p["n"]), p["n"], p["d"], traced)
        return Terms(None, (p["sigma"] * root) ** 2)

    def expression() -> Expression:
        import sympy

        n, d = LETTERS["n"], LETTERS["d"]

        def root(traced: SignGain) -> Expression:
            return _traced_root(_closed_form_u(n, d, traced, sympy.Rational(2, 3)), n, d, traced)

        return (LETTERS["sigma"] * largest([root(G) for G in closed_sign_gains(model)])) ** 2

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


def _traced_root(u: Number, n: Number, d: Number, traced: SignGain) -> Number:
    use = library(u, d, traced.gain)
    kappa = u / (u + 1)
    signal = kappa * d if traced.slope == 0 else use.largest(kappa * d - traced.tail, 0 * d)
    return signal / (n * traced.gain + kappa * use.sqrt((u + 1) * d) + traced.slope)


def _closed_form_u(n: Number, d: Number, traced: SignGain, power: Number = 2 / 3) -> Number:
    return (2 * (n * traced.gain + traced.slope) / library(d).sqrt(d)) ** power


def tracing_signs_additive(model: type[Privacy]) -> LowerBound:
    r"""Statistics plus privacy for data in {-sigma, sigma}^d.

    **Statement.** For every u > 0, with kappa = u/(u+1),
    R >= sigma^2 [kappa d/(n+u) + eta^2], eta the root of
    n kappa d/(n+u) - f eta = n G sqrt(eta^2 + 2 f eta/(n(n+u)) + kappa d/(n+u)^2)
    + slope eta + tail + n spill/(n+u), f = sqrt(kappa u d n/(n+u)), and the rest of `SignGain`.

    **Proof.** Prior as in `tracing_signs`. The posterior mean is P = sum b_i/(n+u), so R/sigma^2 is
    the Bayes risk plus E|N|^2, N = m - P. Attack with V_i = N + (b_i - p)/(n+u), which is free of
    b_i but for m: sum_i E A_i = E<N, sum(b_i - p)> + n kappa d/(n+u). As
    sum(b_i - p) = (n+u)(P - p) + u p and E[p | X] = P, the first term is u E<N, P>, at most
    u eta sqrt(E|P|^2) = f eta in size, E|P|^2 = d n/((u+1)(n+u)). Privacy: `SignGain` with
    c = 1/(n+u).

    **Constants.** The closed form takes u = sqrt n, where the first term is d/(sqrt n + 1)^2, the
    exact minimax risk without privacy.

    **Source.** this toolkit: the analogue for signs of `tracing_gaussian`.
    """

    def optimise(p: Point) -> Optimum:
        n, d = p["n"], p["d"]

        def witness(choice: Optimum) -> tuple[float, Optimum]:
            traced = sign_gain(model, p, choice)

            def risk(u: float) -> float:
                eta = _sign_residual(n, d, u, traced).floor()
                return float(d * sign_bayes_risk(n, u)) + eta**2

            u = best_on_log_scale(risk, math.sqrt(n))
            eta = _sign_residual(n, d, u, traced).floor()
            return risk(u), {**choice, "u": u, "eta": eta}

        return max(map(witness, sign_choices(model, p)), key=itemgetter(0))[1]

    def formula(p: Point, found: Optimum) -> Terms:
        n, d, u = p["n"], p["d"], lift(found["u"], p["n"])
        residual = _sign_residual(n, d, u, sign_gain(model, p, found))
        variance = p["sigma"] ** 2
        traced = residual.proved(found["eta"]) ** 2
        return Terms(variance * d * sign_bayes_risk(n, u), variance * traced)

    def expression() -> Expression:
        n, d = LETTERS["n"], LETTERS["d"]
        root = library(n).sqrt(n)
        floors = [_sign_residual(n, d, root, G).linear_floor() for G in closed_sign_gains(model)]
        return LETTERS["sigma"] ** 2 * (d / (root + 1) ** 2 + largest(floors) ** 2)

    return LowerBound(
        name="tracing: sign data, statistics + privacy",
        source=f"{THIS_WORK}: tracing_signs_additive",
        parameters=("n", "d", "sigma", *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        prior_at=sign_prior,
        slack=6.0,
        slack_regime=Assumption(
            "epsilon <= 1, d >= 64 G^2, n >= 100 and n G >= sqrt(d) n^(1/4)",
            lambda p: (
                _additive_closed_form_is_good(p["n"], p["d"], best_sign_gain(model, p))
                and SMALL_EPSILON.holds(p)
            ),
        ),
    )


def _additive_closed_form_is_good(n: float, d: float, G: float) -> bool:
    return math.sqrt(d) >= 8 * G and n >= 100 and n * G >= math.sqrt(d) * n**0.25


def _sign_residual(n: Number, d: Number, u: Number, traced: SignGain) -> Residual:
    use = library(n)
    kappa = u / (u + 1)
    drag = use.sqrt(kappa * u * d * n / (n + u))
    return Residual(
        signal=n * kappa * d / (n + u),
        drag=drag,
        weight=n * traced.gain,
        cross=2 * drag / (n * (n + u)),
        own=use.sqrt(kappa * d) / (n + u),
        leak_slope=traced.slope,
        leak_tail=traced.tail**2,
        leak_own=traced.spill * n / (n + u),
    )


def bounded_lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `bounded-mean` under one privacy definition."""
    return [
        statistical_signs(),
        tracing_signs(model),
        tracing_signs_additive(model),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model, "bounded"),
        in_sample(model),
    ]
