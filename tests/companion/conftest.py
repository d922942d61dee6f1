"""The companion's site, written once for all processes, and a browser to look at it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from verify.companion.site import Site, prepare
from verify.companion.stored import PROOFS, RATES, load, panel_name
from verify.proofs.command import as_dict
from verify.proofs.entry import run_entry
from verify.statements import entries

RUN = "CWZ19:Lemma 3.2"
"""The one statement that is run; all others are shown as not run."""
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def write_results(folder: Path) -> None:
    """A few results, as the commands write them."""
    entry = entries()[RUN]
    told = as_dict([entry], {RUN: run_entry(entry)})
    (folder / PROOFS).write_text(json.dumps(told), encoding="utf-8")
    cell = {
        "claim": "mean/tracing/zCDP",
        "point": {"n": 100, "d": 4, "rho": 0.5},
        "risk": 0.5,
        "ci_low": 0.4,
        "ci_high": 0.6,
        "lower": 0.1,
        "upper": 0.9,
        "trials": 7,
        "seed": 3,
        "verdict": "CONSISTENT",
    }
    (folder / RATES).write_text(json.dumps({"cells": [cell]}), encoding="utf-8")
    picture = Path(__file__).parents[2] / "docs" / "sandwich.png"
    for name in ("sandwich.png", panel_name(RUN), "mean-tracing-zCDP.png"):
        shutil.copyfile(picture, folder / name)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site; the first process to ask builds it, the others wait."""
    shared = tmp_path_factory.getbasetemp()
    shared = shared.parent if "PYTEST_XDIST_WORKER" in os.environ else shared
    out, done = shared / "companion-site", shared / "companion-site.done"
    try:
        (shared / "companion-results").mkdir()
    except FileExistsError:
        while not done.exists():
            time.sleep(0.2)
        return out
    try:
        write_results(shared / "companion-results")
        prepare(out)
        Site(out, load(shared / "companion-results")).build()
    finally:
        done.touch()
    return out


def browser_path() -> str | None:
    """A Chromium of the system, if there is one."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, driven by Playwright."""
    path = browser_path()
    if path is None:
        pytest.skip("no Chromium on this system: apt-get install chromium")
    drive = pytest.importorskip("playwright.sync_api", reason="pip install playwright")
    with drive.sync_playwright() as running:
        opened = running.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


LEFT = "net::ERR_ABORTED"
"""What was still on its way when the page was left for another: no fault of either."""


class Watched:
    """A page of the browser, and what went wrong on it."""

    def __init__(self, context: Any, site: Path) -> None:
        self.page = context.new_page()
        self.site = site
        self.faults: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("requestfailed", self._failed)
        self.page.on("request", lambda asked: self.asked.append(asked.url))

    def _failed(self, asked: Any) -> None:
        if asked.failure != LEFT:
            self.faults.append(f"failed: {asked.url}: {asked.failure}")

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(f"console: {message.text}")

    def open(self, address: str) -> Any:
        """Go to a page of the site."""
        self.page.goto((self.site / address.partition("#")[0]).as_uri() + _anchor(address))
        return self.page


def _anchor(address: str) -> str:
    return "#" + address.partition("#")[2] if "#" in address else ""


@pytest.fixture
def watched(browser: Any, site: Path) -> Iterator[Watched]:
    """A fresh page."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    yield Watched(context, site)
    context.close()
