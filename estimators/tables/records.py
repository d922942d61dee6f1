"""Rows from anywhere, read in sums.

All that the front doors ask of the records are sums over them, so it does not matter where they
are: in an array, a frame, a file that is mapped into memory, a sequence of chunks, behind a
function that yields chunks afresh, or in a dask collection. Noise is drawn once, by the caller,
after the sum: reading a chunk twice, as a cluster does that has lost a worker, releases nothing.

A pass checks every chunk before it adds anything up: other columns, text, NaN or infinity raise, as
does a source that has another number of rows in a later pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from estimators.tables.chunks import Array, rows_of
from estimators.tables.responses import LabelResponse, NumberResponse, Response
from estimators.tables.schema import Schema
from estimators.tables.scratch import scratch
from estimators.tables.sources import Chunk, LocalSource, Source, added, in_memory, source_of

__all__ = [
    "LabelResponse",
    "NumberResponse",
    "Records",
    "Response",
    "Source",
    "in_memory",
    "source_of",
]
Kernel = Callable[..., Any]
"""A function of (Z, y, *arguments), Z being encoded rows and y their responses, whose value is an
array or a tuple of arrays. It stands in a module, so that it can be sent to another process, and
writes to neither Z nor y, which may be kept for the next pass, nor keeps them: Z's memory is used
again for the next slice."""
SLICE_BYTES = 1 << 21
"""Rows of so many bytes are encoded and added up at a time: they stay in cache."""
KEPT_BYTES = 1 << 30
"""A table in memory whose encoding is smaller than this is encoded once for all passes."""


# --- Sums over records ----------------------------------------------------------------------------


class Records:
    """The records of a table: encoded, and read in sums."""

    def __init__(
        self, source: Source, schema: Schema, response: Response | None, *, keep: bool = False
    ) -> None:
        """`keep`: encode once and hold the result, for a table in memory that is read often."""
        self.source, self.schema, self.response = source, schema, response
        self._n: int | None = None
        self._keep = keep
        self._kept: LocalSource | None = None

    @property
    def n(self) -> int:
        """The number of records: counted, and all of them checked, in a pass of its own if there
        was none before."""
        if self._n is None:
            self._pass(_nothing, _count)
        assert self._n is not None
        return self._n

    @property
    def d(self) -> int:
        """The number of encoded columns."""
        return self.schema.d

    def total(self, kernel: Kernel, *arguments: Any) -> Any:
        """The sum over slices of rows of kernel(Z, y, *arguments), y encoded too."""
        return _alone(self.totals(kernel, *arguments))

    def totals(self, kernel: Kernel, *arguments: Any) -> tuple[Any, ...]:
        """As `total`, a tuple even of one sum."""
        if self._keep and 8 * self.n * (self.d + 1) <= KEPT_BYTES:
            return self._kept_totals(kernel, arguments)
        return self._pass(_encoded, kernel, *arguments)

    def raw_total(self, kernel: Kernel, *arguments: Any) -> Any:
        """As `total`, of the numeric columns and the responses as they came, within +-LARGEST."""
        return _alone(self._pass(_raw, kernel, *arguments))

    def outside(self) -> Array:
        """For each column, and then the responses, how many values are not what is allowed."""
        return np.asarray(_alone(self._pass(_clipped, _itself)))

    def rebounded(self, schema: Schema, response: Response | None) -> Records:
        """The same records under other bounds."""
        other = Records(self.source, schema, response, keep=self._keep)
        other._n = self._n
        return other

    def _pass(
        self, read: Callable[..., tuple[Any, ...]], kernel: Kernel, *arguments: Any
    ) -> tuple[Any, ...]:
        reader = partial(_over_slices, self.schema, self.response, read, kernel, arguments)
        rows, *parts = self.source.total(reader)
        self._check_rows(int(rows))
        if not all(np.isfinite(part).all() for part in parts):
            raise ValueError("X changed between two passes: a sum of its records is not finite")
        return tuple(parts)

    def _check_rows(self, rows: int) -> None:
        if rows == 0:
            raise ValueError("X has 0 records: a minimum of 1 is required")
        if self._n is not None and rows != self._n:
            raise ValueError(f"X changed between two passes: it had {self._n} records, now {rows}")
        self._n = rows

    def _kept_totals(self, kernel: Kernel, arguments: tuple[Any, ...]) -> tuple[Any, ...]:
        if self._kept is None:
            Z, y = _gathered(self.source, self.schema, self.response)
            for kept in (Z,) if y is None else (Z, y):
                kept.flags.writeable = False  # a kernel that writes fails, and spoils no pass
            self._kept = LocalSource(lambda: _slices(Z, y))
        return self._kept.total(lambda Z, y: _tuple(kernel(Z, y, *arguments)))


def _over_slices(
    schema: Schema,
    response: Response | None,
    read: Callable[..., tuple[Any, ...]],
    kernel: Kernel,
    arguments: tuple[Any, ...],
    rows: Any,
    responses: Any,
) -> tuple[Any, ...]:
    """(number of rows, sums of the kernel's values) for one chunk, which is checked."""
    schema.check_columns(rows)
    if response is not None:
        responses = response.check(responses, len(rows))
    out = None
    room = scratch("rows", (min(len(rows), _slice_rows(schema.d)), schema.d))
    for part in _row_slices(len(rows), schema.d):
        here = schema.settled(rows_of(rows, part))
        there = responses[part] if response is not None else None
        out = added(out, _tuple(kernel(*read(schema, response, here, there, room), *arguments)))
    assert out is not None
    return (len(rows), *out)


def _encoded(
    schema: Schema, response: Response | None, rows: Any, y: Any, room: Array
) -> tuple[Any, Any]:
    return schema.encode(rows, room), None if response is None else response.encode(y)


def _raw(
    schema: Schema, response: Response | None, rows: Any, y: Any, room: Array
) -> tuple[Any, Any]:
    return schema.numbers(rows), None if response is None else response.raw(y)


def _clipped(
    schema: Schema, response: Response | None, rows: Any, y: Any, room: Array
) -> tuple[Any]:
    outside = schema.outside(rows)
    return (outside if response is None else np.append(outside, response.outside(y)),)


def _nothing(*unread: Any) -> tuple[()]:
    return ()


def _count() -> Array:
    return np.zeros(1)


def _itself(counts: Array) -> Array:
    return counts


def _alone(parts: tuple[Any, ...]) -> Any:
    """The one sum, where there is one."""
    return parts[0] if len(parts) == 1 else parts


def _tuple(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _gathered(source: Source, schema: Schema, response: Response | None) -> tuple[Array, Any]:
    """All encoded rows and responses of a table in memory, in one piece."""
    assert isinstance(source, LocalSource)
    ((rows, y),) = source.chunks()
    return schema.encode(rows), response and response.encode(response.check(y, len(rows)))


def _slices(Z: Array, y: Array | None) -> Iterator[Chunk]:
    for part in _row_slices(len(Z), Z.shape[1]):
        yield Z[part], None if y is None else y[part]


def _row_slices(n: int, width: int) -> Iterator[slice]:
    """At least one, so that a kernel is called for an empty chunk too and the sums have shapes."""
    step = _slice_rows(width)
    return (slice(i, min(i + step, n)) for i in range(0, max(n, 1), step))


def _slice_rows(width: int) -> int:
    return max(1, SLICE_BYTES // (8 * max(1, width)))
