r"""An audit with a single fit: many canaries, each in one of two versions.

For estimators that are too slow to refit (Steinke, Nasr and Jagielski, 2023, "Privacy auditing with
one (1) training run"). Two data sets of one shape are given; for each record a fair coin S_i says
from which of them it comes, the mechanism is run once, and from its release y a guess of S_i is
made for r of the m records at which the two data sets differ, r fixed beforehand.

**Statement.** If the mechanism is (epsilon, delta)-DP under replacement of a record, then with
q = e^eps/(1 + e^eps) the number W of right guesses has

    P(W >= v) <= P(Bin(r, q) >= v) + m delta/(1 + e^eps)   for every v.

**Proof.** Fix i and S_1, ..., S_{i-1}, and let P_+ and P_- be the laws of y given S_i = +-1, the
coins after i averaged out. Under the same later coins the two data sets are neighbours, so P_+ and
P_- are (epsilon, delta)-close, as mixtures of close pairs. Let p_i(y) be the chance, given y and
the earlier coins, that the guess t = t(y) of S_i is right: P_t/(P_t + P_-t). Then
(p_i - q)(P_t + P_-t)/2 = (P_t - e^eps P_-t)/(2 (1 + e^eps)), whose positive part integrates, over
{t = +} and {t = -}, to at most (delta + delta)/(2 (1 + e^eps)). So E (p_i - q)^+ <=
delta/(1 + e^eps). Let C_i be 1 where the guess is right and a coin of chance min(1, q/p_i(y)) of
its own falls on heads: given y and all before, C_i = 1 with chance at most q, so that sum C_i is,
given y, stochastically at most Bin(r, q); and it differs from W with chance at most
sum_i E (p_i - q)^+ <= m delta/(1 + e^eps).

**Constants.** Attained for delta = 0 by randomised response on every record. The guesses may be any
function of y. The published bound has a smaller term with delta.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special, stats

from attacks.estimate import check_confidence, check_count
from minimax.core.privacy import Approximate, Privacy, Pure
from verify.privacy.auditing import CONFIDENCE
from verify.privacy.budget import check_claim, refutes
from verify.privacy.outcomes import CannotAudit, Data, subject

Array = NDArray[np.float64]
Score = Callable[[Any], Array]
"""From a release to one number for each record: large where it looks like the first version."""
RELEASED = ("mean_", "coef_")
GUESSED = 3
"""One canary in so many is guessed, those of which the release says most."""


@dataclass(frozen=True)
class OneRun:
    """What one release told of its canaries."""

    claim: Privacy
    canaries: int
    guesses: int
    right: int
    lower: float
    """epsilon is really at least this, with the stated confidence."""
    confidence: float
    seed: int

    @property
    def refuted(self) -> bool:
        """Whether the claim is refuted."""
        return refutes(self.claim, self.lower)

    def summary(self) -> str:
        """One line, and what it means."""
        verdict = "REFUTED" if self.refuted else "NOT REFUTED"
        return (
            f"claimed {self.claim}: {verdict}; {self.right} of {self.guesses} guesses right,"
            f" {self.canaries} canaries in one run,\nepsilon >= {self.lower:.4g} with confidence"
            f" {self.confidence:g}; seed {self.seed}"
        )

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {**asdict(self), "claim": str(self.claim), "refuted": self.refuted}


def chance_of(right: int, guesses: int, canaries: int, epsilon: float, delta: float) -> float:
    """The most that (epsilon, delta)-DP gives so many right guesses, or more."""
    q = float(special.expit(epsilon))
    leaked = canaries * delta * float(special.expit(-epsilon))
    return min(float(stats.binom.sf(right - 1, guesses, q)) + leaked, 1.0)


def least_epsilon(right: int, guesses: int, canaries: int, delta: float, level: float) -> float:
    """The largest epsilon at which so many right guesses have a chance of at most `level`; or 0."""

    def seldom(epsilon: float) -> bool:
        return chance_of(right, guesses, canaries, epsilon, delta) <= level

    if not seldom(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while seldom(high):
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if seldom(middle) else (low, middle)
    return low


def one_run_audit(
    mechanism: Any,
    claim: Privacy,
    first: Data,
    second: Data,
    *,
    score: Score | None = None,
    guesses: int | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> OneRun:
    """Try to refute a claim with one release.

    Parameters
    ----------
    mechanism, claim : as for `audit`; the claim is pure or (epsilon, delta), and central
    first, second : two data sets of one shape, arrays or (X, y); records at which they differ are
        canaries, the others stay
    score : from a release to one number for each record. Default: <release, a - b> for records a
        and b of the two, or <release, a y_a - b y_b>, of the attribute `mean_` or `coef_`
    guesses : how many canaries are guessed, those whose scores are farthest from their mean;
        default a third of them
    """
    check_claim(claim)
    if not isinstance(claim, (Pure, Approximate)) or claim.scope != "central":
        raise CannotAudit(f"claim must be pure or (epsilon, delta), and central; got {claim}")
    check_confidence(confidence)
    check_count("seed", seed, 0)
    canaries = np.flatnonzero(_differ(first, second))
    if not len(canaries):
        raise CannotAudit("first and second are the same: there is no canary")
    count = max(1, len(canaries) // GUESSED) if guesses is None else guesses
    check_count("guesses", count, 1)
    if count > len(canaries):
        raise CannotAudit(f"guesses must be at most {len(canaries)}, got {count}")
    rng = np.random.default_rng(seed)
    coins = rng.random(_length(first)) < 0.5
    release = subject(mechanism).call(_mixed(first, second, coins), rng)
    scores = np.asarray((score or _contrast(first, second))(release), dtype=float)[canaries]
    if not np.isfinite(scores).all():
        raise CannotAudit("score must give finite numbers")
    distance = scores - scores.mean()
    told = np.argsort(-np.abs(distance), kind="stable")[:count]
    right = int(np.count_nonzero((distance[told] > 0) == coins[canaries[told]]))
    delta = claim.delta if isinstance(claim, Approximate) else 0.0
    lower = least_epsilon(right, count, len(canaries), delta, 1 - confidence)
    return OneRun(claim, len(canaries), count, right, lower, confidence, seed)


def _parts(data: Data) -> tuple[Array, ...]:
    parts = data if isinstance(data, tuple) else (data,)
    return tuple(np.asarray(part, dtype=float) for part in parts)


def _length(data: Data) -> int:
    return len(_parts(data)[0])


def _differ(first: Data, second: Data) -> NDArray[np.bool_]:
    found = np.zeros(_length(first), dtype=bool)
    for a, b in zip(_parts(first), _parts(second), strict=True):
        if a.shape != b.shape:
            raise CannotAudit(f"first and second must have one shape, got {a.shape} and {b.shape}")
        found |= np.any((a != b).reshape(len(a), -1), axis=1)
    return found


def _mixed(first: Data, second: Data, coins: NDArray[np.bool_]) -> Data:
    """Record i of the first data set where its coin fell on heads, else of the second."""
    mixed = []
    for a, b in zip(_parts(first), _parts(second), strict=True):
        pick = coins.reshape(-1, *[1] * (a.ndim - 1))
        mixed.append(np.where(pick, a, b))
    return tuple(mixed) if isinstance(first, tuple) else mixed[0]


def _contrast(first: Data, second: Data) -> Score:
    """The release in the direction in which the two versions of a record pull it."""

    def directions(data: Data) -> Array:
        X, *y = _parts(data)
        rows = X.reshape(len(X), -1)
        return rows * y[0][:, None] if y else rows

    pulled = directions(first) - directions(second)

    def score(release: Any) -> Array:
        if isinstance(release, dict):
            known = [name for name in RELEASED if name in release]
            if not known:
                raise CannotAudit(f"score must be given: the fit sets none of {RELEASED}")
            release = release[known[0]]
        vector = np.ravel(np.asarray(release, dtype=float))
        if len(vector) != pulled.shape[1]:
            raise CannotAudit(f"score must be given: the release has {len(vector)} numbers")
        return np.asarray(pulled @ vector)

    return score
