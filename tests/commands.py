"""What a command says when it is called wrongly."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def usage_error(
    run: Callable[[list[str]], int], arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> str:
    """The message, on one line, of a run that is refused with exit code 2."""
    with pytest.raises(SystemExit) as stopped:
        run(arguments)
    assert stopped.value.code == 2
    return capsys.readouterr().err.replace("\n", " ")
