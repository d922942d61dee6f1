"""The pages that are written: all of them, none with a dead link, none too large; bad input."""

from __future__ import annotations

import json
import os
import re
import threading
import urllib.request
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from html import unescape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import attacks
import estimators
from minimax import ZeroConcentrated
from minimax.catalogue import PROBLEMS
from minimax.plan import plan
from tests.commands import usage_error
from tests.companion.conftest import RUN
from verify.companion.addresses import bound_address, exported, name_address, sources
from verify.companion.addresses import statement_address as address_of
from verify.companion.command import main
from verify.companion.prose import left_raw
from verify.companion.server import answer, server
from verify.companion.site import MARK
from verify.companion.stored import Unreadable, figure_names, load, rerun
from verify.companion.views import Ledger, Views
from verify.proofs.theorems import carried_bounds
from verify.statements import entries

LEDGER = entries()
LARGEST_PAGE, LARGEST_SITE = 400_000, 30_000_000


@cache
def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def ids_of(path: Path) -> frozenset[str]:
    return frozenset(re.findall(r'\bid="([^"]*)"', text_of(path)))


def dead_links(path: Path) -> list[str]:
    """Links and sources of a page that lead nowhere, or out of the folder."""
    dead = []
    for found in re.findall(r'(?:href|src)="([^"]*)"', text_of(path)):
        link = urlsplit(unescape(found))
        if link.scheme in ("data", "https"):
            continue
        target = (path.parent / unquote(link.path)).resolve() if link.path else path
        if link.scheme or not target.is_file():
            dead.append(found)
        elif link.fragment and target.name != "calculator.html":  # which reads a problem's name
            dead += [found] if link.fragment not in ids_of(target) else []
    return dead


def test_everything_has_a_page_and_no_link_is_dead(site: Path) -> None:
    wanted = {address_of(name) for name in LEDGER}
    wanted |= {bound_address(carried) for carried in carried_bounds()} | set(exported().values())
    pages = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert wanted <= pages
    assert len(wanted) == (
        len(LEDGER)
        + len(carried_bounds())
        + len(estimators.__all__)
        + len(attacks.__all__)
        + len(PROBLEMS)
    ), "every address is its own"
    assert len(pages) > len(wanted) + len(sources())
    dead = {page: found for page in pages if (found := dead_links(site / page))}
    assert dead == {}


def test_a_dead_link_is_seen(tmp_path: Path) -> None:
    page, other = tmp_path / "page.html", tmp_path / "other.html"
    other.write_text('<p id="here">')
    page.write_text('<a href="other.html#here"><a href="other.html#there"><a href="none.html">')
    assert dead_links(page) == ["other.html#there", "none.html"]


def test_pages_are_small_and_hold_no_raw_formula(site: Path) -> None:
    sizes = {path: path.stat().st_size for path in site.rglob("*") if path.is_file()}
    assert max(size for path, size in sizes.items() if path.suffix == ".html") < LARGEST_PAGE
    assert sum(sizes.values()) < LARGEST_SITE
    told = [path for path in sizes if path.suffix == ".html" and "source" not in path.parts]
    raw = {path.name: found for path in told if (found := left_raw(_main(text_of(path))))}
    assert raw == {}


def _main(page: str) -> str:
    """A page's text without names: of pages, of sources, of options."""
    kept = re.sub(r"<(option|label|h1|a)\b.*?</\1>", "", page, flags=re.DOTALL)
    return kept.partition("<main")[2].partition("</main>")[0]


def test_nothing_is_loaded_from_the_network(site: Path) -> None:
    for path in site.rglob("*"):
        if path.suffix in (".html", ".css") and "source" not in path.parts:
            text = text_of(path)
            assert not re.search(r'(?:src|url\()\s*=?\s*["\']?(?:https?:)?//', text), path
            assert not re.search(r'<link[^>]*href="(?:https?:)?//', text), path


def test_what_was_run_is_shown_and_what_was_not_says_so(site: Path) -> None:
    run, other = text_of(site / address_of(RUN)), text_of(site / address_of("CWZ19:Lemma 3.3"))
    assert "largest sum over stated at d 100 = " in run
    assert "finding-cwz19-lemma-3-2.png" in run
    assert "recorded status; not run" not in run
    assert "recorded status; not run" in other
    assert '<td class="numbers">not run</td>' in other
    measured = text_of(site / "estimators" / "NoisyMean.html")
    assert "<code>mean/tracing/zCDP</code> <small>1 CONSISTENT</small>" in measured
    assert "Everywhere n = 100, d = 4, ρ = 0.5." in measured
    assert '<p class="not-run">not run</p>' in text_of(site / "estimators" / "SparseMean.html")


def test_a_statement_tells_all_that_is_known_of_it(site: Path) -> None:
    lemma, theorem = (text_of(site / address_of(n)) for n in (RUN, "CWZ19:Theorem 3.1"))
    for told in (
        "refuted",
        "breaks a claim",
        "checked by quadrature",
        "every_prior",
        "its proof uses",
    ):
        assert told in lemma
    assert 'rel="prev" href="../cwz19/eq-3-2.html"' in lemma
    assert 'rel="next" href="../cwz19/eq-b-2.html"' in lemma
    assert 'href="../cwz19/theorem-3-3.html"' in lemma
    assert "Assumptions as conditions" in theorem
    assert "minimax.problems.mean.lower.tracing_gaussian" in theorem
    assert "mean/tracing/approximate" in theorem
    stands = text_of(site / address_of("WX21:Theorem 4"))
    assert "Why it stands although not all that it uses does." in stands


def test_a_figure_shows_its_stored_picture(tmp_path: Path) -> None:
    """By its name; what is not stored, or is another statement's, is not shown."""
    assert figure_names("CWZ19:Figure 1, left") == [
        "figures/cwz19-figure-1-left.png",
        "figures/cwz19-figure-1.png",
    ]
    figure = replace(LEDGER[RUN], id="CWZ19:Figure 1", code=())
    known = {figure.id: figure, RUN: LEDGER[RUN]}
    assert Views(Ledger(known, load(tmp_path))).pictures(figure) == []
    assert Views(Ledger(known, load(tmp_path))).drawn(figure), "the page says that it was not run"
    (tmp_path / "figures").mkdir()
    (tmp_path / "figures" / "cwz19-figure-1.png").write_bytes(b"picture")
    stored = load(tmp_path)
    assert stored.pictures() == ["figures/cwz19-figure-1.png"]
    (shown,) = Views(Ledger(known, stored)).pictures(figure)
    assert shown["name"] == "figures/cwz19-figure-1.png"
    assert Views(Ledger(known, stored)).pictures(known[RUN]) == []


def test_only_what_can_be_drawn_has_a_place_for_pictures(site: Path) -> None:
    """A panel that was not run says so; a definition has none to run."""
    assert "<h2>Picture</h2>" in text_of(site / address_of(RUN))
    other = text_of(site / address_of("CWZ19:Algorithm 3.1"))
    assert "not run: no picture of it is stored." in other
    assert "<h2>Picture</h2>" not in text_of(site / address_of("CWZ19:Definition 1"))


def test_a_name_leads_to_its_page_or_its_line() -> None:
    assert name_address("NoisyMean") == "estimators/NoisyMean.html"
    assert name_address("van_trees", "x.py").startswith("source/minimax/methods/van_trees.html#L")
    assert name_address("tracing") is None, "several files define it"
    near = name_address("tracing", "minimax/problems/logistic/lower.py")
    assert near.startswith("source/minimax/problems/logistic/lower.html#L")


# --- bad input ---------------------------------------------------------------------------------


def test_a_folder_that_is_not_ours_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "theirs").mkdir()
    (tmp_path / "theirs" / "letter.txt").write_text("dear")
    said = usage_error(main, ["--out", str(tmp_path / "theirs")], capsys)
    assert "is not empty, and not made by this command" in said
    assert (tmp_path / "theirs" / "letter.txt").read_text() == "dear"
    (tmp_path / "file").write_text("")
    assert "is no folder" in usage_error(main, ["--out", str(tmp_path / "file")], capsys)
    assert "cannot write to" in usage_error(main, ["--out", "/proc/no/site"], capsys)


def test_a_folder_of_ours_is_written_anew(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "site"
    only = ["--only", "cwz19:lemma 3.2", "--results", str(tmp_path / "none"), "--out", str(out)]
    assert main(only) == 0
    assert "1 pages in" in capsys.readouterr().out
    assert [path.name for path in out.rglob("*.html")] == ["lemma-3-2.html"]
    (out / "old.html").write_text("old")
    assert main(only) == 0
    assert not (out / "old.html").exists()
    assert (out / MARK).is_file()


def test_open_shows_the_first_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    out = tmp_path / "site"
    given = ["--out", str(out), "--results", str(tmp_path / "none"), "--only", RUN]
    assert main(given) == 0
    assert opened == []
    assert main([*given, "--open"]) == 0
    assert opened == [(out / address_of(RUN)).as_uri()]
    assert (out / address_of(RUN)).is_file()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path.chmod(0o500)
    said = usage_error(main, ["--out", str(tmp_path / "site")], capsys)
    assert "cannot write to" in said


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "CWZ19:Lemma 99"], "matches no statement; nearest: "),
        (["--serve", "70000"], "--serve must be a port"),
        (["--jobs", "0"], "--jobs must be positive"),
        (["--seed", "-1"], "--seed must not be negative"),
        (["--out", "x", "--results", "x"], "must not be the same folder"),
    ],
)
def test_bad_usage(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    here = os.getcwd()
    os.chdir(tmp_path)
    try:
        assert message in usage_error(main, arguments, capsys)
        assert not list(tmp_path.iterdir()), "nothing is written"
    finally:
        os.chdir(here)


def test_damaged_results_are_refused(tmp_path: Path) -> None:
    (tmp_path / "proofs.json").write_text("{}")
    with pytest.raises(Unreadable, match=r"cannot read .*proofs\.json"):
        load(tmp_path)
    (tmp_path / "proofs.json").write_text('{"entries": 3}')
    with pytest.raises(Unreadable, match="no list"):
        load(tmp_path)


def test_run_writes_what_the_pages_are_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: dict[str, list[str]] = {}

    def standing_for(name: str) -> Callable[[list[str]], int]:
        return lambda arguments: called.setdefault(name, arguments) is None

    monkeypatch.setattr("verify.proofs.command.main", standing_for("proofs"))
    monkeypatch.setattr("verify.rates.command.main", standing_for("rates"))
    monkeypatch.setattr("verify.figures.command.main", standing_for("figures"))
    monkeypatch.setattr(
        "verify.proofs.figures.PANELS", {RUN: lambda axis, seed: axis.plot([seed], label="x")}
    )
    folder, told = tmp_path / "new", []
    rerun(folder, jobs=2, seed=5, tell=told.append)
    assert called["proofs"][-2:] == ["--json", str(folder / "proofs.json")]
    assert called["rates"][-2:] == ["--json", str(folder / "rates.json")]
    assert called["rates"][:4] == ["--seed", "5", "--jobs", "2"]
    assert str(folder) == called["rates"][called["rates"].index("--plots") + 1]
    assert load(folder).picture("finding-cwz19-lemma-3-2.png")
    assert called["figures"][-2:] == ["--plots", str(folder / "figures")]
    assert len(told) == 3


# --- served ------------------------------------------------------------------------------------

ANSWERS_IN_ORDER = ("/api/bounds", "/api/sides", "/api/plan")
ASKED = {"problem": "mean", "n": "10000", "d": "20", "sigma": "1", "radius": "1", "rho": "0.125"}


def test_answers_are_those_of_the_calculator() -> None:
    asked = {**ASKED, "risk": "0.01"}
    bounds, sides, records = (answer(path, asked) for path in ANSWERS_IN_ORDER)
    at, privacy = PROBLEMS["mean"].at({"n": 10000, "d": 20}), ZeroConcentrated(0.125)
    for told in (bounds, sides):
        assert told["lower"] == at.best_lower(privacy).risk
        assert told["upper"] == at.best_upper(privacy).risk
    assert bounds["estimator"] == "NoisyMean"
    statistics, private, total = bounds["values"]["lower: tracing: Gaussian data"]
    assert total == pytest.approx(statistics + private)
    assert 0 < sides["statistics"] < sides["lower"]
    assert sides["statistics"] + sides["privacy"] == pytest.approx(sides["lower"])
    found = plan(at, privacy, 0.01)
    assert (records["possible"], records["proven"]) == (found.impossible_below, found.enough_at)
    assert 1 < records["possible"] <= records["proven"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"problem": "x"}, "problem must be one of"),
        ({"n": "many"}, "n must be a number"),
        ({"n": "-3"}, "n must be positive"),
        ({"n": "2.5"}, "whole number"),
        ({"d": "0"}, "d must be positive"),
        ({"delta": "0.1"}, "rho"),
    ],
)
def test_wrong_questions_are_answered_in_words(wrong: dict[str, str], message: str) -> None:
    told = answer("/api/bounds", {**ASKED, "risk": "0.01", **wrong})
    assert message in str(told["error"])


def test_a_question_without_its_numbers_names_them() -> None:
    assert answer("/api/sides", {"problem": "mean"}) == {"error": "missing n, d, risk"}


def test_the_server_listens_on_this_machine_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "index.html").write_text("the site")
    with server(tmp_path, 0) as running:
        assert running.server_address[0] == "127.0.0.1"
        port = running.server_address[1]
        threading.Thread(target=running.serve_forever, daemon=True).start()

        def get(address: str) -> str:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/{address}") as found:
                return found.read().decode()

        assert get("index.html") == "the site"
        assert "served = true" in get("static/served.js")
        assert "must be one of" in json.loads(get("api/bounds?problem=x"))["error"]
        only = ["--only", RUN, "--out", str(tmp_path / "s"), "--results", str(tmp_path / "r")]
        said = usage_error(main, [*only, "--serve", str(port)], capsys)
        assert f"--serve: cannot listen on port {port}" in said
        assert not (tmp_path / "s").exists(), "known before anything is written"
        running.shutdown()
