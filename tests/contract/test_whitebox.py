"""Every private estimator does what its ledger says, seen from inside.

The auditor's own checks, on every example of the contract: values before noise move by no more than
is stated, nothing is released that is not in the ledger, the noise has its law and scale, and the
ledger adds up to the budget that was asked for.
"""

from __future__ import annotations

import warnings

import pytest

from estimators.core.base import PrivateEstimator
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
