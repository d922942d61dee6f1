"""How tight a lower bound is seen to be: how large an error in it the cells would notice."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from verify.files import JSON

INFLATION = 40.0
"""A lower bound this many times too large should be contradicted by some cell of its claim."""
NOT_TIGHT = "not tight enough to be seen"


@dataclass(frozen=True)
class Tightness:
    """How large an error in a claim's lower bound its cells would notice."""

    claim: str
    noticed_from: float
    """The least factor at which some cell contradicts the inflated bound."""

    @property
    def seen(self) -> bool:
        """Whether a bound inflated by `INFLATION` would be contradicted."""
        return self.noticed_from < INFLATION

    @property
    def reason(self) -> str:
        """What it means, in words."""
        return "an inflated bound is noticed" if self.seen else NOT_TIGHT

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {**asdict(self), "inflated": INFLATION, "seen": self.seen, "reason": self.reason}
