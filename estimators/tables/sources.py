"""Where rows come from: a table in memory or in a file, chunks in a sequence or from a function."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, Protocol, TypeAlias

import numpy as np

from estimators.tables.chunks import check_table

Chunk: TypeAlias = tuple[Any, Any]
"""Rows, and their responses or None."""
READ_ONCE = (
    "X can be read only once, and more than one pass is needed: give a function that yields the"
    " chunks afresh each time it is called, or a list of chunks"
)
NO_CHUNKS = "X has no chunks"


class Source(Protocol):
    """Something that can be read in passes."""

    def total(self, function: Callable[[Any, Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """The sum over chunks of function(rows, responses), entry by entry."""


@dataclass
class LocalSource:
    """Chunks that this process reads one after the other."""

    chunks: Callable[[], Iterable[Chunk]]
    once: bool = False
    """Whether the chunks can be read only once."""
    _begun: bool = False

    def total(self, function: Callable[[Any, Any], tuple[Any, ...]]) -> tuple[Any, ...]:
        """One pass."""
        again, self._begun = self._begun, True
        if self.once and again:
            raise ValueError(READ_ONCE)
        out: tuple[Any, ...] | None = None
        for rows, responses in self.chunks():
            out = added(out, function(rows, responses))
        if out is None:
            raise ValueError(READ_ONCE if again else NO_CHUNKS)
        return out


def added(here: tuple[Any, ...] | None, more: tuple[Any, ...]) -> tuple[Any, ...]:
    """The sum, entry by entry."""
    return more if here is None else tuple(a + b for a, b in zip(here, more, strict=True))


def source_of(X: Any, y: Any) -> tuple[Source, Any]:
    """The source, and its first chunk of rows, from which the columns are read off."""
    if is_dask(X):
        from estimators.tables.dask_source import dask_source  # an extra

        return dask_source(X, y)
    if is_chunked(X):
        chunks = _paired(X, y)
        return LocalSource(lambda: chunks), chunks[0][0]
    if callable(X) or yields_chunks(X):
        if y is not None:
            raise ValueError("y must be None where X yields chunks: let it yield pairs (rows, y)")
        return _of_iterator(X) if hasattr(X, "__next__") else _of_function(X)
    check_table(X)
    return LocalSource(lambda: [(X, y)]), X


def is_dask(X: Any) -> bool:
    """Whether it is a dask collection."""
    return hasattr(X, "__dask_graph__")


def is_chunked(X: Any) -> bool:
    """Whether it is a sequence of chunks, or of pairs of a chunk and its responses."""
    if not isinstance(X, (list, tuple)) or not X:
        return False
    first = X[0]
    return is_chunk(first) or (isinstance(first, tuple) and bool(first) and is_chunk(first[0]))


def is_chunk(rows: Any) -> bool:
    """Whether it is an array or a frame with rows and columns."""
    return len(getattr(rows, "shape", ())) == 2


def yields_chunks(X: Any) -> bool:
    """Whether it can be gone through and is neither a table nor a list of numbers."""
    plain = isinstance(X, (list, tuple, str, bytes, Mapping, Set))
    table = hasattr(X, "shape") or hasattr(X, "__array__") or hasattr(X, "__dataframe__")
    return isinstance(X, Iterable) and not plain and not table


def in_memory(X: Any) -> bool:
    """Whether it is one table in memory, and not a file that only looks like an array."""
    elsewhere = is_dask(X) or callable(X) or is_chunked(X) or yields_chunks(X)
    return not elsewhere and not isinstance(X, np.memmap)


def _of_function(X: Any) -> tuple[LocalSource, Any]:
    """A function that yields the chunks, or an object that can be gone through again and again.

    The first pass goes on where the look at the first chunk stopped: should the chunks come only
    once after all, none is lost, and a second pass finds none and says so.
    """
    head: list[Iterator[Any]] = []

    def begun() -> Iterator[Any]:
        found = X() if callable(X) else X
        if not isinstance(found, Iterable):
            raise TypeError(f"X() must yield chunks, got {type(found).__name__}")
        return iter(found)

    def chunks() -> Iterator[Chunk]:
        return map(_as_chunk, head.pop() if head else begun())

    iterator = begun()
    first = _first(iterator)
    head.append(chain([first], iterator))
    return LocalSource(chunks), _as_chunk(first)[0]


def _of_iterator(iterator: Iterator[Any]) -> tuple[LocalSource, Any]:
    first = _first(iterator)
    rest = map(_as_chunk, chain([first], iterator))
    return LocalSource(lambda: rest, once=True), _as_chunk(first)[0]


def _first(iterator: Iterator[Any]) -> Any:
    for chunk in iterator:
        return chunk
    raise ValueError(NO_CHUNKS)


def _paired(X: Sequence[Any], y: Any) -> list[Chunk]:
    """Chunks with their responses, which stand beside them or in a sequence of their own."""
    chunks = [_as_chunk(chunk) for chunk in X]
    if y is None:
        return chunks
    if not isinstance(y, (list, tuple)) or len(y) != len(X):
        raise ValueError("y must be a sequence of chunks, one for each chunk of X")
    if any(responses is not None for _, responses in chunks):
        raise ValueError("y must be None where X has pairs (rows, y)")
    return [(rows, responses) for (rows, _), responses in zip(chunks, y, strict=True)]


def _as_chunk(chunk: Any) -> Chunk:
    """(rows, responses) of what a source yields."""
    pair = isinstance(chunk, (tuple, list)) and len(chunk) == 2
    rows: Any = chunk[0] if pair else chunk
    responses: Any = chunk[1] if pair else None
    if not is_chunk(rows):
        raise ValueError(
            "X: a chunk must be an array or a frame with rows and columns, or a pair of it and its"
            f" responses; got {type(rows).__name__}"
        )
    if is_chunk(responses) and responses.shape[1] != 1:
        raise ValueError(
            "X: of a pair the second must be responses, one for each row; got"
            f" {responses.shape[1]} columns"
        )
    check_table(rows)
    return rows, responses
