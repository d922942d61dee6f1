"""Settings of the whole suite: no outcome depends on how busy the machine is.

Linear algebra has one thread: the workers are as many as the cores, and threads that wait for one
another on a busy machine do so by spinning (60 matrices of 195 rows took 15 s for .6).
"""

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from tests import effort

os.environ["COLUMNS"] = "150"  # as in a pipe; a test of another width sets it
for library in ("OPENBLAS", "OMP", "MKL"):  # before numpy is imported, and for other processes
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--thorough", action="store_true", help="run long checks whole (tests/effort.py)"
    )


def pytest_configure(config: pytest.Config) -> None:
    effort.THOROUGH = config.getoption("thorough")
    settings.register_profile(
        "any machine",
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow],
        max_examples=effort.part(40, of=100),
    )
    settings.load_profile("any machine")


def pytest_collection_finish() -> None:
    """What was imported and collected stays: no search for garbage goes through it again."""
    gc.collect()
    gc.freeze()
