"""`bench/tables.py` without its data: schemas, loader, peers, and what it makes of figures."""

import hashlib
import importlib
import lzma
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import minimax
from minimax.core.privacy import Approximate

ROOT = Path(__file__).parents[2]
PACKAGES = Path(minimax.__path__[0]).parent
BUDGET = Approximate(1.0, 1e-6)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules of the bench by name."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return lambda name: importlib.import_module(name)


def made_up_table(bench: Any, name: str, n: int, seed: int = 0) -> Any:
    """Rows that a schema allows, with a response that depends on the first number."""
    data, schemas = bench("table_data"), bench("table_schemas")
    schema = next(each for each in schemas.TABLES if each.name == name)
    rng, columns = np.random.default_rng(seed), {}
    for column in schema.features:
        if column.is_number:
            columns[column.name] = rng.uniform(*column.bounds, n)
        else:
            columns[column.name] = rng.choice(np.array(column.levels, dtype=object), n)
    signal = data.scaled(columns[next(iter(schema.bounds))], next(iter(schema.bounds.values())))
    if schema.task == "classification":
        return data.TableData(schema, columns, (signal + 0.3 * rng.normal(size=n) > 0) * 1.0)
    response = data.unscaled(np.clip(0.5 * signal, -1, 1), schema.response.bounds)
    return data.TableData(schema, columns, response)


# --- Schemas and loader ---------------------------------------------------------------------------


def problems(schema: Any) -> list[str]:
    """What is wrong with a schema."""
    found, names = [], [column.name for column in (*schema.features, schema.response)]
    if len(set(names)) < len(names):
        found.append("a column twice")
    for column in (*schema.features, schema.response):
        if column.is_number and not column.bounds[0] < column.bounds[1]:
            found.append(f"{column.name}: bounds")
        if not column.is_number and len(set(column.levels)) < len(column.levels):
            found.append(f"{column.name}: levels")
        if not column.source:
            found.append(f"{column.name}: source")
    if schema.fields and not set(names) <= set(schema.fields):
        found.append("a column that the file does not have")
    if schema.width != len(schema.number_columns):
        found.append("width")
    return found + [f"{f.name}: hash" for f in schema.files if len(f.sha256) != 64]


@pytest.mark.parametrize("name", ["housing", "diamonds", "parkinsons", "adult"])
def test_schemas_are_consistent_and_the_check_can_fail(bench: Any, name: str) -> None:
    schema = next(each for each in bench("table_schemas").TABLES if each.name == name)
    assert problems(schema) == []
    Column = bench("table_schemas").Column
    wrong = Column("w", (2, 1), "s"), Column("v", ("a", "a"), "s"), schema.response
    assert len(problems(schema._replace(features=(*schema.features, *wrong)))) >= 3


@pytest.mark.parametrize("name", ["housing", "diamonds", "parkinsons", "adult"])
def test_no_encoded_row_is_longer_than_the_bound(bench: Any, name: str) -> None:
    data = made_up_table(bench, name, 200)
    encoded = bench("table_data").with_intercept(bench("table_data").encoded(data))
    schema = data.schema
    assert encoded.shape == (200, schema.width + 1)
    assert np.linalg.norm(encoded, axis=1).max() <= schema.row_bound + 1e-12
    corner = {c.name: np.array([c.bounds[1] * 2 + 9]) for c in schema.features if c.is_number}
    corner |= {c.name: np.array([c.levels[-1]], dtype=object) for c in schema.features
               if not c.is_number}  # fmt: skip
    row = bench("table_data").encoded(replace(data, columns=corner))
    assert 1 + np.sum(row**2) == pytest.approx(schema.row_bound**2)


def test_wider_ranges_keep_their_middles(bench: Any) -> None:
    schema = bench("table_schemas").HOUSING
    wide = schema.widened(10)
    for (low, high), (lower, higher) in zip(
        schema.bounds.values(), wide.bounds.values(), strict=True
    ):
        assert lower + higher == pytest.approx(low + high)
        assert higher - lower == pytest.approx(10 * (high - low))
    assert wide.response.bounds[0] < schema.response.bounds[0]
    assert schema.widened(1).bounds == schema.bounds


def test_the_loader_says_what_is_missing(bench: Any, tmp_path: Path) -> None:
    load, NoData = bench("table_data").load, bench("table_data").NoData
    schema = bench("table_schemas").HOUSING
    with pytest.raises(NoData, match="no folder"):
        load(schema, tmp_path / "absent")
    with pytest.raises(NoData, match=r"has no cal_housing\.data\.xz"):
        load(schema, tmp_path)
    (tmp_path / schema.files[0].name).write_bytes(lzma.compress(b"1,2\n"))
    with pytest.raises(NoData, match="has sha256"):
        load(schema, tmp_path)


def test_the_loader_reads_both_files_of_adult(bench: Any, tmp_path: Path) -> None:
    schemas, data = bench("table_schemas"), bench("table_data")
    row = "39, State-gov, 77516, Bachelors, 13, Never-married, ?, Wife, White, Male, 1, 0, 40, Cuba"
    texts = f"{row}, <=50K\n{row}, >50K\n\n", f"|1x3 Cross validator\n{row}, >50K.\n"
    files = []
    for file, text in zip(schemas.ADULT.files, texts, strict=True):
        stored = lzma.compress(text.encode())
        (tmp_path / file.name).write_bytes(stored)
        files.append(file._replace(sha256=hashlib.sha256(stored).hexdigest()))
    read = data.load(schemas.ADULT._replace(files=tuple(files)), tmp_path)
    assert read.response.tolist() == [0, 1, 1]
    assert read.columns["occupation"].tolist() == ["?"] * 3
    assert read.columns["age"].tolist() == [39.0] * 3
    train, test = read.split(0)
    assert (len(train), len(test)) == (2, 1)


def test_the_bench_says_that_there_are_no_data(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "bench" / "tables.py"), str(tmp_path / "none"), "--quick",
         "--no-peers"],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "there is no folder" in done.stdout


# --- Peers ----------------------------------------------------------------------------------------


def test_the_noise_of_sufficient_statistics_is_that_of_their_sensitivity(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers = bench("table_peers")
    seen: dict[str, float] = {}
    real = peers.gaussian

    def watched(value: Any, **options: Any) -> Any:
        seen.update({key: options[key] for key in ("l2_sensitivity", "scale")})
        return real(value, **options)

    monkeypatch.setattr(peers, "gaussian", watched)
    task = peers.Task.of(made_up_table(bench, "diamonds", 300), 0)
    peers.sufficient_statistics(task, BUDGET)
    assert seen["l2_sensitivity"] / seen["scale"] == pytest.approx(BUDGET.to_gaussian().mu)
    rows = np.column_stack([task.Z, np.sign(task.y)])
    products = np.einsum("ij,ik->ijk", rows, rows)
    moves = np.linalg.norm(products[:150] - products[150:], axis=(1, 2))
    assert moves.max() <= seen["l2_sensitivity"]
    assert 20 * moves.max() > seen["l2_sensitivity"]


def test_descent_adds_the_noise_of_its_budget(bench: Any) -> None:
    library, mu, n = bench("peers"), 0.3, 50
    still = np.zeros((n, 2_000))
    tuning = library.Tuning(steps=2, clip=0.7, rate=1.0)
    found = library.averaged_descent(library.DataSet(still, np.zeros(n), still[0], 0), tuning, mu)
    # The last of two steps is what is averaged: the sum of two noises, each for mu/sqrt(2).
    wanted = math.sqrt(2) * 2 * 0.7 * math.sqrt(2) / (n * mu)
    assert np.std(found) == pytest.approx(wanted, rel=0.1)
    assert np.std(found) != pytest.approx(wanted / math.sqrt(2), rel=0.1)


def test_the_steps_of_logistic_descent_compose_to_the_budget(bench: Any) -> None:
    mu, R, n, steps = 0.4, 3.0, 1_000, 25
    noise = bench("table_classifiers").gradient_noise(R, n, steps, mu)
    assert math.sqrt(steps) * (2 * R / n) / noise == pytest.approx(mu)


def test_descent_is_tuned_without_data(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    peers, schemas = bench("table_peers"), bench("table_schemas")
    monkeypatch.setattr(peers, "STEPS", (4, 160))
    monkeypatch.setattr(peers, "TUNING_SETS", 1)
    peers.descent_tuning.cache_clear()
    found = peers.descent_tuning(schemas.HOUSING, 10_000, BUDGET)
    assert found.steps == 160
    peers.descent_tuning.cache_clear()
    table = peers.made_up(schemas.ADULT, 300, 0)
    assert table.X.shape == (300, schemas.ADULT.width + 1)
    assert np.linalg.norm(table.X, axis=1).max() <= schemas.ADULT.row_bound
    assert np.abs(table.y).max() <= 1


def test_peers_find_a_line_when_privacy_is_cheap(bench: Any) -> None:
    data, contest = made_up_table(bench, "housing", 4_000), bench("table_contest")
    match, loose = contest.Match.of(data, 0, 0), Approximate(2_000.0, 1e-6)
    for fit in (*bench("table_peers").PRIVATE.values(), bench("table_peers").least_squares):
        if fit is not bench("table_peers").descent:  # whose clip is for budgets of the bench
            assert contest.figures_of(match, contest.linear(fit, match, loose))["R2"] > 0.95
    classes = contest.Match.of(made_up_table(bench, "adult", 3_000), 0, 0)
    for fit in bench("table_classifiers").PRIVATE.values():
        assert contest.figures_of(classes, contest.linear(fit, classes, loose))["accuracy"] > 0.8


# --- The median of small models -------------------------------------------------------------------


def test_the_distance_moves_by_one_at_most(bench: Any) -> None:
    small, rng = bench("small_models"), np.random.default_rng(0)
    seen = set()
    for trial in range(60):
        fits = rng.standard_t(3, (600, 2)) ** (1 + trial % 3)
        moved = fits.copy()
        moved[rng.integers(600)] = rng.choice([-1e3, 0.0, 1e3], 2) if trial % 2 else fits[0]
        distances = [
            small.distance_to_unsafe(
                small.Boxes(np.sort(each.T + 1e-12, axis=1)).log_volumes, 150, 0.25, 1e-3
            )
            for each in (fits, moved)
        ]
        assert abs(distances[0] - distances[1]) <= 1
        seen.add(distances[0])
    assert len(seen) > 3  # they are not all the same, so that they could move


def density(points: np.ndarray, t: int, eta: float, at: np.ndarray) -> np.ndarray:
    """Of the restricted exponential mechanism in one dimension, by counting."""
    below = np.searchsorted(np.sort(points), at, side="right")
    depth = np.minimum(below, len(points) - below)
    weights = np.where(depth >= t, np.exp(eta * depth), 0.0)
    edges = np.sort(points)
    middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    under = np.arange(1, len(points))
    deep = np.minimum(under, len(points) - under)
    total = np.sum(np.where(deep >= t, np.exp(eta * deep), 0.0) * lengths)
    assert len(middles) == len(deep)
    return np.asarray(weights / total)


def test_good_data_and_their_neighbours_are_hard_to_tell_apart(bench: Any) -> None:
    small, rng = bench("small_models"), np.random.default_rng(1)
    eta, delta, t, apart = 0.25, 1e-3, 50, []
    for _ in range(40):
        points = rng.standard_normal(200)
        volumes = small.Boxes(np.sort(points)[None]).log_volumes
        if small.distance_to_unsafe(volumes, t, eta, delta) < 1:
            continue
        other = points.copy()
        other[rng.integers(200)] = rng.choice([-5.0, 0.0, 5.0])
        edges = np.sort(np.concatenate([points, other]))
        middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
        p, q = (density(each, t, eta, middles) for each in (points, other))
        assert np.sum(np.maximum(p - math.exp(2 * eta) * q, 0) * lengths) <= delta
        apart.append(np.sum(np.maximum(p - q, 0) * lengths))
    assert len(apart) > 5
    assert max(apart) > delta  # the neighbours' laws do differ


def test_a_draw_has_the_density_that_is_claimed(bench: Any) -> None:
    small, rng = bench("small_models"), np.random.default_rng(2)
    points, t, eta = rng.standard_normal(24), 6, 0.3
    boxes = small.Boxes(np.sort(points)[None])
    drawn = np.array([small.draw(boxes, t, eta, rng)[0] for _ in range(20_000)])
    edges = np.sort(points)
    middles, lengths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    expected = density(points, t, eta, middles) * lengths
    counts = np.histogram(drawn, edges)[0] / len(drawn)
    assert expected.sum() == pytest.approx(1)
    assert np.abs(counts - expected).max() < 0.02
    assert np.abs(counts - 1 / len(counts)).max() > 0.05


def test_in_the_plane_a_draw_stays_in_the_box_and_leaves_the_inner_one(bench: Any) -> None:
    small, rng = bench("small_models"), np.random.default_rng(3)
    boxes = small.Boxes(np.sort(rng.standard_normal((2, 40)), axis=1))
    drawn = np.array([small.draw(boxes, 10, 1e-9, rng) for _ in range(4_000)])
    low, high = boxes.ordered[:, 9], boxes.ordered[:, -10]
    assert np.all((drawn >= low) & (drawn <= high))
    # With next to no preference for depth the draw is uniform on the box.
    assert np.abs(drawn.mean(axis=0) - (low + high) / 2).max() < 0.03 * (high - low).max()
    assert drawn.var(axis=0) == pytest.approx((high - low) ** 2 / 12, rel=0.1)


def test_the_test_fails_where_there_are_too_few_models(bench: Any) -> None:
    small, rng = bench("small_models"), np.random.default_rng(4)
    assert small.median_of_fits(rng.standard_normal((40, 5)), BUDGET, rng) is None
    needed = small.models_needed(3, BUDGET)
    assert 40 < needed < 4_000
    assert small.models_needed(3, Approximate(0.25, 1e-6)) > needed
    found = small.median_of_fits(rng.standard_normal((2 * needed, 3)), BUDGET, rng)
    assert found is not None
    assert np.abs(found).max() < 0.5
