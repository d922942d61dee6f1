r"""A guard against noise.

On the axes of their noise, of variances v, slopes are taken for draws from N(0, g^2), g^2 being the
likeliest size, and each is multiplied by k = g^2/(g^2 + v): directions that are known, where v is
small, stay, those that are mostly noise vanish, and where all of them are, the mean of the
responses is what is predicted. This is what James and Stein (1961) do where noise is the same in
all directions.

A slope b that is found as s is then off by (1 - k) b, besides noise, and of b^2 no more is known
than that it is about s^2 up to noise: (1 - k)^2 (s^2 + v) counts as an error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from estimators.core.base import Array


class Guarded(NamedTuple):
    """Shrunk coefficients, how they were shrunk, and a covariance of what was taken off."""

    coef: Array
    shrinking: Array
    taken: Array


def guarded(coef: Array, moment: Array, noise: Array, intercept: bool) -> Guarded:
    """Slopes shrunk to what is likely under noise; the mean of the fitted values stays."""
    first = int(intercept)
    spreads, axes = np.linalg.eigh(noise[first:, first:])
    spreads = np.maximum(spreads, np.finfo(float).tiny)
    found = axes.T @ coef[first:]
    size = likely_size(found, spreads)
    kept = size / (size + spreads)
    shrinking = np.eye(len(coef))
    shrinking[first:, first:] = (axes * kept) @ axes.T
    lost = np.zeros((len(coef), len(found)))
    lost[first:] = axes * ((1 - kept) * np.sqrt(found**2 + spreads))
    if intercept and moment[0, 0] > 0:
        means = moment[0, 1:] / moment[0, 0]
        shrinking[0, 1:] = means @ (np.eye(len(found)) - shrinking[1:, 1:])
        lost[0] = -means @ lost[1:]
    return Guarded(shrinking @ coef, shrinking, lost @ lost.T)


def likely_size(found: Array, spreads: Array) -> float:
    """The g^2 of slopes N(0, g^2) that makes them, seen with noise of these variances, likeliest:
    on a grid, from none to all of what is seen."""
    largest = float(found @ found) + np.finfo(float).tiny
    sizes = largest * np.append(0.0, np.geomspace(1e-8, 1.0, 161))
    total = sizes[:, None] + spreads
    fit = (np.log(total) + found**2 / total).sum(axis=1)
    return float(sizes[np.argmin(fit)])
