"""The problem: sparse regression from locally private labels (WX21 §VI)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


@dataclass(frozen=True)
class LabelRegressionProblem:
    """x uniform on {-1, 1}^p and public, y = <x, theta> + noise; s entries, |theta|_2 <= 1.

    The noise is at most C and of mean zero given x.
    """

    n: int
    p: int
    s: int
    C: float = 2.0

    @property
    def point(self) -> dict[str, float]:
        return {"n": self.n, "p": self.p, "s": self.s, "C": self.C}
