"""The least proven risk of a problem: an estimator and its keyword arguments, or releasing 0."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from minimax.core.bound import Setting, UpperBound

VACUOUS = "every bound here is vacuous at this n"
"""Why nothing better is named."""
WORTHWHILE = 0.999
"""The part of the risk of releasing 0 that a bound must promise: a step of next to no length gains
next to nothing at any n."""


@dataclass(frozen=True)
class Best:
    """The least proven risk, and what has it."""

    risk: float
    estimator: str = ""
    """The name in `estimators`, or nothing if that is releasing 0."""
    settings: Mapping[str, Setting] = field(default_factory=dict)
    """Its keyword arguments."""
    note: str = ""
    """What else there is to say."""
    bound: UpperBound | None = field(default=None, compare=False, repr=False)
    """What proves the risk, unless that is releasing 0."""

    @classmethod
    def of(cls, bound: UpperBound, note: str = "") -> Best:
        """The risk that a bound proves at its own point."""
        return cls(bound.value(), bound.estimator, bound.keywords(), note, bound)

    def or_zero(self, risk: float, why: str) -> Best:
        """This, if its risk is smaller than that of releasing 0 by more than a thousandth."""
        return self if self.risk < WORTHWHILE * risk else Best(risk, note=why)

    @property
    def releases_zero(self) -> bool:
        return not self.estimator

    def __str__(self) -> str:
        """The estimator with its keyword arguments, as the calculator prints it: a sentence, or,
        before a note, a call."""
        name = self.estimator or "releasing 0"
        shown = [(key, _shown(value)) for key, value in self.settings.items()]
        if not self.note:
            return f"{name} with {', '.join(f'{key} = {value}' for key, value in shown)}"
        call = f"({', '.join(f'{key}={value}' for key, value in shown)})" if shown else ""
        return f"{name}{call}: {self.note}"


def _shown(value: Setting) -> str:
    """A setting with all of its digits; 1/sqrt(k) by that name."""
    if not isinstance(value, float):
        return repr(value)
    short = f"{value:.8g}"
    if float(short) == value:
        return short
    root = round(1 / value**2) if 1e-10 < value < 1 else 0
    return f"1/sqrt({root})" if root and value == 1 / root**0.5 else repr(value)


def with_remark(bound: UpperBound) -> UpperBound:
    """The bound, with a remark if it is vacuous at the point it was made for."""
    if bound.zero_release_risk is None or min(bound.defaults.values()) <= 0:
        return bound  # on the edge of the domain nothing is proved
    if bound.broken() or not bound.is_vacuous():
        return bound
    risk = bound.zero_release_risk(bound.defaults)
    remark = f"vacuous here: releasing 0 without data has risk at most {risk:.4g}"
    return replace(bound, remark=remark)
