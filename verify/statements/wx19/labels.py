"""WX19 §5: private labels. The statements are those of WX21 §VI, one number lower."""

from __future__ import annotations

from verify.statements.repeats import repeat

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
    repeat("WX21:(9)", "WX19:(8)"),
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
