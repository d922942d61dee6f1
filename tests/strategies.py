"""The strategies of the property tests are those that users import: `verify.strategies`."""

from verify.strategies import (
    Data,
    local_privacies,
    log_floats,
    log_integers,
    neighbouring_rows,
    neighbours,
    privacies,
)

__all__ = [
    "Data",
    "local_privacies",
    "log_floats",
    "log_integers",
    "neighbouring_rows",
    "neighbours",
    "privacies",
]
