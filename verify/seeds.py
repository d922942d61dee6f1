"""Seeds: a cell or a statement has one of its own, whatever else is run."""

from __future__ import annotations

import zlib

import numpy as np


def cell_seed(seed: int, label: str) -> int:
    """A cell's own seed: from the run's seed and the cell's label, whatever else is run."""
    return int(np.random.SeedSequence([seed, zlib.crc32(label.encode())]).generate_state(1)[0])
