"""Rows as plain data and back: what a special finding found, for the folder of results.

Only dataclasses and named tuples of `verify.rates` are made again, by calling them with their
fields: a file can hold nothing else.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any

import numpy as np

ROOT = "verify.rates."


def to_plain(value: Any) -> Any:
    """What JSON can hold, with the kinds of records, tuples and mappings beside their parts."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: to_plain(getattr(value, f.name)) for f in fields(value) if f.init}
        return {"kind": _name(type(value)), "parts": parts}
    if isinstance(value, tuple):
        kind = "tuple" if type(value) is tuple else _name(type(value))
        return {"kind": kind, "items": [to_plain(each) for each in value]}
    if isinstance(value, Mapping):
        return {"kind": "dict", "pairs": [[key, to_plain(each)] for key, each in value.items()]}
    if isinstance(value, list):
        return [to_plain(each) for each in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    raise TypeError(f"{value!r} is not plain")


def from_plain(value: Any) -> Any:
    """The value again; raises `ValueError` for what `to_plain` does not write."""
    if isinstance(value, list):
        return [from_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = value["kind"]
    if kind == "dict":
        return {key: from_plain(each) for key, each in value["pairs"]}
    if kind == "tuple":
        return tuple(from_plain(each) for each in value["items"])
    made = _class(kind)
    if "items" in value:
        return made(*(from_plain(each) for each in value["items"]))
    return made(**{name: from_plain(each) for name, each in value["parts"].items()})


def _name(kind: type) -> str:
    if not kind.__module__.startswith(ROOT):
        raise TypeError(f"{kind.__qualname__} is no record of {ROOT}")
    return f"{kind.__module__}:{kind.__qualname__}"


def _class(name: str) -> Any:
    module, _, qualname = name.partition(":")
    if not module.startswith(ROOT) or "." in qualname:
        raise ValueError(f"{name} is no record")
    found = getattr(import_module(module), qualname, None)
    record = isinstance(found, type) and (is_dataclass(found) or hasattr(found, "_fields"))
    if not record:
        raise ValueError(f"{name} is no record")
    return found
