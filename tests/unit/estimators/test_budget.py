"""A budget that several fits draw from: what they get, what is counted, what is refused."""

from __future__ import annotations

import copy
import math
import pickle
import threading
from typing import Any

import numpy as np
import pytest
from joblib import parallel_backend
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from estimators import (
    Budget,
    JohnsonLindenstraussRegression,
    KarwaVadhanMean,
    LabelLasso,
    LeastSquares,
    LedgerEntry,
    LocalHardThresholding,
    NoisyGradientRegression,
    NoisyMean,
    SampleMean,
    SequentialHalving,
    SparseMean,
    compose,
)
from estimators.core.budget import Overdrawn, Share
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.problems.mean import MeanProblem

pytestmark = pytest.mark.oldest

X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
Y = X @ [0.5, 0.0, -0.5]
WHOLE = Approximate(1.0, 1e-6)
MU = WHOLE.to_gaussian().mu
EVERY_KIND = (Pure, Approximate, ZeroConcentrated, Gaussian)
EVERY = [Pure(1.0), WHOLE, ZeroConcentrated(0.1), Gaussian(0.5)]


def mean(share: Any) -> NoisyMean:
    return NoisyMean(share, R=1.0)


def regression(share: Any) -> NoisyGradientRegression:
    return NoisyGradientRegression(share, sigma=0.1)


def numbers(privacy: SpendablePrivacy | None) -> dict[str, float]:
    assert privacy is not None
    return privacy.parameters


# What a share is worth


def test_tenths_of_an_approximate_budget_compose_to_it() -> None:
    assert pytest.approx(0.2367, abs=1e-4) == MU
    budget = Budget(WHOLE)
    for done in range(10):
        assert budget.left is not None
        fit = mean(budget.share(0.1)).fit(X)
        assert numbers(fit.privacy_) == pytest.approx({"mu": MU / math.sqrt(10)}, rel=1e-12)
        assert len(budget.history) == done + 1
    assert budget.left is None
    assert budget.kept_as == Gaussian(MU)
    together = compose(budget.ledger, Approximate, WHOLE.delta)
    assert numbers(together) == pytest.approx(numbers(WHOLE), rel=1e-9)
    assert numbers(budget.spent) == pytest.approx(numbers(WHOLE), rel=1e-9)


@pytest.mark.parametrize("whole", EVERY)
def test_shares_of_every_definition_add_up(whole: SpendablePrivacy) -> None:
    budget = Budget(whole)
    if isinstance(whole, Pure):
        worth = {"epsilon": 0.25}
    elif isinstance(whole, ZeroConcentrated):
        worth = {"rho": 0.025}
    else:
        worth = {"mu": math.sqrt(whole.to_gaussian().mu ** 2 / 4)}
    for _ in range(4):
        assert numbers(mean(budget.share(0.25)).fit(X).privacy_) == pytest.approx(worth)
    delta = whole.delta if isinstance(whole, Approximate) else None
    together = numbers(compose(budget.ledger, type(whole), delta))
    assert together == pytest.approx(numbers(whole), rel=1e-9)
    with pytest.raises(Overdrawn, match="of which 0 % is left"):
        mean(budget.share(1e-6)).fit(X)


def test_an_amount_is_within_its_definition_and_costs_what_it_adds() -> None:
    budget = Budget(WHOLE)
    amount = Approximate(0.2, 1e-7)
    fit = mean(budget.amount(amount)).fit(X)
    assert fit.privacy_ == amount.to_gaussian()
    share = amount.to_gaussian().mu ** 2 / MU**2
    assert budget.history[0].share == pytest.approx(share, rel=1e-12)
    assert budget.left is not None
    mean(budget.amount(budget.left)).fit(X)  # type: ignore[arg-type]
    assert budget.left is None


@pytest.mark.parametrize(
    ("kept_in", "half"),
    [
        (Gaussian, Gaussian(MU / math.sqrt(2))),
        (ZeroConcentrated, ZeroConcentrated(WHOLE.to_zcdp().rho / 2)),
        (Approximate, Approximate(0.5, 5e-7)),
    ],
)
def test_an_approximate_budget_is_kept_as_one_says(kept_in: Any, half: Any) -> None:
    budget = Budget(WHOLE, kept_in=kept_in)
    fit = mean(budget.share(0.5)).fit(X)
    assert numbers(fit.privacy_) == pytest.approx(numbers(half), rel=1e-12)
    assert numbers(budget.history[0].granted) == pytest.approx(numbers(half), rel=1e-12)
    mean(budget.share(0.5)).fit(X)
    assert budget.left is None
    assert numbers(compose(budget.ledger, Approximate, 1e-6))["epsilon"] <= 1 + 1e-9


def test_the_first_draw_says_how_an_approximate_budget_is_kept() -> None:
    for first, kept in (
        (mean, Gaussian),
        (lambda share: SparseMean(share, R=1.0), ZeroConcentrated),
        (lambda share: NoisyMean(share, R="quantile"), ZeroConcentrated),
        (lambda share: NoisyMean(share, R=1.0, calibration="classical"), Approximate),
        (lambda share: KarwaVadhanMean(share, sigma=1.0), Approximate),
        (lambda share: KarwaVadhanMean(share, sigma=1.0, radius=1.0), ZeroConcentrated),
    ):
        budget = Budget(WHOLE)
        assert budget.kept_as is None
        first(budget.share(0.5)).fit(X)
        assert type(budget.kept_as) is kept
    printed = Budget(WHOLE)
    for options in ({"composition": "basic"}, {"schedule": "theorem"}):
        NoisyGradientRegression(printed.share(0.5), **options).fit(X, Y)
    assert type(printed.kept_as) is Approximate
    assert printed.left is None
    failed = Budget(WHOLE)
    with pytest.raises(ValueError, match="random_state"):
        SparseMean(failed.share(0.5), R=1.0, random_state=-1).fit(X)
    assert failed.kept_as is None
    mean(failed.share(0.5)).fit(X)


@pytest.mark.parametrize("parts", [1, 3, 7, 10, 11, 49])
def test_equal_parts_are_the_whole_whatever_the_rounding(parts: int) -> None:
    for whole, kept_in in ((WHOLE, Approximate), (WHOLE, Gaussian), (Pure(0.7), None)):
        budget = Budget(whole, kept_in)
        for _ in range(parts):
            with budget.share(1 / parts).drawing("any") as drawing:
                handed = drawing.hand(*EVERY_KIND)
                drawing.enter((LedgerEntry("any", 1.0, "l1", 1.0, (handed,)),))
        assert budget.left is None
        assert numbers(budget.spent)["epsilon"] <= numbers(whole)["epsilon"]
        assert str(budget).endswith("left    0 %: nothing")


def test_a_share_is_shown_to_a_bound_without_a_draw() -> None:
    budget = Budget(WHOLE)
    problem = MeanProblem(200, 3, sigma=1.0, radius=1.0)
    shared = NoisyMean(budget.share(0.25), sigma=1.0, radius=1.0).risk_bound(problem)
    alone = NoisyMean(Gaussian(MU / 2), sigma=1.0, radius=1.0).risk_bound(problem)
    assert shared.value() == alone.value()
    assert budget.history == ()
    assert budget.left == WHOLE


def test_controls_are_no_business_of_a_budget() -> None:
    budget = Budget(WHOLE)
    SampleMean().fit(X)
    LeastSquares().fit(X, Y)
    assert budget.history == ()


@pytest.mark.parametrize(
    ("whole", "model"),
    [
        (Pure(1.0, "local"), LocalHardThresholding),
        (ZeroConcentrated(1.0, "local"), SequentialHalving),
        (Approximate(1.0, 1e-6, "local"), LocalHardThresholding),
        (Approximate(1.0, 1e-6, "label"), LabelLasso),
    ],
)
def test_what_a_user_reports_adds_up_too(whole: SpendablePrivacy, model: Any) -> None:
    budget = Budget(whole)
    for _ in range(2):
        fit = model(budget.share(0.5)).fit(X, Y)
    assert fit.privacy_.scope == whole.scope
    assert budget.left is None
    assert budget.spent is not None
    assert budget.spent.scope == whole.scope
    first = next(iter(whole.parameters))
    assert 0 < numbers(budget.spent)[first] <= numbers(whole)[first]


def test_parts_of_two_draws_are_not_taken_to_be_disjoint() -> None:
    """A user who reports in group 2 of one fit may report in round 1 of another."""
    budget = Budget(Pure(2.0, "local"))
    LocalHardThresholding(budget.share(0.5)).fit(X, Y)
    SequentialHalving(budget.share(0.5)).fit(X, Y)
    assert budget.spent == Pure(2.0, "local")
    assert numbers(compose(budget.ledger, Pure)) == {"epsilon": 1.0}  # what names alone would give


# What is refused


def test_an_overdrawn_budget_releases_and_records_nothing() -> None:
    budget = Budget(WHOLE)
    mean(budget.share(0.75)).fit(X)
    before = budget.history
    late = mean(budget.share(0.5))
    with pytest.raises(Overdrawn, match=r"NoisyMean asks for 50 % of the budget .* 25 % is left"):
        late.fit(X)
    assert not any(name in vars(late) for name in ("mean_", "ledger_", "privacy_"))
    assert budget.history == before
    mean(budget.share(0.25)).fit(X)  # what is left is still there
    assert budget.left is None


def test_nothing_is_computed_for_a_refused_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(WHOLE)
    mean(budget.share(1.0)).fit(X)

    def computed(*_: Any) -> None:
        raise AssertionError("records were summed")

    monkeypatch.setattr("estimators.mean.clipped_sum", computed)
    with pytest.raises(Overdrawn):
        mean(budget.share(0.1)).fit(X)
    with pytest.raises(AssertionError, match="summed"):
        mean(Gaussian(1.0)).fit(X)


def test_two_definitions_of_privacy_do_not_share_a_budget() -> None:
    budget = Budget(WHOLE)
    mean(budget.share(0.5)).fit(X)
    other = SparseMean(budget.share(0.1), R=1.0)
    message = (
        "SparseMean .*can spend Pure, .*kept as GDP.*two definitions.*kept_in=ZeroConcentrated"
    )
    with pytest.raises(TypeError, match=message):
        other.fit(X)
    assert "mean_" not in vars(other)
    assert len(budget.history) == 1
    with pytest.raises(TypeError, match=r"two definitions.*budget of its own$"):
        KarwaVadhanMean(Budget(Gaussian(1.0)).share(0.5), sigma=1.0, radius=1.0).fit(X)
    with pytest.raises(TypeError, match="two definitions"):
        JohnsonLindenstraussRegression(budget.share(0.1)).fit(X, Y)
    for amount in (Pure(0.1), ZeroConcentrated(0.1), Gaussian(0.1)):
        with pytest.raises(TypeError, match=r"given as Approximate.*two definitions"):
            budget.amount(amount)
    with pytest.raises(ValueError, match="scope must be 'central'"):
        budget.amount(Approximate(0.1, 1e-7, "label"))


def test_bad_budgets_and_shares_are_refused_by_name() -> None:
    with pytest.raises(TypeError, match="total"):
        Budget(1.0)  # type: ignore[arg-type]
    for whole, kept in ((Pure(1.0), Gaussian), (WHOLE, Pure), (Gaussian(1.0), Approximate)):
        with pytest.raises(ValueError, match="kept_in must be None or one of"):
            Budget(whole, kept_in=kept)  # type: ignore[arg-type]
    budget = Budget(WHOLE)
    for bad in (0.0, -0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="share must lie in"):
            budget.share(bad)
    for odd in ("half", None, True, 1j):
        with pytest.raises(TypeError, match="share must be a number"):
            budget.share(odd)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"privacy is a Budget.*budget.share"):
        mean(budget).fit(X)
    with pytest.raises(RuntimeError, match="entered once"):
        Share(budget, 0.5).drawing("nobody").enter(())


# What counts


def test_a_second_fit_is_counted() -> None:
    budget = Budget(WHOLE)
    model = mean(budget.share(0.4)).fit(X)
    first = model.mean_
    model.fit(X)
    assert not np.array_equal(first, model.mean_)
    assert [draw.by for draw in budget.history] == ["NoisyMean"] * 2
    with pytest.raises(Overdrawn):
        model.fit(X)


def test_every_fold_is_counted() -> None:
    budget = Budget(WHOLE)
    scores = cross_val_score(regression(budget.share(0.05)), X, Y, cv=KFold(5))
    assert len(scores) == 5
    assert [draw.share for draw in budget.history] == [0.05] * 5
    assert numbers(budget.spent) == pytest.approx(
        numbers(Gaussian(MU / 2).to_approximate(1e-6)), rel=1e-9
    )


def test_every_candidate_is_counted() -> None:
    budget = Budget(WHOLE)
    search = GridSearchCV(
        regression(budget.share(0.1)), {"steps": [2, 3, 4]}, cv=KFold(3), error_score="raise"
    )
    search.fit(X, Y)
    assert len(budget.history) == 3 * 3 + 1  # and the last fit to all records
    assert search.best_estimator_.ledger_ == budget.history[-1].ledger
    assert budget.left is None
    with pytest.raises(Overdrawn):
        search.fit(X, Y)


def test_an_overdrawn_search_ends_in_the_budgets_words() -> None:
    budget = Budget(WHOLE)
    folds = {"cv": KFold(5), "error_score": "raise"}
    with pytest.raises(Overdrawn, match="NoisyGradientRegression asks for 30 %"):
        cross_val_score(regression(budget.share(0.3)), X, Y, **folds)
    assert len(budget.history) == 3


def test_clones_and_copies_draw_from_the_same_budget() -> None:
    budget = Budget(WHOLE)
    share = budget.share(0.2)
    assert copy.copy(budget) is copy.deepcopy(budget) is budget
    assert copy.copy(share) is copy.deepcopy(share) is share
    for model in (mean(share), clone(mean(share)), copy.deepcopy(mean(share))):
        assert model.privacy is share
        model.fit(X)
    assert len(budget.history) == 3


# Threads and processes


def test_threads_cannot_overdraw_together() -> None:
    budget, outcomes = Budget(WHOLE), []
    together = threading.Barrier(8)
    model = mean(budget.share(0.3))  # the same object: what is drawn is the fit's, not its own

    def fit() -> None:
        together.wait()
        try:
            model.fit(X)
            outcomes.append("well")
        except Overdrawn:
            outcomes.append("refused")

    threads = [threading.Thread(target=fit) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused"] * 5 + ["well"] * 3
    assert len(budget.history) == 3


def test_what_is_set_aside_cannot_be_drawn_by_others() -> None:
    budget = Budget(WHOLE)
    slow = budget.share(0.6).drawing("slow")
    slow.hand(Gaussian)
    with pytest.raises(Overdrawn):
        mean(budget.share(0.6)).fit(X)
    slow.__exit__(KeyboardInterrupt)
    assert budget.left == WHOLE
    mean(budget.share(0.6)).fit(X)


def test_an_unpickled_budget_shows_and_is_closed() -> None:
    budget = Budget(WHOLE)
    model = mean(budget.share(0.25)).fit(X)
    loaded = pickle.loads(pickle.dumps(model))
    other = loaded.privacy.budget
    assert str(other) == str(budget)
    assert other.history == budget.history
    with pytest.raises(RuntimeError, match=r"copy of a budget.*n_jobs=1"):
        loaded.fit(X)
    assert len(budget.history) == len(other.history) == 1
    np.testing.assert_array_equal(loaded.mean_, model.mean_)


def test_other_processes_cannot_draw_and_threads_can() -> None:
    budget = Budget(WHOLE)
    model, folds = regression(budget.share(0.1)), {"cv": KFold(3), "error_score": "raise"}
    with pytest.raises(RuntimeError, match=r"n_jobs=1"):
        cross_val_score(model, X, Y, n_jobs=2, **folds)
    assert budget.history == ()
    with parallel_backend("threading"):
        cross_val_score(model, X, Y, n_jobs=2, **folds)
    assert len(budget.history) == 3


def test_a_forked_budget_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    budget = Budget(WHOLE)
    monkeypatch.setattr("os.getpid", lambda: -1)
    with pytest.raises(RuntimeError, match="another process"):
        mean(budget.share(0.1)).fit(X)


# In words


def test_a_budget_prints_what_was_spent_on_what_and_what_is_left() -> None:
    budget = Budget(WHOLE)
    assert str(budget).splitlines()[1:] == [
        "spent   0 %: nothing",
        "left  100 %: in one draw approximate(epsilon=1, delta=1e-06)",
    ]
    for _ in range(3):
        mean(budget.share(0.1)).fit(X)
    regression(budget.share(0.45)).fit(X, Y)
    lines = str(budget).splitlines()
    assert lines[0] == "Budget of approximate(epsilon=1, delta=1e-06), kept as GDP(mu=0.2367)"
    assert lines[2].split() == ["3", "10", "%", "NoisyMean", "mean"]
    assert lines[3].split()[:4] == ["1", "45", "%", "NoisyGradientRegression"]
    assert lines[4].startswith("spent  75 %: together approximate(epsilon=0.8")
    assert lines[5].startswith("left   25 %: in one draw approximate(epsilon=0.4752")
    assert max(map(len, lines)) <= 80
    assert repr(budget) == (
        "<Budget of approximate(epsilon=1, delta=1e-06): 75 % spent in 4 draws>"
    )
    html = budget._repr_html_()
    assert html.count("<tr>") == 3
    assert "<td>NoisyMean</td><td>mean</td>" in html
    assert "0.1 of a budget" in repr(budget.share(0.1))
    assert "<td>" not in Budget(Pure(1.0))._repr_html_()


def test_long_words_are_cut_at_the_end_of_the_page() -> None:
    budget = Budget(WHOLE)
    with budget.share(0.5).drawing("<" * 90) as drawing:
        drawing.hand(Gaussian)
        drawing.enter(mean(budget.share(0.1)).fit(X).ledger_)
    assert max(map(len, str(budget).splitlines())) == 80
    assert "<<" not in budget._repr_html_()
