"""Tables for notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from minimax.core.bound import Bound


def html_table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; the texts are escaped."""
    top = "".join(f"<th>{escape(each)}</th>" for each in head)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(each)}</td>' for each in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(caption)}</caption>"
        f"<thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    )


def bound_html(bound: Bound) -> str:
    """A theorem: what it rests on, and its closed form."""
    rows = [
        ("source", bound.source),
        ("kind", bound.kind),
        ("loss", str(bound.loss)),
        ("parameters", ", ".join(bound.parameters)),
        ("assumptions", "; ".join(each.text for each in bound.assumptions) or "none"),
        ("closed form", f"${bound.latex()}$"),
    ]
    if bound.remark:
        rows.append(("remark", bound.remark))
    return html_table(f"{bound.side} bound: {bound.name}", ("", ""), rows)
