r"""Tracing: what privacy lets an attack score reach.

The set-up of every tracing proof. P is the joint law of a release M(X) and a record x of X; Q the
joint law of M(X') and x, where X' has x replaced by an independent copy. An attack scores
A = <V, x - E x>, where V depends on the release and the other records. Under Q, V and x are
independent, so E_Q A = 0; V has the same marginal law under P and under Q. Privacy bounds E_P A
(`gain_at`); accuracy forces the sum of E_P A over the records to be large
(`minimax.methods.score_model`). The two meet in a lower bound.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minimax.core.bound import Optimum, Point
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Number, approximately, library, lift
from minimax.methods.divergences import report_information
from minimax.methods.tails import BOUNDED_PRODUCT as BOUNDED_PRODUCT
from minimax.methods.tails import GAUSSIAN as GAUSSIAN
from minimax.methods.tails import GAUSSIAN_PRODUCT as GAUSSIAN_PRODUCT
from minimax.methods.tails import SUBGAUSSIAN as SUBGAUSSIAN
from minimax.methods.tails import VARIANCE as VARIANCE
from minimax.methods.tails import Tail as Tail

Array = NDArray[np.float64]


def moment_bound(
    epsilon: float, delta: float, mean_abs: float, rms_member: float, rms_outsider: float
) -> float:
    r"""Upper bound on E_P A for an (epsilon, delta)-close pair with E_Q A = 0.

    **Statement.** E_P A <= sinh(eps) E_Q|A| + sqrt(delta E_P (A^+)^2)
    + e^{-eps} sqrt(delta E_Q (A^-)^2).

    **Proof.** E_P A^+ <= e^eps E_Q A^+ + \int A^+ (p - e^eps q)^+, and Cauchy-Schwarz with
    (p - e^eps q)^+ <= p of mass at most delta bounds the last term by sqrt(delta E_P (A^+)^2).
    Likewise E_P A^- >= e^{-eps} (E_Q A^- - sqrt(delta E_Q (A^-)^2)). Subtract, and use
    E_Q A^+ = E_Q A^- = E_Q|A|/2.

    **Source.** Replaces CWZ19: Lemma B.2, which drops a tail integral and needs delta << 1/n.
    """
    root = math.sqrt(delta)
    return math.sinh(epsilon) * mean_abs + root * (rms_member + math.exp(-epsilon) * rms_outsider)


def transport_bound(kl: float, sigma: float, rms: float) -> float:
    """Upper bound on E_P <V, x - E x> when x is sub-Gaussian(sigma): sigma sqrt(2 KL) rms(V).

    Proof: Donsker-Varadhan with lambda A - lambda^2 sigma^2 |V|^2/2, whose exponential has mean at
    most one under Q; then the best lambda.
    """
    return sigma * math.sqrt(2 * kl) * rms


# --- The gain ------------------------------------------------------------------------------------


class Gain(NamedTuple):
    """E_P A <= own sigma sqrt(E|V|^2) + leak sqrt(E_P (A^+)^2); leak is 0 without delta."""

    own: Number
    leak: Number = 0.0

    def total(self, member: Number) -> Number:
        """G with E_P A <= G sigma sqrt(E|V|^2), if E_P A^2 <= member^2 sigma^2 E|V|^2."""
        return self.own + self.leak * member


def gain_at(
    model: type[Privacy],
    point: Point,
    tail: Tail,
    shift: Number = 0.0,
    share: Number = 0.0,
    *,
    size: Number = 1,
) -> Gain:
    r"""What privacy lets a score gain, for a group of `size` records at once.

    **Statement.** zCDP: own = sqrt(2 rho) k. GDP: mu k; for a score that is not sub-Gaussian given
    V, sqrt(exp(2 rho k^2) - 1) and sqrt(exp(mu^2 k^2) - 1). For (eps, delta), those of the group,
    any t >= 0 (`shift`) and 0 <= theta <= min{1, (e + t)/(e^eps e)} (`share`, cut down to that),
    where e bounds the excess E (A - t)^+, S = shortfall(t) and r = theta S/(e + t):

        own = (1 - e^{-eps}) (t + e + (1 - theta) e^eps e) + sqrt(delta) e^{-eps} S,
        leak = sqrt(delta (1 + r^2)).

    e is the tail's, or for a score that is sub-Gaussian given V that of `_transported_excess`.
    Pure: the same with delta = 0, or sqrt(2 eps tanh(eps/2)) for a sub-Gaussian score if that is
    smaller (which it is at most for theta = 0, where P is compared with Q alone).

    **Proof, zCDP, GDP.** `transport_bound` with the definition's KL; or, for any score with
    E_Q A^2 <= sigma^2 E|V|^2, E_P A = E_Q (dP/dQ - 1) A <= sqrt(chi^2 E_Q A^2) with
    chi^2 <= e^{D_2} - 1, D_2 = 2 rho (zCDP) or mu^2 (GDP).

    **Proof, (eps, delta): the record's own channel.** Fix all but the record. x -> q_x, the law of
    the release z, is a private channel: *all* its laws are pairwise close. Write m = E q_x,
    A = A(x, z) = <V(z), x - E x>, B = A - t sigma |V(z)|, b = E B^+, b' = E B^- = b + t sigma|V|
    (x from its law, z fixed; from here on sigma = |V| = 1). Then E_P A = t E|V| + int E_x q_x B.

    (i) Let w_z(x') >= 0 have mean one. As q_x <= e^eps q_x' + g, g = (q_x - e^eps q_x')^+,
    averaging over x' with w gives E q_x B^+ <= e^eps b E w q_x' + E B^+(x) w(x') g. The mass of g
    is at most delta and g <= q_x, so Cauchy-Schwarz bounds the integral of the last term over z by
    sqrt(delta) sqrt(E_P (B^+)^2 max_z E w^2). Take w = 1 - theta + theta B^-/b'. What is left is
    E q_x D, D = e^eps b (1 - theta) - (1 - theta e^eps b/b') B^-, with a bracket >= 0.
    (ii) Likewise E q_x' B^- >= e^-eps b' m - e^-eps E B^-(x') g, whose last term is at most
    e^-eps sqrt(delta) S. Together: t + e^eps b (1 - theta) - e^-eps (b' - theta e^eps b), which is
    (1 - e^-eps)(t + b + (1 - theta) e^eps b).
    (iii) b may be less than e, its bound: b = beta e. There take theta' <= theta,
    theta' = ((theta - a (1 - beta))/beta)^+ with a = 1 + e^-eps, in place of theta: the sum in (ii)
    is no larger. theta' S/(b + t) grows with beta: the sign of its derivative is that of
    (a - theta)(2 beta e + t) - a e beta^2, which is concave in beta, >= 0 at 0, and at 1 at least
    theta e^eps (1 - theta) e >= 0, by t >= (theta e^eps - 1) e. So E w^2 <= 1 +
    (theta' S/(b + t))^2 <= 1 + r^2.

    **Proof, pure.** delta = 0, and the largest theta gives own = (1 - e^-eps) max{t + e, e^eps e}.
    The best t has t = (e^eps - 1) e(t), and own = t there. If excess is the exact one this is the
    supremum over all channels of each z: density ratio e^eps a where A > t and a below. For a
    Gaussian score it is max_t (e^eps - 1) phi(t)/(1 + (e^eps - 1) P(Z > t)), about eps/sqrt(2 pi);
    for a score known by its variance, t = sinh(eps/2) (Bhatia and Davis); for a sub-Gaussian one
    t = sqrt(2 kappa), about eps/2. V may be any vector: sup_v E q_x <v, x - E x>/|v| is what is
    bounded, for every z, and E|V| <= sqrt(E|V|^2).

    At theta = 0 the bound is that of P and Q alone: `moment_bound` for A - t sigma |V|. As delta
    -> 0 the gain tends to the pure one. A group: the law of the release as a function of the value
    that k records share is a channel too, with the group's budget.

    **Constants.** e^eps e is the exponential of one sum of logarithms, so nothing overflows before
    it does itself; then own is infinite, which says nothing and is true.
    """
    if model in (ZeroConcentrated, Gaussian):
        square = (2 * point["rho"] if model is ZeroConcentrated else point["mu"] ** 2) * size**2
        use = library(square)
        return Gain(use.sqrt(square) if tail.transport else use.sqrt(use.expm1(square)))
    if model not in (Pure, Approximate):
        raise TypeError(f"privacy: no tracing lemma for {model.__name__}")
    epsilon = point["epsilon"] * size
    use = library(epsilon, shift)
    t, some = lift(shift, epsilon), use.largest(lift(share, epsilon), lift(1e-300, epsilon))
    log_excess = _log_excess(tail, epsilon, t)
    below, growth = t + use.exp(log_excess), use.exp(epsilon + log_excess)
    rest = use.choose(share > 0, lambda: growth - use.least(some * growth, below), lambda: growth)
    own = -use.expm1(-epsilon) * (below + rest)
    if model is Approximate:
        root = use.sqrt(group_delta(point["epsilon"], point["delta"], size))
        shortfall = tail.shortfall(t)
        log_theta = use.least(use.log(some), use.log(below) - epsilon - log_excess)
        weight = use.exp(log_theta) * shortfall / below
        return Gain(
            own + root * use.exp(-epsilon) * shortfall, root * use.sqrt(1 + weight * weight)
        )
    if not tail.transport:
        return Gain(own)
    return Gain(use.least(own, use.sqrt(2 * epsilon * use.tanh(epsilon / 2))))


def _log_excess(tail: Tail, epsilon: Number, t: Number) -> Number:
    if not tail.transport:
        return tail.log_excess(t)
    return library(epsilon, t).least(tail.log_excess(t), _transported_excess(epsilon, t))


def _transported_excess(epsilon: Number, t: Number) -> Number:
    r"""log of s/(e^eps - 1) + (s - t)^+, s = sqrt(2 kappa(eps)): at least E (A - t)^+.

    **Proof.** A is sub-Gaussian(1), kappa that of `report_information`. A density L >= 0 of mean
    one with max L <= e^eps min L has E L log L <= kappa, so E L A <= s (transport). But the largest
    E L A over such L is the t* with t* = (e^eps - 1) E (A - t*)^+ (`gain_at`), so t* <= s and
    (e^eps - 1) E (A - s)^+ <= s. The excess falls with t, with a slope of at most one.
    """
    use = library(epsilon, t)
    s = _transported(epsilon)
    log_least = use.log(s) - epsilon - _log_one_minus_exp(epsilon)
    gap = use.largest(s - t, lift(1e-300, epsilon))  # arrays evaluate both branches
    return use.choose(t >= s, lambda: log_least, lambda: use.log(gap + use.exp(log_least)))


def _transported(epsilon: Number) -> Number:
    return library(epsilon).sqrt(2 * report_information(epsilon))


def group_delta(epsilon: Number, delta: Number, size: Number) -> Number:
    """delta for groups of `size` records: delta (e^{size eps} - 1)/(e^eps - 1), at most 1.

    Proof: iterate P_{i+1}(S) <= e^eps P_i(S) + delta along a path of neighbouring data sets.
    """
    use = library(epsilon * size)
    grown = size * epsilon
    log_factor = grown - epsilon + _log_one_minus_exp(grown) - _log_one_minus_exp(epsilon)
    return use.exp(use.least(library(delta).log(delta) + log_factor, 0 * grown))


def _log_one_minus_exp(x: Number) -> Number:
    """log(1 - e^-x)."""
    use = library(x)
    return use.log(-use.expm1(-x))


# --- Good shifts and shares ----------------------------------------------------------------------

PAIR = {"shift": 0.0, "share": 0.0}
"""The choice at which P is compared with Q alone, without a shift."""


def best_choices(
    model: type[Privacy], point: Point, tail: Tail, *, member: float, sizes: ArrayLike = 1
) -> tuple[Array, Array]:
    """Good shifts and shares, one for each group size, where sqrt(E_P A^2) is about `member`."""
    k = np.atleast_1d(np.asarray(sizes, dtype=float))
    if model in (ZeroConcentrated, Gaussian):
        return np.zeros_like(k), np.zeros_like(k)
    place = {name: approximately(point[name]) for name in parameter_names(model)}
    epsilon = k * place["epsilon"]
    t = np.vstack([_balance(tail, epsilon), (1 + ABOVE) * _transported(epsilon)])
    share = np.ones_like(t)
    if model is Approximate:
        near = np.geomspace(0.3, 30, 60)[:, None] * t[0]
        grid = np.linspace(0.0, 1.0, 60)[:, None] * tail.reach(epsilon)
        t = np.vstack([t, near, grid])
        share = _best_share(tail, epsilon, group_delta(**place, size=k), member, t)
    total = gain_at(model, place, tail, t, share, size=k).total(member)
    found = np.argmin(total, axis=0), np.arange(len(k))
    return t[found], share[found]


LONGEST_SHIFT = 1e100
"""Beyond this a shift, sinh(eps/2) for large eps, has squares that are no floats."""
ABOVE = 1e-12
"""A shift from `_transported_excess` lies by so much above its s, in any kind of number."""


def _balance(tail: Tail, epsilon: Array) -> Array:
    """The t with t = (e^eps - 1) excess(t), by bisection on a log scale."""
    low, high = np.full_like(epsilon, -40.0), np.log(tail.reach(epsilon))
    log_growth = epsilon + np.log(-np.expm1(-epsilon))
    for _ in range(48):
        middle = (low + high) / 2
        falls_short = middle < log_growth + tail.log_excess(np.exp(middle))
        low, high = np.where(falls_short, middle, low), np.where(falls_short, high, middle)
    return np.exp(high)


def _best_share(tail: Tail, epsilon: Array, delta: Array, member: float, t: Array) -> Array:
    """The theta at which own + leak member is least: it moves e^eps e at a price of r."""
    with np.errstate(all="ignore"):
        log_excess = _log_excess(tail, epsilon, t)
        ratio = tail.shortfall(t) / (t + np.exp(log_excess))
        saved = -np.expm1(-epsilon) * np.exp(np.minimum(epsilon + log_excess, 300.0))
        slope = saved / (np.sqrt(delta) * member * ratio)
        inside = slope / (ratio * np.sqrt(np.maximum(1 - slope**2, 0.0)))
    return np.where(slope < 1, np.minimum(inside, 1.0), 1.0)


def choices(
    model: type[Privacy], point: Point, tail: Tail, *, member: float
) -> list[dict[str, float]]:
    """Shifts and shares worth trying for a single record, the closed form's among them."""
    shift, share = (float(found[0]) for found in best_choices(model, point, tail, member=member))
    found = [{"shift": shift, "share": share}]
    if model is Approximate:
        closed = (1 + ABOVE) * float(_closed_shift(tail, float(point["epsilon"])))
        if closed < LONGEST_SHIFT:
            found.append({"shift": closed, "share": 1.0})
    return found


def chosen_gain(model: type[Privacy], point: Point, tail: Tail, found: Optimum) -> Gain:
    """`gain_at` for one record, at the choice that was found."""
    return gain_at(model, point, tail, found["shift"], found["share"])


def best_gain(privacy: Privacy, tail: Tail, *, member: float = 1.0, shifted: bool = True) -> Gain:
    """`gain_at` for one record, at the best choice (or comparing P with Q alone)."""
    model, point = type(privacy), privacy.parameters
    choice = choices(model, point, tail, member=member)[0] if shifted else PAIR
    return chosen_gain(model, point, tail, choice)


def gain(privacy: Privacy, tail: Tail, *, member: float = 0.0, shifted: bool = True) -> float:
    """`best_gain` in one number, if E_P A^2 <= member^2 sigma^2 E|V|^2."""
    found = best_gain(privacy, tail, member=max(member, 1.0), shifted=shifted)
    return float(found.total(member))


# --- Closed forms --------------------------------------------------------------------------------


def closed_gain(model: type[Privacy], tail: Tail, *, shifted: bool = True) -> Gain:
    r"""Closed forms that are at least those of `gain_at`, in the model's parameters.

    **Statement.** own at theta = 1 and t of `_closed_shift`, and leak = sqrt(5 delta).
    **Proof.** The leak: (e + t) r <= S, and S/(e + t) <= 2 at these t. For the Gaussian tail it
    falls from sqrt(pi) at t = 0. For a variance, t = sinh(eps/2) has S = cosh(eps/2) and
    e + t = e^{eps/2}/2, so that it is 1 + e^-eps; where a tail's e is smaller than the variance's,
    t is beyond .6 and S/t <= sqrt(1 + 1/t^2) <= 2 is enough. For a sub-Gaussian score t = s of
    `_transported_excess` has (1 - e^-eps) sqrt(1 + s^2)/s, which falls from 2.
    """
    eps, delta = LETTERS["epsilon"], LETTERS["delta"]
    use = library(eps)
    if model in (ZeroConcentrated, Gaussian):
        square = 2 * LETTERS["rho"] if model is ZeroConcentrated else LETTERS["mu"] ** 2
        return Gain(use.sqrt(square) if tail.transport else use.sqrt(use.expm1(square)))
    root = use.sqrt(delta) if model is Approximate else 0
    if shifted or tail in (SUBGAUSSIAN, BOUNDED_PRODUCT):
        t, own = _closed_shift(tail, eps), _closed_own(tail, eps)
        outside = root * use.exp(-eps) * use.sqrt(1 + t**2)
        return Gain(own + outside, use.sqrt(5 * root**2) if model is Approximate else 0)
    plain = use.sqrt(2 / use.pi) * use.sinh(eps)
    if model is Pure and tail.transport:
        return Gain(use.least(plain, use.sqrt(2 * eps * use.tanh(eps / 2))))
    return Gain(plain + root * use.exp(-eps) / use.sqrt(2), root)


def _closed_shift(tail: Tail, eps: Number) -> Number:
    r"""A shift near the best, for numbers or symbols.

    Gaussian scores, eps <= 1: one step of Newton's method from 0, sqrt(2/pi) tanh(eps/2), which as
    the excess is convex is below the best shift. eps > 1, and other sub-Gaussian scores:
    sqrt(2 kappa), which is above it. Scores known by their variance: sinh(eps/2).
    """
    use = library(eps)

    def above() -> Number:
        return _transported(eps) if tail.transport else use.sinh(eps / 2)

    if tail not in (GAUSSIAN, GAUSSIAN_PRODUCT):
        return above()
    return use.choose(eps <= 1, lambda: use.sqrt(2 / use.pi) * use.tanh(eps / 2), above)


def _closed_own(tail: Tail, eps: Number) -> Number:
    """At least (1 - e^-eps) max{t + e, e^eps e} at the closed form's shift."""
    use = library(eps)
    t = _closed_shift(tail, eps)
    if tail not in (GAUSSIAN, GAUSSIAN_PRODUCT):
        return t
    density = use.exp(-(t**2) / 2) / use.sqrt(2 * use.pi)
    newton = use.expm1(eps) * (density - t * use.ndtr(-t))
    return use.choose(eps <= 1, lambda: newton, lambda: t)
