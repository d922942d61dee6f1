"""What a person reads: tables of cells, slopes and controls, and one line that sums them up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from verify.rates.claim import Ceiling, Claim
from verify.rates.judge import SLOPE_TOLERANCE, Verdict
from verify.rates.rows import Control, Row, Run, SlopeRow
from verify.rates.special import Extra
from verify.rates.special.coverage import CoverageRow
from verify.rates.special.ordering.rows import Ordering

STYLE = {
    Verdict.CONSISTENT: "green",
    Verdict.VIOLATED: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
}
RELATION = {"lower": "<", "upper": ">", "slope": "≠"}
"""How a control must stand to the bound that it breaks."""


def list_claims(claims: Sequence[Claim], extras: Sequence[Extra], console: Console) -> None:
    """The claims, one line each, and what else is run."""
    table = Table("claim", "lower bound", "estimator", "upper bound", title="claims")
    for claim in claims:
        table.add_row(
            claim.name,
            f"{claim.lower.name} [dim]({claim.lower.source})[/dim]",
            claim.estimator,
            "proven" if claim.upper else "-",
        )
    for extra in extras:
        table.add_row(extra.name, extra.against, extra.by, "-")
    console.print(table)


def print_report(found: Run, console: Console) -> None:
    """Cells, slopes, controls, what was dropped, and one line that sums it up."""
    if found.cells:
        console.print(_cell_table(found.cells))
    if found.slopes:
        console.print(_slope_table(found.slopes))
    if found.coverage:
        console.print(_coverage_table(found.coverage))
    if found.controls:
        console.print(_control_table(found.controls))
    for point in found.dropped:
        console.print(f"dropped {point.claim} at {numbers(point.point)}: {point.reason}")
    s = found.summary
    console.print(
        f"{s.cells} cells, {s.slopes} slopes, {s.coverage} coverages: {s.consistent} consistent,"
        f" {s.violated} violated, {s.inconclusive} inconclusive; {s.controls} controls,"
        f" {s.controls_unbroken} of them unbroken; {s.worse_than_zero} cells worse than"
        f" releasing 0; {s.dropped} points outside a regime."
        f" Profile {s.profile}, seed {s.seed}, error budget {s.alpha:g} for the whole run."
    )


def print_ordering(found: Ordering, console: Console) -> None:
    """The orderings that papers report, as measured."""
    table = Table(title="orderings that papers report, as measured (no verdict on the code)")
    for column in ("experiment", "reported ahead", "of"):
        table.add_column(column)
    for column in ("ahead", "behind", "not separated", "better than releasing 0"):
        table.add_column(column, justify="right")
    for tally in found.claims:
        pair = tally.pair
        if pair.reported:
            counts = [str(count) for count in (tally.ahead, tally.behind, tally.not_separated)]
            own = (pair.experiment, pair.first)
            rows = [row for row in found.rows if (row.experiment, row.method) == own]
            better = sum(row.against_zero == "better" for row in rows)
            counts.append(f"{better} of {len(rows)}")
            table.add_row(pair.experiment, pair.first, pair.second, *counts)
    console.print(table)


def numbers(point: Mapping[str, float]) -> str:
    """A point in a few words, without what is the same everywhere."""
    shown = {k: v for k, v in point.items() if k not in ("sigma", "radius", "signal")}
    return " ".join(f"{name}={value:.4g}" for name, value in shown.items())


def _cell_table(rows: Sequence[Row]) -> Table:
    table = Table(title="measured Bayes risk under the prior of the lower bound's proof")
    table.add_column("claim / estimator")
    table.add_column("point")
    for column in ("lower", "risk", "interval", "upper", "risk/lower"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    previous = None
    for row in rows:
        name = "" if row.claim == previous else f"{row.claim}\n[dim]{row.estimator}[/dim]"
        previous = row.claim
        found = row.measured
        table.add_row(
            name,
            numbers(row.point),
            f"{row.lower:.3g}",
            f"{found.risk:.3g}",
            f"{found.ci_low:.3g} … {found.ci_high:.3g}",
            _ceiling_text(row.upper),
            "-" if row.ratio is None else f"{row.ratio:.3g}",
            _verdict_text(row.verdict) + _zero_text(row),
        )
    return table


def _zero_text(row: Row) -> str:
    return "\n[bold red]worse than releasing 0[/]" if row.against_zero == "worse" else ""


def _ceiling_text(upper: Ceiling | None) -> str:
    if upper is None:
        return "-"
    return f"{upper.value:.3g}" + (" (vacuous)" if upper.vacuous else "")


def _verdict_text(verdict: Verdict) -> str:
    return f"[{STYLE[verdict]}]{verdict.value}[/]"


def _slope_table(rows: Sequence[SlopeRow]) -> Table:
    table = Table(
        title="exponents: fitted to the measured risk, and the bound's deep in the regime"
    )
    for column in ("claim", "regime", "in"):
        table.add_column(column)
    for column in ("fitted", "interval", "bound"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    for row in rows:
        table.add_row(
            row.claim,
            row.regime,
            row.variable,
            f"{row.slope.fitted:+.2f}",
            f"{row.slope.ci_low:+.2f} … {row.slope.ci_high:+.2f}",
            f"{row.expected:+.2f} ± {SLOPE_TOLERANCE:g}",
            _verdict_text(row.verdict),
        )
    return table


def _coverage_table(rows: Sequence[CoverageRow]) -> Table:
    table = Table(title="coverage of confidence intervals, one coordinate of each fit")
    table.add_column("claim / estimator")
    for column in ("level", "coverage", "exact interval", "fits"):
        table.add_column(column, justify="right", no_wrap=True)
    table.add_column("verdict")
    previous = None
    for row in rows:
        name = "" if row.claim == previous else f"{row.claim}\n[dim]{row.estimator}[/dim]"
        previous = row.claim
        found = row.measured
        table.add_row(
            name,
            f"{row.level:g} ± {row.tolerance:g}",
            f"{found.risk:.4f}",
            f"{found.ci_low:.4f} … {found.ci_high:.4f}",
            f"{found.trials}",
            _verdict_text(row.verdict),
        )
    return table


def _control_table(controls: Sequence[Control]) -> Table:
    table = Table(title="controls: each must break its bound")
    table.add_column("claim")
    table.add_column("control")
    table.add_column("measured", justify="right")
    table.add_column("must be", justify="right")
    table.add_column("broke")
    for control in controls:
        table.add_row(
            control.claim,
            control.kind,
            f"{control.shown:.3g}",
            f"{RELATION[control.side]} {control.bound:.3g}",
            "[green]yes[/]" if control.broke else "[bold red]NO[/]",
        )
    return table
