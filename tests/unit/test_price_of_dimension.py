"""The figure of private records against private labels: drawn from one sweep of each, or not."""

from __future__ import annotations

from typing import Any

import pytest

from verify.rates.claims.local import LABELS, RECORDS
from verify.rates.grid import cell_label
from verify.rates.special.price_of_dimension import dimension_figure


def measured(*claims: tuple[str, int]) -> dict[str, Any]:
    """A report that holds a sweep in p of each claim, with so many trials a point."""
    cells, slopes = [], []
    for claim, trials in claims:
        points = [{"n": 100, "p": p, "C": 2.0, "epsilon": 0.7} for p in (4, 8)]
        for point in points:
            numbers = {"risk": 0.2, "ci_low": 0.1, "ci_high": 0.3, "lower": 0.05}
            names = {"estimator": "E", "lower_source": "T (x)"}
            cells.append({"claim": claim, "point": point, "trials": trials, **numbers, **names})
        labels = [cell_label(claim, point) for point in points]
        slope = {"claim": claim, "variable": "p", "labels": labels, "points": [4, 8]}
        slopes.append({**slope, "fitted": 1.0})
    return {"cells": cells, "slopes": slopes}


@pytest.mark.parametrize(
    ("records", "labels", "shown"), [(30, 30, "; 30 trials"), (90, 30, "; 30 to 90 trials")]
)
def test_both_claims_give_a_figure(records: int, labels: int, shown: str) -> None:
    figure = dimension_figure(measured((RECORDS, records), (LABELS, labels)))
    assert figure is not None
    title = figure.axes[0].get_title()
    assert shown in title
    assert "ε = 0.7" in title


@pytest.mark.parametrize("claims", [[], [RECORDS], [LABELS], [RECORDS] * 2, [LABELS] * 2])
def test_one_claim_gives_none(claims: list[str]) -> None:
    assert dimension_figure(measured(*((claim, 30) for claim in claims))) is None
