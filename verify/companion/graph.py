"""What rests on what, as a picture: statements in rows, each below what it uses.

Rows are filled in the order of the text, no wider than the page; within a row a statement moves
towards the middle of what it is joined to. An edge that follows from two others is left out: what
rests on what can still be read off, and the statements' own pages have every edge.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from verify.proofs.entry import Status

ROW, GAP, HEIGHT, MARGIN = 66.0, 14.0, 26.0, 15.0
CHARACTER, PADDING, LINE = 6.7, 20.0, 13.0
ONE_LINE, LONGEST = 21, 24
"""Characters: of a label that stays in one line, and of a line of a longer one."""
SWEEPS = 8
SHAPES = {
    "theorem": "hexagon",
    "corollary": "hexagon",
    "lemma": "pill",
    "fact": "pill",
    "example": "pill",
    "algorithm": "slanted",
    "experiment": "slanted",
    "definition": "box",
    "assumption": "box",
    "equation": "plain",
    "remark": "dashed",
}
"""The shape of a kind of statement."""


@dataclass(frozen=True)
class Node:
    """A statement in the picture."""

    id: str
    label: str
    kind: str
    status: Status
    address: str
    title: str
    ghost: bool = False
    """Whether it is of another paper."""
    here: bool = False
    """Whether it is the statement of the page."""

    @property
    def lines(self) -> list[str]:
        """Its label, in several lines if it is long: the first ends at a comma."""
        if len(self.label) <= ONE_LINE:
            return [self.label]
        head, comma, tail = self.label.partition(", ")
        parts = [f"{head},", tail] if comma else [self.label]
        return [line for part in parts for line in textwrap.wrap(part, LONGEST)]

    @property
    def width(self) -> float:
        """In the picture."""
        return CHARACTER * max(map(len, self.lines)) + PADDING

    @property
    def height(self) -> float:
        """In the picture."""
        return HEIGHT + LINE * (len(self.lines) - 1)


@dataclass(frozen=True)
class Edge:
    """From what is used to what uses it."""

    used: str
    user: str
    proof_only: bool


Places = dict[str, tuple[float, float]]


def rows_of(nodes: Sequence[Node], edges: Sequence[Edge], width: float) -> list[list[str]]:
    """Rows from the top, each node below all that it uses and no row wider than `width`."""
    below: dict[str, list[str]] = {node.id: [] for node in nodes}
    for edge in edges:
        below[edge.user].append(edge.used)
    row_of: dict[str, int] = {}
    filled: list[float] = []
    widths = {node.id: node.width + GAP for node in nodes}
    for name in _in_order(below):
        row = 1 + max((row_of[used] for used in below[name]), default=-1)
        while row < len(filled) and filled[row] + widths[name] > width:
            row += 1
        filled += [0.0] * (row + 1 - len(filled))
        filled[row] += widths[name]
        row_of[name] = row
    return [[name for name in row_of if row_of[name] == row] for row in range(len(filled))]


def _in_order(below: Mapping[str, Sequence[str]]) -> list[str]:
    """Every name after all that it uses; otherwise as they come."""
    found: dict[str, None] = {}

    def visit(name: str) -> None:
        if name not in found:
            for used in below[name]:
                visit(used)
            found[name] = None

    for name in below:
        visit(name)
    return list(found)


def essential(edges: Sequence[Edge]) -> list[Edge]:
    """The edges that do not follow from a longer way."""
    above: dict[str, set[str]] = {}
    for edge in edges:
        above.setdefault(edge.used, set()).add(edge.user)

    def reached(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(above.get(start, ()))
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += above.get(name, ())
        return found

    beyond = {name: reached(name) for name in above}
    return [
        edge
        for edge in edges
        if not any(edge.user in beyond.get(n, ()) for n in above[edge.used] if n != edge.user)
    ]


def places(nodes: Sequence[Node], edges: Sequence[Edge], width: float) -> Places:
    """The middle of every node."""
    rows = rows_of(nodes, edges, width)
    widths = {node.id: node.width for node in nodes}
    joined: dict[str, list[str]] = {node.id: [] for node in nodes}
    for edge in edges:
        joined[edge.user].append(edge.used)
        joined[edge.used].append(edge.user)
    x = {name: at for row in rows for name, at in _spread(row, widths, width).items()}
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wish = {n: _mean([x[other] for other in joined[n]], x[n]) for n in row}
            row.sort(key=wish.__getitem__)
            x |= _spread(row, widths, width)
    return {
        name: (x[name], MARGIN + HEIGHT / 2 + ROW * i) for i, row in enumerate(rows) for name in row
    }


def _mean(values: Sequence[float], otherwise: float) -> float:
    return sum(values) / len(values) if values else otherwise


def _spread(row: Sequence[str], widths: Mapping[str, float], width: float) -> dict[str, float]:
    """A row's nodes side by side, with the same room between them, in the middle of the page."""
    taken = sum(widths[name] for name in row)
    room = min((width - taken) / (len(row) + 1), 70.0)
    at = (width - taken - room * (len(row) - 1)) / 2
    found = {}
    for name in row:
        found[name] = at + widths[name] / 2
        at += widths[name] + room
    return found


def picture(
    nodes: Sequence[Node], edges: Sequence[Edge], label: str, root: str, width: float = 1180.0
) -> str:
    """The graph as SVG, every node a link."""
    kept = essential(edges)
    at = places(nodes, kept, width)
    height = max(y for _, y in at.values()) + HEIGHT / 2 + MARGIN
    lines = "".join(_edge(edge, at) for edge in kept)
    shapes = "".join(_node(node, *at[node.id], root) for node in nodes)
    return (
        f'<svg class="graph" viewBox="0 0 {width:g} {height:g}" width="{width:g}"'
        f' height="{height:g}" role="group" aria-label="{escape(label)}">{lines}{shapes}</svg>'
    )


def _edge(edge: Edge, at: Places) -> str:
    (x0, y0), (x1, y1) = at[edge.used], at[edge.user]
    y0, y1 = y0 + HEIGHT / 2, y1 - HEIGHT / 2  # behind a node of two lines the end is hidden
    bend = (y1 - y0) / 2
    kind = "proof" if edge.proof_only else "statement"
    return (
        f'<path class="edge {kind}" data-from="{escape(edge.used)}" data-to="{escape(edge.user)}"'
        f' d="M{x0:.0f} {y0:.0f}C{x0:.0f} {y0 + bend:.0f} {x1:.0f} {y1 - bend:.0f}'
        f' {x1:.0f} {y1:.0f}"/>'
    )


def _node(node: Node, x: float, y: float, root: str) -> str:
    classes = f"node {SHAPES.get(node.kind, 'plain')} {status_class(node.status)}"
    classes += (" ghost" if node.ghost else "") + (" here" if node.here else "")
    told = escape(f"{' '.join(node.lines)}: {node.status.value}")
    return (
        f'<a href="{root}{node.address}" class="{classes}" data-id="{escape(node.id)}"'
        f' aria-label="{told}">'
        f"<title>{escape(node.title)}</title>{_shape(node, x, y)}{_label(node, x, y)}</a>"
    )


def _label(node: Node, x: float, y: float) -> str:
    """The lines of a node's label; a blank behind each keeps them apart when they are read."""
    first = y + 4 - LINE / 2 * (len(node.lines) - 1)
    lines = "".join(
        f'<tspan x="{x:.0f}" y="{first + LINE * i:.0f}">{escape(line)} </tspan>'
        for i, line in enumerate(node.lines)
    )
    return f"<text>{lines}</text>"


def _shape(node: Node, x: float, y: float) -> str:
    half, tall = node.width / 2, node.height / 2
    kind = SHAPES.get(node.kind, "plain")
    if kind in ("hexagon", "slanted"):
        cut = 9.0
        left, right = x - half, x + half
        hexagon = [(left, 0), (left + cut, -1), (right - cut, -1), (right, 0), (right - cut, 1)]
        slanted = [(left + cut, -1), (right, -1), (right - cut, 1), (left, 1)]
        corners = [*hexagon, (left + cut, 1)] if kind == "hexagon" else slanted
        points = " ".join(f"{a:.0f},{y + b * tall:.0f}" for a, b in corners)
        return f'<polygon points="{points}"/>'
    round_ = {"pill": HEIGHT / 2, "box": 0.0}.get(kind, 4.0)
    return (
        f'<rect x="{x - half:.0f}" y="{y - tall:.0f}" width="{2 * half:.0f}"'
        f' height="{node.height:.0f}" rx="{round_:g}"/>'
    )


def status_class(status: Status) -> str:
    """The class of a status in the style sheet."""
    return "is-" + status.value.replace(" ", "-")
