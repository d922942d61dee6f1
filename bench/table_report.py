"""What `bench/tables.py` found, as tables for the terminal and as `docs/tables.md`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from contest import Verdict
from rich.table import Table
from table_contest import DELTA, Line, Score, Summary, summarised
from table_large import LargeRow, large_verdicts
from table_schemas import TABLES, Column, TableSchema
from table_sections import (
    CoverageRow,
    GoalRow,
    MeanRow,
    WideRow,
    coverage_verdicts,
    goal_verdicts,
    mean_verdicts,
    wide_verdicts,
)

FIGURES = {"regression": ("R2",), "classification": ("accuracy", "log loss")}
SHOWN = {"R2": "R²", "accuracy": "accuracy", "log loss": "log loss"}
KINDS = {"ours": "", "private": "", "not private": " †"}
NOT_PRIVATE = "† not private"

PUBLIC_HEADING = "## What is public"
LONG_LISTS = 12
INTRODUCTION = """# Private regression on real tables

Written by `python bench/tables.py DATA --write docs/tables.md`; `DATA` is a folder with the public
files, which are no part of the repository. Everyone is told the same: the ranges and categories at
the end of this page. No option of any method is chosen on a table; the allowance for clamps and
clips in our intervals has constants that were set on housing, diamonds and made tables. All private
methods have (ε, δ) with δ = {delta:g} under replacement of one record; diffprivlib has ε alone. Of
each table four fifths are for training and one for the test, {splits} splits from seeds 0, 1, ...;
figures are means over splits ± one standard error. "Ours less it" is the mean difference on the
same splits ± half of its 95 % interval. Predictions of all, least squares included, are kept within
the public range of the response. † not private.

![Test scores over ε](tables.png)
"""
COVERAGE_TITLE = "Intervals for the whole table's least squares, rows drawn with replacement, ε = 1"
COVERAGE_NOTE = """A coefficient counts as one case in each draw, and so does the fitted value of
each of 500 rows. Parkinson's has columns that are multiples of others up to rounding (`Jitter:DDP`
is three times `Jitter:RAP`, `Shimmer:DDA` three times `Shimmer:APQ3`): least squares gives them
huge coefficients of opposite signs, made of rounding errors, which no private method can find and
no interval of useful length can hold. Fitted values do not depend on that."""
PEERS_SECTION = """## Who the others are

- **sufficient statistics**: [1, x, y]ᵀ[1, x, y] with one Gaussian release of all entries, its
  eigenvalues cut at 0, ridge s√p for noise s.
- **AdaSSP** (Wang, 2018): `AdaptiveSufficientStatistics`, one joint release, the exact row bound of
  the encoding.
- **averaged clipped DP-GD**: gradients clipped in ℓ₂, the last half of the iterates averaged;
  steps, clip and rate are the best of 27 on made-up tables with the same schema.
- **median of small models** (Amin, Joseph, Ribero and Vassilvitskii, 2023): least squares on
  batches, propose-test-release, a draw by approximate Tukey depth; as many models as pass the test
  on N(0, I), and as there are rows for. Where the test fails, which is a part of the method, it
  predicts the middle of the range.
- **diffprivlib** 0.6.6: `LinearRegression` (functional mechanism), `LogisticRegression` (objective
  perturbation), `mean`, told the ranges of the encoded columns; pure ε.
- **noisy gradient descent**: logistic loss, √(nμ) steps of 4/R² with momentum 0.9, the last half
  averaged; R is the longest row.
- **objective perturbation** (Kifer, Smith and Thakurta, 2012), with the constants of this
  repository for replacement.
- **OpenDP** 0.16: Gaussian means, ρ shared equally between columns.
"""


@dataclass
class Figures:
    """All that was measured; what was not is empty."""

    scores: list[Score] = field(default_factory=list)
    means: list[MeanRow] = field(default_factory=list)
    wide: list[WideRow] = field(default_factory=list)
    goals: list[GoalRow] = field(default_factory=list)
    coverage: list[CoverageRow] = field(default_factory=list)
    large: list[LargeRow] = field(default_factory=list)

    def as_json(self) -> dict[str, list[dict[str, Any]]]:
        """Lists of plain dictionaries."""
        return {name: [row._asdict() for row in rows] for name, rows in vars(self).items()}

    @classmethod
    def from_json(cls, plain: dict[str, list[dict[str, Any]]]) -> Figures:
        """The way back."""
        kinds: dict[str, Any] = {
            "scores": Score, "means": MeanRow, "wide": WideRow, "goals": GoalRow,
            "coverage": CoverageRow, "large": LargeRow,
        }  # fmt: skip
        return cls(**{name: [kinds[name](**row) for row in rows] for name, rows in plain.items()})

    @property
    def splits(self) -> int:
        """How many there were."""
        return len({score.split for score in self.scores})

    @property
    def verdicts(self) -> list[Verdict]:
        """Whether goals are met, of all that was measured."""
        return [
            *goal_verdicts(self.goals),
            *peer_verdicts(self.scores),
            *mean_verdicts(self.means),
            *wide_verdicts(self.wide),
            *coverage_verdicts(self.coverage),
            *(verdict for row in self.large for verdict in large_verdicts(row)),
        ]


def peer_verdicts(scores: list[Score]) -> list[Verdict]:
    """Ours ahead of the best private peer, or within the interval of the difference."""
    found = []
    for schema in TABLES:
        for figure in FIGURES[schema.task]:
            lines = summarised(scores, schema, figure)
            private = [line for line in lines if line.kind == "private"]
            mine = [line for line in lines if line.kind == "ours"]
            if not private or not mine:
                continue
            sign = -1 if figure == "log loss" else 1
            for k, epsilon in enumerate(epsilons_of(scores, schema)):
                best = max(private, key=lambda line, k=k, sign=sign: sign * line.summaries[k].mean)
                lead = best.summaries[k]
                assert lead.lead is not None
                assert lead.margin is not None
                goal = (
                    f"{schema.name}, epsilon = {epsilon:g}: {figure} ahead of the best private"
                    f" peer ({best.name}) or within the interval"
                )
                met = sign * lead.lead + lead.margin >= 0
                found.append(Verdict(goal, met, f"{lead.lead:+.4f} +- {lead.margin:.4f}"))
    return found


def epsilons_of(scores: Iterable[Score], schema: TableSchema) -> list[float]:
    """Those that a table was run at."""
    return sorted({score.epsilon for score in scores if score.table == schema.name})


def shown_mean(found: Summary) -> str:
    """A mean and its standard error."""
    digits = 3 if abs(found.mean) < 10 else 1
    return f"{round(found.mean, digits) + 0.0:.{digits}f} ± {found.error:.{digits}f}"


def shown_lead(found: Summary) -> str:
    """Ours less it."""
    if found.lead is None or found.margin is None:
        return "–"
    digits = 3 if abs(found.lead) < 10 else 1
    return f"{found.lead:+.{digits}f} ± {found.margin:.{digits}f}"


def score_cells(lines: Sequence[Line], leads: bool) -> list[list[str]]:
    """Rows of a table of scores, or of ours less the others'."""
    show = shown_lead if leads else shown_mean
    return [
        [line.name + KINDS[line.kind], *map(show, line.summaries)]
        for line in lines
        if not (leads and line.kind == "ours")
    ]


def score_tables(scores: list[Score], schema: TableSchema) -> list[tuple[str, list[list[str]]]]:
    """Titles and rows, the first row being the head."""
    found = []
    for figure in FIGURES[schema.task]:
        lines = summarised(scores, schema, figure)
        if not lines:
            continue
        head = ["", *(f"ε = {epsilon:g}" for epsilon in epsilons_of(scores, schema))]
        found.append((f"{schema.title}, {SHOWN[figure]}", [head, *score_cells(lines, False)]))
        if any(line.kind == "ours" for line in lines):
            found.append(("Ours less it", [head, *score_cells(lines, True)]))
    return found


def other_tables(figures: Figures) -> list[tuple[str, list[list[str]]]]:
    """The sections that are not about scores."""
    found = []
    if figures.means:
        epsilons = sorted({row.epsilon for row in figures.means})
        named: dict[str, list[str]] = {}
        for row in sorted(figures.means, key=lambda row: row.epsilon):
            noise = "" if row.noise is None else f", {row.noise:.2f}"
            shown = f"{row.error:.2e}{noise}"
            named.setdefault(row.name, []).append(shown)
        head = ["", *(f"ε = {epsilon:g}" for epsilon in epsilons)]
        title = (
            "Means of Adult's numbers: squared error over the squared ranges, and noise"
            " variance over the plain mechanism's"
        )
        found.append((title, [head, *([name, *cells] for name, cells in named.items())]))
    if figures.wide:
        rows = [
            [r.table, r.name, f"{r.told:.3f}", f"{r.wide:.3f}",
             f"{r.told - r.wide:.4f} ± {r.error:.4f}"]
            for r in figures.wide
        ]  # fmt: skip
        head = ["", "", "R²", "ranges × 10", "lost"]
        found.append(("Public ranges ten times too wide, ε = 1", [head, *rows]))
    if figures.coverage:
        head = ["", "90 % intervals of", "coverage", "half-width / sd(y)"]
        rows = [
            [r.table, r.about, f"{r.coverage:.3f} ± {r.error:.3f}", f"{r.half_width:.3f}"]
            for r in figures.coverage
        ]
        found.append((COVERAGE_TITLE, [head, *rows]))
    if figures.large:
        head = ["", "passes", "s a pass", "numpy's", "making chunks", "MB"]
        rows = [
            [r.name, f"{r.passes:.0f}", f"{r.seconds / r.passes:.2f}",
             f"{r.numpy_seconds:.2f}", f"{r.made_seconds:.2f}",
             f"{r.memory[0]:.0f}, {r.memory[1]:.0f}"]
            for r in figures.large
        ]  # fmt: skip
        title = (
            f"{figures.large[0].rows:,} rows of 10 numbers, in chunks (MB at 4 and at 16 chunks)"
        )
        found.append((title, [head, *rows]))
    return found


def terminal_table(title: str, rows: Sequence[Sequence[str]]) -> Table:
    """For a terminal of 80 columns."""
    head, *body = rows
    caption = NOT_PRIVATE if any("†" in row[0] for row in body) else None
    table = Table(*head, title=title, title_justify="left", caption=caption, expand=True)
    for row in body:
        table.add_row(*row)
    return table


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """The same for a document."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def shown_public(column: Column) -> str:
    """A range, or the levels."""
    if column.is_number:
        return "{:,g} to {:,g}".format(*column.bounds).replace("-", "−")
    levels = column.levels
    if len(levels) > LONG_LISTS:
        return ", ".join(levels[:3]) + f", ... ({len(levels)} levels)"
    return ", ".join(levels)


def schema_section() -> str:
    """What `table_schemas` holds, in words: it needs no data."""
    parts = [PUBLIC_HEADING]
    for schema in TABLES:
        rows = [["column", "range or levels", "from"]]
        rows += [
            [f"`{each.name}`", shown_public(each), each.source]
            for each in (*schema.features, schema.response)
        ]
        said = f"{schema.width} encoded columns; the last line is the response."
        parts += [f"### {schema.title}", said, markdown_table(rows)]
    return "\n\n".join(parts) + "\n"


def document(figures: Figures) -> str:
    """`docs/tables.md`."""
    parts = [INTRODUCTION.format(delta=DELTA, splits=figures.splits).rstrip("\n")]
    for schema in TABLES:
        tables = score_tables(figures.scores, schema)
        if tables:
            parts.append(f"## {schema.title}")
        for title, rows in tables:
            parts += [f"**{title.removeprefix(schema.title + ', ')}**", markdown_table(rows)]
    for title, rows in other_tables(figures):
        parts += [f"## {title}", markdown_table(rows)]
        parts += [COVERAGE_NOTE] if title == COVERAGE_TITLE else []
    if figures.verdicts:
        parts += ["## Goals", "\n".join(f"- {verdict}" for verdict in figures.verdicts)]
    return "\n\n".join([*parts, PEERS_SECTION.rstrip("\n"), schema_section()])
