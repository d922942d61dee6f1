"""schedule="theorem": the papers' own numbers, by hand, and what they spend and cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from estimators import (
    LabelHardThresholding,
    LocalHardThresholding,
    NoisyGradientRegression,
    NoisyHardThresholding,
    NoisyHardThresholdingClassifier,
    PrivateHardThresholding,
)
from estimators.core.accounting import compose
from estimators.core.base import SECRET_SEED
from estimators.core.links import Link, best_step
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.problems.label_regression.problem import LabelRegressionProblem
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_regression.problem import SparseRegressionProblem

N, D = 2000, 8
BUDGET = Approximate(0.7, 1e-5)
LOCAL, LABEL = Pure(2.0, "local"), Approximate(0.9, 1e-4, "label")
LOG_N, LOG_D = math.log(N), math.log(D)


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (N, D)) / math.sqrt(D)
    return X, X[:, 0] + 0.1 * rng.standard_normal(N)


def test_dense_regression_runs_theorem_4_2() -> None:
    """eta_0 = d/2L, T = 8 L^2 log(c_0^2 n), noise eta_0 B sqrt(2 log(2T/delta))/(n eps/T)."""
    L, c0, sigma = 1.5, 2.0, 0.3
    model = NoisyGradientRegression(
        BUDGET, L=L, radius=c0, sigma=sigma, schedule="theorem", random_state=0
    ).fit(*data())
    T = math.ceil(8 * L**2 * math.log(c0**2 * N))
    R = sigma * math.sqrt(2 * LOG_N)
    B = 4 * (R + c0)
    assert (model.n_iter_, model.R_, model.step_size_) == pytest.approx((T, R, D / (2 * L)))
    printed = B * math.sqrt(2 * math.log(2 * T / BUDGET.delta)) / (N * BUDGET.epsilon / T)
    assert model.noise_scale_ == pytest.approx(printed)
    # T basic compositions of twice the sensitivity: far less is spent than the budget.
    assert model.ledger_[0].count == T
    assert model.privacy_.epsilon < BUDGET.epsilon / 4


def test_sparse_regression_runs_theorem_4_4() -> None:
    """eta_0 = s/6L, T = rho L^2 log(8 c_0^2 L n) with rho = 1, peeling at (eps/T, delta/T)."""
    L, c0, sigma, s = 1.5, 2.0, 0.3, 4
    model = PrivateHardThresholding(
        BUDGET, s=s, L=L, radius=c0, sigma=sigma, schedule="theorem", random_state=0
    ).fit(*data())
    T = math.ceil(L**2 * math.log(8 * c0**2 * L * N))
    R, eta = sigma * math.sqrt(2 * LOG_N), s / (6 * L)
    assert (model.n_iter_, model.R_, model.step_size_) == pytest.approx((T, R, eta))
    lam = eta * 4 * (R + c0) / math.sqrt(s) / N  # Peeling's lambda = eta_0 B/n with c_x = 1
    epsilon, delta = BUDGET.epsilon / T, BUDGET.delta / T
    printed = lam * 2 * math.sqrt(3 * s * math.log(1 / delta)) / epsilon
    assert model.noise_scale_ == model.selection_scale_ == pytest.approx(printed)
    assert {entry.mechanism for entry in model.ledger_} == {"noisy max", "laplace"}
    assert sum(entry.count for entry in model.ledger_) == 2 * s * T


@pytest.mark.parametrize("privacy", [BUDGET, ZeroConcentrated(0.05)])
@pytest.mark.parametrize("kappa", [1.0, 4.0])
def test_noisy_hard_thresholding_runs_theorem_5_4(privacy: Any, kappa: float) -> None:
    """eta = 1/(beta + mu), T = kappa log(rho n^2 mu^2 c^2/(kappa^2 G^2 s log d)), noise printed."""
    G, c, s, scale = 1.3, 2.0, 3, 0.6
    model = NoisyHardThresholding(
        privacy, s=s, clip=G, radius=c, feature_scale=scale, condition=kappa, schedule="theorem",
        random_state=0,
    ).fit(*data())  # fmt: skip
    rho = 0.05 if privacy is not BUDGET else BUDGET.epsilon**2 / math.log(1 / BUDGET.delta)
    beta, mu = scale**2, scale**2 / kappa
    T = math.ceil(kappa * math.log(rho * N**2 * mu**2 * c**2 / (kappa**2 * G**2 * s * LOG_D)))
    assert T > 5
    assert model.ledger_[0].count == T
    assert model.step_size_ == pytest.approx(1 / (beta + mu))
    assert model.noise_scale_ == pytest.approx(math.sqrt(T * G**2 / (N**2 * rho)))
    spent = compose(model.ledger_, ZeroConcentrated).parameters["rho"]
    assert spent == pytest.approx(2 * rho)  # twice what the theorem says
    if isinstance(privacy, ZeroConcentrated):
        assert model.privacy_.rho == pytest.approx(2 * rho)


def test_the_classifier_runs_the_same_theorem() -> None:
    X, y = data()
    model = NoisyHardThresholdingClassifier(
        BUDGET, s=2, radius=1.0, classes=(0, 1), schedule="theorem", random_state=0
    ).fit(X, (y > 0).astype(int))
    assert model.step_size_ == pytest.approx(1 / (0.25 + 0.25))
    assert model.classes_.tolist() == [0, 1]
    assert model.predict(X).shape == (N,)


def test_the_local_protocol_runs_theorem_5() -> None:
    """T = log(n eps^2/(p log p)) groups, r = C sqrt p."""
    X, y = data()
    model = LocalHardThresholding(LOCAL, s=2, C=0.5, schedule="theorem", random_state=0)
    model.fit(X * math.sqrt(D), y)
    assert model.n_iter_ == math.ceil(math.log(N * 4 / (D * LOG_D)))
    assert model.randomiser_.radius == pytest.approx(0.5 * math.sqrt(D))
    assert model.privacy_.epsilon == 2.0
    assert len(model.ledger_) == model.n_iter_


@pytest.mark.parametrize(
    "link", [None, Link(lambda t: 2 * t, lambda t: np.full_like(t, 2.0), 2.0, 2.0)]
)
def test_labels_run_theorem_6_and_11(link: Link | None) -> None:
    """T = log(sqrt(n) eps/(C sqrt(s* log p))), eta in the window, the printed tau."""
    X, y = data()
    s, C = 8, 0.2
    model = LabelHardThresholding(LABEL, s=s, C=C, link=link, schedule="theorem", random_state=0)
    model.fit(X * math.sqrt(D), y)
    T = math.ceil(math.log(math.sqrt(N) * LABEL.epsilon / (C * math.sqrt(s / 8 * LOG_D))))
    assert 1 <= model.n_iter_ <= T
    tau = C * math.sqrt(32 * math.log(1.25 / LABEL.delta)) / LABEL.epsilon
    assert model.ledger_[0].scale == pytest.approx(tau)
    assert model.real_epsilon_ > LABEL.epsilon  # the printed noise forgets the range of the label
    by_hand = LabelHardThresholding(
        LABEL, s=s, C=C, link=link, loss="squared", calibration="paper", steps=T,
        step_size=1.0 if link is None else best_step(link), random_state=0,
    )  # fmt: skip
    np.testing.assert_array_equal(model.coef_, by_hand.fit(X * math.sqrt(D), y).coef_)


# --- what the schedule sets, and what it leaves alone

ALL: dict[str, tuple[Any, str, Any]] = {
    "dense": (NoisyGradientRegression(BUDGET), "steps", 3),
    "sparse": (PrivateHardThresholding(BUDGET), "step_size", 0.5),
    "IGHT": (NoisyHardThresholding(BUDGET, radius=1.0), "steps", 3),
    "local": (LocalHardThresholding(LOCAL), "clip", 3.0),
    "label": (LabelHardThresholding(LABEL), "steps", 3),
}


@pytest.mark.parametrize("name", ALL)
def test_an_option_that_the_schedule_sets_cannot_be_given(name: str) -> None:
    model, option, value = ALL[name]
    noise = np.random.default_rng(0)
    before = noise.bit_generator.state
    model.set_params(schedule="theorem", random_state=noise, **{option: value})
    with pytest.raises(ValueError, match=f"schedule='theorem' sets {option}"):
        model.fit(*data())
    with pytest.raises(ValueError, match="schedule must be 'planned' or 'theorem', got 'best'"):
        model.set_params(schedule="best").fit(*data())
    assert noise.bit_generator.state == before


@pytest.mark.parametrize("name", ALL)
def test_the_fit_draws_from_the_estimators_own_generator(name: str) -> None:
    model = type(ALL[name][0])(ALL[name][0].privacy, schedule="theorem")
    if name == "IGHT":
        model.set_params(radius=1.0)
    rng = np.random.default_rng(0)
    states = [rng.bit_generator.state["state"]["state"]]
    for _ in range(2):
        model.set_params(random_state=rng).fit(*data())
        states.append(rng.bit_generator.state["state"]["state"])
    assert len(set(states)) == 3
    assert SECRET_SEED in model.privacy_.assumes
    before = model.get_params()
    assert model.set_params(random_state=None).fit(*data()).privacy_.assumes == ()
    assert model.get_params() == {**before, "random_state": None}
    seeded = [model.set_params(random_state=seed).fit(*data()).coef_ for seed in (7, 7)]
    np.testing.assert_array_equal(*seeded)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (NoisyGradientRegression(ZeroConcentrated(1.0)), "Approximate"),
        (PrivateHardThresholding(Pure(1.0)), "Approximate"),
        (PrivateHardThresholding(BUDGET, s="cv", s_grid=(1, 2)), "needs s given"),
        (NoisyHardThresholding(Gaussian(1.0), radius=1.0), "Approximate or zCDP"),
        (NoisyHardThresholding(BUDGET), "needs radius"),
        (NoisyHardThresholding(BUDGET, radius=1.0, condition=0.5), "condition must be at least 1"),
        (LabelHardThresholding(Pure(1.0, "label")), "Approximate"),
        (NoisyGradientRegression(BUDGET, R="quantile"), "sets R"),
        (NoisyGradientRegression(BUDGET, L=1e4), "asks for 6.08e\\+09 steps"),
    ],
)
def test_what_a_theorem_needs_is_asked_for_by_name(model: Any, message: str) -> None:
    noise = np.random.default_rng(0)
    before = noise.bit_generator.state
    with pytest.raises((TypeError, ValueError), match=message):
        model.set_params(schedule="theorem", random_state=noise).fit(*data())
    assert noise.bit_generator.state == before
    assert not hasattr(model, "coef_")


def test_risk_bounds_are_for_the_planned_schedule() -> None:
    sparse = SparseRegressionProblem(n=N, d=D, s=2, sigma=1.0)
    for model, problem in (
        (NoisyGradientRegression(BUDGET), RegressionProblem(n=N, d=D, sigma=1.0)),
        (PrivateHardThresholding(BUDGET, s=2), sparse),
        (NoisyHardThresholding(BUDGET, s=2, radius=1.0), sparse),
        (LabelHardThresholding(LABEL, s=2), LabelRegressionProblem(n=N, p=D, s=2, C=1.0)),
    ):
        with pytest.raises(ValueError, match="risk_bound covers schedule='planned'"):
            model.set_params(schedule="theorem").risk_bound(problem)
