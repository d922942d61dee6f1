"""Data that no regressor may accept, budgets at the edge, and noise that is really drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import estimators
from estimators.accounting import LedgerEntry, total
from estimators.baselines import AdaptiveSufficientStatistics
from minimax.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

NAMES = [
    "NoisyGradientRegression",
    "PrivateHardThresholding",
    "NoisyHardThresholding",
    "AdaptiveSufficientStatistics",
    "JohnsonLindenstraussRegression",
    "PrivateFrankWolfe",
    "TwoStageRegression",
    "LabelHardThresholding",
    "LabelLasso",
    "LeastSquares",
    "IterativeHardThresholding",
    "LocalHardThresholding",
    "OneShotThreshold",
    "SequentialHalving",
]
X = np.random.default_rng(0).uniform(-0.5, 0.5, (60, 3))
y = X[:, 0].copy()


def released(estimator: Any) -> set[str]:
    ours = {k for k in vars(estimator) if k.endswith("_") and not k.startswith("_")}
    return ours - {"n_features_in_", "feature_names_in_"}


def with_entry(value: Any) -> list[Any]:
    return [*y[:-1], value]


BAD_Y: dict[str, Any] = {
    "missing": with_entry(None),
    "nan": with_entry(math.nan),
    "text nan": np.array(with_entry("nan"), dtype=object),
    "infinite object": np.array(with_entry(math.inf), dtype=object),
    "text overflow": np.array(with_entry("1e400"), dtype=object),
    "complex": list(y + 1j),
    "masked": np.ma.masked_array(y, mask=y > 0.2),
    "short": y[:-1],
    "nothing": None,
}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", BAD_Y)
def test_bad_responses_are_refused_by_name(name: str, kind: str) -> None:
    estimator = getattr(estimators, name)()
    with pytest.raises((TypeError, ValueError), match=r"\by\b|Complex|inconsistent"):
        estimator.fit(X, BAD_Y[kind])
    assert released(estimator) == set()


@pytest.mark.parametrize(
    "name",
    [
        "NoisyGradientRegression",
        "AdaptiveSufficientStatistics",
        "LocalHardThresholding",
        "OneShotThreshold",
        "SequentialHalving",
        "LabelHardThresholding",
        "LabelLasso",
    ],
)
def test_nothing_is_released_when_accounting_fails(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no such guarantee")

    monkeypatch.setattr("estimators.base.total", fails)
    estimator = getattr(estimators, name)(random_state=0)
    with pytest.raises(ValueError, match="no such guarantee"):
        estimator.fit(X, y)
    assert released(estimator) == set()


def test_concentrated_calls_beside_a_leaking_one() -> None:
    """zCDP for the calls that have it, with the delta that is left, plus the other's epsilon."""
    selection = LedgerEntry(
        "exponential", 1.0, "linf", 1.0, (Pure(0.3), ZeroConcentrated(0.3**2 / 8)), 20
    )
    other = LedgerEntry("objective perturbation", 1.0, "l2", 1.0, (Approximate(1.0, 1e-6),))
    together = total((selection, other), Approximate, 2e-6)
    alone = ZeroConcentrated(20 * 0.3**2 / 8).to_approximate(1e-6).epsilon
    assert isinstance(together, Approximate)
    assert together.epsilon == pytest.approx(1.0 + alone, rel=1e-9)
    tighter = total((selection, other), Approximate, 1.5e-6)
    assert isinstance(tighter, Approximate)
    assert tighter.epsilon > together.epsilon


def test_adaptive_statistics_draw_noise_on_the_eigenvalue() -> None:
    """The released eigenvalue varies as the ledger says, where it is not cut at 0."""
    rng = np.random.default_rng(4)
    data = rng.choice([-1.0, 1.0], (4000, 3)) / math.sqrt(3)
    fits = [
        AdaptiveSufficientStatistics(Gaussian(1.0), random_state=i).fit(data, data[:, 0])
        for i in range(400)
    ]
    values = np.array([fit.least_eigenvalue_ for fit in fits])
    scale = fits[0].ledger_[0].scale
    assert values.min() > 0
    assert values.std() == pytest.approx(scale, rel=0.2)
