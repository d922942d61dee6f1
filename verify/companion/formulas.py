r"""Formulas as MathML: LaTeX of the ledger, and the plain notation of docstrings.

Docstrings write ``R >= sigma^2 d/n`` so that they can be read in an editor. Here that notation is
read token by token and set flat: a fraction keeps its slash, powers and indices become such, names
of Greek letters their letters. Nothing is rearranged, so that nothing can be set wrongly.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from functools import cache
from html import escape
from typing import NamedTuple

from latex2mathml.converter import convert

GREEK_NAMES = """
alpha beta gamma delta epsilon eps zeta eta theta kappa lambda mu nu xi pi rho sigma tau phi chi psi
omega Gamma Delta Theta Lambda Sigma Phi Psi Omega Pi"""
GREEK = dict(zip(GREEK_NAMES.split(), "αβγδεεζηθκλμνξπρστφχψωΓΔΘΛΣΦΨΩΠ", strict=True))
FUNCTION_NAMES = """
exp expm1 log sinh cosh tanh coth atan cos sin tan min max sup inf lim Pr Var Cov tr kl KL TV erf
erfc sign arg argmin argmax sqrt sum prod int median mod ln diag rank supp clip proj logit expit Bin
Binomial Laplace Uniform Bernoulli rms sd var conv Lip grad"""
FUNCTIONS = frozenset(FUNCTION_NAMES.split())
WORD_LIKE_NAMES = (
    "clip sign median rank Laplace Bernoulli Uniform Binomial arg var supp mod conv diag"
)
WORD_LIKE = frozenset((*WORD_LIKE_NAMES.split(), "proj", "tan", "grad", "sd", "Lip"))
"""Functions whose names are words of a sentence too, unless a bracket follows."""
SURE_NAMES = "exp expm1 log sinh cosh tanh coth atan sqrt erf erfc logit expit rms"
SURE = frozenset(SURE_NAMES.split())
"""Functions whose names are nothing else."""
LARGE = {"sum": "∑", "prod": "∏", "int": "∫"}
ALSO_WORDS = frozenset(("that", "what", "chat"))
COMBINING = {"\u0302": "hat", "\u0303": "tilde", "\u0304": "bar"}
"""Characters that put an accent on the letter before them."""
ACCENTS = {"hat": "^", "bar": "¯", "tilde": "~"}
OPERATORS = {
    "<=": "≤",
    ">=": "≥",
    "<<": "≪",
    ">>": "≫",
    "->": "→",
    "!=": "≠",
    "+-": "±",
    "-": "−",
    "~": "∼",
    "*": "·",
    "...": "…",
    "..": "…",
    "'": "′",
}
SHORT_WORDS = """
is as at of or an be by in it no on so to up we do if he me my go us am vs eg ie id ok for and the
all any are but can did few had has her him his how its may new not now off old one our out own per
put see set she six ten too try two use was way who why yes you via let lie law low net odd get got
end far cut due dot add age ago bit big box day ear eat era np pd cv ms iid"""
WORDS = frozenset(SHORT_WORDS.split())
"""Short words that are no products of letters."""
TOKEN = re.compile(
    r"(?P<number>\d[\d,]*\d(?:\.\d+)?|\d+\.\d+|\d+|\.\d+)"
    r"|(?P<name>[A-Za-zα-ω][\u0302-\u0304]|[A-Za-z]{2,}\.[A-Za-z]{2,}|\\?[A-Za-z]+|[α-ωΑ-Ωℓ∑∏∫∞∂∇ℝ])"
    r"|(?P<operator><=|>=|<<|>>|->|!=|\+-|\.\.\.|\.\.|\.(?=[|)⟩])|[-+*/=<>~|'(),;:\[\]{}!√⊤∖−≤≥≠≈∈∉⟨⟩‖·×±→∧∨∪∩⊆⊂′…≪≫∼])"
    r"|(?P<script>[\^_])"
    r"|(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+)"
    r"|(?P<lowered>[₀₁₂₃₄₅₆₇₈₉ₓᵢⱼ]+)"
    r"|(?P<space>\s+)"
)
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
PLAIN_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺₀₁₂₃₄₅₆₇₈₉", "0123456789−+0123456789")


THOUSAND, LARGE_NUMBER = 1e3, 1e9
"""From the first on a number is shown without decimals, from the second on by its power of ten."""


def shown_number(value: float, digits: int = 6) -> str:
    """A number as a page shows it, to so many digits.

    >>> [shown_number(value) for value in (10_000, 0.125, 1e-6, 2.5e-7)]
    ['10,000', '0.125', '10⁻⁶', '2.5·10⁻⁷']
    """
    if value < 0:
        return f"−{shown_number(-value, digits)}"
    if value < LARGE_NUMBER and (value >= THOUSAND or value == round(value)):
        return f"{value:,.0f}"
    head, exponent, power = f"{value:.{digits}g}".partition("e")
    if not exponent:
        return head.replace("inf", "∞")
    raised = str(int(power)).translate(RAISED)
    return f"10{raised}" if head == "1" else f"{head}·10{raised}"


def shown_point(point: Mapping[str, float]) -> str:
    """The numbers of a point, by their letters.

    >>> shown_point({"n": 10_000, "sigma": 1, "delta": 1e-6})
    'n = 10,000, σ = 1, δ = 10⁻⁶'
    """
    return ", ".join(f"{GREEK.get(k, k)} = {shown_number(v)}" for k, v in point.items())


class Token(NamedTuple):
    """A piece of a formula: its kind, as a group of `TOKEN`, and its text."""

    kind: str
    text: str


@cache
def from_latex(formula: str, *, display: bool = False) -> str:
    """LaTeX as MathML."""
    prepared = formula.replace(r"\arg\min", r"\operatorname{arg min}")
    mode = "block" if display else "inline"
    found = convert(prepared, display=mode)
    found = found.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "")
    found = found.replace("<mi>&#x0007E;</mi>", "<mo>∼</mo>").replace(SIDE, "<mo>|</mo>")
    return spaced(STYLED.sub(_letter, found))


SIDE = '<mo stretchy="false">&#x0007C;</mo>'
"""A bar as it is converted."""
STYLED = re.compile(r'<mi mathvariant="(script|double-struck|bold)">([A-Za-z])</mi>')


def _letter(match: re.Match[str]) -> str:
    """A letter of a style as its own character: browsers know no other way to show one."""
    style, letter = match[1].upper(), match[2]
    case = "CAPITAL" if letter.isupper() else "SMALL"
    name = f"{style} {case} {letter.upper()}"
    try:
        return f"<mi>{unicodedata.lookup(f'MATHEMATICAL {name}')}</mi>"
    except KeyError:  # the characters that were there before the others
        return f"<mi>{unicodedata.lookup(name)}</mi>"


NAMED = "log|exp|sinh|cosh|tanh|coth|min|max|sup|inf|ln|tr|sign|Var|Pr|erf|erfc|arg min"
BEFORE_NAME = re.compile(
    rf"(</mi>|</mn>|</msup>|</msub>|</mfrac>|</msubsup>)(?=<m[io]>(?:{NAMED})</m)"
)
AFTER_NAME = re.compile(
    rf"(?<!<msub>)(?<!<msup>)(?<!<munder>)(?<!bsup>)(<m[io]>(?:{NAMED})</m[io]>)(?=<m[inrsf])"
)
FLAT = {
    sign: f'<mo stretchy="false" lspace="0" rspace="0">{sign}</mo>'
    for sign in ("/", "&#x0002F;", "&#x02016;", "&#x02225;", "&#x0007C;", "|", "‖", "⟨", "⟩")
}
"""Operators as browsers would stretch or set them apart, and as they are to stand."""
NAME = re.compile(rf"<mo>({NAMED})</mo>(<mspace|)")
SPACE = '<mspace width="0.17em"></mspace>'


def spaced(mathml: str) -> str:
    """Formulas with room around the names of functions, and none around a slash or a bar."""
    for sign, plain in FLAT.items():
        mathml = mathml.replace(f"<mo>{sign}</mo>", plain)
    mathml = AFTER_NAME.sub(rf"\1{SPACE}", BEFORE_NAME.sub(rf"\1{SPACE}", mathml))
    return NAME.sub(_named, mathml)


def _named(match: re.Match[str]) -> str:
    """The name of a function without room before it, and with some after it once."""
    name, space = match.groups()
    return f'<mo lspace="0" rspace="{0 if space else 0.17}em">{name}</mo>{space}'


def tokens(text: str) -> list[Token] | None:
    """The tokens of a text, or None if some of it is no formula."""
    found, at = [], 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None or match.lastgroup is None:
            return None
        found.append(Token(match.lastgroup, match[0].removeprefix("\\")))
        at = match.end()
    return found


def is_symbol(name: str) -> bool:
    """Whether a name can stand in a formula: a letter, a function, or a product of letters."""
    known = name in GREEK or name in FUNCTIONS or accented(name) is not None
    return len(name) == 1 or known or is_product(name)


def is_product(name: str) -> bool:
    """Whether a name is a product of letters, such as nd."""
    known = name in GREEK or name in FUNCTIONS or name.casefold() in WORDS or accented(name)
    return 2 <= len(name) <= 3 and not known


def accented(name: str) -> tuple[str, str] | None:
    """The letter and the accent of names such as xbar and muhat."""
    if name[-1] in COMBINING:
        return name[0], COMBINING[name[-1]]
    for accent in ACCENTS:
        letter = name.removesuffix(accent)
        if (
            letter != name
            and (len(letter) == 1 or letter in GREEK)
            and name.casefold() not in ALSO_WORDS
        ):
            return letter, accent
    return None


def with_signs(text: str) -> str:
    """The text with the brackets of inner products, which are typed as <V, y>, and with the sign of
    a difference of sets, which is typed as a backslash between blanks."""
    angles = re.sub(r"<(?=[A-Za-z(])([^<>\n]{1,60}?)>(?![=>])", r"⟨\1⟩", text)
    return re.sub(r"(?<=\s)\\(?=\s)", "∖", angles)


LAST_SIGN = re.compile("<mo>([=≤≥<>]|&[lg]t;)</mo>$")
"""A relation whose right side is a word of the sentence: the blank behind it is room enough."""


def from_plain(text: str, *, display: bool = False) -> str:
    """A formula in plain notation as MathML; what is no formula in it stays text."""
    reader = _Reader(_readable(with_signs(text)))
    body = LAST_SIGN.sub(r'<mo rspace="0">\1</mo>', "".join(reader.row(until=None)))
    mode = ' display="block"' if display else ""
    return spaced(f"<math{mode}><mrow>{body}</mrow></math>")


def _readable(text: str) -> list[Token]:
    """The tokens of a text; a character that is none stands for itself."""
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        kind, piece = (match.lastgroup or "other", match[0]) if match else ("other", text[at])
        product = kind == "name" and is_product(piece)
        found += [Token(kind, letter) for letter in (piece if product else [piece])]
        at += len(piece)
    return found


class _Reader:
    """Sets tokens from left to right; an index or a power belongs to the atom before it."""

    def __init__(self, found: list[Token]) -> None:
        self.tokens = found
        self.at = 0

    def peek(self, ahead: int = 0) -> Token:
        """The next token, or an empty one."""
        place = self.at + ahead
        return self.tokens[place] if place < len(self.tokens) else Token("end", "")

    def row(self, until: str | None) -> list[str]:
        """Atoms up to a closing bracket, which is taken too."""
        found: list[str] = []
        while self.peek().kind != "end":
            if until is not None and self.peek().text == until:
                self.at += 1
                return found
            found.append(self.scripted())
        return found

    def scripted(self) -> str:
        """An atom with its indices and powers."""
        base = self.atom()
        low = high = ""
        while True:
            token = self.peek()
            if token.kind == "raised":
                high += f"<mn>{token.text.translate(PLAIN_DIGITS)}</mn>"
                self.at += 1
            elif token.kind == "lowered":
                low += _lowered(token.text)
                self.at += 1
            elif token.kind == "script":
                self.at += 1
                script = self.script(index=token.text == "_")
                low, high = (low, high + script) if token.text == "^" else (low + script, high)
            elif token.text == "'" or (token.text == "*" and self.is_star()):
                self.at += 1
                high += f"<mo>{'′' if token.text == chr(39) else '∗'}</mo>"
            else:
                return _with_scripts(base, low, high)

    def is_star(self) -> bool:
        """Whether a star is an index, as in s*, and no product."""
        after = self.peek(1)
        ended = after.kind in ("end", "space", "script")
        return ended or after.text in ")]⟩,;:/|^_"

    def script(self, *, index: bool) -> str:
        """What stands after ^ or _: a group, a signed number or a name; both letters of x_ij."""
        token = self.peek()
        if token.text in "({" and token.text:
            self.at += 1
            return f"<mrow>{''.join(self.row('}' if token.text == '{' else ')'))}</mrow>"
        if token.text in ("-", "+"):
            self.at += 1
            return f"<mrow><mo>{OPERATORS.get(token.text, token.text)}</mo>{self.atom()}</mrow>"
        if token.text == "inf":
            self.at += 1
            return "<mi>∞</mi>"
        if index and token.kind == "name" and self.peek(1).kind == "name":
            return f"<mrow>{self.atom()}{self.atom()}</mrow>"
        return self.atom()

    def atom(self) -> str:
        """One symbol, number, operator, root or group."""
        token = self.peek()
        self.at += 1
        if token.kind == "number":
            return f"<mn>{token.text}</mn>"
        if token.kind == "name":
            return self.name(token.text)
        if token.kind == "space":
            return ""
        if token.text in ("(", "[", "{"):
            return self.group(token.text)
        if token.text == "√":
            return f"<msqrt>{self.next_atom()}</msqrt>"
        if token.text in ("-", "−") and self.is_sign():
            return '<mo form="prefix">−</mo>'
        return _operator(token.text)

    def is_sign(self) -> bool:
        """Whether a minus that was just taken stands before a term and not between two."""
        before = [each for each in self.tokens[: self.at - 1] if each.kind != "space"]
        closed = before and (before[-1].kind != "operator" or before[-1].text in ")]}⟩|‖'*!")
        return not closed

    def group(self, opening: str) -> str:
        """A bracket, what it holds, and the bracket that closes it (or another, as in [0, 1))."""
        held: list[str] = []
        while self.peek().kind != "end" and self.peek().text not in (")", "]", "}"):
            held.append(self.scripted())
        closing = self.peek().text
        self.at += 1
        ends = [f'<mo stretchy="false">{end}</mo>' for end in (opening, closing) if end]
        return f"<mrow>{ends[0]}{''.join(held)}{''.join(ends[1:])}</mrow>"

    def next_atom(self) -> str:
        """The next atom behind blanks; a round bracket gives what it holds."""
        while self.peek().kind == "space":
            self.at += 1
        if self.peek().text == "(":
            self.at += 1
            return f"<mrow>{''.join(self.row(')'))}</mrow>"
        if self.peek().text not in SURE:
            return self.scripted()
        function = self.scripted()
        while self.peek().kind == "space":
            self.at += 1
        return f"<mrow>{function}{self.scripted()}</mrow>"

    def name(self, text: str) -> str:
        """A name: Greek, a function, a letter with an accent, a product of letters, or a word."""
        text = text.removeprefix("\\")
        if text == "sqrt":
            return f"<msqrt>{self.next_atom()}</msqrt>"
        if text in LARGE:
            return f"<mo>{LARGE[text]}</mo>"
        if text == "in":
            return "<mo>∈</mo>"
        if text in FUNCTIONS:
            return f"<mi>{text}</mi>"
        if text in GREEK:
            return f"<mi>{GREEK[text]}</mi>"
        if (found := accented(text)) is not None:
            letter = GREEK.get(found[0], found[0])
            return f'<mover accent="true"><mi>{letter}</mi><mo>{ACCENTS[found[1]]}</mo></mover>'
        return self.word(text) if len(text) > 1 else f"<mi>{text}</mi>"

    def word(self, text: str) -> str:
        """A word within a formula, apart from what it is not joined to."""
        before = self.tokens[self.at - 2].kind if self.at > 1 else "end"
        left, right = ("&#160;" if kind == "space" else "" for kind in (before, self.peek().kind))
        return f"<mtext>{left}{escape(text)}{right}</mtext>"


def _operator(text: str) -> str:
    shown = escape(OPERATORS.get(text, text))
    if text in (",", ";"):
        return f'<mo separator="true" rspace="0.25em">{shown}</mo>'
    return f"<mo>{shown}</mo>"


def _lowered(text: str) -> str:
    letters = {"ₓ": "x", "ᵢ": "i", "ⱼ": "j"}
    if text[0] in letters:
        return f"<mi>{''.join(letters.get(each, each) for each in text)}</mi>"
    return f"<mn>{text.translate(PLAIN_DIGITS)}</mn>"


def _with_scripts(base: str, low: str, high: str) -> str:
    held = base or "<mrow></mrow>"
    if low and high:
        return f"<msubsup>{held}<mrow>{low}</mrow><mrow>{high}</mrow></msubsup>"
    if low:
        return f"<msub>{held}<mrow>{low}</mrow></msub>"
    if high:
        return f"<msup>{held}<mrow>{high}</mrow></msup>"
    return base
