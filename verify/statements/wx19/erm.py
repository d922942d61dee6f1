"""WX19 §6: empirical risk minimisation under sparsity. The statements are those of WX21 §VII-A."""

from __future__ import annotations

from verify.statements.repeats import EarlierVersion

CHAPTER = EarlierVersion("WX19")

CHAPTER.repeats("Definition 3", of="Definition 5")
CHAPTER.repeats("Definition 4", of="Definition 7")
CHAPTER.repeats("Definition 5", of="Definition 8")

NUMBERS = {"Theorem 8": "Theorem 7", "(10)": "(9)"}

CHAPTER.repeats("Assumption 3", numbers=NUMBERS)
CHAPTER.repeats("Assumption 3, sparsity", numbers=NUMBERS)
CHAPTER.repeats("Theorem 7", of="Theorem 8")
CHAPTER.repeats("(9)", of="(10)")
CHAPTER.repeats("Algorithm 3")
CHAPTER.repeats("Remark 3", numbers=NUMBERS)
