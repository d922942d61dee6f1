"""WX19 §5: private labels. The statements are those of WX21 §VI, one number lower."""

from __future__ import annotations

import math
from collections.abc import Callable

from estimators.label_randomisers import paper_label_scale
from verify.ledger.entry import Entry, Form, Result, Status, result
from verify.ledger.repeats import repeat

NUMBERS = {
    "Theorem 6": "Theorem 5",
    "the class (8)": "the class (7)",
    "The class (8)": "The class (7)",
}


PROOF = {
    "The proof of Theorem 11 has": "The proof in WX21 has",
    "The proof takes": "The proof in WX21 takes",
}
SAME_LABELS = (
    "With σ_i = −⟨x_i, θ⟩, which is at most C for |θ|₁ ≤ C, all labels are 0 under θ and under 0:"
    " no estimator has an error below |θ|/2 at both, however large n is, so the upper bound"
)
UNCENTRED = (
    "The class does not ask E[σ|x] = 0, here or anywhere in the paper (WX21 has it in its (1)), and"
    " two parameters may have identical labels. With it the proof in WX21 goes through, with"
    " √log(1.25/δ) for log(1/δ) (too large for small δ, too small for δ near 1). The noise of the"
    " labels is another matter: see the entry on privacy."
)


def label_noise(stated: Callable[[float], float], constant: float) -> Result:
    """Is the standard deviation of Algorithm 2's label noise at most constant stated(delta) C/eps?

    Over delta in (0, 1). Every bound on the error must grow at least like it.
    """
    deltas = (1e-30, 1e-9, 1e-3, 0.1, 0.5, 0.9, 0.999, 1 - 1e-6)
    ratios = {delta: paper_label_scale(1.0, 1.0, delta) / stated(delta) for delta in deltas}
    worst = max(ratios, key=lambda delta: ratios[delta])
    return result(
        ratios[worst] <= constant + 1e-9,
        largest_ratio=ratios[worst],
        delta_there=worst,
        ratio_at_the_smallest_delta=ratios[1e-30],
        constant=constant,
    )


def logarithm(delta: float) -> float:
    """log(1/delta), as printed."""
    return math.log(1 / delta)


def root(delta: float) -> float:
    """sqrt(log(1.25/delta))."""
    return math.sqrt(math.log(1.25 / delta))


LOGARITHM = (
    "τ = √(32 ln(1.25/δ)) C/ε: log(1/δ) is too small for δ near 1, where it vanishes and the noise"
    " does not (no constant does for all 0 < δ < 1), and too large by √log(1/δ) for small δ."
)


def display(name: str) -> Entry:
    """The error bound of Label-LDP-IHT, (8) of WX19 and (3) of WSX18."""
    return Entry(
        id=name,
        kind="equation",
        summary="log(1/δ) should be √log(1.25/δ): √(32 log(1.25/δ)) C/ε is the noise of a label.",
        statement=(
            r"$\|\theta_T-\theta^*\|_2\le2^{-T}\|\theta^*\|_2"
            r"+O\bigl(\frac{C\log(1/\delta)\sqrt{s^*\log p}}{\sqrt n\,\epsilon}\bigr)$ for every"
            r" $0<\delta<1$; so the label noise $\tau$ is $O(C\log(1/\delta)/\epsilon)$."
        ),
        expected=Status.CORRECTED,
        method="exact",
        severity="harmless",
        printed=Form("log(1/δ), constant 1000", lambda rng: label_noise(logarithm, 1000.0)),
        corrected=Form("√log(1.25/δ), constant √32", lambda rng: label_noise(root, math.sqrt(32))),
        mutant=Form("corrected, constant 5", lambda rng: label_noise(root, 5.0)),
        wrong=LOGARITHM,
        code=("estimators.label_randomisers.paper_label_scale",),
    )


ENTRIES = (
    repeat(
        "WX21:(8)",
        "WX19:(7)",
        summary="As (1), the class lacks E σ = 0: θ and 0 may then look the same.",
        severity="breaks a claim",
        wrong=SAME_LABELS
        + " of Theorem 5 is impossible on this class. WX21 has E[σ|x] = 0 in (1).",
    ),
    repeat("WX21:Algorithm 2", "WX19:Algorithm 2", numbers=PROOF),
    repeat("WX21:Assumption 2", "WX19:Assumption 2", numbers=NUMBERS),
    repeat(
        "WX21:Theorem 6",
        "WX19:Theorem 5",
        numbers=NUMBERS,
        severity="breaks a claim",
        wrong=UNCENTRED,
    ),
    repeat("WX21:Theorem 6, privacy", "WX19:Theorem 5, privacy", numbers=PROOF),
    display("WX19:(8)"),
    repeat(
        "WX21:Section VI, pure",
        "WX19:Section 5, pure",
        numbers={"of [40]": "of Bun et al.", "[40]": "Bun, Nelson and Stemmer"},
    ),
    repeat("WX21:Theorem 7", "WX19:Theorem 6"),
    repeat(
        "WX21:Theorem 7, tightness",
        "WX19:Theorem 6, tightness",
        numbers={"Theorem 6": "Theorem 5", "Theorem 7": "Theorem 6"},
    ),
)

EXPERIMENTS = (
    repeat(
        "WX21:Section VIII",
        "WX19:Section 7",
        numbers={
            "Algorithms 1 and 2, which project on the unit ball, have": (
                "Algorithm 2, which projects on the unit ball, has"
            )
        },
    ),
    repeat(
        "WX21:Section VIII, step size",
        "WX19:Section 7, step size",
        numbers={"Theorems 5 and 6, which halve": "Theorem 5, which halves"},
    ),
)
