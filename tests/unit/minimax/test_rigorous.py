"""The command line's numbers as proofs."""

from __future__ import annotations

import json
import sys

import pytest

from minimax import __main__ as command
from minimax.core import balls
from minimax.methods import antipodal_gain
from minimax.methods.pair_certificates import AVERAGE

pytest.importorskip("flint")
MEAN = ["mean", "--n", "1000", "--d", "20", "--rho", "0.01"]
CALLS = [
    "mean --n 10000 --d 20 --epsilon 0.5 --delta 1e-6",
    "mean --n 10000 --d 20 --rho 1e-9",
    "bounded-mean --n 10000 --d 20 --mu 0.5",
    "sparse-mean --n 1e6 --d 1000 --s 10 --epsilon 2",
    "regression --n 1e6 --d 5 --epsilon 0.5",
    "regression --n 1e6 --d 5 --rho 0.125",
    "sparse-regression --n 1e7 --d 20 --s 3 --mu 1",
    "sparse-regression --n 1e4 --d 1e3 --s 10 --rho 0.125",
    "logistic --n 10000 --d 20 --rho 0.125",
    "logistic --n 10000 --d 20 --epsilon 1",
    "local-regression --n 1e4 --p 20 --epsilon 0.5 --interactive",
    "local-regression --n 1e6 --p 20 --rho 0.1 --loss sum",
    "label-regression --n 1e6 --p 1e3 --s 10 --epsilon 0.5",
    "label-regression --n 1e6 --p 1e3 --s 10 --epsilon 0.5 --b 0.25",
]


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


@pytest.mark.parametrize("call", CALLS)
def test_every_certified_row_is_there_the_best_one_first(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in ([], ["--upper"]):
        arguments = [*call.split(), *side, "--json"]
        assert command.main(arguments) == 0
        reported = [
            row for row in json.loads(capsys.readouterr().out) if row["kind"] == "certified"
        ]
        assert command.main([*arguments, "--rigorous"]) == 0
        proved = json.loads(capsys.readouterr().out)
        for plain, row in zip(reported, proved, strict=True):
            assert row["name"] == plain["name"] or row["name"].startswith("best proven: releasing")
            if plain["total"] is None:
                assert row["why_not"].startswith("needs ")
            elif call.startswith("local-regression") and side:
                assert row["proved"] >= plain["total"] * (1 - 1e-8)  # balls have a simpler form
            else:
                assert row["proved"] == pytest.approx(plain["total"], rel=1e-8, abs=1e-15)
        best = [row for row in proved if row["name"].startswith("best proven")]
        assert best == (proved[:1] if side else [])


@pytest.mark.parametrize("call", CALLS)
def test_the_table_fits_a_terminal_of_80_columns(
    call: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main([*call.split(), "--upper", "--rigorous"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert any(line.split() == ["proved", "radius", "bound"] for line in lines)
    assert lines[0].startswith(call.split()[0])


def test_a_simpler_form_in_balls_is_said_to_be_one(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["local-regression", "--n", "1e4", "--p", "20", "--epsilon", "0.5", "--upper"]
    assert command.main([*few, "--rigorous"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "risk <= 1.0 0e+00 best proven: releasing 0" in printed
    assert "risk <= 4.0 0e+00 one-shot thresholding (a simpler form than that in floats" in printed


def test_a_number_that_rests_on_a_false_certificate_is_not_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    weakened = [found._replace(joint=0.99 * found.joint) for found in AVERAGE]
    monkeypatch.setattr(antipodal_gain, "AVERAGE", weakened)
    assert command.main([*MEAN, "--rigorous", "--json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    refused = rows.pop("tracing: Gaussian data, antipodal pairs")
    assert refused["proved"] is None
    assert refused["why_not"].startswith("not enclosed: the certificate")
    assert all(row["proved"] is not None for row in rows.values())


def test_without_flint_the_way_to_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    balls.flint.cache_clear()
    monkeypatch.setitem(sys.modules, "flint", None)  # what makes an import fail
    for side in ([], ["--upper"]):
        assert command.main([*MEAN, *side, "--rigorous"]) == 2
        printed = capsys.readouterr()
        assert "pip install python-flint" in printed.err
        assert "pip install 'tracebound[rigorous]'" in printed.err
        assert not printed.out


def test_a_plan_has_no_point_to_prove_at(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command.main(["mean", "--d", "20", "--rho", ".01", "--plan", "--risk", "1", "--rigorous"])
    assert "--rigorous" in capsys.readouterr().err
