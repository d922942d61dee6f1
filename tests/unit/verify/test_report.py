"""What is printed is whole at 80 columns, in a pipe and without colour; and notebooks."""

from __future__ import annotations

import io
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from rich.console import Console

from minimax.__main__ import main as calculator
from minimax.core.privacy import ZeroConcentrated
from minimax.problems.mean.lower import antipodal_gaussian
from tests.unit.verify.test_rates_json import example
from verify.console import PIPE_WIDTH, Terminal
from verify.rates.claim import Ceiling
from verify.rates.claims import all_claims
from verify.rates.command import EXTRAS
from verify.rates.judge import Slope
from verify.rates.measure import Measurement
from verify.rates.report import list_claims, print_ordering, print_report, print_summary
from verify.rates.rows import Run, SlopeControl

LONG = "sandwich/sub-Gaussian mean, pure, n = 20,000, d = 200"
POINT = {"n": 1_000_000.0, "d": 20_000.0, "s": 100.0, "epsilon": 0.123, "delta": 1.25e-07}


def failing() -> Run:
    """A run with long names and every kind of failure in it."""
    run = example()
    row = replace(run.cells[0], claim=LONG, estimator="SparseResidualClippedRegression")
    wide = Measurement(1.234e-05, 1.1e-05, 2.345e-05, 1280, 0)
    cells = [
        replace(
            row, point=POINT, measured=wide, lower=lower, upper=Ceiling(upper, "U", "", vacuous)
        )
        for lower, upper, vacuous in (
            (1.111e-06, 1.234e-04, True),
            (9.99e-05, 1.234e-04, False),
            (1.111e-07, 1.234e-06, False),
            (2e-05, 1.234e-04, False),
        )
    ]
    slope = replace(run.slopes[0], claim=LONG, slope=Slope(-12.34, -13.5, -11.1, 0.0))
    controls = [replace(run.controls[0], claim=LONG, bound=1e-08), SlopeControl(slope)]
    dropped = [replace(run.dropped[0], claim=LONG)]
    return replace(
        run, cells=cells, slopes=[slope], controls=controls, dropped=dropped, coverage=run.coverage
    )


def printed(show: object, *given: object, width: int = 80) -> str:
    console = Console(width=width, file=io.StringIO(), no_color=True, force_terminal=False)
    show(*given, console)  # type: ignore[operator]
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [80, 100, 150])
def test_nothing_is_cut(width: int) -> None:
    text = printed(print_report, failing(), width=width)
    assert "…" not in text
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= width
    for word in ("CONSISTENT", "VIOLATED", "INCONCLUSIVE", "1.23e-05", "vacuous", "releasing"):
        assert word in text
    together = "".join(text.split())
    for words in ("broken lower bound", "broken upper bound", "exponent not matched"):
        assert words.split()[-1] in text
    assert "sub-Gaussian" in together
    assert f"\n{LONG}" in text  # in one piece


@pytest.mark.parametrize("width", [40, 55])
def test_points_are_there_on_a_narrow_page(width: int) -> None:
    """Where figures leave no room for them, on lines of their own."""
    text = printed(print_report, failing(), width=width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    assert words.count("n=1e+06") == len(failing().cells)
    assert "epsilon" in "".join(words)


def test_claims_are_listed_whole() -> None:
    text = printed(list_claims, all_claims(), EXTRAS)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    assert all(claim.name in text for claim in all_claims())


def test_orderings_are_whole() -> None:
    text = printed(print_ordering, example().ordering)
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    tally = example().ordering.claims[0]
    named = replace(tally.pair, experiment="CWZ19 low-dimensional", second="Johnson-Lindenstrauss")
    found = replace(example().ordering, claims=[replace(tally, pair=named)])
    words = printed(print_ordering, found).split()
    assert {"low-dimensional", "Johnson-Lindenstrauss"} <= set(words)  # in one piece


def test_the_summary_is_ten_lines_and_failures() -> None:
    good = replace(example(), cells=example().cells[:1], coverage=(), slopes=[], controls=[])
    assert good.exit_code == 0
    lines = printed(print_summary, good).splitlines()
    assert len(lines) == 10
    assert lines[-1] == "all is well"
    bad = printed(print_summary, failing(), width=400).splitlines()
    assert bad[9] == "FAILED"
    assert [line.rpartition(": ")[2] for line in bad[10:12]] == [
        "broken lower bound",
        "broken upper bound",
    ]
    assert "exponent not matched in n: -12.34, the bound has +1.00" in bad[12]
    assert any("interval too wide to reject an exponent one off" in line for line in bad)


def test_the_summary_says_what_no_verdict_does() -> None:
    """After what failed, in lines that fit; and a run in which nothing was judged is not well."""
    run = failing()
    dropped = [replace(run.dropped[0], claim="mine", unfitted=name) for name in ("n", "n", "d")]
    told = replace(run, dropped=dropped, unseeded=["restless"])
    lines = printed(print_summary, told, width=400).splitlines()
    lost = [line for line in lines if line.startswith("mine: no exponent")]
    assert [line.partition(" is fitted")[0] for line in lost] == [
        "mine: no exponent in n",
        "mine: no exponent in d",
    ]
    assert lines[-1].startswith("restless: its trials give other numbers each time")
    assert lines.index(lost[0]) > max(k for k, line in enumerate(lines) if "broken" in line)
    assert max(map(len, printed(print_summary, told).splitlines())) <= 80
    nothing = replace(run, cells=[], slopes=[], controls=[], coverage=())
    assert printed(print_summary, nothing).splitlines()[9] == "nothing was judged"


def test_the_control_of_an_exponent_shows_what_is_told_apart() -> None:
    """The shifted exponent, as precise as the fitted one, wherever that lies."""
    row = replace(example().slopes[0], slope=Slope(1.99, 1.92, 2.06, 0.0), expected=1.0)
    control = SlopeControl(row)
    assert control.broke
    assert control.comparison == ("if +2.00 ±0.07", "≠ +1.00 ±0.3")
    text = printed(print_report, replace(example(), controls=[control]))
    assert "if +2.00 ±0.07 ≠ +1.00 ±0.3" in " ".join(text.split())
    assert control.as_json()["half_width"] == pytest.approx(0.07)


def test_the_width_of_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    assert Terminal().width == PIPE_WIDTH
    monkeypatch.setenv("COLUMNS", "80")
    assert Terminal().width == 80


def test_the_calculator_is_whole_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert calculator(["mean", "--n", "10000", "--d", "20", "--rho", ".125"]) == 0
    text = capsys.readouterr().out
    assert "…" not in text
    assert "certified" in text
    assert max(map(len, text.split("proven upper")[0].splitlines())) <= 80


# --- Notebooks ------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Whether every tag that opens closes, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def whole(html: str) -> str:
    parser = Tags()
    parser.feed(html)
    assert parser.open == []
    return html


def test_runs_and_rows_in_a_notebook() -> None:
    run = failing()
    shown = whole(run._repr_html_())
    for words in ("broken lower bound", "exponent not matched", "INCONCLUSIVE", "&lt; 1e-08"):
        assert words in shown
    assert "broken upper bound" in whole(run.cells[2]._repr_html_())
    assert repr(run).startswith("<run, exit code 1: 4 cells, 1 slopes")


def test_bounds_for_a_person() -> None:
    bound = antipodal_gaussian(ZeroConcentrated)
    assert repr(bound) == (
        f"<certified lower bound {bound.name!r} in {', '.join(bound.parameters)}; {bound.source}>"
    )
    shown = whole(bound._repr_html_())
    assert bound.name in shown
    assert "\\frac" in shown


def test_a_claim_without_an_upper_bound_says_why() -> None:
    """And few are."""
    bare = [claim for claim in all_claims() if claim.upper is None]
    assert 0 < len(bare) <= 5
    assert all(claim.unproved for claim in bare)
    assert not any(claim.unproved for claim in all_claims() if claim.upper)
    shown = " ".join(printed(list_claims, bare, (), width=500).split())
    assert all(f"no upper bound: {claim.unproved}" in shown for claim in bare)
