"""Reports of labels, summed over users who have the same one: for simulations.

What is made of reports by sums over records sees no more of them than these sums, whose laws are
known where noise does not depend on the label, and where reports are bits.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from estimators.core.mechanisms import Release
from estimators.randomisers.labels import (
    Array,
    BinaryLabels,
    GaussianLabels,
    LaplaceLabels,
    clipped,
)

Summable = LaplaceLabels | GaussianLabels | BinaryLabels


def mean_reports(
    randomiser: Summable, y: Array, counts: Array, rng: np.random.Generator
) -> Release[Array]:
    """The mean of the reports of counts_i users with the label y_i, or anything if there are none.

    Laplace variates add up to the difference of two gamma variates, normal ones to a normal one,
    and bits are counted.
    """
    users, each = counts.astype(np.int64), np.maximum(counts, 1)
    _, nobody = randomiser.randomise(np.empty(0), rng)
    entry = replace(nobody, about=f"one report from each of {users.sum()} users")
    if isinstance(randomiser, BinaryLabels):
        ups = rng.binomial(users, randomiser.chance(y))
        return Release(randomiser.size * (2 * ups - users) / each, entry)
    if isinstance(randomiser, GaussianLabels):
        noise = np.sqrt(each) * rng.standard_normal(len(y))
    else:
        noise = rng.standard_gamma(counts) - rng.standard_gamma(counts)
    return Release(clipped(y, randomiser.bound) + randomiser.scale * noise / each, entry)
