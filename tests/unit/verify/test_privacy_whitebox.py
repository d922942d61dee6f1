"""From inside: estimators that do one thing wrong, each of which one check must find.

The twin does all of it right, and every check must pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from estimators import CoinPressMean, NoisyMean, SparseMean
from estimators.core.accounting import LedgerEntry
from estimators.core.base import PrivateEstimator
from estimators.core.mechanisms import Release, exponential_mechanism, gaussian, laplace
from estimators.core.witness import seen_by, witnessed
from minimax.core.privacy import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated
from verify.privacy import audit, replaced_records
from verify.privacy.auditing import SEEN_RELEASES
from verify.privacy.hygiene import hygiene_checks
from verify.privacy.rows import Check
from verify.privacy.whitebox import Recorder, whitebox_checks

X = np.random.default_rng(0).uniform(-0.9, 0.9, (6, 2))
PAIRS = replaced_records(X)[::3] + replaced_records(X)[-1:]


class Twin(PrivateEstimator):
    """A mean, and then its distance from the records, both paid for."""

    releases: tuple[str, ...] = ("mean_", "spread_", "ledger_")
    clip, noise, stated = 1.0, 1.0, 1.0

    def __init__(self, privacy: Any = Pure(1.0), random_state: Any = None) -> None:  # noqa: B008
        self.privacy, self.random_state = privacy, random_state

    def fit(self, X: Any, y: Any = None) -> Twin:
        rows, rng = np.clip(np.asarray(X), -self.clip, self.clip), self._rng()
        mean, first = self.added(rows.mean(axis=0), 4 / len(rows), rng)
        sizes = np.minimum(np.abs(rows - mean).sum(axis=1) / 20, 1.0)
        spread, second = self.added(np.array([sizes.mean()]), 1 / len(rows), rng)
        self._account(self.ledger(first, second))
        self.mean_, self.spread_ = mean, spread
        self.keep(rows)
        return self

    def added(self, value: np.ndarray, moved: float, rng: np.random.Generator) -> Any:
        epsilon = self._budget(Pure).epsilon / 2
        return laplace(value, l1_sensitivity=moved, epsilon=epsilon, rng=rng)

    def ledger(self, *entries: LedgerEntry) -> list[LedgerEntry]:
        return list(entries)

    def keep(self, rows: np.ndarray) -> None:
        """Nothing."""


class ClipsTooWide(Twin):
    clip = 1.5


class ForgetsAnEntry(Twin):
    def ledger(self, *entries: LedgerEntry) -> list[LedgerEntry]:
        return [entries[0]]


class KeepsASum(Twin):
    releases = ("mean_", "spread_", "sum_", "ledger_")

    def keep(self, rows: np.ndarray) -> None:
        self.sum_ = float(rows.sum())


class KeepsASumInSecret(Twin):
    def keep(self, rows: np.ndarray) -> None:
        self.sum_ = float(rows.sum())


class KeepsARecord(Twin):
    def keep(self, rows: np.ndarray) -> None:
        self.record_ = rows[1].copy()


class KeepsItsGenerator(Twin):
    def keep(self, rows: np.ndarray) -> None:
        self.rng_ = np.random.default_rng()


class KeepsItsNoise(Twin):
    """Drawn once by each object, and used in all its fits."""

    def _rng(self) -> np.random.Generator:
        self._seed = getattr(self, "_seed", None) or super()._rng().integers(1 << 60)
        return np.random.default_rng(self._seed)


class Coarse(Twin):
    """Releases that are nearly always the same, which is no fault."""

    def keep(self, rows: np.ndarray) -> None:
        self.mean_, self.spread_ = np.round(self.mean_, -5), np.round(self.spread_, -5)


@witnessed
def too_quiet(value: Any, *, l1_sensitivity: float, epsilon: float, rng: Any) -> Release[Any]:
    """A Laplace release with three quarters of the noise that it states."""
    stated = {"l1_sensitivity": l1_sensitivity, "epsilon": epsilon, "rng": rng}
    entry = laplace.__wrapped__(value, **stated).entry  # type: ignore[attr-defined]
    return Release(value + 0.75 * rng.laplace(scale=entry.scale, size=np.shape(value)), entry)


class TooQuiet(Twin):
    def added(self, value: np.ndarray, moved: float, rng: np.random.Generator) -> Any:
        return too_quiet(value, l1_sensitivity=moved, epsilon=0.5, rng=rng)


@witnessed
def kept_in_mind(value: Any, *, l1_sensitivity: float, epsilon: float, rng: Any) -> Release[Any]:
    """A Laplace release whose noise is the first number that its generator ever gave."""
    stated = {"l1_sensitivity": l1_sensitivity, "epsilon": epsilon, "rng": rng}
    entry = laplace.__wrapped__(value, **stated).entry  # type: ignore[attr-defined]
    first = np.random.default_rng(rng.bit_generator.seed_seq).laplace(scale=entry.scale)
    return Release(value - first, entry)


class SharesItsNoise(Twin):
    """One draw for both answers, each of which has the stated law."""

    def added(self, value: np.ndarray, moved: float, rng: np.random.Generator) -> Any:
        return kept_in_mind(value, l1_sensitivity=moved, epsilon=0.5, rng=rng)


class Chooses(Twin):
    """The place of the largest of eight scores, one of which the records move."""

    releases = ("place_", "ledger_")
    share = 1.0

    def fit(self, X: Any, y: Any = None) -> Chooses:
        rows = np.clip(np.asarray(X), -1, 1)
        scores = np.linspace(0, 6, 8) + np.eye(8)[0] * rows[:, 0].sum() / 2
        place, entry = choose(scores, share=self.share, rng=self._rng())
        self._account([entry])
        self.place_ = place
        return self


@witnessed
def choose(scores: Any, *, share: float, rng: Any) -> Release[int]:
    """The exponential mechanism at epsilon = 1, with a share of its noise."""
    stated = {"sensitivity": 1.0, "epsilon": 1.0}
    entry = exponential_mechanism.__wrapped__(scores, rng=rng, **stated).entry  # type: ignore[attr-defined]
    return Release(int(np.argmax(scores + rng.gumbel(scale=share * entry.scale, size=8))), entry)


class ChoosesTooWell(Chooses):
    share = 0.25


class RaisesOnHuge(Twin):
    def fit(self, X: Any, y: Any = None) -> Twin:
        if np.abs(X).max() > 1e200:
            raise ValueError("too large")
        return super().fit(X)


class Overspends(Twin):
    def added(self, value: np.ndarray, moved: float, rng: np.random.Generator) -> Any:
        return laplace(value, l1_sensitivity=moved, epsilon=1.0, rng=rng)


class SkipsACall(Twin):
    def added(self, value: np.ndarray, moved: float, rng: np.random.Generator) -> Any:
        if value[0] > 0.9:
            moved = 2 * moved  # the ledger follows the data
        return super().added(value, moved, rng)


def failed(estimator: Any, claim: Any = Pure(1.0)) -> set[str]:  # noqa: B008
    checks = hygiene_checks(estimator, PAIRS) + whitebox_checks(estimator, claim, PAIRS, 1e-4)
    return {check.name for check in checks if check.passed is False}


def test_what_is_right_passes_every_check() -> None:
    checks = hygiene_checks(Twin(), PAIRS) + whitebox_checks(Twin(), Pure(1.0), PAIRS, 1e-4)
    passed = {check.name for check in checks if check.passed}
    assert passed == {
        *("attributes", "fresh noise", "pickle", "composition", "ledger", "sensitivity"),
        *("nothing else", "noise", "released again", "seen through"),
    }
    assert "released again" not in failed(Coarse())
    assert not failed(Twin())


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (ClipsTooWide, {"sensitivity"}),
        (ForgetsAnEntry, {"ledger"}),
        (KeepsASum, {"nothing else"}),
        (KeepsASumInSecret, {"nothing else", "attributes"}),
        (KeepsARecord, {"pickle"}),
        (KeepsItsGenerator, {"pickle"}),
        (KeepsItsNoise, {"released again"}),
        (TooQuiet, {"noise"}),
        (SharesItsNoise, {"noise"}),
        (ChoosesTooWell, {"noise"}),
        (Overspends, {"composition"}),
        (SkipsACall, {"replay"}),
    ],
)
def test_what_is_wrong_fails_its_check(kind: type[Twin], found: set[str]) -> None:
    assert found <= failed(kind())


def test_choices_have_their_law() -> None:
    assert not failed(Chooses())  # the control is `ChoosesTooWell`


def test_what_is_seen_through_is_given_few_releases_and_what_raises_is_not() -> None:
    through = audit(Twin(), Pure(1.0), data=X)
    assert not through.refuted
    assert through.search.releases <= SEEN_RELEASES
    assert "seen through: ok; few releases are drawn" in through.summary()
    raises = audit(RaisesOnHuge(), Pure(1.0), neighbours=replaced_records(X))
    assert raises.refuted  # only releases show it
    assert "seen through: -; 1 pairs of data raise" in raises.summary()


@pytest.mark.parametrize("kind", [CoinPressMean, SparseMean])
def test_the_toolkit_does_what_its_ledgers_say(kind: Any) -> None:
    estimator = kind(sigma=1.0, radius=1.0)
    assert not failed(estimator, estimator.fit(X).privacy_)


def test_gaussian_noise_has_an_exact_curve() -> None:
    honest = NoisyMean(Gaussian(1.0), R=1.0)
    for claim in (Gaussian(1.0), ZeroConcentrated(0.5), Approximate(4.4, 1e-5), Renyi(3.0, 1.5)):
        assert not failed(honest, claim)
    for claim in (Gaussian(0.99), ZeroConcentrated(0.49), Approximate(4.3, 1e-5), Renyi(3.0, 1.4)):
        assert "exact curve" in failed(honest, claim)


def test_a_printed_calibration_is_refuted_from_inside() -> None:
    budget = Approximate(2.0, 1e-6)
    printed = NoisyMean(budget, R="theory", sigma=1.0, radius=1.0, calibration="paper")
    found = audit(printed, budget, data=X)
    assert found.refuted
    assert found.search.releases == 0
    assert "exact curve: FAILED; exactly GDP(mu=0.5381)" in found.summary()


def test_a_witness_sees_and_nothing_is_kept() -> None:
    recorder = Recorder()
    rng = np.random.default_rng(0)
    with seen_by(recorder):
        value, entry = gaussian(np.ones(3), l2_sensitivity=1.0, scale=2.0, rng=rng)
    (call,) = recorder.calls
    assert np.array_equal(call.before, np.ones(3))
    assert np.array_equal(call.value, value)
    assert call.entries == (entry,)
    gaussian(np.ones(3), l2_sensitivity=1.0, scale=2.0, rng=rng)
    assert len(recorder.calls) == 1
    assert Check("x", None).mark == "-"
