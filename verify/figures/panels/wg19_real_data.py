"""WG19: Tables 2 and 3, test errors on real data against the privacy budget.

Neither of the paper's data sets comes with this toolkit. The panels on other data say so.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from verify.figures.panel import Point
from verify.figures.panels.wg19_methods import DELTA, Array, Rng, Split

MICE, MICE_KEPT = 10_346, 0.8
TRAIT = "Biochem.HDL"
EARNINGS = 1
"""The largest topic of Reuters-21578."""


def mice_draw(point: Point, rng: Rng, mice: dict[str, Array], traits: dict[str, list[str]]) -> Split:
    """Four fifths of the mice whose HDL is known; columns and response standardised over all."""
    response = np.array([float(value) if value else np.nan for value in traits[TRAIT]])
    known = np.flatnonzero(np.isfinite(response))
    X = standardised(mice["X"][known].astype(float))
    return split(X, standardised(response[known]), round(MICE_KEPT * len(known)), rng)


def reuters_draw(point: Point, rng: Rng, found: dict[str, Array]) -> Split:
    """As many rows to fit to as in the public split; unit rows of log (1 + count)."""
    X = normalize(sparse.csr_matrix(found["fea"]).log1p())
    y = (found["gnd"].ravel() == EARNINGS).astype(float)
    return split(X, y, len(found["trainIdx"]), rng)


def subset_draw(point: Point, rng: Rng, found: tuple[sparse.csr_matrix, Array]) -> Split:
    """Four fifths of the rows."""
    X, y = found
    return split(X, (y > 0).astype(float), round(0.8 * len(y)), rng)


def split(X: Array | sparse.csr_matrix, y: Array, kept: int, rng: Rng) -> Split:
    """Rows at random: so many to fit to, the others to judge by."""
    order = rng.permutation(len(y))
    return Split(X[order[:kept]], y[order[:kept]], X[order[kept:]], y[order[kept:]])


def standardised(values: Array) -> Array:
    """Columns of mean 0 and variance 1; a constant one is 0."""
    deviation = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(deviation > 0, deviation, 1))
