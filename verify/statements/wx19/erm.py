"""WX19 §6: empirical risk minimisation under sparsity. The statements are those of WX21 §VII-A."""

from __future__ import annotations

from verify.statements.repeats import repeat

NUMBERS = {"Theorem 8": "Theorem 7", "(10)": "(9)"}

ENTRIES = (
    repeat("WX21:Definition 5", "WX19:Definition 3"),
    repeat("WX21:Definition 7", "WX19:Definition 4"),
    repeat("WX21:Definition 8", "WX19:Definition 5"),
    repeat("WX21:Assumption 3", "WX19:Assumption 3", numbers=NUMBERS),
    repeat("WX21:Assumption 3, sparsity", "WX19:Assumption 3, sparsity", numbers=NUMBERS),
    repeat("WX21:Theorem 8", "WX19:Theorem 7"),
    repeat("WX21:(10)", "WX19:(9)"),
    repeat("WX21:Algorithm 3", "WX19:Algorithm 3"),
    repeat("WX21:Remark 3", "WX19:Remark 3", numbers=NUMBERS),
)
