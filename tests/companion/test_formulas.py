"""Formulas of docstrings and of the ledger: all of them are set, and sentences are left alone."""

from __future__ import annotations

import inspect
import re
from html import unescape

import pytest

import attacks
import estimators
from minimax.catalogue import PROBLEMS
from verify.companion.evidence import evidence_html
from verify.companion.formulas import from_latex, from_plain
from verify.companion.listing import listing
from verify.companion.prose import blocks, inline, left_raw
from verify.proofs.theorems import carried_bounds, place
from verify.statements import entries

LEDGER = entries()


def letters(html: str) -> str:
    """The text of a formula without its elements."""
    return re.sub(r"<[^>]*>|&#160;", "", html)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("sigma^2 d/n", "<msup><mi>σ</mi><mrow><mn>2</mn></mrow></msup><mi>d</mi>"),
        (
            "e^{-n eps}",
            '<mrow><mrow><mo form="prefix">−</mo><mi>n</mi><mi>ε</mi></mrow></mrow></msup>',
        ),
        (
            "e^(-t)",
            '<msup><mi>e</mi><mrow><mrow><mo form="prefix">−</mo><mi>t</mi></mrow></mrow></msup>',
        ),
        ("mu_j", "<msub><mi>μ</mi><mrow><mi>j</mi></mrow></msub>"),
        ("A_i^2", "<msubsup><mi>A</mi><mrow><mi>i</mi></mrow><mrow><mn>2</mn></mrow></msubsup>"),
        ("sqrt(d n)", "<msqrt><mrow><mi>d</mi><mi>n</mi></mrow></msqrt>"),
        ("sqrt d", "<msqrt><mi>d</mi></msqrt>"),
        ("xbar", '<mover accent="true"><mi>x</mi>'),
        ("xx'", "<mi>x</mi><msup><mi>x</mi><mrow><mo>′</mo></mrow></msup>"),
        ("s* <= d", "<msup><mi>s</mi><mrow><mo>∗</mo></mrow></msup><mo>≤</mo>"),
        ("<V, y>", ">⟨</mo><mi>V</mi>"),
        ("<x, theta*>", "<mi>θ</mi><mrow><mo>∗</mo></mrow></msup>"),
        ("Gamma(x + 1)", "<mi>Γ</mi>"),
        ("S\u0303 - 1", '<mover accent="true"><mi>S</mi><mo>~</mo></mover><mo>−</mo>'),
        (
            "int_u^inf",
            "<msubsup><mo>∫</mo><mrow><mi>u</mi></mrow><mrow><mi>∞</mi></mrow></msubsup>",
        ),
        ("sqrt log(1/delta)", "<msqrt><mrow><mi>log</mi>"),
        ("x^⊤β", "<msup><mi>x</mi><mrow><mo>⊤</mo></mrow></msup><mi>β</mi>"),
        ("x_ij", "<msub><mi>x</mi><mrow><mrow><mi>i</mi><mi>j</mi></mrow></mrow></msub>"),
        ("S \\ T", "<mi>S</mi><mo>∖</mo><mi>T</mi>"),
        ("E<x, .>^2", "<mo>.</mo><msup>"),
        ("10⁻⁵", "<msup><mn>10</mn><mrow><mn>−5</mn></mrow></msup>"),
    ],
)
def test_plain_notation_is_set(text: str, shown: str) -> None:
    assert shown in from_plain(text)


@pytest.mark.parametrize(
    ("text", "formulas"),
    [
        ("That is what a Bernoulli mean, or an attack that can clip, does.", []),
        ("the ball of radius sigma sqrt(d) reaches it.", ["σd"]),
        ("for (eps, delta)-DP and rho-zCDP", ["(ε,δ)", "ρ"]),
        ("With n, d and sigma: R >= d/n.", ["n", "d", "σ", "R≥d/n"]),
        ("E<V, y> <= g sqrt(tr S), as before", ["E⟨V,y⟩≤gtrS"]),
        ("attributes coef_ and n_features_in_ of the fit", []),
        ("sub-Gaussian(sigma) records", ["(σ)"]),
        ("noise of N(0, prior.sigma^2) in lower.py", ["N(0,prior.sigma2)"]),
        ("A user has a record; 3 of 4 do.", []),
        ("Σ E A_i ≤ σ²s at every μ", ["ΣEAi≤σ2s", "μ"]),
        ("so it is (see d >= 2 s) small.", ["d≥2s"]),
        ("is clipped to [-R, R] (``clip``) or R (``x``)", ["[−R,R]", "R"]),
        ('For R="auto" and R = "theory" it is', []),
        ("relative to `row_bound`^2.", []),
        ("twice the average of (x^⊤β - y)^2 and (X^⊤X/n)_jj", ["(x⊤β−y)2", "(X⊤X/n)jj"]),
        ("a round has E_0 -log(1 + x/B), half", ["E0−log(1+x/B)"]),
    ],
)
def test_a_sentence_keeps_its_words(text: str, formulas: list[str]) -> None:
    found = re.findall(r"<math.*?</math>", inline(text))
    assert [letters(formula) for formula in found] == formulas


def texts() -> dict[str, str]:
    """Everything that the pages show, as HTML, by where it comes from."""
    names = {name for entry in LEDGER.values() for name in entry.code}
    names |= {name for carried in carried_bounds() for name in carried.makers}
    found = {name: blocks(place(name).docstring) for name in names}
    for entry in LEDGER.values():
        told = (entry.statement, entry.summary, entry.wrong, entry.despite)
        found[entry.id] = " ".join(map(inline, (*told, *(f.words for f in entry.forms.values()))))
    for module in (attacks, estimators):
        for name in module.__all__:
            found[name] = blocks(inspect.getdoc(getattr(module, name)) or "")
    for carried in carried_bounds():
        found[carried.bound.name] = " ".join(map(inline, carried.assumptions))
    return found | {name: inline(problem.about) for name, problem in PROBLEMS.items()}


def test_no_formula_is_left_raw() -> None:
    raw = {name: left_raw(html) for name, html in texts().items()}
    assert {name: found for name, found in raw.items() if found} == {}


def test_a_formula_that_is_left_raw_is_seen() -> None:
    assert left_raw("<p>at most sigma^2</p>")
    assert left_raw(r"<p>$\mu$</p>")
    assert left_raw("<p>d &lt;= n</p>")
    for typed in ("x^⊤y", "S \\ T", "(X)_jj", "sigma**2", "the `name`", "delta = 1e-06"):
        assert left_raw(f"<p>{typed}</p>"), typed
    assert not left_raw("<p>at most <math><mi>σ</mi></math>, see <code>sigma_x</code></p>")


def test_what_stands_next_to_a_formula_stays_with_it() -> None:
    assert inline("without log p.").endswith("</math>.</span>")
    assert "whole" not in inline("without log p and more")


def test_evidence_has_its_letters_and_formulas() -> None:
    told = evidence_html(
        {"ratio at epsilon 1e12": 2.5e-7, "rest": "-W*(c + 1)/(4*eta)", "no": None}
    )
    assert told.startswith("ratio at ε 10¹² = 2.5·10⁻⁷, rest = <math>")
    assert letters(told).endswith("−W(c+1)/(4η), no = none")
    kinds = {"oo": "∞", "Interval(7, 9)": "[7,9]", "L - L_star": "L−L∗", "2*L_star": "2L∗"}
    for printed, shown in kinds.items():
        assert letters(evidence_html({"x": printed})) == f"x = {shown}"


def test_every_statement_is_set_without_a_rest() -> None:
    for entry in LEDGER.values():
        for formula in re.findall(r"\$([^$]+)\$", entry.statement):
            assert "\\" not in letters(from_latex(formula)), (entry.id, formula)


def test_latex_is_set_with_the_characters_that_browsers_show() -> None:
    """Styles of letters are characters of their own; a plain letter is none of them."""
    assert letters(from_latex(r"P\in\mathcal P,\mathbb R,\mathbf x")).endswith("ℝ&#x0002C;𝐱")
    assert "<mi>𝒫</mi>" in from_latex(r"\mathcal P")
    assert "mathvariant" not in from_latex(r"\mathcal M")
    assert "<mo>∼</mo>" in from_latex(r"y\sim N")
    assert 'lspace="0" rspace="0">|</mo>' in from_latex(r"|x|")
    assert '<mo lspace="0" rspace="0.17em">sup</mo>' in from_latex(r"\sup_x f")


def test_blocks_are_told_apart() -> None:
    doc = (
        "Lead `x`.\n\n    R >= d/n\n\n* one\n  more\n* two\n\n"
        "Parameters\n----------\nR : float\n    The radius sigma.\n\n>>> 1 + 1\n2"
    )
    html = blocks(doc, lambda name: f"{name}.html")
    assert '<a href="x.html"><code>x</code></a>' in html
    assert '<div class="display"><math display="block">' in html
    assert "<ul><li>one more</li><li>two</li></ul>" in html
    assert '<dt><code>R : float</code></dt><dd>The radius <span class="whole"><math>' in html
    assert "<pre>&gt;&gt;&gt; 1 + 1\n2</pre>" in html


def test_a_listing_has_a_line_for_each_line() -> None:
    source = 'def f(x):  # so\n    """One,\n    two < 3."""\n    return "a"\n'
    html = listing(source)
    assert re.findall(r'id="(L\d+)"', html) == ["L1", "L2", "L3", "L4"]
    assert '<i class="defined">f</i>' in html
    assert '<i class="string">    two &lt; 3.&quot;&quot;&quot;</i></span>' in html
    plain = re.sub(r"<[^>]*>", "", html)
    assert unescape(plain) == source.removesuffix("\n")
