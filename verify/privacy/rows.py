"""What a check found: a row of the table."""

from __future__ import annotations

from typing import NamedTuple


class Check(NamedTuple):
    """One check of what a mechanism did, its result, and what is wrong or was not checked."""

    name: str
    passed: bool | None
    """None: it does not apply, or says no more than `told`."""
    told: str = ""

    @staticmethod
    def of(name: str, passed: bool, wrong: str) -> Check:
        """A check that says what is wrong if it failed."""
        return Check(name, passed, "" if passed else wrong)

    @property
    def mark(self) -> str:
        """The result in a word."""
        return {True: "ok", False: "FAILED", None: "-"}[self.passed]
