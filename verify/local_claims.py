"""The claims for the local model, private records and private labels, and where they are checked.

The contrast between the two is the point of WX21: p log p/(n eps^2) when records are private,
s log p/(n eps^2) when labels are. The sweeps in p of `RECORDS` and `LABELS` share n, C and epsilon,
so that one figure can show it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import numpy as np

from estimators.label_regression import LabelHardThresholding
from estimators.links import Link
from estimators.local_regression import LocalHardThresholding, OneShotThreshold
from estimators.nonprivate_regression import IterativeHardThresholding
from minimax import label_regression, local_regression
from minimax.bound import Bound, Point
from minimax.privacy import Approximate, Model, Pure, Renyi, ZeroConcentrated, at_point
from verify.claim import Claim, Factory, Sweep

PAPER_LINK = Link(lambda t: 8 * t + np.cos(t), lambda t: 8 - np.sin(t), 7.0, 9.0)
"""WX21 §VIII: f(x) = 8x + cos x."""


def _epsilon(point: Point) -> float:
    """The pure budget that a point spells."""
    return point["epsilon"]


def _epsilon_from_rho(point: Point) -> float:
    """A pure budget that gives rho-zCDP: eps^2/2 = rho."""
    return math.sqrt(2 * point["rho"])


def _epsilon_from_renyi(point: Point) -> float:
    """A pure budget that gives (alpha, epsilon)-RDP: alpha eps^2/2 = epsilon."""
    return math.sqrt(2 * point["epsilon"] / point["alpha"])


def _one_shot(budget: Callable[[Point], float]) -> Factory:
    return lambda p: OneShotThreshold(Pure(budget(p), scope="local"), s=1, C=p["C"])


def _interactive(randomiser: Literal["duchi", "privunit"]) -> Factory:
    return lambda p: LocalHardThresholding(
        Pure(p["epsilon"], scope="local"), s=1, C=p["C"], randomiser=randomiser, steps=2
    )


def _labels(model: Model = Pure, link: Link | None = None) -> Factory:
    return lambda p: LabelHardThresholding(
        at_point(model, p, "label"), s=int(p["s"]), C=p["C"], link=link
    )


def _pursuit(p: Point) -> IterativeHardThresholding:
    return IterativeHardThresholding(s=int(p.get("s", 1)))


RECORDS = "local-regression/Theorem 1/pure"
LABELS = "label-regression/Theorem 7/pure"


def _records(name: str, model: Model, lower: Bound, estimator: str, make: Factory) -> Claim:
    return Claim(name, "local-regression", model, lower, estimator, make, _pursuit, scope="local")


def _label(name: str, model: Model, lower: Bound, estimator: str, make: Factory) -> Claim:
    return Claim(name, "label-regression", model, lower, estimator, make, _pursuit, scope="label")


def claims() -> list[Claim]:
    """Every claim about the local model."""
    theorem_2 = local_regression.theorem_2(sharp=True)
    return [
        _records(
            RECORDS,
            Pure,
            local_regression.theorem_1(Pure, sharp=True),
            "OneShotThreshold",
            _one_shot(_epsilon),
        ),
        _records(
            "local-regression/Theorem 2/pure/duchi",
            Pure,
            theorem_2,
            "LocalHardThresholding (duchi)",
            _interactive("duchi"),
        ),
        _records(
            "local-regression/Theorem 2/pure/privunit",
            Pure,
            theorem_2,
            "LocalHardThresholding (privunit)",
            _interactive("privunit"),
        ),
        _records(
            "local-regression/Theorem 3/pure",
            Pure,
            local_regression.theorem_3(sharp=True),
            "OneShotThreshold",
            _one_shot(_epsilon),
        ),
        _records(
            "local-regression/Theorem 4/zCDP",
            ZeroConcentrated,
            local_regression.theorem_4(ZeroConcentrated),
            "OneShotThreshold",
            _one_shot(_epsilon_from_rho),
        ),
        _records(
            "local-regression/Theorem 4/RDP",
            Renyi,
            local_regression.theorem_4(Renyi),
            "OneShotThreshold",
            _one_shot(_epsilon_from_renyi),
        ),
        _label(LABELS, Pure, label_regression.theorem_7(), "LabelHardThresholding", _labels()),
        _label(
            "label-regression/Theorem 7/approximate",
            Approximate,
            label_regression.theorem_7(Approximate),
            "LabelHardThresholding",
            _labels(Approximate),
        ),
        _label(
            "label-regression/Theorem 10/pure",
            Pure,
            label_regression.theorem_10(Pure, PAPER_LINK.f),
            "LabelHardThresholding (f = 8x + cos x)",
            _labels(Pure, PAPER_LINK),
        ),
    ]


_BASE = {"n": 100_000, "p": 16, "C": 2.0}
_DEEP = {"n": 1e14, "p": 1e3, "C": 2.0}

SWEEPS: tuple[Sweep, ...] = (
    Sweep(
        RECORDS,
        "privacy",
        {**_BASE, "epsilon": 0.7},
        {**_DEEP, "epsilon": 1e-2},
        ("n", "p", "epsilon"),
        weight=2,
    ),
    Sweep(
        "local-regression/Theorem 2/pure/duchi",
        "privacy",
        {**_BASE, "p": 6, "epsilon": 0.7},
        {**_DEEP, "epsilon": 1e-2},
        ("n",),
        weight=2,
    ),
    Sweep(
        "local-regression/Theorem 2/pure/privunit",
        "privacy",
        {**_BASE, "p": 6, "epsilon": 2.0},
    ),
    Sweep(
        "local-regression/Theorem 3/pure",
        "privacy",
        {**_BASE, "epsilon": 0.7},
        {**_DEEP, "epsilon": 1e-2},
        ("n", "p"),
    ),
    Sweep(
        "local-regression/Theorem 4/zCDP",
        "privacy",
        {**_BASE, "rho": 0.1},
        {**_DEEP, "rho": 1e-4},
        ("rho",),
        weight=2,
    ),
    Sweep(
        "local-regression/Theorem 4/RDP",
        "privacy",
        {**_BASE, "alpha": 2.0, "epsilon": 0.2},
        {**_DEEP, "alpha": 2.0, "epsilon": 1e-4},
        ("epsilon",),
        weight=2,
    ),
    # Noise large against the largest |<x, theta>|, whose range a label's noise must cover too.
    Sweep(
        LABELS,
        "privacy",
        {"n": 30_000, "p": 32, "s": 2, "C": 8.0, "epsilon": 1.0},
        {**_DEEP, "s": 4, "C": 8.0, "epsilon": 1e-2},
        ("n", "s"),
        weight=2,
    ),
    Sweep(
        LABELS,
        "privacy",
        {**_BASE, "s": 1, "epsilon": 0.7},
        {**_DEEP, "s": 1, "epsilon": 1e-2},
        ("p", "epsilon"),
        weight=2,
    ),
    Sweep(
        "label-regression/Theorem 7/approximate",
        "privacy",
        {"n": 20_000, "p": 32, "s": 1, "C": 2.0, "epsilon": 0.5, "delta": 1e-4},
    ),
    Sweep(
        "label-regression/Theorem 10/pure",
        "privacy",
        {"n": 30_000, "p": 32, "s": 2, "C": 40.0, "b": 9.0, "epsilon": 1.0},
        {**_DEEP, "s": 2, "C": 40.0, "b": 9.0, "epsilon": 1e-2},
        ("n",),
    ),
)
