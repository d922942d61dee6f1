"""What earlier runs found, read from a folder: what is not there is shown as not run.

The folder is what the commands write: ``verify.proofs --json proofs.json``, ``verify.rates --json
rates.json`` with its plots, the panels of the findings, and in ``figures/`` the papers' figures as
``verify.figures`` draws them. `rerun` writes all of it anew.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from verify.files import write_whole
from verify.proofs.entry import Entry, Status
from verify.rates.claims import all_claims
from verify.rates.plots import plot_name

PROOFS, RATES, FIGURES = "proofs.json", "rates.json", "figures"
LARGEST_PICTURE = 400_000
"""Bytes; a larger picture is left out."""


class Unreadable(ValueError):
    """A stored result that cannot be read, in a sentence."""


@dataclass(frozen=True)
class Stored:
    """The results of a folder, or none."""

    folder: Path | None = None
    ledger: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What running each entry showed, by its id."""
    cells: tuple[Mapping[str, Any], ...] = ()
    """The measured cells of the claims."""

    def status(self, entry: Entry) -> Status:
        """The status that was found, or the recorded one if the entry was not run."""
        found = self.ledger.get(entry.id)
        return Status(found["status"]) if found else entry.expected

    def evidence(self, entry: Entry, role: str) -> Mapping[str, Any] | None:
        """What a form showed, if it was run."""
        found = self.ledger.get(entry.id)
        return found["evidence"].get(role) if found else None

    def picture(self, name: str) -> Path | None:
        """A stored picture, by its name in the folder."""
        path = self.folder / name if self.folder else None
        fits = path is not None and path.is_file() and path.stat().st_size <= LARGEST_PICTURE
        return path if fits else None

    def pictures(self) -> list[str]:
        """The names of all that are stored."""
        if self.folder is None:
            return []
        found = [*self.folder.glob("*.png"), *self.folder.glob(f"{FIGURES}/*.png")]
        names = sorted(path.relative_to(self.folder).as_posix() for path in found)
        return [name for name in names if self.picture(name)]

    def cells_of(self, claim: str) -> list[Mapping[str, Any]]:
        """The measured cells of a claim."""
        return [cell for cell in self.cells if cell["claim"] == claim]


def load(folder: Path | None) -> Stored:
    """The results of a folder; what is missing is left out, what is damaged is refused."""
    if folder is None or not folder.is_dir():
        return Stored()
    ledger = {each["id"]: each for each in _read(folder / PROOFS, "entries")}
    return Stored(folder, ledger, tuple(_read(folder / RATES, "cells")))


def _read(path: Path, key: str) -> list[Any]:
    if not path.is_file():
        return []
    try:
        found = json.loads(path.read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unreadable(f"cannot read {path}: {error}") from None
    if not isinstance(found, list):
        raise Unreadable(f"cannot read {path}: its {key} are no list")
    return found


def panel_name(identifier: str) -> str:
    """The picture of a finding."""
    from verify.companion.addresses import statement_address

    return "finding-" + statement_address(identifier).replace("/", "-").replace(".html", ".png")


def figure_names(identifier: str) -> list[str]:
    """The pictures that a figure of a paper may have: its own, or that of all of its panels.

    >>> figure_names("CWZ19:Figure 1"), figure_names("CWZ19:Lemma 3.2")
    (['figures/cwz19-figure-1.png'], [])
    """
    from verify.companion.addresses import slug

    paper, _, number = identifier.partition(":")
    whole = re.match(r"(?:Figure|Table) \w+", number)
    parts = dict.fromkeys([number, whole[0]]) if whole else {}
    return [f"{FIGURES}/{slug(paper)}-{slug(part)}.png" for part in parts]


def rerun(folder: Path, jobs: int, seed: int, tell: Callable[[str], object]) -> None:
    """Run the ledger, the claims and the figures, and draw the findings, into a folder."""
    from verify.figures.command import main as figures
    from verify.plotting import save_figure
    from verify.proofs.command import main as proofs
    from verify.proofs.figures import PANELS, panel_figure
    from verify.rates.command import main as rates

    folder.mkdir(parents=True, exist_ok=True)
    common = ["--seed", str(seed), "--jobs", str(jobs)]
    tell("running the proof ledger")
    proofs([*common, "--json", str(folder / PROOFS)])
    tell("measuring the claims")
    kept = ["--results", str(folder / ".tracebound"), "--plots"]
    rates([*common, *kept, str(folder), "--summary", "--json", str(folder / RATES)])
    tell("regenerating the papers' figures")
    figures([*common, *kept, str(folder / FIGURES)])
    for identifier in PANELS:
        path = folder / panel_name(identifier)
        write_whole(path, partial(save_figure, panel_figure(identifier, seed)))


@dataclass(frozen=True)
class Measured:
    """A claim with its plot and its cells, if it was run."""

    name: str
    problem: str
    estimator: str
    bound: str
    loss: str
    picture: str
    verdicts: Mapping[str, int]


def measured_claims(stored: Stored) -> list[Measured]:
    """Every claim of the toolkit, with what was measured of it."""
    found = []
    for claim in all_claims():
        verdicts = Counter(cell["verdict"] for cell in stored.cells_of(claim.name))
        found.append(
            Measured(
                claim.name,
                claim.problem.name,
                claim.estimator.partition(" (")[0],  # without its setting
                claim.lower.name,
                str(claim.lower.loss),
                plot_name(claim.name),
                verdicts,
            )
        )
    return found
