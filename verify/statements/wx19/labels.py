"""WX19 §5: private labels. The statements are those of WX21 §VI, one number lower."""

from __future__ import annotations

from verify.statements.repeats import EarlierVersion

CHAPTER = EarlierVersion("WX19")
EXPERIMENTS = EarlierVersion("WX19")
SAME_LABELS = (
    "With σ_i = −⟨x_i, θ⟩, which is at most C for |θ|₁ ≤ C, all labels are 0 under θ and under 0:"
    " no estimator has an error below |θ|/2 at both, however large n is, so the upper bound"
)

CHAPTER.repeats(
    "(7)",
    of="(8)",
    found="As (1), the class lacks E σ = 0: θ and 0 may then look the same.",
    severity="breaks a claim",
    wrong=(SAME_LABELS + " of Theorem 5 is impossible on this class. WX21 has E[σ|x] = 0 in (1)."),
)

PROOF = {
    "The proof of Theorem 11 has": "The proof in WX21 has",
    "The proof takes": "The proof in WX21 takes",
}

CHAPTER.repeats("Algorithm 2", numbers=PROOF)

NUMBERS = {
    "Theorem 6": "Theorem 5",
    "the class (8)": "the class (7)",
    "The class (8)": "The class (7)",
}

CHAPTER.repeats("Assumption 2", numbers=NUMBERS)

UNCENTRED = (
    "The class does not ask E[σ|x] = 0, here or anywhere in the paper (WX21 has it in its (1)), and"
    " two parameters may have identical labels. With it the proof in WX21 goes through, with"
    " √log(1.25/δ) for log(1/δ) (too large for small δ, too small for δ near 1). The noise of the"
    " labels is another matter: see the entry on privacy."
)

CHAPTER.repeats(
    "Theorem 5", of="Theorem 6", numbers=NUMBERS, severity="breaks a claim", wrong=UNCENTRED
)

CHAPTER.repeats("Theorem 5, privacy", of="Theorem 6, privacy", numbers=PROOF)
CHAPTER.repeats("(8)", of="(9)")

CHAPTER.repeats(
    "Section 5, pure",
    of="Section VI, pure",
    numbers={"of [40]": "of Bun et al.", "[40]": "Bun, Nelson and Stemmer"},
)

CHAPTER.repeats("Theorem 6", of="Theorem 7")

CHAPTER.repeats(
    "Theorem 6, tightness",
    of="Theorem 7, tightness",
    numbers={"Theorem 6": "Theorem 5", "Theorem 7": "Theorem 6"},
)

EXPERIMENTS.repeats(
    "Section 7",
    of="Section VIII",
    numbers={
        "Algorithms 1 and 2, which project on the unit ball, have": (
            "Algorithm 2, which projects on the unit ball, has"
        )
    },
)

EXPERIMENTS.repeats(
    "Section 7, step size",
    of="Section VIII, step size",
    numbers={"Theorems 5 and 6, which halve": "Theorem 5, which halves"},
)
