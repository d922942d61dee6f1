"""Settings of the whole suite: no outcome depends on how busy the machine is."""

import os

import pytest
from hypothesis import HealthCheck, settings

from tests import effort

os.environ["COLUMNS"] = "150"  # as in a pipe; a test of another width sets it


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
