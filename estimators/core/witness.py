"""A witness of mechanism calls, which nobody installs but an auditor.

A mechanism that is `witnessed` shows each call, the value before noise and the release, to the
witness of this thread, if there is one, and returns what the witness hands back: the same release,
or one of an earlier run that is played again. Without a witness a call is what it would be, and
nothing is kept of it in either case by the mechanism or by who called it.

What noise hides may depend on the release, as the gradients at a perturbed minimum do: `shown` then
takes a function from the release to the value before noise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
Witness = Callable[[Any, Any], Any]
"""From the value before noise, or the function that tells it from the release, and the mechanism's
result, to the result that is returned."""
_WITNESS: ContextVar[Witness | None] = ContextVar("witness", default=None)


def witnessed(mechanism: Callable[P, R]) -> Callable[P, R]:
    """The same mechanism, whose first argument is the value before noise, shown to the witness."""

    @wraps(mechanism)
    def call(*args: P.args, **options: P.kwargs) -> R:
        return shown(args[0], mechanism(*args, **options))

    return call


def shown(before: Any, result: R) -> R:
    """What the witness hands back for a release and the value before noise: without one, it."""
    witness = _WITNESS.get()
    if witness is None:
        return result
    found: R = witness(before, result)
    return found


def is_watched() -> bool:
    """Whether somebody looks on, so that every report has to be shown."""
    return _WITNESS.get() is not None


@contextmanager
def seen_by(witness: Witness) -> Iterator[None]:
    """Let a witness see the mechanism calls of this thread."""
    token = _WITNESS.set(witness)
    try:
        yield
    finally:
        _WITNESS.reset(token)
