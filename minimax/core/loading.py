"""Objects of a user's own module, named on the command line as MODULE:NAME."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import PurePath
from types import ModuleType


class CannotLoad(ValueError):
    """What was named is not there, in a sentence."""


def load_object(named: str) -> object:
    """The object that MODULE:NAME names.

    The working folder is searched after all else, so that no file there takes the place of a
    package's.
    """
    module_name, _, name = named.partition(":")
    if not (module_name and name):
        raise CannotLoad(f"{named!r} must be of the form MODULE:NAME")
    if module_name.startswith((".", "/")):
        raise CannotLoad(
            f"{module_name!r} is a path, not a module: give {_stem(module_name)}:NAME, from the"
            " folder in which it lies"
        )
    module = _imported(module_name)
    if not hasattr(module, name):
        raise CannotLoad(f"module {module_name!r} ({_where(module)}) has no {name!r}")
    return getattr(module, name)


def _imported(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and f"{name}.".startswith(f"{error.name}."):
            raise CannotLoad(
                f"there is no module {error.name!r}, neither installed nor in {os.getcwd()}"
                f"{_file_meant(name)}"
            ) from None
        raise CannotLoad(f"module {name!r} cannot be imported: {error}") from error
    except (Exception, SystemExit) as error:  # whatever a user's module does while it is imported
        raise CannotLoad(
            f"module {name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error


def _file_meant(name: str) -> str:
    """What to give instead, if a module was named as its file is; or nothing."""
    path = PurePath(name)
    if path.suffix != ".py":
        return ""
    parts = path.with_suffix("").parts
    if all(part.isidentifier() for part in parts):
        return f": give {'.'.join(parts)}:NAME"
    return f": give {_stem(name)}:NAME, from the folder in which it lies"


def _stem(path: str) -> str:
    return PurePath(path).stem.lstrip(".")


def _where(module: ModuleType) -> str:
    return str(getattr(module, "__file__", None) or "which has no file")
