"""What is summed in one read of X is what plain formulas say: chunks, layouts, rows of length 0."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from estimators import ResidualClippedRegression, residual_phases
from estimators.core import design as design_module
from estimators.core.base import Array
from estimators.core.design import Design
from estimators.core.first_sum import DIGITS, FirstSum
from minimax.core.privacy import Gaussian, Pure, SpendablePrivacy, ZeroConcentrated

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


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("clip", [0.1, 0.8, 2.0])
def test_a_first_sum_serves_a_clip_that_is_told_later(
    layout: str, clip: float, tmp_path: Path
) -> None:
    X, y, weights = table(5 * CHUNK - 3)
    design, widest = Design(LAYOUTS[layout](X, tmp_path)), 3.0
    total = design.moments(weights, np.clip(y, -widest, widest))[1]
    expected = design.clipped_correlation(y, np.zeros(D), weights, weights, clip)
    first = FirstSum(widest, total)
    assert first.at(clip, y, weights, design) == pytest.approx(expected, rel=1e-11, abs=1e-9)
    assert not np.allclose(total, expected, rtol=1e-6)  # the control: nothing taken off


@pytest.mark.parametrize("clip", [3.1, 3.0 / DIGITS / 1.01])
def test_it_is_formed_anew_where_it_would_be_wrong_or_lose_digits(clip: float) -> None:
    X, y, weights = table(CHUNK)
    assert FirstSum(3.0, np.zeros(D)).at(clip, y, weights, Design(X)) is None


@pytest.mark.filterwarnings(
    "ignore::estimators.core.base.PlanWarning", "ignore::estimators.core.base.ReleasedWarning"
)
@pytest.mark.parametrize("privacy", [ZeroConcentrated(0.5), Gaussian(0.1), Pure(1.0)], ids=str)
@pytest.mark.parametrize("options", [{"sigma": 0.4}, {}, {"sigma": 0.4, "start": np.eye(D)[0]}])
@pytest.mark.parametrize("size", [1.0, 1e90])
def test_a_fit_is_the_same_with_and_without_it(
    privacy: SpendablePrivacy,
    options: dict[str, Any],
    size: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y, _ = table(3_000)
    y[::11] *= size

    def fitted(few: float) -> Array:
        monkeypatch.setattr(residual_phases, "FEW", few)
        model = ResidualClippedRegression(privacy, 3.0, 1.0, random_state=1, **options)
        return model.fit(X, y).unprojected_coef_

    with_it, without = fitted(1.0), fitted(-1.0)
    assert with_it == pytest.approx(without, rel=1e-9, abs=1e-12)


def test_a_first_sum_spares_a_read(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y, _ = table(3_000)
    reads: list[float] = []
    whole = Design.clipped_correlation

    def counted(self: Design, *given: Any) -> Array:
        reads.append(given[-1])
        return whole(self, *given)

    monkeypatch.setattr(Design, "clipped_correlation", counted)
    for few, spared in ((-1.0, 0), (1.0, 1)):
        monkeypatch.setattr(residual_phases, "FEW", few)
        reads.clear()
        model = ResidualClippedRegression(ZeroConcentrated(5.0), 3.0, 1.0, 0.4, random_state=1)
        clips = [phase.clip for phase in model.fit(X, y).plan_.phases]
        assert reads == clips[spared:]
