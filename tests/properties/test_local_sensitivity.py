"""What a user of a local estimator reports has a density within e^epsilon, whatever the records.

The inputs of the randomiser are caught inside `fit`; the largest log ratio of densities between two
records, over the worst reports, is at most epsilon and is attained. The controls are the paper's
radius without a clip, whose coin has a probability above 1, and a budget that is too small.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from estimators import SequentialHalving, local_regression
from estimators.core.links import IDENTITY, Link, gradient_bound
from estimators.core.mechanisms import Release
from estimators.local_regression import LocalHardThresholding, OneShotThreshold
from estimators.randomisers import averages
from estimators.randomisers.base import mean_of_reports
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import Randomiser
from minimax.core.privacy import Pure
from tests.effort import part
from tests.strategies import Data, log_floats, neighbours

Array = NDArray[np.float64]
QUICK = settings(max_examples=part(20, of=60), deadline=None, derandomize=True)
ROUNDING = 1e-9
ALPHA = 1e-6
PAPER = Link(lambda t: 8 * t + np.cos(t), lambda t: 8 - np.sin(t), 7.0, 9.0)
BROKEN = Link(  # fails at one point that the check does not look at
    lambda t: np.where(t == 0.1234321, np.nan, t),
    lambda t: np.where(t == 0.1012321, np.inf, 1),
    1.0,
    1.0,
)


def _deceiving(t: Array) -> Array:
    """Honest on the grids that the check looks at, and a mixture of the users in a group."""
    if len(t) < 3:
        raise RuntimeError("too few users")
    return t if len(t) > 100 else t / np.abs(t).max()


DECEIVING = Link(_deceiving, np.ones_like, 1.0, 1.0)
values = st.one_of(
    st.floats(-1, 1),
    st.floats(-1e6, 1e6),
    st.floats(-1e300, 1e300),
    st.sampled_from([0.0, 1.0, -1.0, 0.1012321, 0.1234321, 1e-300]),
)


def caught(estimator: Any, X: Array, y: Array) -> tuple[list[Array], Randomiser]:
    """What each group's randomiser is given, with reports held at a fixed path."""
    inputs: list[Array] = []

    def held(chunks: Any, randomiser: Randomiser, rng: np.random.Generator) -> Release[Array]:
        inputs.append(np.vstack([np.array(chunk) for chunk in chunks]))
        path = np.random.default_rng(len(inputs)).standard_normal(randomiser.p)
        return Release(path, randomiser.entry(len(inputs[-1])))

    def watched(self: Randomiser, Z: Array, rng: np.random.Generator) -> Release[Array]:
        inputs.append(np.array(Z))
        return Release(np.array(Z), self.entry(len(Z)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HypercubeRandomiser, "randomise", watched)
        for module in (averages, local_regression):
            patch.setattr(module, "mean_of_reports", held)
        fitted = estimator.fit(X, y)
    return inputs, fitted.randomiser_


def worst_reports(randomiser: Randomiser, one: Array, other: Array) -> Array:
    """Reports along and against both inputs: the extreme densities are among theirs."""
    directions = np.vstack([one, other, -one, -other, np.eye(randomiser.p), -np.eye(randomiser.p)])
    if isinstance(randomiser, HypercubeRandomiser):
        return np.where(directions >= 0, randomiser.size, -randomiser.size)
    sizes = np.abs(directions).max(axis=1)
    scaled = directions[sizes > 1e-290] / sizes[sizes > 1e-290][:, None]
    return np.asarray(scaled)


def loss(randomiser: Randomiser, one: Array, other: Array) -> float:
    """The largest |log ratio| of the densities of a report, over those of `worst_reports`."""
    reports = worst_reports(randomiser, one, other)
    ratio = randomiser.log_likelihood(reports, one) - randomiser.log_likelihood(reports, other)
    return float(np.abs(ratio).max())


PAIRS = neighbours(values, records=(3, 7), columns=(1, 5))


def changed_record(here: Data, there: Data) -> int:
    """Where two neighbours differ; the first place if they do not."""
    return int(np.argmax((here[0] != there[0]).any(axis=1) | (here[1] != there[1])))


@pytest.mark.parametrize("randomiser", ["duchi", "privunit"])
@pytest.mark.parametrize(
    "link",
    [None, PAPER, BROKEN, DECEIVING],
    ids=["identity", "paper", "broken", "deceiving"],
)
@QUICK
@given(pair=PAIRS, epsilon=log_floats(1e-2, 8), clip=st.sampled_from(["auto", 1e-2, 50.0]))
def test_a_report_is_private_whatever_the_record(
    randomiser: Any, link: Any, pair: Any, epsilon: float, clip: Any
) -> None:
    (X, y), (other_X, other_y) = pair
    i = changed_record(*pair)
    estimator = LocalHardThresholding(
        Pure(epsilon, scope="local"), link=link, randomiser=randomiser, clip=clip, steps=2
    )
    ours, kind = caught(estimator, X, y)
    theirs, _ = caught(estimator, other_X, other_y)
    assert [len(group) for group in ours] == [len(y) // 2, len(y) - len(y) // 2]
    first, second = np.vstack(ours), np.vstack(theirs)
    assert np.isfinite(first).all()
    others = np.arange(len(y)) != i
    np.testing.assert_array_equal(first[others], second[others])
    assert loss(kind, first[i], second[i]) <= epsilon + ROUNDING
    norms = np.linalg.norm(kind.clip(first), axis=1)
    assert norms.max() <= kind.radius * (1 + 1e-12)


@pytest.mark.parametrize("report", ["coordinate", "hypercube"])
@QUICK
@given(pair=PAIRS, epsilon=log_floats(1e-2, 8))
def test_a_one_shot_report_is_private_whatever_the_record(
    report: Any, pair: Any, epsilon: float
) -> None:
    (X, y), (other_X, other_y) = pair
    i = changed_record(*pair)
    estimator = OneShotThreshold(Pure(epsilon, scope="local"), report=report)

    (first, *_), kind = caught(estimator, X, y)
    (second, *_), _ = caught(estimator, other_X, other_y)
    others = np.arange(len(y)) != i
    np.testing.assert_array_equal(first[others], second[others])
    assert np.abs(first).max() <= kind.radius * (1 + 1e-12)
    assert loss(kind, first[i], second[i]) <= epsilon + ROUNDING


@QUICK
@given(pair=PAIRS, epsilon=log_floats(1e-2, 8))
def test_a_report_about_a_candidate_is_private_whatever_the_record(
    pair: Any, epsilon: float
) -> None:
    """With the others' records and reports as they are, up to the changed user's own round."""
    (X, y), (other_X, other_y) = pair
    i = changed_record(*pair)
    estimator = SequentialHalving(Pure(epsilon, scope="local"))
    ours, kind = caught(estimator, X, y)
    theirs, _ = caught(estimator, other_X, other_y)
    sizes = [len(group) for group in ours]
    assert sum(sizes) == len(y)
    mine = int(np.searchsorted(np.cumsum(sizes), i, side="right"))
    for k in range(mine + 1):
        first, second = ours[k], theirs[k]
        others = np.arange(len(first)) != (i - sum(sizes[:k]) if k == mine else -1)
        np.testing.assert_array_equal(first[others], second[others])
    place = i - sum(sizes[:mine])
    assert max(np.abs(group).max() for group in ours) <= kind.radius * (1 + 1e-12)
    assert loss(kind, ours[mine][place], theirs[mine][place]) <= epsilon + ROUNDING


def test_without_the_clip_a_report_is_not_private() -> None:
    """The control: a bit with the mean of an unclipped product has the wrong ratio."""
    (inputs, *_), kind = caught(SequentialHalving(), np.full((4, 1), 1e6), np.full(4, 1e6))
    assert np.abs(inputs).max() == kind.radius
    t = math.tanh(0.5)
    towards, away = ((1 + sign * t * 1.9 * inputs[0, 0] / kind.radius) / 2 for sign in (1, -1))
    assert math.log(towards / away) > 2.5  # a record 1.9 times outside the range, epsilon = 1
    clipped, opposite = ((1 + sign * t * inputs[0, 0] / kind.radius) / 2 for sign in (1, -1))
    assert math.log(clipped / opposite) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "estimator",
    [
        LocalHardThresholding(steps=1, clip=1.0),
        LocalHardThresholding(steps=1, clip=1.0, randomiser="privunit"),
        LocalHardThresholding(steps=1),
        OneShotThreshold(),
        OneShotThreshold(report="hypercube"),
        SequentialHalving(),
    ],
    ids=["duchi", "privunit", "class radius", "bit", "hypercube", "halving"],
)
def test_the_budget_is_attained(estimator: Any) -> None:
    """Records far outside every range, in opposite directions, use all of epsilon."""
    X = np.array([[1e6, -1e6, 1e6], [1.0, 1.0, 1.0]])
    (inputs, *_), kind = caught(estimator, X, np.array([1e6, 0.5]))
    (opposite, *_), _ = caught(estimator, X, np.array([-1e6, 0.5]))
    assert loss(kind, inputs[0], opposite[0]) == pytest.approx(1.0, abs=ROUNDING)
    assert not loss(kind, inputs[0], opposite[0]) <= 0.99


def test_the_printed_radius_has_coins_with_probability_above_one() -> None:
    """WX21 takes |<x, theta>| <= 1, hence |g| <= (C + 2) sqrt p: false at s = p = 2."""
    C, p, s = 0.5, 2, 2
    x, theta = np.ones(p), np.ones(p) / math.sqrt(2)
    y = -(x @ theta) - C  # the record of theta* = -theta with noise -C: in the class
    length = float(np.linalg.norm((x @ theta - y) * x))
    printed, ours = (C + 2) * math.sqrt(p), gradient_bound(IDENTITY, p, s, s, C)
    assert 0.5 + length / (2 * printed) > 1
    assert 0.5 + length / (2 * ours) == pytest.approx(1)

    def ratio(share: float) -> float:
        """Density of a report towards the input over that of one away from it, at epsilon = 1."""
        towards, away = (1 + (math.e - 1) * (0.5 + sign * share / 2) for sign in (1, -1))
        return towards / away

    assert ratio(length / printed) > math.e  # no law at all; its "densities" differ by too much
    assert ratio(min(length / printed, 1.0)) == pytest.approx(math.e)
    assert ratio(length / ours) == pytest.approx(math.e)


def likely_share(epsilon: float, y: float, randomiser: Any) -> tuple[int, int]:
    """How many of 4,000 users with one extreme record report from the half around its gradient."""
    X, users = np.full((4000, 3), 1e6), 4000
    sides: list[Array] = []

    def watched(chunks: Any, kind: Randomiser, rng: np.random.Generator) -> Release[Array]:
        rows = np.vstack([np.array(chunk) for chunk in chunks])
        sides.append(kind.randomise(rows, rng).value @ -np.ones(3))
        return mean_of_reports([rows], kind, rng)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_regression, "mean_of_reports", watched)
        LocalHardThresholding(
            Pure(epsilon, scope="local"), randomiser=randomiser, steps=1, random_state=0
        ).fit(X, np.full(users, y))
    return int(np.sum(sides[0] > 0)), users


@pytest.mark.parametrize("randomiser", ["duchi", "privunit"])
def test_reports_of_extreme_records_keep_the_ratio(randomiser: Any) -> None:
    """Exact binomial intervals for one event under two records 10^6 times outside the range."""
    epsilon = 1.0
    level = ALPHA / 2
    counts = [likely_share(epsilon, y, randomiser)[0] for y in (1e6, -1e6)]
    low = stats.beta.ppf(level, counts[0], 4000 - counts[0] + 1)
    high = stats.beta.ppf(1 - level, counts[1] + 1, 4000 - counts[1])
    assert low / high <= math.exp(epsilon)
    more = [likely_share(2 * epsilon, y, randomiser)[0] for y in (1e6, -1e6)]
    low = stats.beta.ppf(level, more[0], 4000 - more[0] + 1)
    high = stats.beta.ppf(1 - level, more[1] + 1, 4000 - more[1])
    assert low / high > math.exp(epsilon)  # the control spends twice the budget
