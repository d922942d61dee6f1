"""What a fitted object holds: compared between fits, and searched for what it must not keep."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import numpy as np

from verify.privacy.neighbours import Neighbours
from verify.privacy.outcomes import CannotAudit, Data, fresh_copy, is_hardened
from verify.privacy.rows import Check

GENERATORS = (np.random.Generator, np.random.BitGenerator, np.random.RandomState)


def same(here: Any, there: Any) -> bool:
    """Whether two attributes are equal, down to the types and bits of what they hold."""
    if type(here) is not type(there):
        return False
    if isinstance(here, np.ndarray):
        return here.dtype == there.dtype and np.array_equal(here, there)
    if isinstance(here, (tuple, list)):
        return len(here) == len(there) and all(map(same, here, there))
    if hasattr(here, "__dict__") and not callable(here):
        return same(sorted(vars(here).items()), sorted(vars(there).items()))
    return bool(here == there)


def differing(here: Any, there: Any) -> set[str]:
    """The attributes in which two fits differ, those that only one of them has included."""
    missing = set(vars(here)) ^ set(vars(there))
    common = set(vars(here)) & set(vars(there))
    return missing | {name for name in common if not same(vars(here)[name], vars(there)[name])}


class _Collector(pickle.Pickler):
    """Pickles, and keeps everything that goes into the pickle."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO())
        self.held: list[Any] = []

    def persistent_id(self, obj: Any) -> None:
        self.held.append(obj)


def held(fit: Any) -> list[Any]:
    """Every object that a pickle of the fit holds."""
    collector = _Collector()
    collector.dump(fit)
    return collector.held


def generators_held(fit: Any) -> list[Any]:
    """The generators, and states of generators, among them."""
    return [obj for obj in held(fit) if isinstance(obj, GENERATORS)]


def records_held(fit: Any, X: np.ndarray) -> list[Any]:
    """Numbers and arrays that hold an entry of X, in which no two numbers are equal."""
    numbers = [
        obj
        for obj in held(fit)
        if isinstance(obj, (float, np.floating))
        or (isinstance(obj, np.ndarray) and obj.dtype.kind == "f")
    ]
    return [obj for obj in numbers if np.isin(obj, X).any()]


# --- The checks -----------------------------------------------------------------------------------


def fitted(estimator: Any, data: Data, seed: int | None) -> Any:
    """A copy fitted with this seed, or with none. A seed makes a study: noise is then ordinary."""
    made = fresh_copy(estimator, None)
    if seed is not None and hasattr(made, "set_params"):
        made.set_params(random_state=seed, **({"noise": "ordinary"} if is_hardened(made) else {}))
    return made.fit(*(data if isinstance(data, tuple) else (data,)))


def takes_seed(estimator: Any) -> bool:
    """Whether its noise can be drawn again."""
    return hasattr(estimator, "get_params") and "random_state" in estimator.get_params(deep=False)


def hygiene_checks(estimator: Any, neighbours: list[Neighbours]) -> list[Check]:
    """What attributes tell, whether noise is fresh, what a pickle keeps."""
    example = neighbours[0].first
    if not takes_seed(estimator):
        return [Check("hygiene", None, "no random_state: noise cannot be drawn again")]
    try:
        first, second = (fitted(estimator, example, None) for _ in range(2))
    except Exception as error:
        raise CannotAudit(f"mechanism cannot be fitted to the data given: {error}") from error
    repeats = not differing(first, second)  # as discrete releases may: the search decides
    fresh = Check("fresh noise", None if repeats else True, REPEATS if repeats else "")
    again = _released_again(estimator, example)
    return [_attributes(estimator, neighbours), fresh, again, _pickled(first, example)]


REPEATS = "two unseeded fits are equal"
AGAIN, DISTINCT = 30, 20
CACHED = "one object gives the same release again and again: its noise is kept"
ALL_RELEASED = "the class names no `releases`: all are taken for released"
KEEPS_GENERATOR = "an unseeded fit keeps a generator: its noise can be computed"


def _released_again(estimator: Any, data: Data) -> Check:
    """One object that is fitted again and again does not repeat its noise.

    It fails if all of `AGAIN` fits of one object are equal where most of as many fits of fresh ones
    are different. If noise is fresh and a the chance of the likeliest release, that has chance at
    most a^29 (1 - a)^19 times the number of ways to choose 19 of 30, which is below 10^-6.
    """
    made, args = fresh_copy(estimator, None), data if isinstance(data, tuple) else (data,)
    first = copy.deepcopy(made.fit(*args))
    if any(differing(first, made.fit(*args)) for _ in range(AGAIN - 1)):
        return Check("released again", True)
    fresh = [fitted(estimator, data, None) for _ in range(AGAIN)]
    distinct: list[Any] = []
    for each in fresh:
        if all(differing(each, other) for other in distinct):
            distinct.append(each)
    cached = len(distinct) >= DISTINCT
    return Check("released again", False if cached else None, CACHED if cached else REPEATS)


def _attributes(estimator: Any, neighbours: list[Neighbours]) -> Check:
    """With one seed, neighbours may differ in released attributes only."""
    stated = getattr(type(estimator), "releases", None)
    if stated is None:
        return Check("attributes", None, ALL_RELEASED)
    for pair in neighbours:
        try:
            here, there = (fitted(estimator, data, 0) for data in (pair.first, pair.second))
        except Exception:
            continue  # that it raises is an outcome, which releases are searched for
        leaked = differing(here, there) - set(stated)
        if leaked:
            names = ", ".join(sorted(leaked))
            return Check("attributes", False, f"{names} differ on neighbours: {pair.about}")
    return Check("attributes", True)


def _pickled(fit: Any, data: Data) -> Check:
    if generators_held(fit):
        return Check("pickle", False, KEEPS_GENERATOR)
    rows = np.asarray(data[0] if isinstance(data, tuple) else data)
    own = rows[np.isin(rows, [0.0, 1.0, -1.0], invert=True)]  # numbers that others may have too
    if own.size and records_held(fit, own):
        return Check("pickle", False, "the fit keeps numbers of the data")
    return Check("pickle", True)
