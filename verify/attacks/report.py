"""What a person reads of a run: a row for each match, and one line that sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.markup import escape

from attacks import Estimate, GameResult
from attacks.intervals import student_quantile
from minimax.core.privacy import Privacy
from verify.attacks.judge import Row
from verify.attacks.tails import DELTA, D, N, Tails
from verify.console import new_table

LEGEND = (
    "sum: what members score in all; forced: what the attack's identity says it is, whatever the"
    " estimator; allowed: the most under the claim; outsiders: their mean score, in standard"
    " errors; AUC: chance that a member outranks an outsider."
)


@dataclass(frozen=True)
class Run:
    """All rows of a run."""

    rows: tuple[Row, ...]
    tails: tuple[Tails, ...]
    seed: int
    confidence: float

    @property
    def exit_code(self) -> int:
        """0 if every verdict is what it must be."""
        kept = [row.well for row in self.rows] + [each.well for each in self.tails]
        return 0 if all(kept) else 1

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        return {
            "seed": self.seed,
            "confidence": self.confidence,
            "exit_code": self.exit_code,
            "rows": [row.to_dict() for row in self.rows],
            "lemma_2_1": [each.to_dict() for each in self.tails],
        }

    def summary(self) -> str:
        """How many of each kind are what they must be."""
        broken = [row for row in self.rows if row.match.fails is not None]
        others = [row for row in self.rows if row.match.fails is None]
        parts = []
        if others:
            parts.append(f"{sum(r.well for r in others)} of {len(others)} keep every statement")
        if broken:
            parts.append(f"{sum(r.well for r in broken)} of {len(broken)} controls are caught")
        if self.tails:
            kept = sum(each.well for each in self.tails)
            parts.append(f"Lemma 2.1 holds in {kept} of {len(self.tails)}")
        return f"{'; '.join(parts)}; confidence {self.confidence:g} in all, seed {self.seed}"


def print_run(found: Run, console: Console) -> None:
    """A table for each attack, those of the controls last."""
    for name in dict.fromkeys(row.match.setting.name for row in found.rows):
        own = [row for row in found.rows if row.match.setting.name == name]
        attack = own[0].match.setting.attack
        console.print(f"{name}: {escape(attack.name)} ({attack.source})", highlight=False)
        table = new_table(
            "", ("estimator / claim",), ("sum", "forced", "allowed", "outsiders", "AUC", "verdict")
        )
        for row in own:
            table.add_row(_named(row), *_figures(row), _verdict(row))
        console.print(table)
    if found.tails:
        _print_tails(found.tails, console)
    console.print(LEGEND, highlight=False)
    console.print(found.summary(), highlight=False)


def _named(row: Row) -> str:
    claim = "" if row.match.claim is None else in_letters(row.match.claim)
    control = "" if row.match.fails is None else f"control: {row.match.fails} must fail"
    lines = [row.match.name, claim, control, *reasons(row)]
    shown = [escape(lines[0]), *(f"[dim]{escape(line)}[/]" for line in lines[1:] if line)]
    return "\n".join(shown)


LETTERS = {"epsilon": "ε", "delta": "δ", "rho": "ρ", "mu": "μ"}


def in_letters(claim: Privacy) -> str:
    """A claim in a few characters."""
    numbers = [f"{LETTERS.get(name, name)}={x:g}" for name, x in claim.parameters.items()]
    return ", ".join([*numbers, *([] if claim.scope == "central" else [claim.scope])])


def reasons(row: Row) -> list[str]:
    """What failed that should not have, or why nothing was played."""
    if row.game is None:
        return [row.error]
    failed = [f"{c.name}: {c.told}" for c in row.checks if c.passed is False]
    return [] if row.well else failed or ["nothing failed"]


def _figures(row: Row) -> Sequence[str]:
    game = row.game
    if game is None:
        return "-", "-", "-", "-", "-"
    forced, allowed = game.completeness, row.ceiling
    shown = [_number(game.member_sum), _number(forced), _number(allowed)]
    return *shown, f"{standard_errors(game.outsider_mean, game):.1f}", f"{game.auc.value:.3f}"


def standard_errors(mean: Estimate, game: GameResult) -> float:
    """A mean in units of its standard error, by its interval's length."""
    half = (mean.high - mean.low) / 2
    quantile = student_quantile(game.trials, 1 - game.confidence)
    return mean.value / half * quantile if half else 0.0


def _number(found: Estimate | None) -> str:
    return "-" if found is None else f"{found.value:.3g}"


def _verdict(row: Row) -> str:
    style = "green" if row.well else "bold red"
    return f"[{style}]{row.verdict}[/]"


def _print_tails(tails: Sequence[Tails], console: Console) -> None:
    console.print(
        f"Lemma 2.1 at n = {N}, d = {D}, delta = {DELTA:g}: both chances are below delta",
        highlight=False,
    )
    table = new_table("", ("estimator",), ("part 1", "part 2", "near", "control", "verdict"))
    for each in tails:
        shown = [_chance(each, count) for count in (each.outsiders, each.members)]
        rest = [f"{each.near}/{each.trials}", f"{each.control}/{each.trials}"]
        style = "green" if each.well else "bold red"
        verdict = f"[{style}]{'HOLDS' if each.well else 'BROKEN'}[/]"
        table.add_row(escape(each.estimator), *shown, *rest, verdict)
    console.print(table)


def _chance(each: Tails, count: int) -> str:
    low, high = each.interval(count)
    return f"{count / each.trials:.2g} [{low:.2g}, {high:.2g}]"
