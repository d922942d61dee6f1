"""Rows in a dask array or data frame (``pip install 'tracebound[dask]'``).

Each pass sends the kernel to where the blocks are and brings back sums. A worker that dies takes
with it sums that are computed anew: they are the same, and no noise was drawn for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from estimators.tables.sources import NO_CHUNKS, added, is_dask

FAN_IN = 16
"""So many sums are added up at a time, so that none waits for all."""


@dataclass(frozen=True)
class DaskSource:
    """Blocks of rows, and of their responses, as delayed objects."""

    rows: tuple[Any, ...]
    responses: tuple[Any, ...]

    def total(self, function: Callable[[Any, Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """One pass over the blocks, on whatever scheduler dask uses."""
        import dask

        apply = dask.delayed(function, pure=False)
        parts = [apply(*block) for block in zip(self.rows, self.responses, strict=True)]
        while len(parts) > 1:
            groups = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
            parts = [dask.delayed(_all_added, pure=False)(group) for group in groups]
        (found,) = dask.compute(parts[0])
        return tuple(found)


def _all_added(parts: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    out: tuple[Any, ...] | None = None
    for part in parts:
        out = added(out, part)
    assert out is not None
    return out


def dask_source(X: Any, y: Any) -> tuple[DaskSource, Any]:
    """The source of a dask collection, and an empty chunk that has its columns."""
    if X.ndim != 2:
        raise ValueError(f"X must have rows and columns, got {X.ndim} dimensions")
    if math.isnan(X.shape[1]):
        raise ValueError("X: the number of columns is not known: call X.compute_chunk_sizes()")
    if y is not None and not is_dask(y):
        raise TypeError("y must be a dask collection, divided as X is")
    rows = _blocks(X)
    responses = (None,) * len(rows) if y is None else _blocks(_divided_as(X, y))
    if not rows:
        raise ValueError(NO_CHUNKS)
    if len(rows) != len(responses):
        raise ValueError(
            f"y must be divided as X is: it has {len(responses)} blocks for {len(rows)}"
        )
    return DaskSource(rows, responses), _empty(X)


def _divided_as(X: Any, y: Any) -> Any:
    """y in blocks of as many rows as those of X, where both are arrays of known sizes."""
    if _is_frame(X) or _is_frame(y) or np.isnan([*X.chunks[0], *y.chunks[0]]).any():
        return y
    return y.rechunk({0: X.chunks[0]}) if sum(X.chunks[0]) == sum(y.chunks[0]) else y


def _blocks(collection: Any) -> tuple[Any, ...]:
    """Whole rows, block by block."""
    if _is_frame(collection):
        return tuple(collection.to_delayed())
    whole = collection if len(collection.chunks) == 1 else collection.rechunk({1: -1})
    return tuple(whole.to_delayed().ravel())


def _is_frame(collection: Any) -> bool:
    """Whether it is a data frame, or a column of one."""
    return hasattr(collection, "npartitions") and hasattr(collection, "divisions")


def _empty(X: Any) -> Any:
    """No rows, but the columns."""
    return X._meta if _is_frame(X) else np.empty((0, X.shape[1]), dtype=X.dtype)
