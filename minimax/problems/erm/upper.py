r"""Upper bounds for hard thresholding on fixed data, for any loss (WG19 §5.1, WX21 §VII-A).

The data are fixed and the expectation is over the algorithm's noise alone. s* (k* in WX21) is the
sparsity of the point compared with, s (k) that of the iterates.
"""

from __future__ import annotations

from minimax.core.best import with_remark
from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.claimed import HIDDEN_CONSTANT, claimed_bound
from minimax.core.loss import Loss, squared_distance
from minimax.core.privacy import Approximate, Privacy, ZeroConcentrated, parameter_names
from minimax.core.symbolic import LETTERS, Number, library
from minimax.methods.recursion import (
    Interval,
    Recursion,
    contraction,
    gaussian_terms,
    gaussian_top,
    gaussian_top_expression,
    thresholding_factor,
)

GIVEN_THE_DATA = Loss("squared l2 distance to theta*, given the data", squared_distance)
EXCESS_RISK = Loss("empirical risk above that of x*, given the data")
ROUNDING = 1e-8
"""Outward: 1 - step_size curvature cancels, and is taken to the power of the steps."""


def theorem_5_4(
    *,
    d: int,
    s: int,
    s_star: int,
    curvature: float,
    smoothness: float,
    gradient: float,
    radius: float,
    noise: float,
    steps: int,
    step_size: float | None = None,
) -> UpperBound:
    r"""WG19: Theorem 5.4 with constants: any loss, data fixed, expectation over the noise.

    **Statement.** The Hessian of the empirical loss has eigenvalues in [mu, L] on every 2s + s*
    coordinates, |theta*|_2 <= radius has s* entries, |grad(theta*)|_inf <= gradient. Noise
    N(0, noise^2 I_d) on each of T gradients, eta = 2/(mu + L) unless given. Then
    E|theta_T - theta*|^2 <= m_T^2, m_0 = radius, of `Recursion` (thresholded descent) with
    q = max(|1 - eta mu|, |1 - eta L|) and rms(r_I) = sqrt(2s + s*) gradient. With kappa = L/mu,
    eta = 2/(mu + L) and d >= s + s* it converges if and only if
    s > s* (kappa^2 - 1)^2/(16 kappa^2), so the paper's C_1 = 2, C_2 = 1/16 will do for s >= s*.

    **Proof.** grad(theta) - grad(theta*) = M (theta - theta*), M the mean Hessian between them.
    sqrt(nu) q < 1 with sqrt(nu) - 1/sqrt(nu) = sqrt(s*/s) is sqrt(s*/s) < 1/q - q =
    4 kappa/(kappa^2 - 1).

    **Departures.** Theorem 5.2's noise^2 = T G^2/(n^2 rho) spends 2 rho: the sensitivity is 2G/n.
    `noise` here is whatever was added. **Source.** WG19: Theorem 5.4.
    """

    def recursion(point: Point, *, closed: bool = False) -> Recursion:
        lib = library(*(point[name] for name in names))
        steep, flat = point["smoothness"], point["curvature"]
        eta = 2 / (flat + steep) if step_size is None else step_size
        nu = thresholding_factor(s, point["s"], point["d"])
        size = lib.least(2 * s + point["s"], point["d"])
        given = (s, point["s"], point["d"], eta, point["noise"])
        selection, after = gaussian_terms(*given, closed=closed)
        drift = eta * lib.sqrt(size) * point["gradient"] + selection
        rate = contraction(eta, Interval(flat, steep))
        return Recursion(lib.sqrt(nu) * rate, lib.sqrt(nu) * drift, after)

    def optimise(point: Point) -> Optimum:
        return {"rate": float(recursion(point).rate)}

    def formula(point: Point, found: Optimum) -> Terms:
        total = recursion(point).run(point["radius"], steps) ** 2
        quiet = recursion({**point, "noise": 0.0}).run(point["radius"], steps) ** 2
        return Terms(quiet, total - quiet)

    defaults = {
        "d": d,
        "s": s_star,
        "curvature": curvature,
        "smoothness": smoothness,
        "gradient": gradient,
        "radius": radius,
        "noise": noise,
    }
    names = tuple(defaults)
    bound = UpperBound(
        name="noisy hard thresholding, any loss",
        source="WG19: Theorem 5.4",
        parameters=names,
        formula=formula,
        optimise=optimise,
        expression=lambda: recursion(LETTERS, closed=True).closed_form(LETTERS["radius"], steps),
        assumptions=(
            Assumption("s* <= s <= d", lambda p: p["s"] <= s <= p["d"]),
            Assumption("curvature <= smoothness", lambda p: p["curvature"] <= p["smoothness"]),
            Assumption("sqrt(nu) q < 1 (s large enough)", lambda p: recursion(p).rate < 1),
        ),
        loss=GIVEN_THE_DATA,
        defaults={name: float(value) for name, value in defaults.items()},
        zero_release_risk=lambda p: float(p["radius"] ** 2),
        rounding=ROUNDING,
    )
    return with_remark(bound)


def theorem_8(
    *,
    d: int,
    s: int,
    s_star: int,
    curvature: float,
    smoothness: float,
    gap: float,
    noise: float,
    steps: int,
) -> UpperBound:
    r"""WX21: Theorem 8 with constants: the expected excess empirical risk of DP-IHT.

    **Statement.** L is rho-strongly convex and l-smooth between points that differ in at most
    2k + k* coordinates; kappa = l/rho, t = k*/(k + k*), eta = 1/(2l). If t < 1/4 and
    t (1 + 16 kappa (2 kappa - 1)) <= 1/2 then, for every x* with k* entries,

        E L(x_T) - L(x*) <= (1 - f)^T gap + (1 - (1 - f)^T) W/f,   gap >= L(x_0) - L(x*),
        f = 1/(8 kappa) + t (2 - 1/(4 kappa)),
        W = noise^2/(2l) {[j + g]/(1 - 4t) + j (1/2 - t)},

    j = min(k + k*, d), g = `gaussian_top`(min(k, d - j), d - j).

    **Proof.** As (17)-(23) there, with z the noise, g = grad L(x_t) + z, J (chosen before z)
    holding the supports of x_t and x*, |J| = j, I = J and the support of x_{t+1}:

        L(x_{t+1}) <= L(x_t) + 2t (L(x*) - L(x_t)) + (t (1 - eta rho)/eta) |x* - x_t|^2
            - eta (1/2 - t) |g_J|^2 + 2t <z, x* - x_t> + eta |z_I|^2/(2 (1 - eta l - 2t)).

    Lemma 12: |x* - x_t|^2 <= (4/rho)(L(x*) - L(x_t)) + (8/rho^2)(|g_J|^2 + |z_J|^2). Put in, it
    leaves -c |g_J|^2, c = eta (1/2 - t) - 8 t (1 - eta rho)/(eta rho^2) >= 0 by the second
    condition; Lemma 12 once more, -|g_J|^2 <= (rho/2)(L(x*) - L(x_t)) + |z_J|^2, gives f and W.
    <z, x* - x_t> has mean zero; E|z_J|^2 = j noise^2, and g as in `Recursion`.

    **Departures.** (24) drops -c |g_J|^2, whereupon the rate is 2t (4 kappa - 1), at k =
    (1 + 64 kappa^2) k* and kappa = 1 only .0909, not the rho/(8l) = .125 printed, and it gets worse
    as k grows; keeping it makes the printed rate true for every such k (.1515 there). The factor
    1/eta of <z, x* - x_t> in (20)-(24) should be 1, which does not matter in expectation.
    k >= (1 + 64 kappa^2 - 32 kappa) k* is enough.

    **Source.** WX21: Theorem 8.
    """

    def formula(point: Point, found: Optimum) -> Terms:
        f, W = _rate_and_noise(point, s)
        lib = library(f)
        log_left = steps * lib.log1p(-f)
        return Terms(lib.exp(log_left) * point["gap"], -lib.expm1(log_left) * W / f)

    def expression() -> Number:
        f, W = _rate_and_noise(LETTERS, s, closed=True)
        return (1 - f) ** steps * LETTERS["gap"] + W / f

    defaults = {
        "d": d,
        "s": s_star,
        "curvature": curvature,
        "smoothness": smoothness,
        "gap": gap,
        "noise": noise,
    }
    names = tuple(defaults)
    bound = UpperBound(
        name="noisy hard thresholding, excess empirical risk",
        source="WX21: Theorem 8",
        parameters=names,
        formula=formula,
        expression=expression,
        assumptions=(
            Assumption("curvature <= smoothness", lambda p: p["curvature"] <= p["smoothness"]),
            Assumption(
                "k >= (1 + 64 kappa^2 - 32 kappa) k* and k > 3 k*", lambda p: _keeps_enough(p, s)
            ),
        ),
        loss=EXCESS_RISK,
        defaults={name: float(value) for name, value in defaults.items()},
        zero_release_risk=lambda p: float(p["gap"]),
        resolve=True,
        rounding=ROUNDING,
    )
    return with_remark(bound)


def _rate_and_noise(point: Point, s: int, *, closed: bool = False) -> tuple[Number, Number]:
    """(f, W) of `theorem_8`."""
    t, d = point["s"] / (s + point["s"]), point["d"]
    lib = library(t, d, point["noise"])
    fixed = lib.least(s + point["s"], d)
    top = (gaussian_top_expression if closed else gaussian_top)(lib.least(s, d - fixed), d - fixed)
    inverse = point["curvature"] / point["smoothness"]
    sizes = (fixed + top) / (1 - 4 * t) + fixed * (1 - 2 * t) / 2
    W = point["noise"] ** 2 / (2 * point["smoothness"]) * sizes
    return inverse / 8 + t * (2 - inverse / 4), W


def _keeps_enough(point: Point, s: int) -> bool:
    """The conditions of `theorem_8` on t."""
    kappa, t = point["smoothness"] / point["curvature"], point["s"] / (s + point["s"])
    return bool(t * (1 + 16 * kappa * (2 * kappa - 1)) <= 0.5 and t < 0.25)


def claimed_theorem_8() -> UpperBound:
    r"""WX21: Theorem 8 as claimed, G = 1: k* log n log p log(1/delta)/(n eps)^2."""

    def rate(p: Point) -> Terms:
        log = library(p["n"]).log
        cost = -p["s"] * log(p["n"]) * log(p["d"]) * log(p["delta"])
        return Terms(0 * p["n"], cost / (p["n"] * p["epsilon"]) ** 2)

    return claimed_bound(
        UpperBound,
        "noisy hard thresholding, excess empirical risk: claimed rate of Theorem 8",
        "WX21: Theorem 8",
        ("n", "d", "s", "epsilon", "delta"),
        rate,
        loss=EXCESS_RISK,
    )


def claimed_theorem_5_4(model: type[Privacy]) -> UpperBound | None:
    r"""WG19: Theorem 5.4 as claimed, mu = curvature, kappa = smoothness/curvature: under zCDP

        kappa^2 s gradient^2/mu^2
            + kappa^3 G^2 s log(d)/(n^2 mu^2 rho) log(rho n mu radius/(s kappa G)),

    and under (epsilon, delta), by Remark 5.5, with log(1/delta)/eps^2 for 1/rho and no logarithm.

    The logarithm should be that of the number of steps, of rho n^2: as printed it is 0 at rho about
    1/n, where the noise is not.
    """
    if model not in (ZeroConcentrated, Approximate):
        return None
    concentrated = model is ZeroConcentrated

    def inside(p: Point) -> Number:
        kappa = p["smoothness"] / p["curvature"]
        return p["rho"] * p["n"] * p["curvature"] * p["radius"] / (p["s"] * kappa * p["G"])

    def rate(p: Point) -> Terms:
        log, mu = library(p["n"]).log, p["curvature"]
        kappa = p["smoothness"] / mu
        unit = kappa**3 * p["s"] * log(p["d"]) * (p["G"] / (p["n"] * mu)) ** 2
        if concentrated:
            privacy = unit / p["rho"] * log(inside(p))
        else:
            privacy = -unit * log(p["delta"]) / p["epsilon"] ** 2
        return Terms(p["s"] * (kappa * p["gradient"] / mu) ** 2, privacy)

    positive = Assumption("rho n mu radius > s kappa G", lambda p: bool(inside(p) > 1))
    names = ("n", "d", "s", "curvature", "smoothness", "G", "gradient", "radius")
    wrong = "its logarithm is 0 at rho about 1/n, where the noise is not: that of T is meant"
    twice = "its noise spends 2 rho"
    return claimed_bound(
        UpperBound,
        "noisy hard thresholding, any loss: claimed rate of Theorem 5.4",
        "WG19: Theorem 5.4" if concentrated else "WG19: Remark 5.5",
        (*names, *parameter_names(model)),
        rate,
        assumptions=(positive,) if concentrated else (),
        loss=GIVEN_THE_DATA,
        remark=f"{HIDDEN_CONSTANT}; {twice}" + (f"; {wrong}" if concentrated else ""),
    )
