"""Certificates are found again: near those of the tables, and only as good as they are proved."""

from __future__ import annotations

import pytest

from minimax.methods.pair_positivity import is_proved
from verify.pair_certificates import TABLES, best_solution, main, raised

pytest.importorskip("flint")
NODES = 30


@pytest.mark.parametrize(("name", "rho"), [("average", 0.01), ("transport", 1.0)])
def test_a_small_grid_gives_nearly_the_bound_of_the_table(name: str, rho: float) -> None:
    """Control: the solution on the grid, which is too good, is refused."""
    table = TABLES[name]
    found = best_solution(table, rho, NODES)
    certificate = raised(table, rho, found, NODES)
    assert certificate is not None
    assert is_proved(certificate, table.goal)
    assert not is_proved(found, table.goal)
    bound, least = certificate.bound(rho), table.least(rho)
    assert found.bound(rho) < least < bound < 1.015 * least


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rho", "0.05", "--table", "pointwise", "--nodes", str(NODES)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines[:3]] == ["on the grid", "proved", "the table"]
    on_the_grid, proved, _ = (float(line.split()[-1]) for line in lines[:3])
    assert 1 < on_the_grid < proved


def test_a_grid_that_is_too_coarse_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--rho", "0.01", "--nodes", "10"]) == 1
    assert capsys.readouterr().out.strip()


@pytest.mark.parametrize("bad", [["--rho", "0"], ["--rho", "nan"], ["--rho", "1", "--nodes", "3"]])
def test_bad_usage(bad: list[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(bad)
    assert stopped.value.code == 2
