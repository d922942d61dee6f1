"""Bounds that are made once and shared."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from typing import Any, ParamSpec, cast

from minimax.core.bound import LowerBound

Asked = ParamSpec("Asked")


def made_once(make: Callable[Asked, list[LowerBound]]) -> Callable[Asked, list[LowerBound]]:
    """The bounds of one definition, the same objects whenever they are asked for.

    They hold for every point, so that problems of all sizes share them: a closed form, which takes
    up to a second, is made once, and so is a search at a point.
    """
    made: Any = cache(lambda *given, **named: tuple(make(*given, **named)))

    @wraps(make)
    def again(*given: Asked.args, **named: Asked.kwargs) -> list[LowerBound]:
        return list(cast("tuple[LowerBound, ...]", made(*given, **named)))

    return again
