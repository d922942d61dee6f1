"""The mean of a table's responses: what a regression releases where records are few."""

from __future__ import annotations

import numpy as np

from estimators.core.base import Array
from estimators.core.purse import Purse
from estimators.tables.ranges import (
    SIZES,
    cell_counts,
    count_noise,
    far_counts,
    searched,
    size_counts,
)
from estimators.tables.records import Records

MEDIAN_PART, SIZE_PART, FAR_PART, MEAN_PART = 0.2, 0.15, 0.1, 0.55
SIZE_LEVEL = 0.75
"""The quantile of the distances from the median that is found ..."""
CLIP = 3.0
"""... and the multiple of it at which they are clipped."""
MEDIAN_CELLS = 256
MEDIAN_QUERIES = MEDIAN_CELLS.bit_length() - 1
BLIND = 0.12
"""Noise of a count, over the records, with which a median cannot be found."""
MANY_CLIPPED, SURELY = 0.01, 2.0
"""Responses are not clipped if more than this part of them, and so many deviations of noise, would
be."""


def clipped_sum(Z: Array, y: Array, centre: float, clip: float) -> Array:
    """The sum of clip(y - centre)/clip, each at most 1 in size."""
    return np.array([np.clip((y - centre) / clip, -1.0, 1.0).sum()])


def released_mean(records: Records, purse: Purse, part: float) -> float:
    """The mean of the encoded responses.

    They are clipped about a median that is found first, at three times a quantile of the distances
    from it, if a count with noise tells that this is far from most. If many lie beyond, as where
    most responses are equal and the others make the mean, or where counts would be lost in noise,
    they are left as they are, between their public bounds. A few that are far out, less than about
    a hundredth or than the noise of a count, may be clipped: the mean is then less by their part.

    **Privacy.** Counts have sensitivity 1; the sum is moved by at most 2.
    """
    n = records.n
    if count_noise(purse, 1, MEDIAN_PART * part / MEDIAN_QUERIES) > BLIND * n:
        centre, clip, spent = 0.0, 1.0, part
    else:
        centre, clip = _located(records, purse, part)
        spent = MEAN_PART * part
    total = records.total(clipped_sum, centre, clip)
    noisy = purse.release(total, 2.0, spent, "mean of the responses")
    return float(np.clip(centre + clip * noisy[0] / n, -1.0, 1.0))


def _located(records: Records, purse: Purse, part: float) -> tuple[float, float]:
    """The median, and the distance from it at which responses are clipped; or the public ones."""
    n, alone = records.n, np.append(np.zeros(records.d, dtype=bool), True)
    width = 2.0 / MEDIAN_CELLS
    counts = records.total(cell_counts, alone, np.array([-1.0]), width, MEDIAN_CELLS)
    cell = searched(counts, n / 2, purse, MEDIAN_PART * part, "median of the responses")
    centre = -1.0 + (float(cell[0]) + 0.5) * width
    counts = records.total(size_counts, alone, np.array([centre]))
    found = searched(counts, SIZE_LEVEL * n, purse, SIZE_PART * part, "size of the responses")
    clip = min(CLIP * float(SIZES.end(found)[0]), 2.0)
    beyond = records.total(far_counts, alone, np.array([centre]), np.array([clip]))
    told = purse.cube_release(beyond, 1.0, FAR_PART * part, "responses beyond the clip")
    many = MANY_CLIPPED * n + SURELY * count_noise(purse, 1, FAR_PART * part)
    return (0.0, 1.0) if told[0] > many else (centre, clip)
