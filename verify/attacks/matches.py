"""Who is attacked: every private estimator of the toolkit, at budgets of each kind it takes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags

import estimators
from estimators.core.base import PrivateEstimator
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    Scope,
    SpendablePrivacy,
    ZeroConcentrated,
)
from verify.attacks.settings import ATTACKS, Kind, Setting, setting
from verify.privacy.toolkit import PUBLIC, sample

BUDGETS: dict[Scope, tuple[SpendablePrivacy, ...]] = {
    "central": (Approximate(1.0, 1e-6), ZeroConcentrated(0.1), Pure(1.0)),
    "local": (Pure(1.0, "local"), ZeroConcentrated(0.5, "local")),
    "label": (Pure(1.0, "label"), Gaussian(1.0, "label")),
}


@dataclass(frozen=True)
class Match:
    """An attack against an estimator, and what must be found."""

    setting: Setting
    name: str
    """Of the estimator."""
    estimator: Any
    claim: Privacy | None
    """The privacy that limits the scores; None: nothing is claimed."""
    fails: str | None = None
    """Of a control, the check that must fail."""
    attribute: str | None = None
    """Where the estimator keeps its release, if not where its kind does."""

    @property
    def label(self) -> str:
        """Its name in lists and on plots."""
        claimed = "" if self.claim is None else f", {self.claim}"
        return f"{self.setting.name}: {self.name}{claimed}"


def kind_of(estimator: Any) -> Kind:
    """What an estimator estimates, as far as scikit-learn's tags tell; a function: a mean."""
    if not hasattr(estimator, "__sklearn_tags__"):
        return "mean"
    if is_classifier(estimator):
        return "classification"
    return "regression" if get_tags(estimator).target_tags.required else "mean"


def toolkit_estimators() -> dict[str, Any]:
    """The exported private estimators with the public numbers that they ask for, by name."""
    found = {}
    for name in estimators.__all__:
        made = getattr(estimators, name)
        if isinstance(made, type) and issubclass(made, PrivateEstimator):
            labels = {"classes": (0, 1)} if is_classifier(made()) else {}
            found[name] = made(**{**PUBLIC.get(name, {}), **labels})
    return found


def budgets_of(estimator: Any) -> Iterator[tuple[SpendablePrivacy, Any]]:
    """The budgets that it takes, each with a copy that has it."""
    data = sample(estimator, 24)
    for budget in BUDGETS[estimator.scope]:
        made = clone(estimator).set_params(privacy=budget)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                clone(made).fit(*(data if isinstance(data, tuple) else (data,)))
        except (TypeError, ValueError):  # a kind of budget that it does not spend
            continue
        yield budget, made


def toolkit_matches(settings: list[Setting] | None = None) -> list[Match]:
    """Every estimator against every attack that is meant for its kind."""
    known = [setting(name) for name in ATTACKS] if settings is None else settings
    found = []
    for name, estimator in toolkit_estimators().items():
        meant = [
            each
            for each in known
            if each.kind == kind_of(estimator) and each.scope == estimator.scope
        ]
        if meant:
            ready = list(budgets_of(estimator))
            found += [Match(each, name, made, b) for each in meant for b, made in ready]
    order = {each.name: k for k, each in enumerate(known)}
    return sorted(found, key=lambda match: order[match.setting.name])
