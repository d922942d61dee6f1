"""What was found, in the terminal and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from rich.table import Table

from verify.console import Terminal
from verify.figures.curves import Curve
from verify.figures.judge import Judged, PanelRun
from verify.figures.panel import Panel, Profile
from verify.figures.readings import Control, Verdict
from verify.files import JSON


@dataclass(frozen=True)
class Run:
    """Everything that one command found."""

    panels: tuple[PanelRun, ...]
    profile: Profile
    seed: int

    @property
    def exit_code(self) -> int:
        """0 if every verdict is the recorded one and every control broke."""
        return 0 if all(panel.good for panel in self.panels) else 1

    @property
    def judged(self) -> list[Judged]:
        """All readings."""
        return [each for panel in self.panels for each in panel.judged]

    def summary(self) -> dict[str, object]:
        """Counts."""
        verdicts = Counter(each.verdict for each in self.judged)
        return {
            "profile": self.profile,
            "seed": self.seed,
            "panels": len(self.panels),
            "measured": sum(bool(panel.curves) for panel in self.panels),
            "readings": len(self.judged),
            **{verdict.value: verdicts[verdict] for verdict in Verdict},
            "not as recorded": sum(not each.as_recorded for each in self.judged),
            "controls unbroken": sum(not each.control_broke for each in self.judged),
        }

    def as_json(self) -> JSON:
        """Everything."""
        return {"summary": self.summary(), "panels": [_panel_json(each) for each in self.panels]}


def _panel_json(run: PanelRun) -> JSON:
    panel = run.panel
    return {
        "id": panel.id,
        "title": panel.title,
        "status": run.status,
        "source": panel.id.replace(":", ": "),
        "data": list(panel.data),
        "x": panel.x,
        "metric": panel.metric,
        "printed": dict(panel.printed),
        "ours": dict(panel.ours),
        "caption": panel.caption,
        "series": [_curve_json(curve) for curve in run.curves.values()],
        "claims": [_claim_json(each) for each in run.judged],
    }


def _curve_json(curve: Curve) -> JSON:
    means, halves = curve.means, curve.half_widths()
    return {
        "method": curve.name,
        "variant": curve.variant,
        "x": list(curve.x),
        "mean": list(means),
        "ci_low": [max(m - h, 0.0) for m, h in zip(means, halves, strict=True)],
        "ci_high": list(means + halves),
        "trials": [len(values) for values in curve.losses],
        "options": [{k: str(v) for k, v in each.items()} for each in curve.options],
        "edges": [list(each) for each in curve.edges],
        "epsilon_asked": list(curve.epsilon_asked),
        "epsilon_spent": list(curve.epsilon_spent),
        "delta": list(curve.delta),
        "notes": [
            {name: float(values.mean()) for name, values in each.items()} for each in curve.notes
        ],
    }


def _claim_json(each: Judged) -> JSON:
    return {
        "sentence": each.sentence.quote,
        "about": each.reading.about,
        "test": type(each.reading.test).__name__,
        "verdict": each.verdict.value,
        "expected": each.reading.expected.value,
        "evidence": each.finding.evidence,
        "why": each.reading.why,
        "control_broke": each.control_broke,
        "control": None if each.control is None else _control_json(each.control),
    }


def _control_json(control: Control) -> JSON:
    return {
        "planted": control.planted,
        "verdict": control.finding.verdict.value,
        "evidence": control.finding.evidence,
    }


# --- the terminal ---------------------------------------------------------------------------------


def print_list(panels: Sequence[Panel], missing: set[str], console: Terminal) -> None:
    """The panels, what they show, and the data that they need."""
    from verify.data_sets import DATA_SETS

    table = Table("panel", "what", "data", box=None, pad_edge=False)
    for panel in panels:
        told = ", ".join(
            f"{each.file} ({'missing' if each.file in missing else each.acceptance})"
            for each in (DATA_SETS[key] for key in panel.data)
        )
        table.add_row(panel.id, panel.title, told)
    console.print(table)


def print_run(run: Run, console: Terminal) -> None:
    """A line for every reading, and the counts."""
    for panel in run.panels:
        console.print(f"[bold]{panel.panel.id}[/bold] {panel.panel.title}", highlight=False)
        for each in panel.judged:
            _print_reading(each, console)
    _print_summary(run, console)


def _print_reading(each: Judged, console: Terminal) -> None:
    colour = {Verdict.REPRODUCED: "green", Verdict.NOT_SEPARATED: "yellow", Verdict.NO_DATA: "dim"}
    style = colour.get(each.verdict, "magenta")
    wrong = "" if each.as_recorded else f" [red](recorded: {each.reading.expected.value})[/red]"
    if not each.control_broke:
        wrong += " [red](its control did not break)[/red]"
    console.print(
        f"  [{style}]{each.verdict.value}[/{style}]{wrong} {each.reading.about}", highlight=False
    )


def _print_summary(run: Run, console: Terminal) -> None:
    told = run.summary()
    console.print()
    for name, count in told.items():
        console.print(f"{name}: {count}", highlight=False)


def print_whole(run: Run, console: Terminal) -> None:
    """Panels with their set-up, curves, sentences, verdicts and evidence."""
    for found in run.panels:
        panel = found.panel
        console.print(f"[bold]{panel.id}[/bold] {panel.title}", highlight=False)
        for head, facts in (("the paper", panel.printed), ("ours", panel.ours)):
            for name, value in facts.items():
                console.print(f"  [dim]{head}:[/dim] {name}: {value}", highlight=False)
        if panel.caption:
            console.print(f"  {panel.caption}", highlight=False)
        if found.curves:
            console.print(_curves_table(found))
        for sentence, judged in groupby(found.judged, lambda each: each.sentence.quote):
            console.print(f"  “{sentence}”", highlight=False, markup=False)
            for each in judged:
                _print_judged(each, console)
        console.print()


def _print_judged(each: Judged, console: Terminal) -> None:
    """A reading with its evidence, its reason and its control."""
    _print_reading(each, console)
    told = [each.finding.evidence, each.reading.why]
    told += [] if each.control is None else [control_text(each.control)]
    for line in told:
        console.print(f"    {line}", highlight=False, markup=False)


def control_text(control: Control) -> str:
    """What was planted, and what the test said of it."""
    told = f"{control.finding.verdict.value}: {control.finding.evidence}"
    return f"control, with {control.planted} planted: {told}"


def _curves_table(found: PanelRun) -> Table:
    table = Table("curve", "ε spent", box=None, pad_edge=False, title=found.panel.metric)
    first = next(iter(found.curves.values()))
    for x in first.x:
        table.add_column(f"{found.panel.x} = {x:g}", justify="right")
    for curve in found.curves.values():
        cells = [
            f"{m:.3g} ± {h:.1g}" for m, h in zip(curve.means, curve.half_widths(), strict=True)
        ]
        table.add_row(f"{curve.name} ({curve.variant})", spent_text(curve), *cells)
    return table


def spent_text(curve: Curve) -> str:
    """The epsilon really spent, over all places."""
    known = [value for value in curve.epsilon_spent if value is not None]
    if not known or curve.variant == "not private":
        return "–"
    low, high = _short(min(known)), _short(max(known))
    return low if low == high else f"{low} … {high}"


def _short(epsilon: float) -> str:
    return "<.001" if epsilon < 1e-3 else f"{epsilon:.3g}"
