"""What a person reads: tables of cells, slopes and controls, and one line that sums them up.

The tables are whole at 80 columns: words are folded and never cut, and no meaning is in a colour.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from verify.rates.claim import Ceiling, Claim
from verify.rates.grid import shown_point
from verify.rates.grouped import INDENT, Grouped
from verify.rates.judge import SLOPE_TOLERANCE, Verdict
from verify.rates.measure import Measurement
from verify.rates.rows import Control, LevelControl, Row, Run, SlopeRow
from verify.rates.special import Extra
from verify.rates.special.coverage import CoverageRow
from verify.rates.special.ordering.rows import Ordering
from verify.rates.tightness import INFLATION, NOT_TIGHT

STYLE = {
    Verdict.CONSISTENT: "green",
    Verdict.VIOLATED: "bold red",
    Verdict.INCONCLUSIVE: "yellow",
}
ZERO_TEXT = {
    "worse": "\n[bold red]worse than releasing 0[/]",
    "worse under the prior": "\nworse than releasing 0 under the prior",
}
NOISE = "a mechanism does not draw the noise that it states: losses were taken as they are"
SAME_EVERYWHERE = ("sigma", "radius", "signal")


def list_claims(claims: Sequence[Claim], extras: Sequence[Extra], console: Console) -> None:
    """The claims, and what else is run."""
    for claim in claims:
        lower = f"lower: {escape(claim.lower.name)} [dim]({escape(claim.lower.source)})[/dim]"
        why = f": {escape(claim.unproved)}" if claim.unproved else ""
        upper = "upper: proven" if claim.upper else f"no upper bound{why}"
        _list(console, claim.name, claim.estimator, lower, upper)
    for extra in extras:
        _list(console, extra.name, extra.by, f"against {extra.against}")


def _list(console: Console, name: str, estimator: str, *lines: str) -> None:
    console.print(_heading(name, estimator), highlight=False)
    for line in lines:
        console.print(Padding(line, (0, 0, 0, INDENT)), highlight=False)


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
    for each in found.tightness:
        if not each.seen:
            console.print(
                f"{NOT_TIGHT}: the lower bound of {each.claim} could be {INFLATION:g} times as"
                f" large; its cells notice from {each.noticed_from:.3g} times",
                highlight=False,
            )
    if found.noise_as_stated is False:
        console.print(f"[bold red]FAILED[/]: {NOISE}")
    for line in remarks(found):
        console.print(line, highlight=False, markup=False)
    console.print(str(found.summary), highlight=False)


def print_summary(found: Run, console: Console) -> None:
    """Ten lines, what a reader should know of them, and what failed."""
    s, unseen = found.summary, found.unseen
    least = min((t.noticed_from for t in found.tightness if t.noticed_from >= 1), default=None)
    lines = [
        f"profile {s.profile}, seed {s.seed}, error budget {s.alpha:g} for the whole run",
        f"{s.cells} cells, {s.slopes} slopes, {s.coverage} coverages",
        f"{s.consistent} consistent",
        f"{s.violated} violated",
        f"{s.inconclusive} inconclusive",
        f"{s.controls} controls, {s.controls_unbroken} of them unbroken",
        f"{s.worse_than_zero} cells worse than releasing 0",
        f"{s.dropped} points outside a regime; {len(unseen)} claims of which nothing was seen",
        f"{len(s.not_tight_enough)} lower bounds {NOT_TIGHT}"
        + ("" if least is None else f"; the tightest is noticed from x {least:.3g}"),
        _outcome(found),
    ]
    for line in (*lines, *failures(found), *remarks(found)):
        console.print(line, highlight=False, markup=False)


def _outcome(found: Run) -> str:
    if found.exit_code:
        return "FAILED"
    judged = (*found.cells, *found.slopes, *found.coverage, *found.controls)
    return "all is well" if judged else "nothing was judged"


def remarks(found: Run) -> list[str]:
    """What no verdict says, and makes no run fail."""
    controlled = {each.claim for each in found.controls if isinstance(each, LevelControl)}
    judged = dict.fromkeys(row.claim for row in found.cells if row.zero is not None)
    without = [claim for claim in judged if claim not in controlled]
    told = [f"no level control: {', '.join(without)} (no sweep where privacy dominates)"]
    zero = [
        f"{row.label}: releasing 0 does better under the prior of the lower bound, of which a bound"
        " that is loose says nothing: told, not failed"
        for row in found.cells
        if row.against_zero == "worse under the prior"
    ]
    unfitted = [
        f"{point.claim}: no exponent in {point.unfitted} is fitted: too few of its points are in"
        " the regime of the lower bound"
        for point in found.dropped
        if point.unfitted
    ]
    unseeded = [
        f"{claim}: its trials give other numbers each time, whatever the seed: what it measures"
        " cannot be measured again"
        for claim in found.unseeded
    ]
    return [*(told if without else ()), *zero, *dict.fromkeys(unfitted), *unseeded]


def failures(found: Run) -> list[str]:
    """A line for everything that makes a run fail."""
    cells = [f"{row.label}: {row.reason}" for row in found.cells if _violated(row)]
    zero = [f"{r.label}: worse than releasing 0" for r in found.cells if r.against_zero == "worse"]
    slopes = [
        f"{row.claim}: {row.reason} in {row.variable}: {row.slope.fitted:+.2f}, the bound has"
        f" {row.expected:+.2f}"
        for row in found.slopes
        if _violated(row)
    ]
    coverage = [
        f"{row.claim} at {shown_point(row.point)}: {row.reason}: {row.measured.risk:.3f} at level"
        f" {row.level:g}"
        for row in found.coverage
        if _violated(row)
    ]
    controls = [f"{c.claim}: {c.kind}: {c.reason}" for c in found.controls if not c.broke]
    unseen = [f"{claim}: no cell is consistent" for claim in found.unseen]
    noise = [] if found.noise_as_stated is not False else [NOISE]
    return [*noise, *cells, *zero, *slopes, *coverage, *controls, *unseen]


def _violated(row: Row | SlopeRow | CoverageRow) -> bool:
    return row.verdict is Verdict.VIOLATED


def print_ordering(found: Ordering, console: Console) -> None:
    """The orderings that papers report, as measured."""
    table = Grouped(
        "orderings that papers report, as measured (no verdict on the code)",
        ("experiment / reported", "ahead", "behind", "not separated", "better than 0"),
    )
    for tally in found.claims:
        pair = tally.pair
        if pair.reported:
            counts = [str(count) for count in (tally.ahead, tally.behind, tally.not_separated)]
            own = (pair.experiment, pair.first)
            rows = [row for row in found.rows if (row.experiment, row.method) == own]
            better = sum(row.against_zero == "better" for row in rows)
            counts.append(f"{better} of {len(rows)}")
            table.add(escape(pair.experiment), f"{pair.first} ahead of {pair.second}", *counts)
    console.print(table)


def numbers(point: Mapping[str, float]) -> str:
    """A point in a few words, without what is the same everywhere."""
    shown = {k: v for k, v in point.items() if k not in SAME_EVERYWHERE}
    return " ".join(f"{name}={value:.4g}" for name, value in shown.items())


def percent(found: Measurement) -> str:
    """A risk with half its interval, in percent of it."""
    if found.ci_high == found.ci_low:
        return f"{found.risk:.3g}"
    return f"{found.risk:.3g} ±{(found.ci_high - found.risk) / found.risk:.0%}"


def over_lower(row: Row) -> str:
    """Risk over lower bound, and from which factor on an inflated bound would be noticed."""
    if row.ratio is None or row.noticed_from is None:
        return "-"
    return f"{_times(row.ratio)} ({_times(row.noticed_from)})"


def _times(factor: float) -> str:
    """A factor, to three places; up to a million it has no exponent, which takes more room."""
    return f"{factor:.3g}" if factor < 1e3 or factor >= 1e6 else f"{float(f'{factor:.3g}'):.0f}"


def _cell_table(rows: Sequence[Row]) -> Grouped:
    table = Grouped(
        "measured Bayes risk under the prior of the lower bound's proof;\n"
        "in brackets: from which factor on an inflated lower bound would be noticed",
        ("claim, estimator / point", "lower", "risk", "upper", "× lower", "verdict"),
    )
    for row in rows:
        table.add(
            _heading(row.claim, row.estimator),
            numbers(row.point),
            f"{row.lower:.3g}",
            percent(row.measured),
            ceiling_text(row.upper),
            over_lower(row),
            _verdict_text(row) + _zero_text(row),
        )
    return table


def _heading(claim: str, estimator: str) -> str:
    return f"{escape(claim)}  [dim]{escape(estimator)}[/dim]"


def _zero_text(row: Row) -> str:
    return ZERO_TEXT.get(row.against_zero or "", "")


def ceiling_text(upper: Ceiling | None) -> str:
    """An upper bound, and whether it says nothing."""
    if upper is None:
        return "-"
    return f"{upper.value:.3g}" + (" (vacuous)" if upper.vacuous else "")


def _verdict_text(row: Row | SlopeRow | CoverageRow) -> str:
    """The verdict, and why unless all is well."""
    why = "" if row.verdict is Verdict.CONSISTENT else f"\n{row.reason}"
    return f"[{STYLE[row.verdict]}]{row.verdict.value}[/]{why}"


def _slope_table(rows: Sequence[SlopeRow]) -> Grouped:
    table = Grouped(
        "exponents: fitted to the measured risk, and the bound's deep in the regime",
        ("claim / in", "fitted", "bound", "verdict"),
    )
    for row in rows:
        table.add(
            escape(row.claim),
            f"{row.variable} ({row.regime})",
            f"{row.slope.fitted:+.2f} ±{row.slope.half_width:.2f}",
            f"{row.expected:+.2f} ±{SLOPE_TOLERANCE:g}",
            _verdict_text(row),
        )
    return table


def _coverage_table(rows: Sequence[CoverageRow]) -> Grouped:
    table = Grouped(
        "coverage of confidence intervals, one coordinate of each fit",
        ("cell, estimator / level", "coverage", "exact interval", "fits", "verdict"),
    )
    for row in rows:
        found = row.measured
        table.add(
            _heading(row.claim, row.estimator),
            f"{row.level:g} ±{row.tolerance:g}",
            f"{found.risk:.4f}",
            f"{found.ci_low:.4f} to {found.ci_high:.4f}",
            f"{found.trials}",
            _verdict_text(row),
        )
    return table


def _control_table(controls: Sequence[Control]) -> Grouped:
    table = Grouped(
        "controls: each must break its bound", ("claim / control", "measured", "must be", "broke")
    )
    for control in controls:
        table.add(
            escape(control.claim),
            escape(control.kind),
            *control.comparison,
            "[green]yes[/]" if control.broke else f"[bold red]NO[/]\n{control.reason}",
        )
    return table
