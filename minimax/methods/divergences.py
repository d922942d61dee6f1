"""How locally private channels shrink the divergences between the two laws of a record.

A record drawn from P_1 or P_2 is reported through a locally private channel K, the reports have
laws M_1 and M_2, and the functions bound how far apart these can be. They take any kind of
number (`minimax.core.symbolic`). `staircase_supremum` computes what the best channel on a small
alphabet really does. (What privacy keeps close to begin with is in `minimax.core.closeness`.)
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

from minimax.core.symbolic import ULP, Number, library

Array = NDArray[np.float64]
LARGE = 700.0
"""An epsilon whose exponential is still a float."""


def tv_contraction(epsilon: Number) -> Number:
    r"""TV(M_1, M_2) <= tanh(eps/2) TV(P_1, P_2) for eps-LDP channels; reached by two inputs.

    **Proof.** M_1 - M_2 is TV(P_1, P_2) times a difference of averages of K(.|x), and two laws with
    ratio at most e^eps both ways have TV at most (e^eps - 1)/(e^eps + 1).
    """
    return library(epsilon).tanh(epsilon / 2)


def strong_contraction(affinity_divergence: Number) -> Number:
    r"""The factor 1 - exp(-D): chi^2, KL and squared Hellinger of M_1, M_2 shrink by at least it.

    **Statement.** Let D_{1/2} = -2 log int sqrt(k k') of K(.|x), K(.|x') be at most D for all
    inputs. Then chi^2(M_1|M_2) <= (1 - e^-D) chi^2(P_1|P_2), and the same for the others.

    **Proof.** With f = dP_1/dP_2 and X from P_2, chi^2(M_1|M_2) = Var E[f(X)|Z] and
    E Var(f|Z) = (1/2) E (f(X) - f(X'))^2 sum_z K(z|X) K(z|X')/m(z) over independent X, X'. By
    Cauchy-Schwarz and sum m = 1 the inner sum is at least (sum_z sqrt(K(z|X) K(z|X')))^2 >= e^-D,
    so E Var(f|Z) >= e^-D Var f. The others are mixtures over l in [0, 1], with weights >= 0, of
    sum (p - q)^2/(l p + (1 - l) q) = chi^2(P|l P + (1 - l) Q)/(1 - l)^2, for instance KL with the
    weight 1 - l.

    **Source.** the eps-LDP case is Asoodeh and Zhang (2022), by another proof.
    """
    return -library(affinity_divergence).expm1(-affinity_divergence)


def strong_contraction_pure(epsilon: Number) -> Number:
    r"""tanh(eps/2)^2: the factor of `strong_contraction` for eps-LDP channels; sharp.

    The affinity of an eps-indistinguishable pair is at least 1/cosh(eps/2) (sqrt r is concave in
    the likelihood ratio r, so the chord's ends are worst), and 1 - 1/cosh^2 = tanh^2.
    """
    return tv_contraction(epsilon) ** 2


def excess_ratio(epsilon: Number, tv: Number) -> Number:
    r"""x = (e^eps - 1) TV(P_1, P_2): the reports' likelihood ratios lie in [1/(1 + x), 1 + x].

    **Proof.** M_1(z) - M_2(z) <= TV (max_x K(z|x) - min_x K(z|x)) <= TV (e^eps - 1) M_2(z).
    So D_inf(M_1|M_2) <= log(1 + x): a report of close records is more private than eps.
    """
    lib = library(epsilon, tv)
    # Equal laws stay equal, also where the exponential is infinite.
    return lib.choose(tv == 0, lambda: tv, lambda: lib.expm1(epsilon) * tv)


def log_excess(epsilon: Number, tv: Number) -> Number:
    r"""log(1 + x), x = (e^eps - 1) TV(P_1, P_2): at most eps. Never below it for large eps.

    Past eps = 700, where floats end, it grows by at most the excess of eps over that: its
    derivative e^eps t/(1 + (e^eps - 1) t) is at most 1.
    """
    lib = library(epsilon, tv)
    if lib.is_symbolic:
        return lib.log(1 + excess_ratio(epsilon, tv))
    within = lib.least(epsilon, LARGE)
    return lib.log1p(excess_ratio(within, tv)) + (epsilon - within)


def kl_from_tv(epsilon: Number, tv: Number) -> Number:
    r"""KL(M_1|M_2) <= t tanh(eps/2) log(1 + (e^eps - 1) t), t = TV(P_1, P_2).

    **Proof.** KL = sum m_2 f(r), f(r) = r log r - r + 1, r = m_1/m_2 in [1/(1+x), 1+x]
    (`excess_ratio`). f is convex with f(1) = 0, so f(r)/|r - 1| is largest at the ends, where it is
    ((1+x) log(1+x) - x)/x and (x - log(1+x))/x. Above and below r = 1 the sum of m_2 |r - 1| is
    TV(M_1, M_2) <= t tanh(eps/2) (`tv_contraction`), and the two ends add up to log(1+x).

    **Constants.** Reached at t = 1 by randomised response.
    """
    return tv * tv_contraction(epsilon) * log_excess(epsilon, tv)


def symmetrised_kl(epsilon: Number, tv: Number) -> Number:
    r"""KL(M_1|M_2) + KL(M_2|M_1) <= 2 t tanh(eps/2) log(1 + (e^eps - 1) t): twice `kl_from_tv`.

    Always below (e^eps - 1)^2 t^2 (`symmetrised_kl_quadratic`), which is near it only for small
    eps; at t = 1 and eps = 4 that is 370 times the truth.
    """
    return 2 * kl_from_tv(epsilon, tv)


def symmetrised_kl_quadratic(epsilon: Number, tv: Number) -> Number:
    r"""KL(M_1|M_2) + KL(M_2|M_1) <= (e^eps - 1)^2 t^2, the classical form.

    It follows from `symmetrised_kl`: log(1 + x) <= x and 2 tanh(eps/2) <= e^eps - 1. (Duchi, Jordan
    and Wainwright print min(4, e^{2 eps}) (e^eps - 1)^2 t^2.)
    """
    x = excess_ratio(epsilon, tv)
    return x * x


def information_from_tv(epsilon: Number, mean_square_tv: Number) -> Number:
    r"""I(V; Z) <= (1/2)(e^eps - 1)^2 times the mean of TV(P_v, P_v')^2 over independent v, v'.

    **Proof.** I(V; Z) = E KL(M_V|mean M) <= E KL(M_V|M_V') by convexity, and the mean over ordered
    pairs is half that of the symmetrised divergence.
    """
    growth = library(epsilon).expm1(epsilon)
    return growth * growth * mean_square_tv / 2  # a square would raise where a product is infinite


def chi2_from_tv(epsilon: Number, tv: Number) -> Number:
    r"""chi^2(M_1|M_2) <= min{x^2/(1 + x), 2 x t tanh(eps/2)}, x = (e^eps - 1) t.

    **Proof.** First: likelihood ratios in [1/(1+x), 1+x] with mean 1 (Bhatia and Davis); reached at
    t = 1 by randomised response. Second: sum (m_1 - m_2)^2/m_2 <= x sum |m_1 - m_2|.
    """
    x = excess_ratio(epsilon, tv)
    lib = library(x)
    variance = x * -lib.expm1(-log_excess(epsilon, tv))
    return lib.least(variance, 2 * x * tv * tv_contraction(epsilon))


def deficit_from_tv(epsilon: Number, tv: Number) -> Number:
    r"""1 - int sqrt(m_1 m_2) <= t tanh(eps/2) tanh(log(1 + x)/4), x = (e^eps - 1) t.

    **Proof.** It is (1/2) sum (sqrt m_1 - sqrt m_2)^2
    = (1/2) sum |m_1 - m_2| tanh(|log(m_1/m_2)|/4). Reached at t = 1: 1 - 1/cosh(eps/2).

    The affinity itself is not given: for close laws one minus it has no digits left.
    """
    slope = library(epsilon, tv).tanh(log_excess(epsilon, tv) / 4)
    return tv * tv_contraction(epsilon) * slope


def renyi_from_tv(alpha: Number, epsilon: Number, tv: Number) -> Number:
    r"""D_alpha(M_1|M_2), alpha > 1: at most that of randomised response with e^l = 1 + x.

    **Proof.** r^alpha is convex in the likelihood ratio r in [1/(1+x), 1+x] of mean 1, so the
    chord's ends are worst: ((1+x)^alpha + (1+x)^{1-alpha})/(2 + x), which is
    cosh((alpha - 1/2) l)/cosh(l/2) = 1 + 2 sinh(alpha l/2) sinh((alpha - 1) l/2)/cosh(l/2).
    """
    level = log_excess(epsilon, tv)
    lib = library(alpha, level)
    if not lib.is_symbolic and alpha * level > 1:  # the same from the largest exponent down
        rest = lib.log1p(lib.exp(-(2 * alpha - 1) * level)) - lib.log1p(lib.exp(-level))
        return level + rest / (alpha - 1)
    rise = lib.sinh(alpha * level / 2) * lib.sinh((alpha - 1) * level / 2)
    return lib.log1p(2 * rise / lib.cosh(level / 2)) / (alpha - 1)


def chi2_from_tv_renyi(level: Number, tv: Number) -> Number:
    r"""chi^2(M_1|M_2) <= (4 - 3t) t^2 (e^level - 1) for channels of Renyi order 2 at most `level`.

    The level of a (kappa, rho)-zCDP channel is kappa + 2 rho. KL is at most log(1 + chi^2).

    **Proof.** P_1 = (1-t) R + t S_1, P_2 = (1-t) R + t S_2; let r, s_1, s_2 be their reports. Then
    chi^2 = t^2 sum (s_1 - s_2)^2/m_2, m_2 = (1-t) r + t s_2. By convexity of 1/m the sum is at most
    (1-t) sum (s_1 - s_2)^2/r + t sum (s_1 - s_2)^2/s_2. With v = e^level - 1 the last is at most
    t v, and in the norm sum f^2/r both |s_i - r|^2 = chi^2(s_i|r) <= v, so the first is at most
    4 (1-t) v. Reached at t = 1. (Duchi and Ruan have 4 t^2 v.)
    """
    return (4 - 3 * tv) * tv**2 * library(level, tv).expm1(level)


def kl_from_tv_bounded(kl: Number, tv: Number) -> Number:
    r"""KL(M_1|M_2) <= t kl when KL(K(.|x)|K(.|x')) <= kl (zCDP: kappa + rho): joint convexity."""
    return kl * tv


def report_variance(epsilon: Number) -> Number:
    r"""sinh(eps/2)^2: the largest variance over x of r_z = K(z|.)/m(z), K an eps-LDP channel.

    r lies in [a, e^eps a] with mean 1, so the variance is at most (e^eps a - 1)(1 - a), largest at
    a = (1 + e^-eps)/2 (Bhatia and Davis).
    """
    root = library(epsilon).sinh(epsilon / 2)
    return root * root


def report_information(epsilon: Number) -> Number:
    r"""I(X; Z) <= g - 1 - log g, g = eps/(1 - e^-eps), for every eps-LDP channel and law of X.

    **Proof.** KL(law of X given z | law of X) = E r log r with r in [a, e^eps a] of mean 1; the
    chord gives log a + eps (1 - a)/(1 - e^-eps), largest at a = 1/g. About eps^2/8 for small eps
    (the bound eps tanh(eps/2) through pairs of inputs is about eps^2/2) and eps - log eps - 1 for
    large eps. Approached by subset selection on a large alphabet.
    """
    lib = library(epsilon)
    if lib.is_symbolic:
        g = epsilon / (1 - lib.exp(-epsilon))
        return g - 1 - lib.log(g)
    above = (epsilon + lib.expm1(-epsilon)) / -lib.expm1(-epsilon)  # g - 1
    # Below 10^-3 floats cancel. With h = eps/2 it is h coth(h) - 1 + log(sinh(h)/h), whose power
    # series alternates: three terms are above it.
    half = lib.least(epsilon, 1e-3) / 2
    square = half * half
    return lib.choose(
        epsilon < (1e-3 if lib.ulp else 0),
        lambda: square * (0.5 - square / 36 + square * square / 405),
        lambda: above - lib.log1p(above),
    )


# --- The best channel on a small alphabet ---------------------------------------------------------

Column = Callable[[Array], Array]


def staircase_supremum(value: Column, inputs: int, epsilon: float) -> float:
    r"""sup over all eps-LDP channels with `inputs` inputs of sum_z value(K(z|.)).

    **Statement.** If `value` is convex and positively homogeneous in the column K(z|.), the
    supremum is that of the linear program: weights a_c >= 0 on the columns c in {1, e^eps}^inputs
    with sum_c a_c c = (1, ..., 1), maximise sum_c a_c value(c).

    **Proof.** A column of an eps-LDP channel lies in the cone {k : k_x <= e^eps k_x'}, every
    element of which is a sum of multiples of such c (its extreme rays); splitting a column can only
    raise a sublinear `value`. (Kairouz, Oh and Viswanath, 2016: staircase mechanisms.) KL, chi^2,
    TV, -affinity, e^{(alpha-1) D_alpha} and mutual information are such sums. What is returned is
    the value of the dual program, never below the supremum.

    Parameters
    ----------
    value : callable
        Maps an array of columns, one in each row, to their values.
    """
    columns = staircase_columns(inputs, epsilon).chances
    return staircase_program(value(columns), columns)


class Columns(NamedTuple):
    """Columns of a channel, one in each row, of mean 1; and what they have above their least."""

    chances: Array
    excess: Array
    """chances less their least entry, to full accuracy however small epsilon is: a difference of
    two reports' chances is the same for both, as two laws have the same mass."""


def staircase_columns(inputs: int, epsilon: float) -> Columns:
    """The columns {e^-eps, 1}^inputs, scaled to mean 1. (Where e^-eps is 0 in floats, they span
    more than the columns of eps-LDP channels: a supremum over them is no smaller.)"""
    if not 1 <= inputs <= 14:
        raise ValueError(f"inputs must lie in [1, 14] (2^inputs columns), got {inputs}")
    high = np.array(list(itertools.product([0.0, 1.0], repeat=inputs)))
    low, step = float(np.exp(-epsilon)), float(-np.expm1(-epsilon))
    mean = low + step * high.mean(axis=1, keepdims=True)
    # The first row is constant: below any e^-eps that is 0 in floats its mean would be 0 too.
    mean[0], low_row = 1.0, np.where(high.any(axis=1, keepdims=True), low, 1.0)
    excess = step * high / mean
    return Columns(low_row / mean + excess, excess)


def staircase_program(values: Array, columns: Array) -> float:
    """max sum_c a_c values_c over weights a >= 0 with sum_c a_c c = (1, ..., 1), from above.

    Any prices y bound it by sum_x y_x + max_c (value(c) - <c, y>): the columns have mean 1, so the
    weights add up to 1. The solver's tolerance, or its failure, cannot hide in that, and a margin
    covers the rounding of the check.
    """
    scale = float(np.abs(values).max())
    if not np.isfinite(scale):
        return np.inf  # nothing is known
    if scale == 0:
        return 0.0
    inputs = columns.shape[1]
    solved = optimize.linprog(
        -values / scale, A_eq=columns.T, b_eq=np.ones(inputs), bounds=(0, None), method="highs"
    )
    prices = -scale * solved.eqlin.marginals if solved.status == 0 else np.zeros(inputs)
    margin = 4 * inputs * ULP * (scale + inputs * float(np.abs(prices).max()))
    return float(prices.sum() + max(float((values - columns @ prices).max()), 0.0) + margin)


def relative_entropy_terms(base: Array, difference: Array) -> Array:
    """b f(d/b), f(r) = (1 + r) log(1 + r) - r: the terms of KL(b + d|b), second order in d."""
    with np.errstate(all="ignore"):
        ratio = np.maximum(difference / base, -1.0)
        near = np.where(np.abs(ratio) < 1e-3, ratio, 0.0)
        series = near**2 * (1 / 2 - near * (1 / 6 - near * (1 / 12 - near * (1 / 20 - near / 30))))
        full = special.xlog1py(1 + ratio, ratio) - ratio
        terms = base * np.where(np.abs(ratio) < 1e-3, series, full)
    return np.where(base > 0, terms, np.where(difference > 0, np.inf, 0.0))
