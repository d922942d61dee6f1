"""Sensitivity and composition of the mean estimators are facts of the code.

Each check is a predicate that is asked twice: it must hold of the ledger's number, and fail for a
smaller one at the adversarial pair.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import special, stats

from estimators.baselines.histogram import LAST_BIN, bin_counts
from estimators.baselines.mean import CoinPressMean, KarwaVadhanMean, centred_clipped_mean
from estimators.core.accounting import compose
from estimators.mean import NoisyMean
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from tests.effort import part
from tests.strategies import neighbouring_rows

Array = NDArray[np.float64]
BUDGET = Approximate(1.0, 1e-6)
QUICK = settings(max_examples=part(20, of=60), deadline=None, derandomize=True)
EXTREME = [0.0, 5e-324, -1e-310, 1e-200, 1e300, -1e300, 1.7976931348623157e308]
numbers = st.one_of(
    st.floats(-10, 10),
    st.sampled_from(EXTREME),
    st.floats(allow_nan=False, allow_infinity=False),
)
levels = st.sampled_from([1e-140, 1e-3, 0.7, 5.0, 1e6, 1e140])


def far_apart(n: int, d: int) -> tuple[Array, Array]:
    """The adversarial pair: one record jumps across every clipping bound."""
    X = np.zeros((n, d))
    X[0] = 1e300
    return X, np.where(X > 0, -1e300, X)


def within(moved: float, sensitivity: float) -> bool:
    """moved <= sensitivity, up to the rounding of a sum of a few terms."""
    return moved <= sensitivity * (1 + 1e-9)


ORDERS = {"l1": 1, "l2": 2, "linf": math.inf}


def length(step: Array, norm: str) -> float:
    """A norm that does not overflow or vanish on steps of any size."""
    unit = float(np.abs(step).max()) or 1.0
    return unit * float(np.linalg.norm(step / unit, ORDERS[norm]))


def movement(estimator: Any, pair: tuple[Array, Array]) -> tuple[float, float]:
    """How far the noiseless mean moves, and the sensitivity in the ledger.

    The noise is added last and depends on the seed alone, so it cancels in the difference.
    """
    first, second = (estimator.fit(X) and estimator.mean_.copy() for X in pair)
    entry = estimator.ledger_[-1]
    return length(first - second, entry.norm), entry.sensitivity


def clipping(privacy: Pure | Gaussian, clip: Any, R: float) -> NoisyMean:
    return NoisyMean(privacy, R=R, clip=clip, random_state=0)


BUDGETS = [Pure(1.0), Gaussian(1.0)]
both_budgets = pytest.mark.parametrize("privacy", BUDGETS, ids=str)
both_clips = pytest.mark.parametrize("clip", ["coordinate", "ball"])


@both_budgets
@both_clips
@QUICK
@given(pair=neighbouring_rows(numbers, records=(1, 5)), R=levels)
def test_clipped_mean_moves_at_most_its_sensitivity(
    privacy: Pure | Gaussian, clip: str, pair: tuple[Array, Array], R: float
) -> None:
    assert within(*movement(clipping(privacy, clip, R), pair))


@both_budgets
@both_clips
@pytest.mark.parametrize(("n", "d"), [(1, 1), (7, 1), (3, 4), (50, 9)])
def test_clipped_mean_reaches_its_sensitivity(
    privacy: Pure | Gaussian, clip: str, n: int, d: int
) -> None:
    moved, sensitivity = movement(clipping(privacy, clip, 0.7), far_apart(n, d))
    assert within(moved, sensitivity)
    assert moved >= 0.99 * sensitivity
    assert not within(moved, sensitivity / 2)


@QUICK
@given(pair=neighbouring_rows(numbers, records=(1, 5)), r=levels, sigma=levels)
def test_first_ball_moves_at_most_its_sensitivity(
    pair: tuple[Array, Array], r: float, sigma: float
) -> None:
    estimator = CoinPressMean(
        Gaussian(1.0), sigma=sigma, ball_radius=r, iterations=1, random_state=0
    )
    assert within(*movement(estimator, pair))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 4), (50, 9)])
def test_first_ball_reaches_its_sensitivity(n: int, d: int) -> None:
    estimator = CoinPressMean(
        Gaussian(1.0), ball_radius=5.0, iterations=1, random_state=0, sigma=1.0
    )
    moved, sensitivity = movement(estimator, far_apart(n, d))
    assert within(moved, sensitivity)
    assert moved >= 0.99 * sensitivity
    assert not within(moved, sensitivity / 2)


@QUICK
@given(
    pair=neighbouring_rows(numbers, records=(1, 5)),
    k=st.integers(-LAST_BIN, LAST_BIN),
    sigma=levels,
)
def test_centred_mean_moves_at_most_its_sensitivity(
    pair: tuple[Array, Array], k: int, sigma: float
) -> None:
    fitted = KarwaVadhanMean(BUDGET, sigma=sigma, random_state=0).fit(pair[0])
    half, d = fitted.half_width_, pair[0].shape[1]
    first, second = (
        np.array([centred_clipped_mean(X[:, j], k * sigma, half) for j in range(d)]) for X in pair
    )
    assert within(length(first - second, "l2"), fitted.ledger_[-1].sensitivity)


@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 4), (50, 9)])
@pytest.mark.parametrize("centre", [3.0, float(LAST_BIN - 1)])
def test_centred_mean_reaches_its_sensitivity(n: int, d: int, centre: float) -> None:
    """Also far out, where centre + half is not a floating-point number."""
    pair = far_apart(n, d)
    fitted = KarwaVadhanMean(BUDGET, random_state=0, sigma=1.0).fit(pair[0])
    first, second = (
        np.array([centred_clipped_mean(X[:, j], centre, fitted.half_width_) for j in range(d)])
        for X in pair
    )
    moved, sensitivity = length(first - second, "l2"), fitted.ledger_[-1].sensitivity
    assert within(moved, sensitivity)
    assert moved >= 0.99 * sensitivity
    assert not within(moved, sensitivity / 2)


def count_steps(pair: tuple[Array, Array], j: int, sigma: float, last: int) -> NDArray[np.int64]:
    """The change of each bin's count in one coordinate."""
    change: dict[int, int] = {}
    for sign, X in zip((1, -1), pair, strict=True):
        for k, count in zip(*bin_counts(X[:, j], sigma, last), strict=True):
            change[int(k)] = change.get(int(k), 0) + sign * int(count)
    return np.array(list(change.values()))


@QUICK
@given(
    pair=neighbouring_rows(numbers, records=(1, 5)),
    sigma=levels,
    last=st.sampled_from([0, 3, LAST_BIN]),
)
def test_a_record_moves_one_unit_between_two_bins(
    pair: tuple[Array, Array], sigma: float, last: int
) -> None:
    for j in range(pair[0].shape[1]):
        steps = count_steps(pair, j, sigma, last)
        assert steps.sum() == 0
        assert within(length(steps.astype(float), "l1"), 2.0)
        # At most one bin is empty in either data set and not in the other: delta is paid once.
        first, second = (set(bin_counts(X[:, j], sigma, last)[0].tolist()) for X in pair)
        assert len(first - second) <= 1
        assert len(second - first) <= 1


def test_a_record_can_move_two_units_in_all() -> None:
    steps = count_steps(far_apart(4, 1), 0, 1.0, LAST_BIN)
    moved = length(steps.astype(float), "l1")
    assert moved == 2.0
    assert not within(moved, 1.0)


# --- composition


def spends_at_most(given: Any, asked: Any) -> bool:
    return all(
        value <= asked.parameters[name] * (1 + 1e-9) for name, value in given.parameters.items()
    )


budgets = st.one_of(
    st.builds(Approximate, st.floats(0.01, 4.0), st.floats(-12.0, -2.0).map(lambda p: 10.0**p)),
    st.builds(Pure, st.floats(1e-3, 20.0)),
    st.builds(ZeroConcentrated, st.floats(1e-4, 5.0)),
    st.builds(Gaussian, st.floats(1e-3, 5.0)),
)


@settings(QUICK, max_examples=part(15, of=40))
@given(
    budget=budgets,
    d=st.sampled_from([1, 2, 20, 150]),
    share=st.floats(0.02, 0.98),
    bounded=st.booleans(),
)
def test_no_estimator_spends_more_than_its_budget(
    budget: Any, d: int, share: float, bounded: bool
) -> None:
    X = np.zeros((10, d))
    radius = 5.0 if bounded or not isinstance(budget, Approximate) else None
    fits: list[Any] = [NoisyMean(budget, random_state=0, R="theory", sigma=1.0, radius=1.0)]
    if not isinstance(budget, Gaussian):
        fits.append(NoisyMean(budget, R="quantile", range_share=share, random_state=0))
        fits.append(
            KarwaVadhanMean(budget, radius=radius, range_share=share, random_state=0, sigma=1.0)
        )
    if not isinstance(budget, Pure):
        fits.append(CoinPressMean(budget, last_share=share, random_state=0, sigma=1.0, radius=1.0))
    for estimator in fits:
        assert type(estimator.fit(X).privacy_) is type(budget)
        assert spends_at_most(estimator.privacy_, budget)


def test_the_papers_noise_does_spend_more_than_its_budget() -> None:
    asked = Approximate(0.5, 1e-8)
    fitted = NoisyMean(
        asked, calibration="paper", random_state=0, R="theory", sigma=1.0, radius=1.0
    ).fit(np.zeros((10, 3)))
    assert not spends_at_most(fitted.privacy_, asked)


@pytest.mark.parametrize("privacy", [Pure(1.0), ZeroConcentrated(0.1)], ids=str)
def test_budgets_without_delta_are_spent_in_full(privacy: Pure | ZeroConcentrated) -> None:
    fitted = KarwaVadhanMean(privacy, radius=5.0, random_state=0, sigma=1.0).fit(np.zeros((10, 7)))
    spent, asked = (next(iter(p.parameters.values())) for p in (fitted.privacy_, privacy))
    assert spent == pytest.approx(asked, rel=1e-9)


@pytest.mark.parametrize("d", [1, 3, 20])
def test_histograms_are_charged_what_randomised_response_costs(d: int) -> None:
    """d calls that are (eps_0, delta_0)-DP can lose as much as d coins of bias e^eps_0.

    Their exact hockey-stick divergence is a binomial sum; what the ledger reports may not be less.
    """
    ledger = KarwaVadhanMean(BUDGET, random_state=0, sigma=1.0).fit(np.zeros((10, d))).ledger_[:1]
    core = ledger[0].guarantees[0]
    assert isinstance(core, Approximate)

    def coins(epsilon: float) -> float:
        heads = np.arange(d + 1)
        chance = stats.binom.pmf(heads, d, special.expit(core.epsilon))
        gain = -np.expm1(np.minimum(epsilon - (2 * heads - d) * core.epsilon, 0.0))
        return float(chance @ gain)

    reported = compose(ledger, Approximate, BUDGET.delta)
    assert isinstance(reported, Approximate)
    assert coins(reported.epsilon) <= BUDGET.delta
    assert coins(reported.epsilon / 2) > BUDGET.delta


def test_many_coordinates_compose_better_than_addition() -> None:
    """At d = 400 the histograms get far more than an equal share of epsilon each."""
    fitted = KarwaVadhanMean(BUDGET, random_state=0, sigma=1.0).fit(np.zeros((10, 400)))
    histogram = fitted.ledger_[0].guarantees[0]
    assert isinstance(histogram, Approximate)
    assert histogram.epsilon > 4 * BUDGET.epsilon * 0.25 / 400
    assert histogram.delta * 400 == pytest.approx(BUDGET.delta / 2)
    assert histogram.epsilon < math.sqrt(2 * BUDGET.to_zcdp().rho / 400)
