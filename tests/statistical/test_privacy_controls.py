"""The auditor on mechanisms of which the truth is known: all are run by the command, some here.

An audit errs with the stated chance at most. To see that, twins whose budget is exactly what they
claim are audited at a low confidence, many times; the control has a budget a little above.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

from minimax.core.privacy import Pure
from verify.privacy import audit
from verify.privacy.cases import Case
from verify.privacy.controls import CONTROLS

BY_NAME = {case.name: case for case in CONTROLS}
QUICK = [
    "response among four with the chance for two",
    "unary encoding at epsilon a bit",
    "labels flipped together",
    "laplace report without the factor 2",
    "noisy histogram with scale epsilon",
    "histogram without empty bins",
    "geometric noise on a finer grid",
    "prefix sums with noise for one",
    "sparse vector without noise on answers",
    "unpaid selection",
    "noise with a fixed seed",
    "one noise for two answers",
    "an error that depends on a record",
    "a warning that depends on a record",
    "a number that is none",
    "proposed with a weak test",
]
"""Broken mechanisms that a few releases refute."""
TWINS = ["response among four", "noisy max", "laplace mean", "noisy histogram", "flipped labels"]


def found(case: Case, releases: int) -> bool:
    return audit(case.mechanism, case.claim, releases=releases, **case.options).refuted


@pytest.mark.parametrize("name", QUICK)
def test_broken_mechanisms_are_refuted(name: str) -> None:
    assert BY_NAME[name].keeps is False
    assert found(BY_NAME[name], 12_000)


@pytest.mark.parametrize("name", TWINS)
def test_correct_twins_are_not(name: str) -> None:
    assert BY_NAME[name].keeps is True
    assert not found(BY_NAME[name], 6_000)


AUDITS, CONFIDENCE = 60, 0.8


def refutations(epsilon: float) -> int:
    """Of so many audits of randomised response with this budget, claimed to have 1."""
    likely = float(special.expit(epsilon))

    def response(bit: int, rng: np.random.Generator) -> int:
        return bit if rng.random() < likely else 1 - bit

    return sum(
        audit(
            response,
            Pure(1.0, "local"),
            neighbours=[(0, 1)],
            releases=1_200,
            confidence=CONFIDENCE,
            seed=seed,
        ).refuted
        for seed in range(AUDITS)
    )


def test_an_audit_errs_no_more_often_than_stated() -> None:
    """The budget is exactly the claim: more than `most` refutations have chance 1e-6 at most."""
    most = int(stats.binom.isf(1e-6, AUDITS, 1 - CONFIDENCE))
    assert refutations(1.0) <= most < refutations(1.8)
