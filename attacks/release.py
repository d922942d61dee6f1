"""One release of an estimator, as a draw that is independent of every other.

**Independence.** An experiment that fits an estimator many times may never copy a generator: a copy
repeats the original's noise, and releases that repeat are told apart at once. Every fit therefore
gets a copy of the estimator in which each source of randomness it holds, wherever it holds it, is
replaced by a new one that is drawn from the trial's own generator; so is the state of one that is
kept in its place (`bit_generator.state` and its like), and so are seeds, by their names (`SEEDS`).
What functions hold (a closure) is not copied but shared, and moves on from draw to draw, as a class
attribute and numpy's global state do; that is independence without a seed, and in this process
only. An estimator that copies a source by itself (`__deepcopy__` without the memo) is refused, and
one that hides it from all this is found out by `check_copies`, if releases repeat.
"""

from __future__ import annotations

import copy
import gc
import inspect
import random
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeGuard, get_args, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Labelled, Sample, fit_arguments

Array = NDArray[np.float64]
Source = (
    np.random.Generator
    | np.random.RandomState
    | np.random.BitGenerator
    | np.random.SeedSequence
    | random.Random
)
SOURCES = get_args(Source)
"""The same as a tuple, which `isinstance` reads several times as fast."""
PLAIN = frozenset({type(None), bool, int, float, complex, str, bytes, range})
"""Kinds that hold nothing: most of what an estimator refers to."""
Release = Any
"""Whatever an estimator gives out: a number, an array, a list of names."""
State = dict[str, Any] | tuple[object, ...]
"""What a source gives as its state, and takes back."""
BIT_GENERATORS = {kind.__name__: kind for kind in np.random.BitGenerator.__subclasses__()}
MERSENNE_WORDS = 625
"""What `random.Random` keeps: 624 words and the place among them."""
REFITS = 20
"""Geometric noise at epsilon = 1 repeats as often with chance 2e-7."""
GENERATORS = ("rng", "generator")
SEEDS = ("random_state", "random_seed", "seed", *GENERATORS)
"""Names under which estimators keep a seed, a generator, or None for a new one."""


@runtime_checkable
class Estimator(Protocol):
    """What can be attacked: `fit` sets the release."""

    @property
    def fit(self) -> Callable[..., object]:
        """Fit to X, or to X and y."""


Attacked = Estimator | Callable[..., Any]
"""An estimator, a function from a generator to one, or a mechanism: see `takes_data`."""


@dataclass
class Called:
    """A function of data and a generator, or of data alone, in the form of an estimator."""

    mechanism: Callable[..., Release]
    rng: np.random.Generator
    release: Release = None

    def fit(self, data: Sample) -> Called:
        """Release on the data, which the function may change."""
        one = positional_arguments(self.mechanism) == 1
        self.release = self.mechanism(data) if one else self.mechanism(data, self.rng)
        return self


def takes_data(function: Callable[..., Any]) -> bool:
    """Whether a function is a mechanism: all are but those of one argument with a seed's name,
    which make an estimator of a generator."""
    try:
        names = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function that is not Python's
        return True
    return not (len(names) == 1 and names[0] in SEEDS)


def positional_arguments(function: Callable[..., Any]) -> int:
    """How many positional arguments it takes, two at most; two if any number, or nobody knows."""
    try:
        given = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 2
    if any(each.kind is each.VAR_POSITIONAL for each in given):
        return 2
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return min(sum(each.kind in kinds for each in given), 2)


def fresh_estimator(estimator: Attacked, rng: np.random.Generator) -> Estimator:
    """A copy whose randomness comes from the trial's generator, or the estimator made from it."""
    if not isinstance(estimator, Estimator):
        made: Estimator = Called(estimator, rng) if takes_data(estimator) else estimator(rng)
        return made
    held = sources_in(estimator)
    replaced: dict[int, object] = {id(source): _new(source, rng) for source in held}
    known = {*replaced, *map(id, replaced.values())}
    fresh = copy.deepcopy(estimator, replaced)
    if any(id(source) not in known for source in sources_in(fresh)):
        raise ValueError(
            "estimator must pass the memo on in __deepcopy__, or its copies repeat one noise: "
            "give a function from a generator to an estimator instead"
        )
    _reseed(fresh, rng)
    return fresh


def released(fitted: Estimator, data: Sample, attribute: str) -> Release:
    """What `fit` releases. It gets arrays of its own, which it may change."""
    if isinstance(fitted, Called):
        return fitted.fit(_own_copy(data)).release
    getattr(fitted, "__dict__", {}).pop(attribute, None)  # of an earlier fit
    fitted.fit(*(part.copy() for part in fit_arguments(data)))
    if not hasattr(fitted, attribute):
        raise TypeError(f"estimator must set {attribute} in fit, {type(fitted).__name__} does not")
    return getattr(fitted, attribute)


def _own_copy(data: Sample) -> Sample:
    parts = [part.copy() for part in fit_arguments(data)]
    return Labelled(*parts) if isinstance(data, Labelled) else parts[0]


@dataclass(frozen=True)
class ReleaseSampler:
    """A function from a generator to a release: fits a fresh copy of the estimator to the data."""

    estimator: Attacked
    data: Sample
    attribute: str

    def __call__(self, rng: np.random.Generator) -> Release:
        return released(fresh_estimator(self.estimator, rng), self.data, self.attribute)

    def refits(self, rng: np.random.Generator) -> list[Release]:
        """Releases of one and the same copy."""
        fitted = fresh_estimator(self.estimator, rng)
        return [released(fitted, self.data, self.attribute) for _ in range(REFITS)]


def release_sampler(estimator: Attacked, X: Sample, attribute: str = "mean_") -> ReleaseSampler:
    """A function that fits a fresh copy of the estimator to X and returns its release.

    For regression X is `minimax.core.bound.Labelled`, and `attribute` is "coef_".
    """
    return ReleaseSampler(estimator, X, attribute)


def check_copies(release: Callable[[np.random.Generator], Release]) -> None:
    """Refuse an estimator whose copies repeat one release while fits of one copy differ.

    Its copies carry noise that none of them has drawn: to call their releases independent would
    refute a private mechanism. Where a lucky private mechanism has repeated N times, this refuses
    it with chance at most `REFITS`/(N + 1), N + 1 draws being exchangeable; refusing is sound.
    """
    if not isinstance(release, ReleaseSampler):
        return
    first, second, third = (np.random.default_rng(seed) for seed in range(3))
    if not np.array_equal(release(first), release(second)):
        return
    refits = release.refits(third)
    if not all(np.array_equal(refits[0], again) for again in refits):
        raise ValueError(
            "estimator must not repeat its noise in copies: every copy gives the same release, "
            "fits of one copy differ; give a function from a generator to an estimator instead"
        )


def sources_in(thing: object) -> list[Source | State]:
    """The sources of randomness that an object holds: in attributes, containers, methods, cells.

    Modules, classes and a function's globals are not the object's own.
    """
    found: list[Source | State] = []
    seen: set[int] = set()
    waiting: list[object] = [thing]
    while waiting:
        held = waiting.pop()
        if type(held) in PLAIN or id(held) in seen or isinstance(held, (type, types.ModuleType)):
            continue
        seen.add(id(held))
        if isinstance(held, SOURCES) or _is_state(held):
            found.append(held)
        elif isinstance(held, types.FunctionType):
            waiting += [held.__closure__, held.__defaults__, held.__kwdefaults__]
        else:
            waiting += gc.get_referents(held)
    return found


def shares_randomness(estimator: object) -> bool:
    """Whether functions hold sources of randomness, which all copies of the estimator share."""
    replaced: dict[int, object] = {id(source): object() for source in sources_in(estimator)}
    return bool(sources_in(copy.deepcopy(estimator, replaced)))


def _is_state(held: object) -> TypeGuard[State]:
    """As given by `bit_generator.state`, `RandomState.get_state` or `random.Random.getstate`."""
    if not isinstance(held, (dict, tuple)):
        return False
    match held:
        case {"bit_generator": str(name)} | (str(name), np.ndarray(), _, _, _):
            return name in BIT_GENERATORS
        case (int(), tuple(words), _):
            return len(words) == MERSENNE_WORDS
    return False


def _new(source: Source | State, rng: np.random.Generator) -> Source | State:
    """A source of the same kind, or the state of one, seeded from the trial's generator."""
    seed = np.random.SeedSequence(rng.integers(2**32, size=4).tolist())
    match source:
        case np.random.SeedSequence():
            return seed
        case np.random.BitGenerator():
            return type(source)(seed)
        case np.random.RandomState():
            return np.random.RandomState(np.random.MT19937(seed))
        case np.random.Generator():
            return type(source)(type(source.bit_generator)(seed))
        case random.Random():
            return type(source)(int(rng.integers(2**63)))
        case dict():
            return dict(BIT_GENERATORS[source["bit_generator"]](seed).state)
        case (str(), *_):
            return tuple(np.random.RandomState(np.random.MT19937(seed)).get_state())
        case _:
            return random.Random(int(rng.integers(2**63))).getstate()


def _reseed(fresh: object, rng: np.random.Generator) -> None:
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
    kinds = (int, np.integer, list, tuple, np.ndarray)
    return value is None or (isinstance(value, kinds) and not _is_state(value))


def _new_seed(kind: str, value: object, rng: np.random.Generator) -> object:
    """An integer; a generator, which may be used as one, where None stands under its name."""
    seed = int(rng.integers(2**31 - 1))
    return np.random.default_rng(seed) if value is None and kind in GENERATORS else seed
