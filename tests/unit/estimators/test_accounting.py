"""Scopes, parts and laws of a ledger: what is composed, what is not; no sum is too small."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from estimators.core.accounting import LedgerEntry, LossLaw, NotAccountable, compose, delta_at
from estimators.core.mechanisms import exponential_mechanism, laplace, peeling
from estimators.mean import NoisyMean
from estimators.randomisers.labels import GaussianLabels, LaplaceLabels
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
    assert compose(ledger, Pure) == Pure(1.25)  # either half: .25 + 1
    assert compose((*ledger, call(0.5, "first half")), Pure) == Pure(1.75)
    assert compose(tuple(call(e.guarantees[0].epsilon) for e in ledger), Pure) == Pure(2.25)


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
        assert compose(groups, kind, delta) == compose((entry,), kind, delta)
        larger = next(iter(compose(together, kind, delta).parameters.values()))
        assert larger > 2 * next(iter(compose(groups, kind, delta).parameters.values()))
    assert delta_at(groups, 1.0) == pytest.approx(1e-5, rel=1e-6)
    assert delta_at(together, 1.0) > 1e-2


def test_the_worst_of_the_parts_decides() -> None:
    """delta of epsilon-DP randomised response at a smaller e: (e^eps - e^e)/(1 + e^eps)."""
    ledger = (call(0.5, "first half"), call(1.0, "second half"))
    for parts in (ledger, ledger[::-1]):
        assert compose(parts, Approximate, 1e-9).epsilon == pytest.approx(1.0, rel=1e-3)  # type: ignore[union-attr]
        for e in (0.2, 0.7):
            exact = (math.exp(1.0) - math.exp(e)) / (1 + math.exp(1.0))
            assert delta_at(parts, e) == pytest.approx(exact, rel=1e-3)
    assert delta_at(ledger[:1], 0.2) < 0.7 * delta_at(ledger, 0.2)  # the control


@pytest.mark.parametrize("scope", ["central", "local", "label"])
def test_the_whole_has_the_scope_of_its_calls(scope: Scope) -> None:
    assert compose((call(0.5, scope=scope), call(0.5, scope=scope)), Pure) == Pure(1.0, scope)
    found = compose((call(0.5, scope=scope),), Approximate, 1e-6)
    assert found.scope == scope


def test_scopes_do_not_mix() -> None:
    with pytest.raises(NotAccountable, match="central and label"):
        compose((call(0.5), call(0.5, scope="label")), Pure)


def test_a_local_randomiser_reports_local_privacy() -> None:
    release = SphereRandomiser(3, 0.7).randomise(np.eye(3), np.random.default_rng(0))
    assert compose((release.entry,), Pure) == Pure(0.7, scope="local")


def test_a_central_estimator_refuses_a_local_budget() -> None:
    with pytest.raises(ValueError, match=r"privacy\.scope must be 'central', got 'local'"):
        NoisyMean(privacy=Pure(1.0, scope="local"), R=1.0).fit(np.zeros((4, 2)))


# --- What is known of a call's loss is data; its name is for people


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_the_name_of_a_mechanism_decides_nothing(norm: str) -> None:
    """It would let whoever calls a randomised response "laplace" report less than it loses."""
    named = LedgerEntry("laplace", 1.0, norm, 1.0, (Pure(0.5),), 5)
    plain = LedgerEntry("any", 1.0, norm, 1.0, (Pure(0.5),), 5)
    assert compose((named,), Approximate, 1e-3) == compose((plain,), Approximate, 1e-3)
    assert delta_at((named,), 1.0) == delta_at((plain,), 1.0)
    assert type(named.event.events[0]) is type(plain.event.events[0])


def test_laplace_noise_loses_less_than_the_worst_and_says_so_itself() -> None:
    worst = LedgerEntry("any", 1.0, "l1", 1.0, (Pure(0.5),), 5)
    noise = LedgerEntry("any", 1.0, "l1", 1.0, (Pure(0.5),), 5, law=LossLaw.LAPLACE)
    assert delta_at((noise,), 1.0) < 0.9 * delta_at((worst,), 1.0)
    rng, zeros = np.random.default_rng(0), np.zeros(4)
    entries = [laplace(zeros, l1_sensitivity=1.0, epsilon=1.0, rng=rng).entry]
    entries += [peeling(zeros, 2, sensitivity=1.0, scale=1.0, rng=rng)[1][1]]
    entries += [LaplaceLabels(1.0, 1.0).randomise(zeros, rng).entry]
    assert {entry.law for entry in entries} == {LossLaw.LAPLACE}
    chosen = exponential_mechanism(zeros, sensitivity=1.0, epsilon=1.0, rng=rng).entry
    assert chosen.law is LossLaw.WORST


@pytest.mark.parametrize(
    ("guarantee", "law", "error"),
    [(Gaussian(1.0), LossLaw.LAPLACE, ValueError), (Pure(1.0), "laplace", TypeError)],
)
def test_a_law_that_cannot_be_is_refused(
    guarantee: Pure | Gaussian, law: LossLaw, error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"^law"):
        LedgerEntry("any", 1.0, "l1", 1.0, (guarantee,), law=law)


# --- Sums are never below the truth


def test_sums_of_rho_and_of_squares_are_rounded_upwards() -> None:
    """Rounded to nearest, half of these would be below the sum in exact arithmetic."""
    rng = np.random.default_rng(3)
    for _ in range(200):
        numbers, counts = rng.uniform(1e-3, 2.0, size=4), rng.integers(1, 9, size=4)
        groups = [
            (float(number), int(count)) for number, count in zip(numbers, counts, strict=True)
        ]

        def ledger(kind: type, groups: list[tuple[float, int]] = groups) -> tuple[LedgerEntry, ...]:
            return tuple(LedgerEntry("any", 1.0, "l2", 1.0, (kind(x),), k) for x, k in groups)

        linear = sum(k * Fraction(x) for x, k in groups)
        squares = sum(k * Fraction(x) ** 2 for x, k in groups)
        rho = compose(ledger(ZeroConcentrated), ZeroConcentrated).parameters["rho"]
        mu = compose(ledger(Gaussian), Gaussian).parameters["mu"]
        assert Fraction(math.nextafter(rho, 0)) < linear <= Fraction(rho)
        assert Fraction(math.nextafter(mu, 0)) ** 2 < squares <= Fraction(mu) ** 2
        for kind in (Pure, Gaussian):
            rho = compose(ledger(kind), ZeroConcentrated).parameters["rho"]
            assert squares / 2 <= Fraction(rho) <= squares / 2 * Fraction(1 + 1e-15)


@pytest.mark.parametrize("size", [5e-324, 1e-200, 0.1, 1e150, 1e300])
def test_one_call_composes_to_itself_whatever_its_size(size: float) -> None:
    for kind in (Pure, ZeroConcentrated, Gaussian):
        entry = LedgerEntry("any", 1.0, "l2", 1.0, (kind(size),))
        assert compose((entry,), kind) == kind(size)


# --- How a ledger prints --------------------------------------------------------------------------


def test_a_ledger_prints_a_call_a_line_and_keeps_its_data() -> None:
    fitted = NoisyMean(Pure(1.0), R="quantile", random_state=0).fit(np.ones((50, 3)))
    lines = repr(fitted.ledger_).splitlines()
    assert lines == [repr(entry) for entry in fitted.ledger_]
    assert len(lines) == 2
    assert lines[0].startswith("<above threshold: epsilon=0.1; count sensitivity 1, scale ")
    for given in (tuple(fitted.ledger_), pickle.loads(pickle.dumps(fitted.ledger_))):
        assert given == fitted.ledger_
        assert compose(given, Pure) == fitted.privacy_


def test_no_printed_call_is_wider_than_a_terminal() -> None:
    promises = (Approximate(1.2345e-5, 1.2345e-7, "label"), Gaussian(1.2345e-5, "label"))
    long = LedgerEntry("mechanism " * 3, 1.2345e-5, "linf", 1.2345e-5, promises, 12, "about " * 20)
    assert len(repr(long)) == 80
    assert repr(long).startswith("<mechanism mechanism mechanism  x 12: label epsilon=1.23e-05")
    assert repr(long).endswith("...>")
    just = LedgerEntry("gaussian", 1.0, "l2", 2.0, (Gaussian(0.5),), about="a" * 33)
    assert repr(just) == f"<gaussian: mu=0.5; l2 sensitivity 1, scale 2; {'a' * 33}>"
    assert len(repr(just)) == 80
    assert repr(replace(just, about="a" * 34)).endswith("a...>")
