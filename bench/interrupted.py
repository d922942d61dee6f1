"""Does a run that is interrupted again and again end with the JSON of one that is not?

    python bench/interrupted.py                      20 times, the quick profile
    python bench/interrupted.py --times 5 --only 'bounded-mean*'

Runs `verify.rates` once to its end, then in another folder: Ctrl-C after a random time, again and
again, and at last to its end. Times aside, the two JSON files must be equal byte for byte. A run
that ends before it is interrupted is compared too, and another is begun.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
INTERRUPTED = 130


def started(folder: Path, only: list[str]) -> subprocess.Popen[bytes]:
    """The command, with everything it keeps in the folder."""
    command = [sys.executable, "-m", "verify.rates", "--summary", "--json", "found.json", *only]
    path = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=folder, env=path, stdout=subprocess.DEVNULL)


def without_times(file: Path) -> str:
    """The JSON as text, times left out."""
    return re.sub(r'"(seconds|time|started|finished)": [^,}\n]*', "", file.read_text())


def interrupted(folder: Path, only: list[str], after: float) -> int:
    """The exit code of a run that gets Ctrl-C after so many seconds."""
    process = started(folder, only)
    try:
        return process.wait(after)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGINT)
        return process.wait()


def are_equal(whole: Path, parts: Path) -> bool:
    """Whether both folders have the same JSON, times aside."""
    return without_times(whole / "found.json") == without_times(parts / "found.json")


def told(same: bool) -> str:
    """That in words."""
    return f"the JSON is {'the same' if same else 'ANOTHER'}"


def main() -> int:
    """Print each interruption, and whether the files agree."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20, help="interruptions (default 20)")
    parser.add_argument("--only", metavar="PATTERN", help="claims whose name matches")
    parser.add_argument("--seed", type=int, default=0, help="of the moments (default 0)")
    asked = parser.parse_args()
    only, moments = ["--only", asked.only] if asked.only else [], random.Random(asked.seed)
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        whole, parts = Path(first), Path(second)
        start = time.perf_counter()
        code = started(whole, only).wait()
        taken, count, same = time.perf_counter() - start, 0, True
        print(f"without interruption: exit code {code}, {taken:.0f} s", flush=True)
        while count < asked.times:
            after = moments.uniform(0, min(taken, 4 * taken / asked.times))
            found = interrupted(parts, only, after)
            kept = sum(1 for _ in parts.rglob("*") if _.is_file())
            print(f"interrupted after {after:.1f} s: exit code {found}, {kept} files", flush=True)
            if found in (INTERRUPTED, -signal.SIGINT):
                count += 1
                continue
            same = same and found == code and are_equal(whole, parts)
            print(f"ended before it was interrupted: {told(same)}; begun again", flush=True)
            shutil.rmtree(parts)
            parts.mkdir()
        same = same and started(parts, only).wait() == code and are_equal(whole, parts)
        print(f"interrupted {count} times: {told(same)}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
