"""WG19 §6 chooses options by five-fold cross-validation: as there, without charge, and charged."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from sklearn.model_selection import KFold, cross_val_score

from estimators import Budget, NoisyHardThresholding, PrivateScore
from verify.figures.panel import Fit, Method, Options, Point, budget, seed_of
from verify.figures.panels.wg19_methods import (
    Contest,
    Records,
    Rng,
    Split,
    half_mse,
    noisy_descent,
    noisy_thresholding,
)

FOLDS = 5
FITS, SCORES = 0.3, 0.1
"""The parts of a budget for all fits to folds, and for all their scores; the rest is for the last
fit, to all records. In mu², which adds up: see `estimators.core.budget`."""
FREE_IGHT = "DP-IGHT, cross-validated, choice not charged"
CHARGED_IGHT = "DP-IGHT, cross-validated, choice charged"
CHARGES = {
    "choice charged": (
        f"the same {FOLDS} folds and options; fits to folds have {FITS:.0%} of the budget, noisy"
        f" scores {SCORES:.0%}, the last fit the rest: ε is of all together"
    ),
    "choice not charged": "every fit has the whole budget: all together are not private",
}


def cross_validated(
    sample: Records,
    point: Point,
    rng: Rng,
    *,
    fit: Callable[..., Fit],
    choices: Sequence[Options],
) -> Fit:
    """The options of least squared error over five folds, then a fit to all records.

    Every fit has the whole budget and the choice is not charged, as in WG19 §6: what is released is
    not private.
    """
    errors = [_fold_error(sample, point, rng, fit, options) for options in choices]
    chosen = choices[int(np.argmin(errors))]
    return fit(sample, point, rng, **chosen)._replace(epsilon=math.inf)


def _fold_error(
    sample: Records, point: Point, rng: Rng, fit: Callable[..., Fit], options: Options
) -> float:
    total = 0.0
    for kept, held in KFold(FOLDS).split(sample.X):
        part = Split(sample.X[kept], sample.y[kept], sample.X[held], sample.y[held])
        total += half_mse(fit(part, point, rng, **options).estimate, part) * len(held)
    return total


def charged(
    sample: Records,
    point: Point,
    rng: Rng,
    *,
    make: Callable[..., NoisyHardThresholding],
    choices: Sequence[Options],
    R: float,
) -> Fit:
    """The same choice with a budget that every fit and every score draws from.

    What is spent is what the whole budget is: the last fit has options that follow the scores.
    """
    whole = Budget(budget(point))
    each = len(choices) * FOLDS
    score = PrivateScore(
        whole.share(SCORES / each), "neg_mean_squared_error", (-R, R), random_state=seed_of(rng)
    )

    def scored(options: Options) -> float:
        model = make(whole.share(FITS / each), rng, **options)
        folds = KFold(FOLDS)
        return float(np.mean(cross_val_score(model, sample.X, sample.y, cv=folds, scoring=score)))

    chosen = max(choices, key=scored)
    last = make(whole.share(1 - FITS - SCORES), rng, **chosen).fit(sample.X, sample.y)
    return Fit(last.coef_, budget(point).epsilon)


def by_cross_validation(contest: Contest) -> tuple[Method, ...]:
    """DP-IGHT, its options chosen as the paper does, and by a choice that is paid for."""
    known, choices = {"loss": contest.loss, **contest.descent}, contest.descents.options
    free = partial(cross_validated, fit=partial(noisy_thresholding, **known), choices=choices)
    paid = partial(charged, make=partial(noisy_descent, **known), choices=choices, R=contest.R)
    return (Method(FREE_IGHT, "not private", free), Method(CHARGED_IGHT, "private", paid))
