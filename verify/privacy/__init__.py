"""Is a mechanism as private as it says? ``python -m verify.privacy`` and `audit`.

    from minimax import Pure
    from verify.privacy import audit

    found = audit(my_mechanism, Pure(1.0), data=example)
    print(found)

The flow: `neighbours` are asked for releases (`outcomes`), `statistics` tell the two sides apart,
`budget` says what their chances prove, and `blackbox` goes through it in stages. What an estimator
did is seen by `whitebox`, `hygiene` and `floats`; `one_run` asks with a single fit. `controls` are
what all of it is tried on.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.privacy.auditing import Audit, Verdict, audit
    from verify.privacy.cases import Case
    from verify.privacy.neighbours import (
        Neighbours,
        histograms,
        query_answers,
        replaced_labels,
        replaced_records,
    )
    from verify.privacy.one_run import OneRun, one_run_audit
    from verify.privacy.outcomes import CannotAudit

__all__ = [
    "Audit",
    "CannotAudit",
    "Case",
    "Neighbours",
    "OneRun",
    "Verdict",
    "audit",
    "histograms",
    "one_run_audit",
    "query_answers",
    "replaced_labels",
    "replaced_records",
]
_HOMES = {
    "Audit": "auditing",
    "CannotAudit": "outcomes",
    "Case": "cases",
    "Neighbours": "neighbours",
    "OneRun": "one_run",
    "Verdict": "auditing",
    "audit": "auditing",
    "histograms": "neighbours",
    "one_run_audit": "one_run",
    "query_answers": "neighbours",
    "replaced_labels": "neighbours",
    "replaced_records": "neighbours",
}
"""The module of each name, imported when the name is first asked for: scikit-learn is slow to."""


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
