"""Links: what is refused, and that the window is exactly where a step contracts."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest

from estimators.core.links import IDENTITY, Link, best_step, step_window
from estimators.sparse_erm import hard_threshold
from minimax.core.bound import OutsideRegime

pytestmark = pytest.mark.oldest

PAPER = Link(lambda t: 8 * t + np.cos(t), lambda t: 8 - np.sin(t), 7.0, 9.0)
"""f of WX21 §VIII."""


def contraction(eta: float, link: Link, isometry: float) -> float:
    """The largest |1 - eta D| over D in [a^2 (1 - Delta), b^2 (1 + Delta)], by a grid."""
    D = np.linspace(link.a**2 * (1 - isometry), link.b**2 * (1 + isometry), 101)
    return float(np.abs(1 - eta * D).max())


@pytest.mark.parametrize(
    "link",
    [
        IDENTITY,
        PAPER,
        Link(lambda t: 1e9 + 2.0 * t, lambda t: 2.0, 2.0, 2.0),
        Link(lambda t: t + np.tanh(t), lambda t: 1 + np.cosh(t) ** -2, 1.0, 2.0),
        Link(lambda t: t + t * abs(t) / 40, lambda t: 1 + abs(t) / 20, 1.0, 1.5),
    ],
    ids=["identity", "paper", "offset", "tanh", "kink"],
)
@pytest.mark.parametrize("largest", [1e-3, 1.0, 10.0])
def test_a_good_link_passes(link: Link, largest: float) -> None:
    link.check(largest)
    t = np.linspace(-largest, largest, 7)
    assert np.all(np.diff(np.broadcast_to(link.f(t), t.shape)) > 0)


@pytest.mark.parametrize(
    ("link", "message"),
    [
        (Link(PAPER.f, PAPER.derivative, 7.5, 9.0), r"leaves \[a, b\] = \[7.5, 9\]: it is 7"),
        (Link(PAPER.f, PAPER.derivative, 7.0, 8.9), r"leaves \[a, b\]"),
        (Link(PAPER.f, lambda t: 8 + np.sin(t), 7.0, 9.0), "not that of f"),
        (Link(lambda t: 8.01 * t + np.cos(t), PAPER.derivative, 7.0, 9.0), "not that of f"),
        (Link(np.log, lambda t: 1 / t, 0.1, 10.0), r"derivative leaves|not finite"),
        (Link(lambda t: np.where(t > 1, np.nan, t), np.ones_like, 1.0, 1.0), "f is not finite at"),
        (Link(lambda t: t[:3], np.ones_like, 1.0, 1.0), "f must map arrays"),
        (Link(lambda t: t, lambda t: "steep", 1.0, 1.0), "derivative must map arrays"),
        (Link(math.sin, math.cos, 0.5, 1.0), "derivative must map arrays"),
        (Link(lambda t: t / np.abs(t).max(), lambda t: np.ones_like(t) / 3, 0.3, 0.4), "entry by"),
        (Link(lambda t: t - t.mean(), np.ones_like, 1.0, 1.0), "f must work entry by entry"),
        (Link(np.sort, np.ones_like, 1.0, 1.0), "f must work entry by entry"),
        (
            Link(lambda t: t, lambda t: np.linspace(0.9, 1, len(t)), 0.9, 1.0),
            "derivative must work entry by entry",
        ),
    ],
)
def test_a_bad_link_is_refused(link: Link, message: str) -> None:
    with pytest.raises(ValueError, match=r"^link: .*") as caught:
        link.check(3.0)
    assert caught.match(message)


def test_only_the_arguments_that_can_occur_matter() -> None:
    steep = Link(lambda t: t + t**3 / 3, lambda t: 1 + t**2, 1.0, 2.0)
    steep.check(1.0)
    with pytest.raises(ValueError, match=r"it is 2.21 at -?1.1"):
        steep.check(1.1)
    Link(lambda t: np.where(abs(t) > 3, np.nan, t), np.ones_like, 1.0, 1.0).check(3.0)
    for largest in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="largest"):
            steep.check(largest)


@pytest.mark.parametrize("largest", [1e-3, 1.0, 10.0])
def test_a_table_of_a_link_is_the_link(largest: float) -> None:
    table = PAPER.tabulated(largest)
    t = np.random.default_rng(0).uniform(-largest, largest, 1000)
    np.testing.assert_allclose(table.f(t), PAPER.f(t), rtol=0, atol=1e-10)
    np.testing.assert_allclose(table.derivative(t), PAPER.derivative(t), rtol=0, atol=1e-7)
    assert table.f(np.array([2 * largest])) == PAPER.f(np.array(largest))
    assert (table.a, table.b) == (7.0, 9.0)


def test_a_table_of_a_link_works_entry_by_entry_whatever_the_link() -> None:
    """Also where `check` is deceived: these are honest on its grid, and where it looks at parts."""

    def mixed(t: np.ndarray) -> np.ndarray:
        return t / np.abs(t).max() if len(t) < 100 else t

    def failing(t: np.ndarray) -> np.ndarray:
        if len(t) < 100:
            raise RuntimeError
        return t

    alone, together = np.array([0.3]), np.array([0.3, 0.9])
    for f in (mixed, failing):
        link = Link(f, np.ones_like, 1.0, 1.0)
        link.check(1.0)
        table = link.tabulated(1.0)
        assert table.f(together)[0] == table.f(alone)[0] == pytest.approx(0.3)
    assert mixed(together)[0] != mixed(alone)[0]  # the control


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((3, np.ones_like, 1.0, 1.0), TypeError, "f must be a function"),
        ((np.sin, None, 1.0, 1.0), TypeError, "derivative must be a function"),
        ((np.sin, np.cos, 0.0, 1.0), ValueError, "a must be positive"),
        ((np.sin, np.cos, 1.0, math.inf), ValueError, "b must be positive"),
        ((np.sin, np.cos, "1", 1.0), TypeError, "a must be a number"),
        ((np.sin, np.cos, 2.0, 1.0), ValueError, "a must be at most b"),
    ],
)
def test_a_link_that_cannot_be(arguments: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        Link(*arguments)


def test_the_identity() -> None:
    t = np.array([-2.0, 0.0, 3.0])
    assert IDENTITY.f(t).tolist() == [-2, 0, 3]
    assert IDENTITY.derivative(t).tolist() == [1, 1, 1]
    assert pickle.loads(pickle.dumps(IDENTITY)) == IDENTITY
    assert step_window(IDENTITY) == pytest.approx((5 / 7, 9 / 7))
    assert step_window(IDENTITY, 0.1) == pytest.approx((5 / 6.3, 9 / 7.7))
    assert best_step(IDENTITY) == 1
    assert IDENTITY.largest_isometry == pytest.approx(2 / 7)


def test_the_largest_isometry_of_the_papers_link_is_not_the_printed_one() -> None:
    assert PAPER.largest_isometry == pytest.approx(36 / 846)
    assert (9 * PAPER.a**2 - 5 * PAPER.b**2) / 14 == pytest.approx(2.571, abs=1e-3)
    scaled = Link(PAPER.f, PAPER.derivative, 0.7, 0.9)
    assert scaled.largest_isometry == pytest.approx(PAPER.largest_isometry)


@pytest.mark.parametrize("link", [IDENTITY, PAPER, Link(np.sin, np.cos, 0.3, 0.4)])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.999, 1.0])
def test_the_window_is_where_a_step_contracts_by_two_sevenths(link: Link, share: float) -> None:
    isometry = share * link.largest_isometry
    low, high = step_window(link, isometry)
    for eta in (low, best_step(link, isometry), high):
        assert low * (1 - 1e-12) <= eta <= high * (1 + 1e-12)
        assert contraction(eta, link, isometry) <= 2 / 7 + 1e-12
    for eta in (low * 0.999, high * 1.001):
        assert contraction(eta, link, isometry) > 2 / 7
    around = best_step(link, isometry) * np.linspace(0.9, 1.1, 41)
    least = min(contraction(eta, link, isometry) for eta in around)
    assert contraction(best_step(link, isometry), link, isometry) == pytest.approx(least)


def test_an_empty_window_is_an_error() -> None:
    flat = Link(np.sin, np.cos, 0.5, 1.0)
    for call in (step_window, best_step):
        with pytest.raises(OutsideRegime, match=r"link.*9 a\^2 > 5 b\^2.*a = 0.5, b = 1"):
            call(flat)
        with pytest.raises(OutsideRegime, match=r"isometry = 0\.29"):
            call(IDENTITY, 0.29)
        with pytest.raises(OutsideRegime, match=r"= 0\.04255"):
            call(PAPER, 0.05)
        for isometry in (-0.1, 1.0, math.nan):
            with pytest.raises(ValueError, match="isometry must lie"):
                call(IDENTITY, isometry)


@pytest.mark.parametrize("link", [IDENTITY, PAPER], ids=["identity", "paper"])
def test_a_step_in_the_window_halves_the_error(link: Link) -> None:
    """All of {-1, 1}^p once each is a design with Delta = 0, and no noise is added."""
    p, s_star = 10, 1
    X = 1.0 - 2 * ((np.arange(2**p)[:, None] >> np.arange(p)) & 1)
    rng = np.random.default_rng(0)

    def ratio(eta: float) -> float:
        theta, truth = np.zeros(p), np.zeros(p)
        theta[rng.choice(p, 8 * s_star, replace=False)] = rng.standard_normal(8 * s_star) / 4
        theta /= max(np.linalg.norm(theta), 1.0)
        truth[rng.integers(p)] = rng.uniform(-1, 1)
        inner = X @ theta
        residual = link.f(inner) - link.f(X @ truth)
        gradient = (link.derivative(inner) * residual) @ X / len(X)
        moved = hard_threshold(theta - eta * gradient, 8 * s_star)
        return float(np.linalg.norm(moved - truth) / np.linalg.norm(theta - truth))

    low, high = step_window(link)
    for eta in (low, best_step(link), high):
        assert max(ratio(eta) for _ in range(100)) <= 0.5
    assert max(ratio(0.3 * low) for _ in range(100)) > 0.5
    assert max(ratio(2 * high) for _ in range(100)) > 0.5
