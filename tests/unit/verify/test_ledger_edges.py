"""What rests on what: the edges of the ledger, and what stands behind an entry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tests.unit.verify.test_ledger import LEDGER, entry, failing, passing
from verify.proofs.entry import Case, Chapter, Entry, Status, result
from verify.proofs.theorems import (
    bounds_of,
    carried_bounds,
    entries_of,
    place,
    proofs_of,
    sections,
)

FALLEN = (Status.REFUTED, Status.UNPROVED)


def rests_on(found: Entry) -> tuple[str, ...]:
    return (*found.uses, *found.proof_uses)


def unexplained(found: Entry, known: Mapping[str, Entry]) -> list[str]:
    """What a statement that stands rests on although it has fallen, if it does not say why."""
    if found.expected in FALLEN or found.despite:
        return []
    return [name for name in rests_on(found) if known[name].expected in FALLEN]


@pytest.mark.parametrize("found", LEDGER.values(), ids=list(LEDGER))
def test_a_statement_that_stands_on_a_fallen_one_says_why(found: Entry) -> None:
    assert not unexplained(found, LEDGER)


def test_a_theorem_on_a_refuted_lemma_must_explain_itself() -> None:
    told = LEDGER["CWZ19:Section 3.4, optimality"]
    assert told.despite
    assert unexplained(replace(told, despite=""), LEDGER) == ["CWZ19:Theorem 3.3"]


def test_nothing_is_explained_that_needs_no_explanation() -> None:
    for found in LEDGER.values():
        fallen = [name for name in rests_on(found) if LEDGER[name].expected in FALLEN]
        assert bool(found.despite) <= bool(fallen), found.id


def test_edges_lead_to_entries_and_never_round_in_a_circle() -> None:
    finished: set[str] = set()

    def visit(name: str, above: tuple[str, ...]) -> None:
        assert name not in above, (*above, name)
        if name not in finished:
            for below in rests_on(LEDGER[name]):
                visit(below, (*above, name))
            finished.add(name)

    for name in LEDGER:
        visit(name, ())
    for found in LEDGER.values():
        assert not set(found.uses) & set(found.proof_uses)
    connected = {name for found in LEDGER.values() for name in rests_on(found)}
    alone = [name for name, found in LEDGER.items() if not rests_on(found)]
    assert len(set(alone) - connected) <= 5
    assert all(LEDGER[name].kind != "theorem" for name in set(alone) - connected - K_NORM)


K_NORM = {"tracebound:K-norm noise"}
"""A theorem that rests on nothing, and on which nothing rests."""


def test_the_edges_that_matter_are_there() -> None:
    theorem = LEDGER["CWZ19:Theorem 3.3"]
    assert "CWZ19:Lemma 3.2" in theorem.proof_uses
    assert "CWZ19:Lemma 3.2" not in theorem.uses
    assert "WX19:Algorithm 2" in LEDGER["WX19:Theorem 5"].uses, "numbers are this version's"
    assert "WX21:Lemma 9" in LEDGER["WX19:Theorem 2"].proof_uses, "its proof is in the last one"


def test_a_statement_of_the_same_paper_goes_by_its_number() -> None:
    chapter = Chapter("CWZ19")
    chapter.states(
        "Lemma 2",
        "$1=1$",
        kind="lemma",
        found="a test",
        by="exact",
        expected=Status.HOLDS,
        printed=Case("true", holds=True),
        mutant=Case("false", holds=False),
        uses=("Lemma 1, proof: range", "WX21:Lemma 3"),
    )(lambda *, holds: result(holds))
    assert chapter.entries[0].uses == ("CWZ19:Lemma 1, proof: range", "WX21:Lemma 3")
    assert entry(printed=passing(), mutant=failing()).uses == ()


# --- what stands behind an entry ---------------------------------------------------------------


def test_every_bound_has_a_docstring_that_states_it() -> None:
    for each in carried_bounds():
        told = [sections(place(name).docstring) for name in each.makers]
        assert any(told), each.bound.name


def test_the_entry_that_a_bound_names_is_in_the_ledger() -> None:
    named = [each.bound.entry for each in carried_bounds() if each.bound.entry]
    assert len(named) >= 50
    assert not set(named) - set(LEDGER)


def test_bounds_and_entries_find_each_other() -> None:
    exact = LEDGER["tracebound:Gaussian mean, exact constant"]
    (mean, *_) = [each for each in bounds_of(exact) if each.problem == "mean"]
    assert mean.bound.name == "tracing: Gaussian data, antipodal pairs"
    assert {found.id for found in entries_of(mean, LEDGER)} >= {exact.id, "CWZ19:Theorem 3.1"}


def test_conditions_are_those_under_any_budget() -> None:
    (dilution,) = (
        each
        for each in carried_bounds()
        if each.problem == "mean" and "dilution" in each.bound.source
    )
    assert dilution.assumptions == {"d * delta < 1/2": True}


def test_a_proof_is_found_from_the_entry() -> None:
    told = proofs_of(LEDGER["CWZ19:Theorem 3.1"])
    assert set(told["minimax.problems.mean.lower.tracing_gaussian"]) >= {"Proof", "Constants"}


@pytest.mark.parametrize(
    "name",
    [
        "minimax.methods.recursion",
        "minimax.methods.tracing.GAUSSIAN",
        "estimators.mean.NoisyMean.risk_bound",
        "minimax.core.privacy.Approximate",
    ],
)
def test_a_place_is_where_its_name_is_defined(name: str) -> None:
    found = place(name)
    source = __import__(found.module, fromlist=["x"]).__loader__.get_source(found.module)
    lines = "\n".join(source.splitlines()[found.line - 1 :][:2])  # below a decorator
    assert name.rpartition(".")[2] in lines or found.line == 1
    assert found.path.endswith(".py")
    with pytest.raises(ValueError, match="no nowhere"):
        place("nowhere.at.all")
