"""The Lasso without scikit-learn's checks, and on few columns: the same solution."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Lasso

from estimators.baselines.sparse_regression import TwoStageRegression, block_votes
from estimators.core import lasso as solvers
from estimators.core.design import Design, by_columns
from estimators.core.lasso import lasso, screened_lasso
from estimators.label_regression import LabelLasso
from minimax.core.privacy import Pure


def data(n: int = 400, d: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.3)
    return X, X[:, :5] @ np.array([2.0, -1.0, 0.5, 0.2, 0.1]) + rng.standard_normal(n)


def wide(X: Any) -> Any:
    """CSR with indices of 64 bits, as sums and products of large matrices have them."""
    held = sparse.csr_array(X)
    indices, indptr = held.indices.astype(np.int64), held.indptr.astype(np.int64)
    return sparse.csr_array((held.data, indices, indptr), shape=held.shape)


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "CSR": sparse.csr_array,
    "CSR matrix": sparse.csr_matrix,
    "CSR, 64 bits": wide,
}


@pytest.mark.parametrize("penalty", [1e-3, 0.05, 0.3, 10.0])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_solution_is_the_lasso(layout: str, penalty: float) -> None:
    X, y = data()
    exact = Lasso(alpha=penalty, fit_intercept=False, tol=1e-12, max_iter=10**5).fit(X, y).coef_
    held = LAYOUTS[layout](X)
    for solve in (lasso, screened_lasso):
        found = solve(held, y, penalty, most_sweeps=10**5, tol=1e-12)
        np.testing.assert_allclose(found, exact, atol=1e-6)
    gradient = X.T @ (y - X @ found) / len(y)
    assert np.abs(gradient).max() <= penalty * (1 + 1e-6)
    np.testing.assert_allclose(gradient[found != 0], penalty * np.sign(found[found != 0]), 1e-4)


def test_columns_that_first_seem_useless_are_taken_in() -> None:
    """x_1 is uncorrelated with y but, once x_0 is in, not with the residual."""
    x0, noise = np.array([1.0, 1.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0])
    X, y = np.column_stack([x0, x0 + 3 * noise]), 3 * x0 - noise
    assert abs(X[:, 1] @ y) < 1e-12 < 4 * 0.1 < X[:, 0] @ y
    found = screened_lasso(X, y, 0.1, most_sweeps=10**5, tol=1e-12)
    assert found[1] != 0
    exact = Lasso(alpha=0.1, fit_intercept=False, tol=1e-12).fit(X, y).coef_
    np.testing.assert_allclose(found, exact, atol=1e-6)


def test_only_columns_that_matter_are_solved_for(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = data()
    widths: list[int] = []
    plain = solvers.lasso

    def recording(X: Any, *args: Any, **named: Any) -> Any:
        widths.append(X.shape[1])
        return plain(X, *args, **named)

    monkeypatch.setattr(solvers, "lasso", recording)
    screened_lasso(sparse.csr_array(X), y, 0.2, most_sweeps=1000, tol=1e-6)
    assert 0 < max(widths) < 15
    widths.clear()
    screened_lasso(X, y, 10.0, most_sweeps=1000, tol=1e-6)
    assert widths == []
    monkeypatch.setattr(solvers, "MOST_ROUNDS", 1)
    screened_lasso(X, y, 1e-3, most_sweeps=1000, tol=1e-6)
    assert widths[-1] == X.shape[1]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_column_sizes_are_those_of_the_dense_matrix(layout: str) -> None:
    X, _ = data()
    X[:, 7] = 0.0
    design = Design(LAYOUTS[layout](X))
    lengths, largest = design.column_sizes()
    np.testing.assert_allclose(lengths, np.linalg.norm(X, axis=0))
    np.testing.assert_allclose(largest, np.abs(X).max(axis=0))
    np.testing.assert_allclose(design.norms, np.linalg.norm(X, axis=1))


def test_indices_of_64_bits_are_narrowed_where_they_fit() -> None:
    X, y = data()
    assert by_columns(wide(X)).indices.dtype == np.int32
    with pytest.raises(ValueError, match="32-bit"):
        Lasso().fit(wide(X), y)
    label = LabelLasso(Pure(5.0, "label"), penalty=0.1, random_state=0)
    two = TwoStageRegression(Pure(50.0), s=2, row_bound=3.0, random_state=0)
    for model in (label, two):
        plain = model.fit(X, y).coef_
        np.testing.assert_allclose(model.fit(wide(X), y).coef_, plain, atol=1e-9)


def test_blocks_vote_on_clipped_copies_and_say_nothing() -> None:
    X, y = data()
    X[3, 4] = 1e6
    before = X.copy()
    blocks = np.array_split(np.arange(len(y)), 4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        votes = block_votes(X, y, 3, blocks, 2.0, 0.05)
        same = block_votes(sparse.csr_array(X), y, 3, blocks, 2.0, 0.05)
    np.testing.assert_array_equal(X, before)
    np.testing.assert_array_equal(votes, same)
    np.testing.assert_array_equal(votes, block_votes(np.clip(X, -2, 2), y, 3, blocks, 2.0, 0.05))
    assert votes.max() <= 4
    assert not np.array_equal(votes, block_votes(X, y, 3, blocks, 1e6, 0.05))
