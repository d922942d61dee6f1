"""Rows in dask collections: the same sums and releases, on threads and on a cluster that loses one.

Functions that workers run are local ones, which travel by value: a test module is not where workers
can import it from.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from dask.distributed import Client, LocalCluster

from estimators import PrivateMean
from estimators.tables.records import NumberResponse, Records, in_memory, source_of
from estimators.tables.schema import Numeric, schema_of
from minimax.core.privacy import Approximate, Gaussian

pytestmark = pytest.mark.oldest
N, D, BLOCK = 1200, 40, 50
BUDGET = Approximate(1.0, 1e-6)
CUTS = {"cut": ["Fair", "Good", "Ideal"]}
RESPONSE = NumberResponse(Numeric("y", -1.0, 1.0))
PATIENCE = 60.0
"""Seconds after which a wait is given up: a test that hangs says so."""


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads"):
        yield


def table(d=D):
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, d)), rng.uniform(-2, 2, N)


def frame():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(17, 99, N),
            "cut": rng.choice(["Fair", "Good", "Ideal", "odd"], N),
            "own": rng.random(N) < 0.3,
        }
    )


def products(Z, y):
    return Z.sum(axis=0), Z.T @ y


def sums(X, y, kernel=products):
    source, first = source_of(X, y)
    records = Records(source, schema_of(first, (-1, 1)), RESPONSE)
    return records.n, *records.total(kernel), records.outside()


def assert_same(found, expected):
    assert found[0] == expected[0]
    for here, there in zip(found[1:], expected[1:], strict=True):
        assert here == pytest.approx(there, rel=1e-12, abs=1e-12)


def assert_same_release(found, expected):
    """The same numbers, and each of them released once."""
    assert found.mean_ == pytest.approx(expected.mean_, rel=1e-9)
    assert found.stderr_ == pytest.approx(expected.stderr_, rel=1e-9)
    assert found.ledger_ == expected.ledger_
    assert found.privacy_ == expected.privacy_
    assert getattr(found, "clipped_share_", None) == getattr(expected, "clipped_share_", None)


# --- On threads -----------------------------------------------------------------------------------


def unknown_sizes(X, y):
    """Arrays whose blocks are of unknown sizes."""
    rows = dd.from_pandas(pd.DataFrame(X), npartitions=5)
    return rows.to_dask_array(), dd.from_pandas(pd.Series(y), npartitions=5).to_dask_array()


COLLECTIONS = {
    "blocks of rows": lambda X, y: (da.from_array(X, (100, D)), da.from_array(y, 100)),
    "blocks of columns": lambda X, y: (da.from_array(X, (100, 7)), da.from_array(y, 100)),
    "one block": lambda X, y: (da.from_array(X, -1), da.from_array(y, -1)),
    "others for y": lambda X, y: (da.from_array(X, (100, D)), da.from_array(y, 70)),
    "y as a column": lambda X, y: (da.from_array(X, (70, D)), da.from_array(y[:, None], (70, 1))),
    "unknown sizes": unknown_sizes,
    "many blocks": lambda X, y: (da.from_array(X, (3, D)), da.from_array(y, 3)),
    "frame": lambda X, y: (
        dd.from_pandas(pd.DataFrame(X), npartitions=4),
        dd.from_pandas(pd.Series(y), npartitions=4),
    ),
    "frame and array": lambda X, y: (
        dd.from_pandas(pd.DataFrame(X), npartitions=4),
        dd.from_pandas(pd.Series(y), npartitions=4).to_dask_array(),
    ),
}


@pytest.mark.filterwarnings("ignore:A column-vector y was passed")
@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_have_the_same_sums(name):
    X, y = COLLECTIONS[name](*table())
    assert not in_memory(X)
    assert_same(sums(X, y), sums(*table()))


@pytest.mark.parametrize("privacy", [BUDGET, Gaussian(1.0)])
def test_the_same_release_from_a_dask_array(privacy):
    X, _ = table()
    model = partial(PrivateMean, privacy, (-3, 3), report_clipped=True, random_state=0)
    assert_same_release(model().fit(da.from_array(X, (70, 11))), model().fit(X))


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_the_same_release_from_a_dask_frame(dtype):
    rows = frame().astype({"cut": dtype})
    model = partial(
        PrivateMean, BUDGET, {"age": (17, 90)}, categories=CUTS, report_clipped=True, random_state=0
    )
    found = model().fit(dd.from_pandas(rows, npartitions=5))
    assert_same_release(found, model().fit(frame()))
    assert found.feature_names_in_.tolist() == ["age", "cut", "own"]


def test_empty_blocks_are_no_harm():
    X, y = table()
    kept = X[:, 0] > 1.5
    rows, responses = da.from_array(X, (20, D)), da.from_array(y, 20)
    chosen = da.from_array(kept, 20)
    assert 0 in [block.sum() for block in np.split(kept, N // 20)]
    assert_same(sums(rows[chosen], responses[chosen]), sums(X[kept], y[kept]))


@pytest.mark.parametrize(
    ("X", "y", "error", "said"),
    [
        (da.zeros(5), None, ValueError, "rows and columns"),
        (da.zeros((5, 2)), np.zeros(5), TypeError, "must be a dask collection"),
        (da.zeros((6, 2), chunks=(3, 2)), da.zeros(5, chunks=5), ValueError, "1 blocks for 2"),
        (da.zeros((6, 2), chunks=(3, 2)), da.zeros(5, chunks=3), ValueError, "2 responses for 3"),
        (da.full((6, 2), np.nan), da.zeros(6), ValueError, "contains NaN"),
        (da.zeros((6, 2)), da.full(6, np.nan), ValueError, "y contains NaN"),
        (da.zeros((0, 2)), da.zeros(0), ValueError, "0 records"),
    ],
)
def test_wrong_collections(X, y, error, said):
    with pytest.raises(error, match=said):
        sums(X, y)


def test_a_block_with_other_columns_releases_nothing():
    parts = [dask.delayed(np.zeros)((5, width)) for width in (2, 3)]
    X = da.concatenate([da.from_delayed(part, (5, 2), float) for part in parts])
    model = PrivateMean(BUDGET, (0, 1), random_state=0)
    with pytest.raises(ValueError, match="3 columns where the first has 2"):
        model.fit(X)
    assert not hasattr(model, "mean_")
    assert not hasattr(model, "ledger_")


def test_text_of_a_frame_says_what_to_give():
    with pytest.raises((ValueError, TypeError), match="levels"):
        PrivateMean(BUDGET, (0, 90)).fit(dd.from_pandas(frame(), npartitions=2))


# --- On a cluster ---------------------------------------------------------------------------------


def waited_for(condition):
    """Whether it came true in time."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def fragile(folder: Path, X: np.ndarray, fatal: int) -> da.Array:
    """X in blocks; whoever reads a certain one leaves its process number and waits to be killed,
    unless that has happened already."""

    def block(i):
        (folder / f"read-{i}-{os.getpid()}").touch()
        end = time.monotonic() + PATIENCE
        while i == fatal and not (folder / "killed").exists() and time.monotonic() < end:
            time.sleep(0.01)
        return X[i * BLOCK : (i + 1) * BLOCK]

    parts = [dask.delayed(block)(i) for i in range(N // BLOCK)]
    return da.concatenate([da.from_delayed(part, (BLOCK, X.shape[1]), float) for part in parts])


def readers(folder: Path, i: int) -> set[int]:
    return {int(path.name.split("-")[2]) for path in folder.glob(f"read-{i}-*")}


def killer(folder: Path, fatal: int) -> threading.Thread:
    """Ends the process that reads the fatal block, as soon as it does."""

    def kill():
        if waited_for(lambda: readers(folder, fatal)):
            (victim,) = readers(folder, fatal)
            os.kill(victim, signal.SIGKILL)
            (folder / "killed").touch()

    made = threading.Thread(target=kill)
    made.start()
    return made


def check_sums() -> None:
    def kernel(Z, y):
        return Z.sum(axis=0), Z.T @ y

    X, y = table()
    assert_same(sums(da.from_array(X, (100, 7)), da.from_array(y, 100), kernel), sums(X, y))


def check_errors() -> None:
    X, _ = table()
    X[700, 3] = np.nan
    model = PrivateMean(BUDGET, (-3, 3))
    with pytest.raises(ValueError, match="column 3, contains NaN"):
        model.fit(da.from_array(X, (100, D)))
    assert not hasattr(model, "mean_")


def check_a_killed_worker(folder: Path) -> None:
    X, _ = table()
    fatal = 13
    model = partial(PrivateMean, BUDGET, (-3, 3), report_clipped=True, random_state=0)
    thread = killer(folder, fatal)
    found = model().fit(fragile(folder, X, fatal))
    thread.join()
    assert (folder / "killed").exists()
    assert len(readers(folder, fatal)) >= 2  # the dead one, and who did its work again
    assert_same_release(found, model().fit(X))
    without = np.delete(X, slice(fatal * BLOCK, (fatal + 1) * BLOCK), axis=0)
    assert model().fit(without).mean_ != pytest.approx(found.mean_, rel=1e-9)


def test_a_cluster_that_loses_a_worker_changes_nothing(tmp_path):
    """One test, so that one cluster is enough, however tests are divided."""
    made = LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with made, Client(made), dask.config.set(scheduler=None):
        check_sums()
        check_errors()
        check_a_killed_worker(tmp_path)
