"""Guarantees as amounts that add up, and what one draw from a budget was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

from estimators.core.accounting import SMALLEST_EPSILON, Ledger, LedgerEntry, compose
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Pure,
    SpendablePrivacy,
    ZeroConcentrated,
    at_point,
)

Kind = type[SpendablePrivacy]
Fractions = tuple[float, ...]
"""Of each of the numbers that add up, how much of the whole budget's."""
KINDS: tuple[Kind, ...] = get_args(SpendablePrivacy)
ALTERNATIVES: tuple[Kind, ...] = (Gaussian, ZeroConcentrated, Approximate)
"""The definitions in which an (epsilon, delta) budget may be kept, the one worth most first."""


@dataclass(frozen=True)
class Draw:
    """What one fit or one score drew from a budget."""

    by: str
    """The estimator."""
    granted: SpendablePrivacy
    """In the definition in which the budget is kept."""
    fractions: Fractions
    ledger: Ledger

    @property
    def share(self) -> float:
        """How much of the budget it was: of epsilon or of delta, whichever is more."""
        return max(self.fractions)

    @property
    def released(self) -> str:
        """What the mechanism calls were for."""
        return "; ".join(dict.fromkeys(entry.about or entry.mechanism for entry in self.ledger))

    @property
    def calls(self) -> Ledger:
        """The ledger, as every record may have taken part in it.

        Parts of the records that are disjoint in one draw need not be disjoint from those of
        another: a draw with parts is one call with the guarantee of the whole.
        """
        if not any(entry.part for entry in self.ledger):
            return self.ledger
        return (LedgerEntry(self.by, 1.0, "", 1.0, (composed(self.ledger, self.granted),)),)


def additive(privacy: SpendablePrivacy) -> tuple[float, ...]:
    """The numbers that add up: epsilon, epsilon and delta, rho, or mu^2."""
    power = 2 if isinstance(privacy, Gaussian) else 1
    return tuple(number**power for number in privacy.parameters.values())


def part_of(whole: SpendablePrivacy, fractions: Fractions) -> SpendablePrivacy:
    """These fractions of the numbers that add up."""
    power = 0.5 if isinstance(whole, Gaussian) else 1.0
    numbers = zip(whole.parameters.items(), fractions, strict=True)
    return with_numbers(whole, {name: value * part**power for (name, value), part in numbers})


def with_numbers(privacy: SpendablePrivacy, numbers: dict[str, float]) -> SpendablePrivacy:
    """The same definition, of the same scope, with other numbers."""
    found: SpendablePrivacy = at_point(type(privacy), numbers, privacy.scope)
    return found


def in_terms_of(privacy: SpendablePrivacy, kind: Kind) -> SpendablePrivacy:
    """The same in another definition: the largest that is within it."""
    if isinstance(privacy, kind):
        return privacy
    assert isinstance(privacy, Approximate)
    return privacy.to_gaussian() if kind is Gaussian else privacy.to_zcdp()


def as_approximate(granted: SpendablePrivacy, delta: float) -> Approximate:
    """The (epsilon, delta) that it implies; delta is halved until some epsilon is needed."""
    assert not isinstance(granted, Approximate)
    found = granted.to_approximate(delta)
    while found.epsilon <= SMALLEST_EPSILON:
        delta /= 2
        found = granted.to_approximate(delta)
    return found


def spendable(granted: SpendablePrivacy, kinds: tuple[Kind, ...]) -> SpendablePrivacy | None:
    """What is granted as one of the kinds that can be spent; None if it is none of them.

    epsilon-DP is within (epsilon, delta)-DP.
    """
    if isinstance(granted, kinds):
        return granted
    if isinstance(granted, Approximate) and Pure in kinds:
        return Pure(granted.epsilon, granted.scope)
    return None


def composed(ledger: Ledger, like: SpendablePrivacy, slack: float = 0.0) -> SpendablePrivacy:
    """What the ledger composes to, in the definition of another guarantee, and at its delta, or at
    one that is larger by a share of it: parts of delta may miss it by a last digit."""
    delta = like.delta * (1 + slack) if isinstance(like, Approximate) else None
    return compose(ledger, type(like), delta)
