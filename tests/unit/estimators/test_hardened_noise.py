"""``noise="hardened"``: OpenDP's samplers behind the same mechanisms and estimators."""

from __future__ import annotations

import math
import pickle
import sys

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone

from estimators import (
    KarwaVadhanMean,
    LabelLasso,
    LocalHardThresholding,
    NoisyMean,
    PrivateMean,
    SparseMean,
)
from estimators.core import mechanisms
from estimators.core.noise import (
    Hardened,
    NotHardened,
    opendp,
    opendp_loss,
    with_gaussian,
    with_laplace,
)
from minimax import Approximate, Gaussian, Pure, ZeroConcentrated

ROWS = np.random.default_rng(0).uniform(-1, 1, (200, 3))
RHO = ZeroConcentrated(0.5)


@pytest.fixture(scope="module")
def source():
    return Hardened()


# --- The ledger against OpenDP's privacy map ------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("sensitivity", [1e-3, 1.0, 40.0])
def test_ledgers_say_what_opendp_says(source, epsilon, sensitivity):
    value = np.array([0.3, -2.0, 5.0])
    options = {"sensitivity": sensitivity, "epsilon": epsilon, "rng": source}
    laplace = mechanisms.laplace(value, l1_sensitivity=sensitivity, epsilon=epsilon, rng=source)
    assert opendp_loss("laplace", laplace.entry.scale, sensitivity) == pytest.approx(epsilon)
    scale = sensitivity / epsilon
    normal = mechanisms.gaussian(value, l2_sensitivity=sensitivity, scale=scale, rng=source)
    (given,) = normal.entry.guarantees
    rho = opendp_loss("gaussian", scale, sensitivity)
    assert rho == pytest.approx(given.to_zcdp().rho)
    best = mechanisms.report_noisy_max(value, **options)
    assert opendp_loss("permute and flip", best.entry.scale, sensitivity) == pytest.approx(epsilon)
    top = mechanisms.gumbel_top_k(value, 2, **options)
    _, concentrated = top.entry.guarantees
    assert opendp_loss("gumbel", top.entry.scale, sensitivity, 2) == pytest.approx(
        2 * concentrated.rho
    )
    # The control: noise of half the scale loses twice as much, or four times.
    assert opendp_loss("laplace", laplace.entry.scale / 2, sensitivity) > 1.9 * epsilon
    assert opendp_loss("gaussian", scale / 2, sensitivity) > 3.9 * given.to_zcdp().rho


# --- The law --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("release", "law"),
    [
        (
            lambda rng: (
                mechanisms.laplace(np.zeros(3000), l1_sensitivity=2.0, epsilon=1.0, rng=rng).value
            ),
            stats.laplace(scale=2),
        ),
        (
            lambda rng: (
                mechanisms.gaussian(np.zeros(3000), l2_sensitivity=1.0, scale=2.0, rng=rng).value
            ),
            stats.norm(scale=2),
        ),
    ],
    ids=["laplace", "gaussian"],
)
def test_noise_has_the_stated_law(source, release, law):
    """Kolmogorov's exact test at 1e-9; the control: at twice the scale."""
    drawn = release(source)
    assert stats.kstest(drawn, law.cdf).pvalue > 1e-9
    assert stats.kstest(2 * drawn, law.cdf).pvalue < 1e-9


def test_whole_numbers_get_whole_noise(source):
    for add in (with_laplace, with_gaussian):
        drawn = add(np.arange(50), 3.0, source)
        assert drawn.dtype == float
        np.testing.assert_array_equal(drawn, np.rint(drawn))
        assert np.any(drawn != np.arange(50))


def test_selections_follow_their_law(source):
    """Of two scores 2 log 3 apart at epsilon = 1, the exponential mechanism takes the lower with
    chance 1/4 and permute-and-flip with chance 1/6; intervals at 1e-9."""
    scores, options = np.array([0.0, 2 * math.log(3)]), {"sensitivity": 1.0, "epsilon": 1.0}
    trials = 1500
    for select, chance in (
        (mechanisms.exponential_mechanism, 1 / 4),
        (mechanisms.report_noisy_max, 1 / 6),
    ):
        lower = sum(select(scores, rng=source, **options).value == 0 for _ in range(trials))
        test = stats.binomtest(lower, trials, chance)
        assert test.pvalue > 1e-9
        assert stats.binomtest(lower, trials, 1 / 2).pvalue < 1e-9


def test_peeling_takes_each_index_once(source):
    v = np.array([5.0, -40.0, 30.0, 0.0])
    found, _ = mechanisms.peeling(v, 3, sensitivity=1.0, scale=0.5, rng=source)
    assert set(found.support[:2].tolist()) == {1, 2}
    assert len(set(found.support.tolist())) == 3


# --- Estimators -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made",
    [
        NoisyMean(RHO, R=1.0, noise="hardened"),
        PrivateMean(RHO, bounds=(-1, 1), noise="hardened"),
        SparseMean(RHO, s=1, R=1.0, noise="hardened"),
        LabelLasso(Gaussian(50.0, "label"), penalty=1e-3, noise="hardened"),
    ],
    ids=lambda made: type(made).__name__,
)
def test_estimators_take_it(made):
    y = ROWS[:, 0]
    labels = isinstance(made, LabelLasso)
    first, second = (clone(made).fit(*((ROWS, y) if labels else (ROWS,))) for _ in range(2))
    name = "coef_" if labels else "mean_"
    assert np.any(getattr(first, name) != getattr(second, name))
    assert first.get_params()["noise"] == "hardened"
    assert "noise='hardened'" in repr(made)
    assert not first.privacy_.assumes
    again = pickle.loads(pickle.dumps(first))
    np.testing.assert_array_equal(getattr(again, name), getattr(first, name))


def test_a_seed_is_refused():
    for seed in (0, np.random.default_rng(0)):
        with pytest.raises(ValueError, match="random_state must be None with noise='hardened'"):
            NoisyMean(RHO, R=1.0, noise="hardened", random_state=seed).fit(ROWS)


@pytest.mark.parametrize(
    ("made", "asked"),
    [
        (NoisyMean(Pure(1.0), R="quantile", sigma=1.0, noise="hardened"), "laplace"),
        (KarwaVadhanMean(Approximate(1.0, 1e-6), sigma=1.0, noise="hardened"), "laplace"),
        (PrivateMean(Pure(1.0), bounds=(-1, 1), noise="hardened"), "gamma"),
        (LocalHardThresholding(noise="hardened"), "integers"),
    ],
    ids=lambda x: type(x).__name__ if not isinstance(x, str) else x,
)
def test_what_has_no_exact_sampler_is_refused_in_words(made, asked):
    data = (ROWS, ROWS[:, 0]) if isinstance(made, LocalHardThresholding) else (ROWS,)
    with pytest.raises(NotHardened, match=r"has no exact sampler"):
        made.fit(*data)
    assert not hasattr(made, "privacy_")


def test_other_words_are_refused():
    with pytest.raises(ValueError, match="noise must be one of 'ordinary', 'hardened'"):
        NoisyMean(RHO, R=1.0, noise="loud").fit(ROWS)


def test_without_opendp_the_extra_is_named(monkeypatch):
    opendp.cache_clear()
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    with pytest.raises(ImportError, match=r"tracebound\[release\]"):
        NoisyMean(RHO, R=1.0, noise="hardened").fit(ROWS)
    opendp.cache_clear()
