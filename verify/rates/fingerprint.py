"""On what a result rests: the sources of the packages, a user's own modules, and the libraries."""

from __future__ import annotations

import hashlib
import platform
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial
from importlib import import_module
from pathlib import Path
from types import ModuleType

import numpy as np
import scipy
import sklearn

from verify.rates.claim import Claim

PACKAGES = ("minimax", "estimators", "attacks", "verify")
NOT_OWN = {*PACKAGES, "tracebound", "__main__", *sys.stdlib_module_names}
"""What is not looked through for a user's own modules; a claim may be made in `__main__` though."""
INSTALLED = {"site-packages", "dist-packages"}


class NoSource(ValueError):
    """What a claim is made of has no file: a later run could not tell whether it has changed."""


def fingerprint(claims: Sequence[Claim] = ()) -> str:
    """A digest of all that decides the numbers of the packages' claims, and of one's own if given.

    Raises `NoSource` for claims that were typed into an interpreter.
    """
    digest = hashlib.sha256(packages_digest().encode())
    for path in sorted(_own_files(claims)):
        digest.update(path.read_bytes())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def packages_digest() -> str:
    """A digest of the packages' sources and of the libraries' versions."""
    digest = hashlib.sha256()
    libraries = (np.__version__, scipy.__version__, sklearn.__version__, platform.python_version())
    digest.update(repr(libraries).encode())
    for name in PACKAGES:
        folder = Path(import_module(name).__path__[0])
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def source_digest(kind: type) -> str:
    """A digest of the file in which a class is made, wherever that is; of the packages', which
    `fingerprint` covers, and of what has no file, nothing."""
    module = sys.modules.get(kind.__module__)
    path = None if module is None else _file(module)
    if path is None or kind.__module__.split(".")[0] in PACKAGES:
        return ""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def own_modules(claims: Sequence[Claim]) -> list[ModuleType]:
    """The modules that the claims are made in, and what was imported from the same package, from
    their folders or from the working folder."""
    modules = {module.__name__: module for claim in claims for module in _modules(claim)}
    roots = {name.split(".")[0] for name in modules}
    folders = {Path.cwd().resolve(), *_folders(modules.values())}
    for name, module in list(sys.modules.items()) if modules else ():
        root = name.split(".")[0]
        path = None if root in NOT_OWN else _file(module)
        if path is not None and (root in roots or _is_below(path, folders)):
            modules.setdefault(name, module)
    return list(modules.values())


def _folders(modules: Iterable[ModuleType]) -> set[Path]:
    """Where modules lie: what is beside or below them may be theirs, wherever the run began."""
    return {path.parent for path in map(_file, modules) if path is not None}


def _own_files(claims: Sequence[Claim]) -> set[Path]:
    made_in = {name for claim in claims for name in _module_names(claim)}
    for name in sorted(made_in - set(sys.modules)):
        raise NoSource(f"{name} is no module that is imported")
    files = [_file(m, required=m.__name__ in made_in) for m in own_modules(claims)]
    return {path for path in files if path is not None}


def _modules(claim: Claim) -> Iterator[ModuleType]:
    """The modules outside the packages in which a claim's parts are defined, if imported."""
    for name in _module_names(claim):
        if name in sys.modules:
            yield sys.modules[name]


def _module_names(claim: Claim) -> Iterator[str]:
    parts: Iterable[object] = (
        claim.problem,
        claim.estimator_at,
        claim.non_private,
        claim.upper,
        claim.lower.formula,
        claim.lower.optimise,
        claim.lower.prior_at,
        claim.lower.expression,
    )
    for part in parts:
        while isinstance(part, partial):
            part = part.func
        name = getattr(part, "__module__", None)
        root = (name or "").split(".")[0]
        if name and (root == "__main__" or root not in NOT_OWN):
            yield name


def _file(module: ModuleType, required: bool = False) -> Path | None:
    name = getattr(module, "__file__", None)
    if name and Path(name).suffix == ".py" and Path(name).is_file():
        return _resolved(name)
    if required:
        raise NoSource(f"{module.__name__} has no source file")
    return None


@cache
def _resolved(name: str) -> Path:
    """Thousands of modules are asked for again with every run."""
    return Path(name).resolve()


def _is_below(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a file lies in or below one of some folders, and is no installed library's."""
    return INSTALLED.isdisjoint(path.parts) and any(map(path.is_relative_to, folders))
