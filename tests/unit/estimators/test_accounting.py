"""Scopes and parts of a ledger: what is composed, and what is not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from estimators.core.accounting import LedgerEntry, NotAccountable, delta_at, total
from estimators.mean import NoisyMean
from estimators.randomisers.labels import GaussianLabels
from estimators.randomisers.vectors import SphereRandomiser
from minimax.core.privacy import Approximate, Gaussian, Pure, Scope, ZeroConcentrated

pytestmark = pytest.mark.oldest


def call(epsilon: float, part: str = "", scope: Scope = "central") -> LedgerEntry:
    return LedgerEntry("test", 1.0, "l1", 1.0, (Pure(epsilon, scope),), part=part)


def test_disjoint_records_compose_in_parallel_and_shared_ones_in_sequence() -> None:
    ledger = (
        call(0.25),
        call(0.5, "first half"),
        call(1.0, "second half"),
        call(0.5, "first half"),
    )
    assert total(ledger, Pure) == Pure(1.25)  # either half: .25 + 1
    assert total((*ledger, call(0.5, "first half")), Pure) == Pure(1.75)
    assert total(tuple(call(e.guarantees[0].epsilon) for e in ledger), Pure) == Pure(2.25)


def test_many_parts_cost_what_one_costs_in_every_definition() -> None:
    one = GaussianLabels.calibrated(1.0, Approximate(1.0, 1e-5, scope="label"))
    entry = one.randomise(np.zeros(3), np.random.default_rng(0)).entry
    assert isinstance(entry, LedgerEntry)
    groups = tuple(
        LedgerEntry(entry.mechanism, 1.0, "l2", 1.0, entry.guarantees, part=f"group {i}")
        for i in range(7)
    )
    together = tuple(LedgerEntry(entry.mechanism, 1.0, "l2", 1.0, entry.guarantees) for _ in groups)
    for kind, delta in ((Gaussian, None), (ZeroConcentrated, None), (Approximate, 1e-5)):
        assert total(groups, kind, delta) == total((entry,), kind, delta)
        larger = next(iter(total(together, kind, delta).parameters.values()))
        assert larger > 2 * next(iter(total(groups, kind, delta).parameters.values()))
    assert delta_at(groups, 1.0) == pytest.approx(1e-5, rel=1e-6)
    assert delta_at(together, 1.0) > 1e-2


def test_the_worst_of_the_parts_decides() -> None:
    """delta of epsilon-DP randomised response at a smaller e: (e^eps - e^e)/(1 + e^eps)."""
    ledger = (call(0.5, "first half"), call(1.0, "second half"))
    for parts in (ledger, ledger[::-1]):
        assert total(parts, Approximate, 1e-9).epsilon == pytest.approx(1.0, rel=1e-3)  # type: ignore[union-attr]
        for e in (0.2, 0.7):
            exact = (math.exp(1.0) - math.exp(e)) / (1 + math.exp(1.0))
            assert delta_at(parts, e) == pytest.approx(exact, rel=1e-3)
    assert delta_at(ledger[:1], 0.2) < 0.7 * delta_at(ledger, 0.2)  # the control


@pytest.mark.parametrize("scope", ["central", "local", "label"])
def test_the_whole_has_the_scope_of_its_calls(scope: Scope) -> None:
    assert total((call(0.5, scope=scope), call(0.5, scope=scope)), Pure) == Pure(1.0, scope)
    found = total((call(0.5, scope=scope),), Approximate, 1e-6)
    assert found.scope == scope


def test_scopes_do_not_mix() -> None:
    with pytest.raises(NotAccountable, match="central and label"):
        total((call(0.5), call(0.5, scope="label")), Pure)


def test_a_local_randomiser_reports_local_privacy() -> None:
    release = SphereRandomiser(3, 0.7).randomise(np.eye(3), np.random.default_rng(0))
    assert total((release.entry,), Pure) == Pure(0.7, scope="local")


def test_a_central_estimator_refuses_a_local_budget() -> None:
    with pytest.raises(ValueError, match=r"privacy\.scope must be 'central', got 'local'"):
        NoisyMean(privacy=Pure(1.0, scope="local"), R=1.0).fit(np.zeros((4, 2)))
