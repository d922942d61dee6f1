"""How far a record moves the classifier's sums: the bounds, records that reach them, controls."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import special

from estimators.tables.classifier_steps import (
    Slopes,
    class_counts,
    contrasts,
    gram_sum,
    row_lengths,
    slope_sums,
)
from estimators.tables.frame import Image, Rows

ROUNDING = 1 + 1e-9
D = 3


def extreme_rows(rng: np.random.Generator, many: int) -> np.ndarray:
    """Encoded rows: corners, tiny ones, and some between."""
    corners = rng.choice([-1.0, 0.0, 1.0], (many, D))
    between = rng.uniform(-1, 1, (many, D))
    return np.concatenate([corners, between, 1e-12 * corners, np.zeros((1, D))])


def image_of(rng: np.random.Generator, most: float) -> Image:
    """Of rows of any scale, with an intercept."""
    rows = Rows(rng.uniform(-5, 5, D), 10 ** rng.uniform(0, most, D), True)
    return rows.image(rng.normal(size=(D + 1, D + 1)) * 10 ** rng.uniform(-2, 2, D + 1))


def plain(width: int) -> Image:
    """Rows as they are encoded, without an intercept."""
    return Rows(np.zeros(width), np.ones(width), False).image(np.eye(width))


def lens(rng: np.random.Generator, classes: int, evenness: float, reach: float) -> Slopes:
    start = rng.normal(size=classes)
    return Slopes(image_of(rng, 3), contrasts(classes), start, reach, evenness)


def slopes_of(rows: np.ndarray, label: float, through: Slopes, coef: np.ndarray) -> np.ndarray:
    """One record at a time."""
    y = np.array([label])
    return np.stack([slope_sums(row[None, :], y, through, coef).ravel() for row in rows])


def farthest(points: np.ndarray) -> float:
    return max(float(np.linalg.norm(points - one, axis=1).max()) for one in points)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("evenness", [0.0, 0.4, 1.0])
def test_no_record_moves_slopes_by_more_than_1(classes: int, evenness: float) -> None:
    rng = np.random.default_rng(classes)
    for size in (0.0, 1.0, 30.0):
        through = lens(rng, classes, evenness, 0.7)
        coef = size * rng.normal(size=(D + 1, classes - 1))
        labels = [-1.0, *map(float, range(classes))]
        found = [slopes_of(extreme_rows(rng, 12), label, through, coef) for label in labels]
        assert farthest(np.concatenate(found)) <= ROUNDING


def test_the_bound_on_slopes_is_reached_and_a_shorter_reach_would_break_it() -> None:
    """Two opposite rows, both long, both with a label that has no chance at all."""
    label = np.array([1.0])
    for evenness in (0.0, 1.0):
        through = Slopes(plain(1), contrasts(2), np.array([99.0, -99.0]), 0.5, evenness)
        here, there = (
            slope_sums(np.array([[z]]), label, through, np.zeros((1, 1))) for z in (1.0, -1.0)
        )
        assert np.linalg.norm(here - there) == pytest.approx(1.0)
        longer = through._replace(reach=1.0)  # these weights with the noise of the reach of 0.5
        far = slope_sums(np.array([[1.0]]), label, longer, np.zeros((1, 1))) * 1.0 / 0.5
        assert 2 * np.linalg.norm(far) > 1.5


@pytest.mark.parametrize("classes", [2, 4])
def test_weights_leave_the_expected_slope_at_0_and_clipped_slopes_do_not(classes: int) -> None:
    """Labels drawn by the model's own chances, exactly averaged."""
    rng = np.random.default_rng(0)
    image = Rows(np.zeros(D), np.ones(D), True).image(rng.normal(size=(D + 1, D + 1)))
    through = Slopes(image, contrasts(classes), rng.normal(size=classes), 0.3, 1.0)
    coef = 0.3 * rng.normal(size=(D + 1, classes - 1))
    row = rng.uniform(-1, 1, (1, D))
    white = through.image(row).T.copy()
    chances = special.softmax(through.start + white @ coef @ through.contrasts.T, axis=1)[0]
    slopes = [slope_sums(row, np.array([float(k)]), through, coef) for k in range(classes)]
    expected = sum(p * slope for p, slope in zip(chances, slopes, strict=True))
    assert np.abs(expected).max() < 1e-12
    unweighted = [
        white.T @ ((chances - np.eye(classes)[k])[None, :] @ through.contrasts)
        for k in range(classes)
    ]
    cut = 0.5 * max(float(np.linalg.norm(slope)) for slope in unweighted)
    clipped = [slope * min(1.0, cut / float(np.linalg.norm(slope))) for slope in unweighted]
    off = sum(p * slope for p, slope in zip(chances, clipped, strict=True))
    assert np.linalg.norm(off) > 0.01 * cut


def test_labels_that_are_not_listed_have_no_slope() -> None:
    rng = np.random.default_rng(0)
    through, coef = lens(rng, 3, 0.5, 1.0), rng.normal(size=(D + 1, 2))
    assert not slope_sums(extreme_rows(rng, 5), np.full(16, -1.0), through, coef).any()


def test_no_record_moves_the_second_moment_by_more_than_1() -> None:
    rng = np.random.default_rng(0)
    for bound in (0.1, 1.0, 100.0):
        image, rows = image_of(rng, 2), extreme_rows(rng, 20)
        found = np.stack(
            [gram_sum(row[None, :], np.zeros(1), image, bound).ravel() for row in rows]
        )
        assert farthest(found) <= ROUNDING
    axes = [gram_sum(row[None, :], np.zeros(1), plain(2), 0.5) for row in np.eye(2)]
    assert np.linalg.norm(axes[0] - axes[1]) == pytest.approx(1.0)  # it is reached


def test_a_record_is_in_one_cell_of_each_histogram() -> None:
    """Of lengths; those of columns are the regression's."""
    rng = np.random.default_rng(0)
    image, rows = image_of(rng, 2), extreme_rows(rng, 20)
    for row in rows:
        counts = row_lengths(row[None, :], np.zeros(1), image)
        assert counts.sum(axis=1).tolist() == [1.0]
    labels = [class_counts(rows[:1], np.array([k]), 3) for k in (-1.0, 0.0, 1.0, 2.0)]
    apart = [float(np.linalg.norm(a - b)) for a, b in pairwise(labels)]
    assert max(apart) == pytest.approx(math.sqrt(2))
