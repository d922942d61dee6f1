"""Docstrings and sentences as HTML, with their formulas set and their names linked.

A sentence of a docstring holds formulas without marks around them. A word of it is taken for a part
of a formula if it consists of symbols alone; a run of such words is one if some word of it has an
operator, a Greek letter or a function, or is a letter that is no word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from html import escape

from verify.companion.formulas import (
    FUNCTIONS,
    GREEK,
    SURE,
    WORD_LIKE,
    Token,
    accented,
    from_latex,
    from_plain,
    is_product,
    is_symbol,
    tokens,
    with_signs,
)

Link = Callable[[str], str | None]
"""The address of what a name stands for, if there is a page of it."""
MARKED = re.compile(
    r"``(?P<code>[^`]+)``|`(?P<name>[^`]+)`|\$(?P<latex>[^$]+)\$"
    r'|(?P<setting>\b[A-Za-z]\w* ?= ?"[^"\s]+")'
    r"|\*\*(?P<strong>[^*]+)\*\*|(?<![\w*])\*(?P<em>[A-Za-z(][^*\n]*[A-Za-z.)])\*(?![\w*])"
)
POWER = re.compile(r"\^(\d+)")
"""Of a name of the code."""
UNDERLINE = re.compile(r"-{3,}$")
CODE_NAME = re.compile(
    r"(?![A-Za-z]_[ijk]{2}$)[A-Za-z][A-Za-z0-9.]*(?:_[A-Za-z0-9]{2,})+_?|[A-Za-z]\w*_"
)
"""A name of the code that stands without marks: n_features_in_, coef_; x_ij is none."""
SYMBOL_NAME = "|".join(GREEK)
JOINED = re.compile(
    rf"({SYMBOL_NAME}|[a-z])(-[A-Za-z]{{3,}}[.,;:]*)|([A-Za-z]{{3,}}-)({SYMBOL_NAME})([.,;:]*)"
)
"""A symbol that is joined to a word: rho-zCDP, tiny-delta."""
GAP = re.compile(r"""(\s+|(?<=Gaussian)(?=\()|(?<=\))(?=-[A-Za-z]{2,})|(?=["“”])|(?<=["“”]))""")
"""Between the words of a sentence, and within (epsilon, delta)-private and sub-Gaussian(sigma)."""
ENDS = ".,;:"
ARTICLES = frozenset("aAI")
"""Letters that are words as well."""


def no_link(name: str) -> str | None:
    """For texts without links."""
    return None


def inline(text: str, link: Link = no_link) -> str:
    """A text with its marks, formulas and names."""
    found, at = [], 0
    for match in MARKED.finditer(text):
        found.append(_sentence(text[at : match.start()]))
        found.append(_marked(match, link))
        at = match.end()
        if power := POWER.match(text, at):
            found.append(f"<sup>{power[1]}</sup>")
            at = power.end()
    return "".join([*found, _sentence(text[at:])])


def _marked(match: re.Match[str], link: Link) -> str:
    kind, held = match.lastgroup, match[match.lastgroup or 0]
    if kind == "latex":
        return from_latex(held)
    if kind == "setting":
        return f"<code>{escape(held.replace(' ', ''))}</code>"
    if kind in ("code", "name"):
        address = link(held)
        code = f"<code>{escape(held)}</code>"
        return f'<a href="{escape(address)}">{code}</a>' if address else code
    return f"<{kind}>{inline(held, link)}</{kind}>"


# --- Formulas in a sentence ----------------------------------------------------------------------


def _sentence(text: str) -> str:
    """A text without marks: runs of symbols are set as formulas."""
    pieces = GAP.split(with_signs(text))
    found: list[str] = []
    run: list[str] = []
    for i, piece in enumerate(pieces):
        if i % 2:
            run.append(piece)
        elif _belongs(piece, run):
            run.append(piece)
            if _ends(piece, run):
                found.append(_set(run))
                run = []
        else:
            found += [_set(run), _word(piece)]
            run = []
    return "".join([*found, _set(run)])


def _word(piece: str) -> str:
    """A word that is no part of a formula: plain, a name of the code, or joined to a symbol."""
    core = piece.strip("()[]" + ENDS)
    if CODE_NAME.fullmatch(core) and not core.startswith(tuple(f"{name}_" for name in GREEK)):
        before, _, after = piece.partition(core)
        return f"{escape(before)}<code>{escape(core)}</code>{escape(after)}"
    match = JOINED.fullmatch(piece)
    if match and match[1]:
        return from_plain(match[1]) + escape(match[2])
    if match:
        return escape(match[3]) + from_plain(match[4]) + escape(match[5])
    return escape(piece)


def _belongs(piece: str, run: list[str]) -> bool:
    """Whether a word is part of a formula; “in” is one within brackets."""
    if not piece:
        return False
    if piece == "in" and _depth("".join(run)) > 0:
        return True
    if piece in ("(a", "(A"):  # an article
        return False
    core = piece.rstrip(ENDS)
    found = tokens(core)
    if not core or found is None:
        return False
    if CODE_NAME.fullmatch(core) and core.partition("_")[0] not in GREEK:
        return False
    names = [each.text for each in found if each.kind == "name"]
    ending = re.match("-([A-Za-z]{2,})", core)  # of (epsilon, delta)-DP
    if core in WORD_LIKE or (ending and ending[1] not in GREEK and ending[1] not in SURE):
        return False
    return all(map(is_symbol, names)) or _holds_words(core, found)


def _holds_words(core: str, found: list[Token]) -> bool:
    """Whether words that are joined to symbols make a formula with them: noise/sigma, length^2."""
    if any(each.kind == "script" for each in found):
        return True
    strong = any(each.text in GREEK or each.text == "sqrt" for each in found)
    return (
        strong and ("/" in core or "sqrt(" in core) and not re.search("[a-z]{3}-[a-zA-Z]{3}", core)
    )


def _ends(piece: str, run: list[str]) -> bool:
    """Whether a formula ends with this word: at a stop, or at a comma outside brackets."""
    return piece[-1] in ".;:" or (piece[-1] == "," and _depth("".join(run)) <= 0)


def _depth(text: str) -> int:
    return sum(text.count(c) for c in "([{⟨") - sum(text.count(c) for c in ")]}⟩")


def _set(run: list[str]) -> str:
    """A run of words as a formula, with blanks and stops around it; or as it is."""
    text = "".join(run)
    core = text.strip()
    if not core:
        return text
    before, after = text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]
    words = core.split()
    for edge in (0, -1):  # an article at either end is none of it
        if len(words) > 1 and words[edge] in ARTICLES and not _joined(words, edge):
            kept = core[len(words[0]) :] if edge == 0 else core[: -len(words[-1])]
            parts = re.split(r"(\s+)", kept)
            article = escape(words[edge])
            inner = _set(parts)
            return before + (article + inner if edge == 0 else inner + article) + after
    stop = core[len(core.rstrip(ENDS)) :]
    core = core[: len(core) - len(stop)]
    opened, core, closed = _outer(core)
    kept = core.rstrip(ENDS)
    closed, core = core[len(kept) :] + closed, kept
    if re.fullmatch("l[012]", core):  # a norm
        core = f"ℓ_{core[1]}"
    if not _is_formula(core):
        return f"{before}{opened}{escape(core)}{closed}{escape(stop)}{after}"
    return before + _kept_whole(opened, from_plain(core), closed + escape(stop)) + after


def _kept_whole(opened: str, formula: str, closed: str) -> str:
    """A formula with what stands next to it, which would else begin or end a line alone."""
    joined = f"{opened}{formula}{closed}"
    return f'<span class="whole">{joined}</span>' if len(joined) > len(formula) else joined


def _joined(words: list[str], edge: int) -> bool:
    """Whether an operator stands next to the word at an end."""
    near = words[1] if edge == 0 else words[-2]
    return near[0 if edge == 0 else -1] in "+-*/=<>~|^−≤≥"


def _outer(core: str) -> tuple[str, str, str]:
    """A bracket that is opened or closed elsewhere belongs to the sentence."""
    opened = closed = ""
    while core[:1] == "(" and _depth(core) > 0:
        opened, core = opened + "(", core[1:]
    while core[-1:] == ")" and _depth(core) < 0:
        closed, core = ")" + closed, core[:-1]
    if core[-1:] == "(":
        kept = core[:-1].rstrip()
        closed, core = core[len(kept) :] + closed, kept
    return opened, core, closed


def _is_formula(core: str) -> bool:
    found = tokens(core) or []
    if not found or core in ARTICLES:
        return False
    if core in ("<=", ">="):
        return True
    names = [each for each in found if each.kind == "name"]
    strong = any(map(_is_strong, found))
    letters = bool(names) and all(len(each.text) == 1 for each in names)
    if re.search(rf"\b({'|'.join(FUNCTIONS)})\(", core):
        return True
    return (strong and (bool(names) or len(found) > 2)) or letters or _is_script(found)


def _is_strong(token: Token) -> bool:
    if token.kind in ("script", "raised", "lowered"):
        return True
    if token.kind == "name":
        text = token.text
        return text in GREEK or text in SURE or accented(text) is not None
    return token.kind == "operator" and token.text not in "-'(),;:[]!"


def _is_script(found: list[Token]) -> bool:
    return any(each.kind == "name" and is_product(each.text) for each in found) and any(
        each.kind == "operator" and each.text in "-+/=" for each in found
    )


# --- Blocks --------------------------------------------------------------------------------------


def blocks(docstring: str, link: Link = no_link) -> str:
    """A docstring as paragraphs, lists, displays and tables of parameters."""
    found: list[str] = []
    parameters = False
    for block in re.split(r"\n\s*\n", docstring.strip("\n")):
        lines = block.splitlines()
        if len(lines) > 1 and UNDERLINE.match(lines[1].strip()):
            parameters = True
            found.append(f"<h3>{escape(lines[0].strip())}</h3>")
            lines = lines[2:]
        if lines:
            found.append(_block(lines, parameters, link))
    return "\n".join(found)


def _block(lines: list[str], parameters: bool, link: Link) -> str:
    if lines[0].startswith(">>>"):
        return f"<pre>{escape(chr(10).join(lines))}</pre>"
    if all(line.startswith("    ") for line in lines):
        return _display(lines)
    if parameters and any(line.startswith("    ") for line in lines):
        return _parameters(lines, link)
    if lines[0].lstrip().startswith("* "):
        return _list(lines, link)
    return f"<p>{inline(' '.join(line.strip() for line in lines), link)}</p>"


def _display(lines: list[str]) -> str:
    """Indented lines: formulas, unless they look like a program."""
    if any(re.match(r"\s*(>>>|\.\.\. |[a-z_.]+\(|from |import |python |pip )", x) for x in lines):
        return f"<pre>{escape(chr(10).join(line[4:] for line in lines))}</pre>"
    joined = " ".join(line.strip() for line in lines) if _continued(lines) else None
    shown = [joined] if joined else [line.strip() for line in lines]
    return "".join(f'<div class="display">{from_plain(line, display=True)}</div>' for line in shown)


def _continued(lines: list[str]) -> bool:
    """Whether later lines are indented further: they go on with the first."""
    return len(lines) > 1 and all(line.startswith("     ") for line in lines[1:])


def _parameters(lines: list[str], link: Link) -> str:
    rows: list[list[str]] = []
    for line in lines:
        if line.startswith("    ") and rows:
            rows[-1][1] += " " + line.strip()
        else:
            rows.append([line.strip(), ""])
    held = "".join(
        f"<dt><code>{escape(name)}</code></dt><dd>{inline(text.strip(), link)}</dd>"
        for name, text in rows
    )
    return f"<dl>{held}</dl>"


def _list(lines: Iterable[str], link: Link) -> str:
    items: list[str] = []
    for line in lines:
        stripped = line.strip()
        if stripped.startswith("* "):
            items.append(stripped[2:])
        else:
            items[-1] += " " + stripped
    return f"<ul>{''.join(f'<li>{inline(item, link)}</li>' for item in items)}</ul>"


RAW = re.compile(
    r"\^|[A-Za-z]_[{A-Za-z0-9]|[‖)]_|<=|>=|\bsqrt\b|\\|\$|\*\*|`|\d[eE][-+]\d"
    r"|\b(?:sigma|epsilon|eps|delta|rho|theta|lambda|beta|gamma|tau)\b"
)
"""What a formula that was not set looks like."""


def left_raw(html: str) -> list[str]:
    """Formulas that stand in a page's text as they were typed."""
    text = re.sub(r"<(math|code|pre|svg|script|style)\b.*?</\1>", " ", html, flags=re.DOTALL)
    text = re.sub(r"<[^>]*>", " ", text)
    plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return [plain[max(0, m.start() - 30) : m.end() + 30].strip() for m in RAW.finditer(plain)]
