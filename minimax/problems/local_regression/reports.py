r"""What a private report of a record tells: its energy, and the ratios that turn it into entropy.

The family and the reports are those of `minimax.problems.local_regression.lower`.
"""

from __future__ import annotations

import math

from minimax.core.bound import Point
from minimax.core.privacy import Approximate, Gaussian, OffsetConcentrated, Privacy, Pure, Renyi
from minimax.core.symbolic import Number, library
from minimax.methods.antipodal_gain import average_pair_gain
from minimax.methods.binary_reports import label_contraction, largest_kl
from minimax.methods.divergences import (
    report_information,
    report_variance,
    strong_contraction,
    tv_contraction,
)


def report_energy(model: type[Privacy], at: Point, *, sharp: bool = False) -> Number:
    r"""A with E_0 |omega|^2 <= A, for any kind of number.

    **Statement.** With T^2 of `label_contraction`:
    eps-LDP: A = min{sinh(eps/2)^2, 2 eps tanh(eps/2), p T^2}, or with `sharp`
    min{2 (g - 1 - log g), p T^2}, g = eps/(1 - e^-eps), which is smaller.
    (alpha, eps)-RDP: min{e^eps - 1 if alpha >= 2, 2 eps, p T^2}. (kappa, rho)-zCDP:
    min{e^{kappa + 2 rho} - 1, 2 (kappa + rho), p T^2}. rho-zCDP and mu-GDP (rho = mu^2/2, its own
    T^2): min{G^2, e^{2 rho} - 1, p T^2}, G of `average_pair_gain`: G^2 <= 2 rho, about rho/2 for
    small rho. (eps, delta): p T^2.

    **Proof.** (i) The w_j are orthonormal under P_0, so |omega|^2 <= Var r_z (Bessel): at most
    `report_variance`, or on average E chi^2(K(.|x)|m_0) <= e^{D_2} - 1 by convexity. (ii) w is
    1-sub-Gaussian, so |omega|^2 <= 2 KL(P_0 given z|P_0) (transport), on average 2 I(X; Z), at most
    twice the largest KL between inputs, or `report_information`. (iii) w_j is a fair sign, and
    omega_j = E_0[w_j|z] is the omega of its report: E_0 omega_j^2 <= T^2 for each j. (iv) w has a
    symmetric law and unit covariance, and omega(z) = E_0[w|z]: E_0 |omega|^2 <= G^2 is what
    `minimax.methods.antipodal_gain` proves of antipodal pairs w, -w.

    Under (eps, delta) neither (i) nor (ii) is left: a report may reveal everything with chance
    delta. A = p T^2 grows with p, and `wx21_theorem_1` is the bound for private labels with s = 1
    (`minimax.problems.label_regression.lower`, which allows interaction): of use for small p alone.

    **Constants.** The true supremum is computed in the tests for p <= 3: .0600 at eps = .5 and .756
    at eps = 2 (p = 2, 3), against .0638 and 1.16, 1.38, with `sharp` .0623 and .949.
    """
    whole = at["p"] * label_contraction(model, at)
    if model is Approximate:
        return whole
    lib = library(*(value for name, value in at.items() if name in BUDGETS), whole)
    if model is Pure:
        eps = at["epsilon"]
        if sharp:
            return lib.least(2 * report_information(eps), whole)
        return lib.least(report_variance(eps), 2 * eps * tv_contraction(eps), whole)
    if model is Renyi:
        eps = at["epsilon"]
        order_two = lib.choose(at["alpha"] >= 2, lambda: lib.expm1(eps), lambda: whole)
        return lib.least(order_two, 2 * eps, whole)
    if model is OffsetConcentrated:
        kappa, rho = at["kappa"], at["rho"]
        return lib.least(lib.expm1(kappa + 2 * rho), 2 * (kappa + rho), whole)
    rho = at["mu"] ** 2 / 2 if model is Gaussian else at["rho"]
    return lib.least(average_pair_gain(model, at) ** 2, lib.expm1(2 * rho), whole)


BUDGETS = ("epsilon", "mu", "rho", "kappa", "alpha")


def tilt_factor(model: type[Privacy], at: Point) -> Number:
    """The bound on |omega_j|: K(z|.) given w_j = 1 is at most e^eps times that given w_j = -1."""
    return tv_contraction(at["epsilon"]) if model is Pure else 1


def entropy_ratio(tau: Number) -> Number:
    r"""c(tau) = [(1+tau) log(1+tau) + (1-tau) log(1-tau)]/(2 tau^2), from 1/2 up to log 2 at 1.

    Floats err upwards by some ulps. Below 10^-3 it is sum_k tau^{2k}/((2k+1)(2k+2)).
    """
    lib = library(tau)

    def full() -> Number:
        t = lib.largest(tau, 1e-3)  # both branches are evaluated for arrays
        inside = lib.least(t, 1 - lib.resolution / 2)
        parts = (1 + t) * lib.log1p(t) + (1 - t) * lib.log1p(-inside)
        return parts / (2 * t**2) * (1 + 8 * lib.ulp / t)

    def series() -> Number:
        square, value = lib.least(tau, 1e-3) ** 2, tau * 0
        for k in reversed(range(9)):
            value = value * square + (value * 0 + 1) / ((2 * k + 1) * (2 * k + 2))
        return value * (1 + 4 * lib.ulp)

    return lib.choose(tau > 1e-3, full, series)


def one_sided_ratio(tau: Number) -> Number:
    r"""g(tau) = ((1 - tau) log(1 - tau) + tau)/tau^2 = sum_k tau^k/((k+1)(k+2)), from 1/2 up to 1.

    Floats err upwards by some ulps.
    """
    lib = library(tau)

    def full() -> Number:
        t = lib.largest(tau, 1e-2)
        inside = lib.least(t, 1 - lib.resolution / 2)
        return ((1 - t) * lib.log1p(-inside) + t) / t**2 * (1 + 8 * lib.ulp / t)

    def series() -> Number:
        t, value = lib.least(tau, 1e-2), tau * 0
        for k in reversed(range(12 if lib.ulp else 32)):
            value = value * t + (value * 0 + 1) / ((k + 1) * (k + 2))
        return value * (1 + 4 * lib.ulp)

    return lib.choose(tau > 1e-2, full, series)


def label_information(model: type[Privacy], at: Point, tilt: Number) -> Number:
    r"""i with KL(M_u|M_0) <= i u^2 for the report of a label with |u| <= tilt <= 1.

    **Statement.** M_u = M_0 (1 + u omega), E_0 omega = 0, T^2 of `label_contraction`. Pure, GDP,
    (eps, delta): c(t tilt) T^2, t as there. zCDP and RDP, kl of `largest_kl`:
    min{c(tilt) (1 - e^-kl), g(tilt) T^2}, g of `one_sided_ratio`.

    **Proof.** The first: `label_contraction`. The others: D_{1/2} <= KL, so `strong_contraction`
    holds for KL(P_u|P_0) = c(u) u^2. And with x = u omega >= -tilt,
    (1 + x) log(1 + x) - x = x^2 g(-x), where g(-x), x^2 times which is the integral of log(1 + s)
    from 0 to x, falls in x. (omega need not be symmetric, and interaction does not let signs of u
    be averaged.)
    """
    lib = library(tilt)
    ratio = entropy_ratio(lib.least(tilt * tilt_factor(model, at), 1))
    share = label_contraction(model, at)
    if model in (Pure, Approximate, Gaussian):
        return ratio * share
    contracted = ratio * strong_contraction(largest_kl(model, at))
    return lib.least(contracted, one_sided_ratio(lib.least(tilt, 1)) * share)


def reverse_ratio(tau: Number) -> Number:
    r"""k(tau) = -log(1 - tau^2)/tau^2: increasing from 1, infinite from tau = 1 on.

    Floats err upwards: tau^2 is raised by some ulps, which is what its own rounding may hide.
    """
    lib = library(tau)
    square = lib.largest(tau**2 * (1 + 16 * lib.ulp), tau * 0 + 1e-300)
    inside = lib.least(square, 1 - lib.resolution / 2)
    return lib.choose(square < 1, lambda: -lib.log1p(-inside) / inside, lambda: math.inf)
