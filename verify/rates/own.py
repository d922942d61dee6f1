"""Claims of one's own: found by name, and rehearsed before hours are spent on them.

A rehearsal goes through everything that a run will need of a claim: the bounds at every cell, the
estimators, one whole trial at every base. What fails is told in a sentence that names the claim.
What the trials gave is known by a digest: results that are kept belong to parts that give the same.
"""

from __future__ import annotations

import hashlib
import math
import pickle
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Point, fit_arguments
from minimax.core.loading import CannotLoad, load_object
from minimax.core.privacy import at_point
from verify.rates.claim import BadClaim, Claim, Factory
from verify.rates.fields import a, check_fields
from verify.rates.grid import Cell, Grid, shown_point, telling, told
from verify.rates.measure import released

INSTANCE = ("target", "sample", "loss")
"""What a draw from a prior must have."""


def load_claims(named: str) -> list[Claim]:
    """The claims that MODULE:NAME names: one, a list of them, or a function that gives either."""
    found = load_object(named)
    if callable(found) and not isinstance(found, Claim):
        try:
            found = found()
        except (Exception, SystemExit) as error:
            raise CannotLoad(f"{named}() failed: {told(error)}") from error
    return checked_claims(found, named)


def checked_claims(found: object, name: str = "claims") -> list[Claim]:
    """The claims as a list; raises `BadClaim` for what is none, or has a field that is wrong."""
    found = [found] if isinstance(found, Claim) else found
    if isinstance(found, (str, bytes, dict)) or not isinstance(found, Iterable):
        raise BadClaim(f"{name} is {a(found)}, neither a Claim nor a list of them")
    claims = list(found)
    for k, each in enumerate(claims):
        if not isinstance(each, Claim):
            raise BadClaim(f"{name}[{k}] is {a(each)}, not a Claim")
        check_fields(each)
    return claims


def rehearse(claims: Sequence[Claim], grid: Grid) -> dict[str, str]:
    """What each claim's trials gave, as a digest; raises `BadClaim` for the first claim of which a
    part cannot be used."""
    found = {}
    for claim in claims:
        own = [cell for cell in grid.cells if cell.claim is claim]
        for cell in own:
            _rehearse_bounds(cell)
        _rehearse_slopes(claim, grid)
        found[claim.name] = _rehearsed(claim)
    return found


def _rehearsed(claim: Claim) -> str:
    """A digest of what the claim's trials gave, twice, to nine digits: processors differ in the
    last ones. Of trials that give something else each time there is none."""
    once, again = (
        [f"{number:.9g}" for trial in _rehearse_trials(claim) for number in trial] for _ in range(2)
    )
    return hashlib.sha256(" ".join(once).encode()).hexdigest() if once == again else ""


def _rehearse_trials(claim: Claim) -> Iterator[list[float]]:
    """A trial at every base, and one of the twin."""
    for base in {shown_point(sweep.base): sweep.base for sweep in claim.sweeps}.values():
        if not claim.lower.broken(**base):
            again = any(sweep.fits > 1 for sweep in claim.sweeps)
            yield _rehearse_trial(claim, base, "estimator_at", claim.estimator_at, again=again)
    if claim.control_point is not None:
        yield _rehearse_trial(claim, claim.control_point, "non_private", claim.non_private)


def _rehearse_bounds(cell: Cell) -> None:
    claim, point = cell.claim, cell.point
    with telling(claim, "the lower bound", point):
        lower = claim.lower.value(**point)
    if not lower > 0:
        raise BadClaim(
            f"claim {claim.name!r}: the lower bound is {lower:g} at {shown_point(point)}, where"
            " nothing could break it"
        )
    with telling(claim, "the upper bound", point):
        ceiling = claim.ceiling(point)
        if ceiling is not None and not (math.isfinite(ceiling.value) and ceiling.value >= 0):
            raise ValueError(f"its value is {ceiling.value:g}, which is no risk")
    with telling(claim, f"the prior of {claim.lower.name!r}", point):
        claim.lower.prior(**point)
    with telling(claim, "the problem", point):
        claim.zero_release_risk(point)
    with telling(claim, "the privacy definition", point):
        at_point(claim.model, point, claim.problem.scope)


def _rehearse_slopes(claim: Claim, grid: Grid) -> None:
    for series in (each for each in grid.series if each.claim is claim):
        far = series.asymptotic_point
        lacking = _lacking(claim, far)
        if lacking:
            raise BadClaim(
                f"claim {claim.name!r}: asymptotic_point, at which the exponent in"
                f" {series.variable} is read off, has no {' and no '.join(lacking)}"
            )
        with telling(claim, f"the exponent in {series.variable}", far):
            claim.lower.slope(series.variable, **far)


def _lacking(claim: Claim, point: Point) -> list[str]:
    """What the lower bound needs and a point does not have."""
    return [k for k in claim.lower.parameters if k not in {**claim.lower.defaults, **point}]


def _rehearse_trial(
    claim: Claim, point: Point, part: str, factory: Factory, *, again: bool = False
) -> list[float]:
    """The loss and the release of one draw of the prior and one fit; `again`: records are fitted
    more than once."""
    rng = np.random.default_rng(0)
    with telling(claim, f"{part}", point):
        estimator = factory(point)
        _require(estimator, ("fit", "get_params", "set_params"), f"{part} gives {a(estimator)}")
        if hasattr(estimator, "random_state"):  # as in trials
            estimator.random_state = rng
    prior = f"the prior of {claim.lower.name!r}"
    with telling(claim, prior, point):
        drawn = claim.lower.prior(**point)
        _require(drawn, ("draw",), f"it is {a(drawn)}")
        instance = drawn.draw(rng)
        _require(instance, INSTANCE, f"it draws {a(instance)}")
        sample = fit_arguments(instance.sample(int(point["n"]), rng))
        if len(sample[0]) != int(point["n"]):
            raise ValueError(f"it samples {len(sample[0])} records where n = {point['n']:g}")
    with telling(claim, f"the fit of {part}", point):
        before = pickle.dumps(sample) if again else b""
        release = released(estimator.fit(*sample))
        _require_size(release, instance.target)
        if again and pickle.dumps(sample) != before:
            raise ValueError("it changes the records, which other fits are given too: copy them")
    with telling(claim, f"the loss of {prior}", point):
        loss = instance.loss(release)
        if not (math.isfinite(loss) and loss >= 0):
            raise ValueError(f"it is {loss!r}, which is no loss")
        instance.loss(np.zeros_like(instance.target))  # of which the study asks as well
    return [float(loss), *map(float, release)]


def _require(found: object, names: Iterable[str], which: str) -> None:
    missing = [name for name in names if not hasattr(found, name)]
    if missing:
        raise TypeError(f"{which}, which has no {' and no '.join(missing)}")


def _require_size(release: NDArray[np.float64], target: object) -> None:
    """A release of another size would be broadcast against the target: a loss, but not its own."""
    if isinstance(target, np.ndarray) and release.size != target.size:
        raise ValueError(f"it releases {release.size} numbers, and the target has {target.size}")
