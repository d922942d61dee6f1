"""Sensitivity of the baselines, with adversarial neighbours and outliers of any size.

Each property is paired with a witness that reaches the constant, or comes near it, and with a
control, the same check without the clip, that must fail.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from estimators.baselines import frank_wolfe
from estimators.baselines import regression as baselines
from estimators.baselines import sparse_regression as sparse_baselines
from estimators.baselines.frank_wolfe import FrankWolfeMean
from estimators.baselines.regression import (
    AdaptiveSufficientStatistics,
    JohnsonLindenstraussRegression,
    joint_gram,
)
from estimators.baselines.sparse_regression import PrivateFrankWolfe, TwoStageRegression
from estimators.baselines.statistics import clipped_statistics, joint_weight, least_eigenvalue
from estimators.core.design import Design
from estimators.core.mechanisms import Release, gumbel_top_k
from estimators.core.symmetric import flat
from minimax.core.privacy import Approximate, Pure, ZeroConcentrated
from tests.effort import part
from tests.strategies import Data, neighbouring_rows, neighbours

ROUNDING = 1e-11
values = st.one_of(
    st.floats(-3, 3), st.floats(-1e300, 1e300), st.sampled_from([0.0, 1.0, -1.0, 1e6, -1e6])
)
levels = st.sampled_from([0.25, 1.0, 7.0])
reproducible = settings(deadline=None, derandomize=True, max_examples=part(30, of=100))
slower = settings(deadline=None, derandomize=True, max_examples=part(15, of=40))


def bounded(data: Data) -> Data:
    """As `fit` has them: entries of at most 1e100."""
    return np.clip(data[0], -1e100, 1e100), np.clip(data[1], -1e100, 1e100)


# --- AdaSSP


def statistics_moves(pair: tuple[Data, Data], bound: float, R: float) -> list[float]:
    """How far the three released statistics move, and the joint one."""
    here, there = (clipped_statistics(*bounded(data), bound, R) for data in pair)
    matrix = float(np.linalg.norm(flat(here.gram) - flat(there.gram)))
    vector = float(np.linalg.norm(here.correlation - there.correlation))
    weight = joint_weight(pair[0][0].shape[1], bound, R)
    least = abs(float(least_eigenvalue(here.gram) - least_eigenvalue(there.gram)))
    return [least, matrix, vector, math.hypot(matrix, weight * vector)]


def ledger_sensitivities(data: Data, bound: float, R: float) -> list[float]:
    fitted = AdaptiveSufficientStatistics(ZeroConcentrated(1.0), bound, R, random_state=0)
    three = clone(fitted).set_params(release="three").fit(*data).ledger_
    return [entry.sensitivity for entry in (*three, *fitted.fit(*data).ledger_)]


@reproducible
@given(neighbours(values), levels, levels)
def test_statistics_move_no_more_than_the_ledger_says(
    pair: tuple[Data, Data], bound: float, R: float
) -> None:
    allowed = ledger_sensitivities(pair[0], bound, R)
    for move, most in zip(statistics_moves(pair, bound, R), allowed, strict=True):
        assert move <= most * (1 + ROUNDING) + ROUNDING * len(pair[0][1]) * bound * (bound + R)


def test_statistics_reach_their_sensitivities() -> None:
    big = np.array([[9.0, 0.0], [0.0, 9.0]]), np.array([9.0, 9.0])
    turned = np.array([[0.0, 9.0], [0.0, 9.0]]), np.array([9.0, 9.0])
    flipped = big[0], np.array([-9.0, 9.0])
    allowed = ledger_sensitivities(big, 2.0, 3.0)
    assert statistics_moves((big, turned), 2.0, 3.0)[:2] == pytest.approx(allowed[:2])
    assert statistics_moves((big, flipped), 2.0, 3.0)[2] == pytest.approx(allowed[2])
    # The joint one at an angle with cosine k^2/2 and responses of opposite sign.
    cosine = (joint_weight(2, 2.0, 3.0) * 3.0 / 2.0) ** 2 / 2
    angled = np.array([[cosine, math.sqrt(1 - cosine**2)], [0.0, 1.0]]) * 9, np.array([-9.0, 9.0])
    assert statistics_moves((big, angled), 2.0, 3.0)[3] == pytest.approx(allowed[3])


def test_without_the_clip_statistics_move_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = (np.eye(2), np.ones(2)), (np.array([[0.0, 5.0], [0.0, 1.0]]), np.ones(2))
    monkeypatch.setattr(Design, "shortening", lambda self, bound: np.ones(self.n))
    moves = statistics_moves(pair, 1.0, 1.0)
    allowed = ledger_sensitivities(pair[0], 1.0, 1.0)
    assert moves[1] > allowed[1] * 2
    assert moves[2] > allowed[2] * 2
    assert moves[3] > allowed[3] * 2


# --- Johnson-Lindenstrauss: the claim rests on records of norm B and on a 1-Lipschitz distance


@reproducible
@given(neighbours(values), levels)
def test_projection_tests_a_lipschitz_distance(pair: tuple[Data, Data], bound: float) -> None:
    here, there = (joint_gram(*bounded(data), bound) for data in pair)
    assert np.trace(here) <= len(pair[0][1]) * bound**2 * (1 + ROUNDING)
    move = abs(float(least_eigenvalue(here) - least_eigenvalue(there)))
    assert move <= bound**2 * (1 + ROUNDING)
    # Relative to each other, once w^2 = g B^2 is added: eigenvalues in [g/(g+1), (g+1)/g].
    for level in (0.5, 20.0):
        ridge = level * bound**2 * np.eye(len(here))
        root = np.linalg.inv(np.linalg.cholesky(here + ridge))
        relative = np.linalg.eigvalsh(root @ (there + ridge) @ root.T)
        assert relative.min() >= level / (level + 1) * (1 - 1e-9)
        assert relative.max() <= (level + 1) / level * (1 + 1e-9)


def test_the_test_of_the_projection_sees_that_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[float] = []
    original = baselines.propose_test_release

    def recording(distance: float, **rest: Any) -> Release[bool]:
        seen.append(distance)
        return original(distance, **rest)

    monkeypatch.setattr(baselines, "propose_test_release", recording)
    X, y = np.array([[9.0], [0.0], [0.0]]), np.array([0.0, 9.0, 0.0])
    other = np.array([[0.0], [0.0], [0.0]]), y
    model = JohnsonLindenstraussRegression(Approximate(1, 1e-6), 2.0, random_state=0)
    model.fit(X, y)
    model.fit(*other)
    assert seen[0] - seen[1] == pytest.approx(1.0)  # from 4 to 0, in units of B^2 = 4
    monkeypatch.setattr(
        Design, "norms", property(lambda self: np.zeros(self.n))
    )  # control: no clip
    grams = [joint_gram(x, y, 2.0) for x in (X, np.array([[-1e6], [0.0], [0.0]]))]
    assert np.linalg.norm(grams[0] - grams[1], 2) > 4 * 2


# --- Frank-Wolfe: scores along a path of vertices that does not depend on the data

PATH = [0, 3, 3, 1, 2, 0]


def scores_on_the_path(model: Any, *data: np.ndarray) -> tuple[np.ndarray, float]:
    """The scores of every step, and the sensitivity on the ledger."""
    seen: list[np.ndarray] = []
    original = frank_wolfe.exponential_mechanism

    def recording(scores: np.ndarray, **rest: Any) -> Release[int]:
        seen.append(scores.copy())
        return Release(PATH[len(seen) - 1] % len(scores), original(scores, **rest).entry)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frank_wolfe, "exponential_mechanism", recording)
        fitted = model.set_params(steps=len(PATH), random_state=0).fit(*data)
    return np.array(seen), fitted.ledger_[0].sensitivity


def path_scores(data: Data, loss: Any, bound: float, R: float) -> tuple[np.ndarray, float]:
    return scores_on_the_path(PrivateFrankWolfe(Pure(1.0), loss, 2.0, bound, R), *data)


@slower
@given(neighbours(values), levels, levels, st.booleans())
def test_vertex_scores_move_no_more_than_the_ledger_says(
    pair: tuple[Data, Data], bound: float, R: float, logistic: bool
) -> None:
    if logistic:
        pair = tuple((X, np.clip(y, 0, 1)) for X, y in pair)  # type: ignore[assignment]
    loss = "logistic" if logistic else "squared"
    here, allowed = path_scores(pair[0], loss, bound, R)
    there, _ = path_scores(pair[1], loss, bound, R)
    assert np.abs(here - there).max() <= allowed * (1 + ROUNDING)


def test_vertex_scores_reach_their_sensitivity_and_need_the_clip() -> None:
    X = np.array([[9.0], [-9.0]])
    # Prediction 2/3 of K c after the first step: nearly all of 2 K c (R + K c)/n from R = 7 on.
    y, other = np.array([-99.0, 0.0]), np.array([99.0, 0.0])
    here, allowed = path_scores((X, y), "squared", 1.0, 700.0)
    there, _ = path_scores((X, other), "squared", 1.0, 700.0)
    assert np.abs(here - there).max() < 0.2 * allowed
    y, other = 100 * y, 100 * other
    here, allowed = path_scores((X, y), "squared", 1.0, 700.0)
    there, _ = path_scores((X, other), "squared", 1.0, 700.0)
    assert 0.99 * allowed < np.abs(here - there).max() <= allowed
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sparse_baselines, "clipped_entries", lambda X, bound: X)
        here, allowed = path_scores((X, y), "squared", 1.0, 700.0)
        there, _ = path_scores((X, other), "squared", 1.0, 700.0)
    assert np.abs(here - there).max() > 2 * allowed


def mean_moves(pair: tuple[np.ndarray, np.ndarray], R: float, K: float) -> tuple[float, float]:
    """How far the scores of a mean move along the path, and how far the ledger says they can."""
    model = FrankWolfeMean(Pure(1.0), l1_radius=K, R=R)
    (here, allowed), (there, _) = (scores_on_the_path(model, X) for X in pair)
    return float(np.abs(here - there).max()), allowed


@slower
@given(neighbouring_rows(values, columns=(1, 4)), levels, levels)
def test_scores_of_a_mean_move_no_more_than_the_ledger_says(
    pair: tuple[np.ndarray, np.ndarray], R: float, K: float
) -> None:
    move, allowed = mean_moves(pair, R, K)
    assert move <= allowed + ROUNDING * K * (K + R)
    assert allowed == pytest.approx(2 * R * K / len(pair[0]))


def test_scores_of_a_mean_reach_their_sensitivity_and_need_the_clip() -> None:
    X = np.array([[9.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    pair = X, np.vstack([[-9.0, 0.0], X[1:]])
    move, allowed = mean_moves(pair, 1.0, 3.0)
    assert move == pytest.approx(allowed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frank_wolfe, "clipped_sum", lambda X, low, high: X.sum(axis=0))
        move, allowed = mean_moves(pair, 1.0, 3.0)
    assert move == pytest.approx(9 * allowed)


# --- two stages


class Seen:
    """What the two stages get to see, with a support that does not depend on the data."""

    def __init__(self, data: Data, bound: float, R: float, loss: str = "squared") -> None:
        self.votes = np.zeros(0)
        self.Z, self.y = np.zeros((0, 0)), np.zeros(0)

        def choosing(votes: np.ndarray, k: int, **rest: Any) -> Release[Any]:
            self.votes, self.sensitivity = votes.copy(), rest["sensitivity"]
            return Release(np.arange(k), gumbel_top_k(votes, k, **rest).entry)

        def solving(Z: np.ndarray, y: np.ndarray, ridge: float, linear: Any, *_: Any) -> np.ndarray:
            self.Z, self.y, self.ridge = Z, y, ridge
            return np.zeros(Z.shape[1])

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sparse_baselines, "gumbel_top_k", choosing)
            patch.setattr(sparse_baselines, "ball_least_squares", solving)
            patch.setattr(sparse_baselines, "logistic_minimum", solving)
            self.fitted = TwoStageRegression(
                Pure(1.0),
                min(2, data[0].shape[1]),
                loss,
                bound,
                R,
                0.7,
                blocks=2,
                random_state=0,  # type: ignore[arg-type]
            ).fit(*data)

    def gradient(self, coef: np.ndarray) -> np.ndarray:
        return np.asarray(self.Z.T @ (self.Z @ coef - self.y))

    def log_determinant(self) -> float:
        gram = self.Z.T @ self.Z
        return float(np.linalg.slogdet(gram + self.ridge * np.eye(len(gram)))[1])


def in_ball(s: int, radius: float) -> list[np.ndarray]:
    directions = np.random.default_rng(0).standard_normal((6, s))
    directions[0] = 0
    norms = np.maximum(np.linalg.norm(directions, axis=1), 1e-9)
    return list(radius * directions / norms[:, None])


@slower
@given(neighbours(values, records=(2, 8)), levels, levels)
def test_votes_gradients_and_hessians_move_no_more_than_the_ledger_says(
    pair: tuple[Data, Data], bound: float, R: float
) -> None:
    here, there = (Seen(data, bound, R) for data in pair)
    assert here.sensitivity == 1.0
    assert np.abs(here.votes - there.votes).max() <= 1
    chosen, noise = here.fitted.ledger_
    assert chosen.sensitivity == 1.0
    for coef in in_ball(here.Z.shape[1], 0.7):
        move = np.linalg.norm(here.gradient(coef) - there.gradient(coef))
        assert move <= noise.sensitivity * (1 + ROUNDING)
    # Half of the second stage's epsilon is for the ratio of the determinants.
    assert abs(here.log_determinant() - there.log_determinant()) <= 0.5 / 2 * (1 + 1e-9)


def test_two_stages_reach_the_bounds_and_need_the_clip() -> None:
    y, other = np.array([1e6, 0.0]), np.array([-1e6, 0.0])
    X, empty = np.array([[1e6, 0.0], [0.0, 0.0]]), np.zeros((2, 2))
    far, near = Seen((X, y), 1.0, 50.0), Seen((X, other), 1.0, 50.0)
    most = far.fitted.ledger_[1].sensitivity
    moved = np.linalg.norm(far.gradient(np.zeros(2)) - near.gradient(np.zeros(2)))
    assert 0.98 * most < moved <= most
    ratio = far.log_determinant() - Seen((empty, y), 1.0, 50.0).log_determinant()
    assert ratio == pytest.approx(0.25)
    assert np.abs(far.votes - Seen((empty, y), 1.0, 50.0).votes).max() == 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Design, "shortening", lambda self, bound: np.ones(self.n))
        far, near = Seen((X, y), 1.0, 50.0), Seen((X, other), 1.0, 50.0)
    moved = np.linalg.norm(far.gradient(np.zeros(2)) - near.gradient(np.zeros(2)))
    assert moved > 2 * most
    assert far.log_determinant() - Seen((empty, y), 1.0, 50.0).log_determinant() > 0.26


def test_logistic_stage_counts_on_slopes_of_at_most_one() -> None:
    X, y = np.array([[1e6, 0.0], [0.0, 1.0]]), np.array([1.0, 0.0])
    seen = Seen((X, y), 3.0, 1.0, "logistic")
    assert seen.fitted.ledger_[1].sensitivity == pytest.approx(2 * 3.0)
    assert np.linalg.norm(seen.Z, axis=1).max() == pytest.approx(3.0)
    assert seen.ridge == pytest.approx(9 / 4 / math.expm1(0.25))
