r"""Noise from a budget: what an estimator draws and a bound charges is computed here, once.

Whoever audits an estimator reads this file and no bound.

T releases of l2 sensitivity Delta with noise tau each are together one Gaussian mechanism of
sensitivity sqrt(T) Delta: GDP with mu = sqrt(T) Delta/tau, zCDP with rho = T Delta^2/(2 tau^2),
adaptively chosen or not. So tau = sqrt(T) Delta/mu, with mu from the budget: sqrt(2 rho) for zCDP,
the exact Gaussian curve for (epsilon, delta).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from scipy import special

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
    at_point,
    check_privacy,
    parameter_names,
)
from minimax.core.randomised_response import randomised_response_epsilon
from minimax.core.symbolic import FLOATS, Library, Number, library

EULER = 0.5772156649015329
VALUES_ONLY = 0.01
"""The share of a budget that goes to selecting all coordinates, which needs none of it."""

# --- Budgets --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Allowance:
    """A privacy definition whose numbers may be of any kind: what noise is calibrated to.

    With floats, conversions are those that mechanisms use. With other numbers they are closed
    forms that allow no more: noise found with them is at least as large.
    """

    model: type[Privacy]
    numbers: Mapping[str, Number]

    @property
    def epsilon(self) -> Number:
        return self.numbers["epsilon"]

    @property
    def is_pure(self) -> bool:
        return self.model is Pure

    @property
    def library(self) -> Library:
        """The functions for its kind of number."""
        return library(*self.letters())

    def letters(self) -> tuple[Number, ...]:
        """The numbers of the definition, in its order."""
        return tuple(self.numbers[name] for name in parameter_names(self.model))

    def mu(self) -> Number:
        r"""The largest mu whose Gaussian mechanism is within the budget, exact for floats.

        **Statement.** Else, for (epsilon, delta), sqrt(2 rho) with rho of `rho`.

        **Proof.** The Gaussian mechanism with mu = sqrt(2 rho) is rho-zCDP.
        """
        if self.model is Gaussian:
            return self.numbers["mu"]
        if self._is_approximate_float():
            return at_point(Approximate, self.numbers).to_gaussian().mu
        rho = self.rho()
        return self.library.sqrt(2 * rho)

    def rho(self) -> Number:
        r"""The largest rho-zCDP within the budget, as far as it is known, for floats.

        **Statement.** Else, for (epsilon, delta), (sqrt(L + epsilon) - sqrt(L))^2 with
        L = log(1/delta), written as epsilon^2/(sqrt(L + epsilon) + sqrt(L))^2.

        **Proof.** rho-zCDP is (rho + 2 sqrt(rho L), delta)-DP (Bun and Steinke, 2016); at this rho
        that epsilon is (sqrt(rho) + sqrt(L))^2 - L. The conversion used for floats gives no
        larger epsilon for the same rho, hence no smaller rho.
        """
        if self.model is ZeroConcentrated:
            return self.numbers["rho"]
        if self.model is Gaussian:
            return self.numbers["mu"] ** 2 / 2
        if self._is_approximate_float():
            return at_point(Approximate, self.numbers).to_zcdp().rho
        if self.model is not Approximate:
            raise TypeError(f"no Gaussian noise is calibrated to {self.model.__name__}")
        epsilon, delta = self.epsilon, self.numbers["delta"]
        lib = self.library
        L = -lib.log(delta)
        return (epsilon / (lib.sqrt(L + epsilon) + lib.sqrt(L))) ** 2

    def share(self, parts: int) -> Allowance:
        """One of so many equal parts: of epsilon if pure, of rho otherwise."""
        if self.is_pure:
            return Allowance(Pure, {"epsilon": self.epsilon / parts})
        return Allowance(ZeroConcentrated, {"rho": self.rho() / parts})

    def printed_share(self, parts: int) -> Allowance:
        """epsilon and delta divided by the number of parts, as CWZ19 does."""
        return Allowance(self.model, {k: self.numbers[k] / parts for k in ("epsilon", "delta")})

    def _is_approximate_float(self) -> bool:
        return self.model is Approximate and self.library is FLOATS


def budget_of(privacy: Privacy | Allowance) -> Allowance:
    """The allowance of a definition with its numbers."""
    if isinstance(privacy, Allowance):
        return privacy
    check_privacy(privacy)
    return Allowance(type(privacy), privacy.parameters)


def part_of_budget(pure: bool, strength: Number, share: Number) -> Allowance:
    """What a phase may spend: a share of epsilon, or of mu^2."""
    if pure:
        return Allowance(Pure, {"epsilon": strength * share})
    return Allowance(Gaussian, {"mu": strength * library(share).sqrt(share)})


# --- One bit --------------------------------------------------------------------------------------


def report_signal(budget: Allowance) -> Number:
    r"""At most tanh(e/2), e of `randomised_response_epsilon`: how much of a bit's mean is left.

    **Statement.** Pure: tanh(epsilon/2). (epsilon, delta): (e^eps - 1 + 2 delta)/(e^eps + 1).
    GDP: erf(mu/sqrt 8). zCDP: sqrt(rho/(rho + 2)). (kappa, rho)-zCDP: the larger of that and
    tanh((kappa + rho)/2). (alpha, epsilon)-RDP: tanh(max{eps, sqrt(2 eps/alpha)}/2). The first
    three are exact.

    **Proof.** (epsilon, delta): e^e = (e^eps + delta)/(1 - delta). GDP: Phi(mu/2) - Phi(-mu/2).
    zCDP: with t = tanh(e/2) and rho = e t, rho (1 - t^2) <= 2 t^2 is e <= 2t/(1 - t^2) = sinh(e).
    With kappa > 0, e is larger, and (e - kappa) tanh(e/2) = rho has e - kappa >= rho. RDP:
    D_alpha <= min{e, alpha e^2/2}.
    """
    at, lib = budget.numbers, budget.library
    if budget.model is Pure:
        return lib.tanh(at["epsilon"] / 2)
    if budget.model is Approximate:
        # divided by e^eps, which overflows
        grown, rest = -lib.expm1(-at["epsilon"]), lib.exp(-at["epsilon"])
        return (grown + 2 * at["delta"] * rest) / (1 + rest)
    if budget.model is Gaussian:
        return lib.erf(at["mu"] / lib.sqrt(8))
    if budget.model is Renyi:
        level, alpha = at["epsilon"], at["alpha"]
        return lib.tanh(lib.largest(level, lib.sqrt(2 * level / alpha)) / 2)
    concentrated = lib.sqrt(at["rho"] / (at["rho"] + 2))
    if budget.model is OffsetConcentrated:
        return lib.largest(concentrated, lib.tanh((at["kappa"] + at["rho"]) / 2))
    return concentrated


def report_epsilon(budget: Allowance) -> float:
    """e of `randomised_response_epsilon` for a budget in floats."""
    return randomised_response_epsilon(at_point(budget.model, budget.numbers))


# --- Means ----------------------------------------------------------------------------------------


Calibration = Literal["analytic", "classical", "paper"]


def gaussian_scale(
    privacy: Privacy | Allowance, l2_sensitivity: Number, calibration: Calibration = "analytic"
) -> Number:
    """Standard deviation of the noise that a Gaussian release gets.

    * ``analytic``: the smallest that gives the guarantee (Balle and Wang, 2018, for
      (epsilon, delta); sensitivity/sqrt(2 rho) for zCDP; sensitivity/mu for GDP).
    * ``classical``: sensitivity sqrt(2 log(1.25/delta))/epsilon, proved for epsilon < 1 only
      (CWZ19: Example 2.2).
    * ``paper``: sensitivity sqrt(log(1/delta))/epsilon, the variance of CWZ19: Algorithm 3.1 as
      printed. It does **not** give (epsilon, delta)-DP; the ledger says what it gives.
    """
    if not isinstance(privacy, (Allowance, Approximate, ZeroConcentrated, Gaussian)):
        raise TypeError(f"privacy must be (epsilon, delta), zCDP or GDP, got {privacy!r}")
    budget = budget_of(privacy)
    if calibration == "analytic":
        return l2_sensitivity / budget.mu()
    if calibration not in ("classical", "paper"):
        raise ValueError(
            f"calibration must be 'analytic', 'classical' or 'paper', got {calibration!r}"
        )
    if budget.model is not Approximate:
        raise ValueError(f"calibration={calibration!r} is for (epsilon, delta), not {privacy}")
    lib, epsilon, delta = budget.library, budget.epsilon, budget.numbers["delta"]
    if calibration == "paper":
        return l2_sensitivity * lib.sqrt(-lib.log(delta)) / epsilon
    if not lib.is_symbolic and epsilon >= 1:
        raise ValueError(f"calibration='classical' needs epsilon < 1, got {epsilon}")
    return l2_sensitivity * lib.sqrt(2 * lib.log(1.25 / delta)) / epsilon


def noise_variance(
    privacy: Privacy | Allowance,
    n: Number,
    d: Number,
    R: Number,
    calibration: Calibration = "analytic",
) -> Number:
    """Variance a coordinate gets when the mean of records clipped to [-R, R]^d is released.

    Gaussian noise for l2 sensitivity 2 R sqrt(d)/n. Under a pure budget noise of density
    e^{-epsilon |z|_inf/(2 R/n)}: a Gamma(d + 1) multiple of a uniform point of the cube, whose
    variance is (d + 1)(d + 2)/3 times (2 R/(n epsilon))^2. Laplace noise would have 2 d^2 times
    that, which is as much for d = 1 and six times as much for large d (Hardt and Talwar, 2010).
    """
    budget = budget_of(privacy)
    if budget.is_pure:
        return (d + 1) * (d + 2) / 3 * (2 * R / (n * budget.epsilon)) ** 2
    return gaussian_scale(budget, 2 * R * library(d).sqrt(d) / n, calibration) ** 2


def ball_noise_variance(budget: Allowance, n: Number, d: Number, R: Number) -> Number:
    """Variance a coordinate gets when the mean of records of length at most R is released.

    Gaussian noise for l2 sensitivity 2 R/n. Under a pure budget noise of density
    e^{-epsilon |z|/(2 R/n)}: its length is Gamma(d), its direction uniform, so that
    E|z|^2 = d (d + 1) (2 R/(n epsilon))^2.
    """
    if budget.is_pure:
        return (d + 1) * (2 * R / (n * budget.epsilon)) ** 2
    return gaussian_scale(budget, 2 * R / n) ** 2


def paper_peeling_scale(sensitivity: Number, s: Number, epsilon: Number, delta: Number) -> Number:
    """The scale printed in CWZ19: Algorithm 3.2, lambda 2 sqrt(3 s log(1/delta))/epsilon."""
    lib = library(s, delta)
    return sensitivity * 2 * lib.sqrt(-3 * s * lib.log(delta)) / epsilon


def selection_epsilon(model: type[Privacy], part: Allowance, rounds: Number) -> Number:
    r"""epsilon of each of so many rounds of the exponential mechanism that may spend `part`.

    **Statement.** Pure: epsilon/rounds. GDP: twice that of randomised response with
    mu/sqrt(rounds). Otherwise sqrt(8 rho/rounds).

    **Proof.** A round is (epsilon^2/8)-zCDP. GDP: between neighbours the logarithms of a round's
    likelihood ratios have a range of at most epsilon (Dong, Durfee and Rogers, 2020). The trade-off
    curve lies above two lines that meet where the errors a, b have logit(1 - a) + logit(1 - b) =
    epsilon, and a Gaussian curve through that point, being convex, lies below them. Its mu is
    h(u) + h(epsilon - u), h = Phi^{-1} o logistic, u = logit(1 - a). h is odd, and concave above 0:
    z Phi(z) Phi(-z) <= (2 Phi(z) - 1) phi(z), as the difference is 0 at 0 and at infinity and its
    slope, 2 phi^2 - Phi(z) Phi(-z), changes its sign once (phi/Phi(-z) has a slope below 1). So
    mu <= 2 h(epsilon/2), which randomised response with epsilon/2 has. rho and mu^2 add up.
    """
    if part.is_pure:
        return part.epsilon / rounds
    if model is Gaussian:
        return 2 * report_epsilon(Allowance(Gaussian, {"mu": part.mu() / math.sqrt(rounds)}))
    rho = part.rho()
    return library(rho, rounds).sqrt(8 * rho / rounds)


class Scales(NamedTuple):
    """The noise of a sparse release: functions of n, s, R and the budget, never of the data."""

    round_epsilon: Number
    """epsilon of one selection round (there are s)."""
    selection: Number
    """Scale of the Gumbel (method="gumbel") or Laplace ("peeling") noise on every |mean_j|."""
    value: Number
    """Scale of the Gaussian or Laplace noise on every released value."""
    value_variance: Number
    """Variance of that noise."""


def sparse_scales(
    n: Number,
    s: Number,
    R: Number,
    privacy: Privacy | Allowance,
    *,
    method: str = "gumbel",
    calibration: str = "zcdp",
    selection_share: float = 0.5,
) -> Scales:
    """The noise scales with which s coordinates of a mean of n records in [-R, R] are released.

    Every |mean_j| has sensitivity 2R/n. A pure budget is divided by plain addition; any other is
    turned into rho-zCDP and divided there.

    * ``gumbel``: s rounds of epsilon_0 cost s epsilon_0, or s epsilon_0^2/8 in zCDP, which is set
      to `selection_share` of the budget; the values, of l2 sensitivity 2R sqrt(s)/n and l1
      sensitivity 2Rs/n, get the rest.
    * ``peeling``: one Laplace scale for everything; with e = (2R/n)/scale, the s rounds are 2e-DP
      and the s values e-DP each: 3se in all, or s(4e^2 + e^2)/2 in zCDP.
    """
    sensitivity, budget = 2 * R / n, budget_of(privacy)
    lib = library(sensitivity, s, *budget.letters())
    if method == "peeling":
        if calibration == "paper":
            if budget.model is not Approximate:
                raise TypeError(f"calibration='paper' is for (epsilon, delta), not {privacy}")
            scale = paper_peeling_scale(sensitivity, s, budget.epsilon, budget.numbers["delta"])
        elif budget.is_pure:
            scale = sensitivity * 3 * s / budget.epsilon
        else:
            scale = sensitivity * lib.sqrt(2.5 * s / budget.rho())
        return Scales(2 * sensitivity / scale, scale, scale, 2 * scale**2)
    if budget.is_pure:
        epsilon = budget.epsilon * selection_share / s
        value = sensitivity * s / (budget.epsilon * (1 - selection_share))
        return Scales(epsilon, 2 * sensitivity / epsilon, value, 2 * value**2)
    rho = budget.rho()
    epsilon = lib.sqrt(8 * rho * selection_share / s)
    value = sensitivity * lib.sqrt(s / (2 * rho * (1 - selection_share)))
    return Scales(epsilon, 2 * sensitivity / epsilon, value, value**2)


def laplace_maximum_rms(d: Number) -> Number:
    r"""sqrt(E max_j w_j^2) of d unit Laplace variables: the maximum of d exponentials.

    E max^2 = H_d^2 + sum 1/k^2, since the maximum is a sum of independent Exp(k), k = 1..d. As a
    symbol: H_d <= log d + Euler's constant + 1/(2d), and the sum is at most pi^2/6.
    """
    lib = library(d)
    if lib.is_symbolic or (lib is FLOATS and d > 1e15):  # integers may be beyond floats
        harmonic, squares = lib.log(d) + EULER + 1 / (2 * d), lib.pi**2 / 6
    elif lib is FLOATS:
        harmonic = float(special.digamma(d + 1)) + EULER
        squares = math.pi**2 / 6 - float(special.polygamma(1, d + 1))
    else:
        harmonic, squares = lib.harmonic(d), lib.inverse_squares(d)
    return lib.sqrt(harmonic**2 + squares)


def gumbel_range_rms(d: Number) -> Number:
    """Half of a bound on sqrt(E (max - min)^2) of d unit Gumbel variables.

    The maximum is log d plus a Gumbel. Minus the minimum exceeds t with chance at most
    d exp(-e^t), so its excess over log log(3d) has second moment at most
    int 2 t d exp(-e^t log 3d) dt <= 1.
    """
    lib = library(d)
    highest = lib.sqrt((lib.log(d) + EULER) ** 2 + lib.pi**2 / 6)
    return (highest + lib.log(lib.log(3 * d)) + 1) / 2


# --- Gradients ------------------------------------------------------------------------------------


Composition = Literal["zcdp", "basic"]


def repeated_noise(
    privacy: Privacy | Allowance,
    sensitivity: Number,
    releases: int,
    composition: Composition = "zcdp",
) -> Number:
    """Standard deviation of the noise on each of `releases` Gaussian releases.

    ``zcdp``: all of them as one Gaussian mechanism (above). ``basic``: each release gets
    (epsilon/T, delta/T) by the classical formula Delta sqrt(2 log(2T/delta))/(epsilon/T), as CWZ19:
    Algorithm 4.1 does; it wastes about a factor sqrt(T).
    """
    budget = budget_of(privacy)
    if composition == "zcdp":
        return sensitivity * library(releases).sqrt(releases) / budget.mu()
    if composition != "basic":
        raise ValueError(f"composition must be 'zcdp' or 'basic', got {composition!r}")
    if budget.model is not Approximate:
        raise ValueError(f"composition='basic' is for (epsilon, delta), not {privacy}")
    epsilon, delta = budget.epsilon, budget.numbers["delta"]
    lib = library(delta)
    return sensitivity * lib.sqrt(2 * lib.log(2 * releases / delta)) * releases / epsilon


def paper_gradient_noise(
    privacy: Privacy | Allowance, clip: float, n: Number, steps: int
) -> Number:
    """The noise per step as printed in WG19; it is too small.

    tau^2 = T G^2/(n^2 rho) for zCDP (Theorem 5.2) and T G^2 log(1/delta)/(n eps)^2 for
    (epsilon, delta) (Corollary 5.8, where G = K as logistic slopes are at most 1).
    """
    budget = budget_of(privacy)
    lib = budget.library
    if budget.model is ZeroConcentrated:
        return clip / n * lib.sqrt(steps / budget.rho())
    if budget.model is Approximate:
        spent = -steps * lib.log(budget.numbers["delta"])
        return clip / n * lib.sqrt(spent) / budget.epsilon
    raise ValueError(f"calibration='paper' is for Approximate or ZeroConcentrated, not {privacy}")


def gradient_sensitivity(n: Number, R: Number, row_bound: Number, radius: Number) -> Number:
    r"""How far replacing a record can move (1/n) sum_i (<x_i, b> - y_i) x_i; exact for d >= 2.

    **Statement.** Over |x|_2 <= c, |y| <= R and |b|_2 <= c0, with A = c0 c, the l2 sensitivity is
    (2c/n) max_s sqrt(1 - s^2) (A s + R), attained at s = 2A/(R + sqrt(R^2 + 8 A^2)).

    **Proof.** Along a unit vector v a record adds <v,x><x,b> - y <v,x>. In the plane of v and b
    let x and x' have angles t, u in [0, pi/2] to the line of v; shorter rows and other planes give
    no more. The best responses give c R (cos t + cos u), and the best b of length c0 gives
    c A sqrt((cos^2 t - cos^2 u)^2 + (sin 2t + sin 2u)^2/4) = c A sin(t + u). With m = (t + u)/2,
    cos t + cos u <= 2 cos m, so the sum is at most 2c cos m (A sin m + R): s = sin m.

    CWZ19: Lemma 4.2 has 4 (R + A) c/n; adding two largest gradients gives 2 (R + A) c/n, which is
    never reached, because for a given b the largest gradients all have one direction.
    """
    reach = radius * row_bound
    lib = library(n, R, reach)
    s = 2 * reach / (R + lib.sqrt(R * R + 8 * reach * reach))
    return 2 * row_bound * lib.sqrt(1 - s * s) * (reach * s + R) / n


def gradient_bound(s: Number, entry_bound: Number, radius: Number, R: Number) -> Number:
    """Largest |(<x, b> - y) x_j| for |x_j| <= entry_bound, |y| <= R and b with at most s entries
    and l2 norm at most `radius`: there |<x, b>| <= sqrt(s) entry_bound radius."""
    return (R + library(s).sqrt(s) * entry_bound * radius) * entry_bound


def step_scales(
    n: Number,
    s: Number,
    entry_bound: Number,
    radius: Number,
    R: Number,
    step_size: Number,
    privacy: Privacy | Allowance,
    *,
    method: str = "gumbel",
    calibration: str = "zcdp",
    selection_share: float = 0.5,
) -> Scales:
    """The noise of one step: a sparse release of n records of size step_size `gradient_bound`."""
    size = step_size * gradient_bound(s, entry_bound, radius, R)
    return sparse_scales(
        n, s, size, privacy, method=method, calibration=calibration, selection_share=selection_share
    )
