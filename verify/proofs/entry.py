"""What an entry of the proof ledger is, and how running it gives its status.

An entry holds one numbered statement of a paper in executable forms. A form is a function that
decides whether it holds, with the numbers that show it. Nobody writes a status down as a fact: it
follows from which forms hold (`status_of`), and is then compared with the expectation recorded in
the entry.

**Every check is seen to pass and to fail.** A check that cannot fail shows nothing, and neither
does a counterexample that would strike down true statements too. So an entry runs at least one form
that holds and one that does not. Beside a printed statement that holds stands a mutant of it
(constant changed, inequality reversed, exponent shifted). Beside one that does not stands its
correction with a mutant of *that*, since the printed form may be far from where the corrected one
ceases to be true; or a relaxed form which the same check must pass.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, TypedDict, TypeVar

import numpy as np

from minimax.papers import PAPERS, THIS_WORK
from verify.seeds import cell_seed

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


class Status(StrEnum):
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


Check = Callable[..., Result]
AnyCheck = TypeVar("AnyCheck", bound=Check)


@dataclass(frozen=True)
class Form:
    """One executable form of a statement: what it says, and the check that decides it."""

    words: str
    run: Callable[[np.random.Generator], Result]
    check: str
    """The name of the check that `run` calls, and with which arguments."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    module: str = ""
    """Where the check stands."""
    title: str = ""
    """What it is called, where the name of its role would say too much."""


class Case:
    """A form as data: its words, and the arguments that the check below the statement is given.

    `check` is another check, for a form that the one below does not decide; `title` is that of
    `Form`.
    """

    def __init__(
        self,
        words: str,
        /,
        *args: object,
        check: Check | None = None,
        title: str = "",
        **arguments: object,
    ) -> None:
        self.words = words
        self.args = args
        self.check = check
        self.title = title
        self.arguments = arguments

    def form(self, below: Check | None = None) -> Form:
        """The form; a check whose first parameter is `rng` is given the generator."""
        check = self.check or below
        if check is None:
            raise ValueError(f"no check decides {self.words!r}")
        signature = inspect.signature(check)
        random = next(iter(signature.parameters), "") == "rng"
        given = (None, *self.args) if random else self.args
        bound = signature.bind(*given, **self.arguments)  # a wrong argument is an error on import
        bound.apply_defaults()
        shown = {name: value for name, value in bound.arguments.items() if name != "rng"}

        def run(rng: np.random.Generator) -> Result:
            first = (rng,) if random else ()
            return check(*first, *self.args, **self.arguments)

        return Form(self.words, run, check.__name__, shown, check.__module__, self.title)


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
    """Breaks the corrected form, or the printed one where there is no correction."""
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
    echoes: str = ""
    """The entry whose finding this one shows again, in another place of the text."""
    uses: tuple[str, ...] = ()
    """The statements in whose terms this one is stated, by id."""
    proof_uses: tuple[str, ...] = ()
    """The statements that its proof calls on and it does not itself."""
    despite: str = ""
    """Why it stands although something that it uses does not."""
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
    def finding(self) -> str:
        """The id of the entry that found first what this one finds: its own, or one it repeats."""
        return self.echoes or self.same_as or self.id

    @property
    def forms(self) -> dict[str, Form]:
        """The executable forms, by role."""
        named = {role: getattr(self, role) for role in FORMS}
        return {role: form for role, form in named.items() if form is not None}


class Cases(TypedDict, total=False):
    """Cases by form, for statements that share them: ``states(..., **cases)``."""

    printed: Case
    step: Case
    corrected: Case
    mutant: Case
    relaxed: Case


class Chapter:
    """Statements of a paper in the order of the text, each with its check right below it.

    >>> chapter = Chapter("CWZ19")
    >>> @chapter.states(
    ...     "Lemma 0", "$x^2$ is at least $2x-1$.", kind="lemma", found="Holds.",
    ...     printed=Case("as printed", shift=1), mutant=Case("constant 0", shift=0), by="exact",
    ...     expected=Status.HOLDS,
    ... )
    ... def square(*, shift: int) -> Result:
    ...     return result(all(x * x >= 2 * x - shift for x in range(-9, 10)))
    >>> [run_entry(entry).status.value for entry in chapter.entries]
    ['holds']
    """

    def __init__(self, paper: str) -> None:
        self.paper = paper
        self._slots: list[Entry | None] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries, in the order in which the statements stand in the file."""
        found = tuple(entry for entry in self._slots if entry is not None)
        if len(found) < len(self._slots):
            raise ValueError(f"{self.paper}: a statement has no check below it")
        return found

    def states(
        self,
        number: str,
        statement: str,
        *,
        kind: Kind,
        found: str,
        by: Method,
        expected: Status,
        printed: Case | None = None,
        step: Case | None = None,
        corrected: Case | None = None,
        mutant: Case | None = None,
        relaxed: Case | None = None,
        severity: Severity = "none",
        rate: bool = False,
        wrong: str = "",
        code: tuple[str, ...] = (),
        same_as: str = "",
        echoes: str = "",
        uses: tuple[str, ...] = (),
        proof_uses: tuple[str, ...] = (),
        despite: str = "",
        slow: bool = False,
    ) -> Callable[[AnyCheck], AnyCheck]:
        """Put a statement above the function that checks it; the fields are those of `Entry`.

        `uses` and `proof_uses` name statements of the same paper by their number alone.

        The function is returned as it is, and may stand below several statements. Where it stands
        elsewhere (as the order of the text asks) it is named instead: ``states(...)(check)``.
        """
        # Decorators are applied from the bottom up, but made from the top down: the slot is
        # taken when the decorator is made, so that the entries stand in the order of the text.
        slot = self._reserve()
        cases = dict(zip(FORMS, (printed, step, corrected, mutant, relaxed), strict=True))

        def register(check: AnyCheck) -> AnyCheck:
            forms = {role: case.form(check) for role, case in cases.items() if case}
            self._slots[slot] = Entry(
                id=f"{self.paper}:{number}",
                kind=kind,
                summary=found,
                statement=statement,
                expected=expected,
                method=by,
                severity=severity,
                rate=rate,
                wrong=wrong,
                code=code,
                same_as=same_as,
                echoes=echoes,
                uses=self._ids(uses),
                proof_uses=self._ids(proof_uses),
                despite=despite,
                slow=slow,
                not_checkable="",
                **forms,
            )
            return check

        return register

    def leaves(
        self,
        number: str,
        statement: str,
        *,
        kind: Kind,
        found: str,
        because: str,
        uses: tuple[str, ...] = (),
    ) -> None:
        """A statement that no check can decide, with the reason."""
        self.add(
            Entry(
                id=f"{self.paper}:{number}",
                kind=kind,
                summary=found,
                statement=statement,
                expected=Status.NOT_CHECKABLE,
                not_checkable=because,
                uses=self._ids(uses),
            )
        )

    def add(self, entry: Entry) -> None:
        """Append an entry that is whole."""
        self._slots[self._reserve()] = entry

    def _ids(self, numbers: tuple[str, ...]) -> tuple[str, ...]:
        """The ids of statements, which without a paper's key are of this one."""
        keys = tuple(f"{key}:" for key in (*PAPERS, THIS_WORK))
        return tuple(n if n.startswith(keys) else f"{self.paper}:{n}" for n in numbers)

    def _reserve(self) -> int:
        self._slots.append(None)
        return len(self._slots) - 1


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
    if "corrected" in outcomes and "mutant" not in outcomes:
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
