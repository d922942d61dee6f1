"""From a ledger of mechanism calls to the guarantee of the whole.

A `LedgerEntry` documents one mechanism call completely: what was released, how sensitive it is,
how much noise it got and which guarantees that gives. `total` composes a ledger in the definition
asked for; composition itself is done by Google's dp-accounting wherever it is not a one-line sum.

Calls on disjoint records compose in parallel: a record is in one part, and what other parts release
depends on it only through what has been released already. A local protocol in which each user
reports once costs one report, however many users there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import dp_accounting
from dp_accounting.pld import privacy_loss_distribution
from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution
from scipy import special

from minimax.core.privacy import Approximate, Gaussian, Pure, Scope, ZeroConcentrated

Guarantee = Pure | Approximate | ZeroConcentrated | Gaussian
Ledger = tuple["LedgerEntry", ...]
WIDEST_CALL = 1e5
"""Grid points, about, over which one call's loss distribution is spread at most."""
COARSEST_STEP = 100.0
"""Losses of tens of millions, which would need a coarser grid, are not composed as distributions:
they promise nothing, and the library would compute e^step."""


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
    part: str = ""
    """The records that were read, by name: two names are disjoint records, "" is all of them."""

    @property
    def event(self) -> dp_accounting.DpEvent:
        """The calls in dp-accounting's vocabulary, under replacement of one record.

        An epsilon-DP call is dominated by binary randomised response. An (epsilon, delta) call is
        dominated by the same with a chance delta of revealing everything, which is not part of the
        event. (`total` composes loss distributions itself: no accountant of the library takes both
        Laplace and randomised-response events with the right neighbours.)
        """
        gaussian = self.guarantee(Gaussian)
        if isinstance(gaussian, Gaussian):
            one: dp_accounting.DpEvent = dp_accounting.GaussianDpEvent(1 / gaussian.mu)
        elif _is_laplace(self):
            one = dp_accounting.LaplaceDpEvent(1 / _epsilon(self))
        else:
            chance = 2 * float(special.expit(-_epsilon_of_core(self)))
            one = dp_accounting.RandomizedResponseDpEvent(chance, 2)
        return dp_accounting.ComposedDpEvent([one] * self.count)

    def guarantee(self, kind: type[Guarantee]) -> Guarantee | None:
        """The guarantee of this kind, if the call has one."""
        return next((g for g in self.guarantees if isinstance(g, kind)), None)


class NotAccountable(ValueError):
    """The ledger's mechanisms do not give a guarantee of the kind asked for."""


def total(ledger: Ledger, kind: type[Guarantee], delta: float | None = None) -> Guarantee:
    """The guarantee of running every mechanism of the ledger on the same data.

    `kind` is the definition wanted; `Approximate` needs the `delta` at which to report epsilon. The
    scope is that of the ledger's guarantees; a record gets the guarantee of the worst of the parts.
    """
    ledger = tuple(ledger)
    if not ledger:
        raise NotAccountable("the ledger is empty: nothing was released")
    scope = _scope(ledger)
    if kind is Approximate and delta is None:
        raise ValueError("delta is needed to report an (epsilon, delta) guarantee")
    parts = [_composition(part, kind, delta) for part in _parts(ledger)]
    worst = max(parts, key=lambda found: next(iter(found.parameters.values())))
    return replace(worst, scope=scope)


def _composition(ledger: Ledger, kind: type[Guarantee], delta: float | None) -> Guarantee:
    """Calls on the same records, whatever the scope."""
    if kind is Pure:
        return Pure(sum(entry.count * _epsilon(entry) for entry in ledger))
    if kind is ZeroConcentrated:
        return ZeroConcentrated(sum(entry.count * _rho(entry) for entry in ledger))
    if kind is Gaussian:
        return _composed_gaussian(ledger)
    assert delta is not None
    return _total_approximate(ledger, delta)


def _composed_gaussian(ledger: Ledger) -> Gaussian:
    return Gaussian(math.sqrt(sum(entry.count * _mu(entry) ** 2 for entry in ledger)))


def _scope(ledger: Ledger) -> Scope:
    """The one scope of all guarantees: privacy of a label says nothing about the record."""
    scopes = {guarantee.scope for entry in ledger for guarantee in entry.guarantees}
    if len(scopes) > 1:
        raise NotAccountable(f"the ledger mixes guarantees of scope {' and '.join(sorted(scopes))}")
    return scopes.pop()


def _parts(ledger: Ledger) -> list[Ledger]:
    """What each group of records took part in, without repetitions."""
    names = {entry.part for entry in ledger} - {""} or {""}
    found = {
        tuple(_essentials(entry) for entry in ledger if entry.part in ("", name)) for name in names
    }
    return list(found)


def _essentials(entry: LedgerEntry) -> LedgerEntry:
    """The entry without what composition does not need, so that results are shared by the cache."""
    return replace(entry, sensitivity=1.0, scale=1.0, about="", part="")


def delta_at(ledger: Ledger, epsilon: float) -> float:
    """The delta that the ledger really gives at this epsilon."""
    return max(_delta_at(part, epsilon) for part in _parts(tuple(ledger)))


@lru_cache(maxsize=4096)
def _delta_at(ledger: Ledger, epsilon: float) -> float:
    if all(entry.guarantee(Gaussian) for entry in ledger):
        return _composed_gaussian(ledger).delta(epsilon)
    if _grid_step(ledger) > COARSEST_STEP:
        return 1.0
    leak = sum(entry.count * _leak(entry) for entry in ledger)
    return min(1.0, leak + float(_composed(ledger).get_delta_for_epsilon(epsilon)))


@lru_cache(maxsize=4096)
def _total_approximate(ledger: Ledger, delta: float) -> Approximate:
    """The smallest epsilon any of the sound routes gives at this delta."""
    if all(entry.guarantee(Gaussian) for entry in ledger):
        return _composed_gaussian(ledger).to_approximate(delta)
    if len(ledger) == 1 and ledger[0].count == 1:
        only = ledger[0].guarantee(Approximate)
        if isinstance(only, Approximate) and only.delta <= delta:
            return only
    remaining = delta - sum(entry.count * _leak(entry) for entry in ledger)
    candidates = []
    gaussians = tuple(entry for entry in ledger if entry.guarantee(Gaussian))
    others = tuple(entry for entry in ledger if not entry.guarantee(Gaussian))
    if remaining >= 0 and all(_has_epsilon(entry) for entry in others):
        basic = sum(entry.count * _epsilon_of_core(entry) for entry in others)
        if not gaussians:
            candidates.append(basic)
        elif remaining > 0:
            together = _composed_gaussian(gaussians)
            candidates.append(basic + together.to_approximate(remaining).epsilon)
    if remaining > 0:
        candidates.append(_by_zcdp(ledger, remaining))
        # Where some calls have a zCDP guarantee of their own: those by zCDP, the rest by addition.
        own = tuple(entry for entry in ledger if entry.guarantee(ZeroConcentrated))
        rest = tuple(entry for entry in ledger if not entry.guarantee(ZeroConcentrated))
        if own and all(_has_epsilon(entry) for entry in rest):
            basic = sum(entry.count * _epsilon_of_core(entry) for entry in rest)
            candidates.append(basic + _by_zcdp(own, remaining))
        if all(_has_event(entry) for entry in ledger) and _grid_step(ledger) <= COARSEST_STEP:
            candidates.append(float(_composed(ledger).get_epsilon_for_delta(remaining)))
    if not candidates:
        raise NotAccountable(f"the ledger already spends more than delta = {delta:g}")
    return Approximate(max(min(candidates), 1e-12), delta)


def _by_zcdp(ledger: Ledger, delta: float) -> float:
    """epsilon at delta through the sum of the rhos, leaks set aside."""
    rho = ZeroConcentrated(sum(entry.count * _rho_of_core(entry) for entry in ledger))
    return rho.to_approximate(delta).epsilon


def _composed(ledger: Ledger) -> PrivacyLossDistribution:
    """The privacy-loss distribution of the ledger, leaks set aside.

    An epsilon-DP call is dominated by binary randomised response.
    """
    step = _grid_step(ledger)
    whole = privacy_loss_distribution.identity(value_discretization_interval=step)
    for entry in ledger:
        whole = whole.compose(_distribution(entry, step).self_compose(entry.count))
    return whole


def _grid_step(ledger: Ledger) -> float:
    """The step of the grid of losses.

    Losses are rounded upwards, so it must be small against the smallest call or the rounding itself
    would be charged; and no call or sum of calls may have too many points. Of a call that spans
    `WIDEST_CALL` points rounding costs one, which is next to nothing of its loss.
    """
    losses = [_loss_bound(entry) for entry in ledger]
    step = min(1e-4, min(losses) / 50)
    step = max(step, max(_span(entry) for entry in ledger) / WIDEST_CALL)
    return max(step, sum(e.count * loss for e, loss in zip(ledger, losses, strict=True)) / 1e6)


def _loss_bound(entry: LedgerEntry) -> float:
    gaussian = entry.guarantee(Gaussian)
    return gaussian.mu if isinstance(gaussian, Gaussian) else _epsilon_of_core(entry)


def _span(entry: LedgerEntry) -> float:
    """About the largest loss that is not negligible: of N(0, 1) against N(mu, 1), at 8 sigma."""
    gaussian = entry.guarantee(Gaussian)
    if isinstance(gaussian, Gaussian):
        return gaussian.mu * (gaussian.mu / 2 + 8)
    return _epsilon_of_core(entry)


def _distribution(entry: LedgerEntry, step: float) -> PrivacyLossDistribution:
    gaussian = entry.guarantee(Gaussian)
    if isinstance(gaussian, Gaussian):
        return privacy_loss_distribution.from_gaussian_mechanism(
            1 / gaussian.mu, value_discretization_interval=step
        )
    if _is_laplace(entry):
        return privacy_loss_distribution.from_laplace_mechanism(
            1 / _epsilon(entry), value_discretization_interval=step
        )
    epsilon = _epsilon_of_core(entry)
    # The library's own constructor computes e^epsilon, which overflows at 710.
    response = {math.ceil(loss / step): float(special.expit(loss)) for loss in (epsilon, -epsilon)}
    return PrivacyLossDistribution.create_from_rounded_probability(response, 0.0, step)


def _is_laplace(entry: LedgerEntry) -> bool:
    return entry.mechanism == "laplace" and entry.norm == "l1"


def _has_event(entry: LedgerEntry) -> bool:
    return entry.guarantee(Gaussian) is not None or _has_epsilon(entry)


def _rho_of_core(entry: LedgerEntry) -> float:
    """rho once the leak has been set aside: an epsilon-DP core is (epsilon^2/2)-zCDP."""
    if all(isinstance(g, Approximate) for g in entry.guarantees):
        return _epsilon_of_core(entry) ** 2 / 2
    return _rho(entry)


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
