"""Priors draw by bytes, signs and places what can be written with a comparison for each entry."""

from __future__ import annotations

import numpy as np
import pytest

from minimax.methods.priors import DilutedInstance, SignInstance, random_signs


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (1003, 5)])
def test_a_sign_is_a_fair_bit(shape: tuple[int, int]) -> None:
    """The leading bit of a random byte is what an integer below 2 is made from."""
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    bits = theirs.integers(0, 2, size=shape, dtype=np.int8)
    found = random_signs(*shape, 0.3, ours)
    assert np.array_equal(found, np.where(bits == 1, 0.3, -0.3))
    assert not np.array_equal(-found, np.where(bits == 1, 0.3, -0.3))
    assert ours.random() == theirs.random()


def test_records_of_signs_have_their_chances() -> None:
    """Also where a coordinate's mean is at the end of its range."""
    target = np.array([-1.5, -0.4, 0.0, 1.1, 1.5])
    found = SignInstance(target, 1.5).sample(4000, np.random.default_rng(5))
    uniform = np.random.default_rng(5).random((4000, 5))
    assert np.array_equal(found, np.where(uniform < (1 + target / 1.5) / 2, 1.5, -1.5))
    assert np.abs(found.mean(axis=0) - target).max() < 6 * 1.5 / 4000**0.5
    assert np.abs(found.mean(axis=0) + target).max() > 1  # those of the opposite signs


def test_diluted_records_are_points_or_zero() -> None:
    points = np.random.default_rng(0).choice([-1.0, 1.0], (3, 4))
    found = DilutedInstance(points, 0.2).sample(500, np.random.default_rng(7))
    rng = np.random.default_rng(7)
    rows = points[rng.integers(3, size=500)]
    kept = rng.random(500) < 0.2
    assert np.array_equal(found, rows * kept[:, None])
    assert not np.array_equal(found, rows)
