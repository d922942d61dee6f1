"""The claims for the local model: private records and private labels.

The contrast between the two is the point of WX21: p log p/(n eps^2) when records are private,
s log p/(n eps^2) when labels are. The sweeps in p of `RECORDS` and `LABELS` share n, C and epsilon,
so that one figure can show it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from estimators.controls.regression import IterativeHardThresholding
from estimators.core.links import Link
from estimators.halving import SequentialHalving
from estimators.label_regression import LabelHardThresholding
from estimators.local_regression import LocalHardThresholding, OneShotThreshold
from minimax.core.bound import LowerBound, Point, UpperBound
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
    at_point,
)
from minimax.core.randomised_response import randomised_response_epsilon
from minimax.problems.label_regression import lower as label_regression
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.local_regression import lower as local_regression
from minimax.problems.local_regression.problem import LocalRegressionProblem
from verify.rates.claim import Claim, Factory, Sweep, proven

PAPER_LINK = Link(lambda t: 8 * t + np.cos(t), lambda t: 8 - np.sin(t), 7.0, 9.0)
"""WX21 §VIII: f(x) = 8x + cos x."""


def _one_shot(model: type[Privacy]) -> Factory:
    """One bit from each user, at the epsilon that spends the budget of any definition."""

    def estimator_at(p: Point) -> OneShotThreshold:
        epsilon = randomised_response_epsilon(at_point(model, p, "local"))
        return OneShotThreshold(Pure(epsilon, scope="local"), s=1, C=p["C"])

    return estimator_at


def _soft_caps(p: Point) -> OneShotThreshold:
    """What OneShotThreshold does under zCDP when it is not told: a soft cap from each user."""
    return OneShotThreshold(ZeroConcentrated(p["rho"], scope="local"), s=1, C=p["C"])


def _halving(p: Point) -> SequentialHalving:
    return SequentialHalving(Pure(p["epsilon"], scope="local"), C=p["C"])


def _interactive(randomiser: Literal["duchi", "privunit"]) -> Factory:
    return lambda p: LocalHardThresholding(
        Pure(p["epsilon"], scope="local"), s=1, C=p["C"], randomiser=randomiser, steps=2
    )


def _labels(model: type[Privacy] = Pure, link: Link | None = None) -> Factory:
    return lambda p: LabelHardThresholding(
        at_point(model, p, "label"), s=LabelRegressionProblem.at(p).s, C=p["C"], link=link
    )


def _one_step(p: Point) -> LabelHardThresholding:
    return LabelHardThresholding(
        Pure(p["epsilon"], scope="label"),
        s=LabelRegressionProblem.at(p).s,
        C=p["C"],
        mechanism="binary",
        steps=1,
        step_size=1.0,
    )


def _plain_labels(link: Link) -> Factory:
    """The twin where there is a link: the same descent on labels with next to no noise."""
    plain = Gaussian(1e9, scope="label")
    return lambda p: LabelHardThresholding(
        plain, s=LabelRegressionProblem.at(p).s, C=p["C"], link=link
    )


def _pursuit(p: Point) -> IterativeHardThresholding:
    return IterativeHardThresholding(s=int(p.get("s", 1)))


RECORDS = "local-regression/Theorem 1/pure"
LABELS = "label-regression/Theorem 7/pure"


def _record_claim(
    name: str,
    model: type[Privacy],
    lower: LowerBound,
    estimator: str,
    estimator_at: Factory,
    *sweeps: Sweep,
    upper: Callable[[Point], UpperBound] | None = None,
) -> Claim:
    return Claim(
        name=name,
        problem=LocalRegressionProblem,
        model=model,
        lower=lower,
        estimator=estimator,
        estimator_at=estimator_at,
        non_private=_pursuit,
        sweeps=sweeps,
        upper=upper,
        projects=True,
    )


def _one_shot_claim(name: str, model: type[Privacy], lower: LowerBound, *sweeps: Sweep) -> Claim:
    """In the loss of the lower bound."""
    estimator_at = _one_shot(model)
    upper = proven(estimator_at, partial(LocalRegressionProblem.at, loss=lower.loss))
    return _record_claim(name, model, lower, "OneShotThreshold", estimator_at, *sweeps, upper=upper)


def _interactive_claim(randomiser: Literal["duchi", "privunit"], sweep: Sweep) -> Claim:
    return _record_claim(
        f"local-regression/Theorem 2/pure/{randomiser}",
        Pure,
        local_regression.wx21_theorem_2(sharp=True),
        f"LocalHardThresholding ({randomiser})",
        _interactive(randomiser),
        sweep,
        upper=proven(_interactive(randomiser), LocalRegressionProblem.at),
    )


LINK_UNPROVED = "what is proved of the link's descent is above 1 until n = 150,000"


def _label_claim(
    name: str, model: type[Privacy], lower: LowerBound, *sweeps: Sweep, link: Link | None = None
) -> Claim:
    return Claim(
        name=name,
        problem=LabelRegressionProblem,
        model=model,
        lower=lower,
        estimator="LabelHardThresholding" + (" (f = 8x + cos x)" if link else ""),
        estimator_at=_labels(model, link),
        non_private=_plain_labels(link) if link else _pursuit,
        sweeps=sweeps,
        upper=None if link else proven(_labels(model), LabelRegressionProblem.at),
        unproved=LINK_UNPROVED if link else "",
        projects=True,
    )


BASE = {"n": 50_000, "p": 8, "C": 2.0}
ASYMPTOTIC = {"n": 1e14, "p": 8, "C": 2.0, "epsilon": 1e-2}
"""At the p of the cells: log p has no exponent but the local one."""
ASYMPTOTIC_LABELS = {"n": 1e14, "p": 8, "C": 2.0, "s": 1, "epsilon": 1e-2}


def _record_claims() -> list[Claim]:
    return [
        _one_shot_claim(
            RECORDS,
            Pure,
            local_regression.wx21_theorem_1(Pure, sharp=True),
            # Small epsilon for its exponent: reports lose coth(eps/2)^2, which is 4/eps^2 only
            # there.
            Sweep("privacy", {**BASE, "p": 4, "epsilon": 0.5}, ASYMPTOTIC, ("epsilon",), weight=5),
            Sweep("privacy", {**BASE, "epsilon": 0.7}, ASYMPTOTIC, ("n", "p"), weight=3),
        ),
        _interactive_claim(
            "duchi",
            Sweep(
                "privacy",
                {**BASE, "p": 4, "epsilon": 0.7},
                ASYMPTOTIC,
                ("n",),
                weight=3,
                base_weight=1,
            ),
        ),
        _interactive_claim("privunit", Sweep("privacy", {**BASE, "epsilon": 1.0})),
        _record_claim(
            "local-regression/Theorem 2/pure/halving",
            Pure,
            local_regression.wx21_theorem_2(sharp=True),
            "SequentialHalving",
            _halving,
            # Not in p: the users who estimate the value add a term of order sqrt(p)/n, which at the
            # p that can be simulated record by record is of the size of the bound's p/n. Nor in
            # epsilon: where coth(eps/2) is 2/eps, many more users are needed for estimates that
            # are not clipped.
            Sweep(
                "privacy",
                {**BASE, "n": 20_000, "epsilon": 0.7},
                ASYMPTOTIC,
                ("n",),
                weight=7,
                base_weight=2,
            ),
            upper=proven(_halving, LocalRegressionProblem.at),
        ),
        _one_shot_claim(
            "local-regression/Theorem 3/pure",
            Pure,
            local_regression.wx21_theorem_3(sharp=True),
            # Not in p: the estimator pays sqrt(log p) here, which the bound does not have.
            Sweep("privacy", {**BASE, "epsilon": 0.5}, ASYMPTOTIC, ("n", "epsilon"), weight=2),
        ),
        _one_shot_claim(
            "local-regression/Theorem 4/zCDP",
            ZeroConcentrated,
            local_regression.wx21_theorem_4(ZeroConcentrated),
            Sweep(
                "privacy",
                {**BASE, "rho": 0.1},
                {"n": 1e14, "p": 8, "C": 2.0, "rho": 1e-4},
                ("rho",),
                weight=3,
            ),
        ),
        _record_claim(
            "local-regression/Theorem 4/zCDP/soft caps",
            ZeroConcentrated,
            local_regression.wx21_theorem_4(ZeroConcentrated),
            "OneShotThreshold (soft caps)",
            _soft_caps,
            Sweep("privacy", {**BASE, "rho": 0.4}),
            upper=proven(_soft_caps, LocalRegressionProblem.at),
        ),
        _one_shot_claim(
            "local-regression/Theorem 4/RDP",
            Renyi,
            local_regression.wx21_theorem_4(Renyi),
            Sweep(
                "privacy",
                {**BASE, "alpha": 2.0, "epsilon": 0.2},
                {**ASYMPTOTIC, "alpha": 2.0, "epsilon": 1e-4},
                ("epsilon",),
                weight=3,
                base_weight=1.5,
            ),
        ),
    ]


def _label_claims() -> list[Claim]:
    return [
        _label_claim(
            LABELS,
            Pure,
            label_regression.wx21_theorem_7(),
            # Noise large against the largest |<x, theta>|, whose range a label's noise must cover.
            Sweep(
                "privacy",
                {"n": 15_000, "p": 64, "s": 2, "C": 8.0, "epsilon": 1.5},
                {**ASYMPTOTIC_LABELS, "p": 64, "s": 2, "C": 8.0},
                ("s",),
                weight=3,
            ),
            Sweep(
                "privacy",
                {**BASE, "n": 20_000, "s": 1, "epsilon": 0.5},
                ASYMPTOTIC_LABELS,
                ("epsilon",),
                weight=4,
                base_weight=1,
            ),
            Sweep(
                "privacy",
                {**BASE, "s": 1, "epsilon": 0.7},
                ASYMPTOTIC_LABELS,
                ("n", "p"),
                weight=3,
                base_weight=1,
            ),
        ),
        Claim(
            name="label-regression/Theorem 7/pure/one step",
            problem=LabelRegressionProblem,
            model=Pure,
            lower=label_regression.wx21_theorem_7(),
            estimator="LabelHardThresholding (one step)",
            estimator_at=_one_step,
            non_private=_pursuit,
            sweeps=(
                Sweep(
                    "privacy",
                    {**BASE, "n": 20_000, "s": 1, "epsilon": 0.7},
                    ASYMPTOTIC_LABELS,
                    ("n",),
                    weight=2,
                ),
            ),
            upper=proven(_one_step, LabelRegressionProblem.at),
            projects=True,
        ),
        _label_claim(
            "label-regression/Theorem 7/approximate",
            Approximate,
            label_regression.wx21_theorem_7(Approximate),
            Sweep(
                "privacy",
                {"n": 20_000, "p": 32, "s": 1, "C": 2.0, "epsilon": 0.5, "delta": 1e-4},
            ),
        ),
        _label_claim(
            "label-regression/Theorem 10/pure",
            Pure,
            label_regression.wx21_theorem_10(Pure, PAPER_LINK.f),
            Sweep(
                "privacy",
                {"n": 30_000, "p": 32, "s": 2, "C": 40.0, "b": 9.0, "epsilon": 0.6},
                {**ASYMPTOTIC_LABELS, "p": 32, "s": 2, "C": 40.0, "b": 9.0},
                ("n",),
                base_weight=0.5,
            ),
            link=PAPER_LINK,
        ),
    ]


def claims() -> list[Claim]:
    """Every claim about the local model."""
    return _record_claims() + _label_claims()
