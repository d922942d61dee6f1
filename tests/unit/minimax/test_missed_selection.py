"""What a private choice can miss: its constants by force, and the lemma against simulated choices.

Every check has a control with a smaller constant, which must break.
"""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from minimax.core.balls import Ball
from minimax.methods.missed_selection import missed_rms
from minimax.methods.recursion import thresholding_ratio
from tests.simulation import above, below, keep

Array = np.ndarray
COUNTS = [1, 2, 3, 13, 50, 806, 808, 5000, 10**6, 10**12]
METHODS = ["gumbel", "peeling"]


def chance(method: str, t: Array, m: int) -> Array:
    """P(the largest of m unit noises exceeds another by t), by a sum over the other's values."""
    if method == "gumbel":
        return np.asarray(m / (m + np.exp(t)))
    u, step = np.linspace(-40, 40, 16_001, retstep=True)
    log_below = np.log1p(-np.exp(-np.abs(t[:, None] + u)) / 2)
    log_below = np.where(t[:, None] + u >= 0, log_below, t[:, None] + u - math.log(2))
    return np.asarray(-np.expm1(m * log_below) @ np.exp(-np.abs(u))) * step / 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("m", COUNTS)
def test_the_largest_square_times_its_chance(method: str, m: int) -> None:
    """Gumbel: an equality. Laplace: the union bound over m costs at most a third."""
    t = np.linspace(0, 3 + 2 * math.log(m + 2), 300)
    largest = float(np.sqrt(np.max(t**2 * chance(method, t, m))))
    found = missed_rms(float(m), method)
    assert largest <= found
    assert 0.999 * found < largest if method == "gumbel" else 0.74 * found < largest


@pytest.mark.parametrize("method", METHODS)
def test_every_kind_of_number_has_it(method: str) -> None:
    for m in (1, 40, 900, 10**9):
        value = missed_rms(float(m), method)
        with mpmath.workdps(40):
            assert float(missed_rms(mpmath.mpf(m), method)) == pytest.approx(value, rel=1e-12)
        assert missed_rms(Ball(m), method).middle == pytest.approx(value, rel=1e-12)


def rounds(z: Array, s: int, scale: float, method: str, rng: np.random.Generator) -> Array:
    """Places chosen of each row: one pass of Gumbel noise, or s rounds of Laplace noise."""
    if method == "gumbel":
        scores = np.abs(z) + rng.gumbel(0, scale, z.shape)
        return np.argpartition(-scores, s - 1, axis=-1)[:, :s]
    open_, out = np.zeros(z.shape), []
    for _ in range(s):
        scores = np.abs(z) + rng.laplace(0, scale, z.shape) - open_
        out.append(np.argmax(scores, axis=-1)[:, None])
        np.put_along_axis(open_, out[-1], np.inf, -1)
    return np.concatenate(out, axis=-1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("s", "s_star", "d"), [(3, 3, 16), (5, 3, 16), (4, 4, 6)])
def test_what_is_missed(method: str, s: int, s_star: int, d: int) -> None:
    """z = x with equal entries of several sizes, and z = x + e with all |e_j| = 1."""
    rng, k = np.random.default_rng(7), missed_rms(float(d - s_star), method)
    reach = math.sqrt(thresholding_ratio(s, s_star, d) * s)
    worst: list[float] = []
    for height in (1.0, 2.0, 3.0, 4.0, 6.0):
        x = np.where(np.arange(d) < s_star, height, 0.0)
        for e in (0.0, 1.0):
            z = np.tile(x - e, (4000, 1))
            kept = keep(z, rounds(z, s, 1.0, method, rng))
            losses = list(np.sum((kept - x) ** 2, axis=1))
            # e on S and S*, at most s + s* coordinates
            most = e * math.sqrt(min(s + s_star, d)) + reach * (e + k)
            assert below(losses, most**2)
            if e == 0 and np.mean(losses) > np.mean(worst or [0.0]):
                worst = losses
    if s == s_star == 3:  # no idle constant: half of it is passed
        assert above(worst, (reach * k / 2) ** 2)
