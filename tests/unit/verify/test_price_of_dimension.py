"""The figure of private records against private labels: drawn from one sweep of each, or not."""

from __future__ import annotations

import pytest

from verify.rates.claims.local import LABELS, RECORDS
from verify.rates.judge import Slope
from verify.rates.measure import Measurement
from verify.rates.rows import Row, SlopeRow
from verify.rates.special.price_of_dimension import dimension_figure


def measured(*claims: tuple[str, int]) -> list[SlopeRow]:
    """A sweep in p of each claim, with so many trials a point."""
    return [_swept(claim, trials) for claim, trials in claims]


def _swept(claim: str, trials: int) -> SlopeRow:
    points = [{"n": 100, "p": p, "C": 2.0, "epsilon": 0.7} for p in (4, 8)]
    found = Measurement(0.2, 0.1, 0.3, trials, 0)
    rows = (
        Row(claim, "x", "privacy", point, "E", "pure", found, 0.05, "T (x)", None)
        for point in points
    )
    return SlopeRow(claim, "privacy", "p", Slope(1.0, 0.9, 1.1, 0.0), 1.0, "T", tuple(rows))


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
