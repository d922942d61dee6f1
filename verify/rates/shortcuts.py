r"""Are fits to what stands for records the fits to the records themselves?

In trials many estimators are given sums, counts or signs in place of records, as
`verify.rates.draws` says. What arrays of a user's pass through before that, above all the clips on
which privacy rests, would then not be run at all. So it is, once before a run: for each kind of
estimator in the grid, of prior, and of what stands for records, one is fitted to both.

**What is compared.** Rows, and labels that are numbers, are three times as long as the prior draws
them, so that clips have something to do. Sums are those of the records with entries clipped one by
one, here. With the same seed both fits have the same noise and must agree but for rounding. Where
users randomise their own records or labels, reports are drawn otherwise from counts than one by
one: the mean release must agree to six standard errors, of labels that depend on their rows by as
much as they may, over fits to the records in an order of their own each (a user's part in a
protocol may depend on the place).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from estimators.core.summaries import Repeated, Signs, Sorted, Sums
from minimax.core.bound import Instance
from minimax.methods.priors import LinearInstance
from verify.rates.claim import Factory
from verify.rates.draws import REPEATED, SPARED_RECORDS, given
from verify.rates.grid import Cell, telling
from verify.rates.measure import released, reports_one_by_one
from verify.seeds import stream

Array = NDArray[np.float64]
STRETCHED = 3.0
SUMMED, REPORTING = 500, 20_000
"""Records that are added up, and users that report."""
PLAIN = 0.9
"""The coefficient of the first column that such labels have."""
FITS, SURE = 40, 6.0
"""Of mechanisms whose reports are drawn otherwise, and standard errors that their means may differ
by."""
ROUNDING = 1e-7


class UnlikeFits(RuntimeError):
    """An estimator treats records otherwise than what stands for them in trials."""


class Pair(NamedTuple):
    """Arguments of one fit, in two forms."""

    records: tuple[Any, ...]
    instead: tuple[Any, ...]


class Asked(NamedTuple):
    """An estimator that is given something else than records, and a prior's draw of some size."""

    cell: Cell
    make: Callable[[], Any]
    instance: Instance
    n: int

    def form(self, seed: int) -> type:
        """What it is given."""
        return type(given(self.make(), self.instance, self.n, stream(seed, 0, 0))[0])

    @property
    def cost(self) -> float:
        """Numbers of the records."""
        return self.n * len(self.instance.target)


def check_shortcuts(cells: Sequence[Cell], seed: int) -> set[tuple[str, str]]:
    """The kinds of estimators, and of what stands for records, that were compared.

    Raises `UnlikeFits` for the first that differ.
    """
    smallest: dict[tuple[str, str, str], Asked] = {}
    for asked in _asked(cells, seed):
        with telling(asked.cell.claim, "a draw for a trial", asked.cell.point):
            form = asked.form(seed)
        key = (type(asked.make()).__name__, form.__name__, type(asked.instance).__name__)
        if form is not np.ndarray and (key not in smallest or asked.cost < smallest[key].cost):
            smallest[key] = asked
    for (kind, form_name, _), asked in smallest.items():
        with telling(asked.cell.claim, f"{kind}, as it is compared", asked.cell.point):
            alike = _alike(asked, seed)
        if not alike:
            raise UnlikeFits(
                f"{kind} gives another release for records than for their {form_name.lower()},"
                " which stand for them in trials: nothing was measured"
            )
    return {(kind, form_name) for kind, form_name, _ in smallest}


def _extreme(cells: Sequence[Cell]) -> Iterator[Cell]:
    """Of every claim the cells with the shortest and the longest parameter: which form stands for
    records depends on how many rows there may be."""
    for claim in {id(cell.claim): cell.claim for cell in cells}.values():
        own = [cell for cell in cells if cell.claim is claim]
        by_length = sorted(own, key=lambda cell: cell.point.get("d", cell.point.get("p", 1.0)))
        yield from (by_length[0], by_length[-1]) if len(own) > 1 else own


def _asked(cells: Sequence[Cell], seed: int) -> Iterator[Asked]:
    """What is fitted in cells and their controls, at sizes for which it may be done."""
    for cell in _extreme(cells):
        for make in (cell.claim.estimator_at, cell.claim.non_private):
            estimator = _made(make, cell)
            if type(estimator) in SPARED_RECORDS:
                yield _asked_in(cell, make, seed)


def _made(make: Factory, cell: Cell) -> Any:
    """The estimator; None if a user's own code fails: the trial that needs it will tell."""
    try:
        return make(cell.point)
    except (Exception, SystemExit):
        return None


def _asked_in(cell: Cell, make: Factory, seed: int) -> Asked:
    point, n = cell.point, int(cell.point["n"])
    with telling(cell.claim, "the prior", point):
        instance = cell.claim.lower.prior(**point).draw(stream(seed, 0, 0))
    estimator = make(point)
    form = given(estimator, instance, min(n, SUMMED), stream(seed, 0, 0))[0]
    if isinstance(form, Sums):
        n = min(n, SUMMED)
    elif reports_one_by_one(estimator):
        counted = REPEATED * 2 ** (len(instance.target) + 1)
        n = max(REPORTING, counted) if counted <= n else min(n, REPORTING)
        instance = _told_plainly(instance)
    return Asked(cell, partial(make, point), instance, n)


def _told_plainly(instance: Any) -> Instance:
    """The same law with another parameter."""
    told: Instance = replace(instance, target=PLAIN * np.eye(len(instance.target))[0])
    return told


def _alike(asked: Asked, seed: int) -> bool:
    exact = not reports_one_by_one(asked.make())
    pair = _pair(asked, exact, seed)
    if exact:
        one, other = (_release(asked, arguments, seed, 0) for arguments in pair)
        return bool(np.abs(one - other).max() <= ROUNDING * (1 + np.abs(one).max()))
    ones, others = (
        np.array([_release(asked, each, seed, FITS * form + k) for k, each in enumerate(fits)])
        for form, fits in enumerate((_reordered(pair.records, seed), FITS * [pair.instead]))
    )
    apart = np.abs(ones.mean(axis=0) - others.mean(axis=0))
    error = np.sqrt((ones.var(axis=0) + others.var(axis=0)) / FITS)
    return bool(np.all(apart <= SURE * error + ROUNDING))


def _reordered(records: tuple[Any, ...], seed: int) -> Iterator[tuple[Any, ...]]:
    """The records, so many times, in an order of their own each."""
    for k in range(FITS):
        order = stream(seed, 2, k).permutation(len(records[0]))
        yield tuple(part[order] for part in records)


def _release(asked: Asked, arguments: tuple[Any, ...], seed: int, k: int) -> Array:
    estimator = asked.make()
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=stream(seed, 1, k))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of plans for so few records
        return released(estimator.fit(*arguments))


def _pair(asked: Asked, stretch: bool, seed: int) -> Pair:
    """Some records, and what stands for them."""
    rng = stream(seed, 0, 1)
    factor = STRETCHED if stretch else 1.0
    found = given(asked.make(), asked.instance, asked.n, rng)
    form = found[0]
    if isinstance(form, Sums):
        X = factor * np.asarray(asked.instance.sample(asked.n, rng))
        clipped = np.clip(X, -form.largest, form.largest) if math.isfinite(form.largest) else X
        return Pair((X,), (Sums(asked.n, clipped.sum(axis=0), form.largest),))
    y = found[1] * (factor if type(asked.instance) is LinearInstance else 1.0)
    rows = factor * form.X
    if isinstance(form, Signs):
        return Pair((rows, y), (Signs(form.packed, form.d, factor * form.size), y))
    if isinstance(form, Sorted):
        return Pair((np.repeat(rows, form.counts, axis=0), y), (Sorted(rows, form.counts), y))
    assert isinstance(form, Repeated)
    times = form.counts.astype(int)
    whole = np.repeat(rows, times, axis=0), np.repeat(y, times)
    return Pair(whole, (Repeated(rows, form.counts), y))
