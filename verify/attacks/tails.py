r"""The two probabilities of CWZ19: Lemma 2.1, counted.

Sign data of uniform means (sigma = 1), A = <x - mu, M>, M clipped to [-1, 1]^d, and the threshold
t = sqrt(8 d log(1/delta)). Part 1: an outsider's score exceeds t with chance below delta. Part 2:
if n < c_1 sqrt(d/log(1/delta)), the chance that the members' sum is at most n t and M within
c_2 sqrt(d) of the sample mean is below delta; c_1 and c_2 are those of `verify.proofs`.

Trials are independent, with one outsider in each: both counts are binomial, and the intervals are
exact (Clopper and Pearson). The control: members in the place of outsiders, at half the threshold,
which outsiders keep too; they must exceed it for the sample mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from attacks.intervals import clopper_pearson
from attacks.mean import SignAttack, lemma_2_1_threshold
from attacks.release import fresh_estimator, released
from minimax.methods.priors import SignPrior
from verify.statements.cwz19.tracing import C_1, C_2

DELTA, N = 0.05, 2
D = math.ceil((N / C_1) ** 2 * math.log(1 / DELTA)) + 1
"""The least dimension of which part 2 speaks."""


@dataclass(frozen=True)
class Tails:
    """How often each event was seen, in so many trials."""

    estimator: str
    trials: int
    outsiders: int
    """Above the threshold."""
    members: int
    """At most the threshold in sum, though the release is next to the sample mean."""
    near: int
    """Releases next to the sample mean."""
    control: int
    """Members above half the threshold."""
    level: float
    seed: int
    catches: bool
    """Whether the members must exceed half of it: the release is the sample mean."""

    def interval(self, count: int) -> tuple[float, float]:
        """Exact, at the level."""
        return clopper_pearson(count, self.trials, self.level)

    @property
    def well(self) -> bool:
        """Neither chance is above delta, and the control is caught."""
        kept = all(self.interval(k)[0] <= DELTA for k in (self.outsiders, self.members))
        return kept and (not self.catches or self.interval(self.control)[0] > DELTA)

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        parts = {"part_1": self.outsiders, "part_2": self.members, "control": self.control}
        found = {
            name: {"count": count, "interval": list(self.interval(count))}
            for name, count in parts.items()
        }
        sizes = {"n": N, "d": D, "delta": DELTA, "trials": self.trials, "seed": self.seed}
        return {"estimator": self.estimator, **sizes, **found, "near": self.near, "well": self.well}


def count_tails(
    name: str, estimator: Any, *, trials: int, seed: int, level: float, catches: bool
) -> Tails:
    """Play the lemma's game; the estimator releases `mean_`."""
    prior = SignPrior(D, 1.0, 2.0)
    attack, t = SignAttack(prior, centred=False), lemma_2_1_threshold(D, 1.0, DELTA)
    seen = np.zeros(4, dtype=int)
    for child in np.random.SeedSequence(seed).spawn(trials):
        rng = np.random.default_rng(child)
        instance = prior.draw(rng)
        sample, outsider = instance.sample(N, rng), instance.sample(1, rng)
        fitted = fresh_estimator(estimator, rng)
        release = np.clip(released(fitted, sample, "mean_"), -1.0, 1.0)
        inside = attack.scores(sample, release, instance, sample)
        outside = attack.scores(outsider, release, instance, sample)
        near = np.linalg.norm(release - sample.mean(axis=0)) < C_2 * math.sqrt(D)
        seen += [
            outside[0] > t,
            bool(near and inside.sum() <= N * t),
            bool(near),
            inside[0] > t / 2,
        ]
    above, below, close, caught = map(int, seen)
    return Tails(name, trials, above, below, close, caught, level, seed, catches)
