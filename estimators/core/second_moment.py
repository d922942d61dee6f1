"""The second moment of rows, E x x', known or released with noise."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.core.symmetric import flat, unflat


class SecondMoment(NamedTuple):
    """S, and what steps that are preconditioned with its inverse depend on."""

    matrix: Array
    inverse: Array
    trace: float
    largest: float
    inverse_trace: float
    mismatch: float
    """Its relative error in root mean square, 0 if it is known."""
    noise: float = 0.0
    """Deviation of the noise on the diagonal, 0 if it is known."""

    @classmethod
    def of(cls, matrix: Array, floor: float = 0.0, noise: float = 0.0) -> SecondMoment:
        """From a symmetric matrix whose eigenvalues are raised to the floor for the inverse."""
        values, vectors = np.linalg.eigh(matrix)
        values = np.maximum(values, floor)
        inverse = (vectors / values) @ vectors.T
        relative = noise * math.sqrt((len(values) + 1) / 2 * float(np.mean(values**-2.0)))
        sums = float(values.sum()), float(values.max()), float((1 / values).sum())
        return cls(matrix, inverse, *sums, relative, noise)

    @classmethod
    def isotropic(cls, d: int, square: float, noise: float = 0.0) -> SecondMoment:
        """square/d on every axis, square = E|x|^2."""
        level = square / d
        sums = square, level, d / level
        return cls(
            np.eye(d) * level,
            np.eye(d) / level,
            *sums,
            noise * math.sqrt((d + 1) / 2) / level,
            noise,
        )


def moment_sensitivity(bound: float, n: int) -> float:
    """How far X'X/n moves in Frobenius' norm if a row of length `bound` at most is replaced.

    |xx' - zz'|^2 = |x|^4 + |z|^4 - 2 <x, z>^2, which is largest for orthogonal rows.
    """
    return math.sqrt(2) * bound**2 / n


def moment_noise(purse: Purse, bound: float, d: int, share: float) -> float:
    """The deviation of the noise on an entry of the diagonal, if released with this share."""
    return purse.deviation(moment_sensitivity(bound, purse.n), d * (d + 1) // 2, share)


def released_moment(gram: Array, bound: float, share: float, purse: Purse) -> SecondMoment:
    """X'X/n with noise, from X'X of rows of length `bound` at most.

    Eigenvalues are raised to `moment_floor`: directions in which the rows hardly vary, or not at
    all, are then moved by little more than noise.
    """
    d = len(gram)
    sensitivity = moment_sensitivity(bound, purse.n)
    noisy = purse.release(flat(gram / purse.n), sensitivity, share, "second moment")
    noise = moment_noise(purse, bound, d, share)
    return SecondMoment.of(unflat(noisy, d), moment_floor(d, noise), noise)


def row_stretch(square: float, moment: SecondMoment, row_bound: float) -> float:
    """E|x|^2 over E w|x|^2, w shortening rows to the root of E|x|^2: 1 for rows of one length.

    So many times larger than by `moment` is E<x, e>^2 on average over directions of e. Its square
    is about what E<x, e>^2 is larger by among the rows that count, weighted with w|x|^2: exactly
    that where rows have one length or are 0, and 1.69 for 1.65 where lengths are uniform in [0, 1].
    It is at most row_bound over that root, as w is no smaller than its inverse, whatever the noise.
    """
    return min(max(square / moment.trace, 1.0), row_bound / math.sqrt(square))


def moment_floor(d: int, noise: float) -> float:
    """About half the norm of a symmetric matrix of noise: smaller eigenvalues are not seen."""
    return math.sqrt(2 * d) * noise
