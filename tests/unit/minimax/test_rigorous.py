"""The command line's numbers as proofs."""

from __future__ import annotations

import json

import pytest

from minimax import __main__ as command
from minimax.core import balls

pytest.importorskip("flint")
MEAN = ["mean", "--n", "1000", "--d", "20", "--rho", "0.01"]


def test_the_lower_ends_are_at_least_the_reported_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command.main([*MEAN, "--json"]) == 0
    reported = {row["name"]: row["total"] for row in json.loads(capsys.readouterr().out)}
    assert command.main([*MEAN, "--json", "--rigorous"]) == 0
    proved = json.loads(capsys.readouterr().out)
    assert len(proved) >= 3
    for row in proved:
        assert row["side"] == "lower"
        assert reported[row["name"]] <= row["proved"] <= reported[row["name"]] * (1 + 1e-8)
        assert row["radius"] < 1e-40


def test_upper_ends_are_printed_with_their_radius(capsys: pytest.CaptureFixture[str]) -> None:
    sparse = ["sparse-regression", "--n", "10000", "--d", "1000", "--s", "10", "--rho", "0.125"]
    assert command.main([*sparse, "--upper", "--rigorous"]) == 0
    printed = capsys.readouterr().out
    assert "risk <= " in printed
    assert "radius" in printed


def test_without_flint_the_way_to_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing() -> None:
        raise balls.MissingFlint("numbers as proofs need python-flint: pip install ...")

    monkeypatch.setattr(balls, "flint", missing)
    assert command.main([*MEAN, "--rigorous"]) == 2
    assert "python-flint" in capsys.readouterr().err


def test_a_plan_has_no_point_to_prove_at(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["mean", "--d", "20", "--rho", ".01", "--plan", "--risk", "1", "--rigorous"])
    assert "--rigorous" in capsys.readouterr().err
