"""A mechanism of which it is known whether it keeps its claim: what the auditor is tried on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from minimax.core.privacy import Privacy

Mechanism = Callable[..., Any]


@dataclass(frozen=True)
class Control:
    """A mechanism, what it claims, and whether that is true."""

    name: str
    mechanism: Any
    claim: Privacy
    keeps: bool
    options: dict[str, Any]
    """What `audit` is told of its data."""
    about: str
    """Why it keeps the claim, or what is wrong."""


@dataclass
class Catalogue:
    """The controls of one module, in the order in which they stand there."""

    controls: list[Control] = field(default_factory=list)

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
            self.controls.append(Control(name, made, claim, keeps, options, about))
            return mechanism

        return enter
