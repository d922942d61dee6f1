"""The set-ups of WX21's and WX19's figures: laws, schedules, starts, links, gaps."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from estimators.core.losses import LogisticLoss
from verify.figures.catalogue import all_panels
from verify.figures.compound import Every, Typical
from verify.figures.curves import Curve, log_ratio
from verify.figures.panels import wx21_labels, wx21_local, wx21_real_data
from verify.figures.panels.wx21_set_up import (
    NOISE,
    RUNS,
    Regression,
    draw,
    random_start,
    rounds,
    sign_rows,
)
from verify.figures.readings import Comparable, Falls, Rises, Verdict, control
from verify.rates.claims.local import PAPER_LINK

PAPERS = ("WX21:Figure", "WX19:Figure")
MINE = {name: panel for name, panel in all_panels().items() if name.startswith(PAPERS)}


def sample(s: int, in_class: bool = False, linked: bool = False) -> Regression:
    point = wx21_local.point(20_000, in_class=in_class, linked=linked)
    return draw({**point, "s": s}, np.random.default_rng(s))


def test_every_figure_has_its_three_panels() -> None:
    for figure in range(1, 7):
        assert {f"WX21:Figure {figure}({letter})" for letter in "abc"} <= set(MINE)
    for figure in (1, 2):
        assert {f"WX19:Figure {figure}({letter})" for letter in "abc"} <= set(MINE)


def test_rows_are_signs_and_every_sign_is_fair() -> None:
    X = sign_rows(40_001, 7, np.random.default_rng(0))
    assert X.shape == (40_001, 7)
    assert set(np.unique(X)) == {-1.0, 1.0}
    moments = X.T @ X / len(X)
    assert np.abs(moments - np.eye(7)).max() < 5 / math.sqrt(len(X))
    assert np.abs(X.mean(axis=0)).max() < 5 / math.sqrt(len(X))


@pytest.mark.parametrize("s", [1, 3])
def test_theta_is_uniform_on_few_coordinates(s: int) -> None:
    drawn = [sample_theta(s, seed) for seed in range(120)]
    places = np.concatenate([np.flatnonzero(theta) for theta in drawn])
    values = np.concatenate([theta[theta != 0] for theta in drawn])
    assert len(values) == 120 * s
    assert values.min() > 0
    assert values.max() < 1
    assert abs(values.mean() - 0.5) < 4 * math.sqrt(1 / 12 / len(values))
    assert np.bincount(places, minlength=10).min() > 0


def sample_theta(s: int, seed: int) -> np.ndarray:
    point = wx21_local.point(10, in_class=False, linked=False)
    return draw({**point, "s": s}, np.random.default_rng(seed)).theta


def test_noise_is_uniform_within_its_bound() -> None:
    drawn = sample(2)
    noise = drawn.y - drawn.X @ drawn.theta
    assert np.abs(noise).max() <= NOISE
    assert abs(np.mean(noise**2) / (NOISE**2 / 3) - 1) < 0.05


def test_labels_go_through_the_link() -> None:
    drawn = sample(2, linked=True)
    assert np.abs(drawn.y - PAPER_LINK.f(drawn.X @ drawn.theta)).max() <= NOISE


def test_the_link_is_monotone_with_the_constants_of_the_paper() -> None:
    PAPER_LINK.check(20.0)
    slopes = PAPER_LINK.derivative(np.linspace(-20, 20, 10_001))
    assert (PAPER_LINK.a, PAPER_LINK.b) == (7, 9)
    assert slopes.min() == pytest.approx(7, abs=1e-4)
    assert slopes.max() == pytest.approx(9, abs=1e-4)


def test_theta_lies_in_the_ball_where_it_should_and_leaves_it_as_printed() -> None:
    assert all(np.linalg.norm(sample(3, in_class=True).theta) <= 1 for _ in range(3))
    lengths = [np.linalg.norm(sample_theta(9, seed)) for seed in range(50)]
    assert max(lengths) > 1


@pytest.mark.parametrize("s", [1, 3])
def test_the_start_is_one_of_the_algorithm(s: int) -> None:
    point = {**wx21_local.point(10, in_class=False, linked=False), "s": s}
    start = random_start(point, np.random.default_rng(0))
    assert 0 < np.count_nonzero(start) <= s
    assert np.linalg.norm(start) <= 1 + 1e-12


def test_the_number_of_steps_is_the_printed_one() -> None:
    assert rounds({"n": 2000, "p": 1600}) == 1
    assert rounds({"n": 10_000, "p": 100}) == 5 == math.ceil(math.log(100))
    assert rounds({"n": 10_000, "p": 10}) == 7


def test_the_printed_clip_holds_an_estimate_at_its_start() -> None:
    """No coordinate of a mean of clipped gradients exceeds C, but for noise."""
    drawn = sample(1)
    point = {**wx21_local.point(20_000, in_class=False, linked=False), "epsilon": 20.0}
    found = wx21_local.normal_start(drawn, point, np.random.default_rng(0))
    moved = np.abs(found.estimate - random_start(point, np.random.default_rng(0))).max()
    assert moved < 1.5 * 0.2 * NOISE * rounds(point)
    assert found.epsilon == 20.0


def test_the_printed_label_noise_really_spends_more() -> None:
    point = wx21_labels.point(2_000, in_class=True, linked=False)
    drawn = draw(point, np.random.default_rng(0))
    rng = np.random.default_rng(0)
    printed = wx21_labels.printed(drawn, point, rng, start=False)
    assert printed.epsilon == pytest.approx(36.2, abs=0.1)
    assert wx21_labels.exact(drawn, point, rng).epsilon == pytest.approx(1.0)


def test_either_printed_step_is_the_one_that_is_made() -> None:
    """From 0, without much noise, a first step of eta goes eta of the way."""
    point = {**wx21_labels.point(1_000, in_class=True, linked=False), "p": 900, "epsilon": 100.0}
    drawn = draw({**point, "n": 20_000}, np.random.default_rng(0))
    assert rounds(point) == 1
    for fit, step in ((wx21_labels.printed, 0.2), (wx21_labels.shorter, 0.1)):
        found = fit(drawn, point, np.random.default_rng(0), start=False).estimate
        along = found @ drawn.theta / (drawn.theta @ drawn.theta)
        assert along == pytest.approx(step, rel=0.1)


def test_what_section_8_c_does_not_say_is_ours() -> None:
    for name, panel in MINE.items():
        if name.startswith(("WX21:Figure 5", "WX21:Figure 6")):
            assert set(panel.printed) == {"θ*", "x", "noise", "f"}
            assert "C, η, s, T, δ, start, ten runs" in panel.ours
            assert "respectively" in panel.ours["pairs"]


def test_a_sentence_on_figure_2_is_not_read_off_figure_1() -> None:
    for name, panel in MINE.items():
        if name.startswith("WX21:Figure 1"):
            assert not any("unlike Figure 1" in sentence.quote for sentence in panel.sentences)


def test_the_lowest_of_ten_is_read_of_the_experiment_as_described() -> None:
    for figure, letter in ((f, c) for f in (1, 2, 5) for c in "abc"):
        described = MINE[f"WX21:Figure {figure}({letter})"]
        runs = {method.name for method in described.methods if method.runs == RUNS}
        about = [r.about for sentence in described.sentences for r in sentence.readings]
        assert runs
        assert any("lowest of 10 runs" in each for each in about)
    assert not any(method.runs > 1 for n, p in MINE.items() if "WX19" in n for method in p.methods)


def test_the_paper_s_optimum_is_a_descent_that_is_stopped_where_it_says() -> None:
    """Ours is never worse: the better of two searches."""
    drawn = logistic_sample()
    point = {"n": 400, "p": 12, "s": 3, "epsilon": 2.0, "delta": 1e-3}
    rng = np.random.default_rng(0)
    gaps = [
        wx21_real_data.gap(
            wx21_real_data.printed_optimum(drawn, point, rng, change=change).estimate, drawn
        )
        for change in (1e-1, 1e-4, 1e-6)
    ]
    assert gaps[0] > gaps[1] >= gaps[2] >= -1e-12
    assert gaps[1] - gaps[2] < 1e-7 < gaps[0] - gaps[1]


def logistic_sample(n: int = 400, p: int = 12) -> wx21_real_data.Sample:
    rng = np.random.default_rng(0)
    X = wx21_real_data.unit_rows(rng.standard_normal((n, p)))
    y = (X @ np.r_[4.0, -4.0, np.zeros(p - 2)] + rng.logistic(size=n) > 0).astype(float)
    return wx21_real_data.sampled(X, y, 3)


def test_the_gap_is_that_of_the_penalised_loss_and_not_negative() -> None:
    drawn = logistic_sample()
    w = np.r_[1.0, -1.0, np.zeros(10)]
    loss = np.mean(np.logaddexp(0, -(2 * drawn.y - 1) * (drawn.X @ w)))
    assert LogisticLoss().smoothness == 0.25
    expected = loss + wx21_real_data.RIDGE / 2 * 2 - drawn.least
    assert wx21_real_data.gap(w, drawn) == pytest.approx(expected)
    point = {"n": 400, "p": 12, "s": 3, "epsilon": 2.0, "delta": 1e-3}
    for fit in (wx21_real_data.fitted, wx21_real_data.without_noise):
        found = fit(drawn, point, np.random.default_rng(0), steps=400, step_size=5.0)
        assert wx21_real_data.gap(found.estimate, drawn) >= -1e-12


def test_the_curve_without_noise_has_none() -> None:
    drawn = logistic_sample()
    point = {"n": 400, "p": 12, "s": 3, "epsilon": 2.0, "delta": 1e-3}
    first, second = (
        wx21_real_data.without_noise(
            drawn, point, np.random.default_rng(seed), steps=50, step_size=0.1
        )
        for seed in (0, 1)
    )
    assert first.estimate == pytest.approx(second.estimate, abs=1e-3)
    assert first.epsilon is None


def test_rows_of_zeros_stay() -> None:
    X = wx21_real_data.unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    assert X.tolist() == [[0.6, 0.8], [0.0, 0.0]]


def test_stand_ins_are_not_called_rcv1() -> None:
    for name, panel in MINE.items():
        if name.startswith("WX21:Figure 4"):
            assert "in place of rcv1" in panel.title
            assert "not rcv1" in panel.ours["data"]


# --- the tests that these panels need -------------------------------------------------------------


def curve(name: str, level: float, spread: float = 1.0) -> Curve:
    rng = np.random.default_rng(len(name))
    x = (1000.0, 4000.0, 16000.0)
    losses = tuple(level / v * np.exp(spread * rng.standard_normal(40)) for v in x)
    return Curve(name, "best", x, losses)


def test_geometric_means_are_read_with_students_interval_of_logarithms() -> None:
    curves = {"a": curve("a", 1.0), "bb": curve("bb", 3.0)}
    found = Typical(Rises(("a", "bb"))).judge(curves)
    assert found.verdict is Verdict.REPRODUCED
    gaps = [
        np.log(b).mean() - np.log(a).mean()
        for a, b in zip(curves["a"].losses, curves["bb"].losses, strict=True)
    ]
    assert f"{math.exp(np.mean(gaps)):.3g}" in found.evidence


def test_one_far_loss_hides_an_order_from_means_and_not_from_geometric_means() -> None:
    first, far = curve("a", 1.0, 0.3), np.r_[100.0, np.ones(39)]
    first = replace(first, losses=tuple(values * far for values in first.losses))
    curves = {"a": first, "bb": curve("bb", 3.0, 0.3)}
    assert Rises(("a", "bb")).judge(curves).verdict is Verdict.NOT_SEPARATED
    assert Typical(Rises(("a", "bb"))).judge(curves).verdict is Verdict.REPRODUCED


@pytest.mark.parametrize("test", [Rises(("a", "bb")), Comparable("a", "bb", 8.0), Falls("a")])
def test_controls_of_geometric_means_break(test: object) -> None:
    curves = {"a": curve("a", 1.0), "bb": curve("bb", 3.0)}
    read = Typical(test)  # type: ignore[arg-type]
    verdict = read.judge(curves).verdict
    assert verdict is Verdict.REPRODUCED
    assert control(read, curves, verdict).broke
    assert read.judge(read.shown(curves)).verdict is Verdict.REPRODUCED


def test_every_test_must_hold() -> None:
    curves = {name: curve(name, level, 0.1) for name, level in (("a", 1), ("bb", 3), ("ccc", 90))}
    near, far = Comparable("a", "bb", 8.0), Comparable("a", "ccc", 8.0)
    assert Every((near,)).judge(curves).verdict is Verdict.REPRODUCED
    both = Every((near, far))
    assert both.judge(curves).verdict is Verdict.REVERSED
    assert control(Every((near,)), curves, Verdict.REPRODUCED).broke
    assert log_ratio(curves["ccc"], curves["a"], 0, 0.01).low > math.log(8)
