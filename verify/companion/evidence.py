"""What a check found, as HTML: named numbers in one line, with their letters and formulas set."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape

from verify.companion.formulas import GREEK, from_plain, shown_number

LETTER = re.compile(rf"\b(?:{'|'.join(GREEK)})\b")
POWER = re.compile(r"\b1e\d+\b")
EXPRESSION = re.compile(r"\*|sqrt|\boo\b|Interval|_star")
"""What a string is known by that a computer algebra system printed."""
AS_TYPED = (
    (re.compile(r"\boo\b"), "∞"),
    (re.compile(r"Interval\((.*)\)"), r"[\1]"),
    (re.compile(r"_star\b"), "*"),
    (re.compile(r"\*\*"), "^"),
    (re.compile(r"\*(?!$|[\s)/])"), " "),
)
"""From there to the notation of docstrings, in this order."""


def evidence_html(numbers: Mapping[str, object]) -> str:
    """Named numbers in one line.

    >>> evidence_html({"ratio at epsilon half": 1.68, "passes": True})
    'ratio at ε half = 1.68, passes = yes'
    """
    return ", ".join(f"{_named(name)} = {_value(value)}" for name, value in numbers.items())


def _named(name: str) -> str:
    lettered = LETTER.sub(lambda found: GREEK[found[0]], name)
    return escape(POWER.sub(lambda found: shown_number(float(found[0])), lettered))


def _value(value: object) -> str:
    if value is None or isinstance(value, bool):
        return {None: "none", True: "yes", False: "no"}[value]
    if isinstance(value, (int, float)):
        return shown_number(value, digits=4)
    text = str(value)
    if not EXPRESSION.search(text):
        return escape(text)
    for typed, plain in AS_TYPED:
        text = typed.sub(plain, text)
    return from_plain(text)
