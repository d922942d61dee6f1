"""The worked examples of CONTRIBUTING.md run, print what they say, and keep the contracts."""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from estimators.core.base import PrivateEstimator
from minimax.core.bound import LowerBound
from tests.contract.hygiene import fitted
from tests.contract.walk import POINTS, walk
from verify.privacy.hygiene import differing

GUIDE = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.S)


def run(block: str) -> tuple[dict[str, Any], list[str]]:
    """The names that a block defines, and the lines it prints."""
    example = ModuleType("worked_example")
    sys.modules[example.__name__] = example  # dataclasses look their module up
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, str(GUIDE), "exec"), vars(example))
    return vars(example), printed.getvalue().splitlines()


@pytest.mark.parametrize("block", BLOCKS, ids=["theorem", "estimator", "attack", "paper"])
def test_an_example_prints_what_it_says(block: str) -> None:
    said = re.findall(r"print\(.*\)  # (.*)", block)
    assert said
    assert run(block)[1] == said


def test_the_theorem_keeps_the_contract_of_bounds() -> None:
    bound = run(BLOCKS[0])[0]["bound"]
    assert isinstance(bound, LowerBound)
    seen = walk(bound)
    assert not seen.faults
    assert seen.compared == POINTS
    assert seen.excess <= 0


def test_the_theorem_is_reached_at_one_record() -> None:
    """Randomised response on one sign: the Bayes risk is sigma^2/cosh(eps/2)^2."""
    bound = run(BLOCKS[0])[0]["bound"]
    for epsilon in (0.1, 1.0, 5.0):
        keep = 1 / (1 + np.exp(-epsilon))
        risk = 4 * keep * (1 - keep)
        assert bound.value(n=1, sigma=1, epsilon=epsilon) == pytest.approx(risk, rel=1e-8)


def test_the_estimator_keeps_the_contract_of_estimators() -> None:
    example = run(BLOCKS[1])[0]["RoundedMean"]
    assert issubclass(example, PrivateEstimator)
    X = np.random.default_rng(0).normal(size=(50, 3))
    other = X.copy()
    other[0] = 1e300
    here, there = fitted(example(), (X,)), fitted(example(), (other,))
    assert differing(here, there) <= set(example.releases)
