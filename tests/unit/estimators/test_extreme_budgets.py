"""Budgets far beyond sense: every estimator fits, or says what is wrong with `privacy`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import estimators
from estimators.core import loss_law
from estimators.core.accounting import LedgerEntry, LossLaw, compose
from estimators.core.base import PrivateEstimator
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

pytestmark = pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning")
X = np.random.default_rng(0).choice([-1.0, 1.0], size=(60, 4))
Y = np.sign(X @ [0.5, 0.3, 0.0, 0.0] + 0.1 * np.random.default_rng(1).normal(size=60))
PRIVATE = [
    name
    for name in estimators.__all__
    if isinstance(getattr(estimators, name), type)
    and issubclass(getattr(estimators, name), PrivateEstimator)
]
OPTIONS: dict[str, dict[str, Any]] = {
    name: {"sigma": 1.0, "radius": 2.0} for name in PRIVATE if name.endswith("Mean")
}
CLIPPED = {"radius": 1.0, "sigma": 1.0}
OPTIONS["ResidualClippedRegression"] = {"row_bound": 2.0, **CLIPPED}
OPTIONS |= {name: {"bounds": (-1.0, 1.0)} for name in ("PrivateClassifier", "PrivateMean")}
OPTIONS["PrivateScaler"] = {"bounds": (-1.0, 1.0)}
OPTIONS["PlannedLogisticRegression"] = {"radius": 1.0, "row_bound": 2.0}
OPTIONS["PlannedRobustRegression"] = {"radius": 1.0, "row_bound": 2.0}
OPTIONS["PrivateRegression"] = {"bounds": (-2, 2), "response_bounds": (-2, 2)}
OPTIONS["SparseResidualClippedRegression"] = {"s": 2, "entry_bound": 1.0, **CLIPPED}


def budgets(size: float, scope: Any) -> list[Any]:
    small = Approximate(size, 1e-30, scope), Approximate(size, 1e-6, scope)
    return [Pure(size, scope), *small, ZeroConcentrated(size, scope), Gaussian(size, scope)]


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("name", PRIVATE)
def test_an_estimator_fits_or_names_privacy(name: str, size: float) -> None:
    kind, fitted = getattr(estimators, name), 0
    for budget in budgets(size, kind.scope):
        estimator = kind(privacy=budget, random_state=0, **OPTIONS.get(name, {}))
        before, refusal = {*vars(estimator), "n_features_in_"}, ""
        try:
            estimator.fit(*((X,) if name.endswith("Mean") else (X, Y)))
        except (TypeError, ValueError) as error:
            refusal = str(error)
        if refusal:
            assert "privacy" in refusal
            assert set(vars(estimator)) <= before
            continue
        fitted += 1
        released = estimator.coef_ if hasattr(estimator, "coef_") else estimator.mean_
        assert np.isfinite(released).all()
        assert type(estimator.privacy_) is type(budget)
        for letter, spent in estimator.privacy_.parameters.items():
            assert spent <= budget.parameters[letter] * (1 + 1e-6)
    assert fitted or (kind.scope == "local" and size > 700)


@pytest.mark.parametrize("size", [5e-324, 1e-300, 1e-200, 1e-30, 1e-12, 1e-11])
@pytest.mark.parametrize(
    "name", [name for name in PRIVATE if getattr(estimators, name).scope in ("local", "label")]
)
def test_the_least_budget_of_a_report(name: str, size: float) -> None:
    """Below it: reports of infinite length, or squares of them."""
    kind = getattr(estimators, name)
    for budget in budgets(size, kind.scope):
        estimator, message = kind(privacy=budget, random_state=0), ""
        try:
            estimator.fit(X, Y)
        except (TypeError, ValueError) as error:
            message = str(error)
        if kind.scope == "local" and not isinstance(budget, (Pure, ZeroConcentrated)):
            assert "privacy must be" in message
        elif size < 1e-12:
            assert "privacy." in message
            assert "must be at least 1e-12" in message
        else:
            assert not message
            assert np.isfinite(estimator.coef_).all()


def test_every_private_estimator_is_tried() -> None:
    assert len(PRIVATE) == 27
    assert not set(OPTIONS) - set(PRIVATE)


@pytest.mark.parametrize("epsilon", [3.0, 30.0, 1e4])
def test_the_grid_of_losses_is_no_coarser_than_the_losses_are_wide(epsilon: float) -> None:
    """Together, a Gaussian call and a response of next to no loss cost what the first costs."""
    mu = Approximate(epsilon, 1e-6).to_gaussian()
    wide = LedgerEntry("gaussian", 1.0, "l2", 1.0, (mu,))
    loss = 1e-3 * epsilon
    narrow = LedgerEntry("response", 1.0, "linf", 1.0, (Pure(loss),))
    spent = compose((wide, narrow), Approximate, 1e-6)
    assert isinstance(spent, Approximate)
    assert epsilon * (1 - 1e-6) < spent.epsilon <= (epsilon + loss) * (1 + 1e-6)


def test_the_time_of_accounting_does_not_grow_with_the_budget(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Values of the loss that are kept, which is what takes time, at epsilon = 1 and 1000."""
    kept, law = [], loss_law.law

    def counted(losses: loss_law.Losses, order: float) -> loss_law.Law:
        found = law(losses, order)
        kept.append(len(found.values))
        return found

    monkeypatch.setattr(loss_law, "law", counted)
    for epsilon in (1.0, 1000.0):
        estimators.PrivateHardThresholding(
            privacy=Approximate(epsilon, 1.25e-6), random_state=0
        ).fit(X, Y)
        noise = Pure(0.1 * epsilon)
        values = LedgerEntry("laplace", 1.0, "l1", 1.0, (noise,), 7, law=LossLaw.LAPLACE)
        rounds = LedgerEntry("noisy max", 1.0, "linf", 1.0, (Pure(0.2 * epsilon),), 7)
        compose((values, rounds), Approximate, 1.25e-6)
    assert len(kept) == 4
    assert max(kept) <= 2**14
