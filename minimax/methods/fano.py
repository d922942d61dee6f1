r"""Fano's method for locally private reports, for a packing that the user brings.

V is uniform on a packing of size M, record i is drawn from P_V, and n non-interactive eps-LDP
reports Z are released. `PrivatePacking` bounds I(V; Z) from the laws P_v or from their pairwise
total variations; `fano`, `error_probability` and `donsker_varadhan` turn information into risk.

Non-interactive means that I(V; Z_1, ..., Z_n) <= sum_i I(V; Z_i): given V the reports are
independent. With interaction the channel may depend on earlier reports, which know about V, and
this fails; see `minimax.methods.le_cam`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from minimax.core.bound import ROUNDING
from minimax.core.symbolic import ULP, Number, library
from minimax.methods.blocks import block_exponent, free_exponent
from minimax.methods.divergences import (
    kl_from_tv,
    relative_entropy_terms,
    report_information,
    staircase_columns,
    staircase_program,
    strong_contraction_pure,
)

Array = NDArray[np.float64]
EXACT_ALPHABET = 10
"""Largest alphabet on which the best channel is computed instead of bounded."""


def fano(radius: Number, information: Number, size: Number) -> Number:
    r"""**Statement.** R >= radius (1 - (I(V; Z) + log 2)/log size).

    `radius` is a loss that no estimate can have with two elements at once: for squared distance and
    elements at least D apart, D^2/4. **Proof.** An estimate with loss below the radius names V, and
    Fano's inequality bounds the chance of that. (WX21: Lemma 7 has a further factor 1/2, which is
    not needed.) Not clipped at 0, so that it can be used with symbols.
    """
    lib = library(information, size)
    two = information * 0 + 2  # of the same kind of number
    return radius * (1 - (information + lib.log(two)) / lib.log(size))


def error_probability(information: float, size: int) -> float:
    r"""The smallest P(V' != V) that I(V; V') <= information allows, V uniform on `size` values.

    **Statement.** The root of log(size) - H(P) - P log(size - 1) = information, H the entropy of a
    coin (0 if the information is at least log(size)). **Proof.** Data processing for the event
    V' = V, whose chance under the product law is 1/size; reached by the symmetric channel. Sharper
    than 1 - (I + log 2)/log(size), and not empty for size 2.
    """
    if information >= math.log(size):
        return 0.0
    most = 1 - 1 / size

    def excess(u: float) -> float:
        """The divergence at P = most - u, of second order in u, less the information."""
        right = special.xlog1py(1 / size + u, size * u)
        return float(right + special.xlog1py(most - u, -u / most)) - information

    if information <= 0:
        return most
    return most - float(optimize.brentq(excess, 0.0, most, xtol=1e-15))


def donsker_varadhan(
    information: ArrayLike, scales: ArrayLike, exponents: ArrayLike
) -> tuple[float, float]:
    r"""(bound, scale): Fano's inequality with the loss itself.

    **Statement.** If log E_V exp(-l L(u, V)) <= -e(l) for every estimate u without data, then
    R >= sup_l (e(l) - I(V; Z))/l over the given scales l with exponents e(l).

    **Proof.** Donsker and Varadhan's inequality for the joint law of (estimate, V) against the
    product of its marginals: -l E L <= I + log E_product exp(-l L).
    """
    l, e = np.asarray(scales, dtype=float), np.asarray(exponents, dtype=float)
    values = (e - np.asarray(information, dtype=float)) / l
    best = int(np.argmax(values))
    return max(float(values[best]), 0.0), float(l[best])


def separation_exponent(scale: ArrayLike, radius: float, size: int) -> Array:
    r"""e(l) of `donsker_varadhan` from the separation alone: no u is close to two elements.

    e(l) = -log((1 + (size - 1) e^{-l radius})/size). With it, `donsker_varadhan` is the radius
    times `error_probability`: the two are convex conjugates.
    """
    l = np.asarray(scale, dtype=float)
    rest = math.log(size - 1) - l * radius
    return np.asarray(math.log(size) - np.logaddexp(0.0, rest))


@lru_cache(maxsize=256)
def block_exponents(m: int) -> tuple[Array, Array]:
    r"""A grid of b with h_m(b) (`minimax.methods.blocks.block_exponent`), finest near b_m.

    For V uniform on the signed units of R^m and squared distance, e(b) = b - h_m(b) per block.
    """
    low, free = math.log(2 * m) / 2, free_exponent(m)
    near = free * np.linspace(0.9, 1.6, 141)
    wide = np.linspace(0.02, 2 * math.log(2 * m) + 4, 160)
    b = np.concatenate([[low, free], near, wide])
    return b, block_exponent(b, m)


@dataclass(frozen=True)
class FanoBound:
    """A private Fano bound with what it was made of."""

    value: float
    closed_form: float
    """radius (1 - (n I + log 2)/log size), which has more slack; 0 if negative."""
    information: float
    """Bound on I(V; Z) of one report."""
    radius: float
    size: int


class PrivatePacking:
    r"""A packing, how far apart its elements are, and how far apart their data are.

    Parameters
    ----------
    radius : float
        A loss that no estimate can have with two elements at once (see `fano`).
    laws : array (size, alphabet), optional
        P_v of a record, row by row.
    total_variation : array (size, size), optional
        TV(P_v, P_v'), if the laws themselves are not at hand. Exactly one of the two.
    """

    def __init__(
        self,
        radius: float,
        *,
        laws: ArrayLike | None = None,
        total_variation: ArrayLike | None = None,
    ) -> None:
        if (laws is None) == (total_variation is None):
            raise ValueError("give exactly one of laws, total_variation")
        if not (radius > 0 and math.isfinite(radius)):
            raise ValueError(f"radius must be positive and finite, got {radius!r}")
        self.radius = float(radius)
        self.laws: Array | None = None if laws is None else checked_laws(laws)
        if total_variation is not None:
            self.total_variation = _checked_tv(total_variation)
        else:
            assert self.laws is not None
            self.total_variation = pairwise_tv(self.laws)
        if len(self.total_variation) < 2:
            raise ValueError("a packing has at least 2 elements")

    @classmethod
    def from_targets(
        cls,
        targets: ArrayLike,
        *,
        laws: ArrayLike | None = None,
        total_variation: ArrayLike | None = None,
    ) -> PrivatePacking:
        """The packing of these vectors (row by row) under squared l2 loss."""
        points = np.asarray(targets, dtype=float)
        if points.ndim != 2 or len(points) < 2 or not np.isfinite(points).all():
            raise ValueError("targets must be a finite array (size, dimension) of size at least 2")
        squared = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
        least = float(squared[~np.eye(len(points), dtype=bool)].min())
        made = cls(least / 4, laws=laws, total_variation=total_variation)
        if made.size != len(points):
            raise ValueError(f"targets: {len(points)} elements, but {made.size} laws")
        return made

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.total_variation)

    def information(self, epsilon: float) -> float:
        r"""Bound on I(V; Z) of one report: the least of what is proved.

        log size, `report_information`, the mean over pairs of `kl_from_tv`, and with laws
        tanh(eps/2)^2 I(V; X), or for alphabets up to `EXACT_ALPHABET` the supremum itself.
        """
        if not (epsilon > 0 and math.isfinite(epsilon)):
            raise ValueError(f"epsilon must be positive and finite, got {epsilon!r}")
        pairs = [kl_from_tv(epsilon, float(t)) for t in self.total_variation.ravel()]
        bounds = [math.log(self.size), report_information(epsilon), float(np.mean(pairs))]
        if self.laws is not None:
            data = float(np.sum(mutual_information(np.eye(self.laws.shape[1]), self.laws)))
            bounds.append(strong_contraction_pure(epsilon) * data)
            if self.laws.shape[1] <= EXACT_ALPHABET:
                bounds.append(_largest_information(self.laws, epsilon))
        return max(min(bounds), 0.0) * (1 + ROUNDING)

    def bound(self, n: int, epsilon: float) -> FanoBound:
        """The private Fano bound for n non-interactive eps-LDP reports."""
        if n < 1:
            raise ValueError(f"n must be at least 1, got {n!r}")
        information = self.information(epsilon)
        failure = error_probability(n * information, self.size)
        # The root is known to about 1e-15, which for a small chance is more than the rounding.
        value = self.radius * max(failure * (1 - ROUNDING) - 64 * ULP * math.log(self.size), 0.0)
        closed = max(fano(self.radius, n * information, self.size), 0.0)
        return FanoBound(value, closed, information, self.radius, self.size)


def mutual_information(columns: Array, laws: Array) -> Array:
    """The share of a report with column K(z|.) in I(V; Z), V uniform on the laws."""
    mean = laws.mean(axis=0)
    return _information_terms(columns @ mean, columns @ (laws - mean).T)


def _information_terms(mean: Array, differences: Array) -> Array:
    return np.asarray(np.mean(relative_entropy_terms(mean[:, None], differences), axis=1))


def _largest_information(laws: Array, epsilon: float) -> float:
    """The supremum of I(V; Z) over all eps-LDP channels."""
    columns, mean = staircase_columns(laws.shape[1], epsilon), laws.mean(axis=0)
    values = _information_terms(columns.chances @ mean, columns.excess @ (laws - mean).T)
    return staircase_program(values, columns.chances)


def pairwise_tv(laws: Array) -> Array:
    """Total variation between all pairs of rows."""
    return np.asarray(np.abs(laws[:, None, :] - laws[None, :, :]).sum(axis=2) / 2)


def checked_laws(laws: ArrayLike) -> Array:
    """Laws on a finite alphabet, row by row, or a ValueError that names what is wrong."""
    P = np.asarray(laws, dtype=float)
    if P.ndim != 2 or not np.isfinite(P).all():
        raise ValueError("laws must be a finite array (size, alphabet)")
    if (P < 0).any() or not np.allclose(P.sum(axis=1), 1, rtol=0, atol=1e-9):
        raise ValueError("laws must be non-negative with rows that sum to 1")
    return np.asarray(P / P.sum(axis=1, keepdims=True))


def _checked_tv(total_variation: ArrayLike) -> Array:
    T = np.asarray(total_variation, dtype=float)
    if T.ndim != 2 or T.shape[0] != T.shape[1] or not np.isfinite(T).all():
        raise ValueError("total_variation must be a finite square array")
    if (T < 0).any() or (T > 1).any() or not np.array_equal(T, T.T) or np.diag(T).any():
        raise ValueError("total_variation must be symmetric, in [0, 1], with zero diagonal")
    return T
