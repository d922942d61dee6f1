"""Tracing as the van Trees inequality, and sign data as symmetric scores."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, special

from minimax.core.bound import LowerBound, Parts
from minimax.core.calibration import gaussian_scale
from minimax.core.privacy import Privacy, Pure, ZeroConcentrated
from minimax.methods.divergences import staircase_program
from minimax.methods.score_model import ScoreModel
from minimax.papers import THIS_WORK
from minimax.problems.bounded_mean.lower import tracing_signs_additive
from minimax.problems.bounded_mean.uniform_part import (
    antipodal_signs,
    resampled_signs,
    weighted_scores,
)
from verify.proofs.entry import ALPHA, Case, Chapter, Result, Status, result
from verify.rates.measure import Measurement, interval

CHAPTER = Chapter(THIS_WORK)
Array = NDArray[np.float64]
Route = Callable[[type[Privacy]], LowerBound]


# --- The information that privacy leaves ---------------------------------------------------------


@CHAPTER.states(
    "Tracing as van Trees",
    r"Let the scores $s_i$ of $n$ records have $E\lVert s_i\rVert^2=I_1$, the prior's score"
    r" $E\lVert\nabla\log\pi\rVert^2=J$, and let"
    r" $E\langle V,s_i\rangle\le w_1\sqrt{E\lVert V\rVert^2}$ for all $V$ of the release,"
    r" $\theta$ and the other records. Then $E\lVert M-\theta\rVert^2\ge d^2/(J+1/Q)$,"
    r" $Q=1/(nI_1)+(1/(nw_1)^2-1/(n^2I_1))^+$.",
    kind="theorem",
    found="An equality, in rational numbers, for the noisy sum of Gaussian records.",
    by="exact",
    expected=Status.HOLDS,
    printed=Case("statistics plus privacy", factor=1),
    mutant=Case("the privacy term doubled", factor=2),
    code=("minimax.methods.score_model.ScoreModel",),
)
def van_trees_with_privacy(*, factor: int) -> Result:
    """Is the bound, its privacy term times factor, below the Bayes risk of sum x_i + N(0, v I)?

    theta ~ N(0, tau^2 I), x_i ~ N(theta, sigma^2 I). Given the others the release is x_i plus
    noise: E|E[s_i | release]|^2 = d/(sigma^2 + v), the square of w_1. The risk is
    d/(1/tau^2 + 1/(sigma^2/n + v/n^2)).
    """
    import sympy  # slow to import, and of no use to the other statements

    ratios = []
    cases = itertools.product((2, 50), (1, 30), (1, 9), (sympy.Rational(1, 4), 5), (1, 1000))
    for n, d, sigma, variance, noise in cases:
        whole = sympy.Integer(n)
        model = ScoreModel(whole, d, sympy.Rational(d, sigma**2), 1, d / sympy.sympify(variance))
        w = sympy.sqrt(sympy.Rational(d, sigma**2 + noise))
        statistics, privacy = model.proved(w, {})
        risk = d / (1 / sympy.sympify(variance) + 1 / (sigma**2 / whole + noise / whole**2))
        ratios.append(sympy.simplify((statistics + factor * privacy) / risk))
    return result(
        max(ratios) <= 1,
        largest_bound_over_risk=float(max(ratios)),
        smallest_bound_over_risk=float(min(ratios)),
        cases=len(ratios),
    )


# --- Sign data -----------------------------------------------------------------------------------

MEANS = tuple(Fraction(k, 12) for k in range(-11, 12))


@CHAPTER.states(
    "Uniform part",
    r"Signs $b_j$ of mean $p_j$ are fair with chance $1-\lvert p_j\rvert$ and fixed otherwise. With"
    r" $S$ the fair ones, $y_j=(1+\lvert p_j\rvert)1(j\in S)b_j$ is symmetric and"
    r" $E[y_j\mid b]=b_j-p_j$; $a_jy_j$ with $a_j=(1+\lvert p_j\rvert/2)/(1+\lvert p_j\rvert)$ has"
    r" covariance at most $I$.",
    kind="lemma",
    found="Exact, in rational numbers; without the weights the variance reaches 32/27.",
    by="exact",
    expected=Status.HOLDS,
    printed=Case("a = (1 + |p|/2)/(1 + |p|)", weight=0.5),
    mutant=Case("a = 1", weight=1.0),
    code=("minimax.problems.bounded_mean.uniform_part",),
)
def uniform_part(*, weight: float) -> Result:
    """By listing what a coordinate can be, a = (1 + weight |p|)/(1 + |p|): all are independent."""
    right, variances = True, []
    for p in MEANS:
        t, sign = abs(p), (1 if p >= 0 else -1)
        outcomes = {(0, sign): t, (1, 1): (1 - t) / 2, (1, -1): (1 - t) / 2}  # (fair, b) -> chance
        for b in (-1, 1):
            chance = sum(q for (_, seen), q in outcomes.items() if seen == b)
            mean = sum(
                (1 + t) * fair * seen * q for (fair, seen), q in outcomes.items() if seen == b
            )
            right &= mean / chance == b - p
        right &= sum(fair * seen * q for (fair, seen), q in outcomes.items()) == 0
        a = (1 + Fraction(weight) * t) / (1 + t)
        variances.append(sum((a * (1 + t) * fair) ** 2 * q for (fair, _), q in outcomes.items()))
    return result(
        right and max(variances) <= 1,
        identity_holds=right,
        largest_variance=float(max(variances)),
        means=len(MEANS),
    )


@CHAPTER.states(
    "Uniform part, moments",
    r"Under the prior $(1-p^2)^{u/2-1}$, $u\ge2$, the scores $s_j=a_j(b_j-p_j)$ have the signal"
    r" $E(1-t)(1+t/2)$, $t=\lvert p\rvert$, an information of at most $E(1-t)(1+t^2/4)$ and a prior"
    r" of at most $E(1/2+(u-1)t-(u-2)t^2/4)^2$ a coordinate; the closed forms"
    r" are on the safe side.",
    kind="lemma",
    found="Against quadrature: on the safe side, within a few per cent of the moments themselves.",
    by="quadrature",
    uses=("Uniform part",),
    expected=Status.HOLDS,
    printed=Case("J", factor=1.0),
    mutant=Case("four fifths of J", factor=0.8),
    code=("minimax.problems.bounded_mean.uniform_part.weighted_scores",),
)
def weighted_moments(*, factor: float) -> Result:
    """Is the signal no larger, information and factor J no smaller than the moments themselves?"""
    signal, information, prior = [], [], []
    for u in (2.0, 3.0, 10.0, 100.0, 3000.0):
        found = weighted_scores(1000.0, 1.0, u)
        signal.append(float(found.signal) / _mean(u, lambda t: (1 - t) * (1 + t / 2)))
        exact = _mean(u, lambda t: (1 - t) * (1 + t / 2) ** 2 / (1 + t))
        information.append(float(found.information) / exact)
        prior.append(factor * float(found.prior) / _mean(u, _squared_prior_score(u)))
    return result(
        max(signal) <= 1 + 1e-9 and min(information + prior) >= 1 - 1e-9,
        signal_over_exact=min(signal),
        information_over_exact=max(information),
        least_prior_over_exact=min(prior),
        largest_prior_over_exact=max(prior),
    )


def _squared_prior_score(u: float) -> Callable[[float], float]:
    """r^2, r = (B pi)'/pi of `weighted_scores`, as a function of |p|."""
    return lambda t: ((u - 2) * t * (1 + t / 2) / (1 + t) + 0.5 + t) ** 2


def _mean(u: float, function: Callable[[float], float]) -> float:
    """E function(|p|) under the prior (1 - p^2)^{u/2 - 1}."""

    def weighted(t: float) -> float:
        return function(t) * float((1 - t * t) ** (u / 2 - 1))

    reach = min(1.0, 12 / math.sqrt(u))  # beyond it less than e^-70
    scale = 2 * math.exp(-special.betaln(0.5, u / 2))
    return scale * float(integrate.quad(weighted, 0, reach, epsabs=0, epsrel=1e-11)[0])


def with_privacy(found: Parts, factor: float) -> float:
    """A bound whose privacy term is multiplied."""
    return (found.statistical or 0.0) + factor * (found.privacy or 0.0)


def _counts(n: int, u: float) -> tuple[Array, Array]:
    """Chances of the counts of n signs under the prior, and the mean of p given each."""
    ups = np.arange(n + 1)
    logs = special.betaln(ups + u / 2, n - ups + u / 2) - special.betaln(u / 2, u / 2)
    logs -= special.betaln(ups + 1, n - ups + 1) + math.log(n + 1)
    return np.exp(logs), (2 * ups - n) / (n + u)


def gaussian_mechanism_bayes_risk(n: int, u: float, rho: float) -> float:
    """The posterior variance of p given the sum of n signs plus N(0, 2/rho): the best use of it."""
    ups, variance = np.arange(n + 1), 2 / rho
    mass, posterior = _counts(n, u)
    inside = mass @ ((1 - posterior**2) / (n + u + 1))
    reach = n + 9 * math.sqrt(variance)
    z = np.linspace(-reach, reach, 2001)
    density = np.exp(-((z[:, None] - 2 * ups + n) ** 2) / (2 * variance))
    joint = mass * density / math.sqrt(2 * math.pi * variance)
    law = np.maximum(joint.sum(axis=1), 1e-300)
    explained = np.sum((joint @ posterior) ** 2 / law) * (z[1] - z[0])
    return float(inside + mass @ posterior**2 - explained)


@CHAPTER.states(
    "Sign data, one coordinate",
    r"For $n$ signs of mean $p$ and a $\rho$-zCDP release, the Bayes risk under"
    r" $(1-p^2)^{u/2-1}$ is at least the bound of antipodal pairs with the scores of the uniform"
    r" part, for every $u\ge2$.",
    kind="theorem",
    found="Below the exact Bayes risk of the Gaussian mechanism: .64 to .99 of it.",
    by="quadrature",
    uses=("Uniform part",),
    proof_uses=(
        "Tracing as van Trees",
        "Antipodal pairs, average",
        "Antipodal pairs, one pair",
        "Uniform part, moments",
    ),
    expected=Status.HOLDS,
    printed=Case("the bound", route=antipodal_signs, factor=1.0),
    mutant=Case("the privacy term doubled", route=antipodal_signs, factor=2.0),
    code=("minimax.problems.bounded_mean.uniform_part.antipodal_signs",),
)
@CHAPTER.states(
    "Sign data, resampled signs",
    r"The same with only the fair signs of a record flipped: the gain is 0 and"
    r" $\sqrt{T^2E\langle V,y\rangle^2}$ leaks, whose sum over the records the largest eigenvalue"
    r" of $\sum y_iy_i^\top$ bounds but for a rare event; to leading order"
    r" $\sigma^2d/n+\sigma^2d^2/(nT)^2$ for $d\ll n$, at any budget.",
    kind="theorem",
    found="Below the same risk, .46 to .99 of it; with the privacy term doubled it is above.",
    by="quadrature",
    uses=("Uniform part",),
    proof_uses=("Tracing as van Trees", "Resampled sign", "Uniform part, moments"),
    expected=Status.HOLDS,
    printed=Case("the bound", route=resampled_signs, factor=1.0),
    mutant=Case("the privacy term doubled", route=resampled_signs, factor=2.0),
    code=(
        "minimax.problems.bounded_mean.uniform_part.resampled_signs",
        "minimax.methods.score_model.SecondMoments",
    ),
)
def one_coordinate(*, route: Route, factor: float) -> Result:
    """Is the bound, its privacy term times factor, below the Gaussian mechanism's risk?"""
    ratios = []
    for n, rho in itertools.product((20, 200, 1000), (1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0)):
        found = route(ZeroConcentrated).parts(n=n, d=1, sigma=1.0, rho=rho)
        risk = gaussian_mechanism_bayes_risk(n, found.optimum["u"], rho)
        ratios.append(with_privacy(found, factor) / risk)
    return result(
        max(ratios) <= 1,
        largest_bound_over_risk=max(ratios),
        smallest_bound_over_risk=min(ratios),
        cells=len(ratios),
    )


def least_pure_risk(n: int, u: float, epsilon: float) -> float:
    """The least Bayes risk of p over all epsilon-private mechanisms of n signs, from below.

    A mechanism may see the count alone, as the records are exchangeable. The chances of a release
    as a function of the count lie in the cone of columns that change by at most e^{+-epsilon} a
    step; its extreme rays take one of the two at every step, and splitting a column into rays can
    only raise what the release explains of p.
    """
    mass, posterior = _counts(n, u)
    steps = np.array(list(itertools.product((-1.0, 1.0), repeat=n)))
    levels = np.cumsum(np.hstack([np.zeros((len(steps), 1)), steps]), axis=1)
    rays = np.exp(epsilon * levels)
    rays /= rays.mean(axis=1, keepdims=True)
    explained = (rays @ (mass * posterior)) ** 2 / (rays @ mass)
    return 1 / (u + 1) - staircase_program(explained, rays)


@CHAPTER.states(
    "Sign data, pure budgets",
    r"For signs and an $\epsilon$-private release, the scores $b_i-p$ and the gain of the record's"
    r" own channel: the Bayes risk is at least statistics plus privacy for every $u>0$, to leading"
    r" order $\sigma^2d/n+4\sigma^2d^2/(n\epsilon)^2$.",
    kind="theorem",
    found="Below the optimum of linear programs over all private mechanisms: .66 to .97 of it.",
    by="optimisation",
    proof_uses=(
        "Tracing as van Trees",
        "Own channel, unit variance",
        "Own channel, sub-Gaussian score",
    ),
    expected=Status.HOLDS,
    printed=Case("the bound", factor=1.0),
    mutant=Case("the privacy term doubled", factor=2.0),
    code=(
        "minimax.problems.bounded_mean.lower.tracing_signs_additive",
        "minimax.methods.tracing.gain_at",
    ),
)
def pure_budgets(*, factor: float) -> Result:
    """Is the bound, its privacy term times factor, below the risk of every private mechanism?"""
    ratios = []
    for n, epsilon in itertools.product((1, 4, 10), (0.02, 0.1, 0.3, 1.0)):
        found = tracing_signs_additive(Pure).parts(n=n, d=1, sigma=1.0, epsilon=epsilon)
        ratios.append(with_privacy(found, factor) / least_pure_risk(n, found.optimum["u"], epsilon))
    return result(
        max(ratios) <= 1,
        largest_bound_over_optimum=max(ratios),
        smallest_bound_over_optimum=min(ratios),
        programs=len(ratios),
    )


WIDE = {"n": 200_000, "d": 2000, "sigma": 1.0, "rho": 0.001}
"""Statistics << privacy << nothing released: rho n << 2 d << rho n^2."""
DRAWS = 200


@cache
def _counted(seed: int) -> Measurement:
    """Measured risk of the Gaussian mechanism in the cell `WIDE`, under the bound's own prior.

    The d counts are drawn, not the records.
    """
    n, d, rho = WIDE["n"], int(WIDE["d"]), WIDE["rho"]
    u = antipodal_signs(ZeroConcentrated).parts(**WIDE).optimum["u"]
    scale = float(gaussian_scale(ZeroConcentrated(rho), 2 * math.sqrt(d) / n))
    rng = np.random.default_rng(seed)
    p = 2 * rng.beta(u / 2, u / 2, (DRAWS, d)) - 1
    released = 2 * rng.binomial(int(n), (1 + p) / 2) / n - 1
    released += scale * rng.standard_normal((DRAWS, d))
    return interval(np.sum((released - p) ** 2, axis=1), ALPHA, seed)


@CHAPTER.states(
    "Sign data, exact constant",
    r"For records in $\{-\sigma,\sigma\}^d$ under $\rho$-zCDP the minimax risk is at least"
    r" $(1-o(1))(\sigma^2d/n+2\sigma^2d^2/(\rho n^2))$ for $2d\ll\rho n^2$, $\rho\to0$,"
    r" which the Gaussian mechanism reaches.",
    kind="theorem",
    found="n = 200,000, d = 2,000, ρ = .001: the Gaussian mechanism has 1.12 times the bound.",
    by="simulation",
    proof_uses=(
        "Sign data, one coordinate",
        "Tracing as van Trees",
        "Uniform part",
        "Uniform part, moments",
        "Antipodal pairs, average",
        "Antipodal pairs, one pair",
    ),
    expected=Status.HOLDS,
    printed=Case("the bound", factor=1.0),
    mutant=Case("the privacy term doubled", factor=2.0),
    code=("minimax.problems.bounded_mean.uniform_part.antipodal_signs",),
)
def exact_constant(rng: np.random.Generator, *, factor: float) -> Result:
    """Is the bound, its privacy term times factor, below the measured risk's interval?"""
    found = antipodal_signs(ZeroConcentrated).parts(**WIDE)
    measured = _counted(int(rng.integers(2**31)))
    bound = with_privacy(found, factor)
    return result(
        measured.ci_low >= bound,
        bound=bound,
        measured=measured.risk,
        ci_low=measured.ci_low,
        ci_high=measured.ci_high,
        measured_over_bound=measured.risk / bound,
    )
