"""From a ledger of mechanism calls to the guarantee of the whole.

A `LedgerEntry` documents one mechanism call completely: what was released, how sensitive it is,
how much noise it got and which guarantees that gives. `total` composes a ledger in the definition
asked for; composition itself is done by Google's dp-accounting wherever it is not a one-line sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import dp_accounting
from dp_accounting.pld import PLDAccountant

from minimax.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

Guarantee = Pure | Approximate | ZeroConcentrated | Gaussian
Ledger = tuple["LedgerEntry", ...]

_REPLACE = dp_accounting.NeighboringRelation.REPLACE_SPECIAL
# In dp-accounting the noise multiplier is relative to the distance between the two outputs. Ours is
# measured under replacement already, so the relation that leaves it unscaled is the right one.


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
    guarantees: tuple[Guarantee, ...]
    count: int = 1
    about: str = ""

    @property
    def event(self) -> dp_accounting.DpEvent:
        """The call in dp-accounting's vocabulary.

        An epsilon-DP call is dominated by binary randomised response; an (epsilon, delta) call by
        the same with a chance delta of revealing everything, which `total` adds separately.
        """
        return dp_accounting.ComposedDpEvent([_event(self)] * self.count)

    def guarantee(self, kind: type[Guarantee]) -> Guarantee | None:
        """The guarantee of this kind, if the call has one."""
        return next((g for g in self.guarantees if isinstance(g, kind)), None)


class NotAccountable(ValueError):
    """The ledger's mechanisms do not give a guarantee of the kind asked for."""


def total(ledger: Ledger, kind: type[Guarantee], delta: float | None = None) -> Guarantee:
    """The guarantee of running every mechanism of the ledger on the same data.

    `kind` is the definition wanted; `Approximate` needs the `delta` at which to report epsilon.
    """
    ledger = tuple(ledger)
    if not ledger:
        raise NotAccountable("the ledger is empty: nothing was released")
    if kind is Pure:
        return Pure(sum(entry.count * _epsilon(entry) for entry in ledger))
    if kind is ZeroConcentrated:
        return ZeroConcentrated(sum(entry.count * _rho(entry) for entry in ledger))
    if kind is Gaussian:
        return Gaussian(math.sqrt(sum(entry.count * _mu(entry) ** 2 for entry in ledger)))
    if delta is None:
        raise ValueError("delta is needed to report an (epsilon, delta) guarantee")
    return _total_approximate(ledger, delta)


@lru_cache(maxsize=4096)
def delta_at(ledger: Ledger, epsilon: float) -> float:
    """The delta that the ledger really gives at this epsilon."""
    if all(entry.guarantee(Gaussian) for entry in ledger):
        gaussian = total(ledger, Gaussian)
        assert isinstance(gaussian, Gaussian)
        return gaussian.delta(epsilon)
    leak = sum(entry.count * _leak(entry) for entry in ledger)
    return min(1.0, leak + float(_composed(ledger).get_delta(epsilon)))


@lru_cache(maxsize=4096)
def _total_approximate(ledger: Ledger, delta: float) -> Approximate:
    """The smallest epsilon any of the sound routes gives at this delta."""
    if all(entry.guarantee(Gaussian) for entry in ledger):
        gaussian = total(ledger, Gaussian)
        assert isinstance(gaussian, Gaussian)
        return gaussian.to_approximate(delta)
    if len(ledger) == 1 and ledger[0].count == 1:
        only = ledger[0].guarantee(Approximate)
        if isinstance(only, Approximate) and only.delta <= delta:
            return only
    remaining = delta - sum(entry.count * _leak(entry) for entry in ledger)
    candidates = []
    if remaining >= 0 and all(_has_epsilon(entry) for entry in ledger):
        candidates.append(sum(entry.count * _epsilon_of_core(entry) for entry in ledger))
    if remaining > 0:
        if all(entry.guarantee(Approximate) is None for entry in ledger):
            try:
                rho = total(ledger, ZeroConcentrated)
            except NotAccountable:
                rho = None
            if isinstance(rho, ZeroConcentrated):
                candidates.append(rho.to_approximate(delta).epsilon)
        candidates.append(_pld_epsilon(ledger, remaining))
    if not candidates:
        raise NotAccountable(f"the ledger already spends more than delta = {delta:g}")
    return Approximate(min(candidates), delta)


def _pld_epsilon(ledger: Ledger, delta: float) -> float:
    return float(_composed(ledger).get_epsilon(delta))


def _composed(ledger: Ledger) -> PLDAccountant:
    """The privacy-loss distribution of the ledger, leaks set aside.

    Composed call by call: the accountant ignores the count of a self-composed randomised response,
    so a `SelfComposedDpEvent` of it would be charged only once.
    """
    accountant = PLDAccountant(_REPLACE)
    accountant.compose(dp_accounting.ComposedDpEvent([entry.event for entry in ledger]))
    return accountant


def _event(entry: LedgerEntry) -> dp_accounting.DpEvent:
    gaussian = entry.guarantee(Gaussian)
    if isinstance(gaussian, Gaussian):
        return dp_accounting.GaussianDpEvent(1 / gaussian.mu)
    if entry.mechanism == "laplace" and entry.norm == "l1":
        return dp_accounting.LaplaceDpEvent(entry.scale / entry.sensitivity)
    return dp_accounting.RandomizedResponseDpEvent(
        noise_parameter=2 / (1 + math.exp(_epsilon_of_core(entry))), num_buckets=2
    )


def _leak(entry: LedgerEntry) -> float:
    approximate = entry.guarantee(Approximate)
    if isinstance(approximate, Approximate) and entry.guarantee(Pure) is None:
        return approximate.delta
    return 0.0


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
