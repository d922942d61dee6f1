r"""Scores of held-out records, released privately: for `scoring` of a cross-validation or a search.

A fold's score reads records that nobody has paid for. With a `PrivateScore` it is released with
noise and drawn from the budget, so that what is computed from the scores (``best_params_``,
``best_score_``) is private. With any other score it is not, however private the fits are.

**Guarantee.** All fits and scores together are within the budget if folds do not depend on the
records (``cv=KFold(5)``: the default for a classifier is stratified, and one label would move
others to other folds) and if every step that learns from records is private. (Given what was
released before, a model is fixed; replacing a record of the fold then moves the average by at most
the sensitivity below, and a record outside it by nothing.)
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import numpy as np
from sklearn.base import is_regressor

from estimators.core.base import Array, Seed, as_floats, generator_from
from estimators.core.budget import Share
from estimators.core.checks import SAFE_RANGE, check_between
from estimators.core.purse import Purse
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

Metric = Literal["accuracy", "r2", "neg_mean_squared_error"]
"""By scikit-learn's names: more is better."""


class PrivateScore:
    r"""A scorer ``(estimator, X, y) -> float`` that draws from a budget and adds noise.

    **accuracy**: the share of labels that are predicted. One record moves it by 1/n. A regressor's
    predictions are taken for log-odds, which predict label 1 where they are positive, else 0.

    **neg_mean_squared_error**, **r2**: responses and predictions are clipped to `response_bounds`
    and moved to [-1, 1], u and v. The mean of (u - v)^2 moves by at most 4/n; that of the vector
    ((u - v)^2, u, u^2), which R^2 is computed from, by sqrt(20)/n in l2. Proof: (u - v)^2 lies in
    [0, 4]. With a = |u - u'| and b = |u + u'|, a + b <= 2, the others move by a^2 (1 + b^2) <=
    a^2 (5 - 4a + a^2) in square, which grows in a up to 4 at a = 2; all is attained at u = 1,
    u' = v = v' = -1.

    Folds must not follow the records, as stratified ones do: give ``cv=KFold(5)``.

    Scores are not clipped, so that an accuracy may exceed 1, and noise brings no bias but to the
    quotient in R^2, whose variance of y is taken to be at least one deviation of its noise.

    Parameters
    ----------
    share : Share
        Of a central `Budget`, drawn at every call: ``budget.share(0.02)``.
    metric : {"accuracy", "r2", "neg_mean_squared_error"}
    response_bounds : (low, high) or None
        The range of y, a public fact; not needed for accuracy.
    random_state : None, int, Generator or RandomState

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import KFold, cross_val_score
    >>> from estimators import Budget, NoisyGradientRegression, PrivateScore
    >>> from minimax import Approximate
    >>> rng = np.random.default_rng(0)
    >>> X = rng.choice([-0.5, 0.5], size=(20_000, 4))
    >>> y = X @ [0.6, 0, 0, -0.6] + 0.1 * rng.standard_normal(20_000)
    >>> budget = Budget(Approximate(1.0, 1e-6))
    >>> model = NoisyGradientRegression(budget.share(0.15), sigma=0.1)
    >>> score = PrivateScore(budget.share(0.05), "r2", response_bounds=(-1.5, 1.5))
    >>> scores = cross_val_score(model, X, y, cv=KFold(5), scoring=score)
    >>> bool(scores.mean() > 0.8), budget.left
    (True, None)
    """

    def __init__(
        self,
        share: Share,
        metric: Metric = "accuracy",
        response_bounds: tuple[float, float] | None = None,
        random_state: Seed = None,
    ) -> None:
        if not isinstance(share, Share):
            raise TypeError(f"share must be a share of a Budget, so that it counts; got {share!r}")
        if share.budget.total.scope != "central":
            raise ValueError(f"share must be of a central budget, got {share!r}")
        if metric not in get_args(Metric):
            raise ValueError(f"metric must be one of {get_args(Metric)}, got {metric!r}")
        self.share, self.metric, self.random_state = share, metric, random_state
        self.response_bounds = response_bounds
        if metric != "accuracy":
            self._centre_and_half()

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:
        """The score of the estimator on these records, with noise."""
        with self.share.drawing(type(self).__name__) as drawing:
            privacy = drawing.hand(Gaussian, ZeroConcentrated, Approximate, Pure)
            rng = drawing.generator(generator_from(self.random_state))
            predicted = np.asarray(estimator.predict(X))
            if self.metric == "accuracy" and is_regressor(estimator):
                predicted = predicted > 0
            means, sensitivity = self._means(predicted, y)
            purse = Purse(privacy, rng, len(y))
            noisy = purse.release(means, sensitivity / len(y), 1.0, self.metric)
            drawing.enter(tuple(purse.ledger))
        if self.metric == "accuracy":
            return float(noisy[0])
        _, half = self._centre_and_half()
        if self.metric == "neg_mean_squared_error":
            return float(-noisy[0] * half**2)
        deviation = purse.deviation(sensitivity / len(y), len(noisy), 1.0)
        return float(1 - noisy[0] / max(noisy[2] - noisy[1] ** 2, deviation))

    def _means(self, predicted: Any, y: Any) -> tuple[Array, float]:
        """The averages to release, and by how much n times them can move in l2."""
        if self.metric == "accuracy":
            labels = np.asarray(y)
            self._check_lengths(predicted, labels)
            return np.array([np.mean(predicted == labels)]), 1.0
        centre, half = self._centre_and_half()
        low, high = centre - half, centre + half
        labels = np.asarray(as_floats("y", y), dtype=float)
        self._check_lengths(predicted, labels)
        # A prediction for a record near the largest float may be none: it is the centre's then.
        settled = np.nan_to_num(predicted.astype(float), nan=centre)
        clipped = (np.clip(values, low, high) for values in (labels, settled))
        u, v = (np.clip((values - centre) / half, -1, 1) for values in clipped)
        squares = np.square(u - v)
        if self.metric == "r2":
            return np.array([squares.mean(), u.mean(), np.square(u).mean()]), math.sqrt(20)
        return np.array([squares.mean()]), 4.0

    def _check_lengths(self, predicted: Any, labels: Any) -> None:
        if labels.ndim != 1 or predicted.shape != labels.shape or not len(labels):
            raise ValueError(
                "y and the predictions must be one number or label for each record, got shapes"
                f" {labels.shape} and {predicted.shape}"
            )

    def _centre_and_half(self) -> tuple[float, float]:
        """The middle of the response's range, and half its width."""
        try:
            low, high = (float(bound) for bound in self.response_bounds or ())
        except (TypeError, ValueError):
            raise ValueError(
                f"response_bounds must be (low, high), the public range of y, for {self.metric};"
                f" got {self.response_bounds!r}"
            ) from None
        if not -math.inf < low < high < math.inf:
            raise ValueError(f"response_bounds must be low < high, got {self.response_bounds!r}")
        check_between(*SAFE_RANGE, response_bounds=(high - low) / 2)
        return (low + high) / 2, (high - low) / 2

    def __repr__(self) -> str:
        return f"PrivateScore({self.share!r}, {self.metric!r})"
