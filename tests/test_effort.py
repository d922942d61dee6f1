"""How much of a long check runs."""

from __future__ import annotations

import os

import numpy as np  # noqa: F401
import pytest
from threadpoolctl import threadpool_info

from tests import effort


@pytest.mark.parametrize(("thorough", "taken"), [(False, 3), (True, 10)])
def test_a_part_is_taken_or_the_whole(
    monkeypatch: pytest.MonkeyPatch, thorough: bool, taken: int
) -> None:
    monkeypatch.setattr(effort, "THOROUGH", thorough)
    assert effort.part(3, of=10) == taken


def test_the_option_decides(pytestconfig: pytest.Config) -> None:
    """In the processes that run the tests, too."""
    assert effort.THOROUGH is pytestconfig.getoption("thorough")


def test_linear_algebra_has_as_many_threads_as_the_suite_says() -> None:
    """One, unless the environment asks for more: numpy was imported after that was set."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert {pool["num_threads"] for pool in pools} == {int(os.environ["OPENBLAS_NUM_THREADS"])}
