"""Public schemas: what is encoded to what, of every kind of table, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from estimators.core.design import LARGEST
from estimators.tables.scaling import Scaling
from estimators.tables.schema import Categorical, Numeric, Schema, response_range, schema_of

pytestmark = pytest.mark.oldest
FLOATS = st.floats(-1e100, 1e100, allow_nan=False)
TABLE = np.array([[17.0, 1.0], [90.0, -1.0], [53.5, 0.0], [1000.0, -7.0]])
BOUNDS = [(17, 90), (-1, 1)]
ENCODED = np.array([[-1.0, 1.0], [1.0, -1.0], [0.0, 0.0], [1.0, -1.0]])


# --- Numbers --------------------------------------------------------------------------------------


@given(
    st.tuples(FLOATS, FLOATS).filter(lambda pair: abs(pair[1] - pair[0]) > 1e-180),
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=5),
    st.booleans(),
)
def test_every_number_is_encoded_within_one(pair, values, centred):
    low, high = sorted(pair)
    rows = np.array([*values, low, high, low / 2 + high / 2])[:, None]
    Z = schema_of(rows, (low, high), centred=centred).encode(rows)
    assert (np.abs(Z) <= 1).all()
    assert np.abs(Z).max() >= 1 - 1e-12 or not centred or high - low < 1e-12 * abs(low)


def test_the_ends_of_ranges_are_brought_to_one():
    for low, width in np.random.default_rng(0).normal(size=(500, 2)):
        rows = np.array([[low], [low + abs(width)]])
        encoded = schema_of(rows, (rows[0, 0], rows[1, 0])).encode(rows).ravel()
        assert encoded == pytest.approx([-1, 1], abs=1e-9)
        assert (np.abs(encoded) <= 1).all()


def test_ranges_narrower_than_their_middle_can_be_written():
    """The middle of 1e16 and the next float but one is rounded: ends stay apart, and within 1."""
    rows = np.array([[0.0], [1e16], [1e16 + 2], [1e17]])
    encoded = schema_of(rows, (1e16, 1e16 + 2)).encode(rows).ravel()
    assert (np.diff(encoded) >= 0).all()
    assert encoded[1] < encoded[2]
    assert (np.abs(encoded) <= 1).all()


def test_numbers_that_overflow_when_scaled_are_clipped_without_a_warning(recwarn):
    rows = np.array([[1e308], [-1e308], [0.0]])
    for centred in (True, False):
        encoded = schema_of(rows, (-1e-150, 1e-150), centred=centred).encode(rows)
        assert encoded.ravel().tolist() == [1, -1, 0]
    assert not recwarn.list


def test_encoding_and_what_lies_outside():
    schema = schema_of(TABLE, BOUNDS)
    assert schema.encode(TABLE) == pytest.approx(ENCODED, abs=1e-15)
    assert schema.outside(TABLE).tolist() == [1, 1]
    assert schema.middles.tolist() == [53.5, 0]
    assert schema.halves.tolist() == [36.5, 1]
    assert not schema.binary.any()


def test_without_an_intercept_the_origin_stays():
    schema = schema_of(TABLE, [(5, 10), (-1, 4)], centred=False)
    assert schema.encode(np.array([[0.0, 0.0], [7.0, 2.0], [99.0, -9.0]])) == pytest.approx(
        np.array([[0.5, 0.0], [0.7, 0.5], [1.0, -0.25]])
    )


@pytest.mark.parametrize("dtype", ["f4", "f2", "i1", "i8", "u2", "f8", "object"])
def test_any_type_of_number_is_encoded_as_float64_is(dtype):
    rows = np.array([[1, 2], [3, 100], [-5, 7]]).astype(dtype)
    schema = schema_of(rows, (0.1, 3.3))
    wide = schema.encode(rows.astype(float))
    assert schema.encode(rows).tobytes() == wide.tobytes()
    assert schema.settled(rows).dtype == float


@pytest.mark.parametrize(
    "layout", [np.asfortranarray, lambda a: a[::-1][::-1], lambda a: np.repeat(a, 2, 0)[::2]]
)
def test_any_layout_is_encoded_alike(layout):
    rows = np.random.default_rng(0).normal(size=(5000, 7))
    schema = schema_of(rows, (-1, 1))
    assert schema.encode(layout(rows)).tobytes() == schema.encode(rows).tobytes()


def test_more_rows_than_a_tile_and_a_tile_that_is_narrower_than_a_row():
    rows = np.random.default_rng(0).normal(size=(40_000, 3))
    wide = rows.reshape(3, -1)
    expected = np.clip(rows, -2, 1) / 1.5 + 1 / 3
    assert schema_of(rows, (-2, 1)).encode(rows) == pytest.approx(expected)
    assert schema_of(wide, (-2, 1)).encode(wide).ravel() == pytest.approx(expected.ravel())


def test_numbers_wider_than_floats_are_clipped_without_a_warning(recwarn):
    rows = np.array([[np.longdouble("1e4000")], [np.longdouble(2)]])
    if rows.dtype.itemsize == 8:  # there are none here
        rows = np.array([[1e308], [2.0]])
    schema = schema_of(rows, (0, 4))
    assert schema.encode(schema.settled(rows)).ravel().tolist() == [pytest.approx(1), 0]
    assert not recwarn.list


@pytest.mark.parametrize(
    ("wrong", "error", "said"),
    [
        (np.array([[1.0, np.nan]]), ValueError, "column 1, contains NaN"),
        (np.array([[np.inf, 1.0]]), ValueError, "column 0, contains infinity"),
        (np.array([[1.0, None]], dtype=object), ValueError, "column 1, contains NaN"),
        (np.array([[1, "a"]], dtype=object), TypeError, "column 1, must hold real numbers"),
        (np.array([[1, 1j]]), TypeError, "real numbers"),
        (np.array([[1, 1]], dtype="M8[s]"), TypeError, "real numbers"),
        (np.array([[1, 1]], dtype="m8[s]"), TypeError, "real numbers"),
        (np.array([[1, 10**400]], dtype=object), TypeError, "real numbers"),
    ],
)
def test_what_is_no_number_is_refused_by_name(wrong, error, said):
    schema = schema_of(np.zeros((1, 2)), (0, 1))
    for check in (schema.check_entries, schema.settled):
        with pytest.raises(error, match=said):
            check(wrong)


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 3), (40_000, 3), (2, 40_000)])
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-0.5, None)])
def test_columns_are_scaled_as_one_by_one(shape, ends):
    rng = np.random.default_rng(0)
    numbers, middle, inverse = (
        rng.normal(size=shape),
        rng.normal(size=shape[1]),
        rng.random(shape[1]),
    )
    low, high = ends[0], rng.random(shape[1]) if ends[1] is None else ends[1]
    expected = np.clip((numbers - middle) * inverse, low, high)
    scaling, out = Scaling(middle, inverse, low, high), np.empty(shape)
    for laid_out in (numbers, np.asfortranarray(numbers)):
        assert scaling.apply(laid_out, out) is out
        assert np.array_equal(out, expected)
        out[:] = 0


def test_what_is_not_a_number_is_not_scaled_to_one():
    found = Scaling(np.zeros(2), np.ones(2)).apply(np.array([[np.nan, np.inf]]), np.empty((1, 2)))
    assert np.isnan(found[0, 0])
    assert found[0, 1] == 1


# --- Frames ---------------------------------------------------------------------------------------

FRAME = pd.DataFrame({"age": [20, 30], "cut": ["Good", "Ideal"], "own": [True, False]})
CUTS = {"cut": ["Fair", "Good", "Ideal"]}


def test_names_levels_and_truths_of_a_frame():
    schema = schema_of(FRAME, {"age": (20, 30)}, CUTS)
    assert schema.names == ("age", "cut=Good", "cut=Ideal", "own")
    assert schema.binary.tolist() == [False, True, True, True]
    assert schema.encode(FRAME) == pytest.approx(np.array([[-1.0, 1, 0, 1], [1.0, 0, 1, 0]]))
    assert schema.numbers(FRAME).tolist() == [[20], [30]]
    assert (schema.middles[3], schema.halves[3]) == (0, 1)


@pytest.mark.parametrize("bounds", [{"age": (20, 30), "own": (-5, 5)}, (0, 50), "private"])
def test_truth_values_are_an_indicator_whatever_the_bounds_and_numbers_are_not(bounds):
    own = FRAME[["age", "own"]]
    schema = schema_of(own, bounds)
    assert schema.binary.tolist() == [False, True]
    assert schema.encode(own)[:, 1].tolist() == [1, 0]
    for dtype in ("float64", "int8", "object"):
        assert not schema_of(own.astype({"own": dtype}), bounds).binary.any()
    listed = schema_of(own, bounds, {"own": [False, True]})
    assert listed.names == ("age", "own=True")
    assert listed.encode(own)[:, 1].tolist() == [1, 0]


def test_later_truth_values_may_be_numbers_and_no_text():
    schema = schema_of(FRAME[["own"]], {})
    later = pd.DataFrame({"own": [1.0, 0.0, 2.0, 0.5]})
    assert schema.encode(later)[:, 0].tolist() == [1, 0, 0, 0]
    assert schema.outside(later).tolist() == [2]
    for check in (schema.check_entries, schema.settled, schema.encode, schema.outside):
        with pytest.raises(TypeError, match="column 'own', must hold real numbers"):
            check(pd.DataFrame({"own": ["True", "False"]}))


@pytest.mark.parametrize(
    "dtypes",
    [
        {"age": "Int64"},
        {"age": "Float32"},
        {"age": "category"},
        {"own": "boolean"},
        {"cut": "category"},
        {"cut": "string"},
        {"cut": "object"},
        {"cut": pd.CategoricalDtype(["Ideal", "Good", "new"])},
        {"age": "int8", "cut": "string[pyarrow]"},
        {"age": "int64[pyarrow]", "own": "bool[pyarrow]"},
    ],
)
def test_pandas_own_types_are_encoded_alike(dtypes):
    frame = FRAME.astype(dtypes)
    schema = schema_of(frame, {"age": (20, 30), "own": (0, 1)}, CUTS)
    plain = schema_of(FRAME, {"age": (20, 30)}, CUTS)
    schema.check_entries(frame)
    assert schema.encode(frame).tolist() == plain.encode(FRAME).tolist()
    assert schema.outside(frame).tolist() == [0, 0, 0]


@pytest.mark.parametrize("dtype", ["Int64", "float64", "object", "int64[pyarrow]", "boolean"])
@pytest.mark.parametrize("others", [[], ["cut"]])
def test_missing_numbers_of_a_frame_are_refused(dtype, others):
    frame = pd.DataFrame({"a": pd.Series([1, None], dtype=dtype), "cut": ["Good", "Fair"]})
    frame = frame[["a", *others]]
    schema = schema_of(frame, {"a": (0, 1)}, CUTS if others else None)
    for check in (schema.check_entries, schema.settled, schema.encode):
        with pytest.raises(ValueError, match="column 'a', contains NaN"):
            check(frame)


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_missing_levels_are_refused_unless_they_are_listed(dtype, missing):
    frame = pd.DataFrame({"cut": pd.Series(["Good", missing, "odd"], dtype=dtype)})
    with pytest.raises(ValueError, match=r"column 'cut', contains NaN.*list None"):
        schema_of(frame, (0, 1), CUTS).check_entries(frame)
    for word in (None, np.nan):
        schema = schema_of(frame, (0, 1), {"cut": ["Fair", "Good", word]})
        schema.check_entries(frame)
        assert schema.encode(frame).tolist() == [[1, 0], [0, 1], [0, 0]]
        assert schema.outside(frame).tolist() == [1]


def test_integer_names_are_names():
    frame = pd.DataFrame([[1, 5]], columns=[7, 3])
    schema = schema_of(frame, {3: (0, 10), 7: (0, 2)})
    assert [(c.name, c.low, c.high) for c in schema.columns] == [(7, 0, 2), (3, 0, 10)]


def test_two_columns_of_a_name_are_refused():
    with pytest.raises(ValueError, match="two columns 'a'"):
        schema_of(pd.DataFrame([[1, 2]], columns=["a", "a"]), (0, 1))


def test_chunks_with_other_columns_are_refused():
    schema = schema_of(FRAME, {"age": (20, 30)}, CUTS)
    schema.check_columns(FRAME)
    with pytest.raises(ValueError, match="has column 'cut' where the first has 'age'"):
        schema.check_columns(FRAME[["cut", "age", "own"]])
    with pytest.raises(ValueError, match="2 columns where the first has 3"):
        schema.check_columns(FRAME[["age", "cut"]])
    with pytest.raises(TypeError, match="sparse"):
        schema.check_columns(sparse.eye_array(3))
    with pytest.raises(TypeError, match="pyarrow"):
        schema.check_columns(pa.table({"age": [1]}))
    with pytest.raises(TypeError, match="masked"):
        schema.check_columns(np.ma.zeros((2, 3)))
    with pytest.raises(ValueError, match="rows and columns"):
        schema.check_columns(np.zeros(3))
    with pytest.raises(ValueError, match="0 columns"):
        schema_of(np.zeros((5, 0)), (0, 1))


# --- Levels ---------------------------------------------------------------------------------------


def test_numbers_of_any_type_are_one_level():
    column = Categorical("a", (0, 1, "x"))
    assert column.codes(np.array([1.0, 0.0, 2.0])).tolist() == [1, 0, -1]
    assert column.codes(np.array([True, False])).tolist() == [1, 0]
    assert column.codes(np.array(["x", 1, np.int8(0)], dtype=object)).tolist() == [2, 1, 0]
    assert column.codes(np.array(["x", "1"])).tolist() == [2, -1]


def test_a_strange_value_changes_no_other():
    """Long texts are equal and not identical: a search by identity would lose them."""
    texts = [" ".join(["one", "level"]), " ".join(["another", "level"])]
    column = Categorical("a", ("one level", "another level"))
    for strange in ([], {}, ([],), np.zeros(2)):
        values = np.empty(3, dtype=object)
        values[:] = [*texts, strange]
        assert column.codes(values).tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    ("categories", "error", "said"),
    [
        ({"nothing": [1, 2]}, ValueError, "no column 'nothing'"),
        ({"cut": ["Fair"]}, ValueError, "two levels or more"),
        ({"cut": ["Fair", "Fair"]}, ValueError, "all different"),
        ({"cut": [1, True]}, ValueError, "all different"),
        ({"cut": [None, np.nan]}, ValueError, "all different"),
        ({"cut": "Fair"}, TypeError, "must be a list"),
        ({"cut": {"Fair", "Good"}}, TypeError, "must be a list"),
        ({"cut": [["Fair"], ["Good"]]}, TypeError, "hashable"),
        (["cut"], TypeError, "name: levels"),
    ],
)
def test_wrong_categories(categories, error, said):
    with pytest.raises(error, match=said):
        schema_of(FRAME, {"age": (0, 1)}, categories)


def test_text_without_levels_says_what_to_give():
    with pytest.raises(ValueError, match="'cut' holds text: give its levels"):
        schema_of(FRAME, {"age": (0, 1)})
    empty = FRAME.iloc[:0]  # as a dask frame has it: the type alone does not tell
    with pytest.raises((ValueError, TypeError), match=r"levels|categories"):
        schema_of(empty, {"age": (0, 1), "cut": (0, 1)}).check_entries(FRAME)


# --- Bounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds", [(0, 1), [(0, 1), (0, 1)], {0: (0, 1), 1: [0, 1]}, np.array([[0, 1], [0, 1]])]
)
def test_bounds_in_all_their_forms(bounds):
    expected = (Numeric(0, 0.0, 1.0), Numeric(1, 0.0, 1.0))
    assert schema_of(np.zeros((1, 2)), bounds).columns == expected


@pytest.mark.parametrize(
    ("bounds", "error", "said"),
    [
        (None, ValueError, "bounds must be given.*bounds='private'"),
        ({"age": (30, 20)}, ValueError, "column 'age' must have low < high"),
        ({"age": (20, 20)}, ValueError, "low < high"),
        ({"age": (0, np.inf)}, ValueError, "finite"),
        ({"age": (0, np.nan)}, ValueError, "finite"),
        ({"age": (0, 10**400)}, ValueError, "finite"),
        ({"age": (0, 1e101)}, ValueError, "at most"),
        ({"age": (0, 1e-201)}, ValueError, "too close"),
        ({"age": (0, 1, 2)}, ValueError, "a pair"),
        ({"age": "ab"}, ValueError, "a pair"),
        ({"age": (0, 1j)}, ValueError, "a pair"),
        ({"age": (0, np.complex128(1))}, ValueError, "finite"),
        ({}, ValueError, "column 'age' has none"),
        ({"nothing": (0, 1)}, ValueError, "no column 'nothing'"),
        ([(0, 1)], ValueError, "one .low, high. for each of the 3"),
        (5, TypeError, "pairs"),
        ({(0, 1)}, TypeError, "in order"),
        ("public", ValueError, "'private'"),
    ],
)
def test_wrong_bounds(bounds, error, said):
    with pytest.raises(error, match=said):
        schema_of(FRAME, bounds, CUTS)


def test_private_bounds_are_put_in_later():
    schema = schema_of(FRAME, "private", CUTS)
    assert [c.high for c in schema.columns if isinstance(c, Numeric)] == [LARGEST]
    found = schema.bounded([(0, 5)])
    assert found == schema_of(FRAME, {"age": (0, 5)}, CUTS)
    assert isinstance(hash(found), int)
    for wrong in ([], [(0, 5)] * 2, [(5, 5)]):
        with pytest.raises(ValueError):  # noqa: PT011
            schema.bounded(wrong)


def test_ranges_of_responses():
    assert response_range("response_bounds", (0, 2)) == Numeric("y", 0, 2)
    assert response_range("response_bounds", "private").low == -LARGEST
    for wrong in (None, "public", (2, 0), 5):
        with pytest.raises(ValueError, match="response_bounds"):
            response_range("response_bounds", wrong)


def test_schemas_without_numbers():
    frame = FRAME[["cut"]]
    schema = schema_of(frame, (0, 1), CUTS)
    assert isinstance(schema, Schema)
    assert schema.encode(frame).tolist() == [[1, 0], [0, 1]]
    assert schema.numbers(frame).shape == (2, 0)
