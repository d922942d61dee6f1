"""What an estimator may spend: given, the default, or drawn from a budget that others share.

The numbers of a privacy object are parameters too: `get_params` shows ``privacy__epsilon``, and
`set_params`, hence a grid search, replaces the object, which never changes, by one with others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import wraps
from typing import Any, ClassVar, Self, TypeAlias

from sklearn.base import BaseEstimator

from estimators.core.accounting import Ledger
from estimators.core.budget import Budget, Drawing, Share
from minimax.core.privacy import Approximate, Pure, Scope, SpendablePrivacy, check_privacy

GivenPrivacy: TypeAlias = SpendablePrivacy | Share | None
"""What `privacy` of an estimator may be; None is the default budget."""
DEFAULT_PRIVACY: dict[Scope, SpendablePrivacy] = {
    "central": Approximate(epsilon=1.0, delta=1e-6),
    "local": Pure(epsilon=1.0, scope="local"),
    "label": Pure(epsilon=1.0, scope="label"),
}
"""The budget of an estimator made with ``privacy=None``."""
REPORTED = {"epsilon", "rho", "mu"}
SMALLEST_REPORTED = 1e-12
"""Least budget of one report: reports of less are longer than their squares can be computed."""
NUMBER = "privacy__"
_DRAWINGS: ContextVar[tuple[tuple[object, Drawing], ...]] = ContextVar("drawings", default=())
"""The estimators that this thread is fitting with a share of a budget, and what they draw."""


class SpendsPrivacy(BaseEstimator):
    """An estimator with a parameter `privacy`: None, a privacy object, or a share of a `Budget`."""

    privacy: GivenPrivacy
    scope: ClassVar[Scope] = "central"
    """Who is trusted with the data: the budget must be of this scope."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        fit = getattr(cls, "fit", None)
        if fit is not None and not hasattr(fit, "_draws"):
            cls.fit = _drawing(fit)

    def _budget(self, *allowed: type[SpendablePrivacy]) -> SpendablePrivacy:
        """The privacy parameter, checked to be of a kind this estimator can spend.

        In a fit with a share of a budget, what is handed out, which is set aside at the first call.
        """
        budget = self._handed(allowed) if isinstance(self.privacy, Share) else self._asked
        check_privacy(budget)
        if not isinstance(budget, allowed):
            kinds = ", ".join(kind.__name__ for kind in allowed)
            raise TypeError(f"privacy must be one of {kinds}; got {budget!r}")
        if budget.scope != self.scope:
            raise ValueError(f"privacy.scope must be {self.scope!r}, got {budget.scope!r}")
        for name in REPORTED & set(budget.parameters) if self.scope in ("local", "label") else ():
            if budget.parameters[name] < SMALLEST_REPORTED:
                raise ValueError(
                    f"privacy.{name} must be at least {SMALLEST_REPORTED:g} for one report, got"
                    f" {budget.parameters[name]!r}"
                )
        return budget

    @property
    def _asked(self) -> SpendablePrivacy:
        """The budget given, or the default one; of a share, what the fit was handed."""
        if isinstance(self.privacy, Share):
            drawing = current_drawing(self)
            drawn = None if drawing is None else drawing.handed
            return self.privacy.worth() if drawn is None else drawn
        if isinstance(self.privacy, Budget):
            raise TypeError("privacy is a Budget: give a share of it, as in budget.share(0.5)")
        return DEFAULT_PRIVACY[self.scope] if self.privacy is None else self.privacy

    def _handed(self, allowed: tuple[type[SpendablePrivacy], ...]) -> SpendablePrivacy:
        """What a share is worth to this estimator."""
        assert isinstance(self.privacy, Share)
        kinds = tuple(kind for kind in allowed if self._can_draw(kind)) or allowed
        drawing = current_drawing(self)
        return self.privacy.worth(*kinds) if drawing is None else drawing.hand(*kinds)

    def _can_draw(self, kind: type[SpendablePrivacy]) -> bool:
        """Whether the options leave it to spend this kind, one of those that it can in general."""
        return True

    def _enter(self, ledger: Ledger) -> None:
        """Enter the ledger in the budget that is drawn from, if there is one.

        Before anything is released: it raises if the ledger is more than was handed.
        """
        drawing = current_drawing(self)
        if drawing is not None:
            drawing.enter(ledger)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters and, if `deep`, the numbers of `privacy`, as ``privacy__epsilon``."""
        found: dict[str, Any] = super().get_params(deep)
        stated = self._stated(self.privacy)
        if deep and isinstance(stated, SpendablePrivacy):
            found |= {NUMBER + name: number for name, number in stated.parameters.items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``privacy__epsilon=2`` replaces `privacy` by one with this number."""
        numbers = {
            name.removeprefix(NUMBER): value
            for name, value in params.items()
            if name.startswith(NUMBER)
        }
        others = {name: value for name, value in params.items() if not name.startswith(NUMBER)}
        if numbers:
            stated = self._stated(others.get("privacy", self.privacy))
            others["privacy"] = renumbered(stated, numbers)
        super().set_params(**others)
        return self

    def _stated(self, privacy: object) -> object:
        """The privacy object whose numbers are shown: the default one for None."""
        return DEFAULT_PRIVACY[self.scope] if privacy is None else privacy


def renumbered(privacy: object, numbers: dict[str, Any]) -> SpendablePrivacy:
    """A privacy object like this one, with other numbers; an error as scikit-learn's if it has none
    of these names."""
    if isinstance(privacy, Share):
        raise ValueError(
            f"privacy is {privacy!r}, which has no numbers of its own, so no"
            f" {', '.join(NUMBER + name for name in numbers)}: give another share, as in"
            " privacy=budget.share(0.5)"
        )
    valid = [*privacy.parameters] if isinstance(privacy, SpendablePrivacy) else []
    for name in numbers:
        if name not in valid:
            raise ValueError(
                f"Invalid parameter {name!r} for estimator {privacy!r}. "
                f"Valid parameters are: {valid!r}."
            )
    assert isinstance(privacy, SpendablePrivacy)
    return replace(privacy, **numbers)


# --- A fit that draws -----------------------------------------------------------------------------


def current_drawing(estimator: object) -> Drawing | None:
    """What this thread's fit of the estimator draws from a budget, if it does."""
    found = (drawing for drawer, drawing in _DRAWINGS.get() if drawer is estimator)
    return next(found, None)


@contextmanager
def _draws_for(estimator: object, drawing: Drawing) -> Iterator[None]:
    token = _DRAWINGS.set(((estimator, drawing), *_DRAWINGS.get()))
    try:
        yield
    finally:
        _DRAWINGS.reset(token)


@contextmanager
def on_behalf_of(estimator: object, other: object) -> Iterator[None]:
    """Let another estimator spend what the fit of this one draws, and enter its ledger."""
    drawing = current_drawing(estimator)
    if drawing is None:
        yield
        return
    with _draws_for(other, drawing):
        yield


def _drawing(fit: Callable[..., Any]) -> Callable[..., Any]:
    """The same fit, which draws if `privacy` is a share and gives back what it did not enter."""

    @wraps(fit)
    def fitted(self: Any, *data: Any, **options: Any) -> Any:
        privacy = getattr(self, "privacy", None)
        if not isinstance(privacy, Share) or current_drawing(self) is not None:
            return fit(self, *data, **options)
        with privacy.drawing(type(self).__name__) as drawing, _draws_for(self, drawing):
            return fit(self, *data, **options)

    fitted._draws = True  # type: ignore[attr-defined]
    return fitted
