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

from minimax import bound as symbols
from minimax.bound import Bound
from minimax.core.bound import Assumption, Parts, Point
from minimax.core.privacy import Approximate, Model, Pure, at_point, parameter_names
from minimax.methods.binomial import binomial_cdf
from minimax.methods.priors import DilutedPrior
from minimax.methods.tracing import SUBGAUSSIAN, gain_expression, gains
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.signs import (
    SMALL_EPSILON,
    best_on_log_scale,
    sign_gain,
    sign_prior,
)

Array = NDArray[np.float64]


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
        G = sign_gain(model, p)
        u = best_on_log_scale(lambda u: root_at(u, p["n"], p["d"], G), 2.0)
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
        prior_at=sign_prior,
        slack=4.0,
        slack_regime=Assumption(
            "d >= 16 G^2 and epsilon <= 1",
            lambda p: math.sqrt(p["d"]) >= 4 * sign_gain(model, p) and SMALL_EPSILON.holds(p),
        ),
        loss="squared l2 distance to the sample mean",
    )
