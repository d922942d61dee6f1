"""What a regression on a table adds up: rows seen through a lens, kernels.

A kernel is a function of a chunk whose sums over the records are released. What one record adds to
each is bounded here, by shortening and clipping, whatever the lens was made of.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from estimators.core.base import Array
from estimators.tables.frame import Image
from estimators.tables.lengths import length_counts, shortened, sized
from estimators.tables.ranges import OctaveGrid

RESIDUALS = OctaveGrid(256, 8, 12)


class View(NamedTuple):
    """(W'x, r) for each record, as columns: W'x its whitened row, r its residual. With W = 1 and
    coefficients of 0 that is the row and its response."""

    image: Image
    stretch: float
    """Of the responses, into the frame's units."""

    def __call__(self, Z: Array, y: Array) -> Array:
        """To be written to, and gone with the next image."""
        columns = self.image(Z)
        columns[-1] += self.stretch * y
        return columns


class Lens(NamedTuple):
    """What a step sees the records through."""

    view: View
    length: float
    """Whitened rows are shortened to it."""
    clip: float
    """Residuals are clipped there."""

    def __call__(self, Z: Array, y: Array) -> Array:
        """(length u, clip rho) as columns."""
        return self.cut(self.view(Z, y))

    def cut(self, columns: Array) -> Array:
        """What is seen, shortened and clipped: in place."""
        shortened(columns[:-1], self.length)
        np.clip(columns[-1], -self.clip, self.clip, out=columns[-1])
        return columns


def joint_lengths(Z: Array, y: Array, view: View) -> Array:
    """How many rows, with their responses, are how long."""
    return length_counts(view(Z, y))


def residual_counts(Z: Array, y: Array, view: View) -> Array:
    """How many residuals are how large."""
    return _residual_counts(view(Z, y)[-1])


def spread_counts(Z: Array, y: Array, view: View) -> tuple[Array, Array]:
    """How many whitened rows are how long, and how many residuals how large."""
    columns = view(Z, y)
    return length_counts(columns[:-1]), _residual_counts(columns[-1])


def joint_gram(Z: Array, y: Array, view: View, length: float) -> Array:
    """The sum of aa' over rows a = (x, t)/length, shortened to 1."""
    columns = shortened(view(Z, y), length)
    return np.asarray(columns @ columns.T / length**2)


def step_gram(Z: Array, y: Array, lens: Lens, weights: Array) -> Array:
    """The sum of aa' over rows a = (sqrt(w) u, sqrt(1 - w) rho), at most 1 long; `weights` are
    sqrt(w)/length, and for residuals sqrt(1 - w)/clip."""
    columns = lens(Z, y)
    return np.asarray((columns @ columns.T) * weights * weights[:, None])


def step_vector(Z: Array, y: Array, lens: Lens) -> Array:
    """The sum of rho u."""
    columns = lens(Z, y)
    return np.asarray(columns[:-1] @ columns[-1] / (lens.length * lens.clip))


def last_look(Z: Array, y: Array, lens: Lens) -> tuple[Array, Array]:
    """How many residuals are beyond the clip, and beyond twice that; and the sum of rho^2 uu'."""
    columns = lens.view(Z, y)
    counts = beyond_clip(columns[-1], lens.clip)
    lens.cut(columns)
    weighted = columns[:-1]
    weighted *= columns[-1]
    return counts, np.asarray(weighted @ weighted.T / (lens.length * lens.clip) ** 2)


def clipped_counts(Z: Array, y: Array, lens: Lens) -> Array:
    """The first of these alone."""
    return beyond_clip(lens.view(Z, y)[-1], lens.clip)


def beyond_clip(residuals: Array, clip: float) -> Array:
    """How many of them are, and how many are beyond twice the clip."""
    sizes = np.abs(residuals)
    return np.array([np.count_nonzero(sizes > c) for c in (clip, 2 * clip)], dtype=float)


def _residual_counts(residuals: Array) -> Array:
    return sized(np.abs(residuals, out=residuals), RESIDUALS)
