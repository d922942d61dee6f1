"""Is a mechanism as private as it says? ``python -m verify.privacy`` and `audit`.

from minimax import Pure
from verify.privacy import audit

found = audit(my_mechanism, Pure(1.0), bounds=(0, 1))
print(found)
"""

from verify.privacy.audit import Audit, Verdict, audit
from verify.privacy.neighbours import (
    Neighbours,
    histograms,
    query_answers,
    replaced_labels,
    replaced_records,
)
from verify.privacy.outcomes import CannotAudit

__all__ = [
    "Audit",
    "CannotAudit",
    "Neighbours",
    "Verdict",
    "audit",
    "histograms",
    "query_answers",
    "replaced_labels",
    "replaced_records",
]
