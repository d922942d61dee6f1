"""Priors draw by bytes, signs and places what can be written with a comparison for each entry."""

from __future__ import annotations

import numpy as np
import pytest

from minimax.methods.priors import DilutedInstance, SignInstance, biased_bits, random_signs


@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (1003, 5)])
def test_a_sign_is_a_fair_bit(shape: tuple[int, int]) -> None:
    """The bits of random bytes, in order."""
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    count = shape[0] * shape[1]
    drawn = np.frombuffer(theirs.bytes((count + 7) // 8), dtype=np.uint8)
    bits = np.unpackbits(drawn)[:count].reshape(shape)
    found = random_signs(*shape, 0.3, ours)
    assert np.array_equal(found, np.where(bits == 1, 0.3, -0.3))
    assert not np.array_equal(-found, np.where(bits == 1, 0.3, -0.3))
    assert ours.random() == theirs.random()


@pytest.mark.parametrize("chance", [0.0, 1e-6, 0.3, 77 / 256, 77.25 / 256, 0.5, 255.5 / 256, 1.0])
def test_a_bit_has_its_chance_exactly(chance: float) -> None:
    """Over all bytes: those below are set, and the one between as often as is left; one byte more
    or less would be off by 1/256."""

    class AllBytes:
        """Each byte once; the number that decides the one between goes through [0, 1)."""

        def __init__(self, number: float) -> None:
            self.number = number

        def bytes(self, count: int) -> bytes:
            return bytes(range(256))

        def random(self, size: int) -> np.ndarray:
            return np.full(size, self.number)

    numbers = (np.arange(1000) + 0.5) / 1000
    set_ = [biased_bits(256, np.array([chance]), AllBytes(u)).mean() for u in numbers]  # type: ignore[arg-type]
    assert np.mean(set_) == pytest.approx(chance, abs=1e-3 / 256)


def test_records_of_signs_have_their_chances() -> None:
    """Also where a coordinate's mean is at the end of its range."""
    target = np.array([-1.5, -0.4, 0.0, 1.1, 1.5])
    found = SignInstance(target, 1.5).sample(4000, np.random.default_rng(5))
    assert set(np.unique(found)) == {-1.5, 1.5}
    assert np.array_equal(found[:, [0, 4]], np.tile([-1.5, 1.5], (4000, 1)))
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
