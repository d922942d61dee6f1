"""Memory that kernels use again: new pages cost as much as what is computed in them."""

from __future__ import annotations

import math
import threading
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray


class Scratch(threading.local):
    """One piece of memory for each use and thread, as large as the largest that was asked for."""

    def __init__(self) -> None:
        self._held: dict[str, NDArray[np.uint8]] = {}

    def __call__(self, use: str, shape: tuple[int, ...], dtype: DTypeLike = float) -> NDArray[Any]:
        """An array, not cleared; the next call for the same use in this thread overwrites it."""
        kind = np.dtype(dtype)
        size = math.prod(shape) * kind.itemsize
        if use not in self._held or self._held[use].size < size:
            self._held[use] = np.empty(size, dtype=np.uint8)
        return self._held[use][:size].view(kind).reshape(shape)


scratch = Scratch()
