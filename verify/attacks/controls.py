"""What the checks are tried on: each control must fail the check that it names."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attacks import RegressionAttack, ResidualAttack, SignAttack
from estimators import LeastSquares, NoisyMean, SampleMean
from estimators.controls.regression import IterativeHardThresholding
from minimax.core.bound import Instance, Prior, Sample
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.priors import CosinePrior, RegressionPrior, SignPrior
from verify.attacks.matches import Match
from verify.attacks.settings import WIDTH, Setting, setting

Array = NDArray[np.float64]
STRICT: tuple[Privacy, ...] = (Approximate(0.1, 1e-9), ZeroConcentrated(0.00125), Pure(0.1))
"""Budgets at which the sample's own scores are more than privacy allows."""
FEW = 100
"""Records, for the same reason."""
SHORT = {"signs": (10, 200)}
"""The printed attack <x - mu, M> is not centred: it needs many columns and few records."""
WIDE = 40
"""Columns at which noise is all there is, and the ceiling is near."""


@dataclass(frozen=True)
class Displaced:
    """A prior whose records have another mean than the adversary believes."""

    prior: Prior
    shift: float

    def draw(self, rng: np.random.Generator) -> DisplacedInstance:
        """The believed instance, with records from another."""
        return DisplacedInstance(self.prior.draw(rng), self.shift)


@dataclass(frozen=True, eq=False)
class DisplacedInstance:
    """Records of an instance, moved."""

    believed: Instance
    shift: float

    @property
    def target(self) -> Array:
        """What the adversary believes."""
        return self.believed.target

    def sample(self, n: int, rng: np.random.Generator) -> Sample:
        """What there is."""
        drawn: Any = self.believed.sample(n, rng)
        return np.asarray(drawn + self.shift)

    def loss(self, estimate: Array) -> float:
        """That of the believed instance."""
        return self.believed.loss(estimate)


def controls() -> list[Match]:
    """All of them."""
    return [*_not_private(), *_too_little_noise(), *_wrong_prior()]


def _not_private() -> list[Match]:
    """Twins that add no noise."""
    twins: dict[str, Any] = {
        "signs": SampleMean(),
        "centred-signs": SampleMean(),
        "gaussian": SampleMean(),
        "sparse-mean": SampleMean(),
        "regression": LeastSquares(),
        "regression-residual": LeastSquares(),
        "sparse-regression": LeastSquares(),
        "score": IterativeHardThresholding(s=8, loss="logistic"),
        "score-residual": IterativeHardThresholding(s=8, loss="logistic"),
    }
    found = []
    for name, twin in twins.items():
        game = setting(name, *SHORT.get(name, (FEW,)))
        told = f"{type(twin).__name__}, no noise"
        found += [Match(game, told, twin, claim, "ceiling") for claim in STRICT]
    label = setting("label", FEW)
    labels = Gaussian(0.1, "label")
    return [*found, Match(label, "LeastSquares, no noise", LeastSquares(), labels, "ceiling")]


def _too_little_noise() -> list[Match]:
    """Half of the noise that the claim asks for, where the ceiling is near."""
    prior = CosinePrior(WIDE, 0.05, WIDTH)  # near 0, about which records are clipped to a ball
    game = replace(setting("gaussian", d=WIDE), prior=prior, attack=ResidualAttack(prior))
    options: dict[str, Any] = {"R": 1.1 * WIDTH * math.sqrt(WIDE), "clip": "ball"}
    found = []
    for rho in (0.02, 0.05):
        claim, loud = ZeroConcentrated(rho), ZeroConcentrated(4 * rho)
        half, whole = NoisyMean(loud, **options), NoisyMean(claim, **options)
        found.append(Match(game, "NoisyMean, half of its noise", half, claim, "ceiling"))
        found.append(Match(game, "NoisyMean, all of its noise", whole, claim))
    return found


def _wrong_prior() -> list[Match]:
    """An adversary who is wrong about the records' mean, or about the prior of it."""
    right = setting("gaussian", FEW)
    moved = replace(right, prior=Displaced(right.prior, 0.2))
    mistaken = "records 0.2 off the believed mean"
    found = [Match(moved, f"SampleMean, {mistaken}", SampleMean(), None, "outsiders")]
    other: list[tuple[Setting, Any]] = [
        (setting("signs", FEW), SignAttack(SignPrior(12, 1.0, 6.0), centred=False)),
        (setting("regression", FEW), RegressionAttack(RegressionPrior(8, 3.0, WIDTH))),
    ]
    shrinking = {"mean": Shrunk("mean_"), "regression": Shrunk("coef_")}
    for game, attack in other:
        wrong = replace(game, attack=attack)
        twin = shrinking[game.kind]
        found.append(Match(wrong, f"{twin!r}, another prior", twin, None, "identity"))
        found.append(Match(game, repr(twin), twin, None))
    return found


@dataclass
class Shrunk:
    """Half of the sample mean, or of least squares: not private, and biased."""

    attribute: str

    def __repr__(self) -> str:
        return "half of what is not private"

    def fit(self, X: Any, y: Any = None) -> Shrunk:
        """Half of what the data say."""
        twin: Any = SampleMean().fit(X) if y is None else LeastSquares().fit(X, y)
        setattr(self, self.attribute, getattr(twin, self.attribute) / 2)
        return self
