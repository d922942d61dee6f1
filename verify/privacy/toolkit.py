"""What the toolkit itself claims: its mechanisms, its estimators, and the papers' calibrations.

An estimator enters by being exported from `estimators`; a printed calibration must be refuted
exactly if the estimator's own ledger says that it is not private.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags

import estimators
from estimators.core import mechanisms
from estimators.core.base import PrivateEstimator
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import SphereRandomiser
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from verify.privacy.budget import refutes, stated
from verify.privacy.cases import Case
from verify.privacy.neighbours import query_answers
from verify.privacy.outcomes import fresh_copy
from verify.privacy.whitebox import composed

Array = NDArray[np.float64]
BOTH = {"sigma": 1.0, "radius": 1.0}
BOXED = {"bounds": (-1.5, 1.5)}
PUBLIC: dict[str, dict[str, Any]] = {
    "KarwaVadhanMean": {"sigma": 1.0},
    "NoisyMean": BOTH,
    "CoinPressMean": BOTH,
    "SparseMean": BOTH,
    "FrankWolfeMean": BOTH,
    "StableSparseMean": BOTH,
    "SparseResidualClippedRegression": {"entry_bound": 1.0, "radius": 1.0, "sigma": 0.5},
    "ResidualClippedRegression": {"row_bound": 2.0, "radius": 1.0, "sigma": 0.5},
    "PlannedLogisticRegression": {"row_bound": 1.0, "radius": 1.0},
    "PrivateClassifier": BOXED,
    "PrivateMean": BOXED,
    "PrivateScaler": BOXED,
    "PlannedRobustRegression": {"row_bound": 1.0, "radius": 1.0},
    "PrivateRegression": {**BOXED, "response_bounds": (-3, 3)},
}
"""What has no default, because no number fits raw data."""
FURTHER: dict[str, list[dict[str, Any]]] = {
    "NoisyMean": [{"privacy": Pure(1.0)}, {"privacy": ZeroConcentrated(0.5), "R": "quantile"}],
    "SparseMean": [
        {"privacy": Pure(1.0), "method": "peeling", "s": 2},
        {"privacy": ZeroConcentrated(0.5), "R": "percentiles"},
    ],
    "PrivateRegression": [{"privacy": Pure(1.0)}],
    "ResidualClippedRegression": [{"privacy": Gaussian(1.0), "sigma": None}],
}
"""Further options, with budgets of other kinds."""
PAPER: dict[str, Any] = {"privacy": Approximate(2.0, 1e-6), "calibration": "paper"}
PRINTED: dict[str, dict[str, Any]] = {
    "NoisyMean": {"R": "theory", **PAPER},
    "SparseMean": {"method": "peeling", **PAPER},
    "PrivateHardThresholding": {"method": "peeling", "steps": 3, **PAPER},
    "NoisyHardThresholding": PAPER,
    "AdaptiveSufficientStatistics": {"release": "three", **PAPER},
    "PrivateFrankWolfe": {"selection": "laplace", "steps": 30, **PAPER},
    "FrankWolfeMean": {"selection": "laplace", "steps": 30, **PAPER},
    "LabelHardThresholding": {
        "privacy": Approximate(1.0, 1e-3, "label"),
        "calibration": "paper",
        "steps": 3,
    },
}
"""The noise that papers print."""


def sample(estimator: Any, n: int = 12) -> Any:
    """Data as the estimator takes them, the same at every call; no two numbers in X are equal."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n, 3))
    if not get_tags(estimator).target_tags.required:
        return X / 2 + [0.9, 0.3, 0.0]
    y = 0.8 * X[:, 0] + rng.uniform(-0.5, 0.5, n)
    return X, (y > 0).astype(int) if is_classifier(estimator) else y


def estimator_case(name: str, options: dict[str, Any], group: str) -> Case:
    """An exported estimator, which claims what it was asked to keep."""
    kind = getattr(estimators, name)
    labels = {"classes": (0, 1)} if is_classifier(kind()) else {}  # public, which they assume
    made = kind(**{**PUBLIC.get(name, {}), **labels, **options})
    data = sample(made)
    fit = fresh_copy(made, np.random.default_rng(0))
    fit.fit(*(data if isinstance(data, tuple) else (data,)))
    claim: Privacy = made._asked
    kept = not refutes(claim, stated(composed(fit.ledger_, claim)))
    kinds = ", ".join(f"{key}={value}" for key, value in options.items() if key != "privacy")
    shown = {"data": data}
    if is_classifier(made):
        shown["responses"] = [0, 1]
    told = f"{name}({kinds})" if kinds else name
    return Case(f"{told}, {claim}", made, claim, kept, shown, group=group)


def estimator_cases() -> list[Case]:
    """Every exported private estimator, and the printed calibrations."""
    exported = {name: getattr(estimators, name) for name in estimators.__all__}
    private = [
        name
        for name, kind in exported.items()
        if isinstance(kind, type) and issubclass(kind, PrivateEstimator)
    ]
    own = [(name, options) for name in private for options in [{}, *FURTHER.get(name, [])]]
    found = [estimator_case(name, options, "estimators") for name, options in own]
    printed = "printed calibrations"
    return found + [estimator_case(name, options, printed) for name, options in PRINTED.items()]


def _released(data: Any, rng: np.random.Generator, mechanism: Any, **options: Any) -> Any:
    return mechanism(data, rng=rng, **options)[0]


def _reported(data: Any, rng: np.random.Generator, randomiser: Any) -> Any:
    return randomiser.randomise(np.asarray(data)[None], rng).value


def mechanism_cases() -> list[Case]:
    """The mechanisms from which estimators are built, on answers that a record moves by 1 each."""
    answers = {"neighbours": query_answers(4)}
    one, pure = {"sensitivity": 1.0, "epsilon": 1.0}, Pure(1.0)
    rows = {"neighbours": [(np.full((6, 2), 0.5), np.vstack([[3.0, 9.0], np.full((5, 2), 0.5)]))]}
    told: list[tuple[str, Any, dict[str, Any], Privacy, dict[str, Any]]] = [
        ("laplace", mechanisms.laplace, {"l1_sensitivity": 4.0, "epsilon": 1.0}, pure, answers),
        (
            "gaussian",
            mechanisms.gaussian,
            {"l2_sensitivity": 2.0, "scale": 2.0},
            Gaussian(1.0),
            answers,
        ),
        (
            "k_norm l2",
            mechanisms.k_norm,
            {"norm": "l2", "sensitivity": 2.0, "epsilon": 1.0},
            pure,
            answers,
        ),
        ("k_norm linf", mechanisms.k_norm, {"norm": "linf", **one}, pure, answers),
        ("report_noisy_max", mechanisms.report_noisy_max, one, pure, answers),
        ("exponential_mechanism", mechanisms.exponential_mechanism, one, pure, answers),
        ("gumbel_top_k", mechanisms.gumbel_top_k, {"k": 2, **one}, Pure(2.0), answers),
        ("peeling", mechanisms.peeling, {"s": 2, "sensitivity": 1.0, "scale": 6.0}, pure, answers),
        (
            "above_threshold_quantile",
            mechanisms.above_threshold_quantile,
            {"quantile": 0.8, "start": 1.0, "growth": 2.0, "epsilon": 1.0},
            pure,
            rows,
        ),
    ]
    found = [
        Case(
            name,
            partial(_released, mechanism=call, **options),
            claim,
            True,
            shown,
            group="mechanisms",
        )
        for name, call, options, claim, shown in told
    ]
    local = Pure(1.0, "local")
    ends = {"neighbours": [(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))]}
    for kind in (SphereRandomiser, HypercubeRandomiser):
        report = partial(_reported, randomiser=kind(p=2, epsilon=1.0))
        found.append(Case(kind.__name__, report, local, True, ends, group="mechanisms"))
    return found
