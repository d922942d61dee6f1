"""The claims as a study: their cells, exponents and controls, from the trials so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from minimax.core.privacy import at_point
from verify.rates.grid import Cell, Series, telling
from verify.rates.judge import ZeroRelease, fit_slope, slope_shares
from verify.rates.known_noise import STATES
from verify.rates.measure import Measurement, correlations, interval, zero_losses
from verify.rates.rows import LevelControl, Row, SlopeControl, SlopeRow
from verify.rates.sequential import LOOKS, Check, Seen
from verify.rates.tasks import ClaimTask, noisier_label, twin_label
from verify.seeds import cell_seed

ZERO_DRAWS = 100
"""Of so many of a cell's trials the loss of releasing 0 is taken as well."""
LEVERAGE = 0.25
"""A cell gets more trials for an exponent if its share in the variance is at least so large a part
of the largest share."""


class ClaimStudy:
    """Cells between their bounds, exponents, and the controls that must break."""

    def __init__(
        self,
        cells: Sequence[Cell],
        series: Sequence[Series],
        tasks: Sequence[ClaimTask],
        seed: int,
        alpha: float,
    ) -> None:
        self.cells, self.series, self.tasks = cells, series, tasks
        priors = {task.label: task.prior for task in tasks}
        self._zero = {}
        for cell in cells:
            own = cell_seed(seed, cell.claim.name)
            with telling(cell.claim, "the loss of releasing 0", cell.point):
                zeros = zero_losses(priors[cell.label], ZERO_DRAWS, own)
            drawn = interval(zeros, alpha, own)
            largest = cell.claim.zero_release_risk(cell.point)
            self._zero[cell.label] = ZeroRelease(largest, drawn, cell.claim.prior_decides)
        self._rows = {cell.label: self._row(cell) for cell in cells}
        self._expected = [
            each.claim.lower.slope(each.variable, **each.asymptotic_point) for each in series
        ]

    def checks(self, seen: Seen) -> list[Check]:
        """Every cell, every exponent, every control."""
        rows = {
            cell.label: self._rows[cell.label](measured=_risk(cell, cell.label, seen))
            for cell in self.cells
        }
        slopes = [
            self._slope(series, expected, rows, seen)
            for series, expected in zip(self.series, self._expected, strict=True)
        ]
        return [
            *(Check(row, (label,)) for label, row in rows.items()),
            *(Check(slope, labels) for slope, labels in slopes),
            *(control for cell in self.cells for control in _level_controls(cell, rows, seen)),
            *(Check(SlopeControl(slope), labels) for slope, labels in slopes),
        ]

    def _row(self, cell: Cell) -> partial[Row]:
        """All of a cell's row but what is measured."""
        claim = cell.claim
        return partial(
            Row,
            claim=claim.name,
            problem=claim.problem.name,
            regime=cell.regime,
            point=cell.point,
            estimator=claim.estimator,
            privacy=str(at_point(claim.model, cell.point, claim.problem.scope)),
            lower=claim.lower.value(**cell.point),
            lower_source=claim.lower.source,
            upper=cell.ceiling,
            zero=self._zero[cell.label],
        )

    def _slope(
        self, series: Series, expected: float, rows: Mapping[str, Row], seen: Seen
    ) -> tuple[SlopeRow, tuple[str, ...]]:
        """The fitted exponent, and the cells whose trials make it surer."""
        fitted = tuple(rows[cell.label] for cell in series.cells)
        x = [row.point[series.variable] for row in fitted]
        measured = [row.measured for row in fitted]
        shared = correlations([seen.losses(cell.label) for cell in series.cells])
        states = (STATES * len(LOOKS)) ** (len(fitted) - 1)
        slope = SlopeRow(
            claim=series.claim.name,
            regime=series.regime,
            variable=series.variable,
            slope=fit_slope(x, measured, seen.alpha / STATES, states, shared),
            expected=expected,
            expected_source=series.claim.lower.source,
            rows=fitted,
        )
        shares = slope_shares(x, measured, seen.alpha / STATES, states)
        wide = shares >= LEVERAGE * shares.max()
        return slope, tuple(row.label for row, grow in zip(fitted, wide, strict=True) if grow)


def _risk(cell: Cell, label: str, seen: Seen) -> Measurement:
    """What a task of a cell measured: all of them have the draws of their claim."""
    return seen.risk(label, cell.claim.name)


def _level_controls(cell: Cell, rows: Mapping[str, Row], seen: Seen) -> Iterator[Check]:
    """The twin must fall below the lower bound, and more noise must rise above the upper."""
    if not cell.has_controls:
        return
    row, name, point = rows[cell.label], cell.claim.name, cell.point
    twin, noisier = twin_label(cell), noisier_label(cell)
    risk = _risk(cell, twin, seen)
    below = LevelControl(name, "non-private twin", point, risk, "lower", row.lower)
    yield Check(below, (twin,))
    if row.upper is not None and noisier in seen.values:
        kind = f"noise x {cell.claim.noise_factor:g}"
        risk = _risk(cell, noisier, seen)
        yield Check(LevelControl(name, kind, point, risk, "upper", row.upper.value), (noisier,))
