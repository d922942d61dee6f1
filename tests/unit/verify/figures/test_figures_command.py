"""``python -m verify.figures``: verdicts, controls, exit codes, what it keeps, what it refuses."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.commands import usage_error
from verify.data_sets import DATA_SETS
from verify.figures import catalogue, command, drawing
from verify.figures.catalogue import all_panels
from verify.figures.command import main
from verify.figures.document import HEADLINES, data_table, headlines, page
from verify.figures.drawing import file_name, layout
from verify.figures.measure import _Runner
from verify.figures.panel import Fit, Grid, Method, Panel, Plan, zero
from verify.figures.readings import Ahead, Falls, Reading, Sentence, Verdict

ROOT = Path(__file__).resolve().parents[4]
RUNS: list[str] = []
"""What the little panel's methods were asked, so that a second run can be seen to ask nothing."""


def little_draw(point, rng, *tables):
    return rng.standard_normal(int(point["n"]))


def mean_plus_noise(sample, point, rng, *, scale=1.0):
    RUNS.append(f"{point['n']:g}")
    noise = scale * rng.standard_normal() / np.sqrt(point["n"])
    return Fit(np.array([sample.mean() + noise]), 1.0, {"scale": scale})


def noisier(sample, point, rng):
    return mean_plus_noise(sample, point, rng, scale=8.0)


PANEL = Panel(
    id="CWZ19:Figure 9(a)",
    title="two means",
    x="n",
    metric="|error|",
    point=lambda n: {"n": n, "epsilon": 1.0, "delta": 1e-6},
    draw=little_draw,
    error=lambda estimate, sample: float(abs(estimate[0])),
    methods=(
        Method("tuned", "best", mean_plus_noise, Grid({"scale": (4.0, 0.5, 2.0)})),
        Method("noisy", "printed", noisier),
        zero(lambda point: 1),
    ),
    sentences=(
        Sentence(
            "ours is ahead",
            (
                Reading("both", Ahead("tuned", "noisy"), Verdict.REPRODUCED, "less noise"),
                Reading("tuned", Falls("tuned"), Verdict.REPRODUCED, "an average"),
            ),
        ),
    ),
    quick=Plan((10, 100), 40, 20),
    standard=Plan((10, 100), 40, 20),
    brief=Plan((10,), 4),
    printed={"d": "1"},
    ours={"n": "on the axis"},
)
REAL = replace(PANEL, id="CWZ19:Figure 9(b)", data=("housing",))


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the command on the little panels."""
    shown = {panel.id: panel for panel in (PANEL, REAL)}

    def ran(*arguments, panels=shown):
        for module in (catalogue, command, drawing):
            monkeypatch.setattr(module, "all_panels", lambda: panels)
        RUNS.clear()
        return main([*arguments, "--jobs", "1"])

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("TRACEBOUND_DATA", raising=False)
    return ran


def found(path="found.json"):
    return json.loads(Path(path).read_text())


def test_a_run_tells_curves_verdicts_and_what_is_missing(run, capsys):
    assert run("--json", "found.json", "--write", "page.md") == 0
    told = found()
    assert told["summary"]["REPRODUCED"] == 2
    assert told["summary"]["NO DATA"] == 2
    measured, missing = told["panels"]
    assert missing["status"] == "NO DATA"
    assert missing["series"] == []
    assert all("cal_housing.data" in claim["evidence"] for claim in missing["claims"])
    tuned = measured["series"][0]
    assert [each["scale"] for each in tuned["options"]] == ["0.5", "0.5"]
    assert tuned["edges"] == [[], []]
    assert tuned["epsilon_spent"] == tuned["epsilon_asked"] == [1.0, 1.0]
    ends = zip(tuned["ci_low"], tuned["mean"], tuned["ci_high"], strict=True)
    assert all(low < mean < high for low, mean, high in ends)
    assert Path("out/figures", file_name("CWZ19:Figure 9")).stat().st_size > 1000
    assert "ours is ahead" in Path("page.md").read_text()
    assert max(map(len, capsys.readouterr().out.splitlines())) <= 80


def test_a_part_of_a_figure_replaces_no_whole_one(run):
    run("--only", "*(a)")
    assert [path.name for path in Path("out/figures").iterdir()] == ["cwz19-figure-9-a.png"]


def test_panels_stand_where_the_paper_has_them():
    """Ours below, in the column of what they belong to; no two in one place."""

    def of(figure, *letters):
        return list(layout([f"{figure}({each})" for each in letters]).values())

    assert of("CWZ19:Figure 1", *"abcd", "d'") == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 1)]
    assert of("WG19:Figure 1", *"abcd") == [(0, 0), (0, 1), (0, 2), (0, 3)]
    assert of("WX21:Figure 2", *"abc", "a'") == [(0, 0), (0, 1), (0, 2), (1, 0)]
    assert layout(["WG19:Table 9"]) == {"WG19:Table 9": (0, 0)}
    figures = {panel.figure for panel in all_panels().values()}
    for figure in figures:
        ids = [panel.id for panel in all_panels().values() if panel.figure == figure]
        assert len(set(layout(ids).values())) == len(ids), figure


def test_show_tells_what_the_control_found(run, capsys):
    assert run("show", "CWZ19:Figure 9(a)", "--json", "found.json") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert told.count("“ours is ahead”") == 1
    assert "control, with the opposite planted: REVERSED: ratio 8 (8 … 8) at 10" in told
    claim = found()["panels"][0]["claims"][0]
    assert claim["control"]["verdict"] == "REVERSED"
    assert claim["control_broke"]


def test_who_leaves_a_pipe_early_finds_the_files(run, monkeypatch):
    def gone(*_):
        raise BrokenPipeError

    monkeypatch.setattr(command, "print_run", gone)
    with pytest.raises(BrokenPipeError):
        run("--json", "found.json")
    assert found()["summary"]["REPRODUCED"] == 2


def test_an_optimum_on_the_edge_of_its_grid_is_flagged(run):
    tuned = replace(PANEL.methods[0], grid=Grid({"scale": (0.5, 2.0, 4.0)}))
    edged = replace(PANEL, methods=(tuned, *PANEL.methods[1:]))
    run("--json", "found.json", panels={edged.id: edged})
    assert found()["panels"][0]["series"][0]["edges"] == [["scale"], ["scale"]]


def test_two_methods_that_are_swapped_flip_verdict_and_exit_code(run):
    first, second, *rest = PANEL.methods
    swapped = (replace(first, name=second.name), replace(second, name=first.name), *rest)
    panel = replace(PANEL, methods=swapped)
    assert run("--json", "found.json", panels={panel.id: panel}) == 1
    assert found()["panels"][0]["claims"][0]["verdict"] == "REVERSED"
    assert found()["summary"]["not as recorded"] >= 1


def test_a_test_without_a_control_that_breaks_is_a_failure(run, monkeypatch):
    monkeypatch.setattr(Ahead("tuned", "noisy").__class__, "denied", lambda self, curves: curves)
    assert run("--json", "found.json") == 1
    assert found()["summary"]["controls unbroken"] == 1


def test_what_was_measured_is_not_measured_again(run):
    assert run("--json", "first.json") == 0
    assert RUNS
    assert run("--json", "second.json") == 0
    assert not RUNS
    assert Path("first.json").read_bytes() == Path("second.json").read_bytes()
    assert run("--json", "third.json", "--fresh") == 0
    assert RUNS
    assert Path("first.json").read_bytes() == Path("third.json").read_bytes()


def test_an_interrupted_run_goes_on_where_it_was(run, monkeypatch, capsys):
    def interrupted(estimate, sample):
        if len(sample) == 10:
            raise KeyboardInterrupt
        return PANEL.error(estimate, sample)

    stopped = replace(PANEL, error=interrupted)
    assert run("--json", "found.json", panels={PANEL.id: stopped}) == 130
    assert "is kept in" in capsys.readouterr().err
    assert not Path("found.json").exists()
    assert run("--json", "found.json", panels={PANEL.id: PANEL}) == 0
    assert set(RUNS) == {"10"}
    assert run("--json", "whole.json", "--fresh", panels={PANEL.id: PANEL}) == 0
    assert Path("found.json").read_bytes() == Path("whole.json").read_bytes()


def test_show_tells_one_panel_or_a_whole_figure(run, capsys):
    assert run("show", "CWZ19:Figure 9") == 0
    told = capsys.readouterr().out
    assert "CWZ19:Figure 9(b)" in told
    assert "less noise" in told
    assert "ours: n: on the axis" in told
    assert run("show", "CWZ19:Figure 9(a)") == 0
    assert "CWZ19:Figure 9(b)" not in capsys.readouterr().out


def test_the_list_says_which_data_are_missing(run, capsys):
    assert run("--list") == 0
    assert "cal_housing.data (missing)" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--only", "CWZ19:Figur 9*"], "nearest: CWZ19:Figure 9"),
        (["--only", ""], "matches nothing"),
        (["show", "CWZ19:Figure 8"], "nearest: CWZ19:Figure 9"),
        (["show"], "expected: show ID"),
        (["tell", "CWZ19:Figure 9"], "expected: show ID"),
        (["show", "CWZ19:Figure 9", "--only", "*"], "--only does not go with show"),
        (["--require-data"], "cal_housing.data"),
        (["--data", "nowhere"], "there is no folder"),
        (["--data", "wrong"], "is not California housing"),
        (["--jobs", "0"], "--jobs must be positive"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--json", "wrong"], "--json: is a folder"),
        (["--plots", "wrong/cal_housing.data/x"], "--plots: cannot make"),
        (["--results", "wrong"], "--results: wrong holds other files"),
        (["--profile", "slow"], "--profile"),
    ],
)
def test_bad_usage_is_refused_before_anything_is_run(run, capsys, arguments, words):
    Path("wrong").mkdir()
    Path("wrong/cal_housing.data").write_text("1,2\n")
    shown = {panel.id: panel for panel in (PANEL, REAL)}

    def refused(extra):
        for module in (catalogue, command):
            module.all_panels = lambda: shown
        return main(extra)

    assert run("--list") == 0
    capsys.readouterr()
    assert words in usage_error(refused, arguments, capsys)
    assert not RUNS


def test_runs_share_a_data_set_and_the_lowest_of_them_is_no_release():
    def centred(sample, point, rng):
        return Fit(np.array([sample.mean(), rng.uniform()]), 1.0)

    def error(estimate, sample):
        assert estimate[0] == sample.mean()
        return float(estimate[1])

    runner = _Runner(replace(PANEL, error=error), PANEL.point(10), "any", 0, ())
    once = Method("once", "printed", centred)
    lowest = replace(once, name="lowest", runs=10, every=5)
    single, ten = runner.tried([once, lowest], [{}, {}], 200)
    assert (len(single.losses), len(ten.losses)) == (200, 40)
    assert abs(np.mean(single.losses) - 1 / 2) < 0.1
    assert abs(np.mean(ten.losses) - 1 / 11) < 0.06
    assert (single.epsilon, ten.epsilon) == (1.0, None)


# --- the panels of the papers ---------------------------------------------------------------------


def test_every_panel_is_told_whole():
    for panel in all_panels().values():
        assert panel.id.split(":")[0] in {"CWZ19", "WG19", "WX19", "WX21"}
        assert panel.sentences, panel.id
        assert any(method.variant != "not private" for method in panel.methods)
        assert len({method.name for method in panel.methods}) == len(panel.methods)
        for profile in ("brief", "quick", "standard", "full"):
            plan = panel.plan(profile)
            assert plan.xs
            assert all(plan.trials > method.every for method in panel.methods)
        for reading in (each for sentence in panel.sentences for each in sentence.readings):
            assert reading.why
            never_there = any(DATA_SETS[key].sha256 is None for key in panel.data)
            assert (reading.expected is Verdict.NO_DATA) == never_there


def test_tuned_methods_of_a_panel_have_grids_of_one_size():
    for panel in all_panels().values():
        sizes = {len(method.grid.options) for method in panel.methods}
        assert len(sizes - {1}) <= 1, (panel.id, sizes)


def test_the_page_is_that_of_the_panels():
    written = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    assert written == page(list(all_panels().values()))


def test_the_readme_has_the_headlines_of_every_figure():
    panels = all_panels()
    told = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "\n".join(headlines(panels)) in told
    assert "\n".join(data_table(list(DATA_SETS.values()))) in told
    assert {panels[name].figure for name, _ in HEADLINES} == {p.figure for p in panels.values()}
