"""From a ledger of mechanism calls to the guarantee of the whole.

A `LedgerEntry` documents one mechanism call completely: what was released, how sensitive it is,
how much noise it got and which guarantees that gives. `compose` adds a ledger up in the definition
asked for. Pure, zCDP and Gaussian guarantees add up; an (epsilon, delta) guarantee is the smallest
of several upper bounds, each proved (`estimators.core.loss_law`), and never below what randomised
responses that keep every promise of the ledger really lose.

Calls on disjoint records compose in parallel: a record is in one part, and what other parts release
depends on it only through what has been released already. A local protocol in which each user
reports once costs one report, however many users there are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, get_args

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.core import loss_law
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    Scope,
    SpendablePrivacy,
    ZeroConcentrated,
)
from minimax.core.randomised_response import randomised_response_epsilon

if TYPE_CHECKING:
    from dp_accounting import DpEvent

Array = NDArray[np.float64]
Ledger = tuple["LedgerEntry", ...]
COLUMNS = 80
"""The width of a printed ledger."""
SMALLEST_EPSILON = 1e-12
"""What is reported where epsilon may be 0, which no definition has."""


SPENDABLE = get_args(SpendablePrivacy)


def check_composable(**named: object) -> None:
    """Raise naming the first argument that is not a guarantee that can be composed."""
    for name, value in named.items():
        if type(value) not in SPENDABLE and not isinstance(value, SpendablePrivacy):
            kinds = ", ".join(kind.__name__ for kind in SPENDABLE)
            raise TypeError(f"{name} must be one of {kinds}; got {value!r}")


class LossLaw(Enum):
    """The law of a call's privacy loss, given its epsilon: what dominates it."""

    WORST = "any mechanism with these guarantees"
    """At worst randomised response."""
    LAPLACE = "Laplace noise in proportion to the l1 sensitivity"
    """One shift by all of the sensitivity; it loses less than randomised response does."""


@dataclass(frozen=True)
class LedgerEntry:
    """One mechanism call, or `count` identical ones.

    `guarantees` are true of each call separately and all at once (the exponential mechanism, for
    example, is both epsilon-DP and (epsilon^2/8)-zCDP); composition uses whichever is best.
    """

    mechanism: str
    sensitivity: float
    norm: str
    scale: float
    guarantees: tuple[SpendablePrivacy, ...]
    count: int = 1
    about: str = ""
    part: str = ""
    """The records that were read, by name: two names are disjoint records, "" is all of them."""
    law: LossLaw = LossLaw.WORST
    """What is known of the privacy loss beyond the guarantees. Names and remarks decide nothing."""

    def __post_init__(self) -> None:
        for guarantee in self.guarantees:
            check_composable(guarantees=guarantee)
        if not isinstance(self.law, LossLaw):
            raise TypeError(f"law must be a LossLaw, got {self.law!r}")
        if self.law is LossLaw.LAPLACE and not self.guarantee(Pure):
            raise ValueError("law: Laplace noise has a Pure guarantee, which guarantees lacks")
        if isinstance(self.count, bool) or not isinstance(self.count, (int, np.integer)):
            raise TypeError(f"count must be an integer, got {self.count!r}")
        if self.count < 1:
            raise ValueError(f"count must be at least 1, got {self.count}")
        object.__setattr__(self, "count", int(self.count))

    @property
    def event(self) -> DpEvent:
        """The calls in dp-accounting's vocabulary, under replacement of one record.

        An epsilon-DP call is dominated by binary randomised response. An (epsilon, delta) call is
        dominated by the same with a chance delta of revealing everything, which is not part of the
        event. (`compose` does without: the library's transform of loss distributions has an
        absolute error, near 1e-15, which is more than a small delta.)
        """
        import dp_accounting  # slow to import, and needed for nothing else

        gaussian = self.guarantee(Gaussian)
        if isinstance(gaussian, Gaussian):
            one: DpEvent = dp_accounting.GaussianDpEvent(1 / gaussian.mu)
        elif self.law is LossLaw.LAPLACE:
            one = dp_accounting.LaplaceDpEvent(1 / _epsilon(self))
        else:
            chance = 2 * float(special.expit(-_epsilon_of_core(self)))
            one = dp_accounting.RandomizedResponseDpEvent(chance, 2)
        return dp_accounting.ComposedDpEvent([one] * self.count)

    def __repr__(self) -> str:
        """The call on one line of at most 80 columns; its attributes have all digits."""
        times = f" x {self.count}" if self.count > 1 else ""
        noise = f"{self.norm} sensitivity {self.sensitivity:.3g}, scale {self.scale:.3g}"
        remarks = [text for text in (self.part, self.about) if text]
        line = "; ".join([*map(_short, self.guarantees), noise, *remarks])
        line = f"{self.mechanism}{times}: {line}"
        return f"<{line}>" if len(line) <= COLUMNS - 2 else f"<{line[: COLUMNS - 5]}...>"

    def guarantee(self, kind: type[SpendablePrivacy]) -> SpendablePrivacy | None:
        """The guarantee of this kind, if the call has one."""
        return next((g for g in self.guarantees if isinstance(g, kind)), None)


def _short(guarantee: SpendablePrivacy) -> str:
    """The scope, if it is not central, and the numbers, whose names tell the definition."""
    scope = "" if guarantee.scope == "central" else f"{guarantee.scope} "
    numbers = guarantee.parameters.items()
    return scope + ", ".join(f"{name}={value:.3g}" for name, value in numbers)


class PrintedLedger(tuple[LedgerEntry, ...]):
    """A ledger that prints one call a line."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "\n".join(map(repr, self))


class NotAccountable(ValueError):
    """The ledger's mechanisms do not give a guarantee of the kind asked for."""


def compose(
    ledger: Ledger, kind: type[SpendablePrivacy], delta: float | None = None
) -> SpendablePrivacy:
    """The guarantee of running every mechanism of the ledger on the same data.

    `kind` is the definition wanted; `Approximate` needs the `delta` at which to report epsilon. The
    scope is that of the ledger's guarantees; a record gets the guarantee of the worst of the parts.
    """
    ledger = tuple(ledger)
    if kind not in SPENDABLE:
        kinds = ", ".join(known.__name__ for known in SPENDABLE)
        raise TypeError(f"kind must be one of {kinds}; got {kind!r}")
    if not ledger:
        raise NotAccountable("the ledger is empty: nothing was released")
    scope = _scope(ledger)
    if kind is Approximate:
        if delta is None:
            raise ValueError("delta is needed to report an (epsilon, delta) guarantee")
        if not 0 < delta < 1:
            raise ValueError(f"delta must lie in (0, 1), got {delta!r}")
    return _composed(ledger, kind, delta, scope)  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _composed(
    ledger: Ledger, kind: type[SpendablePrivacy], delta: float | None, scope: Scope
) -> SpendablePrivacy:
    """That of the worst of the parts. Fits at the same sizes share their ledger."""
    parts = [_composition(part, kind, delta) for part in _parts(ledger)]
    worst = max(parts, key=lambda found: next(iter(found.parameters.values())))
    if isinstance(worst, Approximate):  # the part with the largest epsilon may have a smaller delta
        worst = replace(worst, delta=max(found.parameters["delta"] for found in parts))
    return replace(worst, scope=scope)


def _composition(
    ledger: Ledger, kind: type[SpendablePrivacy], delta: float | None
) -> SpendablePrivacy:
    """Calls on the same records, whatever the scope."""
    if kind is Pure:
        return Pure(loss_law.added(tuple((_epsilon(entry), entry.count) for entry in ledger)))
    if kind is ZeroConcentrated:
        return ZeroConcentrated(loss_law.added(tuple((_rho(e), e.count) for e in ledger)))
    if kind is Gaussian:
        return _composed_gaussian(ledger)
    assert delta is not None
    return _total_approximate(_essentials(ledger), delta)


def _composed_gaussian(ledger: Ledger) -> Gaussian:
    return Gaussian(loss_law.root_of_added_squares(tuple((_mu(e), e.count) for e in ledger)))


def _scope(ledger: Ledger) -> Scope:
    """The one scope of all guarantees: privacy of a label says nothing about the record."""
    scopes = {guarantee.scope for entry in ledger for guarantee in entry.guarantees}
    if len(scopes) > 1:
        raise NotAccountable(f"the ledger mixes guarantees of scope {' and '.join(sorted(scopes))}")
    return scopes.pop()


def _parts(ledger: Ledger) -> list[Ledger]:
    """What each group of records took part in."""
    names = {entry.part for entry in ledger} - {""}
    if len(names) <= 1:
        return [ledger]
    return [tuple(e for e in ledger if e.part in ("", name)) for name in sorted(names)]


def _essentials(ledger: Ledger) -> Ledger:
    """Entries without what composition does not need: results are shared by the cache."""
    return tuple(replace(e, sensitivity=1.0, scale=1.0, about="", part="") for e in ledger)


def delta_at(ledger: Ledger, epsilon: float) -> float:
    """The delta that the ledger gives at this epsilon: between 0 and 1, and no less than it is."""
    if not 0 <= epsilon < math.inf:
        raise ValueError(f"epsilon must be at least 0 and finite, got {epsilon!r}")
    return max(_delta_at(_essentials(part), float(epsilon)) for part in _parts(tuple(ledger)))


@lru_cache(maxsize=4096)
def _delta_at(ledger: Ledger, epsilon: float) -> float:
    """The smallest delta any of the sound routes gives at this epsilon."""
    leaked, losses = _leaked(ledger), _losses(ledger)
    if losses is not None and losses.largest <= epsilon:
        return min(leaked, 1.0)
    found = loss_law.moment_log_delta(lambda order: _log_moment(ledger, order), epsilon)[0]
    if losses is not None:
        found = min(found, loss_law.log_delta(losses, epsilon))
    found = max(found, _least_log_delta(ledger, epsilon))
    # A delta too small for a float is still not 0.
    return min((leaked + max(math.exp(found), 5e-324)) * (1 + 4e-16), 1.0)


@lru_cache(maxsize=4096)
def _total_approximate(ledger: Ledger, delta: float) -> Approximate:
    """The smallest epsilon any of the sound routes gives at this delta."""
    if all(entry.guarantee(Gaussian) for entry in ledger):
        return _composed_gaussian(ledger).to_approximate(delta)
    if len(ledger) == 1 and ledger[0].count == 1:
        only = ledger[0].guarantee(Approximate)
        if isinstance(only, Approximate) and only.delta <= delta:
            return only
    remaining = (delta - _leaked(ledger)) * (1 - 4e-16)
    losses, candidates = _losses(ledger), [math.inf]
    if remaining >= 0 and losses is not None:
        candidates.append(_by_addition(losses, remaining))
    if remaining > 0:
        by_moments, _ = loss_law.moment_epsilon(lambda order: _log_moment(ledger, order), remaining)
        candidates.append(by_moments)
        if losses is not None:
            candidates.append(loss_law.epsilon(losses, remaining))
    if min(candidates) == math.inf:
        raise NotAccountable(f"the ledger already spends more than delta = {delta:g}")
    found = max(min(candidates), SMALLEST_EPSILON)
    if _least_log_delta(ledger, found) > math.log(delta):  # else the least epsilon is not above
        found = max(found, _least_epsilon(ledger, delta))
    return Approximate(found, delta)


def _by_addition(losses: loss_law.Losses, delta: float) -> float:
    """The epsilons of all calls that are not Gaussian, added to that of all that are."""
    if not losses.mu:
        return losses.largest
    if delta == 0:
        return math.inf
    together = Gaussian(losses.mu).to_approximate(delta)
    return (loss_law.added(losses.bounded) + together.epsilon) * (1 + 4e-16)


def _log_moment(ledger: Ledger, order: Array) -> Array:
    """The sum over calls of log E exp(order * loss), each by the best of its guarantees."""
    found = np.zeros_like(order)
    for entry in ledger:
        options = [loss_law.gaussian_log_moment(rho, order) for rho in _rhos(entry)]
        if entry.law is LossLaw.LAPLACE:
            options.append(loss_law.laplace_log_moment(_epsilon(entry), order))
        elif _has_epsilon(entry) and not entry.guarantee(Gaussian):
            options.append(loss_law.response_log_moment(_epsilon_of_core(entry), order))
        found = found + entry.count * np.minimum.reduce(options)
    return found


def _losses(ledger: Ledger) -> loss_law.Losses | None:
    """The worst losses of the calls, leaks set aside, unless some call is zCDP and nothing else."""
    gaussians, others = _divided(ledger)
    if not all(_has_epsilon(entry) for entry in others):
        return None
    laplaces = [entry for entry in others if entry.law is LossLaw.LAPLACE]
    responses = [entry for entry in others if entry.law is not LossLaw.LAPLACE]
    return loss_law.Losses(
        _counted((_epsilon_of_core(entry), entry.count) for entry in responses),
        _counted((_epsilon(entry), entry.count) for entry in laplaces),
        _composed_gaussian(gaussians).mu if gaussians else 0.0,
    )


def _counted(groups: Iterable[loss_law.Group]) -> tuple[loss_law.Group, ...]:
    """Groups of one epsilon each."""
    counts: dict[float, int] = {}
    for epsilon, count in groups:
        counts[epsilon] = counts.get(epsilon, 0) + count
    return tuple(sorted(counts.items()))


def _divided(ledger: Ledger) -> tuple[Ledger, Ledger]:
    """The Gaussian calls, and the others."""
    gaussians = tuple(entry for entry in ledger if entry.guarantee(Gaussian))
    return gaussians, tuple(entry for entry in ledger if not entry.guarantee(Gaussian))


def _leaked(ledger: Ledger) -> float:
    """The sum of the chances of revealing everything, rounded upwards."""
    return loss_law.added(tuple((_leak(entry), entry.count) for entry in ledger))


# --- The floor ------------------------------------------------------------------------------------


def _floor(ledger: Ledger) -> tuple[loss_law.Group, ...]:
    """Randomised responses that a release under this ledger may hold: the heaviest of one epsilon.

    A call may be a response that spends the least of its guarantees; some calls lose no more than
    all of them, so that very many need not be counted. The sign of a Laplace release
    about the middle of its two modes is one with epsilon/2 + log(2 - e^(-epsilon/2)).
    """

    def response(entry: LedgerEntry) -> float:
        if entry.law is LossLaw.LAPLACE:
            half = _epsilon(entry) / 2
            return half + math.log1p(-math.expm1(-half))
        return min(randomised_response_epsilon(guarantee) for guarantee in entry.guarantees)

    counted = _counted((response(entry) * (1 - 1e-12), entry.count) for entry in ledger)
    groups = [(epsilon, min(count, loss_law.MOST_CALLS)) for epsilon, count in counted]
    heaviest = {max(groups, key=lambda group: group[1] * group[0] ** power) for power in (1, 2)}
    return tuple(heaviest)


def _least_epsilon(ledger: Ledger, delta: float) -> float:
    """An epsilon below which some release under this ledger is not private at this delta."""
    found = 0.0
    for epsilon, count in _floor(ledger):
        losses = loss_law.Losses(((epsilon, count),))
        order = loss_law.moment_epsilon(losses.log_moment, delta)[1]
        law = loss_law.response_law(epsilon, count, order, side=-1)
        found = max(found, law.epsilon(delta, count * epsilon))
    return found


def _least_log_delta(ledger: Ledger, epsilon: float) -> float:
    """A log delta below which some release under this ledger is not private at this epsilon."""
    found = -math.inf
    for each, count in _floor(ledger):
        losses = loss_law.Losses(((each, count),))
        order = loss_law.moment_log_delta(losses.log_moment, epsilon)[1]
        found = max(found, loss_law.response_law(each, count, order, side=-1).log_delta(epsilon))
    return found


# --- One entry ------------------------------------------------------------------------------------


def _leak(entry: LedgerEntry) -> float:
    """The chance of revealing everything, of a call that is accounted by its (epsilon, delta)."""
    approximate = entry.guarantee(Approximate)
    spared = entry.guarantee(Pure) or entry.guarantee(Gaussian)
    return 0.0 if spared or not isinstance(approximate, Approximate) else approximate.delta


def _has_epsilon(entry: LedgerEntry) -> bool:
    return entry.guarantee(Pure) is not None or entry.guarantee(Approximate) is not None


def _epsilon_of_core(entry: LedgerEntry) -> float:
    """epsilon once the leak has been set aside."""
    for kind in (Pure, Approximate):
        found = entry.guarantee(kind)
        if isinstance(found, (Pure, Approximate)):
            return found.epsilon
    raise NotAccountable(f"{entry.mechanism} has no epsilon")


def _epsilon(entry: LedgerEntry) -> float:
    pure = entry.guarantee(Pure)
    if not isinstance(pure, Pure):
        raise NotAccountable(f"{entry.mechanism} ({entry.about}) is not pure epsilon-DP")
    return pure.epsilon


def _rhos(entry: LedgerEntry) -> list[float]:
    """Of the guarantees that are zCDP or imply it by more than their epsilon does."""
    kinds = (ZeroConcentrated, Gaussian)
    return [g.to_zcdp().rho for g in entry.guarantees if isinstance(g, kinds)]


def _rho(entry: LedgerEntry) -> float:
    options = [g.to_zcdp().rho for g in entry.guarantees if not isinstance(g, Approximate)]
    if not options:
        raise NotAccountable(f"{entry.mechanism} ({entry.about}) is not zCDP")
    return min(options)


def _mu(entry: LedgerEntry) -> float:
    gaussian = entry.guarantee(Gaussian)
    if not isinstance(gaussian, Gaussian):
        raise NotAccountable(f"{entry.mechanism} ({entry.about}) is not Gaussian-DP")
    return gaussian.mu
