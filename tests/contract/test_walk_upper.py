"""Every upper bound over its whole domain: held against balls, its closed form and its slope.

Bounds are functions of the point, so the estimators' own are walked: truncation, steps and noise
are found anew at every place. Radius and entries of the class stay within what the estimator was
told to project and clip to; elsewhere the bound is not proved and refuses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from estimators.baselines.mean import CoinPressMean, KarwaVadhanMean
from estimators.label_regression import LabelHardThresholding
from estimators.local_regression import LocalHardThresholding
from estimators.logistic import PlannedLogisticRegression
from estimators.mean import NoisyMean
from estimators.regression import NoisyGradientRegression
from estimators.sparse_erm import NoisyHardThresholding
from estimators.sparse_mean import SparseMean
from estimators.sparse_regression import PrivateHardThresholding
from minimax.core.bound import UpperBound
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.problems.bounded_mean.problem import BoundedMeanProblem
from minimax.problems.erm.upper import theorem_5_4, theorem_8
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.label_regression.upper import one_shot_label_upper
from minimax.problems.local_regression.halving import halving_upper
from minimax.problems.local_regression.problem import LOSSES, LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper, soft_cap_upper
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.mean.centred import centred_mean_upper
from minimax.problems.mean.problem import MeanProblem
from minimax.problems.mean.upper import best_noisy_mean
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.regression.residual_clipped import residual_clipped_upper
from minimax.problems.sparse_mean.problem import SparseMeanProblem
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.residual_clipped import sparse_residual_clipped_upper
from tests.contract.walk import (
    POINTS,
    Draw,
    held_against_balls,
    held_against_digits,
    log_uniform,
    points,
    walk,
    whole,
)
from tests.effort import part

CENTRAL = [Pure(0.5), Approximate(0.5, 1e-6), ZeroConcentrated(0.05), Gaussian(0.3)]
GAUSSIAN = CENTRAL[1:]
LOCAL = [*CENTRAL, Renyi(2.0, 0.2), OffsetConcentrated(0.1, 0.1)]
CONVERTED = [Pure(0.5), Approximate(0.5, 1e-6), ZeroConcentrated(0.05)]

Made = tuple[str, Callable[[], UpperBound]]


def made() -> Iterator[Made]:
    """An upper bound of each kind under each definition, by name."""
    for privacy in CENTRAL:
        yield (
            f"mean {privacy}",
            lambda p=privacy: NoisyMean(p, R="theory", sigma=1.0, radius=1.0).risk_bound(
                MeanProblem(1000, 200)
            ),
        )
        yield (
            f"mean, R given {privacy}",
            lambda p=privacy: best_noisy_mean(MeanProblem(10**6, 20), p),
        )
        for tails in ("vectors", "Gaussian"):
            yield (
                f"centred mean, {tails} {privacy}",
                lambda p=privacy, t=tails: centred_mean_upper(MeanProblem(10**4, 100).point, p, t),
            )
        for reach in (None, 1.0):
            yield (
                f"logistic, planned, reach {reach} {privacy}",
                lambda p=privacy, r=reach: PlannedLogisticRegression(p, 1.0, 1.0, r).risk_bound(
                    LogisticProblem(10**6, 10)
                ),
            )
        yield (
            f"clipped residuals {privacy}",
            lambda p=privacy: residual_clipped_upper(RegressionProblem(10**6, 20, 0.1), p),
        )
        yield (
            f"clipped residuals and a choice {privacy}",
            lambda p=privacy: sparse_residual_clipped_upper(
                SparseRegressionProblem(10**7, 100, 5, 0.1), p
            ),
        )
        yield (
            f"bounded mean {privacy}",
            lambda p=privacy: NoisyMean(p, R=1e10).risk_bound(BoundedMeanProblem(1000, 20)),
        )
    for privacy in CONVERTED:
        for method in ("gumbel", "peeling"):
            yield (
                f"sparse mean {method} {privacy}",
                lambda p=privacy, m=method: SparseMean(
                    p, s=5, R="theory", method=m, sigma=1.0, radius=1.0
                ).risk_bound(SparseMeanProblem(10**6, 100, 3)),
            )
        yield (
            f"private thresholding {privacy}",
            lambda p=privacy: PrivateHardThresholding(
                p, s=4, entry_bound=1.0, step_size=3.0, steps=3
            ).risk_bound(SparseRegressionProblem(10**9, 50, 3)),
        )
        if isinstance(privacy, Approximate):  # the first step is held by itself
            yield (
                f"private thresholding, peeling once {privacy}",
                lambda p=privacy: PrivateHardThresholding(
                    p, s=4, entry_bound=1.0, step_size=3.0, steps=1, method="peeling"
                ).risk_bound(SparseRegressionProblem(10**9, 50, 3)),
            )
        yield (
            f"histograms {privacy}",
            lambda p=privacy: KarwaVadhanMean(p, sigma=1.0, radius=1.0).risk_bound(
                MeanProblem(1000, 200)
            ),
        )
    for privacy in GAUSSIAN:
        yield (
            f"shrinking balls {privacy}",
            lambda p=privacy: CoinPressMean(p, sigma=1.0, radius=1.0).risk_bound(
                MeanProblem(1000, 200)
            ),
        )
        yield (
            f"gradient descent {privacy}",
            lambda p=privacy: NoisyGradientRegression(p).risk_bound(RegressionProblem(10**7, 20)),
        )
        yield from thresholding(privacy)
    for privacy in LOCAL:
        yield from local(privacy)
    generic = {"d": 1000, "s": 20, "s_star": 10, "curvature": 0.8, "smoothness": 1.2}
    yield (
        "any loss",
        lambda: theorem_5_4(**generic, gradient=1e-3, radius=1.0, noise=1e-4, steps=20),
    )
    strong = {"d": 1000, "s": 70, "s_star": 2, "curvature": 1.0, "smoothness": 1.0}
    yield "excess risk", lambda: theorem_8(**strong, gap=0.5, noise=1e-3, steps=40)


def thresholding(privacy: Privacy) -> Iterator[Made]:
    options = {"radius": 1.0, "steps": 5}

    def sparse(loss: str, clip: float, step_size: float) -> UpperBound:
        named = NoisyHardThresholding(
            privacy, s=4, loss=loss, clip=clip, step_size=step_size, **options
        )
        return named.risk_bound(SparseRegressionProblem(10**7, 50, 4))

    yield f"thresholding, squared {privacy}", lambda: sparse("squared", 30.0, 4.0)
    yield f"thresholding, logistic {privacy}", lambda: sparse("logistic", 1e4, 16.0)
    yield (
        f"logistic {privacy}",
        lambda: NoisyHardThresholding(
            privacy, s=10, loss="logistic", clip=1.0, step_size=40.0, **options
        ).risk_bound(LogisticProblem(10**6, 10)),
    )


def local(privacy: Privacy) -> Iterator[Made]:
    for loss, measured in LOSSES.items():
        records = LocalRegressionProblem(10**6, 20, loss=measured)
        yield f"one-shot, {loss} {privacy}", lambda x=records: one_shot_upper(x, privacy)
        if isinstance(privacy, ZeroConcentrated):
            yield f"soft caps, {loss} {privacy}", lambda x=records: soft_cap_upper(x, privacy)
        if isinstance(privacy, (Pure, Renyi)):  # the budget enters through e alone
            yield f"halving, {loss} {privacy}", lambda x=records: halving_upper(x, privacy)
    if isinstance(privacy, Pure):
        yield from interactive(replace(privacy, scope="local"))
    labels = LabelRegressionProblem(10**6, 200, 3)
    yield f"labels {privacy}", lambda: one_shot_label_upper(labels, privacy)
    if privacy in CENTRAL:
        few = LabelHardThresholding(replace(privacy, scope="label"), s=4, C=2.0)
        yield f"label descent {privacy}", lambda: few.risk_bound(labels)


def interactive(privacy: Pure) -> Iterator[Made]:
    for randomiser, steps in (("duchi", 2), ("privunit", "auto")):
        named = LocalHardThresholding(privacy, C=2.0, randomiser=randomiser, steps=steps)
        yield (
            f"interactive, {randomiser} {privacy}",
            lambda x=named: x.risk_bound(LocalRegressionProblem(10**7, 20)),
        )


BOUNDS = dict(made())
WITHIN: dict[str, Draw] = {"radius": log_uniform(1e-10, 1.0)}
UNIT = log_uniform(1e-10, 1.0)
WITHIN_ONE_HALF: dict[str, Draw] = {"radius": log_uniform(1e-10, 0.5)}
"""At n = 1 a window about a centre as far as 1 reaches no farther."""
DRAWN: dict[str, dict[str, Draw]] = {
    "sparse mean": {"s": whole(1, 5), "d": whole(5, 1e6)},
    "histograms": WITHIN_ONE_HALF,
    "label descent": {"s": whole(1, 4), "p": whole(4, 1e6), "rho": log_uniform(1e-11, 1e5)},
    "shrinking balls": {**WITHIN, "sigma": UNIT},
    "private thresholding": {**WITHIN, "s": whole(1, 4), "d": whole(4, 1e6)},
    "gradient descent": WITHIN,
    "thresholding": {**WITHIN, "s": whole(1, 4), "d": whole(4, 1e6)},
    "logistic": WITHIN,
    "any loss": {
        "s": whole(1, 20),
        "d": whole(20, 1e6),
        "curvature": log_uniform(0.5, 1.0),
        "smoothness": log_uniform(1.0, 1.2),
        "gradient": UNIT,
        "noise": log_uniform(1e-10, 1e10),
    },
    "excess risk": {
        "s": whole(1, 2),
        "d": whole(70, 1e6),
        "curvature": log_uniform(0.9, 1.0),
        "smoothness": log_uniform(1.0, 1.05),
        "gap": log_uniform(1e-10, 1e10),
        "noise": log_uniform(1e-10, 1e10),
    },
}
BY_DIGITS = ("halving", "one-shot")
"""Balls have the simpler form of these bounds: their value is held against 50 digits instead."""
SEARCHED = ("clipped residuals", "centred mean, Gaussian", "sparse mean gumbel")
"""At every place the plan of these bounds is searched for, a fifth of a second each."""


def domain(name: str) -> dict[str, Draw]:
    return next((draws for start, draws in DRAWN.items() if name.startswith(start)), {})


@pytest.mark.parametrize("name", BOUNDS)
def test_no_value_is_below_its_ball(name: str) -> None:
    bound = BOUNDS[name]()
    by_digits = name.startswith(BY_DIGITS)
    count = part(14, of=POINTS) if name.startswith(SEARCHED) else POINTS  # all corners are in both
    places = points(bound, count, domain=domain(name))
    seen = walk(bound, places, against=held_against_digits if by_digits else held_against_balls)
    print(f"{name}: {seen}, at most {seen.vagueness:.1e} too large")
    assert seen.faults == []
    assert (seen.evaluated, seen.compared) == (count, count)
    assert seen.excess <= 0


@pytest.mark.parametrize("name", [name for name in BOUNDS if name.startswith(BY_DIGITS)])
def test_a_simpler_form_in_balls_is_no_smaller(name: str) -> None:
    bound = BOUNDS[name]()
    for place in points(bound, part(8, of=40)):
        assert bound.ball(**place).high >= bound.exact(**place)


STEP = 0.02
ONE_BIT = ("one-shot", "halving", "labels")


@pytest.mark.parametrize("name", BOUNDS)
def test_the_slope_is_that_of_solving_again(name: str) -> None:
    bound = BOUNDS[name]()
    for letter in {"n", "noise", "rho", "mu", "epsilon"} & set(bound.parameters):
        middle = bound.defaults[letter]
        ends = [bound.value(**{letter: middle * math.exp(sign * STEP)}) for sign in (1, -1)]
        solved = math.log(ends[0] / ends[1]) / (2 * STEP)
        found = bound.slope(letter)
        # one-bit reports: under these definitions the closed form has a bound on tanh(e/2)
        loose = name.startswith(ONE_BIT) and any(kind in name for kind in ("zCDP", "RDP"))
        assert found == pytest.approx(solved, abs=0.2 if loose else 0.05), letter


def test_the_noise_follows_n() -> None:
    """With the noise of n = 1000 frozen in it, the bound would not fall with n."""
    bound = NoisyMean(ZeroConcentrated(0.05), R="theory", sigma=1.0, radius=1.0).risk_bound(
        MeanProblem(1000, 200)
    )
    assert bound.slope("n") == pytest.approx(-1.87, abs=0.01)
    assert bound.slope("rho") == pytest.approx(-0.999, abs=0.001)
    assert (
        bound.value(n=2000)
        == NoisyMean(ZeroConcentrated(0.05), R="theory", sigma=1.0, radius=1.0)
        .risk_bound(MeanProblem(2000, 200))
        .value()
        < bound.value() / 3
    )
    more = NoisyMean(ZeroConcentrated(0.1), R="theory", sigma=1.0, radius=1.0).risk_bound(
        MeanProblem(1000, 200)
    )
    assert bound.value(rho=0.1) == more.value()
    assert {"n", "rho", "sigma", "d"} <= {str(letter) for letter in bound.expr.free_symbols}
    assert "rho" in bound.latex()


@pytest.mark.parametrize("name", BOUNDS)
def test_a_closed_form_has_the_letters_of_its_budget(name: str) -> None:
    bound = BOUNDS[name]()
    letters = {str(letter) for letter in bound.expr.free_symbols}
    budget = {"epsilon", "delta", "rho", "mu", "alpha", "kappa"} & set(bound.parameters)
    assert budget <= letters
    assert len(bound.latex()) > 10
