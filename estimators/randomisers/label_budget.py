"""From a privacy budget to the randomiser of labels that spends it."""

from __future__ import annotations

import math
from typing import Literal

from scipy import optimize, special

from estimators.core.accounting import Ledger, check_composable, compose
from estimators.core.checks import check_between, check_positive, check_whole
from estimators.core.design import Design
from estimators.randomisers.labels import (
    BinaryLabels,
    GaussianLabels,
    LaplaceLabels,
    PureFromApproximate,
    SubGamma,
    paper_label_scale,
    purifying_clip,
)
from minimax.core.privacy import Approximate, Pure, SpendablePrivacy

LabelRandomiser = LaplaceLabels | GaussianLabels | BinaryLabels | PureFromApproximate
Mechanism = Literal["auto", "laplace", "binary", "gaussian", "genprot"]
LabelCalibration = Literal["analytic", "paper"]
PURE = ("laplace", "binary", "genprot")
"""Mechanisms that are pure. Of an (epsilon, delta) budget the bit spends all, others epsilon."""
FAILURE = 0.01
"""Chance at which all of GenProt's reports together may differ from Gaussian ones."""


def label_randomiser(
    privacy: SpendablePrivacy,
    bound: float,
    n: int,
    *,
    mechanism: Mechanism = "auto",
    calibration: LabelCalibration = "analytic",
    C: float = 1.0,
) -> LabelRandomiser:
    """What turns n labels within [-bound, bound] into reports that spend the budget.

    "auto" takes the one of the smallest worst-case squared error:

    * Pure: `BinaryLabels` up to epsilon = 2.32, then `LaplaceLabels`. (GenProt is never better:
      its noise is that of about a quarter of epsilon, and for a tail.)
    * (epsilon, delta): one of these, the bit at the e > epsilon that spends delta too, or
      `GaussianLabels`, whose variance is larger by a factor of order log(1/delta) unless epsilon
      or delta is large.
    * zCDP, GDP: `GaussianLabels`.

    ``calibration="paper"`` is WX21's noise `paper_label_scale`, which C gives and `bound` does not.
    """
    check_positive(bound=bound)
    check_whole(n=n)
    check_composable(privacy=privacy)
    choices = ("auto", "gaussian", *PURE)
    if mechanism not in choices:
        raise ValueError(f"mechanism must be one of {choices}, got {mechanism!r}")
    if calibration not in ("analytic", "paper"):
        raise ValueError(f"calibration must be 'analytic' or 'paper', got {calibration!r}")
    if calibration == "paper":
        if mechanism not in ("auto", "gaussian") or not isinstance(privacy, Approximate):
            raise ValueError(
                "calibration='paper' is for Gaussian noise and (epsilon, delta), "
                f"not for mechanism={mechanism!r} and {privacy}"
            )
        return GaussianLabels(bound, paper_label_scale(C, privacy.epsilon, privacy.delta))
    if mechanism != "auto":
        return _named(mechanism, privacy, bound, n)
    candidates: list[LaplaceLabels | BinaryLabels | GaussianLabels] = []
    if isinstance(privacy, (Pure, Approximate)):
        bit = BinaryLabels.calibrated(bound, privacy)
        candidates = [bit, LaplaceLabels(bound, privacy.epsilon)]
    if not isinstance(privacy, Pure):
        candidates.append(GaussianLabels.calibrated(bound, privacy))
    return min(candidates, key=lambda candidate: candidate.error())


def _named(mechanism: str, privacy: SpendablePrivacy, bound: float, n: int) -> LabelRandomiser:
    if mechanism in PURE:
        if not isinstance(privacy, (Pure, Approximate)):
            raise ValueError(f"mechanism={mechanism!r} spends an epsilon, not {privacy}")
        if mechanism == "genprot":
            return purified_labels(bound, privacy.epsilon, n)
        if mechanism == "binary":
            return BinaryLabels.calibrated(bound, privacy)
        return LaplaceLabels(bound, privacy.epsilon)
    if isinstance(privacy, Pure):
        raise ValueError(f"mechanism='gaussian' is never pure: it cannot spend {privacy}")
    return GaussianLabels.calibrated(bound, privacy)


def purified_labels(
    bound: float, epsilon: float, n: int, failure: float = FAILURE
) -> PureFromApproximate:
    r"""GenProt over Gaussian noise, epsilon-LDP: n reports with the Gaussian law but for `failure`.

    **Statement.** With T >= log2(2n/failure) public samples, the clip that spends epsilon at this T
    and the noise at which P(|l| > clip) <= failure/(2n), the joint law of the n reports is within
    total variation `failure` of that of `GaussianLabels`.

    **Proof.** l is N(+-mu^2/2, mu^2) under the label and under the reference, mu = |y|/scale, so
    |l| > clip has the same chance under both, say k. Then m = E a = (P_y(|l| <= clip) +
    P_0(|l| > clip))/2 = 1/2 exactly; a/m differs from the density ratio only where |l| > clip,
    which is at most (k + k)/2 in total variation; the rest of the report's law
    (`PureFromApproximate`) has the weight 2^-T. Sum over n. For mu^2 <= 2 clip, k grows with mu:
    the worst label is +-bound.

    **Constants.** clip is about epsilon/4 for small epsilon, so the variance is at most about
    32 bound^2 log(2n/failure)/epsilon^2, against 4 bound^2/epsilon^2 of `BinaryLabels`.
    """
    check_positive(bound=bound, epsilon=epsilon)
    check_whole(n=n)
    check_between(0, 1, failure=failure)
    samples = max(2, math.ceil(math.log2(2 * n / failure)))
    clip = purifying_clip(epsilon, samples)
    chance = failure / (2 * n)

    def excess(mu: float) -> float:
        outside = special.ndtr(mu / 2 - clip / mu) + special.ndtr(-mu / 2 - clip / mu)
        return float(outside) - chance

    widest = math.sqrt(2 * clip)  # there the chance is above 1/2
    mu = optimize.brentq(excess, 1e-3 * clip, widest, xtol=1e-12 * widest)
    return PureFromApproximate(GaussianLabels(bound, bound / float(mu)), clip, samples)


def noise_tail(randomiser: LabelRandomiser, C: float) -> SubGamma:
    """The tail of report minus expected label, the label's own noise being centred and at most C.

    That of GenProt is the Gaussian one, but for the chance `FAILURE`.
    """
    if not isinstance(randomiser, PureFromApproximate):
        return randomiser.tail(C)
    assert isinstance(randomiser.base, GaussianLabels)
    return randomiser.base.tail(C)


def noise_level(design: Design, tail: SubGamma, chance: float) -> float:
    """What max_j |sum_i x_ij Z_i|/n exceeds with at most this chance, Z_i of this tail.

    A union bound over p columns and two signs: L = log(2p/chance) in `SubGamma.deviation`.
    """
    check_between(0, 1, chance=chance)
    lengths, largest = design.column_sizes()
    deviations = tail.deviation(lengths, largest, math.log(2 * design.d / chance))
    return float(deviations.max()) / design.n


def real_epsilon(ledger: Ledger, asked: SpendablePrivacy) -> float | None:
    """The epsilon really given at the delta of an (epsilon, delta) budget; None for others."""
    if not isinstance(asked, Approximate):
        return None
    given = compose(ledger, Approximate, asked.delta)
    assert isinstance(given, Approximate)
    return given.epsilon
