"""docs/auditing.md runs as it stands, and says what the code prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

GUIDE = (Path(__file__).resolve().parents[3] / "docs" / "auditing.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE, flags=re.S)
MADE_SHORT = "audit = partial(audit, releases=40_000)"
"""The guide has the default; a test does with less."""


def test_the_guide_runs_and_prints_what_it_says() -> None:
    names: dict[str, Any] = {}
    printed = io.StringIO()
    source = "\n".join(BLOCKS)
    shortened = source.replace(
        "EPSILON = 1.0", f"from functools import partial\n{MADE_SHORT}\nEPSILON = 1.0", 1
    )
    with contextlib.redirect_stdout(printed):
        exec(compile(shortened, "auditing.md", "exec"), names)
    verdicts = re.findall(r"verdict\.value\)+  # (.*)", source)
    lines = [line for line in printed.getvalue().splitlines() if line in ("REFUTED", "NOT REFUTED")]
    assert lines == verdicts == ["REFUTED", "NOT REFUTED", "REFUTED", "NOT REFUTED"]
    assert "report, claimed pure(epsilon=1): REFUTED" in printed.getvalue()
