"""A source file in colours, a line each that can be linked to."""

from __future__ import annotations

import keyword
import re
from html import escape

PIECE = re.compile(
    r"(?P<string>[rbfuRBFU]{0,2}(?:\"\"\"[\s\S]*?\"\"\"|'''[\s\S]*?'''"
    r"|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'))"
    r"|(?P<comment>#[^\n]*)"
    r"|(?P<defined>(?<=\bdef )\w+|(?<=\bclass )\w+)"
    rf"|(?P<keyword>\b(?:{'|'.join(keyword.kwlist)})\b)"
    r"|(?P<number>\b\d[\w.]*)"
)


def coloured(source: str) -> str:
    """Python source as HTML: strings, comments, keywords, numbers and what is defined."""
    found, at = [], 0
    for match in PIECE.finditer(source):
        found.append(escape(source[at : match.start()]))
        lines = escape(match[0]).split("\n")
        found.append("\n".join(f'<i class="{match.lastgroup}">{line}</i>' for line in lines))
        at = match.end()
    return "".join([*found, escape(source[at:])])


def listing(source: str) -> str:
    """A file whose lines have the ids L1, L2 and so on; the style sheet numbers them."""
    lines = coloured(source).removesuffix("\n").split("\n")
    held = "\n".join(f'<span id="L{i}">{line}</span>' for i, line in enumerate(lines, 1))
    return f"<pre><code>{held}</code></pre>"
