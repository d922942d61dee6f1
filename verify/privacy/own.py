"""Mechanisms of one's own, named on the command line as MODULE:NAME."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from minimax.core.loading import CannotLoad, load_object
from minimax.core.privacy import Privacy
from verify.privacy.cases import Case

OWN = "your own"


def load_cases(named: str, claim: Privacy | None, options: dict[str, Any]) -> list[Case]:
    """What MODULE:NAME names: a `Case`, a list of them, or a mechanism whose claim is given."""
    found = load_object(named)
    if isinstance(found, Case):
        return [found]
    if isinstance(found, type):
        raise CannotLoad(f"{named} is a class: name an object of it, such as {found.__name__}()")
    if isinstance(found, Iterable) and not isinstance(found, (str, bytes, dict)):
        cases = list(found)
        for k, each in enumerate(cases):
            if not isinstance(each, Case):
                raise CannotLoad(f"{named}[{k}] is {each!r}, not a Case")
        if not cases:
            raise CannotLoad(f"{named} is empty: nothing would be audited")
        return cases
    claim = claim or _own_claim(found)
    if claim is None:
        raise CannotLoad(
            f"{named} needs a claim: give --epsilon [--delta or --alpha], --rho or --mu, or a Case"
        )
    return [Case(named.partition(":")[2], found, claim, None, options, group=OWN)]


def _own_claim(mechanism: Any) -> Privacy | None:
    """What an estimator with a parameter `privacy` says of itself."""
    given = getattr(mechanism, "privacy", None)
    return given if isinstance(given, Privacy) and hasattr(mechanism, "fit") else None
