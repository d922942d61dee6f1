r"""Lower bounds for the mean of bounded data, proved with sign vectors (CWZ19 §2.3, §3.1).

Data in {-sigma, sigma}^d with independent coordinates, its diluted version (most records zero), and
the in-sample version. All are fingerprinting proofs with the prior p_j ~ (1 - p^2)^{u/2 - 1}.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy import optimize

from minimax import bound as symbols
from minimax.binomial import binomial_cdf
from minimax.bound import Assumption, Bound, Parts, Point, Prior
from minimax.papers import THIS_WORK
from minimax.priors import DilutedPrior, SignPrior
from minimax.privacy import Approximate, Model, Pure, at_point, parameter_names
from minimax.tracing import SUBGAUSSIAN, Residual, gain, gain_expression, gains
from minimax.van_trees import sign_bayes_risk

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
        prior_at=_sign_prior,
        slack=1.0,
    )


def _sign_prior(p: Point, parts: Parts) -> Prior:
    return SignPrior(int(p["d"]), p["sigma"], parts.free["u"])


SMALL_EPSILON = Assumption(
    "epsilon <= 1 (beyond, the closed form's gain is far from the best shift's)",
    lambda p: p.get("epsilon", 0.0) <= 1,
)


def _sign_gain(model: Model, p: Point) -> float:
    return gain(at_point(model, p), SUBGAUSSIAN, member=2 * math.sqrt(p["d"]))


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
        n, d, G = p["n"], p["d"], _sign_gain(model, p)
        start = (2 * n * G / math.sqrt(d)) ** (2 / 3)
        u = _best_on_log_scale(lambda u: root_at(u, n, d, G), start)
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
        prior_at=_sign_prior,
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
        n, d, G = p["n"], p["d"], _sign_gain(model, p)
        u = _best_on_log_scale(lambda u: sum(split_at(u, n, d, G)), math.sqrt(n))
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
        prior_at=_sign_prior,
        slack=6.0,
        slack_regime=Assumption(
            "epsilon <= 1, d >= 64 G^2, n >= 100 and n G >= sqrt(d) n^(1/4)",
            lambda p: (
                _additive_closed_form_is_good(p["n"], p["d"], _sign_gain(model, p))
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


def _best_on_log_scale(objective: Any, start: float) -> float:
    """The best point near the maximum on a log grid around `start`, never worse than `start`."""
    grid = np.append(start * np.geomspace(1e-3, 1e3, 61), start)
    values = [objective(float(u)) for u in grid]
    centre = float(grid[int(np.argmax(values))])
    found = optimize.minimize_scalar(
        lambda log_u: -objective(math.exp(log_u)),
        bounds=(math.log(centre) - 0.3, math.log(centre) + 0.3),
        method="bounded",
    )
    polished = math.exp(float(found.x))
    return polished if objective(polished) >= max(values) else centre


# --- Diluted and in-sample versions --------------------------------------------------------------

_KAPPA_CLOSED = sp.Rational(2, 3)
"""kappa at u = 2 (uniform prior), used by the closed forms below."""


def dilution(model: Model) -> Bound:
    r"""Tracing with groups of records: the log(1/delta) of CWZ19: Theorem 3.1, certified.

    **Statement.** For m points, mean group size l = n alpha/m, alpha <= min(1, a/sigma), u > 0,
    kappa = u/(u+1):

        sqrt R >= alpha sigma (kappa d - Gamma sqrt(kappa d))/(m Gamma + kappa sqrt((u+1) d)),

    Gamma^2 = E min(G_K, 2 sqrt d)^2, K ~ Binomial(n, l/n), G_k the gain of a group of k records,
    G_0 = 0.

    **Proof.** z_1..z_m are sign vectors with the prior of `tracing_signs`; a record is 0 with
    probability 1 - alpha, else sigma z_J with J uniform. The mean is alpha sigma zbar. With
    mhat = M/(alpha sigma), sum_g E<mhat, z_g - p> = kappa d + u E<p, mhat - zbar> (fingerprinting,
    and E<p, zbar - p> = 0). The attack V_g = (mhat - zbar) + (z_g - p)/m does not contain z_g but
    for mhat, and changing z_g changes the K_g records that carry it, so E A_g is at most
    E G_{K_g} sqrt(E[|V_g|^2 | K_g]) <= Gamma (sqrt(E|mhat - zbar|^2) + sqrt(kappa d)/m). Trivially
    |A| <= 2 sqrt d |V|.

    **Constants.** The shifted gain grows like sqrt(2 k eps), which is what carries log(1/delta);
    no further error term is needed. The closed form takes u = 2,
    k_0 eps = log(1/(d delta))/2 (pure: d/12), l = k_0/4, m about sqrt(d)/Gamma_0 and
    Gamma_0^2 = G_{k_0}^2 + 4 d e^{-2.545 l} (Chernoff: P(K > 4 l) <= e^{-2.545 l}).

    **Source.** CWZ19: Lemma 3.1 and Theorem 3.1.
    """

    def compute(p: Point) -> Parts:
        privacy = at_point(model, p)
        return _dilution_optimum(
            p, privacy, _closed_group_size(model, p["d"], p.get("epsilon"), p.get("delta"))
        )

    return Bound(
        name="tracing: diluted signs, groups",
        source=f"{THIS_WORK}: dilution (for CWZ19: Theorem 3.1)",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma", "radius", *parameter_names(model)),
        compute=compute,
        expr=_dilution_expression(model),
        assumptions=_dilution_regime(model),
        prior_at=lambda p, parts: DilutedPrior(
            int(p["d"]), p["sigma"], parts.free["u"], int(parts.free["m"]), parts.free["alpha"]
        ),
        slack=600.0,
        slack_regime=Assumption(
            "d >= 100, epsilon <= 1, d delta <= 1/1000, k_0 >= 4 log d, and the points fit",
            lambda p: _dilution_closed_form_is_good(model, p),
        ),
    )


def _dilution_closed_form_is_good(model: Model, p: Point) -> bool:
    d, epsilon, delta = p["d"], p["epsilon"], p.get("delta", 0.0)
    if d < 100 or epsilon > 1 or d * delta > 1e-3:
        return False
    size = _closed_group_size(model, d, epsilon, delta)
    points = math.sqrt(d) / _closed_gamma(model, d, epsilon, delta) + 1
    room = p["n"] * min(1.0, p["radius"] / p["sigma"])
    return size >= 4 * math.log(d) and size / 4 * points <= room


def _closed_group_size(model: Model, d: Any, epsilon: Any, delta: Any) -> Any:
    """k_0 of the closed form, for numbers or symbols."""
    if model is Pure:
        return d / (12 * epsilon)
    log = sp.log if isinstance(d, sp.Basic) else math.log
    return log(1 / (d * delta)) / (2 * epsilon)


def _closed_gamma(model: Model, d: Any, epsilon: Any, delta: Any) -> Any:
    """Gamma_0 of the closed form: G_{k_0} at t = sqrt(2 k_0 eps), and the Chernoff tail."""
    symbolic = isinstance(d, sp.Basic)
    root, exp = (sp.sqrt, sp.exp) if symbolic else (math.sqrt, math.exp)
    k = _closed_group_size(model, d, epsilon, delta)
    e = k * epsilon
    if model is Pure:
        group_gain = root(2 * e)
    else:
        group = delta * (exp(e) - 1) / (exp(epsilon) - 1)
        group_gain = (
            root(2 * e) + 1 / root(2 * e) + root(group) * (2 * root(d) + exp(-e) * root(1 + 2 * e))
        )
    return root(group_gain**2 + 4 * d * exp(-_CHERNOFF * k / 4))


_CHERNOFF = 1 + 4 * (2 * math.log(2) - 1) - 1e-9
"""P(Bin >= 4 l) <= exp(-l (1 + 4 (log 4 - 1))) for mean l."""


def _dilution_regime(model: Model) -> tuple[Assumption, ...]:
    if model is not Approximate:
        return ()
    return (Assumption("d * delta < 1/2", lambda p: p["d"] * p["delta"] < 0.5),)


def _dilution_expression(model: Model) -> sp.Expr:
    n, d, sigma, radius = symbols.n, symbols.d, symbols.sigma, symbols.radius
    size = _closed_group_size(model, d, symbols.epsilon, symbols.delta) / 4
    gamma = _closed_gamma(model, d, symbols.epsilon, symbols.delta)
    kappa = _KAPPA_CLOSED
    root = sigma * size / n * (kappa * d - gamma * sp.sqrt(kappa * d))
    root = symbols.positive_part(root / (gamma * (1 + kappa * sp.sqrt(3))))
    # The m = floor(sqrt(d)/Gamma) + 1 points must fit: alpha = l m/n <= min(1, radius/sigma).
    fits = size * (sp.sqrt(d) / gamma + 1) / n * sp.Max(1, sigma / radius) <= 1
    return sp.Piecewise((root**2, fits), (sp.Integer(0), True))


def _dilution_optimum(p: Point, privacy: Any, closed_size: float) -> Parts:
    n, d, sigma = p["n"], p["d"], p["sigma"]
    alpha_top = min(1.0, p["radius"] / sigma)
    top = max(closed_size, 1.0)
    smallest = min(0.02, n * alpha_top / 5000)
    sizes = np.append(np.geomspace(smallest, 4 * top, 64), closed_size / 4)
    # Sizes at which m points use the whole of alpha: between them rounding m down would waste it.
    whole = n * alpha_top / np.unique(np.round(np.geomspace(1, 5000, 64)))
    sizes = np.append(sizes, whole[whole <= 4 * top])
    best = _dilution_scan(n, d, privacy, alpha_top, sizes)
    for width in (0.15, 0.02):
        near = best[1] * np.linspace(1 - width, 1 + width, 17)
        best = max(best, _dilution_scan(n, d, privacy, alpha_top, near))
    root, size, m, u = best
    value = (sigma * root) ** 2
    return Parts(None, value, value, {"u": u, "m": m, "alpha": min(size * m / n, alpha_top)})


def _dilution_scan(
    n: float, d: float, privacy: Any, alpha_top: float, sizes: Array
) -> tuple[float, float, float, float]:
    """Best (root, l, m, u) over the group sizes l given, all m and a grid of u."""
    sizes = sizes[(sizes > 0) & (sizes <= n * alpha_top)]
    top = math.ceil(sizes.max() + 12 * math.sqrt(sizes.max()) + 30)
    # Between two of these counts the larger one's gain is used: it covers the smaller ones.
    counts = np.unique(np.round(np.linspace(1, top, min(top, 1200))))
    cap = 2 * math.sqrt(d)
    gain_of = np.minimum(gains(privacy, counts, SUBGAUSSIAN, member=cap), cap)
    below = binomial_cdf(np.append(0, counts)[:, None], n, sizes[None, :] / n)
    mass = np.diff(below, axis=0)
    gamma = np.sqrt(gain_of**2 @ mass + cap**2 * (1 - below[-1]))[:, None, None]
    u = np.append(np.geomspace(1e-3, 400, 100), 2.0)[None, None, :]
    kappa = u / (u + 1)
    m_top = np.floor(n * alpha_top / sizes * (1 + 1e-12))[:, None]
    closed_m = np.floor(math.sqrt(d) / gamma[:, :, 0]) + 1
    m = np.floor(np.exp(np.linspace(0, 1, 50) * np.log(np.maximum(m_top, 1))))
    m = np.hstack([m, np.minimum(closed_m, np.maximum(m_top, 1))])[:, :, None]
    wanted = sizes[:, None, None] * m / n
    alpha = np.minimum(wanted, alpha_top)
    root = alpha * (kappa * d - gamma * np.sqrt(kappa * d))
    root = root / (m * gamma + kappa * np.sqrt((u + 1) * d))
    root = np.where(wanted <= alpha_top * (1 + 1e-9), np.maximum(root, 0.0), 0.0)
    i, j, k = np.unravel_index(int(np.argmax(root)), root.shape)
    return float(root[i, j, k]), float(sizes[i]), float(m[i, j, 0]), float(u[0, 0, k])


def in_sample(model: Model) -> Bound:
    r"""How far a private release must stay from the *sample* mean of n sign vectors.

    **Statement.** For every u > 0, with kappa = u/(u+1), E|M - xbar|^2 is at least
    sigma^2 [(kappa d - G sqrt(kappa d))/(n G + kappa sqrt((u+1) d))]^2.

    **Proof.** `dilution` with alpha = 1 and every point used once. **Constants.** The closed form
    takes u = 2. **Source.** CWZ19: Lemma 2.1 and (2.3), there with unnamed constants and for
    n < c sqrt(d/log(1/delta)).
    """

    def root_at(u: Any, n: Any, d: Any, G: Any) -> Any:
        kappa = u / (u + 1)
        root = sp.sqrt if isinstance(n, sp.Basic) else math.sqrt
        return (kappa * d - G * root(kappa * d)) / (n * G + kappa * root((u + 1) * d))

    def compute(p: Point) -> Parts:
        G = _sign_gain(model, p)
        u = _best_on_log_scale(lambda u: root_at(u, p["n"], p["d"], G), 2.0)
        value = (p["sigma"] * max(root_at(u, p["n"], p["d"], G), 0.0)) ** 2
        return Parts(None, value, value, {"u": u})

    G = gain_expression(model, SUBGAUSSIAN, member=2 * sp.sqrt(symbols.d))
    closed = symbols.positive_part(root_at(sp.Integer(2), symbols.n, symbols.d, G))
    return Bound(
        name="tracing: in-sample mean",
        source=f"{THIS_WORK}: in_sample (for CWZ19: (2.3))",
        side="lower",
        kind="certified",
        names=("n", "d", "sigma", *parameter_names(model)),
        compute=compute,
        expr=symbols.sigma**2 * closed**2,
        prior_at=_sign_prior,
        slack=4.0,
        slack_regime=Assumption(
            "d >= 16 G^2 and epsilon <= 1",
            lambda p: math.sqrt(p["d"]) >= 4 * _sign_gain(model, p) and SMALL_EPSILON.holds(p),
        ),
        loss="squared l2 distance to the sample mean",
    )
