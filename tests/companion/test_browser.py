"""The site in a real browser: it opens, finds, filters, draws, calculates, and can be reached."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path
from typing import Any

import pytest

from minimax import ZeroConcentrated
from minimax.core.bound import Bound, OutsideRegime
from minimax.plan import plan
from tests.companion.conftest import Watched
from tests.companion.test_closed_forms import random_point
from tests.effort import part
from verify.companion.closed_forms import bounds_under, has_closed_form
from verify.companion.server import server
from verify.companion.upper_forms import upper_forms
from verify.proofs.theorems import BUDGETS, PROBLEMS, REFERENCE

KEY_PAGES = (
    "index.html",
    "cwz19/index.html",
    "cwz19/lemma-3-2.html",
    "cwz19/graph.html",
    "cwz19/theorem-3-1.html",
    "bounds/mean/lower-tracing-gaussian-data.html",
    "estimators/NoisyMean.html",
    "statements.html",
    "calculator.html",
)


def test_pages_open_without_a_fault(watched: Watched) -> None:
    told = [path.relative_to(watched.site) for path in sorted(watched.site.rglob("*.html"))]
    step = max(1, len(told) // part(20, of=len(told)))
    for address in dict.fromkeys([*KEY_PAGES, *(path.as_posix() for path in told[::step])]):
        page = watched.open(address)
        assert page.locator("h1").count() == 1
        assert watched.faults == [], address
    assert not [asked for asked in watched.asked if not asked.startswith(("file:", "data:"))]


def test_a_fault_is_seen(watched: Watched, tmp_path: Path) -> None:
    broken = tmp_path / "broken.html"
    broken.write_text('<script src="none.js"></script><script>nothing()</script>')
    watched.page.goto(broken.as_uri())
    assert any("failed:" in fault for fault in watched.faults)
    assert any("error:" in fault for fault in watched.faults)


@pytest.mark.parametrize(
    ("query", "first"),
    [("Lemma 3.2", "CWZ19:Lemma 3.2"), ("peeling", None), ("σ²s log d", None), ("NoisyMean", None)],
)
def test_search_finds(watched: Watched, query: str, first: str | None) -> None:
    page = watched.open("cwz19/lemma-3-3.html")
    page.keyboard.press("/")
    page.keyboard.type(query)
    links = page.locator("#found a")
    links.first.wait_for()
    shown = links.all_inner_texts()
    assert first is None or shown[0].startswith(first)
    if query == "peeling":
        assert any("Algorithm 3.2" in text for text in shown)
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_url(lambda url: "lemma-3-3" not in url)
    assert watched.faults == []


def test_a_search_for_nothing_says_so(watched: Watched) -> None:
    page = watched.open("index.html")
    page.fill("#search", "no such thing anywhere")
    page.locator("#found li").first.wait_for()
    assert page.locator("#found").inner_text() == "nothing found"


def test_the_graph_opens_pages_and_shows_what_is_joined(watched: Watched) -> None:
    page = watched.open("cwz19/graph.html")
    lemma = page.locator('svg.graph a[data-id="CWZ19:Lemma 3.2"]')
    size = "(node) => getComputedStyle(node.querySelector('text')).fontSize"
    before = lemma.evaluate(size)
    lemma.hover()
    assert lemma.evaluate(size) == before, "labels stay within their shapes"
    assert page.locator('svg.graph.focus a.near[data-id="CWZ19:Theorem 3.3"]').count() == 1
    assert page.locator('svg.graph a.near[data-id="CWZ19:Lemma 3.4"]').count() == 0
    page.locator(".preview").wait_for()
    assert page.locator(".preview math").count() > 0
    lemma.click()
    page.wait_for_url("**/cwz19/lemma-3-2.html")
    assert page.locator("h1").inner_text() == "Lemma 3.2"
    page.locator('svg.graph a[data-id="CWZ19:Theorem 3.3"]').click()
    page.wait_for_url("**/cwz19/theorem-3-3.html")
    assert watched.faults == []


def test_filters_leave_what_they_name(watched: Watched) -> None:
    page = watched.open("statements.html")
    rows = page.locator("#statements tbody tr:visible")
    everything = rows.count()
    page.select_option('select[name="paper"]', "CWZ19")
    page.select_option('select[name="status"]', "refuted")
    assert 0 < rows.count() < 20
    assert {row.get_attribute("data-status") for row in rows.all()} == {"refuted"}
    page.fill('#filters input[name="q"]', "every prior")
    assert rows.count() < 10
    assert page.locator("#shown").inner_text().endswith(f"of {everything} statements")
    page.click('#filters button[type="reset"]')
    page.wait_for_function("document.querySelectorAll('#statements tr[hidden]').length === 0")
    watched.open("statements.html")
    page.goto(page.url + "?method=quadrature&severity=constants")
    assert 0 < rows.count() < everything


def test_dark_and_light(watched: Watched) -> None:
    page = watched.open("index.html")
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(colour)
    page.click("#theme")
    dark = page.evaluate(colour)
    assert light != dark
    page.goto(page.url.replace("index.html", "problems.html"))
    assert page.evaluate(colour) == dark, "it is remembered"


def test_paper_is_light_and_shows_all(watched: Watched) -> None:
    """Whoever reads in the dark prints on white, in tables, with every proof opened."""
    page = watched.open("cwz19/theorem-3-1.html")
    page.set_viewport_size({"width": 720, "height": 1000})
    page.click("#theme")
    colour = "getComputedStyle(document.querySelector('.chip')).backgroundColor"
    closed = page.locator("details:not([open]) h3").first
    dark = page.evaluate(colour)
    assert not closed.is_visible()
    page.emulate_media(media="print", color_scheme="dark")
    assert page.evaluate(colour) != dark
    assert closed.is_visible()
    assert page.locator("nav.near").is_hidden()
    assert page.locator(".evidence thead").is_visible()


# --- the calculator ----------------------------------------------------------------------------


def closed_forms() -> list[tuple[str, str, Bound]]:
    """Every closed form that the calculator has, by problem and budget."""
    found = []
    for name in PROBLEMS:
        for budget in BUDGETS:
            key = type(budget).__name__
            listed = [bound for _, bound in bounds_under(name, budget) if has_closed_form(bound)]
            forms = upper_forms(name, budget)
            found += [(name, key, bound) for bound in (*listed, *forms)]
    return found


@pytest.mark.parametrize("side", ["lower", "upper"])
def test_the_values_are_those_of_python(watched: Watched, side: str) -> None:
    """50 closed forms of either side, each at a random point of its regime."""
    page = watched.open("calculator.html")
    rng, checked = random.Random(1), 0
    forms = [form for form in closed_forms() if form[2].side == side]
    while checked < part(50, of=300):
        name, key, bound = rng.choice(forms)
        at = PROBLEMS[name].at(REFERENCE)
        point = {**at.point, **random_point(bound, rng)}
        try:
            wanted = bound.closed_form(**{k: point[k] for k in bound.parameters})
        except OutsideRegime:
            continue
        shown = page.evaluate(
            "async ([name, key, point, wanted]) => {"
            " await COMPANION.load(`calculator-${name}.js`);"
            " const values = COMPANION.values(name, key, point);"
            " return values.find((each) => each.name === wanted).value; }",
            [name, key, point, bound.name],
        )
        assert shown == pytest.approx(wanted, rel=1e-9, abs=1e-300), (name, key, bound.name, point)
        checked += 1


def test_outside_its_regime_a_bound_has_no_value(watched: Watched) -> None:
    page = watched.open("calculator.html")
    page.select_option('select[name="budget"]', "Approximate")
    page.fill('input[name="epsilon"]', "2")
    row = page.locator("#calculator-table tr", has_text="claimed rate of Theorem 3.1")
    row.wait_for()
    assert "needs epsilon < 1" in row.locator(".value").inner_text()


def test_the_calculator_answers_what_is_typed(watched: Watched) -> None:
    page = watched.open("calculator.html#bounded-mean")
    told = page.locator("#calculator-plan")
    page.wait_for_function(
        "document.querySelector('#calculator-plan').textContent.includes('proven')"
    )
    assert page.locator('select[name="problem"]').input_value() == "bounded-mean"
    before = told.inner_text()
    page.fill('input[name="risk"]', "0.001")
    page.wait_for_function(
        "(before) => document.querySelector('#calculator-plan').textContent !== before", arg=before
    )
    assert page.locator("#calculator-plot path.curve[d^=M]").count() >= 6
    page.fill('input[name="n"]', "1.5")
    assert "n must be a whole number" in page.locator("#calculator-note").inner_text()
    assert page.locator('input[name="n"]').get_attribute("aria-invalid") == "true"
    assert watched.faults == []


def test_the_plan_is_where_the_closed_forms_cross(watched: Watched) -> None:
    page = watched.open("calculator.html")
    point = {"d": 10, "sigma": 1, "rho": 0.125}
    found = page.evaluate(
        "async ([point]) => { await COMPANION.load('calculator-bounded-mean.js'); return"
        " COMPANION.plan('bounded-mean', 'ZeroConcentrated', point, ['rho'], 0.01); }",
        [point],
    )
    budget = next(each for each in BUDGETS if type(each).__name__ == "ZeroConcentrated")
    (upper,) = upper_forms("bounded-mean", budget)
    assert upper.closed_form(n=found["proven"], **point) <= 0.01
    assert upper.closed_form(n=found["proven"] - 1, **point) > 0.01
    assert 1 < found["possible"] <= found["proven"]


UPPER_CURVE = "document.querySelector('#calculator-plot path.upper').getAttribute('d')"


def test_served_values_and_curves_are_exact(browser: Any, watched: Watched, site: Path) -> None:
    static = watched.open("calculator.html#mean")
    static.wait_for_function(f"{UPPER_CURVE}.length > 0")
    closed, told = static.evaluate(UPPER_CURVE), static.inner_text("#calculator-plan")
    at, privacy = PROBLEMS["mean"].at(REFERENCE), ZeroConcentrated(0.125)
    with server(site, 0) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{running.server_address[1]}/calculator.html#mean")
        page.wait_for_function(
            "document.querySelector('#calculator-note').textContent.includes('curves are exact')",
            timeout=240_000,
        )
        row = page.locator("#calculator-table tr", has_text="(Gaussian records)")
        assert float(row.locator(".value").inner_text().split()[0]) > 0
        assert "statistics" in row.locator(".value").inner_text()
        best = page.locator("#calculator-table tr", has_text="best proven: NoisyMean")
        shown = float(best.locator(".value").inner_text())
        assert shown == pytest.approx(at.best_upper(privacy).risk, rel=1e-3)
        found = plan(at, privacy, 0.01)
        exact = page.inner_text("#calculator-plan")
        assert f"fewer than {found.impossible_below:,} records" in exact
        assert f"proven with {found.enough_at:,}" in exact
        assert exact.split(" (")[0] != told
        assert page.evaluate(UPPER_CURVE) != closed
        drawn = page.evaluate(UPPER_CURVE)
        assert drawn.count("L") == 32, "a point for each n that was asked for"
        page.close()
        running.shutdown()


def test_where_no_upper_bound_has_a_closed_form_the_page_says_so(watched: Watched) -> None:
    page = watched.open("calculator.html#logistic")
    note = page.locator("#calculator-note")
    page.wait_for_function(
        "document.querySelector('#calculator-note').textContent.includes('formulas of the point')"
    )
    page.select_option('select[name="budget"]', "Pure")
    page.wait_for_function(
        "document.querySelector('#calculator-note').textContent.includes('releasing 0; what')"
    )
    assert "python -m minimax" in note.inner_text()


# --- reach -------------------------------------------------------------------------------------

REACH = (Path(__file__).parent / "reach.js").read_text(encoding="utf-8")


def lacking(page: Any, what: str) -> list[str]:
    """What of a page is unreached, unnamed or faint."""
    found: list[str] = page.evaluate(f"(0, eval)({json.dumps(REACH)}).{what}()")
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_has_contrast_and_controls_have_names(watched: Watched, theme: str) -> None:
    watched.page.emulate_media(color_scheme=theme)
    for address in KEY_PAGES:
        page = watched.open(address)
        assert lacking(page, "faint") == [], address
        assert lacking(page, "unnamed") == [], address
        assert page.evaluate("document.documentElement.lang") == "en"


def test_faint_text_and_nameless_controls_are_seen(watched: Watched) -> None:
    page = watched.open("cwz19/lemma-3-2.html")
    added = (
        '<p style="color:#aaa;background:#fff">faint</p><input id="x">'
        '<a href="#" tabindex="-1">a</a>'
        '<div style="overflow-x:auto;width:9em"><p style="width:99em">wide</p></div>'
    )
    page.evaluate(
        "(html) => document.querySelector('main').insertAdjacentHTML('beforeend', html)", added
    )
    for what in ("faint", "unnamed", "unreached", "stuck"):
        assert len(lacking(page, what)) == 1, what


def test_the_keyboard_reaches_everything(watched: Watched) -> None:
    for address in KEY_PAGES:
        assert lacking(watched.open(address), "unreached") == [], address
    page = watched.open("cwz19/lemma-3-2.html")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**/cwz19/eq-b-2.html")
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**/cwz19/lemma-3-2.html")
    page.locator('svg.graph a[data-id="CWZ19:Theorem 3.3"]').focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/cwz19/theorem-3-3.html")


def test_a_phone_shows_everything_without_scrolling_sideways(watched: Watched) -> None:
    watched.page.set_viewport_size({"width": 390, "height": 844})
    for address in KEY_PAGES:
        page = watched.open(address)
        page.wait_for_load_state()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, address
        assert lacking(page, "stuck") == [], address


def test_on_paper_only_the_text_is_left(watched: Watched) -> None:
    watched.page.emulate_media(media="print")
    page = watched.open("cwz19/lemma-3-2.html")
    assert not page.locator("header.top").is_visible()
    proofs = watched.open("cwz19/theorem-3-1.html")
    proofs.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert proofs.locator("details:not([open])").count() == 0
    assert proofs.locator("details").count() > 1
    assert page.locator("h1").is_visible()
