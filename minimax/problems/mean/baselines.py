r"""Upper bounds for the private means of others: Karwa and Vadhan's, and CoinPress."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from minimax.core.bound import Assumption, Optimum, Point, Rule, Terms, UpperBound, rule_at
from minimax.core.calibration import Allowance
from minimax.core.privacy import Approximate, Privacy
from minimax.core.symbolic import LETTERS, Number, library
from minimax.methods.recursion import hypot
from minimax.papers import THIS_WORK
from minimax.problems.mean.problem import MeanProblem

# --- Karwa and Vadhan -----------------------------------------------------------------------------


def subgaussian_excess(u: Number, sigma: Number) -> Number:
    r"""A bound on the root of E((|xi| - u)^+)^2, xi of mean zero, sub-Gaussian(sigma), u >= 0.

    **Statement.** 2 sigma e^{-v^2/4}/sqrt(1 + v^2), v = u/sigma.

    **Proof.** P(|xi| > t sigma) <= 2 e^{-t^2/2}, so the square is at most
    4 sigma^2 int_v^inf (t - v) e^{-t^2/2} dt = 4 sigma^2 e^{-v^2/2} (1 - v m(v)), where Mills'
    ratio m(v) is at least v/(1 + v^2).
    """
    v = u / sigma
    lib = library(v)
    return 2 * sigma * lib.exp(-v * v / 4) / lib.sqrt(1 + v * v)


TAILS = (0.1587, 0.0228, 0.00135)
"""At least P(z > j), j = 1, 2, 3, z ~ N(0, 1)."""
OWN_BIN = 0.3413
"""At most P(0 < z < 1)."""


def far_bin_chance(n: float, scale: float, bins: float) -> float:
    r"""The chance, at most, that a histogram's largest noisy count is not next to the mean's bin.

    **Statement.** N(mu, sigma^2) records in bins of width sigma, so many of which get Laplace noise
    of this scale. The winner's centre is more than 1.5 sigma from mu with a chance of at most
    2 b(q_1) + 2 b(q_2) + bins b(q_3), where for any s < 1/scale, p = OWN_BIN and q_j of TAILS
    b(q) = (1 - p (1 - e^{-s}) + q (e^s - 1))^n/(1 - s^2 scale^2)^2.

    **Proof.** mu is at most sigma/2 from the centre of its bin, which holds p of the law at least.
    On either side the first centre that is more than 1.5 sigma away has a bin that begins more than
    sigma away, the next 2 sigma, and so on, also if it is the unbounded one at the end: the j-th
    holds q_j at most. Markov's inequality for e^{s D}, D what a far count and its noise exceed that
    of mu by; E e^{s Laplace} = 1/(1 - s^2 scale^2).
    """
    s = np.geomspace(1e-3, 0.999, 60) * min(1.0, 1 / scale)

    def beaten(q: float) -> float:
        growth = np.log1p(OWN_BIN * np.expm1(-s) + q * np.expm1(s))
        exponent = n * growth - 2 * np.log1p(-((s * scale) ** 2))
        return math.exp(min(0.0, float(np.min(exponent))))  # a chance is at most 1

    first, second, others = (beaten(q) for q in TAILS)
    return min(2 * (first + second) + bins * others, 1.0)


def karwa_vadhan_upper(
    problem: MeanProblem,
    privacy: Privacy,
    *,
    half_width: Rule,
    farthest_centre: float,
    noise_variance: Rule,
) -> UpperBound:
    r"""Risk of KarwaVadhanMean where its centres are known to be near.

    **Statement.** Each coordinate is released as c + (1/n) sum_i clip(x_i - c, -h, h) + noise of
    variance tau^2, with a centre c that may depend on the data, |c| <= c_0. For all
    sub-Gaussian(sigma) records with |mu_j| <= a, and u = h - c_0 - a >= 0,

        E|muhat - mu|^2 <= d [(sigma/sqrt n + f)^2 + tau^2],   f of `subgaussian_excess`(u, sigma).

    **Proof.** |x_i - c| <= |x_i - mu| + c_0 + a, so whatever c is, clipping moves the average by at
    most (1/n) sum_i (|x_i - mu| - u)^+, whose root mean square is at most f. Minkowski. The noise
    is independent and has mean zero.

    **Constants.** The histograms are not used: with a bound on the mean all centres lie within
    c_0 = sigma round(a/sigma), and where that is small against h no choice of theirs matters. For
    a large a the bound refuses, and a proof would have to follow the counts.

    **Source.** for the algorithm of Karwa and Vadhan (2018).
    """

    def slack(point: Point) -> Number:
        return rule_at(half_width, point) - farthest_centre - point["radius"]

    def optimise(point: Point) -> Optimum:
        return {"noise_variance": rule_at(noise_variance, point)}

    def formula(point: Point, found: Optimum) -> Terms:
        n, d, sigma = point["n"], point["d"], point["sigma"]
        own = sigma / library(n, sigma).sqrt(n)
        lost = subgaussian_excess(slack(point), sigma)
        return Terms(d * own**2, d * (lost * (2 * own + lost) + found["noise_variance"]))

    return _upper(
        problem,
        privacy,
        name="histogram, clip, average, noise",
        estimator="KarwaVadhanMean",
        source=f"{THIS_WORK}: baselines.karwa_vadhan_upper",
        formula=formula,
        optimise=optimise,
        assumptions=(
            Assumption("h >= c_0 + radius (the window holds the mean)", lambda p: slack(p) >= 0),
        ),
    )


# --- CoinPress ------------------------------------------------------------------------------------


def gaussian_length(d: Number, log_chance: Number) -> Number:
    """A length that a N(0, I_d) vector exceeds with chance at most e^-log_chance (Laurent, Massart,
    2000)."""
    lib = library(d, log_chance)
    return lib.sqrt(d + 2 * log_chance + 2 * lib.sqrt(d * log_chance))


def length_excess(d: Number, log_chance: Number) -> Number:
    r"""A bound on the root of E((|z| - T)^+)^2, z ~ N(0, I_d), T = `gaussian_length`.

    **Statement.** sqrt(2) e^{-(d/4)(y - log(1 + y))}/h, y = T^2/d - 1 = (2x + 2 sqrt(d x))/d,
    h = T - d/T, x = `log_chance`.

    **Proof.** Chernoff: P(|z| > T) <= C(T) = e^{-(d/2)(y - log(1 + y))}, for every T >= sqrt d.
    -log C has the slope T - d/T, which grows with T, so that P(|z| > T + t) <= C(T) e^{-ht}; and
    int 2t e^{-ht} dt = 2/h^2.
    """
    lib = library(d, log_chance)
    y = 2 * (log_chance + lib.sqrt(d * log_chance)) / d
    h = d * y / gaussian_length(d, log_chance)
    return lib.sqrt(2 + 0 * d) * lib.exp(-d / 4 * (y - lib.log1p(y))) / h


class CoinPressPlan(NamedTuple):
    """The settings of CoinPressMean, as functions of n and d alone."""

    sigma: float
    shares: Sequence[float]
    """Of mu^2, one for each step."""
    beta: float
    first_radius: Callable[[Number], Number]
    """Of the first ball, in d dimensions."""

    def tails(self, n: Number) -> tuple[Number, Number]:
        """-log of the chances at which a record and a centre may lie farther off than believed."""
        steps = len(self.shares)
        whole = -library(n).log((0 * n + self.beta) / (2 * steps))
        return whole + library(n).log(n), whole

    def scales(self, n: Number, d: Number, mu: Number) -> list[Number]:
        """The noise of each step."""
        lib = library(n, d, mu)
        record, centre = self.tails(n)
        gamma, tail = self.sigma * gaussian_length(d, record), gaussian_length(d, centre)
        radius, scales = self.first_radius(d), []
        for share in self.shares:
            scales.append(2 * (radius + gamma) / (n * mu * lib.sqrt(0 * n + share)))
            spread = lib.sqrt(self.sigma**2 / n + scales[-1] ** 2)
            radius = lib.least(tail * spread, radius)
        return scales

    def lost(self, n: Number, d: Number, sigma: Number, earlier: Sequence[Number]) -> Number:
        """What shortening moves the last mean by in root mean square, `earlier` being the scales of
        the noise before the last: t g + k sum v_s of `coinpress_upper`."""
        lib = library(n, d, sigma)
        record, centre = (length_excess(d, x) for x in self.tails(n))
        spreads = (hypot(self.sigma / lib.sqrt(n), tau) for tau in earlier)
        return (1 + len(earlier)) * sigma * record + centre * sum(spreads, 0 * n)


def coinpress_upper(problem: MeanProblem, privacy: Privacy, plan: CoinPressPlan) -> UpperBound:
    r"""Risk of CoinPressMean for Gaussian records.

    **Statement.** Step s = 1, ..., t shortens x_i - c to length r_{s-1} + gamma and releases its
    mean with noise of scale tau_s. For x ~ N(mu, sigma^2 I_d), |mu_j| <= a,

        E|muhat - mu|^2 <= d tau_t^2 + [sigma sqrt(d/n) + t g + k sum_{s < t} v_s]^2,

    v_s^2 = sigma^2/n + tau_s^2, g/sigma and k the `length_excess` that go with gamma and with r_s.

    **Assumptions.** The first ball holds the class's means, and sigma is at most the scale given.

    **Proof.** Radii and scales do not depend on the data. Let w_s be the noise of step s and
    Z_s = mean of x - mu + w_s, which is N(0, v_s^2 I). Shortening moves x_i - c by at most
    (|x_i - mu| - gamma)^+ + (|c - mu| - r_{s-1})^+. So the estimate of step s is mu + Z_s but for
    D_s <= G + (|c - mu| - r_{s-1})^+, G the mean of (|x_i - mu| - gamma)^+. The first excess of
    |c - mu| is 0. A centre that is replaced has the excess (|Z_s| - r_s)^+ + D_s at most, with
    r_s = v_s T, and one that is not keeps its own. So D_t <= t G + sum_{s<t} (|Z_s| - r_s)^+, of
    root mean square t g + k sum v_s. w_t is independent of the records and of D_t. Minkowski.

    **Constants.** At n = 1000, d = 200, rho = .05, sigma = radius = 1 it is 7.755, and 7.61 is
    measured: all that shortening may do is .01.

    **Source.** for the algorithm of Biswas, Dong, Kamath and Ullman (2020).
    """
    model = type(privacy)

    def optimise(point: Point) -> Optimum:
        return {"mu": Allowance(model, point).mu()}

    def formula(point: Point, found: Optimum) -> Terms:
        n, d, sigma = point["n"], point["d"], point["sigma"]
        lib = library(n, d, sigma)
        *earlier, last = plan.scales(n, d, found["mu"])
        own, lost = sigma * lib.sqrt(d / n), plan.lost(n, d, sigma, earlier)
        return Terms(own**2, d * last**2 + lost * (2 * own + lost))

    def holds(point: Point) -> bool:
        first = plan.first_radius(point["d"])
        return bool(point["radius"] * library(first).sqrt(point["d"]) <= first * (1 + 1e-12))

    return _upper(
        problem,
        privacy,
        name="shrinking balls",
        estimator="CoinPressMean",
        source=f"{THIS_WORK}: baselines.coinpress_upper",
        formula=formula,
        optimise=optimise,
        assumptions=(
            Assumption("Gaussian records", lambda p: True),
            Assumption("the first ball holds the means", holds),
            Assumption("sigma is at most the scale given", lambda p: p["sigma"] <= plan.sigma),
        ),
    )


def _upper(
    problem: MeanProblem,
    privacy: Privacy,
    *,
    name: str,
    estimator: str,
    source: str,
    formula: Callable[[Point, Optimum], Terms],
    optimise: Callable[[Point], Optimum],
    assumptions: tuple[Assumption, ...],
) -> UpperBound:
    defaults = {**problem.point, **privacy.parameters}
    return UpperBound(
        name=name,
        source=source,
        parameters=tuple(defaults),
        formula=formula,
        optimise=optimise,
        expression=lambda: formula(LETTERS, optimise(LETTERS)).total,
        assumptions=assumptions,
        defaults=defaults,
        estimator=estimator,
        zero_release_risk=problem.zero_release_risk,
        resolve=isinstance(privacy, Approximate),
    )
