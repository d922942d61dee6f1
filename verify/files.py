"""Files that appear whole or not at all, and what keeps them from being written."""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

JSON = dict[str, object]
"""What becomes an object of a JSON file."""
TEMPORARY = ".tracebound-"
"""How the names of files begin that are still being written."""


def write_problems(path: Path | None) -> list[str]:
    """What keeps a file from being written; nothing if all is well. Its folder is made."""
    if path is None:
        return []
    target = path.resolve()
    if target.is_dir():
        return [f"is a folder: {path}"]
    if target.exists() and not target.is_file():
        return [f"is not a regular file: {path}"]
    return folder_problems(target.parent)


def folder_problems(folder: Path) -> list[str]:
    """What keeps files from being written to a folder, which is made if it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return [f"cannot make {folder}: {error.strerror}"]
    return _folder_problems(folder)


def _folder_problems(folder: Path) -> list[str]:
    try:
        with tempfile.TemporaryFile(dir=folder, prefix=TEMPORARY):
            return []
    except OSError as error:
        return [f"cannot write to {folder}: {error.strerror}"]


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Write beside the target, then move into place; a link stays a link."""
    path = path.resolve()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=TEMPORARY, suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        write(temporary)
        temporary.chmod(0o644)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, found: Mapping[str, object]) -> None:
    """The whole run as JSON."""
    text = json.dumps(_plain(found), indent=1, allow_nan=False) + "\n"
    write_whole(path, lambda p: p.write_text(text, encoding="utf-8"))


def _plain(value: object) -> object:
    """What JSON can say: numpy's numbers as Python's, and null for what is not finite."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    number = float(value)  # type: ignore[arg-type]
    return number if math.isfinite(number) else None
