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
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import ArrayLike, NDArray
from scipy import special

from minimax.methods.divergences import affinity_from_tv, kl_from_tv, staircase_supremum
from minimax.methods.fano import EXACT_ALPHABET, checked_laws, pairwise_tv

Array = NDArray[np.float64]


def testing_risk(separation: Any, log_affinity: Any) -> Any:
    r"""**Statement.** R >= (separation/2) (1 - sqrt(1 - e^{2 log_affinity})).

    `separation` is inf_u L(u, 1) + L(u, 2), log_affinity at most log int sqrt(m_1 m_2).
    **Proof.** The mean loss is at least (separation/2) int min(m_1, m_2), which is
    1 - TV >= 1 - sqrt(1 - affinity^2).
    """
    symbolic = any(isinstance(x, sp.Basic) for x in (separation, log_affinity))
    root, square = (
        (sp.sqrt, sp.exp(2 * log_affinity))
        if symbolic
        else (np.sqrt, np.exp(2 * np.asarray(log_affinity)))
    )
    # 1 - sqrt(1 - q) without cancellation.
    return separation / 2 * square / (1 + root(1 - square))


def squared_risk(distance: Any, log_affinity: Any) -> Any:
    r"""**Statement.** For squared loss and points at this distance, R >= (distance^2/4) affinity^2.

    **Proof.** The Bayes risk of two points is (distance^2/4) int 2 m_1 m_2/(m_1 + m_2), and
    (int sqrt(m_1 m_2))^2 <= int 2 m_1 m_2/(m_1 + m_2) int (m_1 + m_2)/2. Up to twice
    `testing_risk` with separation distance^2/2.
    """
    exp = sp.exp if isinstance(log_affinity, sp.Basic) else np.exp
    return distance**2 / 4 * exp(2 * log_affinity)


@dataclass(frozen=True)
class LeCamBound:
    """A private Le Cam bound: on a risk with two points, and on telling them apart."""

    log_affinity: float
    """Lower bound on log int sqrt(m_1 m_2) over all n reports."""
    total_variation: float
    """Upper bound on the total variation between the two laws of all n reports."""

    def risk(self, separation: float) -> float:
        """Lower bound on the risk when every estimate has total loss >= `separation`."""
        if not separation > 0:
            raise ValueError(f"separation must be positive, got {separation!r}")
        return float(separation / 2 * (1 - self.total_variation))

    def squared(self, distance: float) -> float:
        """Lower bound on the squared-error risk of two points at this distance."""
        if not distance > 0:
            raise ValueError(f"distance must be positive, got {distance!r}")
        by_test = self.risk(distance**2 / 2)
        return float(max(squared_risk(distance, self.log_affinity), by_test))


def two_points(
    n: int,
    epsilon: float,
    *,
    laws: ArrayLike | None = None,
    total_variation: float | None = None,
) -> LeCamBound:
    r"""Two laws of a record, n sequentially interactive eps-LDP reports.

    **Statement.** log int sqrt(m_1 m_2) >= n log a with a the least affinity that one channel can
    give: `affinity_from_tv`, or computed (`staircase_supremum`) for laws on a small alphabet; and
    TV^2 <= min{1 - a^{2n}, n D/2}, D the largest KL of one round in the better direction.

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
    deficit = 1 - affinity_from_tv(epsilon, t)
    kl = kl_from_tv(epsilon, t)
    if P is not None and P.shape[1] <= EXACT_ALPHABET:
        first, second = P
        k = P.shape[1]
        exact = staircase_supremum(lambda c: _hellinger(c @ first, c @ second), k, epsilon)
        deficit = min(deficit, exact)
        for one, other in ((first, second), (second, first)):
            kl = min(kl, staircase_supremum(_kl_value(one, other[None]), k, epsilon))
    log_affinity = n * math.log1p(-min(deficit, 1 - 1e-16))
    return _from(max(log_affinity, -n * kl / 2), n * kl)


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
        kl = min(kl, staircase_supremum(_kl_value(P0[0], P), k, epsilon))
    return _from(-n * kl / 2, n * kl)


def _from(log_affinity: float, kl: float) -> LeCamBound:
    by_affinity = math.sqrt(-math.expm1(2 * log_affinity))
    return LeCamBound(log_affinity, min(by_affinity, math.sqrt(kl / 2), 1.0))


def _kl_value(base: Array, laws: Array) -> Any:
    """mean_v KL(P_0 K|P_v K) by columns; m_v - m_0, of sum 0, is added to make it second order."""

    def value(columns: Array) -> Array:
        first = columns @ base
        return np.asarray(np.mean(special.kl_div(first[:, None], columns @ laws.T), axis=1))

    return value


def _hellinger(first: Array, second: Array) -> Array:
    return np.asarray((np.sqrt(first) - np.sqrt(second)) ** 2 / 2)


def _check(n: int, epsilon: float) -> None:
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n!r}")
    if not (epsilon > 0 and math.isfinite(epsilon)):
        raise ValueError(f"epsilon must be positive and finite, got {epsilon!r}")
