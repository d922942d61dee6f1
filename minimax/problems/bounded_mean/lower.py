"""Lower bounds for the mean of bounded data, proved with sign vectors (CWZ19 §2.3, §3.1)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.privacy import Approximate, Model, Pure, parameter_names
from minimax.methods.tracing import SUBGAUSSIAN, Residual, gain_expression
from minimax.methods.van_trees import sign_bayes_risk
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.diluted import (
    dilution,
    in_sample,
)
from minimax.problems.bounded_mean.signs import (
    SMALL_EPSILON,
    best_on_log_scale,
    sign_gain,
    sign_prior,
)
from minimax.problems.mean.lower import dense_packing

Array = NDArray[np.float64]


def statistical_signs() -> Bound:
    r"""**Statement.** R >= sigma^2 d/(sqrt n + 1)^2 for data in {-sigma, sigma}^d.

    **Proof.** `sign_bayes_risk` at u = sqrt n; it is the exact minimax risk. **Source.** classical
    (Hodges and Lehmann, 1950).
    """
    expr = symbols.sigma**2 * symbols.d / (sp.sqrt(symbols.n) + 1) ** 2

    def compute(p: Point) -> Parts:
        u = math.sqrt(p["n"])
        value = p["sigma"] ** 2 * p["d"] * sign_bayes_risk(p["n"], u)
        return Parts(value, None, value, {"u": u})

    return Bound(
        name="van Trees: sign data",
        source=f"{THIS_WORK}: statistical_signs",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma"),
        compute=compute,
        expr=expr,
        prior_at=sign_prior,
        slack=1.0,
    )


def tracing_signs(model: Model) -> Bound:
    r"""Fingerprinting for data in {-sigma, sigma}^d.

    **Statement.** For every u > 0, with kappa = u/(u+1),
    sqrt R >= sigma kappa d/(n G + kappa sqrt((u+1) d)).

    **Proof.** Prior p_j ~ (1 - p^2)^{u/2-1}, b = x/sigma, m = M/sigma. Integration by parts over p:
    sum_i E m_j (b_ij - p_j) = u E p_j m_j, so sum_i E<m - p, b_i - p> = kappa d + u E<p, m - p>
    >= kappa d - kappa sqrt((u+1) d) sqrt(r), r = E|m - p|^2, as E p_j^2 = 1/(u+1). Privacy:
    b - p is 1-sub-Gaussian and |b - p| <= 2 sqrt d, so each E A_i <= G sqrt r (`gains` with
    member = 2 sqrt d).

    **Constants.** The closed form takes u = (2 n G/sqrt d)^{2/3}.

    **Source.** CWZ19: Lemma 2.1 and §2.3, after Dwork et al. (2015) and Bun, Steinke and Ullman.
    """

    def root_at(u: float, n: float, d: float, G: float) -> float:
        kappa = u / (u + 1)
        return kappa * d / (n * G + kappa * math.sqrt((u + 1) * d))

    def compute(p: Point) -> Parts:
        n, d, G = p["n"], p["d"], sign_gain(model, p)
        start = (2 * n * G / math.sqrt(d)) ** (2 / 3)
        u = best_on_log_scale(lambda u: root_at(u, n, d, G), start)
        value = (p["sigma"] * root_at(u, n, d, G)) ** 2
        return Parts(None, value, value, {"u": u})

    n, d = symbols.n, symbols.d
    G = gain_expression(model, SUBGAUSSIAN, member=2 * sp.sqrt(d))
    u = (2 * n * G / sp.sqrt(d)) ** sp.Rational(2, 3)
    kappa = u / (u + 1)
    expr = (symbols.sigma * kappa * d / (n * G + kappa * sp.sqrt((u + 1) * d))) ** 2
    return Bound(
        name="tracing: sign data",
        source=f"{THIS_WORK}: tracing_signs (for CWZ19: §2.3)",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma", *parameter_names(model)),
        compute=compute,
        expr=expr,
        prior_at=sign_prior,
        slack=3.0,
        slack_regime=SMALL_EPSILON,
    )


def tracing_signs_additive(model: Model) -> Bound:
    r"""Statistics plus privacy for data in {-sigma, sigma}^d.

    **Statement.** For every u > 0, with kappa = u/(u+1),
    R >= sigma^2 [kappa d/(n+u) + eta^2], eta the root of
    n kappa d/(n+u) - f eta = n G sqrt(eta^2 + 2 f eta/(n(n+u)) + kappa d/(n+u)^2),
    f = sqrt(kappa u d n/(n+u)).

    **Proof.** Prior as in `tracing_signs`. The posterior mean is P = sum b_i/(n+u), so R/sigma^2 is
    the Bayes risk plus E|N|^2, N = m - P. Attack with V_i = N + (b_i - p)/(n+u), which is free of
    b_i but for m: sum_i E A_i = E<N, sum(b_i - p)> + n kappa d/(n+u). As
    sum(b_i - p) = (n+u)(P - p) + u p and E[p | X] = P, the first term is u E<N, P>, at most
    u eta sqrt(E|P|^2) = f eta in size, E|P|^2 = d n/((u+1)(n+u)). Privacy bounds each E A_i by
    G sqrt(E|V_i|^2).

    **Constants.** The closed form takes u = sqrt n, where the first term is d/(sqrt n + 1)^2, the
    exact minimax risk without privacy.

    **Source.** this toolkit: the analogue for signs of `tracing_gaussian`.
    """

    def split_at(u: float, n: float, d: float, G: float) -> tuple[float, float]:
        return d * sign_bayes_risk(n, u), _sign_residual(n, d, u, G).floor() ** 2

    def compute(p: Point) -> Parts:
        n, d, G = p["n"], p["d"], sign_gain(model, p)
        u = best_on_log_scale(lambda u: sum(split_at(u, n, d, G)), math.sqrt(n))
        statistical, traced = (p["sigma"] ** 2 * x for x in split_at(u, n, d, G))
        return Parts(statistical, traced, statistical + traced, {"u": u})

    n, d = symbols.n, symbols.d
    G = gain_expression(model, SUBGAUSSIAN, member=2 * sp.sqrt(d))
    residual = _sign_residual(n, d, sp.sqrt(n), G)
    expr = symbols.sigma**2 * (d / (sp.sqrt(n) + 1) ** 2 + residual.linear_floor() ** 2)
    return Bound(
        name="tracing: sign data, statistics + privacy",
        source=f"{THIS_WORK}: tracing_signs_additive",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma", *parameter_names(model)),
        compute=compute,
        expr=expr,
        prior_at=sign_prior,
        slack=6.0,
        slack_regime=Assumption(
            "epsilon <= 1, d >= 64 G^2, n >= 100 and n G >= sqrt(d) n^(1/4)",
            lambda p: (
                _additive_closed_form_is_good(p["n"], p["d"], sign_gain(model, p))
                and SMALL_EPSILON.holds(p)
            ),
        ),
    )


def _additive_closed_form_is_good(n: float, d: float, G: float) -> bool:
    return math.sqrt(d) >= 8 * G and n >= 100 and n * G >= math.sqrt(d) * n**0.25


def _sign_residual(n: Any, d: Any, u: Any, G: Any) -> Residual:
    root = sp.sqrt if isinstance(n, sp.Basic) else math.sqrt
    kappa = u / (u + 1)
    drag = root(kappa * u * d * n / (n + u))
    return Residual(
        signal=n * kappa * d / (n + u),
        drag=drag,
        weight=n * G,
        cross=2 * drag / (n * (n + u)),
        own=root(kappa * d) / (n + u),
    )


def bounded_lower_bounds(model: Model) -> list[Bound]:
    """Every lower bound for the class `bounded-mean` under one privacy definition."""
    return [
        statistical_signs(),
        tracing_signs(model),
        tracing_signs_additive(model),
        *([dilution(model)] if model in (Pure, Approximate) else []),
        dense_packing(model, "bounded"),
        in_sample(model),
    ]
