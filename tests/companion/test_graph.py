"""The graph of what rests on what: rows, edges, shapes."""

from __future__ import annotations

import re
from itertools import pairwise

from verify.companion.graph import GAP, Edge, Node, essential, picture, places, rows_of
from verify.companion.stored import Stored
from verify.companion.views import Ledger, Views, number_of
from verify.proofs.entry import Status
from verify.statements import entries


def node(name: str, kind: str = "lemma", status: Status = Status.HOLDS) -> Node:
    return Node(name, name, kind, status, f"{name}.html", name)


CHAIN = [Edge("a", "b", False), Edge("b", "c", True), Edge("a", "c", False)]


def test_a_node_stands_below_what_it_uses() -> None:
    nodes = [node(name) for name in "cba"]
    assert rows_of(nodes, CHAIN, 500) == [["a"], ["b"], ["c"]]


def test_no_row_is_wider_than_the_page() -> None:
    nodes = [node(f"Lemma {i}") for i in range(30)]
    rows = rows_of(nodes, [], 400)
    assert max(len(row) for row in rows) == int(400 // (nodes[-1].width + GAP))
    at = places(nodes, [], 400)
    for row in rows:
        middles = sorted(at[name][0] for name in row)
        widest = max(each.width for each in nodes)
        assert all(b - a >= widest - 8 for a, b in pairwise(middles))
        assert middles[0] > 0
        assert middles[-1] < 400


def test_an_edge_that_follows_is_left_out() -> None:
    assert essential(CHAIN) == CHAIN[:2]
    assert essential(CHAIN[:1]) == CHAIN[:1]


def test_the_picture_has_links_shapes_colours_and_dots() -> None:
    nodes = [node("a", "definition"), node("b", "theorem", Status.REFUTED), node("c", "algorithm")]
    svg = picture(nodes, CHAIN, "three", "../")
    assert re.findall(r'href="([^"]*)"', svg) == ["../a.html", "../b.html", "../c.html"]
    assert 'class="node box is-holds"' in svg
    assert 'class="node hexagon is-refuted"' in svg
    assert svg.count('class="edge statement"') == svg.count('class="edge proof"') == 1
    assert svg.count("<polygon") == 2


def test_the_graph_of_a_paper_has_every_statement_or_names_it() -> None:
    views = Views(Ledger(entries(), Stored()))
    for paper in views.ledger.papers():
        svg, alone = views.graph(paper, "../")
        drawn = set(re.findall(r'<a [^>]*data-id="([^"]*)"', svg))
        own = {entry.id.replace("'", "&#x27;") for entry in views.ledger.of_paper(paper)}
        assert own <= drawn | {str(row["id"]).replace("'", "&#x27;") for row in alone}


def test_what_falls_with_a_lemma_is_seen_in_the_graph() -> None:
    views = Views(Ledger(entries(), Stored()))
    svg, _ = views.graph("CWZ19", "../")
    assert re.search(
        r'class="edge proof" data-from="CWZ19:Lemma 3.2" data-to="CWZ19:Theorem 3.3"', svg
    )


def test_a_long_label_is_broken_and_never_cut() -> None:
    def lines(label: str) -> list[str]:
        return node(label, "equation").lines

    assert lines("Theorem 4.4") == ["Theorem 4.4"]
    assert lines("(A.10), expansion of the square") == ["(A.10),", "expansion of the square"]
    for entry in entries().values():
        shown = lines(number_of(entry))
        assert " ".join(shown) == number_of(entry)
        assert len(shown) <= 3
