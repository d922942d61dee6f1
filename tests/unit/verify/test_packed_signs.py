"""Signs that are kept packed: the products, the labels and the law of rows of signs."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from estimators.core.columns import Columns
from estimators.core.design import Design
from estimators.core.summaries import Signs
from estimators.label_regression import LabelHardThresholding
from minimax.core.privacy import Pure
from minimax.methods.priors import LinearInstance, TwoLabelInstance
from minimax.methods.summaries import sign_bytes
from tests.signs import packed
from verify.rates.draws import given

DRAWS = 3000
SURE = 1e-6


@pytest.mark.parametrize("d", [1, 8, 11])
def test_products_of_packed_signs_are_those_of_their_rows(d: int) -> None:
    """Some coefficients in no block, in one, and in all; entries clipped and rows shortened."""
    rng, n = np.random.default_rng(12), 30
    signs = Signs(sign_bytes(n, d, rng), d, 0.7)
    X = np.array(signs.X)
    assert X.shape == signs.shape == (n, d)
    assert set(np.abs(X).ravel()) == {0.7}
    assert np.array_equal(packed(X).X, X)
    whole = Design(X)
    y, weights = rng.standard_normal(n), rng.uniform(0.1, 1, n)
    assert signs.norms == pytest.approx(whole.norms)
    assert signs.largest == whole.largest == 0.7
    assert signs.clipped(0.8) is signs
    assert signs.clipped(0.4).columns(np.arange(d)) == pytest.approx(np.clip(X, -0.4, 0.4))
    places = np.array([d - 1, 0])
    assert np.array_equal(signs.columns(places), X[:, places])
    for length in (0.3, 2.0):
        ours, theirs = (Columns(design, places, length) for design in (signs, whole))
        assert signs.norms_of(ours) == pytest.approx(whole.norms_of(theirs))
        assert (ours.shorten is None) == (theirs.shorten is None) == (length > 1)
        assert ours.correlate(y) == pytest.approx(theirs.correlate(y), rel=1e-12)
        assert ours.gram() == pytest.approx(theirs.gram(), rel=1e-12)
    coef, last = rng.standard_normal(d), np.eye(d)[d - 1]
    for one, other in (
        *((signs.predict(theta), X @ theta) for theta in (coef, last, np.zeros(d))),
        (signs @ coef, X @ coef),
        (signs.correlate(weights), X.T @ weights),
        (signs.gram(weights), whole.gram(weights)),
    ):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-14)
    found, clipped = (
        design.clipped_correlation(y, coef, whole.shortening(0.5), weights, 0.4)
        for design in (signs, whole)
    )
    assert found == pytest.approx(clipped, rel=1e-12)
    assert signs.correlate(weights[::-1]) != pytest.approx(X.T @ weights, rel=1e-3)
    assert signs.predict(-coef) != pytest.approx(X @ coef, rel=1e-3)


def test_packed_signs_have_the_law_of_signs() -> None:
    """Two rows of two columns, in blocks of their own: all sixteen outcomes are as likely."""
    rng = np.random.default_rng(13)
    outcomes = list(np.ndindex(2, 2, 2, 2))

    def fits(found: Counter[Any]) -> bool:
        return bool(stats.chisquare([found[each] for each in outcomes]).pvalue > SURE)

    def drawn(scale: float) -> tuple[int, ...]:
        X = scale * Signs(sign_bytes(2, 9, rng), 9, 1.0).columns(np.array([0, 8]))
        return tuple((X.ravel() > 0).astype(int).tolist())

    assert fits(Counter(drawn(1.0) for _ in range(DRAWS)))
    one_sided = Counter(drawn(0.0 if k % 9 == 0 else 1.0) for k in range(DRAWS))
    assert not fits(one_sided)


@pytest.mark.parametrize(
    "law",
    [
        LinearInstance(np.array([0.5, -0.4, 0.2]), sigma=0.3, scale=0.8),
        TwoLabelInstance(np.array([0.5, -0.2, 0.1]), height=2.0),
    ],
)
def test_labels_of_packed_signs_are_those_of_their_rows(law: Any) -> None:
    packed = sign_bytes(50, 3, np.random.default_rng(14))
    signs = Signs(packed, 3, law.scale)
    found, same, other = (
        law.answers(rows, np.random.default_rng(15)) for rows in (signs, signs.X, -signs.X)
    )
    assert found == pytest.approx(same, rel=1e-12)
    assert found != pytest.approx(other, rel=1e-3)


def test_labels_fitted_to_packed_signs() -> None:
    law = TwoLabelInstance(0.3 * np.eye(12)[9], height=1.0)
    model = LabelHardThresholding(Pure(20.0, scope="label"), s=1, C=1.3, random_state=5)
    X, y = given(model, law, 4000, np.random.default_rng(16))
    assert isinstance(X, Signs)
    whole = model.fit(X.X, y).coef_.copy()
    assert np.flatnonzero(whole).tolist() == [9]
    assert model.fit(X, y).coef_ == pytest.approx(whole, rel=1e-9)
    assert model.n_features_in_ == 12
    assert model.fit(packed(X.X[:, ::-1]), y).coef_ != pytest.approx(whole, rel=1e-3)


def test_labels_of_two_kinds_have_the_mean_that_the_link_says() -> None:
    def link(t: Any) -> Any:
        return 8 * t + np.cos(t)

    law = TwoLabelInstance(np.array([0.3]), height=9.0, link=link)
    X, y = law.sample(40_000, np.random.default_rng(0))
    for sign in (-1.0, 1.0):
        seen = y[X[:, 0] == sign]
        error = seen.std() / np.sqrt(len(seen))
        assert abs(seen.mean() - link(0.3 * sign)) < 6 * error
        assert abs(seen.mean() - 0.3 * sign) > 6 * error
