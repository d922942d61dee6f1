"""What is summed in one read of X is what plain formulas say: chunks, layouts, rows of length 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from estimators.core import design as design_module
from estimators.core.base import Array
from estimators.core.design import Design

pytestmark = pytest.mark.oldest

D = 6
CHUNK = 40
"""Rows of a chunk, here."""


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(design_module, "CACHED", CHUNK * 8 * D)


def mapped(X: Array, folder: Path) -> Array:
    held = np.memmap(folder / "rows", dtype=float, mode="w+", shape=X.shape)
    held[:] = X
    return held


LAYOUTS: dict[str, Any] = {
    "rows contiguous": lambda X, folder: X,
    "columns contiguous": lambda X, folder: np.asfortranarray(X),
    "strided": lambda X, folder: np.repeat(X, 2, axis=1)[:, ::2],
    "mapped file": mapped,
    "CSR": lambda X, folder: sparse.csr_array(X),
}


def table(n: int) -> tuple[Array, Array, Array]:
    """Rows, some of length 0 and some huge; responses, some huge; weights, in one chunk all 1."""
    rng = np.random.default_rng(n)
    X, y, weights = rng.standard_normal((n, D)), rng.standard_normal(n), rng.uniform(0.2, 1, n)
    X[::7], X[3::50] = 0.0, 30 * X[3::50]
    y[::11] *= 1e3
    weights[:CHUNK] = 1.0
    return X, y, weights


SIZES = [1, CHUNK - 1, CHUNK, CHUNK + 1, 4 * CHUNK, 5 * CHUNK - 2]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", SIZES)
def test_moments_are_those_of_weighted_rows(layout: str, n: int, tmp_path: Path) -> None:
    X, y, weights = table(n)
    kept, A = X.copy(), X * weights[:, None]
    design = Design(LAYOUTS[layout](X, tmp_path))
    gram, correlation = design.moments(weights, y)
    assert gram == pytest.approx(A.T @ A, rel=1e-12, abs=1e-9)
    assert correlation == pytest.approx(A.T @ y, rel=1e-12, abs=1e-9)
    assert design.gram(weights) == pytest.approx(gram, rel=1e-12)
    assert not design.moments(weights)[1].any()
    assert np.array_equal(X, kept)
    if n > CHUNK:  # the control: a row that is left out, or counts as another, is seen
        assert not np.allclose(gram, A[:-1].T @ A[:-1], rtol=1e-9)
        assert not np.allclose(correlation, X.T @ y, rtol=1e-9)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("coef", [np.zeros(D), np.linspace(-1, 1, D)])
def test_a_phase_is_the_plain_formula(layout: str, n: int, coef: Array, tmp_path: Path) -> None:
    X, y, weights = table(n)
    kept, design = y.copy(), Design(LAYOUTS[layout](X, tmp_path))
    shorten = design.shortening(2.0)
    found = design.clipped_correlation(y, coef, shorten, weights, 0.8)
    residuals = y - shorten * (X @ coef)
    expected = X.T @ (weights * np.clip(residuals, -0.8, 0.8))
    assert found == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert np.array_equal(y, kept)
    if n > CHUNK:  # the control
        assert not np.allclose(found, X.T @ (weights * residuals), rtol=1e-9)
