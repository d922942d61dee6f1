"""The proof ledger: every statement is there, each status is as recorded, the page is true."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.statements import REQUIRED
from verify.proofs.document import distinct, document, section, summary, table
from verify.proofs.entry import (
    Case,
    Chapter,
    Entry,
    Finding,
    Form,
    Result,
    Status,
    result,
    run_entry,
)
from verify.statements import entries
from verify.statements.cwz19.clipped_sums import score_of_clipped

ROOT = Path(__file__).resolve().parents[3]


PAGE = ROOT / "docs" / "ledger.md"


LEDGER = entries()


LATEX = set(
    re.findall(
        r"\w+",
        """Delta Gamma Lambda Omega Phi Pi Psi Sigma Theta Xi alpha arg ast asymp bar beta biggl
        biggr bigl Bigl bigr Bigr binom cap cdot chi circ cup delta dots ell epsilon
        equiv eta exists exp forall frac gamma ge geq gg gtrsim hat in inf infty int
        kappa lambda langle lceil ldots le left leq lesssim lfloor limits ll log lvert
        lVert mapsto mathbb mathbf mathcal mathrm max mid min mu nabla ne neq notin nu
        omega operatorname overline partial perp phi pi pm prime prod propto psi quad
        rangle rceil rfloor rho right rightarrow rvert rVert setminus sigma sim sinh sqrt
        star subset subseteq sum sup supset tanh tau text tfrac theta tilde times to top
        underline varphi vee vert Vert wedge widehat widetilde xi zeta""",
    )
)


NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


def passing(**evidence: Any) -> Form:
    return Case("holds", check=lambda: result(True, **evidence)).form()


def failing(**evidence: Any) -> Form:
    return Case("fails", check=lambda: result(False, **evidence)).form()


def entry(**changes: Any) -> Entry:
    return Entry(
        **{
            "id": "CWZ19:Test 1",
            "kind": "lemma",
            "summary": "a test",
            "statement": "$1 = 1$",
            "expected": Status.HOLDS,
            "method": "exact",
            **changes,
        }
    )


@pytest.mark.parametrize(
    ("forms", "status"),
    [
        ({"printed": passing(), "mutant": failing()}, Status.HOLDS),
        ({"printed": passing(), "mutant": failing(), "rate": True}, Status.RATE),
        ({"printed": failing(), "corrected": passing(), "mutant": failing()}, Status.CORRECTED),
        ({"printed": failing(), "corrected": passing()}, Status.INVALID),
        ({"printed": failing(), "corrected": passing(), "mutant": passing()}, Status.INVALID),
        ({"printed": failing(), "relaxed": passing()}, Status.REFUTED),
        ({"step": failing(), "relaxed": passing()}, Status.UNPROVED),
        ({"printed": passing()}, Status.INVALID),
        ({"printed": failing()}, Status.INVALID),
        ({"printed": passing(), "mutant": passing()}, Status.INVALID),
        ({"printed": failing(), "corrected": failing()}, Status.INVALID),
        ({"printed": failing(), "relaxed": failing()}, Status.INVALID),
        ({"step": passing(), "relaxed": passing()}, Status.INVALID),
        ({"step": passing(), "mutant": failing()}, Status.INVALID),
    ],
)
def test_a_status_follows_from_which_forms_hold(forms: dict[str, Any], status: Status) -> None:
    assert run_entry(entry(**forms)).status is status


def test_forms_of_an_entry_see_the_same_random_numbers() -> None:
    draw = Case("draws", check=lambda rng: result(True, value=float(rng.random()))).form()
    found = run_entry(entry(printed=draw, mutant=draw)).results
    assert found["printed"].evidence == found["mutant"].evidence


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"printed": passing(), "not_checkable": "because"},
        {"printed": passing(), "method": None},
        {"printed": passing(), "id": "Lemma 3"},
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"Test 1|id must"):
        entry(**wrong)


# --- a statement above its check ----------------------------------------------------------------


TOLD: dict[str, Any] = {
    "kind": "lemma",
    "found": "a test",
    "by": "exact",
    "expected": Status.HOLDS,
    "printed": Case("at two", least=2.0),
    "mutant": Case("at three", least=3.0),
}


def test_a_check_stands_below_its_statements() -> None:
    chapter = Chapter("CWZ19")

    @chapter.states("Lemma 1", "$1=1$", **TOLD)
    @chapter.states("Lemma 2", "$2=2$", **{**TOLD, "mutant": Case("a power", least=2.0, power=2)})
    def first(*, least: float, power: int = 1) -> Result:
        return result(least**power <= 2)

    chapter.leaves("Lemma 3", "$3=3$", kind="remark", found="a test", because="no formula")

    @chapter.states("Lemma 4", "$4=4$", **{**TOLD, "printed": Case("other", 2, check=first_of)})
    def last(rng: np.random.Generator, *, least: float) -> Result:
        return result(rng.random() + 1 >= least)

    assert first(least=1.0).holds
    told = chapter.entries
    assert [one.id for one in told] == [f"CWZ19:Lemma {i}" for i in (1, 2, 3, 4)]
    assert told[1].mutant.check == "first"
    assert told[1].mutant.arguments == {"least": 2.0, "power": 2}
    assert told[0].printed.arguments == {"least": 2.0, "power": 1}
    assert told[3].printed.check == "first_of"
    assert told[3].printed.arguments == {"value": 2}
    assert told[3].mutant.arguments == {"least": 3.0}
    statuses = [run_entry(one).status for one in told]
    assert statuses == [Status.HOLDS, Status.HOLDS, Status.NOT_CHECKABLE, Status.HOLDS]


def first_of(value: int) -> Result:
    return result(value == 2)


def test_a_statement_without_a_check_is_an_error() -> None:
    chapter = Chapter("CWZ19")
    chapter.states("Lemma 1", "$1=1$", **TOLD)
    with pytest.raises(ValueError, match="no check below it"):
        _ = chapter.entries


def test_a_case_without_a_check_is_an_error() -> None:
    with pytest.raises(ValueError, match="no check decides 'alone'"):
        Case("alone", value=1).form()


def test_a_case_that_the_check_does_not_take_is_an_error() -> None:
    chapter = Chapter("CWZ19")
    with pytest.raises(TypeError, match="value"):
        chapter.states("Lemma 1", "$1=1$", **TOLD)(first_of)


# --- what the ledger must hold -----------------------------------------------------------------


@pytest.mark.parametrize("paper", sorted(REQUIRED))
def test_no_numbered_statement_is_missing(paper: str) -> None:
    missing = [number for number in REQUIRED[paper] if f"{paper}:{number}" not in LEDGER]
    assert not missing


def test_there_are_enough_entries_and_few_without_a_check() -> None:
    assert len(LEDGER) >= 150
    assert sum(bool(found.not_checkable) for found in LEDGER.values()) <= 15


@pytest.mark.parametrize("found", LEDGER.values(), ids=list(LEDGER))
def test_an_entry_is_told_whole(found: Entry) -> None:
    assert 0 < len(found.summary) <= 120
    assert "\n" not in found.summary
    assert found.statement.count("$") % 2 == 0
    assert found.statement.count("{") == found.statement.count("}")
    assert not set(re.findall(r"\\([A-Za-z]+)", found.statement)) - LATEX
    assert (found.severity == "none") == (
        found.expected in (Status.HOLDS, Status.RATE, Status.NOT_CHECKABLE)
    )
    assert bool(found.wrong) == (found.severity != "none")
    assert not found.same_as or found.same_as in LEDGER
    for name in found.code:
        assert importable(name), f"{name} does not exist"


def importable(name: str) -> bool:
    parts = name.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_a_name_that_does_not_exist_is_seen() -> None:
    assert importable("minimax.core.closeness.group_delta")
    assert not importable("minimax.methods.divergences.no_such_thing")
    assert not importable("nowhere.at.all")


@pytest.mark.parametrize(
    "found", [found for found in LEDGER.values() if found.mutant], ids=lambda found: found.id
)
def test_a_mutant_changes_one_argument(found: Entry) -> None:
    """Of the corrected form where there is one; else of the printed form, or the relaxed one."""
    told = [found.corrected] if found.corrected else [found.printed, found.relaxed]
    near = [form for form in told if form and form.check == found.mutant.check]
    assert any(len(changed(found.mutant, form)) == 1 for form in near)


@pytest.mark.parametrize(
    "found", [found for found in LEDGER.values() if found.corrected], ids=lambda found: found.id
)
def test_a_corrected_form_has_a_mutant_of_its_own(found: Entry) -> None:
    assert found.mutant is not None
    assert found.mutant.words not in (found.printed.words, found.corrected.words)
    assert changed(found.mutant, found.printed) or found.mutant.check != found.printed.check


def changed(form: Form, other: Form) -> set[str]:
    """The arguments in which two forms differ."""
    names = {*form.arguments, *other.arguments}
    return {name for name in names if form.arguments.get(name) != other.arguments.get(name)}


# --- findings and their echoes -----------------------------------------------------------------


@pytest.mark.parametrize(
    "found", [found for found in LEDGER.values() if found.echoes], ids=lambda found: found.id
)
def test_an_echo_has_the_status_of_what_it_echoes(found: Entry) -> None:
    first = LEDGER[found.echoes]
    assert first.finding == first.id
    assert first.expected is found.expected


def test_refuted_entries_are_five_findings() -> None:
    refuted = [found for found in LEDGER.values() if found.expected is Status.REFUTED]
    recorded = {found.id: Finding(found.id, found.expected) for found in refuted}
    conjecture = "tracebound:Antipodal pairs, conjecture"
    first = {"CWZ19:Lemma 3.2", "CWZ19:Theorem 3.3", "WX21:Remark 1", conjecture}
    figures = {"WG19:Figure 1"}
    assert {found.finding for found in refuted} == first | figures
    assert distinct(refuted, recorded) == {"refuted": 5}
    assert summary(refuted, recorded) == f"{len(refuted)} refuted (5 findings)"


def test_echoes_are_counted_with_what_they_echo() -> None:
    told = [
        entry(id=f"CWZ19:Test {i}", echoes=echoes, printed=failing(), relaxed=passing())
        for i, echoes in enumerate(["", "CWZ19:Test 0", ""])
    ]
    findings = {one.id: run_entry(one) for one in told}
    assert summary(told, findings) == "3 refuted (2 findings)"
    assert summary(told[:2], findings) == "2 refuted (1 finding)"
    assert summary(told[1:], findings) == "2 refuted"
    holding = entry(id="CWZ19:Test 4", echoes="CWZ19:Test 0", printed=passing(), mutant=failing())
    assert summary([holding], {holding.id: run_entry(holding)}) == "1 holds"


# --- every entry is run, and the page says what was found --------------------------------------


def same_but_for_rounding(text: str, other: str) -> bool:
    """Equal words, and numbers equal to 2 %: the last digits belong to the linear algebra."""
    if NUMBER.sub("#", text) != NUMBER.sub("#", other):
        return False
    pairs = zip(NUMBER.findall(text), NUMBER.findall(other), strict=True)
    return all(
        float(a.replace(",", "")) == pytest.approx(float(b.replace(",", "")), rel=0.02, abs=1e-14)
        for a, b in pairs
    )


def test_the_comparison_of_pages_sees_words_and_numbers() -> None:
    assert same_but_for_rounding("ratio = 1.234, holds", "ratio = 1.235, holds")
    assert not same_but_for_rounding("ratio = 1.234, holds", "ratio = 1.334, holds")
    assert not same_but_for_rounding("ratio = 1.234, holds", "ratio = 1.234, fails")


@pytest.mark.parametrize("found", LEDGER.values(), ids=list(LEDGER))
def test_status_is_the_recorded_one_and_the_page_says_so(found: Entry) -> None:
    finding = run_entry(found)
    assert finding.status is found.expected, finding
    written = PAGE.read_text(encoding="utf-8").split(f"### {found.id}\n")[1]
    written = re.split(r"\n##+ ", written)[0]
    fresh = section(found, finding).split(f"### {found.id}\n")[1]
    assert same_but_for_rounding(written.strip(), fresh.strip())


def test_the_page_has_the_tables_and_counts() -> None:
    page = PAGE.read_text(encoding="utf-8")
    recorded = {name: Finding(name, found.expected) for name, found in LEDGER.items()}
    assert f"{len(LEDGER)} entries: {summary(LEDGER.values(), recorded)}." in page
    for paper in REQUIRED:
        own = [found for found in LEDGER.values() if found.paper == paper]
        assert table(own, recorded) in page
    assert page.startswith(document({}, {}).split("0 entries")[0])


def test_the_readme_has_the_counts() -> None:
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    recorded = {name: Finding(name, found.expected) for name, found in LEDGER.items()}
    assert f"{len(LEDGER)} entries: {summary(LEDGER.values(), recorded)}." in readme


# --- private estimators that refute ------------------------------------------------------------


def test_the_noisy_correlation_has_the_sensitivity_and_the_sum_that_are_claimed() -> None:
    """CWZ19: Lemma 4.3(2) is refuted by it; here by neighbours and by simulation."""
    rng = np.random.default_rng(5)
    n, s, R = 6, 3, 2.0
    beta = np.array([0.6, -0.5, 0.4])

    def correlation(X: Any, y: Any) -> Any:
        return s / n * np.clip(y, -R, R) @ X

    x = np.ones(s) / np.sqrt(s)
    first, second = np.tile(x, (n, 1)), np.tile(x, (n, 1))
    change = correlation(first, np.full(n, 9.0)) - correlation(
        second, np.r_[-9.0, np.full(n - 1, 9.0)]
    )
    assert np.linalg.norm(change) == pytest.approx(2 * s * R / n)

    rows = rng.choice([-1.0, 1.0], (60_000, n, s)) / np.sqrt(s)
    noise = rng.standard_normal((60_000, n))
    y = rows @ beta + noise
    release = s / n * np.einsum("tn,tns->ts", np.clip(y, -R, R), rows)
    scores = np.einsum("ts,tns,tn->t", release - beta, rows, noise)
    signs = np.array(np.meshgrid(*[[-1, 1]] * s)).reshape(s, -1).T / np.sqrt(s)
    expected = s * np.mean([score_of_clipped(float(u), R) for u in signs @ beta])
    assert abs(scores.mean() - expected) < 6 * scores.std() / np.sqrt(len(scores))
    assert expected < s
