"""What an entry of the proof ledger is, and how running it gives its status.

An entry holds one numbered statement of a paper in executable forms. A form is a function that
decides whether it holds, with the numbers that show it. Nobody writes a status down as a fact: it
follows from which forms hold (`status_of`), and is then compared with the expectation recorded in
the entry.

**Every check is seen to pass and to fail.** A check that cannot fail shows nothing, and neither
does a counterexample that would strike down true statements too. So an entry runs at least one form
that holds and one that does not: beside a printed statement that holds, a mutant (constant halved,
inequality reversed, exponent shifted); beside one that does not, its correction, or a relaxed form
which the same check must pass.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal

import numpy as np

from verify.rates.measure import cell_seed

Value = float | int | str | bool
Kind = Literal[
    "definition",
    "example",
    "fact",
    "lemma",
    "theorem",
    "corollary",
    "remark",
    "algorithm",
    "assumption",
    "equation",
    "experiment",
]
Severity = Literal["none", "harmless", "constants", "breaks a claim"]
Method = Literal[
    "symbolic", "exact", "brute force", "quadrature", "optimisation", "simulation", "execution"
]
"""How a check knows: symbolic and exact (rational arithmetic) prove; brute force, quadrature and
optimisation verify to a stated precision or on a stated grid; simulation within the error budget;
execution runs an algorithm or a mechanism and looks at what it did."""

ALPHA = 5e-9
"""Error level of each interval of a simulated check: 10^-6 over at most 200 of them."""


class Status(str, Enum):
    """What running an entry showed."""

    HOLDS = "holds"
    CORRECTED = "holds corrected"
    REFUTED = "refuted"
    RATE = "rate only"
    UNPROVED = "unproved"
    NOT_CHECKABLE = "not checkable"
    INVALID = "invalid check"
    """No form held, none failed, a control came out wrong, or a check raised. Never expected."""


@dataclass(frozen=True)
class Result:
    """Whether a form holds, with the numbers that show it."""

    holds: bool
    evidence: Mapping[str, Value]


def result(holds: object, **evidence: Value) -> Result:
    """A result from a truth value (a numpy or sympy one too) and named numbers."""
    plain = {
        name.replace("_", " "): value.item() if isinstance(value, np.generic) else value
        for name, value in evidence.items()
    }
    return Result(bool(holds), plain)


@dataclass(frozen=True)
class Form:
    """One executable form of a statement: what it says, and the check that decides it."""

    words: str
    run: Callable[[np.random.Generator], Result]


FORMS = ("printed", "step", "corrected", "mutant", "relaxed")
RAISED = "raised"
"""The evidence of a check that could not be run to its end."""
PASSES = {"corrected": True, "mutant": False, "relaxed": True}
"""Forms whose outcome is known beforehand, or the check is invalid."""


@dataclass(frozen=True)
class Entry:
    """A numbered statement and its check.

    Give `printed` (the statement as the paper has it), or `step` where the statement itself cannot
    be decided but a step of its proof can be shown to fail, or `not_checkable` with the reason.
    """

    id: str
    kind: Kind
    summary: str
    """One line: what was found."""
    statement: str
    """The statement in our own words, formulas as LaTeX between dollars."""
    expected: Status
    method: Method | None = None
    severity: Severity = "none"
    printed: Form | None = None
    corrected: Form | None = None
    mutant: Form | None = None
    relaxed: Form | None = None
    step: Form | None = None
    rate: bool = False
    """Whether the constant is hidden, so that only an exponent is checked."""
    not_checkable: str = ""
    wrong: str = ""
    """What the paper says against what is true."""
    code: tuple[str, ...] = ()
    """Dotted names of what implements or uses the statement."""
    same_as: str = ""
    """The entry of another paper's statement that this one repeats."""
    slow: bool = False
    """Left out by --fast."""

    def __post_init__(self) -> None:
        given = [bool(self.printed), bool(self.step), bool(self.not_checkable)]
        if sum(given) != 1:
            raise ValueError(f"{self.id}: give one of printed, step and not_checkable")
        if (self.method is None) != bool(self.not_checkable):
            raise ValueError(f"{self.id}: a check has a method, and only a check")
        paper, _, number = self.id.partition(":")
        if not paper or not number:
            raise ValueError(f"id must look like 'CWZ19:Lemma 3.2', got {self.id!r}")

    @property
    def paper(self) -> str:
        """The key of the paper."""
        return self.id.partition(":")[0]

    @property
    def forms(self) -> dict[str, Form]:
        """The executable forms, by role."""
        named = {role: getattr(self, role) for role in FORMS}
        return {role: form for role, form in named.items() if form is not None}


@dataclass(frozen=True)
class Finding:
    """What running an entry showed."""

    id: str
    status: Status
    results: Mapping[str, Result] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def mutant_fails(self) -> bool | None:
        """Whether some form that should fail did; None where nothing is checked."""
        if not self.results:
            return None
        return any(not found.holds for found in self.results.values())


def status_of(entry: Entry, results: Mapping[str, Result]) -> Status:
    """The status that the outcomes of the forms amount to."""
    if entry.not_checkable:
        return Status.NOT_CHECKABLE
    if any(RAISED in found.evidence for found in results.values()):
        return Status.INVALID
    outcomes = {role: found.holds for role, found in results.items()}
    if any(outcomes[role] != passes for role, passes in PASSES.items() if role in outcomes):
        return Status.INVALID
    if len(set(outcomes.values())) < 2:
        return Status.INVALID
    if entry.step:
        return Status.INVALID if outcomes["step"] else Status.UNPROVED
    if outcomes["printed"]:
        return Status.RATE if entry.rate else Status.HOLDS
    return Status.CORRECTED if "corrected" in outcomes else Status.REFUTED


def _outcome(form: Form, rng: np.random.Generator) -> Result:
    """What a form shows; one that raises says so, and the rest of the ledger is still run."""
    try:
        return form.run(rng)
    except Exception as error:
        return Result(False, {RAISED: f"{type(error).__name__}: {error}"})


def run_entry(entry: Entry, seed: int = 0) -> Finding:
    """Run every form of an entry, each from the same random numbers."""
    start = time.perf_counter()
    own = cell_seed(seed, entry.id)
    results = {
        role: _outcome(form, np.random.default_rng(own)) for role, form in entry.forms.items()
    }
    return Finding(entry.id, status_of(entry, results), results, time.perf_counter() - start)
