"""Results that are kept: an interrupted run goes on where it was, and nothing stale is used."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy as np
import pytest

import verify
from tests.commands import usage_error
from tests.effort import part
from tests.own_claims import folder_with_claims, forget, kept, write_claims
from tests.unit.verify.test_rates_json import example
from verify.files import TEMPORARY
from verify.rates import main
from verify.rates import results as kept_results
from verify.rates.records import from_plain, to_plain
from verify.rates.results import MARK, BadFolder, Results, prepare
from verify.rates.special import randomised_response_exact

ROOT = Path(__file__).parents[3]
PACKAGES = str(Path(verify.__file__).parents[1])
PATIENCE = 120.0
"""Seconds after which a wait is given up: a test that hangs says so."""
folder = pytest.fixture(folder_with_claims)


# --- Interrupted ----------------------------------------------------------------------------------


def started(folder: Path, output: str, *options: str) -> subprocess.Popen[str]:
    command = ["-m", "tracebound", "rates", "--claims", "slow_claims:CLAIMS", "--json", output]
    return subprocess.Popen(
        [sys.executable, *command, "--jobs", "2", *options],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PACKAGES},
        start_new_session=True,
    )


def stopped_after(
    process: subprocess.Popen[str],
    folder: Path,
    more: int,
    with_signal: signal.Signals,
    delay: float,
) -> str:
    """Send a signal once there are so many more results; what the process said."""
    before, deadline = len(kept(folder)), time.monotonic() + PATIENCE
    while process.poll() is None and len(kept(folder)) < before + more:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    time.sleep(delay)
    assert process.poll() is None
    if with_signal is signal.SIGKILL:
        os.killpg(process.pid, with_signal)  # its workers too: the machine is lost
    else:
        process.send_signal(with_signal)
    return process.communicate(timeout=PATIENCE)[1]


def test_an_interrupted_run_goes_on_where_it_was(folder: Path) -> None:
    """Stopped at moments drawn at random, by hand and as by a power cut.

    What one process measures without a break is the same as what two had before and after.
    """
    write_claims(folder, sleep=0.006)
    moments = random.Random(14)
    signals = (signal.SIGINT, signal.SIGKILL, signal.SIGINT)[: part(2, of=3)]
    for sent in signals:
        before = kept(folder)
        process = started(folder, "resumed.json")
        said = stopped_after(process, folder, moments.randint(1, 2), sent, moments.random() / 10)
        if sent is signal.SIGINT:
            assert process.returncode == 130
            assert "interrupted: what was measured is kept in .tracebound/" in said
            assert "Traceback" not in said
        assert before.items() <= kept(folder).items()  # nothing was measured again
        assert not (folder / "resumed.json").exists()
    before = kept(folder)
    assert len(before) >= len(signals)
    last = started(folder, "resumed.json")
    shown, said = last.communicate(timeout=PATIENCE)
    assert re.search(rf"{len(before)} of \d+ measurements were there already", shown), said
    write_claims(folder)  # without the waits, which are no part of what is measured
    assert last.returncode == main([*OPTIONS, "--json", "whole.json", "--results", "elsewhere"])
    assert (folder / "resumed.json").read_bytes() == (folder / "whole.json").read_bytes()


# --- What is used again, and what is not ----------------------------------------------------------


OPTIONS = ["--claims", "slow_claims:CLAIMS", "--jobs", "1"]


def measured(folder: Path, *options: str) -> tuple[int, list[float]]:
    """How many results were written, and the risks that were found."""
    before = kept(folder)
    forget()
    (folder / "found.json").unlink(missing_ok=True)
    assert main([*OPTIONS, *options, "--json", "found.json"]) in (0, 1)
    found = json.loads((folder / "found.json").read_text())
    changed = kept(folder).items() - before.items()
    return len(changed), [cell["risk"] for cell in found["cells"]]


def test_only_what_is_the_same_is_used_again(folder: Path) -> None:
    first = measured(folder)
    assert first[0] >= 12  # a piece for each of 12 tasks, and more where a verdict needed them
    assert measured(folder) == (0, first[1])
    alone = measured(folder, "--only", "signs/other")
    assert alone[0] < 6  # with fewer claims levels are others, and at a look another task may go on
    assert alone[1] == first[1][5:]
    again = measured(folder, "--fresh", "--only", "signs/other")
    assert again[0] >= 6
    assert again[1] == first[1][5:]
    assert measured(folder, "--seed", "5", "--only", "signs/other")[0] >= 6
    write_claims(folder, share=0.5)
    changed = measured(folder)
    assert changed[0] >= 12  # the twins as well: the module is another
    assert all(new > old for new, old in zip(changed[1], first[1], strict=True))


def test_what_is_no_claim_is_kept_too(folder: Path) -> None:
    name = randomised_response_exact.CLAIM
    found = []
    for options in ([], [], ["--fresh"]):
        before = kept(folder)
        assert main(["--only", name, "--json", "found.json", *options]) == 0
        changed = len(kept(folder).items() - before.items())
        found.append((changed, (folder / "found.json").read_bytes()))
    assert [changed for changed, _ in found] == [1, 0, 1]
    assert len({text for _, text in found}) == 1


def test_damaged_results_are_computed_again(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = measured(folder)
    cut, emptied, other, wrong = sorted((folder / ".tracebound").glob("[0-9a-f]*.json"))[:4]
    cut.write_text(cut.read_text()[:-20])
    emptied.write_bytes(b"")
    other.write_bytes(b"\xff\xfe")
    stored = json.loads(wrong.read_text())
    stored["value"][0][0] += 1.0
    wrong.write_text(json.dumps(stored))
    capsys.readouterr()
    assert measured(folder) == (4, first[1])
    assert capsys.readouterr().out.count("it is computed again\n") == 4


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("thesis.tex", "years of work", "holds other files and no results"),
        (MARK, '{"format": 99}', "was written by another version (format 99, this is 1)"),
        (MARK, '{"format"', "is damaged"),
    ],
)
def test_a_folder_of_something_else_is_refused_and_left_alone(
    name: str, text: str, message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = folder / "other"
    other.mkdir()
    (other / name).write_text(text)
    said = usage_error(main, [*OPTIONS, "--results", str(other)], capsys)
    assert f"--results: {other}" in said
    assert message in said
    assert {path.name: path.read_text() for path in other.iterdir()} == {name: text}


def test_places_that_cannot_hold_results(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(BadFolder, match="is no folder"):
        prepare(file)
    with pytest.raises(BadFolder, match="cannot make"):
        prepare(Path("/proc/nowhere"))


@pytest.mark.parametrize("moment", range(4))
def test_another_process_may_begin_at_any_moment(
    moment: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of another's work is done at each moment at which the folder is read or written."""
    folder, moments = tmp_path / "kept", iter(range(100))

    def others(call: Any) -> Any:
        def called(*args: Any, **options: Any) -> Any:
            if next(moments) == moment:
                prepare(folder)
                Results(folder, "sources").keep({"task": "other"}, [1.0])
            return call(*args, **options)

        return called

    for name in ("_names", "folder_problems", "write_whole"):
        monkeypatch.setattr(kept_results, name, others(getattr(kept_results, name)))
    prepare(folder)
    assert next(moments) > moment
    assert Results(folder, "sources").get({"task": "other"}, list) == [1.0]


def test_processes_make_a_folder_together(tmp_path: Path) -> None:
    """Eight at once, and one that was killed while it wrote its first file."""
    for turn in range(30):
        folder = tmp_path / str(turn)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(partial(began, folder, Barrier(8)), range(8)))
        assert len(list(folder.glob("*.json"))) == 9
    folder = tmp_path / "left"
    folder.mkdir()
    (folder / f"{TEMPORARY}abc.json").write_text('{"wh')
    prepare(folder)
    assert (folder / ".gitignore").read_text() == "*\n"


def began(folder: Path, barrier: Barrier, number: int) -> None:
    """What a process does first, all at the same time."""
    barrier.wait()
    prepare(folder)
    Results(folder, "sources").keep({"task": number}, [1.0])


# --- Parts ----------------------------------------------------------------------------------------


def test_floats_come_back_bit_for_bit(tmp_path: Path) -> None:
    values = [0.1, 1e-308, 2 / 3, float(np.nextafter(1.0, 2.0)), float("inf")]
    results = Results(tmp_path, "sources")
    results.keep({"task": "a"}, values)
    assert results.get({"task": "a"}, lambda value: value) == values
    assert Results(tmp_path, "other").get({"task": "a"}, lambda value: value) is None
    assert Results(tmp_path, "sources", fresh=True).get({"task": "a"}, list) is None
    assert Results(None).get({"task": "a"}, list) is None


def test_a_full_disk_ends_the_keeping_and_not_the_run(tmp_path: Path) -> None:
    said: list[str] = []
    results = Results(tmp_path / "gone", "sources", tell=said.append)
    for name in ("a", "b"):
        results.keep({"task": name}, [1.0])
    assert len(said) == 1
    assert "results are no longer kept in" in said[0]
    assert results.get({"task": "a"}, list) is None


def test_rows_are_the_same_as_plain_data() -> None:
    run = example()
    for rows in (run.cells, run.slopes, run.controls, run.coverage, run.ordering):
        assert from_plain(json.loads(json.dumps(to_plain(rows)))) == rows


@pytest.mark.parametrize("kind", ["builtins:eval", "os:system", "verify.rates.run:run", "x"])
def test_nothing_but_records_is_made(kind: str) -> None:
    with pytest.raises(ValueError, match="is no record"):
        from_plain({"kind": kind, "items": ["1"]})
    with pytest.raises(TypeError, match="is not plain"):
        to_plain(object())


def test_a_result_under_anothers_name_is_not_used(tmp_path: Path) -> None:
    told: list[str] = []
    kept = Results(tmp_path, "sources", tell=told.append)
    kept.keep({"task": "a"}, [1.0])
    (a,) = tmp_path.glob("*.json")
    kept.keep({"task": "b"}, [2.0])
    (b,) = set(tmp_path.glob("*.json")) - {a}
    assert kept.get({"task": "b"}, list) == [2.0]
    a.replace(b)
    assert kept.get({"task": "b"}, list) is None
    assert len(told) == 1


def test_results_of_two_seeds_stand_side_by_side(tmp_path: Path) -> None:
    kept = Results(tmp_path, "sources")
    for seed in (0, 1):
        kept.keep({"task": "a", "seed": seed}, [float(seed)])
    assert [kept.get({"task": "a", "seed": seed}, list) for seed in (0, 1)] == [[0.0], [1.0]]
