"""``python -m tests.mutation``: plant each bug in a copy of the code and run the tests for it.

Prints killed or SURVIVED for each; exit code 0 if all are killed, 1 if one survives, 2 for bad
usage. --only PATTERN picks some, --first N begins with the N-th, --list names them.
"""

from __future__ import annotations

import argparse
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.mutation.planted import MUTANTS, Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("minimax", "estimators", "attacks", "verify", "tracebound", "tests", "pyproject.toml")
FAILED = 1
"""The exit code of pytest if tests ran and one failed."""


class NotPlanted(ValueError):
    """A bug that cannot be planted, or whose tests cannot be run."""


def planted(source: str, mutant: Mutant) -> str:
    """The source with the bug in it; what is replaced must stand there exactly once."""
    found = source.count(mutant.right)
    if found != 1:
        raise NotPlanted(f"{mutant.name}: what is replaced stands in the file {found} times")
    return source.replace(mutant.right, mutant.wrong)


def copied(folder: Path) -> None:
    """The packages and the tests, without anything else."""
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, folder / name, ignore=ignored)
        else:
            shutil.copy(source, folder / name)


def killed(folder: Path, mutant: Mutant) -> bool:
    """Whether a test fails with the bug in the copy, which is repaired afterwards."""
    path = folder / mutant.path
    source = path.read_text(encoding="utf-8")
    path.write_text(planted(source, mutant), encoding="utf-8")
    try:
        ran = _pytest(folder, mutant.tests)
    finally:
        path.write_text(source, encoding="utf-8")
    if ran.returncode not in (0, FAILED):
        raise NotPlanted(f"{mutant.name}: no test was run\n{ran.stdout[-2000:]}")
    return ran.returncode == FAILED


def _pytest(folder: Path, tests: Sequence[str]) -> subprocess.CompletedProcess[str]:
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--no-header"]
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", *options, *tests],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(folder), "OPENBLAS_NUM_THREADS": "1"},
    )


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", default="*")
    parser.add_argument("--first", type=int, default=1, metavar="N", help="begin with the N-th")
    parser.add_argument("--list", action="store_true")
    args = parser.parse_args(argv)
    chosen = [mutant for mutant in MUTANTS if fnmatch.fnmatch(mutant.name, args.only)]
    if not chosen:
        parser.error(f"--only {args.only!r} matches nothing")
    if args.list:
        print("\n".join(mutant.name for mutant in chosen))
        return 0
    survived = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        copied(folder)
        for k, mutant in list(enumerate(chosen, start=1))[args.first - 1 :]:
            started = time.monotonic()
            dead = killed(folder, mutant)
            survived += not dead
            word = "killed" if dead else "SURVIVED"
            spent = time.monotonic() - started
            print(f"{k:3d}/{len(chosen)} {word:8s} {spent:5.1f} s  {mutant.name}", flush=True)
    ran = len(chosen) - args.first + 1
    print(f"{ran - survived} of {ran} killed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
