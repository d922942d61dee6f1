r"""Lower bounds for sparse regression when whole records are locally private (WX21 §V).

The class P_{1,p,C}: x uniform on {-1, 1}^p, y = <x, theta> + noise, theta with one non-zero entry
and |theta|_2 <= 1, the noise of mean zero given x and at most C. A report of (x, y) is private in
the local sense (scope ``local``); n reports are released, non-interactively or one after another.

**The family.** P_0 uniform on {-1, 1}^p x {-B, B}, w = sign(y) x,
P_theta = P_0 (1 + <w, theta>/B).
Under P_theta y has mean <x, theta>, and with B = C - |theta|_1 the noise is at most C. Here
theta = delta v with v uniform on the signed units +-e_j, 0 < delta <= min(1, C/2).

**The reports.** For a channel K and a report z let r_z = K(z|.)/m_0(z) and omega(z) = E_0 r_z w.
Then m_theta/m_0 = 1 + <omega, theta>/B: all that a report tells is omega, and `report_energy`
bounds E_0 |omega|^2 by a number A that does not grow with p. That is why the risk does. (Under
(eps, delta)-privacy A does, and what is proved here does not.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special

from minimax import bound as symbols
from minimax.bound import Bound, at_least, printed
from minimax.core.bound import Assumption, Parts, Point, Prior
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Model,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
    parameter_names,
)
from minimax.methods.binary_reports import label_contraction
from minimax.methods.divergences import report_information, report_variance, tv_contraction
from minimax.methods.fano import block_exponents, fano
from minimax.methods.le_cam import squared_risk, testing_risk
from minimax.methods.priors import TwoLabelPrior
from minimax.papers import THIS_WORK
from minimax.problems.local_regression.problem import SQUARED, SUM, Loss

Array = NDArray[np.float64]


NAMES = ("n", "p", "C")


PAPER_EPSILON = Assumption("epsilon <= 1/2", lambda p: p["epsilon"] <= 0.5)


PAPER_NOISE = Assumption("C >= 2 (the paper's class has C = 2)", lambda p: p["C"] >= 2)


TEST_ROOM = sp.Rational(7, 20)
"""S at which sqrt(S) (1 - sqrt(1 - e^-S)) is largest, to two digits."""


def report_energy(model: Model, at: Mapping[str, Any], *, sharp: bool = False) -> Any:
    r"""A with E_0 |omega|^2 <= A, from numbers or symbols.

    **Statement.** With T^2 of `label_contraction`:
    eps-LDP: A = min{sinh(eps/2)^2, 2 eps tanh(eps/2), p T^2}, or with `sharp`
    min{2 (g - 1 - log g), p T^2}, g = eps/(1 - e^-eps), which is smaller.
    (alpha, eps)-RDP: min{e^eps - 1 if alpha >= 2, 2 eps, p T^2}. (kappa, rho)-zCDP:
    min{e^{kappa + 2 rho} - 1, 2 (kappa + rho), p T^2}. mu-GDP: as rho = mu^2/2, with its own T^2.
    (eps, delta): p T^2.

    **Proof.** (i) The w_j are orthonormal under P_0, so |omega|^2 <= Var r_z (Bessel): at most
    `report_variance`, or on average E chi^2(K(.|x)|m_0) <= e^{D_2} - 1 by convexity. (ii) w is
    1-sub-Gaussian, so |omega|^2 <= 2 KL(P_0 given z|P_0) (transport), on average 2 I(X; Z), at most
    twice the largest KL between inputs, or `report_information`. (iii) w_j is a fair sign, and
    omega_j = E_0[w_j|z] is the omega of its report: E_0 omega_j^2 <= T^2 for each j.

    Under (eps, delta) neither (i) nor (ii) is left: a report may reveal everything with chance
    delta. A = p T^2 grows with p, and `wx21_theorem_1` is the bound for private labels with s = 1
    (`minimax.problems.label_regression.lower`, which allows interaction): of use for small p alone.

    **Constants.** The true supremum is computed in the tests for p <= 3: .0600 at eps = .5 and .756
    at eps = 2 (p = 2, 3), against .0638 and 1.16, 1.38, with `sharp` .0623 and .949.
    """
    symbolic = any(isinstance(value, sp.Basic) for value in at.values())
    whole = at["p"] * label_contraction(model, at)
    if model is Approximate:
        return whole
    least, expm1 = (sp.Min, lambda x: sp.exp(x) - 1) if symbolic else (min, _expm1)
    if model is Pure:
        eps = at["epsilon"]
        if sharp:
            return least(2 * report_information(eps), whole)
        # Beyond eps = 700 the hyperbolic sine overflows, and is not the minimum.
        variance = report_variance(eps if symbolic else min(eps, 700.0))
        return least(variance, 2 * eps * tv_contraction(eps), whole)
    if model is Renyi:
        order_two = expm1(at["epsilon"])
        if symbolic:
            order_two = sp.Piecewise((order_two, at["alpha"] >= 2), (whole, True))
        elif at["alpha"] < 2:
            order_two = whole
        return least(order_two, 2 * at["epsilon"], whole)
    rho = at["mu"] ** 2 / 2 if model is Gaussian else at["rho"]
    kappa = at.get("kappa", 0)
    return least(expm1(kappa + 2 * rho), 2 * (kappa + rho), whole)


def _expm1(x: float) -> float:
    return math.expm1(min(x, 700.0))


def _tilt_factor(model: Model, at: Point) -> float:
    """The bound on |omega_j|: K(z|.) given w_j = 1 is at most e^eps times that given w_j = -1."""
    return float(tv_contraction(at["epsilon"])) if model is Pure else 1.0


def entropy_ratio(tau: ArrayLike) -> Array:
    r"""c(tau) = [(1+tau) log(1+tau) + (1-tau) log(1-tau)]/(2 tau^2), from 1/2 up to log 2 at 1."""
    t = np.asarray(tau, dtype=float)
    safe = np.where(t > 1e-3, t, 0.5)
    full = (special.xlog1py(1 + safe, safe) + special.xlog1py(1 - safe, -safe)) / (2 * safe**2)
    return np.where(t > 1e-3, full, 0.5 + t**2 / 12 + t**4 / 30)


def reverse_ratio(tau: ArrayLike) -> Array:
    r"""-log(1 - tau^2)/tau^2 for tau < 1: increasing from 1."""
    t = np.minimum(np.asarray(tau, dtype=float), 1 - 1e-12)
    safe = np.where(t > 1e-3, t, 0.5)
    return np.where(t > 1e-3, -np.log1p(-(safe**2)) / safe**2, 1 + t**2 / 2 + t**4 / 3)


def largest_size(at: Point) -> float:
    """The largest delta of the family: min(1, C/2)."""
    return min(1.0, at["C"] / 2)


def best_size(values: Callable[[Array], Array], start: float, top: float) -> tuple[float, float]:
    """(value, delta): the maximum over delta <= top, by grids that shrink around the best.

    `start` is the closed form's delta; it is on the grid, so the maximum is never below it.
    """
    tried = np.minimum(start * np.append(np.geomspace(0.25, 16, 400), 1.0), top)
    best, delta = -math.inf, start
    for width in (0.02, 0.001, 5e-5, 0.0):
        found = values(tried)
        i = int(np.argmax(found))
        if found[i] > best:
            best, delta = float(found[i]), float(tried[i])
        tried = np.minimum(delta * np.linspace(1 - width, 1 + width, 81), top)
    return max(best, 0.0), delta


# --- Theorem 1: non-interactive -------------------------------------------------------------------


def wx21_theorem_1(model: Model = Pure, *, sharp: bool = False) -> Bound:
    r"""Non-interactive reports, squared loss: p log p, not log p.

    **Statement.** With B = C - delta, c(tau) of `entropy_ratio`, tau = delta tanh(eps/2)/B (pure;
    else delta/B) and h_p of `minimax.methods.packing`,

        R >= sup_{delta <= min(1, C/2), b} delta^2 [1 - (h_p(b) + n c(tau) A delta^2/(p B^2))/b].

    **Proof.** The mean of P_{delta v} over v is P_0, so I(v; Z) = E KL(M_v|M_0) for one report.
    With u = delta omega_j/B, the mean over the sign of v of (1 + u) log(1 + u) is c(u) u^2 <=
    c(tau) u^2, and the mean over j of E_0 omega_j^2 is at most A/p. Non-interactive reports add
    up. Then `minimax.methods.fano.donsker_varadhan` with the loss itself.

    **Constants.** Closed form (1/2) min{1, C^2/4, p C^2 log(2p)/(16 log(2) n A)}: b = log(2p)/2,
    where h_p vanishes, B >= C/2 and c <= log 2. At n = 10^4, p = 20, eps = .5, C = 2 the value is
    .130; randomised response has exact Bayes risk 1.4 to 1.6 times it under this prior
    (`minimax.problems.local_regression.randomised_response.randomised_response_risk`).

    **Source.** WX21: Theorem 1, for every epsilon and C and with its constant; for the relaxed
    definitions, new here.
    """

    def compute(at: Point) -> Parts:
        A = report_energy(model, at, sharp=sharp)
        b, h = block_exponents(int(at["p"]))
        room = at["p"] * at["C"] ** 2 * math.log(2 * at["p"]) / (16 * math.log(2) * at["n"] * A)
        start = math.sqrt(min(1.0, at["C"] ** 2 / 4, room))

        def values(delta: Array) -> Array:
            B = at["C"] - delta
            tilt = delta / B
            ratio = entropy_ratio(tilt * _tilt_factor(model, at))
            information = at["n"] * ratio * A * tilt**2 / at["p"]
            return np.asarray(delta**2 * np.max(1 - (h + information[:, None]) / b, axis=1))

        value, delta = best_size(values, start, largest_size(at))
        return Parts(None, value, value, {"delta": delta, "B": at["C"] - delta})

    n, p, C = symbols.n, symbols.p, symbols.C
    A = report_energy(model, _symbols(model), sharp=sharp)
    room = p * C**2 * sp.log(2 * p) / (16 * sp.log(2) * n * A)
    return Bound(
        name="Donsker-Varadhan: non-interactive" + (", channel information" if sharp else ""),
        source=(
            f"{THIS_WORK}: local_regression.wx21_theorem_1 (for WX21: Theorem 1)"
            if model is Approximate
            else "WX21: Theorem 1 (its constant)"
        ),
        side="lower",
        kind="certified",
        names=(*NAMES, *parameter_names(model)),
        compute=compute,
        expr=sp.Min(1, C**2 / 4, room) / 2,
        assumptions=(at_least("p", 1),),
        prior_at=_prior(),
        slack=11.1 * _spare(model),
        loss=SQUARED,
    )


def _spare(model: Model) -> float:
    """The closed form's A over A: see `label_contraction`."""
    return 1.16 if model is Gaussian else 1.0


def _symbols(model: Model) -> dict[str, sp.Symbol]:
    return {name: symbols.SYMBOLS[name] for name in ("p", *parameter_names(model))}


def _prior(*, summed: bool = False, null: float = 0.0) -> Callable[[Point, Parts], Prior]:
    return lambda at, parts: TwoLabelPrior(
        int(at["p"]), parts.free["delta"], parts.free["B"], summed=summed, null=null
    )


def wx21_theorem_1_fano() -> Bound:
    r"""Theorem 1 by the paper's own route, with the constants that its proof gives.

    **Statement.** R >= (delta^2/2) (1 - (4 n A delta^2/(p C^2) + log 2)/log 2p), optimised over
    delta <= min(1, C/2): p C^2 log(p)^2/(32 n A log 2p) in the interior.

    **Proof.** B = C/2 as in the paper; two signed units are at least sqrt(2) delta apart, so no
    estimate has loss below delta^2/2 with both; I(v; Z) <= n A delta^2/(p B^2) since c <= 1;
    `fano`. The paper takes the separation for 2 delta and loses a factor 1/2 in its Lemma 7: the
    two slips cancel. Its n eps^2 stands for n sinh(eps/2)^2, which is four times smaller.

    **Source.** WX21: Theorem 1 (proof, Lemmas 7 and 10).
    """

    def compute(at: Point) -> Parts:
        A = report_energy(Pure, at)
        slope = max(4 * at["n"] * A / (at["p"] * at["C"] ** 2), 1e-300)  # it may underflow
        squared = min(largest_size(at) ** 2, math.log(at["p"]) / (2 * slope))
        value = max(fano(squared / 2, slope * squared, 2 * at["p"]), 0.0)
        return Parts(None, value, value, {"delta": math.sqrt(squared), "B": at["C"] / 2})

    n, p, C = symbols.n, symbols.p, symbols.C
    A = report_energy(Pure, symbols.SYMBOLS)
    squared = sp.Min(1, C**2 / 4, p * C**2 * sp.log(p) / (8 * n * A))
    return Bound(
        name="private Fano: non-interactive",
        source="WX21: Theorem 1 (proof, constants corrected)",
        side="lower",
        kind="certified",
        names=(*NAMES, "epsilon"),
        compute=compute,
        expr=squared * sp.log(p) / (4 * sp.log(2 * p)),
        assumptions=(at_least("p", 2),),
        prior_at=_prior(),
        slack=2.0,
        loss=SQUARED,
    )


# --- Theorems 2, 3, 4: sequentially interactive ---------------------------------------------------


def interactive(
    model: Model,
    loss: Loss = "squared",
    *,
    sharp: bool = False,
) -> Bound:
    r"""Sequentially interactive reports: p.

    **Statement.** S = n A k(tau) delta^2/(p (C - delta)^2), k of `reverse_ratio`, tau as in
    `wx21_theorem_1`. Squared loss: R >= sup_{delta <= min(1, C/2)} delta^2 e^-S. Loss
    |sum_j (estimate_j - theta_j)|: R >= sup delta (1 - sqrt(1 - e^-S)).

    **Proof.** Let the pair {e_j, -e_j} that holds v be known. By Jensen's inequality under the base
    law M_0, log int sqrt(m_+ m_-) >= -(KL(M_0|M_+) + KL(M_0|M_-))/2. By the chain rule both are
    sums over rounds of expectations under M_0, and a round contributes
    E_0 -log(1 - delta^2 omega_j^2/B^2) <= k(tau) delta^2 E_0 omega_j^2/B^2, whatever the past.
    M_0 is the same for every j, so the mean over j of this is at most S. `squared_risk` and
    `testing_risk` are convex in the exponent, so S may be put in for its parts.

    **Constants.** Closed form: delta <= C/3, hence tau <= 1/2, k <= 4 log(4/3), B >= 2C/3, and
    S = 1 (squared) or S = .35 (sum). The rate is reached:
    `minimax.problems.local_regression.halving.halving_upper`.

    **Source.** WX21: Theorems 2, 3 (pure) and 4 (RDP, zCDP), with their constants. The paper
    bounds 1/(1 - delta) by 1 + delta, which is the wrong way round.
    """
    summed = loss == "sum"
    room = float(TEST_ROOM) if summed else 1.0

    def compute(at: Point) -> Parts:
        A = report_energy(model, at, sharp=sharp)
        reach = at["C"] * math.sqrt(room * at["p"] / (9 * math.log(4 / 3) * at["n"] * A))
        start = min(1.0, at["C"] / 3, reach)

        def values(delta: Array) -> Array:
            tilt = delta / (at["C"] - delta)
            ratio = reverse_ratio(tilt * _tilt_factor(model, at))
            log_affinity = -at["n"] / at["p"] * A * ratio * tilt**2 / 2
            risk = testing_risk if summed else squared_risk
            return np.asarray(risk(2 * delta, np.maximum(log_affinity, -300.0)))

        value, delta = best_size(values, start, largest_size(at))
        return Parts(None, value, value, {"delta": delta, "B": at["C"] - delta})

    n, p, C = symbols.n, symbols.p, symbols.C
    A = report_energy(model, _symbols(model), sharp=sharp)
    reach = C**2 * p / (9 * sp.log(sp.Rational(4, 3)) * n * A)
    squared = sp.Min(1, C**2 / 9, (TEST_ROOM if summed else 1) * reach)
    extra = ("sum of errors" if summed else "", "channel information" if sharp else "")
    return Bound(
        name=", ".join(("Le Cam: interactive", *filter(None, extra))),
        source=(
            f"{THIS_WORK}: local_regression.interactive (for WX21: Theorems 3, 4)"
            if model is Approximate or (summed and model is not Pure)
            else f"WX21: Theorem {_theorem(model, summed)} (its constant)"
        ),
        side="lower",
        kind="certified",
        names=(*NAMES, *parameter_names(model)),
        compute=compute,
        expr=(
            sp.sqrt(squared) * (1 - sp.sqrt(1 - sp.exp(-TEST_ROOM)))
            if summed
            else squared * sp.exp(-1)
        ),
        assumptions=(at_least("p", 1),),
        prior_at=_prior(summed=summed),
        slack=(3.3 if summed else 6.2) * _spare(model),
        loss=SUM if summed else SQUARED,
    )


def wx21_theorem_2(*, sharp: bool = False) -> Bound:
    """WX21: Theorem 2: `interactive` under eps-LDP with squared loss."""
    return interactive(Pure, sharp=sharp)


def wx21_theorem_3(*, sharp: bool = False) -> Bound:
    """WX21: Theorem 3: `interactive` under eps-LDP with the loss |sum_j (estimate - theta)_j|."""
    return interactive(Pure, "sum", sharp=sharp)


def wx21_theorem_4(model: Model) -> Bound:
    """WX21: Theorem 4: `interactive` under RDP, rho-zCDP or (kappa, rho)-zCDP.

    The paper's (2, log(1 + eps^2))-RDP is ``Renyi`` with alpha = 2 and epsilon = log(1 + eps^2).
    """
    if model is Pure:
        raise ValueError("Theorem 4 is about RDP and zCDP; for pure privacy see wx21_theorem_2")
    return interactive(model)


def null_against_mixture(model: Model = Pure, loss: Loss = "squared") -> Bound:
    r"""Theorems 2, 3, 4 by the paper's own route, with the constants that its proof gives.

    **Statement.** With B = C/2 and D = n A k(tau) (2 delta/C)^2/(2p), squared loss:
    R >= (delta^2/4) (1 - sqrt(D/2)); sum of errors: R >= (delta/2) (1 - sqrt(D/2)).

    **Proof.** theta = 0 against the mixture over v:
    `minimax.methods.le_cam.point_against_mixture`. A round contributes E_0 -log(1 + delta
    omega_j/B), half the k(tau) (delta omega_j/B)^2 of `interactive` on average over the sign. No
    estimate has a total loss below delta^2/2 (delta) with both.

    **Constants.** Closed form: delta <= C/4, hence k <= 4 log(4/3), and sqrt(D/2) = 2/3 (1/2).

    **Source.** WX21: Theorems 2, 3, 4 (proof), whose Lemma 9 has sqrt(D)/2 in place of sqrt(D/2).
    """
    summed = loss == "sum"
    distance, power = (sp.Rational(1, 2), 1) if summed else (sp.Rational(2, 3), 2)

    def compute(at: Point) -> Parts:
        A = report_energy(model, at)
        scale = at["C"] * math.sqrt(at["p"] / (at["n"] * A))
        start = min(1.0, at["C"] / 4, float(distance) * scale / math.sqrt(4 * math.log(4 / 3)))

        def values(delta: Array) -> Array:
            ratio = reverse_ratio(2 * delta / at["C"] * _tilt_factor(model, at))
            return np.asarray((delta**power) / 2**power * (1 - np.sqrt(ratio) * delta / scale))

        value, delta = best_size(values, start, largest_size(at))
        return Parts(None, value, value, {"delta": delta, "B": at["C"] / 2})

    n, p, C = symbols.n, symbols.p, symbols.C
    scale = C * sp.sqrt(p / (n * report_energy(model, _symbols(model))))
    delta = sp.Min(1, C / 4, distance * scale / sp.sqrt(4 * sp.log(sp.Rational(4, 3))))
    return Bound(
        name="private Le Cam: null against mixture" + (", sum of errors" if summed else ""),
        source=f"WX21: Theorem {_theorem(model, summed)} (proof, constants corrected)",
        side="lower",
        kind="certified",
        names=(*NAMES, *parameter_names(model)),
        compute=compute,
        expr=delta**power / 2**power * (1 - distance),
        assumptions=(at_least("p", 1),),
        prior_at=_prior(summed=summed, null=0.5),
        slack=(4.1 if summed else 12.1) * _spare(model),
        loss=SUM if summed else SQUARED,
    )


def _theorem(model: Model, summed: bool) -> str:
    return ("3" if summed else "2") if model is Pure else "4"


# --- What the paper prints ------------------------------------------------------------------------


def claimed_theorem(number: Literal[1, 2, 3, 4], model: Model = Pure) -> Bound:
    """WX21: Theorems 1 to 4 as claimed, in the paper's ranges of epsilon."""
    n, p, eps, rho = symbols.n, symbols.p, symbols.epsilon, symbols.rho
    level: sp.Expr = eps**2
    regime: tuple[Assumption, ...] = (PAPER_EPSILON,)
    if number == 4 and model is Renyi:
        level = 2 * sp.exp(eps / 2) * sp.sinh(eps / 2)  # e^eps - 1, uncancelled
        regime = (
            at_least("alpha", 2),
            Assumption("epsilon <= log 2", lambda at: at["epsilon"] <= math.log(2)),
        )
    elif number == 4 and model in (ZeroConcentrated, OffsetConcentrated):
        order_two = 2 * rho + (symbols.kappa if model is OffsetConcentrated else 0)
        level, regime = 2 * sp.exp(order_two / 2) * sp.sinh(order_two / 2), ()
    elif (number == 4) or model is not Pure:
        raise ValueError(f"WX21: Theorem {number} says nothing about {model.name!r} privacy")
    rate = {1: p * sp.log(p), 2: p, 3: p, 4: p}[number] / (n * level)
    return printed(
        f"claimed rate of Theorem {number}",
        f"WX21: Theorem {number}",
        (*NAMES, *parameter_names(model)),
        None,
        sp.Min(1, sp.sqrt(rate) if number == 3 else rate),
        assumptions=(PAPER_NOISE, at_least("p", 2), *regime),
        loss=SUM if number == 3 else SQUARED,
    )


def lower_bounds(model: Model, *, interaction: bool = False) -> list[Bound]:
    """Every lower bound for the class under one privacy definition of scope ``local``.

    Without `interaction` the reports are non-interactive: what holds for interactive reports holds
    for them too, and Theorem 1 comes on top. The paper says nothing of (epsilon, delta) records.
    """
    sharper = model is Pure
    bounds = [interactive(model)] + ([interactive(model, sharp=True)] if sharper else [])
    bounds += [null_against_mixture(model)] if model is not Approximate else []
    bounds += [interactive(model, "sum")]
    bounds += [null_against_mixture(model, "sum")] if sharper else []
    if model not in (Gaussian, Approximate):
        bounds.append(claimed_theorem(2 if sharper else 4, model))
    if sharper:
        bounds.append(claimed_theorem(3))
    if interaction:
        return bounds
    first = [wx21_theorem_1(model)]
    if sharper:
        first += [wx21_theorem_1(Pure, sharp=True), wx21_theorem_1_fano(), claimed_theorem(1)]
    return first + bounds
