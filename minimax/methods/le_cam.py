r"""Le Cam's method for locally private reports, sequentially interactive.

Reports Z_1, ..., Z_n: the channel of record i may depend on Z_1, ..., Z_{i-1}, and is eps-LDP for
each value of them. Two tools survive the interaction:

* affinity: int sqrt(m_1 m_2) over n rounds is at least the n-th power of the least affinity of one
  round (condition on the past, round by round);
* KL from one base law M_0: by the chain rule KL(M_0|M_v) is a sum over rounds of an expectation
  under M_0, the same law for every v, so an average over v may be taken inside.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from minimax.core.bound import ROUNDING
from minimax.core.symbolic import ULP, Number, library
from minimax.methods.divergences import (
    Columns,
    deficit_from_tv,
    kl_from_tv,
    relative_entropy_terms,
    staircase_columns,
    staircase_program,
)
from minimax.methods.fano import EXACT_ALPHABET, checked_laws, pairwise_tv

Array = NDArray[np.float64]


def testing_risk(separation: Number, log_affinity: Number) -> Number:
    r"""**Statement.** R >= (separation/2) (1 - sqrt(1 - e^{2 log_affinity})).

    `separation` is inf_u L(u, 1) + L(u, 2), log_affinity at most log int sqrt(m_1 m_2).
    **Proof.** The mean loss is at least (separation/2) int min(m_1, m_2), which is
    1 - TV >= 1 - sqrt(1 - affinity^2).
    """
    lib = library(separation, log_affinity)
    # 1 - sqrt(1 - q) without cancellation.
    return separation / 2 * lib.exp(2 * log_affinity) / (1 + lib.sqrt(-lib.expm1(2 * log_affinity)))


def squared_risk(distance: Number, log_affinity: Number) -> Number:
    r"""**Statement.** For squared loss and points at this distance, R >= (distance^2/4) affinity^2.

    **Proof.** The Bayes risk of two points is (distance^2/4) int 2 m_1 m_2/(m_1 + m_2), and
    (int sqrt(m_1 m_2))^2 <= int 2 m_1 m_2/(m_1 + m_2) int (m_1 + m_2)/2. Up to twice
    `testing_risk` with separation distance^2/2.
    """
    return distance**2 / 4 * library(log_affinity).exp(2 * log_affinity)


@dataclass(frozen=True)
class LeCamBound:
    """A private Le Cam bound: on a risk with two points, and on telling them apart."""

    log_affinity: float
    """Lower bound on log int sqrt(m_1 m_2) over all n reports."""
    kl: float
    """Upper bound on the smaller divergence between the two laws of all n reports."""

    @property
    def total_variation(self) -> float:
        """Upper bound on the total variation between the two laws of all n reports."""
        by_affinity = math.sqrt(-math.expm1(2 * self.log_affinity))
        return min(min(by_affinity, math.sqrt(self.kl / 2)) * (1 + ROUNDING), 1.0)

    def risk(self, separation: float) -> float:
        """Lower bound on the risk when every estimate has total loss >= `separation`.

        1 - TV is not formed: near 0 it has no digits.
        """
        if not separation > 0:
            raise ValueError(f"separation must be positive, got {separation!r}")
        by_divergence = separation / 2 * (1 - math.sqrt(self.kl / 2))
        return (1 - ROUNDING) * max(testing_risk(separation, self.log_affinity), by_divergence)

    def squared(self, distance: float) -> float:
        """Lower bound on the squared-error risk of two points at this distance."""
        if not distance > 0:
            raise ValueError(f"distance must be positive, got {distance!r}")
        by_affinity = (1 - ROUNDING) * squared_risk(distance, self.log_affinity)
        return max(by_affinity, self.risk(distance**2 / 2))


def two_points(
    n: int,
    epsilon: float,
    *,
    laws: ArrayLike | None = None,
    total_variation: float | None = None,
) -> LeCamBound:
    r"""Two laws of a record, n sequentially interactive eps-LDP reports.

    **Statement.** log int sqrt(m_1 m_2) >= n log a with a the least affinity that one channel can
    give: one minus `deficit_from_tv`, or computed (`staircase_supremum`) for laws on a small
    alphabet; and TV^2 <= min{1 - a^{2n}, n D/2}, D the largest KL of one round in the better
    direction.

    **Proof.** Module docstring, the chain rule for KL and Pinsker's inequality TV^2 <= KL/2.
    """
    _check(n, epsilon)
    if (laws is None) == (total_variation is None):
        raise ValueError("give exactly one of laws, total_variation")
    P: Array | None = None
    if laws is not None:
        P = checked_laws(laws)
        if len(P) != 2:
            raise ValueError(f"laws must have two rows, got {len(P)}")
        t = float(pairwise_tv(P)[0, 1])
    else:
        assert total_variation is not None
        t = float(total_variation)
        if not 0 <= t <= 1:
            raise ValueError(f"total_variation must lie in [0, 1], got {t!r}")
    deficit, kl = deficit_from_tv(epsilon, t), kl_from_tv(epsilon, t)
    if P is not None and P.shape[1] <= EXACT_ALPHABET:
        first, second = P
        columns = staircase_columns(P.shape[1], epsilon)
        deficit = min(
            deficit, staircase_program(_hellinger(columns, first, second), columns.chances)
        )
        for one, other in ((first, second), (second, first)):
            kl = min(kl, _largest_kl(columns, one, other[None]))
    return _over_rounds(n, deficit, kl)


def point_against_mixture(
    n: int, epsilon: float, *, base: ArrayLike, laws: ArrayLike
) -> LeCamBound:
    r"""One law P_0 against the mixture of the products P_v^n, v uniform.

    **Statement.** KL(M_0^n|mean_v M_v^n) <= n sup_K mean_v KL(P_0 K|P_v K), hence a bound on
    TV and on the affinity of the two hypotheses, for sequentially interactive eps-LDP reports.

    **Proof.** Convexity of KL in its second argument, then the chain rule under M_0. The supremum
    is computed for alphabets up to `EXACT_ALPHABET`; otherwise it is at most the mean of
    `kl_from_tv`. Averaging inside the supremum is the point: one channel cannot look in all
    directions v at once.

    **Source.** WX21: Lemma 9, whose Pinsker inequality reads sqrt(D)/2 for sqrt(D/2).
    """
    _check(n, epsilon)
    P0, P = checked_laws(np.atleast_2d(np.asarray(base, dtype=float))), checked_laws(laws)
    if P0.shape != (1, P.shape[1]):
        raise ValueError(f"base must be one law on {P.shape[1]} letters, got shape {P0.shape}")
    k = P.shape[1]
    distances = np.abs(P - P0).sum(axis=1) / 2
    kl = float(np.mean([kl_from_tv(epsilon, float(t)) for t in distances]))
    if k <= EXACT_ALPHABET:
        kl = min(kl, _largest_kl(staircase_columns(k, epsilon), P0[0], P))
    return _over_rounds(n, 1.0, kl)


def _over_rounds(n: int, deficit: float, kl: float) -> LeCamBound:
    """From one round's deficit and KL, each with some ulps for the rounding of its formula.

    log int sqrt(m_1 m_2) is at least -KL/2 too, by Jensen's inequality.
    """
    deficit, kl = deficit * (1 + 16 * ULP), n * kl * (1 + 16 * ULP)
    by_deficit = n * math.log1p(-deficit) if deficit < 1 else -math.inf
    return LeCamBound(max(by_deficit, -kl / 2), kl)


def _largest_kl(columns: Columns, base: Array, laws: Array) -> float:
    """sup_K mean_v KL(P_0 K|P_v K)."""
    differences = columns.excess @ (base - laws).T
    terms = relative_entropy_terms(columns.chances @ laws.T, differences)
    return staircase_program(np.mean(terms, axis=1), columns.chances)


def _hellinger(columns: Columns, first: Array, second: Array) -> Array:
    """(sqrt m_1 - sqrt m_2)^2/2 by columns, from the difference: close laws lose no digits."""
    roots = np.sqrt(columns.chances @ first) + np.sqrt(columns.chances @ second)
    difference = columns.excess @ (first - second)
    return np.asarray((difference / np.where(roots > 0, roots, 1.0)) ** 2 / 2)


def _check(n: int, epsilon: float) -> None:
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}")
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon must be positive and finite, got {epsilon!r}")
