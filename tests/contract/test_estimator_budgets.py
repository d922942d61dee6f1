"""Every exported private estimator draws from a budget that others share, and is counted there."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from estimators import Budget, NoisyMean, compose
from estimators.core.accounting import LedgerEntry
from estimators.core.base import DEFAULT_PRIVACY, PrivateEstimator
from estimators.core.budget import Overdrawn
from minimax.core.privacy import Approximate, Gaussian
from tests.contract.estimator_examples import examples, exported, made, sample
from tests.contract.test_estimator_conventions import released

pytestmark = [
    pytest.mark.oldest,
    pytest.mark.filterwarnings("ignore::estimators.core.base.PlanWarning"),
]

PRIVATE = [name for name, kind in exported().items() if issubclass(kind, PrivateEstimator)]
EXAMPLES = {n: one for n, one in examples().items() if isinstance(one, PrivateEstimator)}


def unaccounted(model: Any, budget: Budget, *data: np.ndarray) -> list[str]:
    """What is wrong with how a fit to the data is counted."""
    before = len(budget.history)
    fit = model.fit(*data)
    if len(budget.history) != before + 1:
        return [f"{len(budget.history) - before} draws for one fit"]
    draw, wrong = budget.history[-1], []
    if draw.by != type(model).__name__ or draw.ledger != fit.ledger_:
        wrong.append("another draw than this fit")
    delta = draw.granted.delta if isinstance(draw.granted, Approximate) else None
    spent = compose(fit.ledger_, type(draw.granted), delta).parameters
    if any(number > draw.granted.parameters[k] * (1 + 1e-9) for k, number in spent.items()):
        wrong.append("more than was drawn")
    return wrong


@pytest.mark.parametrize("name", PRIVATE)
def test_a_fit_with_a_share_is_counted(name: str) -> None:
    budget = Budget(DEFAULT_PRIVACY[exported()[name].scope])
    model = made(name, privacy=budget.share(0.5))
    data = sample(model)
    assert unaccounted(model, budget, *data) == []
    assert unaccounted(clone(model), budget, *data) == []
    assert budget.left is None
    again = clone(model)
    with pytest.raises(Overdrawn, match="Nothing was released"):
        again.fit(*data)
    assert released(again) == set()
    assert len(budget.history) == 2


class Uncounted(NoisyMean):
    """Enters its ledger nowhere."""

    def _enter(self, ledger: Any) -> None:
        pass


class TooQuiet(NoisyMean):
    """Has less noise than what it was handed asks for."""

    def _enter(self, ledger: Any) -> None:
        super()._enter((LedgerEntry("gaussian", 1.0, "l2", 0.1, (Gaussian(10.0),)),))


def test_a_fit_that_is_not_counted_is_noticed() -> None:
    budget, X = Budget(Approximate(1.0, 1e-6)), sample(made("NoisyMean"))[0]
    spoilt = Budget(Approximate(1.0, 1e-6))
    with pytest.raises(RuntimeError, match="entered no ledger"):
        Uncounted(spoilt.share(1.0), R=1.0).fit(X)
    assert spoilt.left is None  # as it may have released anything
    with pytest.raises(Overdrawn, match="does not keep to its budget"):
        TooQuiet(budget.share(0.25), R=1.0).fit(X)
    assert budget.history == ()
    assert budget.left == budget.total
    plain = NoisyMean(Gaussian(0.1), R=1.0)
    assert unaccounted(plain, budget, X) == ["0 draws for one fit"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_whole_budget_is_worth_what_it_is_worth_alone(name: str) -> None:
    """With all options: the same guarantee, or a refusal where a paper's noise is too small."""
    example = EXAMPLES[name]
    privacy = example._asked
    data = sample(example)
    alone = clone(example).set_params(random_state=0).fit(*data)
    budget = Budget(privacy, kept_in=type(privacy))
    shared = clone(example).set_params(random_state=0, privacy=budget.share(1.0))
    spent = alone.privacy_.parameters
    if any(spent[k] > number * (1 + 1e-9) for k, number in privacy.parameters.items()):
        with pytest.raises(Overdrawn, match="does not keep to its budget"):
            shared.fit(*data)
        assert released(shared) == set()
        assert budget.history == ()
        assert budget.left == privacy
    else:
        assert unaccounted(shared, budget, *data) == []
        assert shared.privacy_.parameters == pytest.approx(spent, rel=1e-9)
        assert shared.privacy_.assumes == alone.privacy_.assumes
        assert budget.left is None


@pytest.fixture
def streams(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number from each generator that a fit takes its noise from."""
    seen: list[int] = []
    original = PrivateEstimator._rng

    def watched(self: PrivateEstimator) -> np.random.Generator:
        generator = original(self)
        seen.append(int(deepcopy(generator).integers(2**62)))
        return generator

    monkeypatch.setattr(PrivateEstimator, "_rng", watched)
    return seen


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("seed", [int, np.random.default_rng, np.random.RandomState])
def test_two_draws_of_one_seed_have_other_noise(name: str, seed: Any, streams: list[int]) -> None:
    """Equal noise in two releases would cancel: composition needs it to be independent."""
    default = DEFAULT_PRIVACY[exported()[name].scope]
    for _ in range(2):
        budget = Budget(default)
        model = made(name, privacy=budget.share(0.5), random_state=seed(5))
        for _ in range(2):
            clone(model).fit(*sample(model))
    first, second, *again = streams
    assert first != second
    assert again == [first, second]  # and a study can be repeated
    streams.clear()
    for _ in range(2):  # without a budget, clones of one seed have the same noise
        clone(model).set_params(privacy=default).fit(*sample(model))
    assert streams[0] == streams[1]


@pytest.mark.parametrize("name", PRIVATE)
def test_a_bad_fit_gives_back_what_it_was_to_draw(name: str) -> None:
    budget = Budget(DEFAULT_PRIVACY[exported()[name].scope])
    model = made(name, privacy=budget.share(1.0))
    X, *y = sample(model)
    with pytest.raises((TypeError, ValueError)):
        model.fit(np.full_like(X, np.nan), *y)
    with pytest.raises((TypeError, ValueError)):
        model.set_params(random_state="none").fit(X, *y)
    assert budget.history == ()
    assert budget.left == budget.total
    assert unaccounted(model.set_params(random_state=None), budget, X, *y) == []


@pytest.mark.parametrize("name", PRIVATE)
def test_another_scope_is_refused_and_nothing_is_drawn(name: str) -> None:
    other = "central" if exported()[name].scope != "central" else "label"
    budget = Budget(Approximate(1.0, 1e-6, other))
    model = made(name, privacy=budget.share(0.5))
    with pytest.raises((TypeError, ValueError), match="scope"):
        model.fit(*sample(model))
    assert budget.history == ()
    assert budget.left == budget.total
    assert released(model) == set()
