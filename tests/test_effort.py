"""How much of a long check runs."""

from __future__ import annotations

import pytest

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
