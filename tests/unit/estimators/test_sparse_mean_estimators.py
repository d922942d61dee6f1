"""Sparse means and their non-private controls: contract, bad input, values, privacy spent."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.utils.estimator_checks import check_estimator

from estimators.controls.mean import HardThresholdedMean, SampleMean
from estimators.core.accounting import compose, delta_at
from estimators.sparse_mean import SparseMean, sparse_scales
from estimators.stable_sparse_mean import StableSparseMean, stable_release
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

ALPHA = 1e-6
BUDGETS = [Pure(1.0), Approximate(1.0, 1e-6), ZeroConcentrated(0.1)]
D, SUPPORT = 60, [3, 20, 41, 59]


def sample(n: int, size: float = 2.0, seed: int = 0) -> np.ndarray:
    """N(mu, I) with mu = +-size on SUPPORT."""
    X = np.random.default_rng(seed).standard_normal((n, D))
    X[:, SUPPORT] += size * np.array([1, -1, 1, -1])
    return X


@pytest.fixture(scope="module")
def easy() -> np.ndarray:
    return sample(20_000)


@pytest.mark.parametrize(
    "estimator",
    [
        HardThresholdedMean(threshold=0, s=1),
        *[SparseMean(budget, sigma=1.0, radius=1.0) for budget in BUDGETS],
        *[SparseMean(budget, method="peeling", sigma=1.0, radius=1.0) for budget in BUDGETS],
        SparseMean(
            Approximate(1.0, 1e-6), method="peeling", calibration="paper", sigma=1.0, radius=1.0
        ),
        SparseMean(ZeroConcentrated(0.1), R="quantile"),
        StableSparseMean(Approximate(1.0, 1e-6), sigma=1.0, radius=1.0),
        StableSparseMean(Approximate(1.0, 1e-6), R="quantile"),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


# Non-private controls


def test_sample_mean_is_the_mean() -> None:
    X = np.array([[1, 2], [3, -6]])
    fitted = SampleMean().fit(X)
    assert fitted.mean_.tolist() == [2.0, -2.0]
    assert fitted.privacy_ is None
    assert fitted.ledger_ == ()


def test_hard_threshold_keeps_what_exceeds_it() -> None:
    X = np.array([[0.3, -0.25, 0.1, -4.0]])
    assert HardThresholdedMean(0.25).fit(X).mean_.tolist() == [0.3, 0.0, 0.0, -4.0]
    assert HardThresholdedMean(0.25).fit(X).support_.tolist() == [0, 3]
    assert HardThresholdedMean(0.0, s=1).fit(X).mean_.tolist() == [0.0, 0.0, 0.0, -4.0]
    assert HardThresholdedMean(5.0, s=2).fit(X).support_.tolist() == []


# Bad input


SIX = np.ones((6, 3))
APPROXIMATE = Approximate(1.0, 1e-6)


@pytest.mark.parametrize(
    ("estimator", "error", "match"),
    [
        (HardThresholdedMean(threshold=-1), ValueError, "threshold"),
        (HardThresholdedMean(threshold=math.nan), ValueError, "threshold"),
        (HardThresholdedMean(threshold="0"), TypeError, "threshold"),  # type: ignore[arg-type]
        (HardThresholdedMean(s=4), ValueError, "between 1 and d = 3"),
        *[
            (kind(APPROXIMATE, **{"sigma": 1.0, "radius": 1.0, **options}), error, match)  # type: ignore[arg-type]
            for kind in (SparseMean, StableSparseMean)
            for options, error, match in [
                ({"s": 4}, ValueError, "between 1 and d = 3"),
                ({"s": 0}, ValueError, "between 1 and d = 3"),
                ({"s": 2.0}, TypeError, "integer"),
                ({"s": True}, TypeError, "integer"),
                ({"R": "guess"}, ValueError, "R must be"),
                ({"R": -1.0}, ValueError, "R must be"),
                ({"R": math.inf}, ValueError, "R must be"),
                ({"R": None}, TypeError, "R must be"),
                ({"sigma": 0.0}, ValueError, "sigma"),
                ({"radius": "1"}, TypeError, "radius"),
                ({"quantile": 1.0}, ValueError, "quantile"),
                ({"range_share": 0.0}, ValueError, "range_share"),
            ]
        ],
        (SparseMean(APPROXIMATE, method="lasso", sigma=1.0, radius=1.0), ValueError, "method"),  # type: ignore[arg-type]
        (
            SparseMean(APPROXIMATE, calibration="exact", sigma=1.0, radius=1.0),
            ValueError,
            "calibration",
        ),  # type: ignore[arg-type]
        (
            SparseMean(APPROXIMATE, calibration="paper", sigma=1.0, radius=1.0),
            ValueError,
            "needs method='peeling'",
        ),
        (
            SparseMean(Pure(1), method="peeling", calibration="paper", sigma=1.0, radius=1.0),
            ValueError,
            "Approximate budget",
        ),
        (
            SparseMean(APPROXIMATE, selection_share=1.0, sigma=1.0, radius=1.0),
            ValueError,
            "selection_share",
        ),
        (
            SparseMean(APPROXIMATE, tuning_share=1.5, sigma=1.0, radius=1.0),
            ValueError,
            "tuning_share",
        ),
        (SparseMean(Gaussian(1.0), sigma=1.0, radius=1.0), TypeError, "privacy must be one of"),
        (SparseMean(Pure(1.0, scope="local"), sigma=1.0, radius=1.0), ValueError, "scope"),
        (SparseMean(APPROXIMATE, s="auto", sigma=1.0, radius=1.0), ValueError, "'cv'"),  # type: ignore[arg-type]
        (SparseMean(APPROXIMATE, s="cv", sigma=1.0, radius=1.0), ValueError, "s_grid"),
        (SparseMean(APPROXIMATE, s="cv", s_grid="12", sigma=1.0, radius=1.0), ValueError, "s_grid"),
        (
            SparseMean(APPROXIMATE, s="cv", s_grid=[2, 2], sigma=1.0, radius=1.0),
            ValueError,
            "at least two",
        ),
        (
            SparseMean(APPROXIMATE, s="cv", s_grid=[1, 4], sigma=1.0, radius=1.0),
            ValueError,
            "between 1 and d = 3",
        ),
        (
            SparseMean(APPROXIMATE, s="cv", s_grid=[1, 1.5], sigma=1.0, radius=1.0),
            TypeError,
            "integer",
        ),
        (
            SparseMean(APPROXIMATE, s="cv", s_grid=[1, 2], n_folds=1, sigma=1.0, radius=1.0),
            ValueError,
            "n_folds",
        ),
        (
            SparseMean(APPROXIMATE, s="cv", s_grid=[1, 2], n_folds=7, sigma=1.0, radius=1.0),
            ValueError,
            "n = 6",
        ),
        (
            SparseMean(APPROXIMATE, s="cv", s_grid=[1, 2], n_folds=2.0, sigma=1.0, radius=1.0),
            TypeError,
            "n_folds",
        ),  # type: ignore[arg-type]
        (StableSparseMean(Pure(1.0), sigma=1.0, radius=1.0), TypeError, "privacy must be one of"),
        (StableSparseMean(Approximate(1.0, 0.5), sigma=1.0, radius=1.0), ValueError, "below 1/2"),
    ],
)
def test_bad_options_are_refused(estimator: Any, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        estimator.fit(SIX)
    assert not hasattr(estimator, "mean_")


@pytest.mark.parametrize(
    "estimator",
    [
        SampleMean(),
        HardThresholdedMean(),
        SparseMean(APPROXIMATE, sigma=1.0, radius=1.0),
        StableSparseMean(APPROXIMATE, sigma=1.0, radius=1.0),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize(
    "X",
    [
        np.full((3, 2), np.nan),
        np.full((3, 2), np.inf),
        np.zeros(3),
        np.zeros((0, 2)),
        np.zeros((2, 0)),
        np.zeros((2, 2), dtype=complex),
    ],
    ids=["nan", "inf", "1d", "no records", "no features", "complex"],
)
def test_bad_data_are_refused(estimator: Any, X: np.ndarray) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - scikit-learn words these
        estimator.fit(X)


# SparseMean


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("method", ["gumbel", "peeling"])
def test_obvious_support_is_recovered_within_the_budget(
    easy: np.ndarray, budget: Any, method: Any
) -> None:
    fitted = SparseMean(budget, s=4, method=method, random_state=0, sigma=1.0, radius=1.0).fit(easy)
    assert fitted.support_.tolist() == SUPPORT
    assert np.flatnonzero(fitted.mean_).tolist() == SUPPORT
    # 4 values, each off by noise and by at most 6/sqrt(n) of sampling error, but for ALPHA
    margin = fitted.noise_scale_ * math.log(4 / ALPHA) + 6 / math.sqrt(len(easy))
    np.testing.assert_allclose(fitted.mean_[SUPPORT], [2, -2, 2, -2], atol=margin)
    spent, asked = fitted.privacy_.parameters, budget.parameters
    assert type(fitted.privacy_) is type(budget)
    if isinstance(budget, Approximate):
        assert spent["delta"] == asked["delta"]
        assert 0.1 * asked["epsilon"] < spent["epsilon"] <= asked["epsilon"] * (1 + 1e-9)
    else:
        assert list(spent.values()) == pytest.approx(list(asked.values()), rel=1e-12)
    starved = SparseMean(Pure(1e-3), s=4, method=method, random_state=0, sigma=1.0, radius=1.0).fit(
        easy
    )
    assert starved.support_.tolist() != SUPPORT


def test_scales_are_the_closed_forms() -> None:
    n, s, R = 100, 4, 5.0
    move = 2 * R / n
    gumbel = sparse_scales(n, s, R, ZeroConcentrated(0.2), selection_share=0.25)
    assert gumbel.round_epsilon == pytest.approx(math.sqrt(8 * 0.05 / s))
    assert gumbel.selection == pytest.approx(2 * move / gumbel.round_epsilon)
    assert gumbel.value_variance == pytest.approx(move**2 * s / (2 * 0.15))
    pure = sparse_scales(n, s, R, Pure(0.8), selection_share=0.25)
    assert pure.round_epsilon == pytest.approx(0.2 / s)
    assert pure.value == pytest.approx(s * move / 0.6)
    assert pure.value_variance == pytest.approx(2 * pure.value**2)
    peeled = sparse_scales(n, s, R, Pure(0.8), method="peeling")
    assert peeled.selection == peeled.value == pytest.approx(3 * s * move / 0.8)
    concentrated = sparse_scales(n, s, R, ZeroConcentrated(0.2), method="peeling")
    assert s * 2.5 * (move / concentrated.value) ** 2 == pytest.approx(0.2)
    with pytest.raises(TypeError, match="paper"):
        sparse_scales(n, s, R, Pure(0.8), method="peeling", calibration="paper")


@pytest.mark.parametrize(
    ("options", "law"),
    [
        ({"privacy": ZeroConcentrated(0.5)}, stats.norm),
        ({"privacy": Pure(1.0)}, stats.laplace),
        ({"privacy": ZeroConcentrated(0.5), "method": "peeling"}, stats.laplace),
    ],
    ids=["gaussian", "laplace", "peeling"],
)
def test_released_values_have_the_stated_noise(options: dict[str, Any], law: Any) -> None:
    X = np.random.default_rng(0).normal(0, 3, (20, 3)).astype(np.float32)
    average = np.clip(X.astype(float), -0.7, 0.7).mean(axis=0)
    fits = [SparseMean(s=3, R=0.7, random_state=i, **options).fit(X) for i in range(400)]
    noise = np.concatenate([(f.mean_ - average) / f.noise_scale_ for f in fits])
    assert stats.kstest(noise, law.cdf).pvalue > ALPHA
    assert stats.kstest(noise, law(scale=1.7).cdf).pvalue < ALPHA


def test_truncation_levels() -> None:
    X = sample(2000)
    budget = ZeroConcentrated(0.1)
    theory = SparseMean(budget, R="theory", sigma=2.0, radius=3.0, random_state=0).fit(X)
    assert math.isclose(theory.R_, 3 + 8 * math.sqrt(math.log(2000)))
    assert SparseMean(budget, R=2.5, random_state=0).fit(X).R_ == 2.5
    found = SparseMean(budget, R="quantile", random_state=0).fit(X)
    assert 1.5 < found.R_ < 4  # the 97.5 per cent quantile of |x_ij| is 2.4
    assert found.privacy_.parameters["rho"] == pytest.approx(0.1, rel=1e-12)
    assert len(found.ledger_) == 3


def test_printed_calibration_reports_what_it_spends() -> None:
    X = sample(50)

    def fitted(epsilon: float, delta: float) -> SparseMean:
        budget = Approximate(epsilon, delta)
        options: dict[str, Any] = {"method": "peeling", "calibration": "paper"}
        return SparseMean(budget, s=20, random_state=0, **options, sigma=1.0, radius=1.0).fit(X)

    usual = fitted(0.5, 4e-4)
    assert usual.privacy_.parameters["delta"] == 4e-4
    assert 0.25 < usual.privacy_.parameters["epsilon"] < 0.317
    assert usual.noise_scale_ == pytest.approx(
        2 * usual.R_ / 50 * 2 * math.sqrt(3 * 20 * math.log(1 / 4e-4)) / 0.5
    )
    beyond = fitted(10.0, 0.3)
    assert beyond.privacy_.parameters["epsilon"] == 10.0
    assert beyond.privacy_.parameters["delta"] > 0.3
    assert beyond.privacy_.parameters["delta"] == delta_at(beyond.ledger_, 10.0)


# Choice of s


GRID = (1, 2, 4, 8)


@pytest.mark.parametrize("budget", BUDGETS, ids=str)
@pytest.mark.parametrize("R", [6.0, "quantile"])
def test_cross_validation_stays_within_the_budget(easy: np.ndarray, budget: Any, R: Any) -> None:
    fitted = SparseMean(budget, s="cv", s_grid=GRID, R=R, random_state=0).fit(easy)
    kind = Pure if isinstance(budget, Pure) else ZeroConcentrated
    spent = compose(fitted.ledger_, kind)
    if isinstance(budget, Approximate):
        assert isinstance(spent, ZeroConcentrated)
        assert fitted.privacy_ == spent.to_approximate(budget.delta)
        assert fitted.privacy_.epsilon == pytest.approx(budget.epsilon, rel=1e-9)
    else:
        assert list(spent.parameters.values()) == pytest.approx(
            list(budget.parameters.values()), rel=1e-12
        )
    lists = [entry for entry in fitted.ledger_ if "cross-validation: support" in entry.about]
    assert [entry.count for entry in lists] == [4 * 8]  # K - 1 = 4 lists of 8 rounds
    assert len(fitted.ledger_) == 6 + (R == "quantile")


def chosen(X: np.ndarray) -> Counter[int]:
    budget = ZeroConcentrated(0.5)
    return Counter(
        SparseMean(budget, s="cv", s_grid=GRID, R=6.0, random_state=seed).fit(X).s_
        for seed in range(12)
    )


def test_cross_validation_finds_an_easy_sparsity(easy: np.ndarray) -> None:
    found = chosen(easy)
    assert found[1] == found[2] == 0  # too small would lose a coordinate of size 2
    assert found[4] >= 9
    assert chosen(sample(200, size=0.0))[4] < 9


# StableSparseMean


def test_a_large_gap_is_released_and_no_gap_is_not(easy: np.ndarray) -> None:
    one = easy[:, :4].copy()  # column 3 has mean 2, the others none
    for seed in range(20):
        fitted = StableSparseMean(APPROXIMATE, random_state=seed, sigma=1.0, radius=1.0).fit(one)
        assert fitted.support_.tolist() == [3]
        assert fitted.mean_[:3].tolist() == [0, 0, 0]
        margin = fitted.noise_scale_ * math.log(20 / ALPHA) + 6 / math.sqrt(len(one))
        assert abs(fitted.mean_[3] - 2) < margin
        tied = one.copy()
        tied[:, 1] = -tied[:, 3]
        refused = StableSparseMean(APPROXIMATE, random_state=seed, sigma=1.0, radius=1.0).fit(tied)
        assert refused.mean_.tolist() == [0, 0, 0, 0]
        assert refused.support_.tolist() == []
        assert refused.ledger_ == fitted.ledger_  # refusing must not look cheaper
        assert fitted.privacy_ == refused.privacy_ == APPROXIMATE
    assert fitted.noise_scale_ == pytest.approx(4 * fitted.R_ / len(one))


@pytest.mark.parametrize("s", [4, 8, 20])
def test_the_largest_safe_set_is_released(easy: np.ndarray, s: int) -> None:
    uneven = easy.copy()
    uneven[:, 3] += 3  # the largest gap is now after one coordinate, the right one after four
    for seed in range(10):
        fitted = StableSparseMean(APPROXIMATE, s=s, R=12.0, random_state=seed).fit(uneven)
        assert fitted.support_.tolist() == SUPPORT
        assert fitted.privacy_.parameters["epsilon"] == pytest.approx(1.0)
        assert fitted.privacy_.parameters["delta"] == 1e-6
    alone = StableSparseMean(APPROXIMATE, s=3, R=12.0, random_state=0).fit(uneven)
    assert alone.support_.tolist() == [3]


def test_all_coordinates_need_no_test() -> None:
    X = np.full((50, 1), 0.3)
    single = StableSparseMean(APPROXIMATE, R=1.0, random_state=0).fit(X)
    assert single.support_.tolist() == [0]
    assert [entry.mechanism for entry in single.ledger_] == ["laplace"]
    assert single.noise_scale_ == pytest.approx(2 / 50)
    everything = StableSparseMean(APPROXIMATE, s=3, R=1.0, random_state=0).fit(np.zeros((50, 3)))
    assert everything.support_.tolist() == [0, 1, 2]
    assert everything.noise_scale_ == pytest.approx(3 * 2 / 50)
    tested = StableSparseMean(APPROXIMATE, s=2, R=1.0, random_state=0).fit(np.zeros((50, 3)))
    assert tested.support_.tolist() == []


def test_stable_release_passes_at_its_threshold() -> None:
    n, R, epsilon, delta = 1000, 2.0, 1.0, 1e-3
    threshold = 1 + math.log(1 / (2 * delta)) / (epsilon / 2)
    rng = np.random.default_rng(0)

    def released(g: float) -> int:
        top = np.array([g * 4 * R / n + 0.1, 0.1])
        options: dict[str, Any] = {"n": n, "R": R, "epsilon": epsilon, "delta": delta, "rng": rng}
        return sum(stable_release(top, top[:1], **options).size for _ in range(4000))

    assert stats.binomtest(released(threshold), 4000, 0.5).pvalue > ALPHA
    assert stats.binomtest(released(threshold + 1), 4000, 0.5).pvalue < ALPHA
    odds = 1 - math.exp(-0.5) / 2  # one more is epsilon/2 of the Laplace noise
    assert stats.binomtest(released(threshold + 1), 4000, odds).pvalue > ALPHA


def test_stable_release_refuses_what_is_not_sorted() -> None:
    options: dict[str, Any] = {"n": 10, "R": 1.0, "epsilon": 1.0, "delta": 0.1}
    options["rng"] = np.random.default_rng(0)
    with pytest.raises(ValueError, match="decreasing"):
        stable_release(np.array([0.1, 0.2]), np.array([0.1]), **options)
    with pytest.raises(ValueError, match="s or s \\+ 1"):
        stable_release(np.array([0.3, 0.2, 0.1]), np.array([0.3]), **options)
