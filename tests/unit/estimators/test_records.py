"""Rows of every source add up to the same sums, and what is wrong is said before any release."""

from __future__ import annotations

import tracemalloc
from collections import deque

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from estimators import PrivateMean
from estimators.tables import records as module
from estimators.tables.records import LabelResponse, NumberResponse, Records, in_memory, source_of
from estimators.tables.schema import Numeric, schema_of
from estimators.tables.sources import READ_ONCE, is_chunked

pytestmark = pytest.mark.oldest
N, D = 1000, 3
RESPONSE = NumberResponse(Numeric("y", -1.0, 1.0))


def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, D)), rng.uniform(-2, 2, N)


def products(Z, y, weight=1.0):
    """A kernel: sums of rows, and of rows times responses."""
    if y is None:
        return Z.sum(axis=0)
    return Z.sum(axis=0), weight * (Z.T @ y)


def records_of(X, y=None, response=None, *, keep=False):
    source, first = source_of(X, y)
    return Records(source, schema_of(first, (-1, 1)), response, keep=keep)


def halves(X, y=None):
    """Three chunks, the second of which is empty."""
    parts = [slice(0, 300), slice(300, 300), slice(300, N)]
    return [X[part] if y is None else (X[part], y[part]) for part in parts]


def expected():
    X, y = table()
    Z, z = np.clip(X, -1, 1), np.clip(y, -1, 1)
    return Z.sum(axis=0), Z.T @ z


class Shelf:
    """Chunks that can be gone through again and again, and that are no list."""

    def __init__(self, chunks):
        self.chunks = chunks

    def __iter__(self):
        return iter(self.chunks)


def sources():
    X, y = table()
    pairs = halves(X, y)
    return {
        "array": (X, y),
        "Fortran": (np.asfortranarray(X), y),
        "every second row": (np.repeat(X, 2, axis=0)[::2], np.repeat(y, 2)[::2]),
        "objects": (X.astype(object), y.astype(object)),
        "frame": (pd.DataFrame(X), pd.Series(y)),
        "frame of one response": (pd.DataFrame(X), pd.DataFrame({"y": y})),
        "list of pairs": (pairs, None),
        "tuple of pairs": (tuple(pairs), None),
        "chunks beside responses": (halves(X), [y for _, y in pairs]),
        "function": (lambda: iter(pairs), None),
        "function of lists": (lambda: [list(pair) for pair in pairs], None),
        "generator function": (lambda: (pair for pair in pairs), None),
        "deque": (deque(pairs), None),
        "shelf": (Shelf(pairs), None),
        "frames": ([(pd.DataFrame(rows), y) for rows, y in pairs], None),
        "types": ([(pairs[0][0].astype(object), y[:300]), *pairs[1:]], None),
    }


@pytest.mark.parametrize("name", sources())
@pytest.mark.parametrize("keep", [False, True])
def test_every_source_has_the_same_sums(name, keep, monkeypatch):
    monkeypatch.setattr(module, "SLICE_BYTES", 8 * D * 64)  # many slices
    X, y = sources()[name]
    records = records_of(X, y, RESPONSE, keep=keep and in_memory(X))
    for _ in range(2):
        sums, moments = records.total(products)
        assert sums == pytest.approx(expected()[0], abs=1e-12)
        assert moments == pytest.approx(expected()[1], abs=1e-12)
    assert records.n == N
    assert records.d == D
    outside = [np.count_nonzero(np.abs(part) > 1, axis=0) for part in table()]
    assert records.outside().tolist() == np.append(*outside).tolist()
    raw, _ = records.raw_total(products)
    assert raw == pytest.approx(table()[0].sum(axis=0))


def test_arguments_reach_the_kernel_and_bounds_can_change():
    X, y = table()
    records = records_of(X, y, RESPONSE)
    assert records.total(products, 3.0)[1] == pytest.approx(3 * expected()[1])
    wider = records.rebounded(records.schema.bounded([(-2, 2)] * D), RESPONSE)
    assert wider.total(products)[0] == pytest.approx(np.clip(X, -2, 2).sum(axis=0) / 2)
    assert wider.n == N


def writing(Z, y):
    """A kernel that does what it must not."""
    Z *= 2
    return Z.sum(axis=0)


def test_a_kernel_cannot_spoil_what_is_kept():
    records = records_of(table()[0], keep=True)
    with pytest.raises(ValueError, match="read-only"):
        records.total(writing)
    assert records.total(products) == pytest.approx(expected()[0])


# --- Passes ---------------------------------------------------------------------------------------


def test_an_iterator_is_read_once():
    records = records_of(iter(halves(table()[0])))
    assert records.total(products) == pytest.approx(expected()[0])
    assert records.n == N
    with pytest.raises(ValueError, match="only once"):
        records.total(products)


def test_a_function_that_yields_only_once_loses_nothing_and_is_noticed():
    """The look at the columns has taken the first chunk: it must not be missing from the sum."""
    iterator = iter(halves(table()[0]))
    records = records_of(lambda: iterator)
    assert records.total(products) == pytest.approx(expected()[0])
    with pytest.raises(ValueError, match=READ_ONCE[:20]):
        records.total(products)


@pytest.mark.parametrize(
    ("later", "said"),
    [
        (np.zeros((N - 1, D)), "had 1000 records, now 999"),
        (np.full((N, D), np.nan), "contains NaN"),
        (np.full((N, D), np.inf), "contains infinity"),
        (np.zeros((N, D + 1)), "4 columns where the first has 3"),
        (np.zeros(N), "rows and columns"),
    ],
)
def test_a_source_that_changes_is_noticed(later, said):
    passes = iter([np.zeros((N, D)), later])
    records = records_of(lambda: [next(passes)])
    assert records.n == N
    with pytest.raises(ValueError, match=said):
        records.total(products)


def test_empty_sources():
    for nothing in (list, iter([]), deque()):
        with pytest.raises(ValueError, match="no chunks"):
            records_of(nothing)
    with pytest.raises(ValueError, match="0 records"):
        _ = records_of([np.zeros((0, D))] * 2).n
    with pytest.raises(TypeError, match="must yield chunks, got int"):
        records_of(lambda: 5)


# --- Wrong chunks ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (np.zeros((5, 2)), ValueError, "2 columns where the first has 3"),
        (np.full((5, 3), "a"), TypeError, "real numbers"),
        (np.ma.zeros((5, 3)), TypeError, "masked"),
        (sparse.csr_array((5, 3)), TypeError, "sparse"),
        ([[1, 2, 3]], ValueError, "array or a frame"),
        (np.zeros((5, 3), complex), TypeError, "real numbers"),
        ((np.zeros((5, 3)), np.zeros((5, 3))), ValueError, "3 columns"),
    ],
)
@pytest.mark.parametrize("wrap", [list, iter, lambda chunks: lambda: chunks])
def test_a_wrong_chunk_half_way_releases_nothing(wrong, error, said, wrap):
    model = PrivateMean(bounds=(0, 1), random_state=0)
    with pytest.raises(error, match=said):
        model.fit(wrap([np.zeros((5, 3)), wrong, np.zeros((5, 3))]))
    assert not [name for name in vars(model) if name in ("mean_", "ledger_", "privacy_")]


def test_pairs_and_chunks_are_told_apart():
    X, y = table()
    assert is_chunked([X, X])
    assert is_chunked((X, X))
    assert is_chunked([(X, y)])
    assert not is_chunked([[1.0, 2.0], [3.0, 4.0]])
    assert not is_chunked([(1.0, 2.0), (3.0, 4.0)])
    assert records_of((X, X)).n == 2 * N
    with pytest.raises(ValueError, match="array or a frame"):
        records_of((X, y))
    with pytest.raises(ValueError, match="where X has pairs"):
        records_of([(X, y)], [y], RESPONSE)
    with pytest.raises(ValueError, match="one for each chunk"):
        records_of([X, X], y, RESPONSE)
    with pytest.raises(ValueError, match="let it yield pairs"):
        records_of(lambda: [X], y, RESPONSE)


@pytest.mark.parametrize(
    ("y", "error", "said"),
    [
        (np.zeros(4), ValueError, "4 responses for 5 rows"),
        (np.zeros((5, 2)), ValueError, "columns|1d"),
        (None, ValueError, "y is None"),
        (np.array([0, 0, 0, 0, np.nan]), ValueError, "y contains NaN"),
        (np.array([0, 0, 0, 0, np.inf], dtype="f4"), ValueError, "y contains infinity"),
        (pd.Series([0, 0, 0, 0, None], dtype="Int64"), ValueError, "y contains NaN"),
        ([0, 0, 0, 0, None], ValueError, "y contains NaN"),
        (list("abcde"), TypeError, "real numbers"),
        (np.zeros(5, complex), ValueError, "Complex data not supported: y"),
        (np.zeros(5, "M8[s]"), TypeError, "real numbers"),
        (np.ma.zeros(5), TypeError, "masked"),
    ],
)
def test_wrong_responses_in_one_chunk(y, error, said):
    good = np.zeros((5, D)), np.zeros(5)
    with pytest.raises(error, match=said):
        records_of(lambda: [good, (np.zeros((5, D)), y), good], None, RESPONSE).total(products)


# --- Responses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["f4", "i8", "bool", "object", "Int64", "Float32", "category"])
def test_responses_of_any_type(dtype):
    response = NumberResponse(Numeric("y", 0.1, 0.7))
    y = pd.Series([0, 1, 1], dtype=dtype)
    found = response.encode(response.check(y, 3))
    assert found.tolist() == response.encode(np.array([0.0, 1.0, 1.0])).tolist()
    assert (np.abs(found) <= 1).all()
    assert response.outside(response.check(y, 3)) == 3


def test_responses_are_encoded_within_one():
    rng = np.random.default_rng(0)
    for low, width in zip(rng.normal(0, 1e3, 300), rng.exponential(1, 300), strict=True):
        response = NumberResponse(Numeric("y", low, low + width), bool(width < 1))
        assert (np.abs(response.encode(np.array([low, low + width, 1e300, -1e300]))) <= 1).all()


@pytest.mark.parametrize(
    ("classes", "y", "codes"),
    [
        ((0, 1), np.array([1, 0, 2], dtype=np.uint8), [1, 0, -1]),
        ((0, 1), np.array([1.0, 0.0, 0.5]), [1, 0, -1]),
        ((0, 1), [np.int64(1), 0, True], [1, 0, 1]),
        ((False, True), np.array([1, 0, 1]), [1, 0, 1]),
        ((np.int64(3), np.int64(7)), [7, 3, 4], [1, 0, -1]),
        (("a", "b"), np.array(["b", "a", "c"]), [1, 0, -1]),
        (("a", "b"), pd.Series(["b", "a", "c"]), [1, 0, -1]),
        (("a", "b"), pd.Series(["b", "a", "c"], dtype="category"), [1, 0, -1]),
        (("a", "b"), pd.Series(["b", "a", "c"], dtype="string"), [1, 0, -1]),
        ((0, 1), pd.Series([1, 0, 2], dtype="Int64"), [1, 0, -1]),
        (("1", 1), ["1", 1, 1.0], [0, 1, 1]),
        (("a", 1), np.array([1, 2, 1]), [1, -1, 1]),
        (("a", "b"), np.array([["b"], ["a"]], dtype=object)[:, 0], [1, 0]),
    ],
)
def test_labels_are_their_places(classes, y, codes):
    response = LabelResponse(classes)
    found = response.check(y, len(codes))
    assert response.encode(found).tolist() == codes
    assert response.raw(found).tolist() == codes
    assert response.outside(found) == codes.count(-1)


@pytest.mark.parametrize(
    ("classes", "y", "error", "said"),
    [
        (("0", "1"), np.array([0, 1]), TypeError, "y holds numbers"),
        ((0, 1), np.array(["0", "1"]), TypeError, "y holds text"),
        ((0, 1), pd.Series(["0", "1"], dtype="string"), TypeError, "y holds text"),
        ((0, 1), np.array([0, np.nan]), ValueError, "y contains NaN"),
        (("a", "b"), np.array(["a", None], dtype=object), ValueError, "y contains NaN"),
        (("a", "b"), ["a", np.nan], ValueError, "y contains NaN"),
        (("a", "b"), pd.Series(["a", None], dtype="string"), ValueError, "y contains NaN"),
        ((0, 1), pd.Series([0, None], dtype="Int64"), ValueError, "y contains NaN"),
        ((0, 1), [0], ValueError, "1 responses for 2 rows"),
        ((0, 1), None, ValueError, "y is None"),
        ((0, 1), np.ma.zeros(2), TypeError, "masked"),
    ],
)
def test_wrong_labels(classes, y, error, said):
    with pytest.raises(error, match=said):
        LabelResponse(classes).check(y, 2)


def test_a_strange_label_changes_no_other():
    labels = np.empty(3, dtype=object)
    labels[:] = ["a", "b", [1, 2]]
    response = LabelResponse(("a", "b"))
    assert response.encode(response.check(labels, 3)).tolist() == [0, 1, -1]


# --- Memory ---------------------------------------------------------------------------------------


def peak(action):
    tracemalloc.start()
    action()
    _, found = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return found


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_a_file_is_never_in_memory_as_a_whole(tmp_path, dtype):
    n, d = 900_000, 5
    X = np.memmap(tmp_path / "X", dtype=dtype, mode="w+", shape=(n, d))
    y = np.memmap(tmp_path / "y", dtype=dtype, mode="w+", shape=(n,))
    assert not in_memory(X)
    records = records_of(X, y, RESPONSE)
    whole = 8 * n * d
    assert peak(lambda: records.total(products)) < whole / 3
    assert peak(lambda: PrivateMean(bounds=(0, 1), random_state=0).fit(X)) < whole / 3
    kept = records_of(np.asarray(X), np.asarray(y), RESPONSE, keep=True)
    assert peak(lambda: kept.total(products)) > whole  # what the measure says of a copy


def test_a_file_with_one_dimension_is_refused(tmp_path):
    with pytest.raises(ValueError, match="rows and columns"):
        PrivateMean(bounds=(0, 1)).fit(np.memmap(tmp_path / "X", mode="w+", shape=(5,)))


def test_memory_does_not_grow_with_the_number_of_chunks():
    chunk = np.zeros((50_000, 4))

    def used(chunks):
        return peak(lambda: records_of(lambda: (chunk for _ in range(chunks))).total(products))

    used(1)
    assert used(50) < 1.1 * used(5)
