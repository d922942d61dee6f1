"""What is simulated for claims: the same however it is cut, with keys that tell it apart."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from verify.rates.claims import all_claims
from verify.rates.grid import PROFILES, build
from verify.rates.results import Results
from verify.rates.sequential import Piece, Simulation
from verify.rates.tasks import ClaimTask, tasks_of, weakened

KINDS = {
    "sums": "bounded-mean/tracing/GDP",
    "pairs of fits": "mean/tracing/zCDP",
    "labels": "label-regression/Theorem 7/pure",
}


def smallest(claim: str) -> ClaimTask:
    """Of a claim's cells the one with the fewest numbers."""
    claims = [each for each in all_claims() if each.name == claim]
    quick = PROFILES["quick"]
    return min(tasks_of(build(claims, quick).cells, quick, paired=True), key=lambda t: t.size)


@pytest.mark.parametrize("kind", KINDS)
def test_trials_are_the_same_however_they_are_cut(kind: str) -> None:
    task = smallest(KINDS[kind])
    whole = task.values(3, 0, 5)
    assert np.array_equal(whole, np.concatenate([task.values(3, 0, 2), task.values(3, 2, 5)]))
    assert len({tuple(row) for row in whole.tolist()}) == 5
    assert not np.array_equal(whole, task.values(4, 0, 5))


def test_keys_tell_apart_what_has_other_values() -> None:
    task = smallest(KINDS["sums"])
    simulation = Simulation(3, 0.1, Results(None), None)  # type: ignore[arg-type]
    whole = Piece(task, 2, 5)
    others = [
        whole._replace(first=3),
        whole._replace(last=6),
        Piece(replace(task, label="another"), 2, 5),
    ]
    keys = [simulation._key(piece) for piece in (whole, *others)]
    keys.append({**keys[0], **replace(simulation, seed=4)._key(whole)})
    keys += [
        replace(task, point={**task.point, "n": 7.0}).key(False),
        replace(task, estimator_point={**task.point, "n": 7.0}).key(False),
        replace(task, fits=7).key(False),
        replace(task, paired=not task.paired).key(False),
    ]
    texts = [repr(key) for key in keys]
    assert len(set(texts)) == len(texts)
    assert replace(task, rehearsed="a").key(True) != replace(task, rehearsed="b").key(True)


@pytest.mark.parametrize("name", ["epsilon", "mu", "rho"])
def test_a_weaker_budget_has_so_much_more_noise(name: str) -> None:
    """Gaussian noise for rho-zCDP has the scale 1/sqrt(2 rho); elsewhere scales are as 1/budget."""
    point = {"n": 100.0, name: 0.8, "delta": 1e-6}
    found = weakened(point, 2.0)
    assert found == {**point, name: 0.2 if name == "rho" else 0.4}
    scale = {"rho": lambda b: 1 / math.sqrt(2 * b)}.get(name, lambda b: 1 / b)
    assert scale(found[name]) == pytest.approx(2 * scale(point[name]))
