"""Regression on randomised labels: contract, hand values, budgets, penalties, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import integrate, sparse, stats
from sklearn.base import clone
from sklearn.linear_model import Lasso
from sklearn.utils.estimator_checks import check_estimator

from estimators import LabelHardThresholding, LabelLasso, Link
from estimators.controls.regression import IterativeHardThresholding
from estimators.core.accounting import compose, delta_at
from estimators.core.design import Design
from estimators.randomisers.label_budget import (
    FAILURE,
    label_randomiser,
    noise_level,
    noise_tail,
    purified_labels,
)
from estimators.randomisers.labels import (
    BinaryLabels,
    GaussianLabels,
    LaplaceLabels,
    PureFromApproximate,
    label_bound,
)
from estimators.thresholding import thresholded_descent
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

PURE = Pure(1.0, scope="label")
APPROXIMATE = Approximate(1.0, 1e-3, scope="label")
BUDGETS = [PURE, APPROXIMATE, ZeroConcentrated(0.3, scope="label"), Gaussian(0.7, scope="label")]
QUIET = Gaussian(1e12, scope="label")
"""A budget so large that the noise cannot be seen."""
BOTH = [LabelHardThresholding, LabelLasso]


def bent(t: Any) -> Any:
    return t + 0.1 * np.sin(t) + 2


def bent_slope(t: Any) -> Any:
    return 1 + 0.1 * np.cos(t)


BENT = Link(bent, bent_slope, 0.9, 1.1)


def signs(
    n: int = 600, p: int = 40, seed: int = 0, noise: float = 0.1
) -> tuple[np.ndarray, np.ndarray]:
    """Rows of signs, coefficients .8 and -.6 at 7 and 30."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    return X, 0.8 * X[:, 7] - 0.6 * X[:, 30] + rng.uniform(-noise, noise, n)


@pytest.mark.parametrize(
    "estimator",
    [
        *[kind(budget) for kind in BOTH for budget in BUDGETS],
        LabelHardThresholding(mechanism="genprot", link=BENT),
        LabelHardThresholding(APPROXIMATE, calibration="paper", loss="squared", step_size=0.5),
        LabelLasso(mechanism="laplace", refit=True),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


@pytest.mark.parametrize("kind", BOTH)
def test_the_constructor_only_stores(kind: Any) -> None:
    given = {name: object() for name in kind().get_params(deep=False)}
    made = kind(**given)
    assert all(getattr(made, name) is value for name, value in given.items())
    assert set(vars(made)) == set(given)
    assert kind.scope == "label"


# Hand values


def test_one_step_by_hand() -> None:
    X, y = np.array([[1.0, 2.0], [-1.0, 1.0]]), np.array([9.0, -0.5])
    inside = np.array([1.5, -0.5])  # the label 9 is clipped
    options: dict[str, Any] = {"bound": 1.5, "step_size": 0.1, "steps": 1, "random_state": 0}
    expected = 0.1 * X.T @ inside / 2
    wide = LabelHardThresholding(QUIET, s=2, radius=10.0, **options).fit(X, y)
    assert wide.coef_ == pytest.approx(expected, abs=1e-9)
    thin = LabelHardThresholding(QUIET, s=1, radius=10.0, **options).fit(X, y)
    assert thin.coef_ == pytest.approx([0, expected[1]], abs=1e-9)
    assert thin.support_.tolist() == [1]
    near = LabelHardThresholding(QUIET, s=2, radius=0.01, **options).fit(X, y)
    assert near.coef_ == pytest.approx(0.01 * expected / np.linalg.norm(expected), abs=1e-9)
    curved = LabelHardThresholding(
        QUIET, s=2, radius=10.0, link=BENT, loss="squared", **options
    ).fit(X, y)
    residual = BENT.f(np.zeros(2)) - np.clip(y, 0.5, 3.5)  # the range lies around f(0) = 2
    assert curved.coef_ == pytest.approx(-0.1 * X.T @ (1.1 * residual) / 2, abs=1e-9)


@pytest.mark.parametrize("budget", [QUIET, Pure(1e12, scope="label")], ids=str)
def test_with_a_huge_budget_it_is_hard_thresholding_on_clipped_labels(budget: Any) -> None:
    X, y = signs(noise=1.0)
    y[:50] += 40.0
    fitted = LabelHardThresholding(budget, s=2, bound=1.7, radius=5.0, random_state=0).fit(X, y)
    clipped = IterativeHardThresholding(s=2).fit(X, np.clip(y, -1.7, 1.7))
    assert fitted.coef_ == pytest.approx(clipped.coef_, abs=1e-8)
    raw = IterativeHardThresholding(s=2).fit(X, y)
    assert np.abs(fitted.coef_ - raw.coef_).max() > 0.5
    assert fitted.n_iter_ < 200
    lasso = LabelLasso(budget, bound=1.7, penalty=0.2, random_state=0).fit(X, y)
    peer = Lasso(alpha=0.2, fit_intercept=False).fit(X, np.clip(y, -1.7, 1.7))
    assert lasso.coef_ == pytest.approx(peer.coef_, abs=1e-4)
    refit = LabelLasso(budget, bound=1.7, penalty=0.2, refit=True, random_state=0).fit(X, y)
    assert refit.support_.tolist() == lasso.support_.tolist()
    columns = X[:, refit.support_]
    plain = np.linalg.lstsq(columns, np.clip(y, -1.7, 1.7), rcond=None)[0]
    assert refit.coef_[refit.support_] == pytest.approx(plain, abs=1e-8)


def test_the_printed_step_climbs() -> None:
    """WX21: Algorithm 2, step 5, subtracts the average of (y - <x, theta>) x."""
    X, y = signs(4000)
    theta = np.zeros(40)
    theta[[7, 30]] = 0.8, -0.6
    options: dict[str, Any] = {"s": 2, "radius": 1.0, "steps": 20, "step_size": 0.2}
    right, _ = thresholded_descent(Design(X), lambda t: t - y, **options)
    printed, _ = thresholded_descent(Design(X), lambda t: y - t, **options)
    assert np.linalg.norm(right - theta) < 0.05
    assert np.linalg.norm(printed - theta) > 1.5


def test_descent_ends_at_a_fixed_point_of_any_design() -> None:
    rng = np.random.default_rng(5)
    for scale in (1e-20, 1.0, 1e20):
        X = scale * rng.standard_normal((30, 60)) @ rng.standard_normal((60, 60))
        y = rng.standard_normal(30)
        coef, made = thresholded_descent(
            Design(X), lambda t, y=y: t - y, s=3, radius=1e30, steps=5000
        )
        support = np.flatnonzero(coef)
        least = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
        assert made < 5000
        assert coef[support] == pytest.approx(least, rel=1e-4)
    coef, made = thresholded_descent(
        Design(np.zeros((3, 2))), lambda t: t - 1, s=1, radius=1.0, steps=9
    )
    assert (coef.tolist(), made) == ([0.0, 0.0], 1)


def test_link_is_used_and_predicts() -> None:
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (4000, 30))
    t = 0.8 * X[:, 3] - 0.6 * X[:, 9]
    y = BENT.f(t) + rng.uniform(-0.1, 0.1, 4000)
    for loss in ("matching", "squared"):
        fitted = LabelHardThresholding(PURE, s=2, C=0.1, link=BENT, loss=loss, random_state=0).fit(
            X, y
        )
        assert fitted.support_.tolist() == [3, 9]
        assert fitted.randomiser_.bound == pytest.approx(label_bound(2, 0.1, 1.1))
        assert fitted.predict(X) == pytest.approx(BENT.f(X @ fitted.coef_))
        assert np.abs(fitted.predict(X) - BENT.f(t)).max() < 0.3
    # The wrong centre: without the link the labels around 2 are clipped away.
    plain = LabelHardThresholding(PURE, s=2, C=0.1, random_state=0).fit(X, y)
    assert np.abs(plain.predict(X) - BENT.f(t)).max() > 1.0


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 1e-3), (0.01, 0.2)])
def test_a_bit_spends_all_of_an_approximate_budget(epsilon: float, delta: float) -> None:
    budget = Approximate(epsilon, delta, scope="label")
    X, y = signs()
    fitted = LabelHardThresholding(budget, mechanism="binary", random_state=0).fit(X, y)
    bit = fitted.randomiser_
    assert bit.epsilon > epsilon + delta
    one, other = (np.exp(bit.log_likelihood([1.0, -1.0], sign * bit.bound)) for sign in (1, -1))
    for left, right in ((one, other), (other, one)):
        spent = np.maximum(left - math.exp(epsilon) * right, 0).sum()
        assert spent == pytest.approx(delta)
    assert fitted.privacy_ == budget
    assert fitted.real_epsilon_ == epsilon
    assert fitted.ledger_[0].guarantees == (Pure(bit.epsilon, scope="label"), budget)
    assert bit.error() < BinaryLabels(bit.bound, epsilon).error()
    with pytest.raises(ValueError, match=r"approximate: .* does not follow from epsilon"):
        BinaryLabels(1.0, 1.01 * bit.epsilon, budget)


def test_sparse_rows_give_the_same() -> None:
    X, y = signs()
    X = X * (np.random.default_rng(2).random(X.shape) < 0.2)
    for kind in BOTH:
        options: dict[str, Any] = {"s": 2, "random_state": 3}
        dense = kind(PURE, **options).fit(X, y)
        thin = kind(PURE, **options).fit(sparse.csr_matrix(X), y)
        assert thin.coef_ == pytest.approx(dense.coef_, abs=1e-7)
        assert thin.ledger_ == dense.ledger_
    assert thin.penalty_ == pytest.approx(dense.penalty_)


# Budgets


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_ledger_reproduces_the_guarantee(kind: Any, budget: Any) -> None:
    X, y = signs()
    fitted = kind(budget, s=2, C=0.1, random_state=0).fit(X, y)
    delta = budget.delta if isinstance(budget, Approximate) else None
    assert compose(fitted.ledger_, type(budget), delta) == fitted.privacy_
    assert fitted.privacy_.scope == "label"
    spent, asked = (next(iter(g.parameters.values())) for g in (fitted.privacy_, budget))
    assert 0.99 * asked < spent <= asked * (1 + 1e-9)
    assert len(fitted.ledger_) == 1
    assert fitted.ledger_[0].count == 1  # one report from each user, however many steps
    assert fitted.ledger_[0].sensitivity == 2 * label_bound(2, 0.1)
    assert (fitted.real_epsilon_ is None) == (delta is None)


def test_genprot_spends_a_pure_budget() -> None:
    X, y = signs()
    fitted = LabelHardThresholding(PURE, s=2, mechanism="genprot", random_state=0).fit(X, y)
    assert isinstance(fitted.randomiser_, PureFromApproximate)
    assert fitted.privacy_.epsilon == pytest.approx(1.0, rel=1e-9)
    assert fitted.privacy_.epsilon <= 1.0
    assert fitted.ledger_[0].mechanism == "GenProt"


@pytest.mark.parametrize("kind", BOTH)
def test_printed_noise_really_gives_epsilon_52(kind: Any) -> None:
    X, y = signs()
    options: dict[str, Any] = {"s": 8, "C": 0.05, "random_state": 0}
    printed = kind(APPROXIMATE, calibration="paper", **options).fit(X, y)
    assert printed.real_epsilon_ == pytest.approx(52, abs=1)
    # The hockey-stick divergence of N(0, scale^2), 2 bound apart, by integration.
    scale, gap = printed.randomiser_.scale, 2 * printed.randomiser_.bound
    assert scale == pytest.approx(math.sqrt(32 * math.log(1250)) * 0.05)
    epsilon = printed.real_epsilon_
    laws = [stats.norm(centre, scale) for centre in (gap, 0.0)]
    turn = gap / 2 + epsilon * scale**2 / gap
    real = integrate.quad(
        lambda t: laws[0].pdf(t) - math.exp(epsilon) * laws[1].pdf(t), turn, turn + 20 * scale
    )[0]
    assert real == pytest.approx(1e-3, rel=1e-6)
    assert printed.privacy_.epsilon == 1.0
    assert printed.privacy_.delta == pytest.approx(delta_at(printed.ledger_, 1.0))
    assert printed.privacy_.delta > 0.99
    ours = kind(APPROXIMATE, mechanism="gaussian", **options).fit(X, y)
    assert ours.real_epsilon_ == pytest.approx(1.0, rel=1e-6)
    assert ours.privacy_.delta == 1e-3


def test_the_default_has_the_smallest_error() -> None:
    expected = {
        Pure(0.5, scope="label"): BinaryLabels,
        Pure(2.32, scope="label"): BinaryLabels,
        Pure(2.33, scope="label"): LaplaceLabels,
        Approximate(1.0, 1e-6, scope="label"): BinaryLabels,
        Approximate(0.01, 0.3, scope="label"): GaussianLabels,
        Approximate(5.0, 1e-6, scope="label"): LaplaceLabels,
        ZeroConcentrated(0.1, scope="label"): GaussianLabels,
        Gaussian(1.0, scope="label"): GaussianLabels,
    }
    for budget, kind in expected.items():
        chosen = label_randomiser(budget, 2.0, 100)
        assert type(chosen) is kind
        for name in ("laplace", "binary", "gaussian"):
            try:
                other = label_randomiser(budget, 2.0, 100, mechanism=name)
            except ValueError:
                continue
            assert chosen.error() <= other.error()
    for epsilon in (0.01, 0.3, 1.0, 2.5, 5.0, 20.0):
        for n in (1, 100, 10**6):
            pure = label_randomiser(Pure(epsilon, scope="label"), 2.0, n)
            assert purified_labels(2.0, epsilon, n).base.error() > 5 * pure.error()
    binary, laplace = BinaryLabels(2.0, 1e-3), LaplaceLabels(2.0, 1e-3)
    assert binary.error() == pytest.approx(laplace.error() / 2, rel=1e-6)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_genprot_reports_have_the_gaussian_law_but_for_the_failure(epsilon: float) -> None:
    n, bound = 50, 2.0
    mechanism = purified_labels(bound, epsilon, n)
    assert mechanism.epsilon <= epsilon

    def distance(mechanism: PureFromApproximate) -> float:
        """Total variation between the report of the label `bound` and its base's, on a grid."""
        base = mechanism.base
        assert isinstance(base, GaussianLabels)
        t = np.linspace(-12 * base.scale, 12 * base.scale + bound, 200_001)
        reference = stats.norm(0, base.scale).pdf(t)
        density = mechanism.report_density(t, bound)
        gap = np.abs(density * reference - stats.norm(bound, base.scale).pdf(t))
        return float(integrate.trapezoid(gap, t)) / 2

    assert distance(mechanism) <= FAILURE / n
    base = mechanism.base
    assert isinstance(base, GaussianLabels)
    louder = GaussianLabels(bound, base.scale / 2)
    assert distance(PureFromApproximate(louder, mechanism.clip, mechanism.samples)) > FAILURE / n


# The penalty


def test_penalty_by_hand() -> None:
    X = np.array([[1.0, 3.0], [-2.0, 0.0], [1.0, 1.0]])
    size = math.log(2 * 2 / 0.05)
    length = math.sqrt(10)
    laplace, binary, gauss = LaplaceLabels(2.0, 0.5), BinaryLabels(2.0, 0.5), GaussianLabels(2.0, 3)
    expected = {
        laplace: (math.sqrt(2 * (2 * 8.0**2 + 0.01) * size) * length + 8.0 * 3 * size) / 3,
        binary: math.sqrt(2 * size) * 2 / math.tanh(0.25) * length / 3,
        gauss: math.sqrt(2 * (9 + 0.01) * size) * length / 3,
    }
    for randomiser, level in expected.items():
        tail = noise_tail(randomiser, 0.1)
        assert noise_level(Design(X), tail, 0.05) == pytest.approx(level)
    fitted = LabelLasso(Pure(0.5, scope="label"), bound=2.0, mechanism="laplace", C=0.1)
    assert fitted.fit(X, np.ones(3)).penalty_ == pytest.approx(2 * expected[laplace])


@pytest.mark.parametrize("C", [0.1, 1.0])
def test_reports_have_the_tail_that_the_penalty_supposes(C: float) -> None:
    """log E e^{t (R - E y)} <= variance t^2/2/(1 - scale t), y = .5 +- C with even chances."""
    bound, epsilon = 2.0, 0.8

    def own(t: float) -> float:
        return math.log(math.cosh(C * t))

    for t in (0.01, 0.05, 0.1, 0.15):
        laplace = LaplaceLabels(bound, epsilon)
        exact = {
            laplace: -math.log1p(-((laplace.scale * t) ** 2)) + own(t),
            GaussianLabels(bound, 3.0): 9 * t**2 / 2 + own(t),
        }
        binary = BinaryLabels(bound, epsilon)
        plus = (1 + 0.5 / binary.size) / 2
        moment = plus * math.exp(t * binary.size) + (1 - plus) * math.exp(-t * binary.size)
        exact[binary] = math.log(moment) - 0.5 * t
        for randomiser, value in exact.items():
            tail = randomiser.tail(C)
            limit = tail.variance * t**2 / 2 / (1 - tail.scale * t)
            assert value <= limit
            if t == 0.01:
                assert value > 0.9 * limit  # and no smaller variance would do


# Bad input


X_, Y_ = (part[..., :10] for part in signs(10))


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"privacy": Pure(1.0)}, r"privacy.scope must be 'label', got 'central'"),
        ({"privacy": Pure(1.0, scope="local")}, r"privacy.scope must be 'label', got 'local'"),
        ({"privacy": 1.0}, r"privacy must be one of"),
        ({"s": 11}, r"s must lie between 1 and p = 10"),
        ({"s": 0}, r"s must lie between"),
        ({"s": 2.0}, r"s must be an integer"),
        ({"C": 0.0}, r"C must be positive"),
        ({"C": math.nan}, r"C must be positive"),
        ({"bound": -1.0}, r"bound must be positive"),
        ({"bound": 1e40}, r"bound must lie in"),
        ({"bound": "wide"}, r"bound must be 'auto' or a number"),
        ({"mechanism": "magic"}, r"mechanism must be one of"),
        ({"mechanism": "gaussian"}, r"mechanism='gaussian' is never pure"),
        ({"privacy": QUIET, "mechanism": "binary"}, r"mechanism='binary' spends an epsilon"),
        ({"calibration": "classical"}, r"calibration must be"),
        ({"calibration": "paper"}, r"calibration='paper' is for Gaussian noise"),
        (
            {"privacy": APPROXIMATE, "calibration": "paper", "mechanism": "laplace"},
            r"calibration='paper' is for Gaussian noise",
        ),
        ({"random_state": "seed"}, r"random_state"),
    ],
    ids=str,
)
def test_bad_options_are_refused_by_name(kind: Any, options: Any, message: str) -> None:
    estimator = clone(kind(**options))
    with pytest.raises((TypeError, ValueError), match=message):
        estimator.fit(X_, Y_)
    assert not hasattr(estimator, "coef_")
    assert not hasattr(estimator, "ledger_")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (LabelHardThresholding, {"steps": 0}, "steps must be at least 1"),
        (LabelHardThresholding, {"radius": 0}, "radius must be positive"),
        (LabelHardThresholding, {"step_size": "big"}, "step_size must be 'auto' or a number"),
        (LabelHardThresholding, {"step_size": -0.1}, "step_size must be positive"),
        (LabelHardThresholding, {"loss": "hinge"}, "loss must be 'matching' or 'squared'"),
        (LabelHardThresholding, {"link": np.tanh}, "link must be a Link"),
        (
            LabelHardThresholding,
            {"link": Link(np.tanh, lambda t: 1 / np.cosh(t) ** 2, 0.5, 1.0), "s": 9},
            "link: the derivative leaves",
        ),
        (LabelLasso, {"penalty": "big"}, "penalty must be 'auto' or a number"),
        (LabelLasso, {"penalty": 0.0}, "penalty must be positive"),
        (LabelLasso, {"chance": 1.0}, "chance must lie in"),
        (LabelLasso, {"refit": 1}, "refit must be True or False"),
    ],
)
def test_own_options_are_refused_by_name(kind: Any, options: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        kind(**options).fit(X_, Y_)
