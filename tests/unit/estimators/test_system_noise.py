"""Noise without a seed: a cryptographic stream, keyed anew, that has the stated laws."""

from __future__ import annotations

import secrets
import struct

import numpy as np
import pytest
from scipy import stats

from estimators import NoisyMean
from estimators.core.base import generator_from
from estimators.core.mechanisms import exponential_mechanism, gaussian, k_norm, laplace
from estimators.core.noise import system_bits

KEY = 0x0123456789ABCDEF << 180 | 0xFEDCBA9876543210
MASK = (1 << 32) - 1


def rotated(value, by):
    return (value << by | value >> (32 - by)) & MASK


def chacha20(key, block):
    """Sixteen words of Bernstein's cipher (2008), written from its definition."""
    constants = struct.unpack("<4I", b"expand 32-byte k")
    words = struct.unpack("<8I", key.to_bytes(32, "little"))
    start = [*constants, *words, block & MASK, block >> 32, 0, 0]
    x = list(start)
    columns = [(j, 4 + j, 8 + j, 12 + j) for j in range(4)]
    diagonals = [(j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4) for j in range(4)]
    for _ in range(10):
        for a, b, c, d in columns + diagonals:
            for first, second, third, by in (
                (a, b, d, 16),
                (c, d, b, 12),
                (a, b, d, 8),
                (c, d, b, 7),
            ):
                x[first] = (x[first] + x[second]) & MASK
                x[third] = rotated(x[third] ^ x[first], by)
    return [(end + begin) & MASK for end, begin in zip(x, start, strict=True)]


def test_the_stream_is_chacha20(monkeypatch):
    monkeypatch.setattr(secrets, "randbits", lambda bits: KEY)
    expected = [word for block in range(3) for word in chacha20(KEY, block)]
    drawn = system_bits().random_raw(24).tolist()
    assert drawn == [
        low | high << 32 for low, high in zip(expected[::2], expected[1::2], strict=True)
    ]


def test_only_noise_without_a_seed_comes_from_it():
    unseeded = [generator_from(None) for _ in range(2)]
    assert {type(each.bit_generator).__name__ for each in unseeded} == {"ChaCha"}
    assert unseeded[0].random() != unseeded[1].random()
    assert generator_from(3).random() == np.random.default_rng(3).random()
    bits = []
    original = secrets.randbits
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "randbits", lambda count: bits.append(count) or original(count))
        NoisyMean(R=1.0, random_state=0).fit(np.zeros((9, 2)))
        assert bits == []
        NoisyMean(R=1.0).fit(np.zeros((9, 2)))
        assert bits == [256]


def drawn(kind, rng):
    """Noise of a mechanism over its scale, which should be 1, and its law."""
    zero = np.zeros(20_000)
    if kind == "laplace":
        return laplace(zero, l1_sensitivity=1.0, epsilon=1.0, rng=rng).value, stats.laplace.cdf
    if kind == "gaussian":
        return gaussian(zero, l2_sensitivity=1.0, scale=1.0, rng=rng).value, stats.norm.cdf
    one = [
        k_norm(np.zeros(3), norm="l2", sensitivity=1.0, epsilon=1.0, rng=rng).value
        for _ in range(4000)
    ]
    return np.linalg.norm(one, axis=1), stats.gamma(3).cdf


@pytest.mark.parametrize("kind", ["laplace", "gaussian", "k-norm"])
def test_noise_has_its_law(kind, monkeypatch):
    monkeypatch.setattr(secrets, "randbits", lambda bits: KEY)
    found, law = drawn(kind, generator_from(None))
    assert stats.kstest(found, law).pvalue > 1e-3
    assert stats.kstest(1.1 * found, law).pvalue < 1e-4  # the control


def test_choices_have_their_chances(monkeypatch):
    monkeypatch.setattr(secrets, "randbits", lambda bits: KEY)
    rng, scores = generator_from(None), np.array([0.0, 1.0, 2.0])
    chosen = [
        exponential_mechanism(scores, sensitivity=1.0, epsilon=2.0, rng=rng).value
        for _ in range(6000)
    ]
    counts, chances = np.bincount(chosen), np.exp(scores) / np.exp(scores).sum()
    assert stats.chisquare(counts, 6000 * chances).pvalue > 1e-3
    assert stats.chisquare(counts, np.full(3, 2000.0)).pvalue < 1e-9  # the control
