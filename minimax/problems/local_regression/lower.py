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
from collections.abc import Callable
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Assumption, LowerBound, Optimum, Parts, Point, Prior, Terms, at_least
from minimax.core.claimed import claimed_bound
from minimax.core.loss import Loss
from minimax.core.once import made_once
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
    check_definition,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library, symbols
from minimax.methods.blocks import exponent
from minimax.methods.fano import block_exponents, fano
from minimax.methods.le_cam import squared_risk, testing_risk
from minimax.methods.priors import TwoLabelPrior
from minimax.methods.size_search import best_size
from minimax.papers import THIS_WORK
from minimax.problems.local_regression.problem import SQUARED, SUM
from minimax.problems.local_regression.rare_labels import small_noise_bounds
from minimax.problems.local_regression.reports import entropy_ratio as entropy_ratio
from minimax.problems.local_regression.reports import report_energy as report_energy
from minimax.problems.local_regression.reports import reverse_ratio as reverse_ratio
from minimax.problems.local_regression.reports import tilt_factor

Array = NDArray[np.float64]
NAMES = ("n", "p", "C")
PAPER_EPSILON = Assumption("epsilon <= 1/2", lambda p: p["epsilon"] <= 0.5)
PAPER_NOISE = Assumption("C >= 2 (the paper's class has C = 2)", lambda p: p["C"] >= 2)
TEST_ROOM = Fraction(7, 20)
"""S at which sqrt(S) (1 - sqrt(1 - e^-S)) is largest, to two digits."""


def largest_size(at: Point) -> Number:
    """The largest delta of the family: min(1, C/2)."""
    return library(at["C"]).least(1, at["C"] / 2)


def _of_size(risk: Callable[[Point, Number], Number]) -> Callable[[Point, Optimum], Terms]:
    """The formula of a risk at a given delta; a delta outside the family proves nothing."""

    def formula(at: Point, found: Optimum) -> Terms:
        delta = at["C"] * 0 + found["delta"]
        value = risk(at, delta) if delta <= largest_size(at) else 0 * delta
        return Terms(None, library(value).largest(value, 0))

    return formula


# --- Theorem 1: non-interactive -------------------------------------------------------------------


def wx21_theorem_1(model: type[Privacy] = Pure, *, sharp: bool = False) -> LowerBound:
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

    def information(at: Point, delta: Number) -> Number:
        """Bound on I(v; Z) of all reports."""
        tilt = delta / (at["C"] - delta)
        ratio = entropy_ratio(tilt * tilt_factor(model, at))
        return at["n"] * ratio * report_energy(model, at, sharp=sharp) * tilt**2 / at["p"]

    def optimise(at: Point) -> Optimum:
        A = report_energy(model, at, sharp=sharp)
        b, h = block_exponents(int(at["p"]))
        room = at["p"] * at["C"] ** 2 * math.log(2 * at["p"]) / (16 * math.log(2) * at["n"] * A)
        start = math.sqrt(min(1.0, at["C"] ** 2 / 4, room))

        def kept(delta: Array) -> Array:
            return np.asarray(1 - (h + information(at, delta)[:, None]) / b)

        delta = best_size(lambda d: d**2 * kept(d).max(axis=1), start, largest_size(at))
        best = int(np.argmax(kept(np.array([delta]))[0]))
        return {"delta": delta, "B": at["C"] - delta, "b": float(b[best])}

    def formula(at: Point, found: Optimum) -> Terms:
        b = at["C"] * 0 + found["b"]
        guess = exponent(b, int(at["p"]))
        return _of_size(lambda at, d: d**2 * (1 - (guess + information(at, d)) / b))(at, found)

    def expression() -> Expression:
        import sympy as sp

        n, p, C = symbols("n p C")
        room = p * C**2 * sp.log(2 * p) / (16 * sp.log(2) * n * _energy(model, sharp))
        return sp.Min(1, C**2 / 4, room) / 2

    return LowerBound(
        name="Donsker-Varadhan: non-interactive" + (", channel information" if sharp else ""),
        source=(
            f"{THIS_WORK}: local_regression.wx21_theorem_1 (for WX21: Theorem 1)"
            if model is Approximate
            else "WX21: Theorem 1 (its constant)"
        ),
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        assumptions=(at_least("p", 1),),
        prior_at=_prior(),
        slack=11.1 * _spare(model),
        loss=SQUARED,
    )


def _spare(model: type[Privacy]) -> float:
    """The closed form's A over A: see `average_pair_gain` and `symmetric_share`."""
    if model in (ZeroConcentrated, Gaussian):
        return 2.7
    return 1.0 if model in (Pure, Approximate) else 1.32


def _energy(model: type[Privacy], sharp: bool = False) -> Expression:
    """The closed form's A."""
    return report_energy(
        model, {k: LETTERS[k] for k in ("p", *parameter_names(model))}, sharp=sharp
    )


def _prior(*, summed: bool = False, null: float = 0.0) -> Callable[[Point, Parts], Prior]:
    return lambda at, parts: TwoLabelPrior(
        int(at["p"]), parts.optimum["delta"], parts.optimum["B"], summed=summed, null=null
    )


def wx21_theorem_1_fano() -> LowerBound:
    r"""Theorem 1 by the paper's own route, with the constants that its proof gives.

    **Statement.** R >= (delta^2/2) (1 - (4 n A delta^2/(p C^2) + log 2)/log 2p), optimised over
    delta <= min(1, C/2): p C^2 log(p)^2/(32 n A log 2p) in the interior.

    **Proof.** B = C/2 as in the paper; two signed units are at least sqrt(2) delta apart, so no
    estimate has loss below delta^2/2 with both; I(v; Z) <= n A delta^2/(p B^2) since c <= 1;
    `fano`. The paper takes the separation for 2 delta and loses a factor 1/2 in its Lemma 7: the
    two slips cancel. Its n eps^2 stands for n sinh(eps/2)^2, which is four times smaller.

    **Source.** WX21: Theorem 1 (proof, Lemmas 7 and 10).
    """

    def slope(at: Point) -> Number:
        return 4 * at["n"] * report_energy(Pure, at) / (at["p"] * at["C"] ** 2)

    def optimise(at: Point) -> Optimum:
        top, room = largest_size(at), math.log(at["p"]) / 2
        inside = slope(at) * top**2 > room
        delta = math.sqrt(room / slope(at)) if inside else top
        return {"delta": min(delta, top), "B": at["C"] / 2}

    def expression() -> Expression:
        import sympy as sp

        n, p, C = symbols("n p C")
        squared = sp.Min(1, C**2 / 4, p * C**2 * sp.log(p) / (8 * n * _energy(Pure)))
        return squared * sp.log(p) / (4 * sp.log(2 * p))

    return LowerBound(
        name="private Fano: non-interactive",
        source="WX21: Theorem 1 (proof, constants corrected)",
        parameters=(*NAMES, "epsilon"),
        optimise=optimise,
        formula=_of_size(lambda at, d: fano(d**2 / 2, slope(at) * d**2, 2 * at["p"])),
        expression=expression,
        assumptions=(at_least("p", 2),),
        prior_at=_prior(),
        slack=2.0,
        loss=SQUARED,
    )


# --- Theorems 2, 3, 4: sequentially interactive ---------------------------------------------------


def interactive(
    model: type[Privacy],
    loss: Loss = SQUARED,
    *,
    sharp: bool = False,
) -> LowerBound:
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
    summed = loss is SUM
    room = float(TEST_ROOM) if summed else 1.0

    def risk(at: Point, delta: Number) -> Number:
        tilt = delta / (at["C"] - delta)
        rounds = at["n"] * report_energy(model, at, sharp=sharp) / at["p"]
        log_affinity = -rounds * reverse_ratio(tilt * tilt_factor(model, at)) * tilt**2 / 2
        return (testing_risk if summed else squared_risk)(2 * delta, log_affinity)

    def optimise(at: Point) -> Optimum:
        A = report_energy(model, at, sharp=sharp)
        reach = at["C"] * math.sqrt(room * at["p"] / (9 * math.log(4 / 3) * at["n"] * A))
        top = min(1.0, at["C"] / 2 * (1 - 1e-9))  # at C/2 one report may tell everything
        delta = best_size(lambda d: risk(at, d), min(1.0, at["C"] / 3, reach), top)
        return {"delta": delta, "B": at["C"] - delta}

    def expression() -> Expression:
        import sympy as sp

        n, p, C = symbols("n p C")
        share = sp.Rational(TEST_ROOM.numerator, TEST_ROOM.denominator) if summed else sp.Integer(1)
        reach = C**2 * p / (9 * sp.log(sp.Rational(4, 3)) * n * _energy(model, sharp))
        squared = sp.Min(1, C**2 / 9, share * reach)
        lost = sp.sqrt(squared) * (1 - sp.sqrt(1 - sp.exp(-share)))
        return lost if summed else squared * sp.exp(-1)

    extra = ("sum of errors" if summed else "", "channel information" if sharp else "")
    return LowerBound(
        name=", ".join(("Le Cam: interactive", *filter(None, extra))),
        source=(
            f"{THIS_WORK}: local_regression.interactive (for WX21: Theorems 3, 4)"
            if model is Approximate or (summed and model is not Pure)
            else f"WX21: Theorem {_theorem(model, summed)} (its constant)"
        ),
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=_of_size(risk),
        expression=expression,
        assumptions=(at_least("p", 1),),
        prior_at=_prior(summed=summed),
        slack=(3.3 if summed else 6.2) * _spare(model),
        loss=loss,
    )


def wx21_theorem_2(*, sharp: bool = False) -> LowerBound:
    """WX21: Theorem 2: `interactive` under eps-LDP with squared loss."""
    return interactive(Pure, sharp=sharp)


def wx21_theorem_3(*, sharp: bool = False) -> LowerBound:
    """WX21: Theorem 3: `interactive` under eps-LDP with the loss |sum_j (estimate - theta)_j|."""
    return interactive(Pure, SUM, sharp=sharp)


def wx21_theorem_4(model: type[Privacy]) -> LowerBound:
    """WX21: Theorem 4: `interactive` under RDP, rho-zCDP or (kappa, rho)-zCDP.

    The paper's (2, log(1 + eps^2))-RDP is ``Renyi`` with alpha = 2 and epsilon = log(1 + eps^2).
    """
    if model is Pure:
        raise ValueError("Theorem 4 is about RDP and zCDP; for pure privacy see wx21_theorem_2")
    return interactive(model)


def null_against_mixture(model: type[Privacy] = Pure, loss: Loss = SQUARED) -> LowerBound:
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
    summed = loss is SUM
    distance, power = (Fraction(1, 2), 1) if summed else (Fraction(2, 3), 2)

    def distance_at(at: Point, delta: Number) -> Number:
        """sqrt(D/2)."""
        rounds = at["n"] * report_energy(model, at) / at["p"]
        ratio = reverse_ratio(2 * delta / at["C"] * tilt_factor(model, at))
        return library(delta, rounds).sqrt(rounds * ratio) * delta / at["C"]

    def risk(at: Point, delta: Number) -> Number:
        return (delta / 2) ** power * (1 - distance_at(at, delta))

    def optimise(at: Point) -> Optimum:
        scale = at["C"] * math.sqrt(at["p"] / (at["n"] * report_energy(model, at)))
        start = min(1.0, at["C"] / 4, float(distance) * scale / math.sqrt(4 * math.log(4 / 3)))
        top = min(1.0, at["C"] / 2 * (1 - 1e-9))
        return {"delta": best_size(lambda d: risk(at, d), start, top), "B": at["C"] / 2}

    def expression() -> Expression:
        import sympy as sp

        n, p, C = symbols("n p C")
        share = sp.Rational(distance.numerator, distance.denominator)
        scale = C * sp.sqrt(p / (n * _energy(model)))
        delta = sp.Min(1, C / 4, share * scale / sp.sqrt(4 * sp.log(sp.Rational(4, 3))))
        return delta**power / 2**power * (1 - share)

    return LowerBound(
        name="private Le Cam: null against mixture" + (", sum of errors" if summed else ""),
        source=f"WX21: Theorem {_theorem(model, summed)} (proof, constants corrected)",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=_of_size(risk),
        expression=expression,
        assumptions=(at_least("p", 1),),
        prior_at=_prior(summed=summed, null=0.5),
        slack=(4.1 if summed else 12.1) * _spare(model),
        loss=loss,
    )


def _theorem(model: type[Privacy], summed: bool) -> str:
    return ("3" if summed else "2") if model is Pure else "4"


# --- What the paper prints ------------------------------------------------------------------------


def claimed_theorem(number: Literal[1, 2, 3, 4], model: type[Privacy] = Pure) -> LowerBound:
    """WX21: Theorems 1 to 4 as claimed, in the paper's ranges of epsilon."""
    check_definition(model)
    regime: tuple[Assumption, ...] = (PAPER_EPSILON,)
    if number == 4 and model is Renyi:
        regime = (
            at_least("alpha", 2),
            Assumption("epsilon <= log 2", lambda at: at["epsilon"] <= math.log(2)),
        )
    elif number == 4 and model in (ZeroConcentrated, OffsetConcentrated):
        regime = ()
    elif (number == 4) or model is not Pure:
        raise ValueError(f"WX21: Theorem {number} says nothing about {model.name!r} privacy")

    def level(at: Point) -> Number:
        if model is Pure:
            return at["epsilon"] ** 2
        offset = at["kappa"] if model is OffsetConcentrated else 0
        order_two = at["epsilon"] if model is Renyi else offset + 2 * at["rho"]
        return library(order_two).expm1(order_two)

    def rate(at: Point) -> Terms:
        lib = library(at["p"])
        ratio = at["p"] * (lib.log(at["p"]) if number == 1 else 1) / (at["n"] * level(at))
        return Terms(None, lib.least(1, lib.sqrt(ratio) if number == 3 else ratio))

    return claimed_bound(
        LowerBound,
        f"claimed rate of Theorem {number}",
        f"WX21: Theorem {number}",
        (*NAMES, *parameter_names(model)),
        rate,
        assumptions=(PAPER_NOISE, at_least("p", 2), *regime),
        loss=SUM if number == 3 else SQUARED,
    )


@made_once
def lower_bounds(model: type[Privacy], *, interaction: bool = False) -> list[LowerBound]:
    """Every lower bound for the class under one privacy definition of scope ``local``.

    Without `interaction` the reports are non-interactive: what holds for interactive reports holds
    for them too, and Theorem 1 comes on top. The paper says nothing of (epsilon, delta) records.
    """
    sharper = model is Pure
    bounds = [interactive(model)] + ([interactive(model, sharp=True)] if sharper else [])
    bounds += [null_against_mixture(model)] if model is not Approximate else []
    bounds += [interactive(model, SUM)]
    bounds += [null_against_mixture(model, SUM)] if sharper else []
    if model not in (Gaussian, Approximate):
        bounds.append(claimed_theorem(2 if sharper else 4, model))
    if sharper:
        bounds.append(claimed_theorem(3))
    bounds += small_noise_bounds(model, interaction=interaction)
    if interaction:
        return bounds
    first = [wx21_theorem_1(model)]
    if sharper:
        first += [wx21_theorem_1(Pure, sharp=True), wx21_theorem_1_fano(), claimed_theorem(1)]
    return first + bounds
