"""docs/own_theorems.md names what there is, and all that a claim cannot do without."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import minimax
from minimax.core import bound, symbolic
from minimax.methods import priors
from verify.rates import Claim, Sweep, check
from verify.rates.judge import Verdict

GUIDE = (Path(__file__).parents[3] / "docs" / "own_theorems.md").read_text(encoding="utf-8")


def rows(title: str) -> set[str]:
    """The fields in the table with this title."""
    table = GUIDE.partition(f"| field of `{title}` |")[2].partition("\n\n")[0]
    cells = re.findall(r"^\| (`.*?`) \|", table, flags=re.MULTILINE)
    return {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}


def needed(kind: type) -> set[str]:
    """Fields without a default."""
    missing = dataclasses.MISSING
    return {
        each.name
        for each in dataclasses.fields(kind)
        if each.default is missing and each.default_factory is missing
    }


def test_tables_have_fields_that_exist_and_all_that_are_needed() -> None:
    for title, kind in (("verify.rates.Claim", Claim), ("minimax.LowerBound", minimax.LowerBound)):
        names = {each.name for each in dataclasses.fields(kind)}
        assert needed(kind) <= rows(title) <= names
        assert len(rows(title)) >= 5
    (signature,) = re.findall(r"`Sweep\((.*?)\)`", GUIDE)
    assert signature.split(", ") == [each.name for each in dataclasses.fields(Sweep)][:4]


def test_names_are_there() -> None:
    for home, name in (
        *((minimax, each) for each in ("Problem", "Pure", "Renyi", "Terms", "Assumption")),
        (symbolic, "library"),
        (bound, "Labelled"),
        *((priors, each) for each in ("SignInstance", "GaussianInstance", "LinearInstance")),
    ):
        assert re.search(rf"[`.]{name}[`(]", GUIDE)
        assert hasattr(home, name)
    for member in ("draw", "target", "sample", "loss"):
        assert f"`{member}" in GUIDE
        assert hasattr(bound.Instance, member) or hasattr(bound.Prior, member)
    assert all(verdict.value in GUIDE for verdict in Verdict)
    assert check.__name__ in GUIDE
