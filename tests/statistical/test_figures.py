"""Panels of the papers, briefly: the same numbers on any number of processes, nothing new."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.effort import part
from verify.figures.command import main

PANELS = part(1, of=2)
ONLY = "CWZ19:Figure [13](a)" if PANELS == 2 else "CWZ19:Figure 3(a)"
"""The verdict on Figure 1 is among the ledger's statements, which are all run."""


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[int, str]]:
    """Exit code and JSON of one process and of two."""
    found = {}
    for jobs in (1, 2):
        folder = tmp_path_factory.mktemp("figures")
        json = folder / "found.json"
        options = ["--only", ONLY, "--profile", "brief", "--jobs", str(jobs), "--json", str(json)]
        places = ["--results", str(folder / "kept"), "--plots", str(folder / "plots")]
        found[jobs] = main([*options, *places]), json.read_text(encoding="utf-8")
        assert len(list(Path(folder, "plots").glob("*.png"))) == PANELS
    return found


def test_same_seed_same_json_on_any_number_of_processes(runs: dict[int, tuple[int, str]]) -> None:
    assert runs[1][1] == runs[2][1]


def test_brief_verdicts_contradict_nothing_that_is_recorded(
    runs: dict[int, tuple[int, str]],
) -> None:
    assert runs[1][0] == 0
