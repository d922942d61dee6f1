"""A mechanism with its claim: what the command audits, and what it must find if that is known."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minimax.core.privacy import Privacy

Mechanism = Callable[..., Any]


@dataclass(frozen=True)
class Case:
    """A mechanism, what it claims, and whether that is true.

    A list of them in a module of one's own can be named on the command line.
    """

    name: str
    mechanism: Any
    claim: Privacy
    keeps: bool | None = None
    """What must be found; None: nobody knows yet."""
    options: dict[str, Any] = field(default_factory=dict)
    """What `audit` is told of its data, and how much of it to draw."""
    about: str = ""
    """Why it keeps the claim, or what is wrong."""
    group: str = "controls"


@dataclass
class Catalogue:
    """The cases of one module, in the order in which they stand there."""

    cases: list[Case] = field(default_factory=list)

    def private(self, claim: Privacy, **options: Any) -> Callable[[Mechanism], Mechanism]:
        """Enter a mechanism that keeps the claim."""
        return self._entered(claim, True, options)

    def broken(self, claim: Privacy, **options: Any) -> Callable[[Mechanism], Mechanism]:
        """Enter a mechanism that does not."""
        return self._entered(claim, False, options)

    def _entered(
        self, claim: Privacy, keeps: bool, options: dict[str, Any]
    ) -> Callable[[Mechanism], Mechanism]:
        def enter(mechanism: Mechanism) -> Mechanism:
            name = mechanism.__name__.replace("_", " ")
            about = (mechanism.__doc__ or "").strip()
            made = mechanism() if isinstance(mechanism, type) else mechanism
            self.cases.append(Case(name, made, claim, keeps, options, about))
            return mechanism

        return enter
