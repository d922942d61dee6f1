"""Estimators from locally private records: contract, hand values, budget, options, bad input."""

from __future__ import annotations

import itertools
import math
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

from estimators import local_regression
from estimators.core.accounting import compose
from estimators.core.links import IDENTITY, Link, gradient_bound
from estimators.core.mechanisms import Release
from estimators.local_regression import (
    LocalHardThresholding,
    OneShotThreshold,
)
from estimators.randomisers.vectors import Randomiser, privunit
from minimax.core.bound import OutsideRegime
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

Array = np.ndarray
QUIET = Pure(700.0, scope="local")
"""A budget so large that a randomiser errs by nothing but its rounding to the sphere or cube."""


def rising(t: Array) -> Array:
    """f of WX21 §VIII."""
    return 8 * t + np.cos(t)


def slope(t: Array) -> Array:
    return 8 - np.sin(t)


PAPER = Link(rising, slope, 7.0, 9.0)
ESTIMATORS = [LocalHardThresholding, OneShotThreshold]


def local(epsilon: float) -> Pure:
    return Pure(epsilon, scope="local")


def records(n: int, p: int = 4, seed: int = 0, noise: float = 0.3) -> tuple[Array, Array]:
    """Signs with coefficients .6 and -.5 on the first two features."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (n, p))
    return X, 0.6 * X[:, 0] - 0.5 * X[:, 1] + rng.uniform(-noise, noise, n)


@pytest.fixture
def exact(monkeypatch: pytest.MonkeyPatch) -> list[Array]:
    """Reports are what they are about, the clipped gradients; the list holds each group's."""
    seen: list[Array] = []

    def mean(chunks: Any, randomiser: Randomiser, rng: np.random.Generator) -> Release[Array]:
        seen.append(randomiser.clip(np.vstack(list(chunks))))
        return Release(seen[-1].mean(axis=0), randomiser.entry(len(seen[-1])))

    monkeypatch.setattr(local_regression, "mean_of_reports", mean)
    return seen


@pytest.mark.parametrize(
    "estimator",
    [
        LocalHardThresholding(local(3.0), randomiser="privunit", steps=2, clip=2.0, step_size=0.3),
        LocalHardThresholding(link=PAPER, C=0.1),
        OneShotThreshold(local(3.0), report="hypercube", bound=2.0, feature_scale=0.5),
    ],
    ids=["options", "link", "hypercube"],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_scikit_learn_contract(estimator: Any) -> None:
    check_estimator(estimator)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_the_constructor_only_stores(kind: Any) -> None:
    odd = {name: object() for name in kind().get_params(deep=False)}
    estimator = kind(**odd)
    assert estimator.get_params(deep=False) == odd
    assert set(vars(estimator)) == set(odd)
    assert clone(kind(s=3)).get_params() == kind(s=3).get_params()


# Hand values


def by_hand(X: Array, y: Array, *, link: Link, s: int, T: int, eta: float, r: float) -> Array:
    """WX21: Algorithm 4 with exact reports, user by user."""
    n, p = X.shape
    theta = [0.0] * p
    for t in range(T):
        last = n if t == T - 1 else (t + 1) * (n // T)
        group = range(t * (n // T), last)
        mean = [0.0] * p
        for i in group:
            x = [min(max(v, -1.0), 1.0) for v in X[i]]
            inner = sum(a * b for a, b in zip(x, theta, strict=True))
            weight = float(link.derivative(np.array(inner)))
            weight *= float(link.f(np.array(inner))) - y[i]
            g = [weight * v for v in x]
            short = min(1.0, r / max(math.hypot(*g), 1e-300))
            mean = [m + short * v / len(group) for m, v in zip(mean, g, strict=True)]
        moved = [a - eta * b for a, b in zip(theta, mean, strict=True)]
        kept = sorted(range(p), key=lambda j: -abs(moved[j]))[:s]
        theta = [v if j in kept else 0.0 for j, v in enumerate(moved)]
        shrink = min(1.0, 1.0 / max(math.hypot(*theta), 1e-300))
        theta = [shrink * v for v in theta]
    return np.array(theta)


@pytest.mark.parametrize("link", [None, PAPER], ids=["identity", "paper"])
@pytest.mark.parametrize("r", [0.7, 1e6])
def test_steps_by_hand(exact: list[Array], link: Link | None, r: float) -> None:
    X, y = records(23)
    X *= np.random.default_rng(1).uniform(0.3, 1.3, X.shape)  # so that there are no ties
    X[3], y[5] = 4.0, 1e3  # a row and a response outside the class
    f = IDENTITY if link is None else link
    eta = 0.8 / f.b**2
    fitted = LocalHardThresholding(s=2, link=link, steps=4, step_size=eta, clip=r).fit(X, y)
    expected = by_hand(X, y, link=f, s=2, T=4, eta=eta, r=r)
    np.testing.assert_allclose(fitted.coef_, expected, rtol=1e-10, atol=1e-15)
    wrong = by_hand(X, y, link=f, s=2, T=4, eta=-eta, r=r)
    assert np.linalg.norm(fitted.coef_ - wrong) > np.linalg.norm(expected)
    assert [len(group) for group in exact] == [5, 5, 5, 8]


def test_without_noise_it_is_hard_thresholding_and_finds_the_truth(exact: list[Array]) -> None:
    X, _ = records(4000)
    truth = np.array([0.6, -0.5, 0, 0])
    for link, f in ((None, IDENTITY), (PAPER, PAPER)):
        fitted = LocalHardThresholding(s=2, link=link, steps=20).fit(X, f.f(X @ truth))
        np.testing.assert_allclose(fitted.coef_, truth, atol=1e-9)
    assert len(exact) == 40


def test_a_report_of_a_clipped_gradient_is_nearly_exact_at_a_huge_budget() -> None:
    """All gradients are longer than the clip, so that no coin is needed for their length."""
    X, y = np.array([[1.0, 0.5], [-1.0, 1.0], [1.0, 1.0]]), np.array([2.0, 1.0, -3.0])
    gradients = -y[:, None] * X
    mean = (0.01 * gradients / np.linalg.norm(gradients, axis=1)[:, None]).mean(axis=0)
    model = LocalHardThresholding(
        QUIET, s=2, steps=1, step_size=1.0, clip=0.01, randomiser="privunit", random_state=0
    )
    np.testing.assert_allclose(model.fit(X, y).coef_, -mean, atol=1e-8)
    thin = clone(model).set_params(s=1).fit(X, y)
    kept = int(np.argmax(np.abs(mean)))
    assert thin.support_.tolist() == [kept]
    assert thin.coef_[kept] == pytest.approx(-mean[kept], abs=1e-8)


@pytest.mark.parametrize("scale", [1.0, 2.0])
def test_one_shot_by_hand(scale: float) -> None:
    """Products at +-bound need no rounding: at a huge budget the reports are the products."""
    signs = np.array([[1, 1, -1], [1, -1, 1], [-1, 1, 1], [1, 1, 1], [-1, -1, 1]])
    y, X = np.array([1.0, 1.0, -1.0, 7.0, 1.0]), scale * signs
    options: dict[str, Any] = {"s": 3, "bound": 1.0, "radius": 5.0, "feature_scale": scale}
    # users 0 and 3 report coordinate 0: 1 and 1; users 1 and 4 coordinate 1: -1, -1; user 2: -1
    one = OneShotThreshold(QUIET, random_state=0, **options).fit(3 * X, y)
    np.testing.assert_allclose(one.coef_, np.array([1, -1, -1]) / scale, rtol=1e-12)
    cube = OneShotThreshold(QUIET, report="hypercube", random_state=0, **options).fit(3 * X, y)
    clipped = np.clip(y, -1, 1)
    np.testing.assert_allclose(cube.coef_, clipped @ signs / 5 / scale, rtol=1e-12, atol=1e-15)
    few = OneShotThreshold(QUIET, random_state=0, **options).fit(X[:2], y[:2])
    np.testing.assert_allclose(few.coef_, np.array([1, -1, 0]) / scale)  # no user, no estimate
    small = OneShotThreshold(QUIET, s=1, bound=1.0, radius=0.3, feature_scale=scale)
    assert np.abs(small.fit(X, y).coef_).sum() == pytest.approx(0.3)


def test_predictions_go_through_the_link() -> None:
    X, y = records(200)
    plain = LocalHardThresholding(random_state=0).fit(X, y)
    np.testing.assert_allclose(plain.predict(X), X @ plain.coef_)
    bent = LocalHardThresholding(link=PAPER, random_state=0).fit(X, y)
    np.testing.assert_allclose(bent.predict(X), PAPER.f(X @ bent.coef_))


# What is worked out


def test_the_bound_on_gradients_is_the_largest_of_the_class() -> None:
    p, s, s_star, C, radius, scale = 4, 2, 1, 0.3, 0.9, 1.5
    r = gradient_bound(IDENTITY, p, s, s_star, C, radius, scale)
    largest = 0.0
    theta = np.array([radius / math.sqrt(2)] * 2 + [0, 0])
    other = np.array([0, 0, radius, 0])
    for signs in itertools.product([-1.0, 1.0], repeat=p):
        x = scale * np.array(signs)
        for noise in (-C, C):
            y = x @ other + noise
            largest = max(largest, float(np.linalg.norm((x @ theta - y) * x)))
    assert r == pytest.approx(largest)
    assert gradient_bound(IDENTITY, 10, 8, 1, 0.5) == pytest.approx(
        (0.5 + math.sqrt(8) + 1) * math.sqrt(10)
    )


def test_no_gradient_of_the_class_is_longer_with_a_link() -> None:
    rng = np.random.default_rng(0)
    p, s, C = 4, 2, 0.3
    r = gradient_bound(PAPER, p, s, s, C)
    norms = []
    for _ in range(2000):
        theta, other = np.zeros(p), np.zeros(p)
        theta[:2], other[2:] = rng.standard_normal((2, 2))
        theta, other = theta / np.linalg.norm(theta), other / np.linalg.norm(other)
        x = rng.choice([-1.0, 1.0], p)
        residual = PAPER.f(x @ theta) - PAPER.f(x @ other) - rng.choice([-C, C])
        norms.append(np.linalg.norm(PAPER.derivative(x @ theta) * residual * x))
    assert 0.7 * r < max(norms) <= r
    linear_only = gradient_bound(IDENTITY, p, s, s, C)
    assert max(norms) > linear_only


def test_automatic_options() -> None:
    X, y = records(5000)
    fitted = LocalHardThresholding(local(2.0), s=2, s_star=1, C=0.3, random_state=0).fit(X, y)
    assert fitted.randomiser_.radius == pytest.approx(2 * (0.3 + math.sqrt(2) + 1))
    assert fitted.step_size_ == 1.0
    noise = fitted.randomiser_.length * math.sqrt(2 / (5000 * 4))
    assert 2.0**-fitted.n_iter_ <= noise < 2.0 ** (1 - fitted.n_iter_)
    more = LocalHardThresholding(local(2.0), s=2, C=0.3, random_state=0).fit(X, y)
    assert more.randomiser_.radius == pytest.approx(2 * (0.3 + 2 * math.sqrt(2)))
    assert more.randomiser_.cap == "half"
    bent = LocalHardThresholding(link=PAPER, feature_scale=2.0, randomiser="privunit").fit(X, y)
    assert bent.step_size_ == pytest.approx(2 / (49 + 81) / 4)
    assert bent.randomiser_ == privunit(4, 1.0, bent.randomiser_.radius)
    loud = LocalHardThresholding(local(1e-3), random_state=0).fit(X[:10], y[:10])
    assert loud.n_iter_ == 1
    one = OneShotThreshold(s=2, C=0.3, radius=0.5, feature_scale=2.0).fit(X, y)
    assert one.randomiser_.radius == pytest.approx((2 * math.sqrt(2) * 0.5 + 0.3) / 2)
    assert (one.randomiser_.p, OneShotThreshold(report="hypercube").fit(X, y).randomiser_.p) == (
        1,
        4,
    )


# What it costs


def test_each_group_pays_once() -> None:
    X, y = records(11)
    fitted = LocalHardThresholding(local(0.7), steps=3, random_state=0).fit(X, y)
    assert [entry.part for entry in fitted.ledger_] == ["group 1", "group 2", "group 3"]
    sizes = [entry.about for entry in fitted.ledger_]
    assert sizes == [f"one report from each of {size} users" for size in (3, 3, 5)]
    assert fitted.privacy_ == local(0.7)
    assert compose(fitted.ledger_, Pure) == fitted.privacy_
    for entry in fitted.ledger_:
        assert entry.guarantees == (local(0.7),)
        assert (entry.sensitivity, entry.scale) == (
            fitted.randomiser_.radius,
            fitted.randomiser_.length,
        )
    # the same reports, had every user sent all of them
    together = compose(tuple(replace(entry, part="") for entry in fitted.ledger_), Pure)
    assert together.parameters["epsilon"] == pytest.approx(2.1)


@pytest.mark.parametrize("report", ["coordinate", "hypercube"])
def test_one_shot_pays_once(report: Any) -> None:
    X, y = records(11)
    fitted = OneShotThreshold(local(0.7), report=report, random_state=0).fit(X, y)
    (entry,) = fitted.ledger_
    assert entry.about == "one report from each of 11 users"
    assert fitted.privacy_ == local(0.7) == compose(fitted.ledger_, Pure)
    assert OneShotThreshold().fit(X, y).privacy_ == local(1.0)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    ("privacy", "error", "message"),
    [
        (Pure(1.0), ValueError, r"privacy\.scope must be 'local', got 'central'"),
        (Pure(1.0, scope="label"), ValueError, r"privacy\.scope must be 'local', got 'label'"),
        (Approximate(1.0, 1e-6, scope="local"), TypeError, "privacy must be one of Pure"),
        (ZeroConcentrated(1.0), ValueError, r"privacy\.scope must be 'local', got 'central'"),
        (Gaussian(1.0, scope="local"), TypeError, "privacy must be one of Pure"),
        (1.0, TypeError, "privacy must be one of Pure"),
        (Pure(1e3, scope="local"), ValueError, "epsilon must be at most 700"),
    ],
)
def test_budgets_that_cannot_be_spent(
    kind: Any, privacy: Any, error: type[Exception], message: str
) -> None:
    estimator = kind(privacy)
    with pytest.raises(error, match=message):
        estimator.fit(*records(20))
    assert not hasattr(estimator, "coef_")


# Bad options and data


def options(**values: list[Any]) -> list[tuple[str, Any]]:
    return [(name, value) for name, some in values.items() for value in some]


BAD = [math.nan, math.inf, 0.0, -1.0, 1e40, "big", True, None]


@pytest.mark.parametrize(
    ("name", "value"),
    options(
        s=[0, 5, 1.5, "1", True, None],
        s_star=[0, 3, 1.5, "1"],
        C=BAD,
        radius=BAD,
        feature_scale=BAD,
        step_size=BAD,
        clip=BAD,
        steps=[0, -1, 21, 2.0, "many", True, None],
        randomiser=["best", None, 1],
        link=[abs, "identity", 1.0, Link(PAPER.f, PAPER.derivative, 7.5, 9.0)],
        random_state=["seed", -1],
    ),
)
def test_options_of_local_hard_thresholding(name: str, value: Any) -> None:
    estimator = LocalHardThresholding(**{"s": 2, name: value})
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\b"):
        estimator.fit(*records(20))
    assert not hasattr(estimator, "coef_")


@pytest.mark.parametrize(
    ("name", "value"),
    options(
        s=[0, 5, 1.5, "1", True, None],
        C=BAD,
        radius=BAD,
        feature_scale=BAD,
        bound=BAD,
        report=["all", None],
        random_state=["seed", -1],
    ),
)
def test_options_of_one_shot_threshold(name: str, value: Any) -> None:
    estimator = OneShotThreshold(**{"s": 2, name: value})
    with pytest.raises((TypeError, ValueError), match=rf"^{name}\b"):
        estimator.fit(*records(20))
    assert not hasattr(estimator, "coef_")


def test_a_link_is_checked_where_inner_products_can_be() -> None:
    steep = Link(lambda t: t + t**3 / 30, lambda t: 1 + t**2 / 10, 1.0, 1.15)
    X, y = records(20)
    LocalHardThresholding(link=steep).fit(X, y)
    with pytest.raises(ValueError, match=r"link: the derivative leaves \[a, b\]"):
        LocalHardThresholding(link=steep, s=2).fit(X, y)  # sqrt(2) > 1.22
    with pytest.raises(ValueError, match=r"link: the derivative leaves \[a, b\]"):
        LocalHardThresholding(link=steep, radius=1.3).fit(X, y)
    with pytest.raises(ValueError, match=r"link: the derivative leaves \[a, b\]"):
        LocalHardThresholding(link=steep, feature_scale=1.3).fit(X, y)


def test_a_link_without_a_window_needs_a_step() -> None:
    wide = Link(lambda t: t + np.tanh(t), lambda t: 1 + np.cosh(t) ** -2, 1.0, 2.0)
    X, y = records(20)
    with pytest.raises(OutsideRegime, match=r"link: .* 9 a\^2 > 5 b\^2 .*give step_size"):
        LocalHardThresholding(link=wide).fit(X, y)
    assert LocalHardThresholding(link=wide, step_size=0.2).fit(X, y).step_size_ == 0.2


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize(
    "bad",
    [
        lambda X: np.where(X > 0, np.nan, X),
        lambda X: np.where(X > 0, np.inf, X),
        lambda X: X + 1j,
        lambda X: np.ma.masked_array(X, mask=X > 0),
        lambda X: X[:, 0],
        lambda X: X[:0],
        lambda X: np.where(X > 0, "a", "b"),
    ],
    ids=["nan", "inf", "complex", "masked", "vector", "empty", "text"],
)
def test_rows_that_are_refused(kind: Any, bad: Any) -> None:
    X, y = records(20)
    estimator = kind()
    with pytest.raises((TypeError, ValueError)):
        estimator.fit(bad(X), y[: len(bad(X))])
    assert not hasattr(estimator, "coef_")


# Randomness, formats, memory

VARIANTS: list[Any] = [
    LocalHardThresholding(s=2, steps=3),
    LocalHardThresholding(s=2, steps=3, randomiser="privunit", link=PAPER),
    OneShotThreshold(s=2),
    OneShotThreshold(s=2, report="hypercube"),
]


@pytest.mark.parametrize("estimator", VARIANTS, ids=["duchi", "privunit", "bit", "cube"])
def test_seeds_formats_and_other_types(estimator: Any) -> None:
    X, y = records(300)
    X[:, 2] = 0.0

    def coef(seed: Any, rows: Any = X) -> list[float]:
        found: Array = clone(estimator).set_params(random_state=seed).fit(rows, y).coef_
        return found.tolist()

    assert coef(3) == coef(3) == coef(np.random.default_rng(3)) != coef(4)
    np.testing.assert_allclose(coef(3, sparse.csr_matrix(X)), coef(3), rtol=1e-12)
    np.testing.assert_allclose(coef(3, X.astype(int)), coef(3), rtol=1e-12)
    np.testing.assert_allclose(coef(3, np.asfortranarray(X)), coef(3), rtol=1e-12)


@pytest.mark.parametrize("estimator", VARIANTS, ids=["duchi", "privunit", "bit", "cube"])
def test_reports_of_all_users_are_never_held(estimator: Any) -> None:
    X, y = records(40_000, p=100)
    tracemalloc.start()
    try:
        clone(estimator).fit(X, y)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < X.nbytes / 3
