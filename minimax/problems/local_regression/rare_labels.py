r"""Lower bounds for locally private records whose labels say much or nothing: small noise bounds C.

The class and the reports are those of `minimax.problems.local_regression.lower`, whose family of
two labels +-B stops at delta = C/2. Two others do not, with theta = delta v again.

**The laws.** *Noise-free*: y = <x, theta>, for every C and delta <= 1. *Rare labels*, delta <= C:
y = sign(<x, theta>) (C + delta) with chance q = delta/(C + delta), and y = 0 otherwise. The noise
is C or -delta, of mean zero given x. (Noise uniform on [-C, C] is of the same kind, with q =
delta/C: outside [-(C - delta), C - delta] a label tells the sign of <x, theta>, inside nothing. q
is the total variation of the labels at <x, theta> = +-delta, and delta/(C + delta) is the least
there is: what both signs share has mean zero, and no label exceeds C + delta.)

**One channel for both.** With chance q the record is (x, s), s = sign <x, v>, and tells w = s x,
of which P_v says <w, v> = 1; else it is independent of v. Under P_0, the mean over v, let W be w in
the first case and an independent uniform sign vector in the second. Then m_v/m_0 = 1 + <omega, v>,
omega(z) = E_0[W|z], and W -> z is a private channel of its own:

    K(z|W) = (1 - q) k(z) + q K'(z|W),

k and K' mixtures of the records' channel. Under eps-LDP it is l-LDP, e^l = 1 + q (e^eps - 1): if
K'(z|W) > K'(z|W'), the ratio is largest for the least k = K'(z|W') = e^-eps K'(z|W). So everything
known of E_0 |omega|^2 and |omega_j| under eps-LDP (`report_energy`, `tilt_factor`) holds at l. For
other definitions E_0 |omega|^2 <= min{q A, q^2 (e^{D_2} - 1)}, D_2 the largest divergence of order
two: with n' = E K' and omega' that of K', omega = q n' omega'/m_0 and q n' <= m_0; and by Bessel's
inequality E_0 |omega|^2 <= q^2 int E(K' - n')^2/m_0, where 1/m_0 <= (1 - q)/k + q/n' and
E(K' - n')^2 <= E(K' - k)^2 at every z.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import (
    Assumption,
    LowerBound,
    Optimum,
    Parts,
    Point,
    Prior,
    Terms,
    at_least,
)
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    ZeroConcentrated,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library, symbols
from minimax.methods.blocks import exponent
from minimax.methods.divergences import log_excess, tv_contraction
from minimax.methods.fano import block_exponents
from minimax.methods.le_cam import squared_risk, testing_risk
from minimax.methods.priors import Rows, TwoLabelInstance, TwoLabelPrior
from minimax.methods.size_search import best_size
from minimax.papers import THIS_WORK
from minimax.problems.local_regression.problem import SQUARED, SUM, Loss
from minimax.problems.local_regression.reports import entropy_ratio, report_energy

Array = NDArray[np.float64]
Law = Literal["noise-free", "rare labels"]
NAMES = ("n", "p", "C")
ORDER_TWO = (Pure, ZeroConcentrated, OffsetConcentrated, Gaussian)
"""Definitions under which rare labels are rarely seen: E_0 |omega|^2 is of order q^2."""
TEST_ROOM = 0.35
"""S at which sqrt(S) (1 - sqrt(1 - e^-S)) is largest, to two digits."""


@dataclass(frozen=True)
class RareLabelInstance(TwoLabelInstance):
    """x uniform on {-1, 1}^p; y is sign(<x, target>) height with mean <x, target>, or 0."""

    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        signal = X @ self.target
        seen = rng.random(len(X)) < np.abs(signal) / self.height
        return np.where(seen, np.sign(signal) * self.height, 0.0)


@dataclass(frozen=True)
class RareLabelPrior(TwoLabelPrior):
    """The targets of `TwoLabelPrior` with rare labels in place of two."""

    def draw(self, rng: np.random.Generator) -> RareLabelInstance:
        drawn = super().draw(rng)
        return RareLabelInstance(drawn.target, drawn.height, drawn.link, drawn.summed)


VAST = 1e280
"""Of a divergence: its product with a square may not be a number."""


class Seen(NamedTuple):
    """What a report tells of W."""

    energy: Number
    """A bound on E_0 |omega|^2."""
    level: Number
    """l: |omega_j| <= tanh(l/2)."""


def seen(model: type[Privacy], at: Point, q: Number) -> Seen:
    """The energy and the level where a record tells its sign with chance q."""
    if model is Pure:
        level = log_excess(at["epsilon"], q)
        inside = {"p": at["p"], "epsilon": level}
        return Seen(report_energy(Pure, inside, sharp=True), level)
    lib = library(q, at["p"])
    energy = q * report_energy(model, at)
    if model in ORDER_TWO:
        order_two = _order_two(model, at)
        if not order_two > VAST:  # beyond, the first bound is the lesser
            energy = lib.least(energy, q * (q * order_two))  # a square may be 0
    return Seen(energy, q * 0 + math.inf)


def _order_two(model: type[Privacy], at: Point) -> Number:
    """V: at most q^2 V is the energy. e^{D_2} - 1; (e^eps - 1)^2/4 >= sinh(l/2)^2/q^2 if pure."""
    if model is Pure:
        growth = library(at["epsilon"]).expm1(at["epsilon"])
        return growth * growth / 4
    rho = at["mu"] ** 2 / 2 if model is Gaussian else at["rho"]
    level = 2 * rho + (at["kappa"] if model is OffsetConcentrated else 0)
    return library(level).expm1(level)


class Family(NamedTuple):
    """One of the two laws: which delta it has, how often a record tells, and its prior."""

    name: Law
    largest: Callable[[Point], Number]
    chance: Callable[[Point, Number], Number]
    prior: Callable[[Point, float, bool], Prior]


FAMILIES: dict[Law, Family] = {
    "noise-free": Family(
        "noise-free",
        lambda at: at["C"] * 0 + 1,
        lambda at, delta: delta * 0 + 1,
        lambda at, delta, summed: TwoLabelPrior(int(at["p"]), delta, delta, summed=summed),
    ),
    "rare labels": Family(
        "rare labels",
        lambda at: library(at["C"]).least(1, at["C"]),
        lambda at, delta: delta / (at["C"] + delta),
        lambda at, delta, summed: RareLabelPrior(
            int(at["p"]), delta, at["C"] + delta, summed=summed
        ),
    ),
}


def _at_size(
    family: Family, risk: Callable[[Point, Number], Number]
) -> Callable[[Point, Optimum], Terms]:
    """The formula of a risk at a given delta; a delta outside the family proves nothing."""

    def formula(at: Point, found: Optimum) -> Terms:
        delta = at["C"] * 0 + found["delta"]
        value = risk(at, delta) if delta <= family.largest(at) else 0 * delta
        return Terms(None, library(value).largest(value, 0))

    return formula


def small_noise_alone(model: type[Privacy] = Pure, law: Law = "rare labels") -> LowerBound:
    r"""Non-interactive reports, squared loss, for one of the two laws of this module.

    **Statement.** With A_q and tau = tanh(l/2) of `seen` at the law's q (1 for the noise-free one,
    which has delta = 1; delta/(C + delta) for rare labels, delta <= min(1, C)),

        R >= sup_{delta, b} delta^2 [1 - (h_p(b) + n c(tau) A_q/p)/b].

    **Proof.** That of `minimax.problems.local_regression.lower.wx21_theorem_1` with m_v/m_0 = 1 +
    <omega, v>: the mean over the sign of v of (1 + omega_j) log(1 + omega_j) is c(omega_j)
    omega_j^2, the mean over j of E_0 omega_j^2 at most A_q/p, and reports add up.

    **Constants.** Closed form, noise-free: 1 - 2 log(2) n A/(p log 2p). Rare labels:
    (1/2) min{1, C^2, p C^2 log(2p)/(4 log(2) n V)}, V = (e^eps - 1)^2/4 or e^{D_2} - 1: q <=
    delta/C. Both have b = log(2p)/2 and c <= log 2. eps = .5, C = .1, n = 100, p = 20: .957
    (noise-free), where two labels give .0024; C = 1, n = 1000, p = 100: .981 (rare labels), where
    they give .235.
    """
    family = FAMILIES[law]

    def information(at: Point, delta: Number) -> Number:
        energy, level = seen(model, at, family.chance(at, delta))
        return at["n"] * entropy_ratio(tv_contraction(level)) * energy / at["p"]

    def optimise(at: Point) -> Optimum:
        b, h = block_exponents(int(at["p"]))

        def kept(delta: Array) -> Array:
            return np.asarray(1 - (h + information(at, delta)[:, None]) / b)

        top = float(family.largest(at))
        delta = top
        if law == "rare labels":
            room = at["p"] * math.log(2 * at["p"]) / (4 * math.log(2) * at["n"])
            start = min(top, at["C"] * math.sqrt(room) / math.sqrt(_order_two(model, at)))
            delta = _widely(lambda d: d**2 * kept(d).max(axis=1), start, top)
        best = int(np.argmax(kept(np.array([delta]))[0]))
        return {"delta": delta, "b": float(b[best])}

    def formula(at: Point, found: Optimum) -> Terms:
        b = at["C"] * 0 + found["b"]
        guess = exponent(b, int(at["p"]))
        value = _at_size(family, lambda at, d: d**2 * (1 - (guess + information(at, d)) / b))
        return value(at, found)

    def expression() -> Expression:
        import sympy as sp

        n, p, C = symbols("n p C")
        if law == "noise-free":
            A = report_energy(model, LETTERS, sharp=model is Pure)
            return sp.Max(1 - 2 * sp.log(2) * n * A / (p * sp.log(2 * p)), 0)
        room = p * C**2 * sp.log(2 * p) / (4 * sp.log(2) * n * _order_two(model, LETTERS))
        return sp.Min(1, C**2, room) / 2

    return LowerBound(
        name=f"Donsker-Varadhan: {law}, non-interactive",
        source=f"{THIS_WORK}: local_regression.small_noise_alone (for WX21: Theorem 1)",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        assumptions=(at_least("p", 1),),
        prior_at=lambda at, parts: family.prior(at, parts.optimum["delta"], False),
        slack=SLACK[law],
        slack_regime=_regime(model, law),
        loss=SQUARED,
    )


def _widely(value: Callable[[Array], Array], start: float, top: float) -> float:
    """The best size; where e^eps is large it may be far above the closed form's."""
    wide = np.geomspace(max(start, 1e-300), top, 200)
    start = float(wide[int(np.argmax(value(wide)))])
    return best_size(value, start, top)


SLACK: dict[Law, float] = {"noise-free": 2.0, "rare labels": 40.0}


def _regime(model: type[Privacy], law: Law) -> Assumption:
    """Where the closed forms keep up: noise-free where at least half is left."""
    if law == "noise-free":

        def half_left(at: Point) -> bool:
            A = report_energy(model, at, sharp=model is Pure)
            return bool(4 * math.log(2) * at["n"] * A <= at["p"] * math.log(2 * at["p"]))

        return Assumption("n A <= p log(2p)/(4 log 2)", half_left)
    return Assumption("e^{D_2} <= e", lambda at: bool(_order_two(model, at) <= math.e - 1))


def level_ratio(level: Number) -> Number:
    r"""k(tanh(l/2)) = 2 log cosh(l/2)/tanh(l/2)^2, k of `reverse_ratio`, however large l is."""
    lib = library(level)
    half = lib.largest(level / 2, 1e-100)  # increasing, and 1 far above that

    def near() -> Number:
        root = lib.sinh(lib.least(half, 1) / 2)
        return lib.log1p(2 * root * root)

    def far() -> Number:
        return half + lib.log1p(lib.exp(-2 * half)) - lib.log(half * 0 + 2)

    return 2 * lib.choose(half < 1, near, far) / lib.tanh(half) ** 2


def small_noise_interactive(loss: Loss = SQUARED, law: Law = "rare labels") -> LowerBound:
    r"""Sequentially interactive eps-LDP reports for one of the two laws of this module.

    **Statement.** S = n A_q k(tau)/p, A_q and l of `seen`, tau = tanh(l/2), k of `reverse_ratio`.
    Squared loss: R >= sup_delta delta^2 e^-S. Loss |sum_j (estimate_j - theta_j)|:
    R >= sup delta (1 - sqrt(1 - e^-S)). delta and q are as in `small_noise_alone`.

    **Proof.** That of `minimax.problems.local_regression.lower.interactive` with m_v/m_0 = 1 +
    <omega, v>: a round contributes E_0 -log(1 - omega_j^2) <= k(tau) E_0 omega_j^2.

    **Constants.** Closed form, noise-free: S itself, where A k(tau) <= 2 cosh(eps/2)^2
    log cosh(eps/2). Rare labels: that at l <= q (e^eps - 1) is at most q^2 V (1 + (e^eps - 1)/8),
    V = (e^eps - 1)^2/4, because log cosh(l/2) <= l^2/8 and cosh(l/2)^2 <= (3 + e^l)/4, q <= 1/2;
    S = 1 (squared) or S = .35 (sum).
    """
    family, summed = FAMILIES[law], loss is SUM
    room = TEST_ROOM if summed else 1.0

    def risk(at: Point, delta: Number) -> Number:
        energy, level = seen(Pure, at, family.chance(at, delta))
        log_affinity = -at["n"] * energy * level_ratio(level) / (2 * at["p"])
        return (testing_risk if summed else squared_risk)(2 * delta, log_affinity)

    def optimise(at: Point) -> Optimum:
        top = float(family.largest(at))
        if law == "noise-free":
            return {"delta": top}
        scale = at["C"] * math.sqrt(room * at["p"] / at["n"])
        start = min(top, scale / math.sqrt(_rounds(at["epsilon"])))
        return {"delta": _widely(lambda d: np.asarray(risk(at, d)), start, top)}

    def expression() -> Expression:
        import sympy as sp

        n, p, C, eps = symbols("n p C epsilon")
        if law == "noise-free":
            left = sp.exp(-2 * n * sp.cosh(eps / 2) ** 2 * sp.log(sp.cosh(eps / 2)) / p)
            return left / (1 + sp.sqrt(1 - left)) if summed else left
        share = sp.Rational(7, 20) if summed else sp.Integer(1)
        squared = sp.Min(1, C**2, share * p * C**2 / (n * _rounds(eps)))
        lost = sp.sqrt(squared) * (1 - sp.sqrt(1 - sp.exp(-share)))
        return lost if summed else squared * sp.exp(-1)

    def prior(at: Point, parts: Parts) -> Prior:
        return family.prior(at, parts.optimum["delta"], summed)

    return LowerBound(
        name=f"Le Cam: {law}, interactive" + (", sum of errors" if summed else ""),
        source=f"{THIS_WORK}: local_regression.small_noise_interactive (for WX21: Theorem "
        f"{'3' if summed else '2'})",
        parameters=(*NAMES, "epsilon"),
        optimise=optimise,
        formula=_at_size(family, risk),
        expression=expression,
        assumptions=(at_least("p", 1),),
        prior_at=prior,
        slack=SLACK[law],
        slack_regime=_few_reports(law),
        loss=loss,
    )


def _rounds(epsilon: Number) -> Number:
    """p S/(n (delta/C)^2) of the closed form for rare labels."""
    growth = library(epsilon).expm1(epsilon)
    return growth * growth * (1 + growth / 8) / 4


def _few_reports(law: Law) -> Assumption:
    if law == "rare labels":
        return Assumption("epsilon <= 1", lambda at: bool(at["epsilon"] <= 1))
    return Assumption(
        "n sinh(epsilon/2)^2 <= p and epsilon <= 1",
        lambda at: bool(
            at["epsilon"] <= 1 and at["n"] * math.sinh(at["epsilon"] / 2) ** 2 <= at["p"]
        ),
    )


def small_noise_bounds(model: type[Privacy], *, interaction: bool = False) -> list[LowerBound]:
    """Every bound of this module under one definition: with interaction for eps-LDP only.

    (For the others |omega_j| may be near 1, where E_0 -log(1 - omega_j^2) is not bounded.) Under
    (eps, delta) A grows with p, and the bounds for private labels say all that there is.
    """
    if model is Approximate:
        return []
    laws: tuple[Law, ...] = ("noise-free", "rare labels")
    together = [
        small_noise_interactive(loss, law)
        for loss in (SQUARED, SUM)
        for law in laws
        if model is Pure
    ]
    if interaction:
        return together
    alone = [
        small_noise_alone(model, law) for law in laws if law == "noise-free" or model in ORDER_TWO
    ]
    return alone + together
