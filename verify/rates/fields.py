"""The fields of a claim of one's own: what cannot be meant is refused, in a sentence.

Nothing is called here: what a claim's parts give is for the rehearsal to see (`own.rehearse`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import TypeGuard, get_args

from minimax.core.bound import COUNTS, LowerBound
from minimax.core.privacy import Privacy, parameter_names
from minimax.core.problem import Problem
from verify.rates.claim import BadClaim, Claim, Regime, Sweep


def check_fields(claim: Claim) -> None:
    """Raise `BadClaim` with the first thing that is wrong with a claim's fields."""
    for wrong in _wrong(claim):
        raise BadClaim(f"claim {claim.name!r}: {wrong}")


def a(found: object) -> str:
    """An object's kind, with its article."""
    name = type(found).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _wrong(claim: Claim) -> Iterator[str]:
    """What is wrong, in words. Each rests on those before it."""
    for field in ("name", "estimator", "unproved"):
        if not isinstance(getattr(claim, field), str):
            yield f"{field} is {getattr(claim, field)!r}, not a text"
    if not claim.name:
        yield "name is empty"
    if not (isinstance(claim.problem, type) and issubclass(claim.problem, Problem)):
        yield "problem is no subclass of minimax.Problem"
    if not isinstance(getattr(claim.problem, "name", None), str):
        yield f"problem: {claim.problem.__name__} has no name"
    if claim.model not in get_args(Privacy):
        kinds = ", ".join(kind.__name__ for kind in get_args(Privacy))
        yield f"model is {claim.model!r}, none of {kinds}"
    if not isinstance(claim.lower, LowerBound):
        yield f"lower is {a(claim.lower)}, not a LowerBound"
    for field in ("estimator_at", "non_private"):
        if not callable(getattr(claim, field)):
            yield f"{field} is {a(getattr(claim, field))}, not a function of a point"
    if not (claim.upper is None or callable(claim.upper)):
        yield f"upper is {a(claim.upper)}, neither a function of a point nor None"
    if not (_is_number(claim.noise_factor) and claim.noise_factor > 1):
        yield f"noise_factor is {claim.noise_factor!r}, not a number above 1"
    for field in ("projects", "prior_decides"):
        if not isinstance(getattr(claim, field), bool):
            yield f"{field} is {getattr(claim, field)!r}, neither True nor False"
    if isinstance(claim.sweeps, Sweep):
        yield "sweeps is one Sweep, not a tuple of them: write (Sweep(...),), with a comma"
    if not isinstance(claim.sweeps, (tuple, list)):
        yield f"sweeps is {a(claim.sweeps)}, not a tuple of Sweeps"
    for place, sweep in enumerate(claim.sweeps):
        for wrong in _wrong_in_sweep(sweep, claim.model):
            yield f"sweeps[{place}]{wrong}"


def _wrong_in_sweep(sweep: object, model: type[Privacy]) -> Iterator[str]:
    if not isinstance(sweep, Sweep):
        yield f" is {a(sweep)}, not a Sweep"
        return
    if sweep.regime not in get_args(Regime):
        yield f": regime is {sweep.regime!r}, neither {' nor '.join(map(repr, get_args(Regime)))}"
    for field in ("base", "asymptotic_point"):
        for wrong in _wrong_numbers(getattr(sweep, field)):
            yield f": {field}{wrong}"
    for name in ("n", *parameter_names(model)):
        if name not in sweep.base:
            needed = "" if name == "n" else f", which {model.__name__} needs"
            yield f": base has no {name}{needed}"
    for name in COUNTS & set(sweep.base):
        if not (sweep.base[name] >= 1 and float(sweep.base[name]).is_integer()):
            yield f": base has {name} = {sweep.base[name]!r}, not a whole number of at least 1"
    if not isinstance(sweep.variables, (tuple, list)):
        yield f": variables is {sweep.variables!r}, not a tuple of names"
    for field in ("weight", "base_weight", "control_weight"):
        weight = getattr(sweep, field)
        optional = field != "weight" and weight is None
        if not (optional or (_is_number(weight) and weight > 0)):
            yield f": {field} is {weight!r}, not a positive number"
    if not (isinstance(sweep.fits, Integral) and _is_number(sweep.fits) and sweep.fits >= 1):
        yield f": fits is {sweep.fits!r}, not a whole number of at least 1"


def _wrong_numbers(point: object) -> Iterator[str]:
    """What is wrong with a point, in words that follow its name."""
    if not isinstance(point, Mapping):
        yield f" is {a(point)}, not numbers by name"
        return
    for name, value in point.items():
        if not isinstance(name, str):
            yield f" has the key {name!r}, which is no name"
        if not (_is_number(value) and value >= 0):  # whether 0 can be meant, definitions say
            yield f" has {name} = {value!r}, not a finite number of at least 0"


def _is_number(value: object) -> TypeGuard[float]:
    """Whether it is finite and real, as a float too; a truth value is none."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:
        return False
