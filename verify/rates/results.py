"""Results that are kept as they come, so that an interrupted run goes on where it was.

A result is one file, which appears whole or not at all. Its name is a digest of its key: what was
run, where, with which seed and how often, and a digest of all that decides its numbers (see
`fingerprint`). So a changed estimator or bound has another key and is run again. Files hold JSON:
reading one runs no code, and floats come back bit for bit.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

from verify.files import TEMPORARY, folder_problems, write_whole
from verify.rates.claim import Claim
from verify.rates.fingerprint import NoSource, fingerprint

FORMAT = 1
FOLDER = Path(".tracebound")
MARK = "tracebound-results.json"
"""The file by which a folder of results is known."""
Key = Mapping[str, object]
T = TypeVar("T")


class BadFolder(ValueError):
    """A folder that cannot hold results, in a sentence."""


@dataclass
class Results:
    """What was found before, by key, in a folder; or nothing if there is none."""

    folder: Path | None
    fingerprint: str = ""
    fresh: bool = False
    """Whether what is there is ignored."""
    tell: Callable[[str], object] = print
    """Says what a person should know."""
    found: int = field(default=0, init=False)
    """How many results were there."""
    kept: int = field(default=0, init=False)
    """How many were added."""

    def get(self, key: Key, decode: Callable[[object], T]) -> T | None:
        """The result with this key, if it is there and whole."""
        if self.folder is None or self.fresh:
            return None
        whole = self._whole(key)
        path = self._path_of(whole)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            self._tell_damaged(path, error)
            return None
        try:
            stored = json.loads(text)
            value = stored["value"]
            if stored["key"] != whole or stored["digest"] != _digest(json.dumps(value)):
                raise ValueError("its digest is another")
            found = decode(value)
        except (ValueError, KeyError, TypeError) as error:
            self._tell_damaged(path, error)
            return None
        self.found += 1
        return found

    def keep(self, key: Key, value: object) -> None:
        """Write a result. A disk that is full ends the keeping, and not the run."""
        if self.folder is None:
            return
        whole, written = self._whole(key), json.dumps(value)
        head = json.dumps({"key": whole, "digest": _digest(written)})
        text = f'{head[:-1]}, "value": {written}}}'  # which is long, and written once
        try:
            path = self._path_of(whole)
            write_whole(path, lambda path: path.write_text(text, encoding="utf-8"))
        except OSError as error:
            self.tell(f"results are no longer kept in {self.folder}: {error.strerror}")
            self.folder = None
            return
        self.kept += 1

    def _tell_damaged(self, path: Path, error: Exception) -> None:
        self.tell(f"{path} is damaged ({error}): it is computed again")

    def _whole(self, key: Key) -> dict[str, object]:
        whole = {**key, "fingerprint": self.fingerprint}
        text = json.dumps(whole, default=float)  # numbers of numpy are numbers
        plain: dict[str, object] = json.loads(text)
        return plain

    def _path_of(self, whole: Mapping[str, object]) -> Path:
        assert self.folder is not None
        return self.folder / f"{_digest(json.dumps(whole, sort_keys=True))[:40]}.json"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def open_results(
    folder: Path,
    own: Sequence[Claim] = (),
    *,
    fresh: bool = False,
    tell: Callable[[str], object] = print,
) -> Results:
    """The results in a folder, of the packages' claims or of one's own; raises `BadFolder`."""
    try:
        digest = fingerprint(own)
    except NoSource as error:
        tell(f"results are not kept: {error}")
        return Results(None)
    prepare(folder)
    return Results(folder, digest, fresh, tell)


def prepare(folder: Path) -> None:
    """Make the folder, or see that it is one of results; raises `BadFolder` and changes nothing if
    it is not.

    Several processes may do so at once. The mark is the first file that any of them puts there, so
    what is seen besides files that are being written was put there after the mark, or is not ours:
    the folder is read before the mark is looked for.
    """
    if folder.exists() and not folder.is_dir():
        raise BadFolder(f"{folder} is no folder")
    seen = _names(folder)
    mark = folder / MARK
    if mark.exists():
        _check_mark(mark)
    elif not all(name.startswith(TEMPORARY) for name in seen):
        raise BadFolder(f"{folder} holds other files and no results: give a new or an empty folder")
    for problem in folder_problems(folder):
        raise BadFolder(problem)
    text = json.dumps({"what": "results of tracebound rates", "format": FORMAT}) + "\n"
    for path, content in ((mark, text), (folder / ".gitignore", "*\n")):
        if not path.exists():
            write_whole(path, partial(Path.write_text, data=content, encoding="utf-8"))


def _names(folder: Path) -> list[str]:
    """What a folder holds; nothing if there is none."""
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadFolder(f"cannot read {folder}: {error.strerror}") from error


def _check_mark(mark: Path) -> None:
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))["format"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BadFolder(
            f"{mark} is damaged, and what its folder holds cannot be told; remove the folder or"
            " give another"
        ) from error
    if found != FORMAT:
        raise BadFolder(
            f"{mark.parent} was written by another version (format {found}, this is {FORMAT}); give"
            " another folder"
        )
