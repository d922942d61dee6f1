"""Every private estimator does what its ledger says, seen from inside.

The auditor's own checks, on every example of the contract: values before noise move by no more than
is stated, nothing is released that is not in the ledger, the noise has its law and scale, and the
ledger adds up to the budget that was asked for.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from estimators import LabelHardThresholding, NoisyMean
from estimators.core.base import PrivateEstimator
from estimators.randomisers import labels
from tests.contract.estimator_examples import examples
from verify.privacy import whitebox
from verify.privacy.auditing import neighbours_for
from verify.privacy.toolkit import sample

EXAMPLES = {
    name: made
    for name, made in examples().items()
    if isinstance(made, PrivateEstimator)
    and getattr(made, "calibration", "") != "paper"
    and getattr(made, "schedule", "") != "theorem"
}
"""But for what papers print, which may overspend and says so."""
SLOW = ("SparseResidualClippedRegression", "ResidualClippedRegression")
LEVEL = 1e-9
PAIRS = 7
"""Of neighbours, from all over the list."""


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_estimator_does_what_its_ledger_says(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whitebox, "PATHS", 1)
    slow = name.startswith(SLOW)
    monkeypatch.setattr(whitebox, "NOISE_FITS", 2 if slow else 40)
    monkeypatch.setattr(whitebox, "ENOUGH_NOISE", 600)
    made = EXAMPLES[name]
    data, claim = sample(made), made._asked
    pairs = neighbours_for(made, claim, data)
    huge = [pair for pair in pairs if "huge" in pair.about][:1]
    pairs = pairs[:: max(1, len(pairs) // (2 if slow else PAIRS))] + huge
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        checks = whitebox.whitebox_checks(made, claim, pairs, LEVEL)
    assert checks
    assert [f"{c.name}: {c.told}" for c in checks if c.passed is False] == []


def unseen(made: PrivateEstimator) -> int:
    """How many entries of a fit's ledger show no call."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit, calls = whitebox.recorded(made, sample(made), 0)
    shown = whitebox._counted(entry for call in calls for entry in call.entries)
    return (whitebox._counted(fit.ledger_) - shown).total()


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_entry_of_a_ledger_shows_its_call(name: str) -> None:
    assert unseen(EXAMPLES[name]) == 0


class Secretive(NoisyMean):
    """Its release is paid for and not shown."""

    def fit(self, X: np.ndarray, y: object = None) -> Secretive:
        with whitebox.seen_by(lambda before, result: result):
            super().fit(X)
        return self


def test_an_entry_without_a_call_is_noticed() -> None:
    assert unseen(Secretive(R=1.0)) == 1


def failed(made: PrivateEstimator) -> list[str]:
    data, claim = sample(made), made._asked
    pairs = neighbours_for(made, claim, data)
    checks = whitebox.whitebox_checks(made, claim, pairs[:3], LEVEL)
    return [check.name for check in checks if check.passed is False]


def test_a_response_with_other_chances_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control of what is tested of reports: more truth, and labels that are not clipped."""
    made = LabelHardThresholding()
    assert failed(made) == []
    honest = labels.BinaryLabels.chance
    with monkeypatch.context() as patch:
        patch.setattr(labels.BinaryLabels, "chance", lambda own, y: honest(own, 3 * np.asarray(y)))
        assert "noise" in failed(made)
    with monkeypatch.context() as patch:
        patch.setattr(labels, "clipped", lambda y, bound: np.asarray(y, dtype=float))
        assert "sensitivity" in failed(made)
