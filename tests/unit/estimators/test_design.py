"""The design matrix: entries clamped whatever the layout, norms and Gram matrix by hand."""

import numpy as np
import pytest
from scipy import sparse

from estimators.core.design import LARGEST, Design, clamped

pytestmark = pytest.mark.oldest

LAYOUTS = {
    "rows contiguous": np.ascontiguousarray,
    "columns contiguous": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "CSR": sparse.csr_array,
}


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entry", [LARGEST * (1 + 1e-15), -1e101, 1e200, -1.7e308])
def test_entries_beyond_the_largest_are_clamped(layout, entry):
    X = np.array([[1.0, -2.0, 0.0], [entry, 0.5, 1e99]])
    given = LAYOUTS[layout](X)
    expected = np.clip(X, -LARGEST, LARGEST)
    assert np.array_equal(dense(clamped(given)), expected)
    assert np.array_equal(dense(given), X)  # the data themselves are left alone
    design = Design(given)
    assert np.array_equal(dense(design.X), expected)
    assert design.norms == pytest.approx([np.sqrt(5), LARGEST], rel=1e-2)
    assert np.isfinite(design.gram(design.shortening(1.0))).all()


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("entry", [0.0, 3.0, 1e99, LARGEST])
def test_nothing_is_copied_where_nothing_is_beyond(layout, entry):
    given = LAYOUTS[layout](np.array([[1.0, -2.0, 0.0], [entry, 0.5, 1.0]]))
    assert clamped(given) is given
    assert Design(given).X is given


def test_many_entries_just_inside_are_not_mistaken_for_one_outside():
    X = np.full((50, 40), LARGEST)  # the sum of squares is 2000 times LARGEST^2
    assert clamped(X) is X


def test_empty_data():
    assert clamped(np.empty((0, 3))).shape == (0, 3)
    assert Design(np.empty((0, 3))).norms.shape == (0,)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weights", [[1.0, 1.0, 1.0], [1.0, 0.5, 1.0], [0.5, 0.5, 0.5]])
def test_gram_counts_each_row_with_its_weight_squared(layout, weights):
    X = np.array([[1.0, 2.0], [0.0, -4.0], [3.0, 0.0]])
    W = np.diag(np.square(weights))
    assert Design(LAYOUTS[layout](X)).gram(np.array(weights)) == pytest.approx(X.T @ W @ X)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("bound", [0.5, 3.0, 1e9])
def test_a_checked_design_has_norms_and_shortened_rows_their_gram(layout, bound):
    X = np.random.default_rng(0).standard_normal((9_000, 40))  # two chunks
    given, asked = LAYOUTS[layout](X), []
    design = Design.checked(given, lambda Z: asked.append(1) or clamped(Z))
    assert design.norms == pytest.approx(np.linalg.norm(X, axis=1))
    shortened = X * np.minimum(1, bound / np.linalg.norm(X, axis=1))[:, None]
    gram = design.gram(design.shortening(bound))
    assert gram == pytest.approx(shortened.T @ shortened, rel=1e-9, abs=1e-9)
    assert design.X is given
    assert len(asked) == (layout == "CSR")


@pytest.mark.parametrize("entry", [np.nan, np.inf, 1e101, -1.7e308])
def test_a_check_asks_again_about_what_is_not_finite_or_huge(entry):
    X = np.ones((20_000, 30))
    X[15_000, 3] = entry

    def settled(Z):
        if not np.isfinite(Z).all():
            raise ValueError("not finite")
        return clamped(Z)

    if not np.isfinite(entry):
        with pytest.raises(ValueError, match="not finite"):
            Design.checked(X, settled)
        return
    design = Design.checked(X, settled)
    assert design.X[15_000, 3] == np.clip(entry, -LARGEST, LARGEST)
    gram = design.gram(design.shortening(1.0))
    assert np.trace(gram) == pytest.approx(20_000)


@pytest.mark.parametrize("start", [np.zeros(3), np.array([0.5, -1.0, 2.0])])
def test_clipped_correlation_by_hand(start):
    rng = np.random.default_rng(0)
    X, y, shorten, weights = (rng.uniform(0.1, 1, s) for s in ((50, 3), 50, 50, 50))
    kept = y.copy()
    expected = X.T @ (weights * np.clip(y - shorten * (X @ start), -0.4, 0.4))
    assert Design(X).clipped_correlation(y, start, shorten, weights, 0.4) == pytest.approx(expected)
    assert np.array_equal(y, kept)  # the data themselves are left alone


def test_gram_is_the_same_in_many_chunks():
    rng = np.random.default_rng(0)
    X, weights = rng.standard_normal((600, 1000)), rng.uniform(0.5, 1, 600)
    weights[524:] = 1.0  # a chunk holds 524 rows: one is weighted, one is not
    design = Design(X)
    assert len(list(design.chunks())) == 2
    assert np.allclose(design.gram(weights), (X * weights[:, None] ** 2).T @ X)
