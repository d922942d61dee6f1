"""What a run finds: rows for cells, slopes and controls, and the run as a whole.

A row holds what was measured and the bounds beside it; its verdict follows from them. `as_json` is
the one place where the keys of the JSON file stand.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Literal

from minimax.core.bound import Point
from verify.files import JSON
from verify.rates.claim import Ceiling, Regime
from verify.rates.grid import Dropped, Profile, cell_label
from verify.rates.judge import (
    SLOPE_TOLERANCE,
    AgainstZero,
    Reason,
    Slope,
    Verdict,
    ZeroRelease,
    judge_against_zero,
    level_reason,
    may_be_worse,
    noticed_from,
    slope_reason,
)
from verify.rates.measure import Measurement
from verify.rates.tightness import Tightness

if TYPE_CHECKING:
    from verify.rates.special.coverage import CoverageRow
    from verify.rates.special.ordering.rows import Ordering

ALPHA = 1e-6
"""Error budget of a whole run, divided over all its intervals (nominal: Student intervals)."""


@dataclass(frozen=True)
class Row:
    """The measured risk in a cell, between its bounds."""

    claim: str
    problem: str
    regime: Regime
    point: Point
    estimator: str
    privacy: str
    measured: Measurement
    lower: float
    lower_source: str
    upper: Ceiling | None
    zero: ZeroRelease | None = field(default=None, kw_only=True)
    """What releasing 0 risks there; None where the risk is no estimator's in a cell of a claim."""

    @property
    def label(self) -> str:
        """The name of its cell."""
        return cell_label(self.claim, self.point)

    @property
    def ratio(self) -> float | None:
        """Measured risk over lower bound."""
        return self.measured.risk / self.lower if self.lower > 0 else None

    @property
    def verdict(self) -> Verdict:
        """Whether the risk lies between the bounds."""
        return self.reason.verdict

    @property
    def reason(self) -> Reason:
        """What happened, in words."""
        return level_reason(self.measured, self.lower, self.upper.value if self.upper else None)

    @property
    def noticed_from(self) -> float | None:
        """By how much its lower bound would have to be inflated to be contradicted here."""
        return noticed_from(self.measured, self.lower)

    def _repr_html_(self) -> str:
        from verify.rates.notebook import rows_html  # it shows rows, and so imports this module

        return rows_html([self])

    @property
    def against_zero(self) -> AgainstZero | None:
        """Whether the risk is below or above that of releasing 0."""
        return judge_against_zero(self.measured, self.lower, self.zero) if self.zero else None

    @property
    def is_clear(self) -> bool:
        """Whether the whole interval is between the bounds, without a margin."""
        top = self.upper.value if self.upper else math.inf
        return self.lower <= self.measured.ci_low and self.measured.ci_high <= top

    @property
    def may_be_worse(self) -> bool:
        """Whether more trials may show that releasing 0 does better."""
        return self.zero is not None and may_be_worse(self.measured, self.lower, self.zero)

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        found, upper, zero = self.measured, self.upper, self.zero
        return {
            "claim": self.claim,
            "problem": self.problem,
            "regime": self.regime,
            "point": dict(self.point),
            "estimator": self.estimator,
            "privacy": self.privacy,
            "trials": found.trials,
            "seed": found.seed,
            "risk": found.risk,
            "ci_low": found.ci_low,
            "ci_high": found.ci_high,
            "lower": self.lower,
            "lower_source": self.lower_source,
            "upper": upper.value if upper else None,
            "upper_source": upper.source if upper else None,
            "upper_remark": upper.remark if upper else None,
            "upper_vacuous": upper.vacuous if upper else None,
            "ratio": self.ratio,
            "noticed_from": self.noticed_from,
            "verdict": self.verdict.value,
            "reason": self.reason.value,
            "zero_release": zero.largest if zero else None,
            "zero_release_under_prior": zero.under_prior.risk if zero else None,
            "against_zero": self.against_zero,
        }


@dataclass(frozen=True)
class WorstCaseRow(Row):
    """The worst risk at one log d, with the packing bound and what CWZ19: Theorem 3.3 claims."""

    packing: float
    claimed: float

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {**super().as_json(), "packing": self.packing, "claimed": self.claimed}


@dataclass(frozen=True)
class SlopeRow:
    """The exponent fitted to the risks of some cells, beside the bound's."""

    claim: str
    regime: Regime
    variable: str
    slope: Slope
    expected: float
    expected_source: str
    rows: tuple[Row, ...]
    """The cells it was fitted to."""

    @property
    def points(self) -> list[float]:
        """The values of the variable."""
        return [row.point[self.variable] for row in self.rows]

    @property
    def verdict(self) -> Verdict:
        """Whether the exponent is the expected one."""
        return self.reason.verdict

    @property
    def reason(self) -> Reason:
        """What happened, in words."""
        return slope_reason(self.slope, self.expected)

    @property
    def is_clear(self) -> bool:
        """Whether the whole interval is within the tolerance."""
        return self.reason is Reason.EXPONENT

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {
            "claim": self.claim,
            "regime": self.regime,
            "variable": self.variable,
            **asdict(self.slope),
            "expected": self.expected,
            "expected_source": self.expected_source,
            "tolerance": SLOPE_TOLERANCE,
            "verdict": self.verdict.value,
            "reason": self.reason.value,
            "labels": [row.label for row in self.rows],
            "points": self.points,
        }


@dataclass(frozen=True)
class LevelControl:
    """An estimator that must break a bound: its risk has to lie on the wrong side of it."""

    claim: str
    kind: str
    point: Point
    measured: Measurement
    side: Literal["lower", "upper"]
    bound: float

    @property
    def comparison(self) -> tuple[str, str]:
        """What was measured, and how it must stand to the bound, as tables show it."""
        sign = "<" if self.side == "lower" else ">"
        return f"{self.measured.risk:.3g}", f"{sign} {self.bound:.3g}"

    @property
    def broke(self) -> bool:
        """Whether the whole interval is on the wrong side."""
        if self.side == "lower":
            return self.measured.ci_high < self.bound
        return self.measured.ci_low > self.bound

    @property
    def reason(self) -> str:
        """What happened, in words."""
        if self.broke:
            return f"{self.side} bound broken, as it must be"
        right = self.measured.risk >= self.bound
        if right == (self.side == "lower"):
            return f"{self.side} bound kept, which it must not be"
        return f"interval too wide to see the {self.side} bound broken"

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {
            "claim": self.claim,
            "kind": self.kind,
            "point": dict(self.point),
            **asdict(self.measured),
            "side": self.side,
            "bound": self.bound,
            "broke": self.broke,
            "reason": self.reason,
        }


@dataclass(frozen=True)
class SlopeControl:
    """An exponent off by one, on either side: the check must reject it.

    A risk whose exponent is one off the expected one, measured as precisely as this one, must be
    rejected: this depends on the width of the interval alone, and not on where the fitted exponent
    happens to lie. (If that is near one that is one off, the check itself is violated, or
    inconclusive. Where it is consistent, the data reject those one off.)
    """

    of: SlopeRow
    side: Literal["slope"] = "slope"

    @property
    def claim(self) -> str:
        """The claim whose exponent it is."""
        return self.of.claim

    @property
    def kind(self) -> str:
        """What is done, in words."""
        return f"exponent in {self.of.variable} shifted by one ({self.of.regime})"

    @property
    def bound(self) -> float:
        """The shifted exponent; for log d the one that CWZ19: Theorem 3.3 claims."""
        return self.of.expected + 1

    @property
    def comparison(self) -> tuple[str, str]:
        """The shifted exponent, measured as precisely as the fitted one, and what it must be told
        from, as tables show it."""
        slope = self.of.slope
        return (
            f"if {self.bound:+.2f} ±{slope.half_width:.2f}",
            f"≠ {self.of.expected:+.2f} ±{SLOPE_TOLERANCE:g}",
        )

    @property
    def broke(self) -> bool:
        """Whether a risk with an exponent one off, on either side, would be rejected."""
        slope, expected = self.of.slope, self.of.expected
        moved = (slope.moved_to(exponent) for exponent in (self.bound, expected - 1))
        return all(slope_reason(each, expected) is Reason.NO_EXPONENT for each in moved)

    @property
    def reason(self) -> str:
        """What happened, in words."""
        if self.broke:
            return "an exponent one off would be rejected, as it must be"
        return "interval too wide to reject an exponent one off"

    def as_json(self) -> JSON:
        """The row as the JSON file has it."""
        return {
            "claim": self.claim,
            "kind": self.kind,
            "side": self.side,
            "bound": self.bound,
            "risk": self.of.slope.fitted,
            "half_width": self.of.slope.half_width,
            "broke": self.broke,
            "reason": self.reason,
        }


Control = LevelControl | SlopeControl


@dataclass(frozen=True)
class Summary:
    """A run in numbers."""

    profile: str
    seed: int
    cells: int
    slopes: int
    coverage: int
    consistent: int
    violated: int
    inconclusive: int
    controls: int
    controls_unbroken: int
    claims_without_a_consistent_cell: list[str]
    dropped: int
    alpha: float
    alpha_per_interval: float
    worse_than_zero: int
    """Cells in which releasing 0 does better than the estimator."""
    not_tight_enough: list[str]
    """Claims whose lower bound could be `INFLATION` times as large, and no cell would notice."""

    def __str__(self) -> str:
        """The run in a sentence."""
        return (
            f"{self.cells} cells, {self.slopes} slopes, {self.coverage} coverages:"
            f" {self.consistent} consistent, {self.violated} violated, {self.inconclusive}"
            f" inconclusive; {self.controls} controls, {self.controls_unbroken} of them unbroken;"
            f" {self.worse_than_zero} cells worse than releasing 0; {self.dropped} points outside a"
            f" regime. Profile {self.profile}, seed {self.seed}, error budget {self.alpha:g} for"
            " the whole run."
        )


@dataclass(frozen=True, repr=False)
class Run:
    """Everything a run found."""

    profile: Profile
    seed: int
    alpha: float
    """Error budget of one interval."""
    cells: Sequence[Row]
    slopes: Sequence[SlopeRow]
    controls: Sequence[Control]
    dropped: Sequence[Dropped]
    ordering: Ordering | None = None
    """Orderings that papers report, as measured; they do not touch the exit code."""
    coverage: Sequence[CoverageRow] = ()
    noise_as_stated: bool | None = None
    """Whether mechanisms draw the noise that they state; None where they were not asked."""
    unseeded: Sequence[str] = ()
    """Claims of one's own whose trials give other numbers each time."""

    def __repr__(self) -> str:
        return f"<run, exit code {self.exit_code}: {self.summary}>"

    def _repr_html_(self) -> str:
        from verify.rates.notebook import run_html  # it shows rows, and so imports this module

        return run_html(self)

    @property
    def unseen(self) -> list[str]:
        """Claims all of whose cells were inconclusive or violated: nothing was shown for them. The
        coverage of a cell is a claim at each of its levels."""
        verdicts = [(row.claim, row.verdict) for row in self.cells]
        verdicts += [(f"{row.claim} at {row.level:.0%}", row.verdict) for row in self.coverage]
        seen = {claim for claim, verdict in verdicts if verdict is Verdict.CONSISTENT}
        return sorted({claim for claim, _ in verdicts} - seen)

    @property
    def tightness(self) -> list[Tightness]:
        """For each claim, how large an error in its lower bound would be noticed."""
        least: dict[str, float] = {}
        for row in self.cells:
            if row.noticed_from is not None:
                least[row.claim] = min(least.get(row.claim, row.noticed_from), row.noticed_from)
        return [Tightness(claim, factor) for claim, factor in least.items()]

    @property
    def summary(self) -> Summary:
        """The run in numbers."""
        judged: list[Row | SlopeRow | CoverageRow] = [*self.cells, *self.slopes, *self.coverage]
        verdicts = [row.verdict for row in judged]
        return Summary(
            profile=self.profile.name,
            seed=self.seed,
            cells=len(self.cells),
            slopes=len(self.slopes),
            coverage=len(self.coverage),
            consistent=verdicts.count(Verdict.CONSISTENT),
            violated=verdicts.count(Verdict.VIOLATED),
            inconclusive=verdicts.count(Verdict.INCONCLUSIVE),
            controls=len(self.controls),
            controls_unbroken=sum(not control.broke for control in self.controls),
            claims_without_a_consistent_cell=self.unseen,
            dropped=len(self.dropped),
            alpha=ALPHA,
            alpha_per_interval=self.alpha,
            worse_than_zero=[row.against_zero for row in self.cells].count("worse"),
            not_tight_enough=[each.claim for each in self.tightness if not each.seen],
        )

    @property
    def exit_code(self) -> int:
        """0 only if nothing is violated, every control broke, every claim was really seen, no cell
        has an estimator that releasing 0 outdoes, and noise is as mechanisms state."""
        found = self.summary
        failed = found.violated or found.controls_unbroken or self.unseen or found.worse_than_zero
        return 1 if failed or self.noise_as_stated is False else 0

    def as_json(self) -> JSON:
        """The run as the JSON file has it."""
        return {
            "summary": asdict(self.summary),
            "cells": [row.as_json() for row in self.cells],
            "slopes": [row.as_json() for row in self.slopes],
            "controls": [row.as_json() for row in self.controls],
            "dropped": [row.as_json() for row in self.dropped],
            "coverage": [row.as_json() for row in self.coverage],
            "ordering": self.ordering.as_json() if self.ordering else None,
            "tightness": [row.as_json() for row in self.tightness],
            "noise_as_stated": self.noise_as_stated,
            "unseeded": list(self.unseeded),
        }
