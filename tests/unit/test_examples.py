"""The gallery in examples/: every script prints what its docstring says."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import runpy
import sys
import textwrap
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "examples"
CHECKED_ELSEWHERE = {"own_theorem.py"}
"""`tests/unit/verify/test_own_module.py` runs it."""
SCRIPTS = sorted(path for path in GALLERY.glob("*.py") if path.name not in CHECKED_ELSEWHERE)


def docstring(path: Path) -> str:
    return ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""


def said(text: str) -> str:
    """The output that a docstring states."""
    return textwrap.dedent(text.partition("**Output.**\n\n")[2]) + "\n"


def printed(path: Path) -> str:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        runpy.run_path(str(path), run_name="__main__")
    return shown.getvalue()


def test_the_gallery_is_one() -> None:
    assert 10 <= len(SCRIPTS) + len(CHECKED_ELSEWHERE) <= 15


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(GALLERY)])
    text = docstring(path)
    assert re.search(r"\*\*Statement\.\*\* .*\*\*Reference\.\*\* ", text, re.DOTALL)
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 60
    assert printed(path) == said(text)
    sys.modules.pop("own_theorem", None)


def test_another_output_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text('"""**Output.**\n\n    2\n"""\nprint(1)\n')
    assert printed(path) != said(docstring(path)) == "2\n"
