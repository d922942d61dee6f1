"""A module of claims of one's own, whose fits may take as long as is wanted."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.effort import part
from verify.rates import command

ROOT = Path(__file__).parents[1]
SLOW = """
import time
from dataclasses import replace
from own_theorem import BOUND, CLAIM, LaplaceMean

class Slow(LaplaceMean):
    def fit(self, X):
        time.sleep({sleep})
        return super().fit(X)

SWEEPS = tuple(replace(sweep, weight={weight}) for sweep in CLAIM.sweeps)
OTHER = replace(CLAIM, name="signs/other", lower=replace(BOUND, name="other"))
CLAIMS = [
    replace(claim, estimator_at=lambda p: Slow({share} * p["epsilon"]), sweeps=SWEEPS, upper=None)
    for claim in (CLAIM, OTHER)
]
"""


def folder_with_claims(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """A working folder with claims of one's own in it; forgotten afterwards.

    Plots are looked at elsewhere: here, where a dozen runs would draw them, none are drawn.
    """
    monkeypatch.setattr(command, "write_plots", lambda *_: [])
    text = (ROOT / "examples" / "own_theorem.py").read_text(encoding="utf-8")
    (tmp_path / "own_theorem.py").write_text(text, encoding="utf-8")
    write_claims(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path)])
    yield tmp_path
    forget()


def write_claims(folder: Path, sleep: float = 0.0, share: float = 1.0) -> None:
    text = SLOW.format(sleep=sleep, share=share, weight=part(1, of=4) / 4)
    (folder / "slow_claims.py").write_text(text, encoding="utf-8")


def forget() -> None:
    for name in ("own_theorem", "slow_claims"):
        sys.modules.pop(name, None)
    importlib.invalidate_caches()


def kept(folder: Path) -> dict[str, int]:
    """The files of results, with the time at which they were written."""
    names = (folder / ".tracebound").glob("[0-9a-f]*.json")
    return {path.name: path.stat().st_mtime_ns for path in names}
