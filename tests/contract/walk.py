"""A walk over the whole domain of a bound, held against the same formula in balls."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter

import mpmath
import numpy as np

from minimax.core.balls import precision
from minimax.core.bound import PRECISIONS, Bound, Optimum, OutsideRegime
from tests.effort import part

Point = dict[str, float]
Draw = Callable[[np.random.Generator], float]

ALL_POINTS = 300
POINTS = part(20, of=ALL_POINTS)
DIGITS = 50
CLOSE = 1e-6
"""How far inside the exact value a reported one may lie: soundness is not bought by vagueness."""
TINY = 1e-290
"""Below this a float has lost digits or is 0; a lower bound may then be smaller than exact."""


def log_uniform(low: float, high: float, *edges: float) -> Draw:
    """Numbers uniform on a log scale, a quarter of them at the ends or at the edges named."""

    def draw(rng: np.random.Generator) -> float:
        if rng.random() < 0.25:
            return float(rng.choice([low, high, *edges]))
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    return draw


def whole(low: float, high: float, *edges: float) -> Draw:
    """Whole numbers, about uniform on a log scale."""
    real = log_uniform(low, high, *edges)
    return lambda rng: float(round(real(rng)))


def chance(rng: np.random.Generator) -> float:
    """A delta: from 1e-300 up, or as close to 1 as 1e-12."""
    if rng.random() < 0.3:
        return 1 - log_uniform(1e-12, 0.5)(rng)
    return log_uniform(1e-300, 0.5)(rng) if rng.random() < 0.5 else log_uniform(1e-20, 0.5)(rng)


SCALE = log_uniform(1e-10, 1e10, 1.0, 1.0, 1.0)
DOMAIN: dict[str, Draw] = {
    "n": whole(1, 1e15, 2, 3, 4),
    "d": whole(1, 1e6, 2),
    "s": whole(1, 1e6, 2),
    "p": whole(1, 1e6, 2),
    "epsilon": log_uniform(1e-8, 700, 1.0),
    "delta": chance,
    "rho": log_uniform(1e-16, 1e5, 1.0),
    "mu": log_uniform(1e-8, 700, 1.0),
    "kappa": log_uniform(1e-8, 700, 1.0),
    "alpha": lambda rng: 1 + log_uniform(1e-8, 1e6, 1.0)(rng),
    "sigma": SCALE,
    "radius": SCALE,
    "C": log_uniform(1e-6, 1e6, 1.0),
    "b": log_uniform(1e-6, 1e6, 1.0),
}
"""Where each parameter is drawn."""


def points(
    bound: Bound,
    count: int = POINTS,
    *,
    among: int = ALL_POINTS,
    seed: int = 20250101,
    domain: Mapping[str, Draw] | None = None,
    tries: int = 200,
) -> list[Point]:
    """So many among seeded points inside a bound's regime (s is cut down to d or p), corners first.

    `domain` replaces draws by name. At most `tries` draws are made for each point of the regime.
    """
    draws = {**DOMAIN, **(domain or {})}
    rng = np.random.default_rng(seed)
    found: list[Point] = []
    for _ in range(tries * among):
        point = {name: draws[name](rng) for name in bound.parameters}
        for size in {"d", "p"} & point.keys() if "s" in point else ():
            point["s"] = min(point["s"], point[size])
        if not bound.broken(**point):
            found.append(point)
        if len(found) == among:
            break
    return corners_first(found)[:count]


def corners_first(places: list[Point]) -> list[Point]:
    """The places where a parameter is smallest or largest, then the others."""
    ends = [pick(places, key=itemgetter(name)) for name in places[0] for pick in (min, max)]
    return list({id(place): place for place in [*ends, *places]}.values())


@dataclass
class Walk:
    """What a walk saw."""

    evaluated: int = 0
    compared: int = 0
    outside: int = 0
    excess: float = -math.inf
    """The largest relative distance of a value beyond the exact one: at most 0 if sound."""
    vagueness: float = 0.0
    """The largest relative distance of a value inside the exact one."""
    radius: float = 0.0
    """The largest relative radius of a ball that a value was held against."""
    seconds: float = 0.0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        figures = f"{self.evaluated} points, {self.compared} compared"
        figures += f", largest excess {self.excess:.2e}, largest radius {self.radius:.1e}"
        return f"{figures}, {self.seconds:.1f} s"


Compare = Callable[[Bound, Point, float, Optimum, Walk], None]


def walk(
    bound: Bound, places: Iterable[Point] | None = None, *, against: Compare | None = None
) -> Walk:
    """Evaluates a bound at every place, in floats and (`against`) in balls.

    Faults are: an exception other than `OutsideRegime`, a warning, a number that is not finite or
    is negative, a value beyond the exact one or more than `CLOSE` inside it, a closed form on the
    wrong side of the value. Assert that ``walk(bound).faults`` is empty.
    """
    seen = Walk()
    start = time.process_time()
    for place in points(bound) if places is None else places:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                _look(bound, place, seen, against or held_against_balls)
        except OutsideRegime:
            seen.outside += 1
        except Exception as error:
            seen.faults.append(f"{bound.name} at {place}: {type(error).__name__}: {error}")
    seen.seconds = time.process_time() - start
    return seen


def _look(bound: Bound, place: Point, seen: Walk, compare: Compare) -> None:
    parts = bound.parts(**place)
    seen.evaluated += 1
    value, where = parts.total, f"{bound.name} at {place}"
    if not (math.isfinite(value) and value >= 0):
        seen.faults.append(f"{where}: value {value}")
    closed = bound.closed_form(**place)
    if bound.kind != "certified":
        return
    if bound.outward * (closed - value) < -1e-9 * value or math.isnan(closed):
        seen.faults.append(f"{where}: closed form {closed!r}, value {value!r}")
    compare(bound, place, value, parts.optimum, seen)


def held_against_balls(
    bound: Bound, place: Point, value: float, optimum: Optimum, seen: Walk
) -> None:
    """The reported value against the ends of a ball of 200 bits or more around the same formula.

    A lower bound must be at most the lower end, an upper bound at least the upper end.
    """
    ball = bound.ball_at(bound.point(place), optimum)
    with precision(PRECISIONS[0]):
        end = ball.lower_end if bound.outward < 0 else ball.upper_end
        gap = bound.outward * (end - value)  # positive: past the sure end
        relative = (gap / abs(end)).middle if end != 0 else gap.middle
    seen.radius = max(seen.radius, ball.relative_radius)
    _judge(bound, place, value, relative, end.middle, seen)


def held_against_digits(
    bound: Bound, place: Point, value: float, optimum: Optimum, seen: Walk
) -> None:
    """The reported value against the same formula in 50 digits of mpmath."""
    with mpmath.workdps(DIGITS):
        true = bound.formula({k: mpmath.mpf(v) for k, v in place.items()}, optimum).total
        beyond = bound.outward * (true - value)  # positive: past the exact value
        relative = float(beyond / abs(true) if true != 0 else beyond)
    _judge(bound, place, value, relative, float(true), seen)


def _judge(
    bound: Bound, place: Point, value: float, relative: float, true: float, seen: Walk
) -> None:
    where = f"{bound.name} at {place}"
    seen.compared += 1
    seen.excess = max(seen.excess, relative)
    if relative > 0:
        seen.faults.append(f"{where}: {value!r} is {relative} beyond the exact {true!r}")
    if relative < 0 and (bound.outward > 0 or true > TINY):
        seen.vagueness = max(seen.vagueness, -relative)
        if -relative > max(CLOSE, 2 * bound.rounding):
            seen.faults.append(f"{where}: {value!r} is far inside {true!r}")
