"""Private hard thresholding with s chosen by cross-validation: losses, choice, privacy spent."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from estimators import sparse_descent
from estimators.core.accounting import compose
from estimators.core.tuning import choose_smallest_loss
from estimators.sparse_regression import PrivateHardThresholding
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated

BUDGETS = [Pure(1.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.1)]
Pair = tuple[np.ndarray, np.ndarray]


def sample(n: int) -> Pair:
    """Signs of size 1/2, four coefficients of 1/2 among 40, noise 0.1."""
    rng = np.random.default_rng(0)
    X = rng.choice([-0.5, 0.5], (n, 40))
    return X, X[:, [3, 20, 31, 39]] @ [0.5, -0.5, 0.5, -0.5] + 0.1 * rng.standard_normal(n)


GRID = (1, 2, 4, 16)


def tuned(budget: Any, seed: int = 0, **options: Any) -> PrivateHardThresholding:
    return PrivateHardThresholding(
        budget, s="cv", s_grid=GRID, entry_bound=0.5, sigma=0.1, random_state=seed, **options
    )


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("R", [1.5, "quantile"])
@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_cross_validation_stays_within_the_budget(budget: Any, R: Any, method: Any) -> None:
    fitted = tuned(budget, R=R, method=method, steps=3).fit(*sample(300))
    spent = compose(fitted.ledger_, Pure if isinstance(budget, Pure) else ZeroConcentrated)
    if isinstance(budget, Approximate):
        assert isinstance(spent, ZeroConcentrated)
        assert fitted.privacy_ == spent.to_approximate(budget.delta)
        assert fitted.privacy_.epsilon == pytest.approx(budget.epsilon, rel=1e-9)
    else:
        assert fitted.privacy_ == spent
        assert list(spent.parameters.values()) == pytest.approx(
            list(budget.parameters.values()), rel=1e-12
        )
    lists = [entry for entry in fitted.ledger_ if entry.about.startswith("cross-validation")][:2]
    # K - 1 = 4 descents of 3 steps, 16 rounds each
    assert [e.count for e in lists] == [4 * 3 * 16, 4 * 3 * (16 if method == "peeling" else 1)]
    assert len(fitted.ledger_) == 6 + (R == "quantile")
    assert len(fitted.support_) == fitted.s_


@pytest.mark.parametrize("R", [1.5, "quantile"])
def test_cross_validation_with_the_printed_calibration(R: Any) -> None:
    """The lists are zCDP, the release as printed; what is reported does not depend on s."""
    found = {
        round(
            tuned(Approximate(1.0, 1e-6), seed, R=R, method="peeling", calibration="paper")
            .fit(*sample(100))
            .privacy_.parameters["epsilon"],
            9,
        )
        for seed in range(6)
    }
    assert len(found) == 1
    assert 0.3 < found.pop() < 1


def test_losses_are_those_worked_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[np.ndarray] = []

    def recording(losses: np.ndarray, **named: Any) -> Any:
        seen.append(losses.copy())
        return choose_smallest_loss(losses, **named)

    monkeypatch.setattr(sparse_descent, "choose_smallest_loss", recording)
    X = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, -2.0]])
    y = np.array([1.0, -1.0, 0.5, 9.0])
    PrivateHardThresholding(
        ZeroConcentrated(1e20),
        s="cv",
        s_grid=[2, 1],
        n_folds=2,
        entry_bound=1.0,
        R=2.0,
        radius=10.0,
        step_size=1.0,
        steps=1,
        random_state=0,
    ).fit(X, y)
    # Fold 0 learns from records 1 and 3, clipped: ((-1)(1, 1) + 2 (1, -1))/2 = (0.5, -1.5), so its
    # candidates are (0, -1.5) and (0.5, -1.5). Fold 1 learns from records 0 and 2: (0.5, 0.25).
    expected = [
        0.5**2 - 1.0**2,
        (-1 - 0.75) ** 2 - (-1 - 0.5) ** 2,
        0.0,
        (2 - 0.25) ** 2 - (2 - 0.5) ** 2,
    ]
    assert seen[0].shape == (4, 1)
    assert seen[0][:, 0] == pytest.approx(expected, abs=1e-6)


def chosen(pair: Pair, budget: Any) -> Counter[int]:
    return Counter(tuned(budget, seed).fit(*pair).s_ for seed in range(10))


def test_cross_validation_finds_an_easy_sparsity() -> None:
    easy = sample(8000)
    found = chosen(easy, ZeroConcentrated(5.0))
    assert found[1] == found[2] == 0  # too small would lose a coefficient of 1/2
    assert found[4] >= 8
    noise = np.random.default_rng(0).standard_normal(len(easy[1]))
    assert chosen((easy[0], noise), ZeroConcentrated(5.0))[4] < 8


def test_steps_are_those_of_the_largest_size() -> None:
    """So that they do not depend on what is chosen."""
    X, y = sample(2000)
    found = tuned(ZeroConcentrated(20.0)).fit(X, y)
    options: dict[str, Any] = {"entry_bound": 0.5, "sigma": 0.1, "R": found.R_, "random_state": 0}
    steps = {
        s: PrivateHardThresholding(ZeroConcentrated(10.0), s=s, **options).fit(X, y).n_iter_
        for s in GRID
    }
    assert found.n_iter_ == steps[16] != steps[1]
