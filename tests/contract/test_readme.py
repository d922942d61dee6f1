"""The README's Python runs as it stands, and its table of flats says what the code prints."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from verify.privacy.controls import CONTROLS

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.S)
FLATS = BLOCKS[0]
PRICES = {"area": 2600.0, "rooms": 9000.0, "age": -500.0}
CENTRE = 90_000.0


def flats(n: int = 20_000) -> pd.DataFrame:
    """Made-up flats, whose prices follow `PRICES`."""
    rng = np.random.default_rng(0)
    area = rng.gamma(6, 13, n).clip(15, 290)
    frame = pd.DataFrame(
        {
            "area": area.round(1),
            "rooms": np.clip(np.round(area / 28 + rng.normal(0, 0.7, n)), 1, 9).astype(int),
            "age": rng.gamma(1.5, 25, n).clip(0, 140).round(),
            "zone": rng.choice(["centre", "north", "south"], n, p=[0.2, 0.5, 0.3]),
        }
    )
    price = 20_000 + sum(slope * frame[name] for name, slope in PRICES.items())
    price += np.where(frame["zone"] == "centre", CENTRE, 0) + rng.normal(0, 45_000, n)
    return frame.assign(price=price.clip(10_000, None).round(-2))


def run(block: str, **names: Any) -> tuple[dict[str, Any], str]:
    """The names that a block defines, besides those it is given, and what it prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), names)
    return names, printed.getvalue()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    folder = tmp_path_factory.mktemp("readme")
    flats().to_csv(folder / "flats.csv", index=False)
    with contextlib.chdir(folder):
        return run(FLATS)


def test_a_table_becomes_coefficients_with_intervals(fitted: tuple[dict[str, Any], str]) -> None:
    model = fitted[0]["model"]
    truth = [*PRICES.values(), 0.0, CENTRE]
    low, high = model.confidence_interval(1 - 1e-5)
    assert np.all((low < truth) & (truth < high))
    assert np.all(high - low < [2000, 48_000, 1250, 80_000, 92_000])  # and they say something
    assert model.feature_names_in_.tolist() == ["area", "rooms", "age", "zone"]


def test_half_of_the_budget_is_left(fitted: tuple[dict[str, Any], str]) -> None:
    budget = fitted[0]["budget"]
    assert budget.left.epsilon == pytest.approx(0.689, abs=1e-3)
    assert "left   50 %" in fitted[1]


def test_what_is_printed_fits_a_terminal_and_is_what_the_readme_shows(
    fitted: tuple[dict[str, Any], str],
) -> None:
    printed = fitted[1].splitlines()
    assert max(map(len, printed)) <= 80
    shown = re.findall(r"```text\n(PrivateRegression.*?)```", README, flags=re.S)[0].splitlines()
    words = [line.split()[0] for line in printed if line.strip()]
    told = [line.split()[0] for line in shown if line.strip() and line != "..."]
    assert told == words[: len(told)]
    assert len(told) > 8


def test_the_example_is_ten_lines() -> None:
    """But for imports."""
    code = [line for line in FLATS.splitlines() if line.strip() and "import" not in line]
    assert len(code) == 10


SHOWN = re.compile(r"^print\(.*?\)(?:  # (.*))?$", flags=re.M)
IN_WORDS = {
    "1 + 1 + 1 fits, 7 of the search and 6 scores: 97 % spent",
    "all between 0.26 and 0.35",
    "statistical 0.198, privacy 1.130",
    "local exponent of the closed form",
}
"""What comments say of a line that is printed, where they are not the line itself."""


@pytest.mark.parametrize("block", BLOCKS[1:], ids=lambda block: block.split("\n")[1][:40])
def test_every_other_example_prints_what_it_says(block: str) -> None:
    calls: list[str] = []

    def noted(*values: object) -> None:
        calls.append(" ".join(map(str, values)))
        print(*values)

    assert run(block, print=noted)[1]
    said = SHOWN.findall(block)
    if set(said) - {""}:
        assert len(calls) == len(said)
    for printed, comment in zip(calls, said, strict=False):
        assert comment in ("", printed, *IN_WORDS)


def test_what_is_said_in_words_is_there() -> None:
    """The control: comments that are lines as printed outnumber the others."""
    said = [comment for block in BLOCKS[1:] for comment in SHOWN.findall(block) if comment]
    assert set(said) >= IN_WORDS
    assert len(said) > 2 * len(IN_WORDS)


def test_the_numbers_of_controls_are_those_of_the_auditor() -> None:
    sound = sum(case.keeps for case in CONTROLS)
    told = f"{len(CONTROLS) - sound} broken mechanisms and {sound} correct twins"
    assert told in README
