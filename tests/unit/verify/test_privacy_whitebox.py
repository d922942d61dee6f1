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
from estimators.core.mechanisms import Release, gaussian, laplace
from estimators.core.witness import seen_by, witnessed
from minimax.core.privacy import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated
from verify.privacy import audit, replaced_records
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
        *("nothing else", "noise", "released again"),
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
        (Overspends, {"composition"}),
        (SkipsACall, {"replay"}),
    ],
)
def test_what_is_wrong_fails_its_check(kind: type[Twin], found: set[str]) -> None:
    assert found <= failed(kind())


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
