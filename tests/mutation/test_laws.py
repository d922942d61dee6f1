"""Laws of mechanisms that no other test counts, and the list of planted bugs itself."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

import estimators
from estimators import JohnsonLindenstraussRegression, TwoStageRegression
from estimators.baselines.histogram import stability_threshold
from estimators.core.mechanisms import _first_above
from estimators.core.witness import seen_by
from minimax import Approximate
from tests.mutation.__main__ import NotPlanted, planted
from tests.mutation.planted import MUTANTS
from verify.privacy.whitebox import Recorder

TESTS = Path(__file__).resolve().parents[1]
PACKAGES = Path(estimators.__file__).resolve().parents[1]
"""Where the packages under test lie: the checkout, or what a wheel has installed."""


def test_above_threshold_has_its_law():
    """One count at the threshold, then one far above it: the first is taken with chance 1/2, and
    at a distance of 4/epsilon with that of Laplace(4) noise exceeding Laplace(2) noise by 4."""
    rng, trials = np.random.default_rng(0), 4000
    noise = rng.laplace(scale=4.0, size=10**6) - rng.laplace(scale=2.0, size=10**6)
    chance = float(np.mean(noise >= 4.0))
    counts = np.array([0.0, 1e9])
    taken = sum(_first_above(counts, 4.0, 1.0, rng, "").value == 0 for _ in range(trials))
    assert stats.binomtest(taken, trials, chance).pvalue > 1e-6
    bare = float(np.mean(rng.laplace(scale=4.0, size=10**6) >= 4.0))
    assert stats.binomtest(taken, trials, bare).pvalue < 1e-3


def test_the_smallest_eigenvalue_moves_by_one_record():
    """X'X = 3 I, and the same with one record moved to another axis: 3 becomes 2. With responses
    the last axis is theirs: three records have y = 1 and no row."""
    rows = np.vstack([np.eye(2)] * 3)
    X = np.vstack([rows, np.zeros((3, 2))])
    y = np.repeat([0.0, 1.0], [6, 3])
    moved = X.copy()
    moved[0] = [0.0, 1.0]
    found = []
    for data in (X, moved):
        seen = Recorder()
        with seen_by(seen):
            made = JohnsonLindenstraussRegression(Approximate(1.0, 1e-6), random_state=0)
            made.fit(data, y)
        found.append(float(seen.calls[0].before))
    assert found[0] - found[1] == pytest.approx(1.0)


@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.4])
def test_a_lone_bin_passes_with_chance_delta(delta):
    """One record alone in a bin, whose count has noise of scale 2/epsilon."""
    for epsilon in (0.1, 1.0, 5.0):
        threshold = stability_threshold(Approximate(epsilon, delta))
        assert stats.laplace.sf(threshold - 1, scale=2 / epsilon) == pytest.approx(delta)


def test_objective_perturbation_is_random_where_selection_is_not():
    """All features are selected: what is left to differ between two fits is the linear term."""
    rng = np.random.default_rng(1)
    X = rng.uniform(-1, 1, (30, 2))
    y = X @ [0.5, -0.5]
    for loss in ("squared", "logistic"):
        made = TwoStageRegression(Approximate(1.0, 1e-6), s=2, loss=loss)
        labels = y if loss == "squared" else (y > 0).astype(float)
        first, second = (clone(made).fit(X, labels).coef_ for _ in range(2))
        assert np.all(first != second)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_bug_can_be_planted(mutant):
    source = (PACKAGES / mutant.path).read_text(encoding="utf-8")
    changed = planted(source, mutant)
    assert changed != source
    compile(changed, mutant.path, "exec")
    assert all((TESTS.parent / test).exists() for test in mutant.tests if test.startswith("tests/"))


def test_there_are_enough_bugs_and_none_twice():
    assert len(MUTANTS) >= 40
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)


def test_what_stands_twice_or_nowhere_is_refused():
    with pytest.raises(NotPlanted, match="2 times"):
        planted(2 * MUTANTS[0].right, MUTANTS[0])
    with pytest.raises(NotPlanted, match="0 times"):
        planted("", MUTANTS[0])
