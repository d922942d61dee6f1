"""Priors draw by bytes, signs and places what can be written with a comparison for each entry."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from minimax.methods.normals import FEW, PAIRS, on_circle, standard_normals
from minimax.methods.priors import (
    DilutedInstance,
    SignInstance,
    UniformNoiseInstance,
    biased_bits,
    random_signs,
)
from minimax.methods.summaries import sign_bytes


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


def test_points_on_the_circle_have_the_moments_of_its_uniform_law() -> None:
    """Over all turns that are drawn; the controls are turns that end too early."""
    turns = np.arange(1 << 24) / (1 << 24)
    angle = on_circle(turns.astype(np.float32))
    cos, sin = np.cos(angle).astype(float), np.sin(angle).astype(float)
    assert np.abs(cos - np.cos(2 * np.pi * turns)).max() < 5e-7
    assert np.abs(sin - np.sin(2 * np.pi * turns)).max() < 5e-7

    def surplus(cos: np.ndarray, sin: np.ndarray) -> float:
        squares = (cos**2).mean() - 0.5, (sin**2).mean() - 0.5
        return max(map(abs, (cos.mean(), sin.mean(), (cos * sin).mean(), *squares)))

    assert surplus(cos, sin) < 3e-8
    assert surplus(cos[:-2], sin[:-2]) > 3e-8
    assert surplus(cos[: 1 << 23], sin[: 1 << 23]) > 0.1


@pytest.mark.parametrize("size", [FEW, FEW + 1, 4 * PAIRS + 3])
def test_normal_numbers_are_normal_and_independent(size: int) -> None:
    """By themselves, and in the pairs and the neighbours that they are drawn with."""
    drawn = standard_normals(size, np.random.default_rng(8))
    assert stats.kstest(drawn, "norm").pvalue > 1e-3
    assert stats.kstest(drawn + 0.1, "norm").pvalue < 1e-3
    lags = 1, -(-min(size, 2 * PAIRS) // 2)
    for lag in lags:
        first, second = drawn[:-lag], drawn[lag:]
        assert stats.kstest((first + second) / np.sqrt(2), "norm").pvalue > 1e-3
        assert abs(stats.spearmanr(first**2, second**2)[0]) < 5 / np.sqrt(len(first))
    assert stats.kstest((drawn + drawn) / np.sqrt(2), "norm").pvalue < 1e-3


def test_normal_numbers_fill_what_they_are_given() -> None:
    room = np.full((70, 100), np.nan)
    found = standard_normals(room.shape, np.random.default_rng(9), room)
    assert found is room
    assert np.array_equal(found, standard_normals((70, 100), np.random.default_rng(9)))
    assert not np.array_equal(found, standard_normals((70, 100), np.random.default_rng(10)))
    for shape, wrong in (
        ((100, 70), room.T),
        ((70, 101), room),
        ((70, 100), room.astype(np.float32)),
    ):
        with pytest.raises(ValueError, match="out must hold doubles of shape"):
            standard_normals(shape, np.random.default_rng(9), wrong)


def test_the_mean_square_of_normal_numbers_is_1() -> None:
    """To a thousandth, which no test of the law by ranks would see; the control is off by one."""
    drawn = standard_normals(1 << 22, np.random.default_rng(8))
    error = np.sqrt(2 / drawn.size)
    assert abs(np.mean(drawn**2) - 1) < 5 * error < 0.004
    assert abs(np.mean((1.003 * drawn) ** 2) - 1) > 5 * error


@pytest.mark.parametrize("size", [FEW - 1, FEW + 1, 2 * PAIRS + 1, 4 * PAIRS + 3])
def test_every_place_is_filled(size: int) -> None:
    """Also the last one of an odd number, which has half a pair."""
    room = np.full(size, np.nan)
    assert np.isfinite(standard_normals(size, np.random.default_rng(8), room)).all()


@pytest.mark.parametrize("place", range(8))
def test_every_bit_of_packed_signs_is_fair(place: int) -> None:
    bits = (sign_bytes(20_000, 16, np.random.default_rng(3)) >> place) & 1
    assert abs(bits.mean() - 0.5) < 3 / np.sqrt(bits.size)
    assert abs(np.maximum(bits, np.arange(20_000) % 20 == 0).mean() - 0.5) > 3 / np.sqrt(bits.size)


def test_uniform_noise_has_its_width() -> None:
    law = UniformNoiseInstance(np.array([0.5, -0.2]), C=2.0, slope=3.0)
    X, y = law.sample(20_000, np.random.default_rng(0))
    noise = (y - 3 * (X @ law.target)) / 2
    assert stats.kstest(noise, stats.uniform(-1, 2).cdf).pvalue > 1e-6
    assert stats.kstest(noise / 2, stats.uniform(-1, 2).cdf).pvalue < 1e-6
