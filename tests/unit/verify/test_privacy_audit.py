"""One call, one verdict: what an audit says, and what it refuses in a sentence."""

from __future__ import annotations

import json
import warnings
from typing import Any

import numpy as np
import pytest

from estimators import NoisyMean
from minimax.core.privacy import Approximate, Gaussian, Pure
from verify.privacy import CannotAudit, audit, blackbox, histograms, query_answers, replaced_records
from verify.privacy.auditing import ASSUMED
from verify.privacy.blackbox import (
    ALIKE,
    IGNORES,
    NO_GENERATOR,
    OTHER_NOISE,
    Clock,
    OutOfTime,
)
from verify.privacy.outcomes import Outcome, outcome_of, subject
from verify.privacy.stages import overtime, plan

FEW = 4_000


def report(x: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.clip(x, 0, 1).mean() + rng.laplace(scale=1 / len(x)))


def quiet(x: np.ndarray, rng: np.random.Generator) -> float:
    return float(np.clip(x, 0, 1).mean() + rng.laplace(scale=0.2 / len(x)))


def test_a_verdict_with_its_reasons() -> None:
    found = audit(quiet, Pure(1.0), data=np.zeros(3), releases=FEW, seed=1)
    assert found.refuted
    assert 1 < found.lower <= 5
    text = found.summary()
    assert text.startswith("quiet, claimed pure(epsilon=1): REFUTED\n  epsilon >= ")
    assert "confidence 0.999" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    again = audit(quiet, Pure(1.0), data=np.zeros(3), releases=FEW, seed=1)
    assert {**found.to_dict(), "seconds": 0} == {**again.to_dict(), "seconds": 0}
    json.dumps(found.to_dict())


def test_a_mechanism_that_keeps_its_claim_is_told_what_would_have_been_seen() -> None:
    found = audit(report, Pure(1.0), data=np.zeros(3), releases=FEW)
    assert not found.refuted
    assert found.lower <= 1
    assert found.noticed_from() > 1
    assert "from" in found.summary()
    assert found.search.releases <= FEW


def test_estimators_release_what_their_fit_sets() -> None:
    far = [(np.full((6, 2), -1.0), np.vstack([[1.0, 1.0], np.full((5, 2), -1.0)]))]
    honest = NoisyMean(Gaussian(1.0), R=1.0)
    assert not audit(honest, Gaussian(1.0), neighbours=far, releases=600).refuted
    assert audit(honest, Gaussian(0.2), neighbours=far, releases=1_500).refuted


@pytest.mark.parametrize(
    ("mechanism", "options", "told"),
    [
        (lambda x, rng: 1 / 0, {}, "raises on every data set that was tried: ZeroDivisionError"),
        (lambda x, rng: None, {}, "returns nothing"),
        (report, {"neighbours": []}, "no pair is given"),
        (report, {"neighbours": [np.zeros(3)]}, r"neighbours\[0\] must be a pair"),
        (report, {"data": (1.0, 2.0, 3.0)}, "got a tuple of 3: give records as a list"),
        (report, {"bounds": (1, 0)}, "each low below its high"),
        (report, {"bounds": (0, 1, 2)}, "bounds must be"),
        (report, {"values": [1]}, "values must hold two at least"),
        (report, {"releases": 50}, "releases must be"),
        (report, {"claim": Pure(1.0, "label")}, r"data must be \(X, y\)"),
        (report, {"claim": Pure(1.0, "local")}, "data must be an example of a record"),
    ],
)
def test_what_cannot_be_audited_is_told(mechanism: Any, options: dict[str, Any], told: str) -> None:
    claim = options.pop("claim", Pure(1.0))
    with pytest.raises(CannotAudit, match=told):
        audit(mechanism, claim, **{"releases": FEW, **options})


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"mechanism": 3}, TypeError, "mechanism must be a function"),
        ({"mechanism": NoisyMean}, TypeError, "mechanism must be a function"),
        ({"claim": 1.0}, TypeError, "claim must"),
        ({"claim": Pure}, TypeError, "claim must have its numbers"),
        ({"confidence": 1.0}, ValueError, "confidence"),
        ({"seconds": 0}, ValueError, "seconds must be positive"),
        ({"releases": 0.5}, TypeError, "releases"),
        ({"seed": -1}, ValueError, "seed"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], error: type, told: str) -> None:
    with pytest.raises(error, match=told):
        audit(**{"mechanism": report, "claim": Pure(1.0), **options})


def test_notices() -> None:
    own = np.random.default_rng(3)
    found = audit(lambda x: report(x, own), Pure(1.0), releases=FEW)
    assert found.notices == (NO_GENERATOR,)
    constant = audit(lambda x, rng: 0.0, Pure(1.0), releases=FEW)
    assert constant.notices == (ALIKE,)
    blind = audit(lambda x, rng: float(rng.laplace()), Pure(1.0), releases=FEW)
    assert blind.notices == (IGNORES,)
    assert not blind.refuted
    other = audit(lambda x, rng: report(x, own), Pure(1.0), releases=FEW)
    assert other.notices == (OTHER_NOISE,)
    bare = audit(lambda x, rng: float(x.sum()), Pure(1.0), releases=FEW)
    assert bare.notices == (ASSUMED,)  # a verdict that rests on what neighbours are
    assert audit(report, Pure(1.0), releases=FEW).notices == ()
    assert not constant.refuted
    assert constant.lower == 0


def test_out_of_time() -> None:
    found = audit(report, Pure(1.0), seconds=1e-9)
    assert found.search.stopped == "out of time"
    assert not found.refuted
    assert found.noticed_from() == np.inf
    assert "nothing was tested" in found.summary()


def test_a_busy_machine_decides_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The processor's seconds count; the control: who waits for ever is stopped all the same."""
    worked, waited = 0.0, 0.0
    monkeypatch.setattr(blackbox, "_now", lambda: (worked, waited))
    clock = Clock(60.0)
    worked, waited = 20.0, 500.0
    clock.check()
    for worked, waited in ((61.0, 61.0), (1.0, 601.0)):  # noqa: B007
        with pytest.raises(OutOfTime):
            clock.check()


def test_everything_that_can_be_seen_is_an_outcome() -> None:
    seen = outcome_of({"a": np.array([1.0, np.nan]), "b": [None, True, "x"], "c": {2, 1}})
    assert seen.numbers == (1.0, None, None, 1.0, float(ord("x")), 1.0, 2.0)
    assert "nan" in seen.form
    assert "'x'" in seen.form
    assert outcome_of(float("inf")) == Outcome((None,), "inf")

    def loud(x: np.ndarray, rng: np.random.Generator) -> float:
        warnings.warn("loud", stacklevel=2)
        x[:] = 5  # a mechanism may change what it is given
        return float(x[0])

    data = np.zeros(2)
    (first,), (second,) = subject(loud).draw(data, data, 1, np.random.default_rng(0))
    assert first == second == Outcome((5.0,), "# warns UserWarning: loud")
    assert data[0] == 0


def test_the_stages_use_what_there_is_and_no_more() -> None:
    for pairs in (1, 2, 3, 14, 40):
        for releases, broad in ((10_000, False), (200_000, False), (200_000, True)):
            stages = plan(pairs, releases, broad)
            used = sum(2 * count * batch for count, batch in stages)
            assert used <= releases
            assert used > 0.9 * releases or len(stages) < 3
            assert [count for count, _ in stages] == sorted((c for c, _ in stages), reverse=True)


def test_overtime_is_for_one_pair_and_within_what_is_allowed() -> None:
    further = overtime(Pure(1.0), 200_000, 600_000)
    assert {pairs for pairs, _ in further} == {1}
    assert 390_000 < sum(2 * side for _, side in further) <= 400_000
    for claim, releases, most in (  # of which a plan does not wait for it
        (Pure(1.0), 999_000, 1_000_000),
        (Pure(1.0), 4_000, 0),
        (Gaussian(1.0), 200_000, 600_000),
    ):
        assert overtime(claim, releases, most) == []


def test_values_are_not_cut_to_the_kind_of_the_example() -> None:
    for data, values in (([0, 1, 1], [0, 0.5, 1]), (["a", "b"], ["a", "b", "absent"])):
        pairs = replaced_records(data, values=values)
        seen = {each for pair in pairs for side in pair[1:] for each in side.tolist()}
        assert seen == set(values)


def test_a_mechanism_of_lists_is_given_lists() -> None:
    def counted(records: list[int], rng: np.random.Generator) -> list[float]:
        return [records.count(k) + rng.laplace(scale=2.0) for k in (0, 1, 2)]

    assert not audit(counted, Pure(1.0), data=[0, 1, 2, 1], releases=20_000).refuted
    assert audit(counted, Pure(0.5), data=[0, 1, 2, 1], releases=20_000).refuted  # two counts move


def test_a_text_is_looked_at_letter_by_letter() -> None:
    """Thirty letters by chance, and one place that tells: no whole text ever repeats."""

    def letters(x: np.ndarray, rng: np.random.Generator) -> str:
        told = ["ab"[bit] for bit in rng.integers(2, size=30)]
        told[7] = "b" if x.max() > 0.5 else "a"
        return "".join(told)

    assert audit(letters, Pure(1.0), values=[0, 1], releases=20_000).refuted
    blind = audit(lambda x, rng: letters(0 * x, rng), Pure(1.0), values=[0, 1], releases=20_000)
    assert not blind.refuted


def test_neighbours_are_neighbours() -> None:
    for pair in replaced_records(np.zeros((4, 3)), bounds=(0, 1)):
        assert np.any(pair.first != pair.second, axis=1).sum() == 1
        assert pair.first.min() >= 0
        assert pair.second.max() <= 1
    for pair in replaced_records((np.zeros((4, 2)), np.zeros(4)), responses=(-1, 1)):
        (X, y), (X2, y2) = pair.first, pair.second
        assert np.sum(np.any(X != X2, axis=1) | (y != y2)) == 1
    for pair in query_answers(6):
        assert np.abs(pair.first - pair.second).max() == 1
    for pair in histograms(3):
        assert np.abs(pair.first - pair.second).sum() == 2
        assert pair.first.sum() == pair.second.sum()
    for pair in histograms(3, added=True):
        assert np.abs(pair.first - pair.second).sum() == 1
    for pair in replaced_records(np.array([0, 1, 1, 0])):
        assert np.sum(pair.first != pair.second) == 1
        assert set(np.unique(pair.second)) <= {0, 1}


def test_claims_of_all_kinds_have_a_verdict() -> None:
    found = audit(quiet, Approximate(1.0, 1e-3), data=np.zeros(3), releases=FEW)
    assert found.refuted
    assert "approximate" in found.summary()


def last_told(x: np.ndarray, rng: np.random.Generator) -> list[float]:
    """Of a ragged release with numbers close together, far below 1."""
    noisy = 1e-3 * (x + rng.laplace(scale=2.0, size=len(x)))
    return noisy[: 1 + int(np.argmax(noisy))].tolist()


def test_an_audit_warns_of_nothing_of_its_own() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        audit(last_told, Pure(1.0), neighbours=query_answers(5), releases=20_000)


def noisy_index(x: np.ndarray, rng: np.random.Generator, scale: float = 4.0) -> int:
    return int(np.argmax(x + rng.laplace(scale=scale, size=len(x))))


def seldom_bare(x: np.ndarray, rng: np.random.Generator) -> float:
    """A constant but once in a hundred times, when the first record is told."""
    return float(x[0]) if rng.random() < 1e-2 else -1.0


def test_what_has_no_hope_ends_early_and_what_is_rare_has_hope() -> None:
    """Half of the claim is spent: no event comes near. The controls: what is rare, or close."""
    answers = query_answers(5)
    found = audit(noisy_index, Pure(1.0), neighbours=answers, releases=40_000)
    assert found.search.stopped == "nothing left to hope for"
    assert found.search.releases < 30_000
    rare = audit(seldom_bare, Pure(1.0), neighbours=answers, releases=40_000)
    assert rare.refuted
    close = audit(report, Pure(1.0), data=np.zeros(3), bounds=(0, 1), releases=40_000)
    assert close.search.stopped == "releases used"
