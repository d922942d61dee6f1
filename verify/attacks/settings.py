"""Attacks, each with a prior to play it under, and the estimators that it is meant for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from attacks import (
    Attack,
    LabelAttack,
    PublicDesignPrior,
    RegressionAttack,
    RegressionResidualAttack,
    ResidualAttack,
    ScoreAttack,
    ScoreResidualAttack,
    SignAttack,
    SupportAttack,
    SupportRegressionAttack,
    TableAttack,
    TablePopulation,
    TopNormalPrior,
)
from minimax.core.bound import Prior
from minimax.core.privacy import Scope
from minimax.methods.priors import (
    CosinePrior,
    LogisticPrior,
    RegressionBlockPrior,
    RegressionPrior,
    SignPrior,
)

Kind = Literal["mean", "regression", "classification"]
N = 400
"""Records, unless told otherwise."""
SPARSITY, WIDTH = 3, 0.5
"""Of the sparse priors, and the deviation of the labels' noise."""


@dataclass(frozen=True)
class Setting:
    """A prior and an attack on what is released of its samples."""

    name: str
    kind: Kind
    prior: Prior
    attack: Attack
    n: int
    scope: Scope = "central"

    @property
    def attribute(self) -> str:
        """Where estimators of this kind keep their release."""
        return "mean_" if self.kind == "mean" else "coef_"


def _signs(n: int, d: int) -> Setting:
    prior = SignPrior(d, 1.0, 3.0)
    return Setting("signs", "mean", prior, SignAttack(prior, centred=False), n)


def _centred_signs(n: int, d: int) -> Setting:
    prior = SignPrior(d, 1.0, 3.0)
    return Setting("centred-signs", "mean", prior, SignAttack(prior), n)


def _gaussian(n: int, d: int) -> Setting:
    prior = CosinePrior(d, 1.0, WIDTH)
    return Setting("gaussian", "mean", prior, ResidualAttack(prior), n)


def _sparse_mean(n: int, d: int) -> Setting:
    prior = TopNormalPrior(max(d, 8 * SPARSITY + 1), SPARSITY, WIDTH)
    return Setting("sparse-mean", "mean", prior, SupportAttack(WIDTH), n)


def _regression(n: int, d: int) -> Setting:
    prior = RegressionPrior(d, 1.0, WIDTH)
    return Setting("regression", "regression", prior, RegressionAttack(prior), n)


def _regression_residual(n: int, d: int) -> Setting:
    prior = RegressionPrior(d, 1.0, WIDTH)
    return Setting("regression-residual", "regression", prior, RegressionResidualAttack(prior), n)


def _sparse_regression(n: int, d: int) -> Setting:
    prior = RegressionBlockPrior(d, SPARSITY, 0.5, WIDTH)
    return Setting("sparse-regression", "regression", prior, SupportRegressionAttack(WIDTH), n)


def _score(n: int, d: int) -> Setting:
    prior = LogisticPrior(d, 1.0)
    return Setting("score", "classification", prior, ScoreAttack(prior), n)


def _score_residual(n: int, d: int) -> Setting:
    prior = LogisticPrior(d, 1.0)
    return Setting("score-residual", "classification", prior, ScoreResidualAttack(prior), n)


def _local(n: int, d: int) -> Setting:
    prior = RegressionPrior(d, 1.0, WIDTH)
    return Setting("local", "regression", prior, RegressionAttack(prior), n, "local")


def _label(n: int, d: int) -> Setting:
    prior = RegressionPrior(d, 1.0, WIDTH)
    return Setting(
        "label", "regression", PublicDesignPrior(prior, n), LabelAttack(prior), n, "label"
    )


ATTACKS: dict[str, tuple[Callable[[int, int], Setting], int]] = {
    "signs": (_signs, 12),
    "centred-signs": (_centred_signs, 12),
    "gaussian": (_gaussian, 12),
    "sparse-mean": (_sparse_mean, 40),
    "regression": (_regression, 8),
    "regression-residual": (_regression_residual, 8),
    "sparse-regression": (_sparse_regression, 12),
    "score": (_score, 8),
    "score-residual": (_score_residual, 8),
    "local": (_local, 4),
    "label": (_label, 8),
}
"""Every attack by name, and the dimension in which it is played unless told otherwise."""


def setting(name: str, n: int | None = None, d: int | None = None) -> Setting:
    """The attack of this name, at a size."""
    make, usual = ATTACKS[name]
    return make(N if n is None else n, usual if d is None else d)


def table_setting(population: TablePopulation, n: int) -> Setting:
    """The attack on a table."""
    kinds: dict[str, Kind] = {
        "mean": "mean",
        "regression": "regression",
        "logistic": "classification",
    }
    return Setting("table", kinds[population.kind], population, TableAttack(population), n)
