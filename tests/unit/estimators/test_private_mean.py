"""The private mean of a table: what it costs, what its intervals hold, what it says."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from estimators import PrivateMean
from estimators.core.intervals import noise_law
from estimators.core.purse import Purse
from estimators.tables.mean import (
    FOLDED,
    SQUARE_WEIGHT,
    column_sums,
    largest_move,
    moment_sums,
    released_moments,
    spendable,
)
from estimators.tables.records import Records, source_of
from estimators.tables.schema import schema_of
from minimax.core.calibration import budget_of
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

pytestmark = pytest.mark.oldest
BUDGET = Approximate(1.0, 1e-6)
GOLDEN = (1 + math.sqrt(5)) / 2
BUDGETS = [BUDGET, Pure(1.0), ZeroConcentrated(0.1), Gaussian(1.0)]


# --- What it costs --------------------------------------------------------------------------------


def largest_square(weight, grid):
    """Brute force: the most that a column adds to the squared move."""
    z, other = np.meshgrid(grid, grid)
    return float(np.max((z - other) ** 2 + weight**2 * (z**2 - other**2) ** 2))


def test_the_spread_is_free_and_a_larger_weight_is_not():
    grid = np.append(np.linspace(-1, 1, 1201), [1 - 2 / GOLDEN, 2 / GOLDEN - 1])
    assert largest_square(SQUARE_WEIGHT, grid) == 4
    assert SQUARE_WEIGHT < GOLDEN**2.5 / 2 < SQUARE_WEIGHT + 1e-4
    assert largest_square(GOLDEN**2.5 / 2 * (1 + 1e-6), grid) > 4
    assert largest_square(1.8, grid) > 4.1


def all_moves(schema, weight):
    """Over all pairs of records of a grid, with values that are not allowed among them."""
    numbers = [-1e9, *np.linspace(-1, 1, 5), 1 - 2 / GOLDEN, 2 / GOLDEN - 1, 1e9]
    levels = [["a", "b", "c", "odd"], ["no", "yes", "odd"]]
    records = [
        pd.DataFrame([row], columns=["x", "three", "two"])
        for row in itertools.product(numbers, *levels)
    ]
    found = [moment_sums(schema.encode(row), None, schema.binary) for row in records]
    points = np.array([np.concatenate([sums, weight * squares]) for sums, squares in found])
    return np.linalg.norm(points[:, None] - points, axis=2)


def test_no_pair_of_records_moves_the_sums_further_than_is_said():
    frame = pd.DataFrame({"x": [0.0], "three": ["a"], "two": ["no"]})
    categories = {"three": ["a", "b", "c"], "two": ["no", "yes"]}
    schema = schema_of(frame, {"x": (-1, 1)}, categories)
    said = largest_move(schema)
    assert said == pytest.approx(2 * math.sqrt(1 + 2 + 1))
    assert all_moves(schema, SQUARE_WEIGHT).max() == pytest.approx(said)
    assert all_moves(schema, 1.8).max() > said * (1 + 1e-3)  # heavier squares are not free
    assert all_moves(schema, 0.0).max() > 0.99 * said  # nor is a smaller number true


def test_sums_of_columns_of_any_number():
    rng = np.random.default_rng(0)
    for n, d in ((0, 3), (1, 3), (FOLDED, 1), (FOLDED - 1, 4), (1000, 7)):
        Z = rng.uniform(-1, 1, (n, d))
        assert column_sums(Z) == pytest.approx(Z.sum(axis=0), abs=1e-12)
        assert column_sums(Z, squared=True) == pytest.approx((Z**2).sum(axis=0), abs=1e-12)


def schema_with(d):
    return schema_of(np.zeros((1, d)), (-1, 1))


def deviation(privacy, d):
    """Of the noise on a sum, from the ledger of a release."""
    source, _ = source_of(np.zeros((5, d)), None)
    purse = Purse(privacy, np.random.default_rng(0), 1)
    released_moments(Records(source, schema_with(d), None), purse, 1.0)
    entry = purse.ledger[0]
    return noise_law(entry, d).deviation if purse.pure else entry.scale


@pytest.mark.parametrize("privacy", [BUDGET, Approximate(0.3, 1e-6), Approximate(1.0, 1e-12)])
def test_the_kind_of_noise_is_that_of_the_smaller_variance(privacy):
    kinds = set()
    for d in (1, 2, 5, 20, 50, 100, 400):
        chosen = spendable(privacy, schema_with(d))
        kinds.add(type(chosen))
        pure, gaussian = deviation(Pure(privacy.epsilon), d), deviation(privacy, d)
        assert deviation(chosen, d) == min(pure, gaussian)
    assert kinds == {Pure, Approximate}


@pytest.mark.parametrize("d", range(1, 61))
def test_noise_is_at_most_that_of_the_plain_gaussian_mechanism(d):
    n, low, high = 50, -2.0, 4.0
    found = PrivateMean(BUDGET, (low, high), random_state=0).fit(np.zeros((n, d)))
    sensitivity = (high - low) * math.sqrt(d) / n
    plain = sensitivity / float(budget_of(BUDGET).mu())
    assert (found.noise_scale_ <= plain * (1 + 1e-12)).all()
    assert found.privacy_.epsilon <= BUDGET.epsilon * (1 + 1e-9)
    assert found.privacy_.delta == BUDGET.delta


@pytest.mark.parametrize("privacy", BUDGETS)
@pytest.mark.parametrize("report_clipped", [False, True])
def test_the_budget_is_spent_and_not_more(privacy, report_clipped):
    rows = np.random.default_rng(0).normal(size=(100, 20))
    model = PrivateMean(privacy, (-1, 1), report_clipped=report_clipped, random_state=0).fit(rows)
    for name, asked in privacy.parameters.items():
        assert getattr(model.privacy_, name) == pytest.approx(asked, rel=1e-5)
        assert getattr(model.privacy_, name) <= asked * (1 + 1e-9)
    assert hasattr(model, "clipped_share_") == report_clipped


def test_noise_has_the_deviation_that_is_told():
    rows = np.zeros((100, 2))
    for privacy in (Pure(1.0), Gaussian(1.0)):
        found = [PrivateMean(privacy, (-1e3, 1e3), random_state=i).fit(rows) for i in range(400)]
        spread = np.std([model.mean_[0] for model in found])
        assert spread == pytest.approx(found[0].noise_scale_[0], rel=0.15)


# --- What intervals hold --------------------------------------------------------------------------


def held(privacy, fits, n, d):
    """How many 90 % intervals hold the mean: as they are, and with the noise left out."""
    rng = np.random.default_rng(1)
    with_noise = without = 0
    for seed in range(fits):
        rows = rng.beta(0.5, 1.5, (n, d))  # skew, in [0, 1]
        model = PrivateMean(privacy, (0, 1), random_state=seed).fit(rows)
        low, high = model.confidence_interval(0.9)
        with_noise += bool(low[0] <= 0.25 <= high[0])
        sampling = 1.645 * rows[:, 0].std() / math.sqrt(n)
        without += bool(abs(model.mean_[0] - 0.25) <= sampling)
    return with_noise, without


@pytest.mark.parametrize(("privacy", "d"), [(BUDGET, 3), (Gaussian(0.5), 2), (Gaussian(1.0), 30)])
def test_intervals_hold_the_mean_and_need_the_noise_for_that(privacy, d):
    fits, n = 500, 150
    with_noise, without = held(privacy, fits, n, d)
    assert stats.binomtest(with_noise, fits).proportion_ci(0.999).high >= 0.9
    assert stats.binomtest(with_noise, fits).proportion_ci(0.999).low < 0.98
    assert stats.binomtest(without, fits).proportion_ci(0.999).high < 0.9


# --- What it says ---------------------------------------------------------------------------------


def adults(n=20_000):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "age": rng.integers(10, 110, n),
            "a <b>long</b> name of a column, much longer than is sensible, " * 2: rng.random(n),
            "sex": rng.choice(["F", "M", "?"], n, p=[0.5, 0.4, 0.1]),
        }
    )


def fitted(**options):
    frame = adults()
    bounds = {"age": (20, 90), frame.columns[1]: (0, 1)}
    return PrivateMean(BUDGET, bounds, categories={"sex": ["F", "M"]}, **options).fit(frame)


def test_names_and_means_of_a_frame():
    model, frame = fitted(random_state=0), adults()
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.feature_names_out_.tolist() == [*frame.columns[:2], "sex=M"]
    truth = [
        frame["age"].clip(20, 90).mean(),
        frame.iloc[:, 1].mean(),
        (frame["sex"] == "M").mean(),
    ]
    assert (np.abs(model.mean_ - truth) < 5 * model.noise_scale_).all()
    assert not hasattr(model, "clipped_share_")


def test_a_wrong_bound_is_noticed():
    frame, model = adults(), fitted(report_clipped=True, random_state=0)
    outside = (frame["age"] < 20) | (frame["age"] > 90)
    truth = [outside.mean(), 0.0, (frame["sex"] == "?").mean()]
    assert list(model.clipped_share_) == list(frame.columns)
    assert list(model.clipped_share_.values()) == pytest.approx(truth, abs=0.02)
    assert "clipped shares" in {entry.about for entry in model.ledger_}


@pytest.mark.parametrize("columns", [3, 60])
def test_what_is_printed_fits_into_80_columns(columns):
    if columns == 3:
        model = fitted(report_clipped=True, random_state=0)
    else:
        model = PrivateMean(BUDGET, (-1e6, 1e6)).fit(np.zeros((20, columns)))
    printed = str(model)
    assert max(map(len, printed.splitlines())) <= 80
    assert "95% interval" in printed
    assert "Guarantee: approximate(epsilon=1, delta=1e-06)" in printed
    assert ("random_state was given" in printed) == (columns == 3)
    assert ("Clipped to the bounds" in printed) == (columns == 3)
    assert ("and 20 more" in printed) == (columns == 60)


def test_a_notebook_shows_the_same():
    bundle = fitted(report_clipped=True, random_state=0)._repr_mimebundle_()
    assert bundle["text/plain"] == str(fitted(report_clipped=True, random_state=0))
    page = bundle["text/html"]
    assert "<table>" in page
    assert "Guarantee" in page
    assert "&lt;b&gt;long" in page
    assert "<b>long" not in page


def test_before_the_fit_it_is_shown_as_any_estimator():
    assert "PrivateMean(" in str(PrivateMean(bounds=(0, 1)))
    assert "text/html" in PrivateMean(bounds=(0, 1))._repr_mimebundle_()


def test_an_iterator_is_enough_for_one_pass_only():
    rows = np.random.default_rng(0).normal(size=(100, 3))
    model = PrivateMean(BUDGET, (-1, 1), random_state=0)
    whole = model.fit(rows).mean_
    assert model.fit(iter([rows[:30], rows[30:]])).mean_ == pytest.approx(whole, rel=1e-12)
    both = PrivateMean(BUDGET, (-1, 1), report_clipped=True, random_state=0)
    with pytest.raises(ValueError, match="X can be read only once"):
        both.fit(iter([rows]))
    assert not hasattr(both, "ledger_")
    assert both.fit(lambda: iter([rows])).n_features_in_ == 3


@pytest.mark.parametrize("wrong", [0, "yes", None])
def test_whether_to_report_is_a_truth_value(wrong):
    with pytest.raises(TypeError, match="report_clipped"):
        PrivateMean(BUDGET, (0, 1), report_clipped=wrong).fit(np.zeros((5, 1)))
