"""One release of an estimator, as a draw that is independent of every other.

**Independence.** An experiment that fits an estimator many times may never copy a generator: a copy
repeats the original's noise, and releases that repeat are told apart at once. Every fit therefore
gets a copy of the estimator in which each source of randomness it holds, wherever it holds it, is
replaced by a new one that is drawn from the trial's own generator; so are its seeds, by their names
(`SEEDS`). What functions hold (a closure) is not copied but shared, and moves on from draw to draw,
as numpy's global state does; that is independence without a seed, and in this process only.
"""

from __future__ import annotations

import copy
import gc
import random
import types
from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Sample, fit_arguments

Array = NDArray[np.float64]
Source = (
    np.random.Generator
    | np.random.RandomState
    | np.random.BitGenerator
    | np.random.SeedSequence
    | random.Random
)
GENERATORS = ("rng", "generator")
SEEDS = ("random_state", "random_seed", "seed", *GENERATORS)
"""Names under which estimators keep a seed, a generator, or None for a new one."""


@runtime_checkable
class Estimator(Protocol):
    """What can be attacked: `fit` sets the release."""

    @property
    def fit(self) -> Callable[..., object]:
        """Fit to X, or to X and y."""


Attacked = Estimator | Callable[..., Estimator]
"""An estimator, or a function from a generator to one."""


class NoRandomness:
    """Takes the place of a generator, and has nothing to give: whoever draws from it fails."""


def fresh_estimator(estimator: Attacked, rng: np.random.Generator | NoRandomness) -> Estimator:
    """A copy whose randomness comes from the trial's generator, or the estimator made from it."""
    if not isinstance(estimator, Estimator):
        return estimator(rng)
    replaced = {id(source): _new(source, rng) for source in sources_in(estimator)}
    fresh = copy.deepcopy(estimator, replaced)
    _reseed(fresh, rng)
    return fresh


def released(fitted: Estimator, data: Sample, attribute: str) -> object:
    """What `fit` releases. It gets arrays of its own, which it may change."""
    getattr(fitted, "__dict__", {}).pop(attribute, None)  # of an earlier fit
    fitted.fit(*(part.copy() for part in fit_arguments(data)))
    if not hasattr(fitted, attribute):
        raise TypeError(f"estimator must set {attribute} in fit, {type(fitted).__name__} does not")
    return getattr(fitted, attribute)


def sources_in(thing: object) -> list[Source]:
    """The sources of randomness that an object holds: in attributes, containers, methods, cells.

    Modules, classes and a function's globals are not the object's own.
    """
    found: list[Source] = []
    seen: set[int] = set()
    waiting: list[object] = [thing]
    while waiting:
        held = waiting.pop()
        if id(held) in seen or isinstance(held, (type, types.ModuleType)):
            continue
        seen.add(id(held))
        if isinstance(held, Source):
            found.append(held)
        elif isinstance(held, types.FunctionType):
            waiting += [held.__closure__, held.__defaults__, held.__kwdefaults__]
        else:
            waiting += gc.get_referents(held)
    return found


def shares_randomness(estimator: object) -> bool:
    """Whether functions hold sources of randomness, which all copies of the estimator share."""
    replaced = {id(source): NoRandomness() for source in sources_in(estimator)}
    return bool(sources_in(copy.deepcopy(estimator, replaced)))


def _new(source: Source, rng: np.random.Generator | NoRandomness) -> Source | NoRandomness:
    """A source of the same kind, seeded from the trial's generator."""
    if isinstance(rng, NoRandomness):
        return rng
    if isinstance(source, random.Random):
        return type(source)(int(rng.integers(2**63)))
    seed = np.random.SeedSequence(rng.integers(2**32, size=4).tolist())
    if isinstance(source, np.random.SeedSequence):
        return seed
    if isinstance(source, np.random.BitGenerator):
        return type(source)(seed)
    if isinstance(source, np.random.RandomState):
        return np.random.RandomState(np.random.MT19937(seed))
    return type(source)(type(source.bit_generator)(seed))


def _reseed(fresh: object, rng: np.random.Generator | NoRandomness) -> None:
    """Give the seeds among attributes and parameters, nested ones too, new values in place."""
    own = getattr(fresh, "__dict__", {})
    parameters, change = {}, own.update
    if hasattr(fresh, "get_params") and hasattr(fresh, "set_params"):
        parameters, change = fresh.get_params(), fresh.set_params
    for name, value in sorted({**own, **parameters}.items()):
        kind = name.split("__")[-1].strip("_")
        if kind in SEEDS and _is_seed(value):
            seed = _new_seed(kind, value, rng)
            (change if name in parameters else own.update)(**{name: seed})


def _is_seed(value: object) -> bool:
    """Whether what is kept under a seed's name is one: a generator was replaced already."""
    return value is None or isinstance(value, (int, np.integer, list, tuple, np.ndarray))


def _new_seed(
    kind: str, value: object, rng: np.random.Generator | NoRandomness
) -> int | np.random.Generator | NoRandomness:
    """An integer; a generator, which may be used as one, where None stands under its name."""
    if isinstance(rng, NoRandomness):
        return rng
    seed = int(rng.integers(2**31 - 1))
    return np.random.default_rng(seed) if value is None and kind in GENERATORS else seed
