"""The tables of `bench/tables.py`: read from a folder, checked, encoded, split.

Files are read where they are and never copied. A missing folder, a missing file or one with other
bytes than the schema names is a `NoData` that says which.
"""

from __future__ import annotations

import csv
import hashlib
import lzma
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from table_schemas import Column, TableSchema

TEST_SHARE = 0.2


class NoData(Exception):
    """Data that are not there, or not those meant."""


@dataclass(frozen=True)
class TableData:
    """A table as read: its columns by name, and the responses (classes as 0 and 1)."""

    schema: TableSchema
    columns: dict[str, np.ndarray]
    response: np.ndarray

    def __len__(self) -> int:
        return len(self.response)

    def rows(self, chosen: np.ndarray) -> TableData:
        """Some of the rows."""
        columns = {name: column[chosen] for name, column in self.columns.items()}
        return TableData(self.schema, columns, self.response[chosen])

    def split(self, seed: int) -> tuple[TableData, TableData]:
        """Training and test rows of a seed."""
        order = np.random.default_rng(seed).permutation(len(self))
        test = round(TEST_SHARE * len(self))
        return self.rows(order[test:]), self.rows(order[:test])

    def frame(self) -> Any:
        """A data frame of the features, as a user would have it."""
        import pandas

        return pandas.DataFrame(self.columns)


def file_bytes(folder: Path, name: str, sha256: str) -> bytes:
    """What an .xz file holds, if its stored bytes have this hash."""
    path = folder / name
    if not folder.is_dir():
        raise NoData(f"there is no folder {folder}")
    if not path.is_file():
        raise NoData(f"{folder} has no {name}")
    stored = path.read_bytes()
    found = hashlib.sha256(stored).hexdigest()
    if found != sha256:
        raise NoData(f"{path} has sha256 {found}, not {sha256}: other data than the bench is about")
    return lzma.decompress(stored)


def read_rows(text: str, fields: tuple[str, ...]) -> dict[str, list[str]]:
    """The columns of a comma-separated text; comment lines start with |."""
    lines = (line for line in text.splitlines() if line.strip() and not line.startswith("|"))
    reader = csv.reader(lines, skipinitialspace=True)
    names = fields or tuple(next(reader))
    return dict(zip(names, map(list, zip(*reader, strict=True)), strict=True))


def load(schema: TableSchema, folder: Path) -> TableData:
    """All rows of a table, its files one after the other."""
    parts = [read_rows(file_bytes(folder, *file).decode(), schema.fields) for file in schema.files]

    def joined(column: Column) -> np.ndarray:
        cells = [cell for part in parts for cell in part[column.name]]
        return np.array(cells, dtype=float) if column.is_number else np.array(cells, dtype=object)

    columns = {column.name: joined(column) for column in schema.features}
    response = joined(schema.response)
    if schema.task == "classification":
        # adult.test writes a full stop after each label.
        positive = schema.response.levels[1]
        response = np.array([str(label).rstrip(".") == positive for label in response], dtype=float)
    return TableData(schema, columns, response)


def scaled(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """The numbers clipped to a range, which becomes [-1, 1]."""
    low, high = bounds
    return np.asarray((np.clip(values, low, high) - (low + high) / 2) / ((high - low) / 2))


def unscaled(values: np.ndarray, bounds: tuple[float, float]) -> np.ndarray:
    """The way back."""
    low, high = bounds
    return np.asarray((low + high) / 2 + (high - low) / 2 * values)


def encoded(data: TableData) -> np.ndarray:
    """The features for peers: numbers in [-1, 1], an indicator for each level but the first."""
    blocks = []
    for column in data.schema.features:
        values = data.columns[column.name]
        if column.is_number:
            blocks.append(scaled(values, column.bounds)[:, None])
        else:
            blocks.append((values[:, None] == np.array(column.levels[1:], dtype=object)) * 1.0)
    return np.ascontiguousarray(np.hstack(blocks))


def with_intercept(X: np.ndarray) -> np.ndarray:
    """A column of ones first."""
    return np.hstack([np.ones((len(X), 1)), X])
