"""The benches run; that for regression says what it compared, and copes without peers."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimax

ROOT = Path(__file__).parents[2]
PACKAGES = Path(minimax.__path__[0]).parent
"""Where the packages are imported from: here, or wherever they are installed."""
OURS = {
    "step": ["NoisyGradientRegression: clipped gradient"],
    "gram": ["T = 50, Gram matrix formed once", "T = 50, two products a step"],
    "private": ["NoisyGradientRegression, rows <= sqrt(d)", "AdaSSP, rows <= sqrt(d)"],
    "sparse, C order": ["IterativeHardThresholding", "scikit-learn Lasso + refit"],
    "sparse, F order": ["IterativeHardThresholding", "scikit-learn OMP"],
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """What a quick run prints and writes, and where it would have put environments."""
    folder = tmp_path_factory.mktemp("bench")
    out, peers = folder / "figures.json", folder / "peers"
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "regression.py"), "--quick", "--no-peers",
         "--json", str(out), "--peers-dir", str(peers)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads(out.read_text()), peers


def test_quick_run_without_peers(ran):
    printed, figures, peers = ran
    assert not peers.exists()
    assert figures["machine"]["threads"] == 1
    for section, names in OURS.items():
        lines = [line for line in figures["lines"] if line["section"] == section]
        assert set(names) <= {line["name"] for line in lines}
        assert lines[0]["ratio"] == 1
        assert all(line["seconds"] > 0 for line in lines)
        for line in lines:
            assert line["ratio"] == pytest.approx(line["seconds"] / lines[0]["seconds"])
            assert bool(line["errors"]) == (section not in ("step", "gram"))

    said = {verdict["goal"]: verdict for verdict in figures["verdicts"]}
    left_out = [v for v in said.values() if v["met"] is None]
    assert len(left_out) == 2 + 2 * 2  # ours against diffprivlib; skglm and abess, two layouts
    assert all("--no-peers" in verdict["detail"] for verdict in left_out)
    for verdict in said.values():
        word = {True: "met", False: "NOT MET", None: "not measured"}[verdict["met"]]
        assert f"{word}: {verdict['goal']}" in printed


def test_errors_are_those_of_the_estimators(ran):
    _, figures, _ = ran
    errors = {(line["section"], line["name"]): sorted(line["errors"]) for line in figures["lines"]}
    ours = errors["sparse, C order", "IterativeHardThresholding"]
    # All find the true support here, so all refit the same least squares; in both layouts.
    assert errors["sparse, C order", "scikit-learn OMP"] == pytest.approx(ours)
    assert errors["sparse, F order", "IterativeHardThresholding"] == pytest.approx(ours)
    floor = errors["private", "least squares, not private"]
    private = errors["private", "NoisyGradientRegression, rows <= sqrt(d)"]
    assert private != pytest.approx(floor)
    assert private[len(private) // 2] > floor[len(floor) // 2]


def test_the_bench_times_every_randomiser(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = importlib.util.spec_from_file_location("bench_local", ROOT / "bench" / "local.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    monkeypatch.setattr(bench, "CHUNK", 200)
    names = [f"{each.name}, {each.guarantee}" for each in bench.randomisers(10)]
    assert len(set(names)) == 7
    times, memory = bench.time_rows(600, 10), bench.memory_rows(2_000, 10)
    for rows in (times, memory):
        assert all(name in row.what for name, row in zip(names, rows, strict=True))
    assert all(row.figure > 0 for row in times)
    assert all(0 < row.figure < row.goal for row in memory)
    fits = bench.fit_rows(50_000, 10)
    assert len(fits) == 6
    assert all(row.figure > 0 for row in fits)


def loaded(name: str) -> Any:
    """One of the benches, as a module."""
    spec = importlib.util.spec_from_file_location(f"bench_{name}", ROOT / "bench" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    return bench


def test_the_bench_counts_passes() -> None:
    rows = loaded("passes").measured(2_000)
    assert len(rows) == 6
    assert all(0 < row.passes < float("inf") for row in rows)
    assert all(row.goal > 1 for row in rows)


def test_the_bench_of_large_tables_counts_passes_and_memory(monkeypatch) -> None:
    bench = loaded("tables_large")
    monkeypatch.setattr(bench, "CHUNK", 5_000)
    rows = bench.measured(5)
    assert "PrivateMean, n = 25,000, d = 10: time per pass of 1 /" in rows[0].what
    assert rows[0].figure > 0
    assert [row.figure < 1.5 for row in rows if "memory" in row.what] == [True] * (len(rows) // 2)
    chunks = bench.Chunks(3, responses=True)
    assert bench.peak(lambda given: [chunk.copy() for chunk, _ in given()], chunks) > 3 * 400_000
    assert chunks.given == 3


def test_the_bench_tunes_a_dense_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    bench = loaded("peers")
    monkeypatch.setattr(bench, "TUNING_SETS", 1)
    rows = bench.measured(1_000, 2, 5)
    ours, *tuned = rows[: 1 + len(bench.STEPS)]
    assert ours.ratio == pytest.approx((1, 1, 1))
    assert [row.goal for row in tuned].count(bench.GOAL) == 1
    assert min(tuned, key=lambda row: row.error).goal == bench.GOAL
    assert ours.goal is None
    for row in rows[1:]:
        found, low, high = row.ratio
        assert low < found < high
        assert found == pytest.approx(ours.error / row.error)


def test_the_bench_has_a_sparse_peer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    bench = loaded("peers")
    ours, screened, told = bench.sparse_rows(5_000, 30, 2, 6)
    assert (ours.goal, screened.goal, told.goal) == (None, bench.SPARSE_GOAL, None)
    assert ours.ratio[0] == pytest.approx(1)
    assert screened.ratio[0] == pytest.approx(ours.error / screened.error)
    assert told.error not in (ours.error, screened.error)
    assert max(ours.error, screened.error) < 0.1  # both find the coefficients


def test_the_interval_of_a_ratio_covers_and_pairs_make_it_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    rng, covered, ratio = np.random.default_rng(0), 0, loaded("peers").ratio
    for _ in range(400):
        common, noise = rng.gamma(4.0, size=300), rng.gamma(4.0, size=(2, 300))
        a, b = common + noise[0] / 4, 2 * common + noise[1] / 2
        _, low, high = ratio(a, b)
        covered += low <= 0.5 <= high
        shuffled = ratio(a, rng.permutation(b))
        assert high / low < shuffled[2] / shuffled[1]
    assert 360 <= covered <= 395  # 95 % of 400 is 380; P(outside) < 1e-4


def test_the_bench_runs_every_theorem() -> None:
    rows = loaded("schedules").measured(500, 4, 2)
    assert len(rows) == 5
    assert all(min(row[1:4]) > 0 for row in rows)
    assert all(row.theorem != 1 for row in rows)


def test_the_bench_of_scaling_waits_for_the_last_piece_of_a_look() -> None:
    bench = loaded("scaling")
    looks = [[2.0, 1.0, 1.0], [1.0]]
    assert bench.spread(looks, 1, 0.0) == 5
    assert bench.spread(looks, 2, 0.0) == 3
    assert bench.spread(looks, 64, 0.0) == 3
    assert bench.spread([[1.0, 1.0, 2.0]], 2, 0.0) == 3  # not longest first
    assert bench.spread([[1.0] * 4], 4, 1.0) == 5  # the last is handed out after four seconds
    found = bench.pieces("quick", "bounded-mean/tracing/GDP")
    assert len(found.looks) > 1
    assert min(map(min, found.looks)) > 0
    assert found.besides > 0
