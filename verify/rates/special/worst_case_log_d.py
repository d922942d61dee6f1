r"""The finding against CWZ19: Theorem 3.3: worst-case risk of a private estimator against log d.

s = 1. `StableSparseMean` needs only the two largest of the d truncated means, so d = e^{10^6} can
be simulated: with Gamma_1 < Gamma_2 the first points of a unit Poisson process, the two largest of
d - 1 null magnitudes |N(0, sigma^2/n)| are at log(2 Q(m sqrt n/sigma)) = log Gamma_k - log d. The
decision itself is the estimator's own code. The truncation level R = radius + 4 sigma sqrt(log n)
leaves all but a fraction n^{-8} of a Gaussian coordinate untouched, so the truncated mean is drawn
as N(mu, sigma^2/n). The worst case measured is over Gaussian data; the upper bound beside it is
proved for the whole class.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from scipy import special

from estimators.core.truncation import theoretical_truncation
from estimators.stable_sparse_mean import stable_release
from minimax.core.privacy import Approximate
from minimax.methods.blocks import information_formula, information_search
from minimax.methods.couplings import BlockPacking
from minimax.methods.packing import packing_formula, packing_search
from minimax.papers import THIS_WORK
from minimax.problems.sparse_mean.stable_upper import stable_risk
from verify.console import track
from verify.rates.claim import Ceiling
from verify.rates.grid import Profile
from verify.rates.judge import fit_slope
from verify.rates.measure import Measurement, cell_seed, interval
from verify.rates.rows import SlopeRow, WorstCaseRow
from verify.rates.special import Found, Special

Array = NDArray[np.float64]
CLAIM = "sparse-mean/worst case/log d"
N = 10**10
EPSILON = 1e-3
DELTA = float(N) ** -2
FITTED = (1e5, 2.15e5, 4.64e5, 1e6)
SHOWN = (1e3, 1e4, *FITTED)
SIGNALS = 16


@dataclass(frozen=True)
class WorstCase:
    """Worst risk over the signal's size at one log d, with the bounds next to it."""

    log_d: float
    signal: float
    measured: Measurement
    lower: float
    lower_source: str
    packing: float
    claimed: float


def null_maxima(log_d: float, sigma: float, draws: int, rng: np.random.Generator) -> Array:
    """The two largest of e^log_d null magnitudes of means of N records, for each draw."""
    gamma = np.cumsum(rng.exponential(size=(draws, 2)), axis=1)
    log_tail = np.minimum(np.log(gamma) - log_d, 0.0) - math.log(2)
    return np.asarray(-special.ndtri_exp(log_tail) * sigma / math.sqrt(N))


def worst_case_losses(
    log_d: float, signal: float, draws: int, rng: np.random.Generator, sigma: float = 1.0
) -> Array:
    """Losses of StableSparseMean when the one non-zero coordinate has mean `signal`."""
    R = theoretical_truncation(N, sigma, 1.0)
    nulls = null_maxima(log_d, sigma, draws, rng)
    found = signal + sigma / math.sqrt(N) * rng.standard_normal(draws)
    out = np.empty(draws)
    for i in range(draws):
        mine = abs(found[i])
        true_first = mine > nulls[i, 0]
        second = nulls[i, 0] if true_first else max(mine, nulls[i, 1])
        first = found[i] if true_first else nulls[i, 0]
        released = stable_release(
            np.array([abs(first), second]),
            np.array([first]),
            n=N,
            R=R,
            epsilon=EPSILON,
            delta=DELTA,
            rng=rng,
        )
        if released.size == 0:
            out[i] = signal**2
        elif true_first:
            out[i] = (released.values[0] - signal) ** 2
        else:
            out[i] = signal**2 + released.values[0] ** 2
    return out


def candidate_signals(log_d: float, sigma: float = 1.0) -> Array:
    """Sizes around the largest that can be missed: null maximum plus the stability threshold."""
    R = theoretical_truncation(N, sigma, 1.0)
    threshold = 4 * R / N * (1 + 2 * math.log(1 / (2 * DELTA)) / EPSILON)
    edge = sigma * math.sqrt(2 * log_d / N) + threshold
    return np.asarray(edge * np.linspace(0.85, 1.15, SIGNALS))


def worst_case(log_d: float, draws: int, seed: int, alpha: float) -> WorstCase:
    """The worst signal at this log d: picked on one sample, measured on a fresh one."""
    label = f"{CLAIM}|{log_d:g}"
    own = cell_seed(seed, label)
    pick, fresh = (np.random.default_rng(c) for c in np.random.SeedSequence(own).spawn(2))
    signals = candidate_signals(log_d)
    risks = [worst_case_losses(log_d, float(m), draws // 8, pick).mean() for m in signals]
    signal = float(signals[int(np.argmax(risks))])
    measured = interval(worst_case_losses(log_d, signal, draws, fresh), alpha, own)
    blocks = 2 ** round(log_d / math.log(2))  # an integer with that logarithm
    privacy = Approximate(EPSILON, DELTA)
    coupled = BlockPacking(float(N), blocks, 1, 1.0, 1.0, "sub-Gaussian")
    packing = float(packing_formula(coupled, privacy, packing_search(coupled, privacy)))
    found = information_search(N, blocks, 1, 1.0, 1.0)
    statistical = float(information_formula(N, blocks, 1, 1.0, found))
    return WorstCase(
        log_d,
        signal,
        measured,
        lower=max(packing, statistical),
        lower_source="sparse_mean.packing" if packing > statistical else "sparse_mean.statistical",
        packing=packing,
        claimed=log_d / N + (log_d / (N * EPSILON)) ** 2,
    )


def worst_case_row(case: WorstCase) -> WorstCaseRow:
    """A case as a row of the report."""
    return WorstCaseRow(
        claim=CLAIM,
        problem="sparse-mean",
        regime="privacy",
        point={
            "n": N,
            "log_d": case.log_d,
            "s": 1,
            "sigma": 1.0,
            "radius": 1.0,
            "epsilon": EPSILON,
            "delta": DELTA,
            "signal": case.signal,
        },
        estimator="StableSparseMean",
        privacy=str(Approximate(EPSILON, DELTA)),
        measured=case.measured,
        lower=case.lower,
        lower_source=f"{THIS_WORK}: {case.lower_source}",
        upper=Ceiling(
            stable_risk(case.log_d, n=N, sigma=1.0, radius=1.0, epsilon=EPSILON, delta=DELTA),
            f"{THIS_WORK}: stable_upper.stable_upper",
        ),
        packing=case.packing,
        claimed=case.claimed,
    )


def exponent(rows: list[WorstCaseRow], alpha: float) -> SlopeRow:
    """Exponent of the worst-case risk in log d: 1, where CWZ19: Theorem 3.3 claims 2."""
    fitted = tuple(row for row in rows if row.point["log_d"] in FITTED)
    x = [row.point["log_d"] for row in fitted]
    return SlopeRow(
        claim=CLAIM,
        regime="privacy",
        variable="log_d",
        slope=fit_slope(x, [row.measured for row in fitted], alpha),
        expected=1.0,
        expected_source=f"{THIS_WORK}: StableSparseMean; CWZ19: Theorem 3.3 claims 2",
        rows=fitted,
    )


def check(profile: Profile, seed: int, alpha: float, console: Console | None) -> Found:
    """Worst-case risk at every log d, and its exponent."""
    shown = track(SHOWN, console, "worst case in log d", len(SHOWN))
    cases = [worst_case(log_d, profile.worst_case_draws, seed, alpha) for log_d in shown]
    rows = [worst_case_row(case) for case in cases]
    return Found(rows, slopes=[exponent(rows, alpha)])


SPECIAL = Special(
    CLAIM,
    against="packing and Fano [dim](against CWZ19: Theorem 3.3, refuted)[/dim]",
    by="StableSparseMean",
    intervals=len(SHOWN),
    check=check,
)
