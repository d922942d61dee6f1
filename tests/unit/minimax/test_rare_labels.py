"""Labels that say much or nothing: values, priors, and every channel on small alphabets."""

from __future__ import annotations

import itertools
import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import optimize

from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.methods.divergences import log_excess, staircase_columns, staircase_program
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.local_regression.lower import (
    interactive,
    lower_bounds,
    reverse_ratio,
    wx21_theorem_1,
)
from minimax.problems.local_regression.problem import SQUARED, SUM, LocalRegressionProblem
from minimax.problems.local_regression.rare_labels import (
    RareLabelPrior,
    level_ratio,
    seen,
    small_noise_alone,
    small_noise_bounds,
    small_noise_interactive,
)

Array = np.ndarray
SMALL_C = {"n": 100, "p": 20, "C": 0.1, "epsilon": 0.5}
MIDDLE_C = {"n": 1000, "p": 100, "C": 1.0, "epsilon": 0.5}


def test_values_where_two_labels_say_little() -> None:
    """eps = .5: .0024 becomes .957 at C = .1, and .235 becomes .981 at C = 1."""
    two = wx21_theorem_1(sharp=True)
    assert two.value(**SMALL_C) == pytest.approx(0.0024, rel=0.02)
    assert small_noise_alone(Pure, "noise-free").value(**SMALL_C) == pytest.approx(0.957, rel=2e-3)
    assert two.value(**MIDDLE_C) == pytest.approx(0.235, rel=2e-3)
    assert small_noise_alone(Pure, "rare labels").value(**MIDDLE_C) == pytest.approx(
        0.981, rel=2e-3
    )
    for law in ("noise-free", "rare labels"):
        for loss in (SQUARED, SUM):
            found = small_noise_interactive(loss, law).value(**MIDDLE_C)  # type: ignore[arg-type]
            assert found > 1.4 * interactive(Pure, loss, sharp=True).value(**MIDDLE_C)  # type: ignore[arg-type]


def test_for_much_noise_two_labels_say_less() -> None:
    point = {"n": 10**6, "p": 20, "C": 2.0, "epsilon": 0.5}
    two = wx21_theorem_1(sharp=True).value(**point)
    assert small_noise_alone(Pure, "noise-free").value(**point) == 0
    assert 0.6 * two < small_noise_alone(Pure, "rare labels").value(**point) < two


def test_the_calculator_counts_the_larger() -> None:
    for point, name in ((SMALL_C, "noise-free"), (MIDDLE_C, "rare labels")):
        place = {k: v for k, v in point.items() if k != "epsilon"}
        found, by = LocalRegressionProblem.at(place).best_lower(Pure(0.5, scope="local"))
        assert by == f"Donsker-Varadhan: {name}, non-interactive"
        assert found == max(
            bound.value(**point)
            for bound in lower_bounds(Pure)
            if bound.kind == "certified" and bound.loss is SQUARED
        )


@pytest.mark.parametrize(
    ("model", "laws"),
    [(ZeroConcentrated, 2), (OffsetConcentrated, 2), (Gaussian, 2), (Approximate, 0), (Renyi, 1)],
)
def test_which_laws_a_definition_has(model: Any, laws: int) -> None:
    assert len(small_noise_bounds(model)) == laws
    assert small_noise_bounds(model, interaction=True) == []
    assert len(small_noise_bounds(Pure, interaction=True)) == 4


@pytest.mark.parametrize("law", ["noise-free", "rare labels"])
def test_the_prior_lies_in_the_class(law: Any) -> None:
    rng = np.random.default_rng(1)
    prior = small_noise_alone(Pure, law).prior(**MIDDLE_C)
    instance = prior.draw(rng)
    X, y = instance.sample(100_000, rng)
    noise = y - X @ instance.target
    assert np.linalg.norm(instance.target) <= 1
    assert np.abs(noise).max() <= MIDDLE_C["C"] + 1e-12
    for sign in (1, -1):  # mean zero given x
        part = noise[np.sign(X @ instance.target) == sign]
        assert abs(part.mean()) <= 6 * part.std() / math.sqrt(len(part)) + 1e-12
    assert isinstance(prior, RareLabelPrior) == (law == "rare labels")
    if law == "rare labels":
        assert np.abs(noise).max() == pytest.approx(MIDDLE_C["C"])  # the whole of C is used


@pytest.mark.parametrize("level", [1e-200, 1e-5, 0.3, 1.9, 2.1, 30.0])
def test_the_ratio_of_a_level(level: float) -> None:
    half = mpmath.mpf(level) / 2
    with mpmath.workdps(500):
        exact = 2 * mpmath.log(mpmath.cosh(half)) / mpmath.tanh(half) ** 2
    assert level_ratio(level) == pytest.approx(float(exact), rel=1e-12)
    if level < 3:
        assert level_ratio(level) == pytest.approx(reverse_ratio(math.tanh(level / 2)), rel=1e-12)
    assert level_ratio(2000.0) == pytest.approx(2000 - 2 * math.log(2))


# --- Every channel --------------------------------------------------------------------------------


def letters(p: int, q: float) -> tuple[Array, Array]:
    """The chances under P_0 of the values of w and of a record that tells nothing; w, or 0.

    Given one of these letters, records may be averaged: omega is linear in the channel.
    """
    w = np.array(list(itertools.product([-1.0, 1.0], repeat=p)))
    return np.append(np.full(2**p, q / 2**p), 1 - q), np.vstack([w, np.zeros(p)])


def energies(columns: Array, p: int, q: float) -> Array:
    chances, w = letters(p, q)
    return np.sum((columns @ (chances[:, None] * w)) ** 2, axis=1) / (columns @ chances)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("q", [0.05, 0.3, 0.9])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_no_private_channel_has_more_energy(p: int, q: float, epsilon: float) -> None:
    """A linear programme over all eps-LDP channels; half of the bound is exceeded for small eps.

    (That all reports of one record have chances that add up to 1 is not used: at eps = 2 and small
    q it would be worth a factor 4.)
    """
    columns = staircase_columns(2**p + 1, epsilon).chances
    best = staircase_program(energies(columns, p, q), columns)
    energy, level = seen(Pure, {"p": p, "epsilon": epsilon}, q)
    assert best <= energy * (1 + 1e-9)
    assert best > energy / (2 if epsilon < 1 else 5)
    chances, w = letters(p, q)
    omega = columns @ (chances[:, None] * w) / (columns @ chances)[:, None]
    largest = np.abs(omega).max()
    assert largest <= math.tanh(level / 2) * (1 + 1e-9)
    assert largest == pytest.approx(math.tanh(level / 2))
    assert level == log_excess(epsilon, q)


@pytest.mark.parametrize("q", [0.05, 0.5, 1.0])
def test_no_concentrated_channel_has_more_energy(q: float) -> None:
    """Random channels, at the orders that the proof uses; a third of it is exceeded."""
    rng = np.random.default_rng(0)
    p, closest = 2, 0.0
    for _ in range(300):
        spread = math.exp(rng.uniform(-3, 0.5))
        K = np.exp(spread * rng.standard_normal((5, 6)))
        if rng.random() < 0.5:  # one that asks about a coordinate
            K = np.exp(spread * np.array([[s, -s] for s in (1, 1, -1, -1, 0)]))
        K /= K.sum(axis=1, keepdims=True)
        order_two = float(np.max(np.sum(K[:, None] ** 2 / K[None], axis=2)) - 1)
        found = float(energies(K.T, p, q).sum())
        assert found <= q * q * order_two * (1 + 1e-9)
        closest = max(closest, found / (q * q * order_two))
    assert closest > 0.2


def test_uniform_noise_is_seen_more_often_than_rare_labels() -> None:
    """q = delta/C against delta/(C + delta), on a grid of labels: the least total variation."""
    C, delta = 1.0, 0.4
    grid = np.linspace(-C - delta, C + delta, 141)
    high = np.abs(grid - delta) <= C + 1e-9
    low = np.abs(grid + delta) <= C + 1e-9
    # Laws of y at <x, theta> = +-delta with these means, overlap t_y <= both: maximise its mass.
    k = len(grid)
    cost = np.concatenate([np.zeros(2 * k), -np.ones(k)])
    ones, zero = np.ones(k), np.zeros(k)
    equal = np.array(
        [[*ones, *zero, *zero], [*grid, *zero, *zero], [*zero, *ones, *zero], [*zero, *grid, *zero]]
    )
    below = np.block(
        [[-np.eye(k), np.zeros((k, k)), np.eye(k)], [np.zeros((k, k)), -np.eye(k), np.eye(k)]]
    )
    bounds = [(0, None if ok else 0) for ok in (*high, *low)] + [(0, None)] * k
    solved = optimize.linprog(
        cost,
        A_ub=below,
        b_ub=np.zeros(2 * k),
        A_eq=equal,
        b_eq=[1, delta, 1, -delta],
        bounds=bounds,
    )
    assert 1 + solved.fun == pytest.approx(delta / (C + delta), rel=1e-6)
    assert 1 + solved.fun < 0.75 * delta / C


def test_uniform_noise_is_a_row_of_the_calculator_for_labels() -> None:
    """Beside Theorem 7; at small noise it is far larger, at much noise smaller."""
    privacy = Pure(0.5, scope="label")
    names = {bound.name for bound in LabelRegressionProblem(100, 20, 1, 0.1).lower(Pure)}
    assert {"Donsker-Varadhan: private labels", "Donsker-Varadhan: uniform noise"} <= names
    for C, n, best in ((0.1, 10, "uniform noise"), (2.0, 10**5, "private labels")):
        found = LabelRegressionProblem(n, 20, 1, C).best_lower(privacy)
        assert found.name == f"Donsker-Varadhan: {best}"
