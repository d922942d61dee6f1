"""Seeds: a cell or a statement has one of its own, whatever else is run."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import numpy as np


def cell_seed(seed: int, label: str) -> int:
    """A cell's own seed: from the run's seed and the cell's label, whatever else is run."""
    return int(np.random.SeedSequence([seed, zlib.crc32(label.encode())]).generate_state(1)[0])


def stream(seed: int, *place: int) -> np.random.Generator:
    """The generator of a trial, or of a part of one. SFC64 is numpy's fastest, and most of a trial
    is drawing."""
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(seed, spawn_key=place)))


def streams(seed: int, first: int, last: int) -> Iterator[np.random.Generator]:
    """A generator for each of the trials first, ..., last - 1 of a cell: that of a trial is the
    same whichever others are run."""
    for trial in range(first, last):
        yield stream(seed, trial)
