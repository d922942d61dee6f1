"""Statistics of a release that may tell two neighbours apart, learned from releases.

Every statistic is a function from releases to numbers, fixed once it is learned, and an event
(`verify.privacy.events`) is {statistic >= t} or {statistic <= t}. Which of them is used, and where
t stands, may depend on any releases but those on which the event is then counted:
`verify.privacy.blackbox` sees to that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from verify.privacy.outcomes import Outcome
from verify.privacy.tables import Array, Layout, Pair, Table

Scores = dict[Hashable, float]
MOST_COLUMNS = 24
"""Columns that are tried alone: those in which the two sides differ most."""
MOST_ATOMS, MOST_SHOWN = 2000, 60
"""Releases that repeat: as many as are counted, and letters of one that is told."""
LEAST_BOOSTED_ROWS = 200
"""Releases of each side from which a classifier is learned: with fewer it learns their noise."""
BOOSTED: dict[str, dict[str, Any]] = {
    "a sharp classifier": {"rows": 5_000, "least": 1e-3, "learning_rate": 0.2, "max_iter": 40},
    "a smooth classifier": {"rows": 40_000, "least": 0.05, "learning_rate": 0.1, "max_iter": 20},
}
"""What is rare and plain, and what is common and hardly to be seen: the rows of each side that are
used, and the share of them that a leaf must have."""
FAR = 1e30
"""Numbers are told apart up to here."""
NEAR = 0.07
"""Of the distance of quartiles: that far from its median a number has hardly a side."""
BINS = (4, 12)
"""Into which each number of a release is cut, to add up what the numbers tell one by one: few where
each tells little, since with many their noise adds up too."""

STAR, NO_NUMBER = -1, -2
"""Among the places of repeated numbers: one that does not repeat, and none."""
LEAST_STARS, LEAST_PATTERNED_ROWS = 50, 5_000
"""Of each side, in a column whose odds are learned; and releases from which patterns are: there are
many of them, and what is learned from few promises most and keeps least."""


@dataclass(frozen=True, eq=False)
class Statistic:
    """A function from releases to numbers, and what it is in words."""

    about: str
    values: Callable[[Table], Array]

    def __call__(self, table: Table) -> Array:
        found = np.asarray(self.values(table), dtype=float)
        return np.where(np.isnan(found), -np.inf, found)


def learned(pair: Pair, layout: Layout) -> list[Statistic]:
    """Statistics that may tell the two sides apart, learned from these releases.

    With one thread: products of so few columns would spend their time on waking others.
    """
    # A release may be as large as numbers can be.
    with np.errstate(all="ignore"), threadpool_limits(1):
        return [
            *_atoms(pair),
            *_columns(pair, layout.names()),
            *_linear(pair),
            *_independent(pair, layout.width),
            *_patterned(pair, layout.width),
            *_boosted(pair),
        ]


def _columns(pair: Pair, names: Sequence[str]) -> list[Statistic]:
    """The columns alone, the most different first, and their repeated values."""
    columns = zip(pair.first.numbers.T, pair.second.numbers.T, strict=True)
    apart = [_distance(a, b) for a, b in columns]
    best = np.argsort(apart)[::-1][:MOST_COLUMNS]
    found = []
    for j in (int(j) for j in best if apart[j] > 0):
        found.append(Statistic(names[j], partial(_column, j=j)))
        repeated = _repeated(*(side.numbers[:, j] for side in pair))
        if len(repeated.values):
            own = partial(_column_scores, j=j, repeated=repeated)
            found.append(Statistic(f"{names[j]}, value by value", own))
    return found


def _column(table: Table, j: int) -> Array:
    return table.numbers[:, j]


class _Repeated(NamedTuple):
    """Numbers that occur again and again, in order, and the log ratio of how often."""

    values: Array
    scores: Array


def _repeated(first: Array, second: Array) -> _Repeated:
    """Those of two columns; none if all are different, or all the same."""
    values, places = np.unique(np.concatenate([first, second]), return_inverse=True)
    sides = np.split(places, [len(first)])
    here, there = (np.bincount(side, minlength=len(values)) for side in sides)
    often = np.where(np.isnan(values), 0, here + there)
    most = MOST_ATOMS if len(values) > 1 else 0
    kept = np.sort(np.argsort(-often)[: min(most, np.count_nonzero(often > 2))])
    return _Repeated(values[kept], np.log((here[kept] + 0.5) / (there[kept] + 0.5)))


def _column_scores(table: Table, j: int, repeated: _Repeated) -> Array:
    column = table.numbers[:, j]
    at = np.minimum(np.searchsorted(repeated.values, column), len(repeated.values) - 1)
    return np.where(repeated.values[at] == column, repeated.scores[at], 0.0)


def _distance(a: Array, b: Array) -> float:
    """The Kolmogorov distance of two columns."""
    a, b = np.sort(a[~np.isnan(a)]), np.sort(b[~np.isnan(b)])
    if not (len(a) and len(b)):
        return float(len(a) != len(b))
    both = np.concatenate([a, b])
    cdf = [np.searchsorted(side, both, side="right") / len(side) for side in (a, b)]
    return float(np.abs(cdf[0] - cdf[1]).max())


def _atoms(pair: Pair) -> list[Statistic]:
    """Releases that repeat, as they are, and their forms."""
    found = []
    for about, key in (("the release", _whole), ("its form", _form)):
        scores = _scores(*([key(o) for o in side.outcomes] for side in pair))
        if scores:
            own = partial(_outcome_scores, key=key, scores=scores)
            found.append(Statistic(f"{about}, value by value{_ends(scores)}", own))
    return found


def _ends(scores: Scores) -> str:
    """The likeliest on either side, in words: of texts, which no number names."""
    ends = [sign(scores, key=scores.__getitem__) for sign in (max, min)]
    told = [end if isinstance(end, str) else getattr(end, "form", "") for end in ends]
    told = [text.replace("\x00", "") for text in told]
    if told[0] == told[1]:
        return ""
    first, second = (t if len(t) <= MOST_SHOWN else f"{t[:MOST_SHOWN]} ..." for t in told)
    return f" (X: {first}; neighbour: {second})"


def _whole(outcome: Outcome) -> Hashable:
    return outcome


def _form(outcome: Outcome) -> Hashable:
    return outcome.form


def _outcome_scores(table: Table, key: Callable[[Outcome], Hashable], scores: Scores) -> Array:
    return _looked_up([key(outcome) for outcome in table.outcomes], scores)


def _scores(first: Sequence[Hashable], second: Sequence[Hashable]) -> Scores:
    """The log ratio of how often each repeated value occurred; nothing if all or none are equal."""
    here, there = Counter(first), Counter(second)
    repeated = {value for value, count in (here + there).most_common(MOST_ATOMS) if count > 2}
    if not repeated or len(here.keys() | there.keys()) == 1:
        return {}
    return {value: math.log((here[value] + 0.5) / (there[value] + 0.5)) for value in repeated}


def _looked_up(keys: Sequence[Hashable], scores: Scores) -> Array:
    """The scores; 0, which is for neither side, for what was not seen."""
    return np.array([scores.get(key, 0.0) for key in keys])


def _linear(pair: Pair) -> list[Statistic]:
    """The direction in which the means differ, by the spread of each column (Fisher's)."""
    a, b = (np.nan_to_num(side.numbers) for side in pair)
    spread = np.sqrt(a.var(axis=0) + b.var(axis=0))
    used = spread > 1e-12 * (1 + np.abs(a).max(axis=0, initial=0.0))
    if used.sum() < 2:
        return []
    shift = (a.mean(axis=0) - b.mean(axis=0))[used] / spread[used]
    scaled = [side[:, used] / spread[used] for side in (a, b)]
    covariance = np.cov(scaled[0].T) + np.cov(scaled[1].T)
    ridge = covariance + 0.1 * np.eye(len(shift))
    weights = np.zeros(len(used))
    weights[used] = np.linalg.solve(ridge, shift) / spread[used]
    return [Statistic("a learned direction", lambda table: np.nan_to_num(table.numbers) @ weights)]


class _Bins(NamedTuple):
    """A column cut into bins of about as many releases each, and the log ratio in each of them.

    Between the middles of bins the score is a straight line, if all bins are there: what moves a
    number by little then moves its score by little.
    """

    edges: Array
    scores: Array
    middles: Array
    """None of them where values repeat."""

    def __call__(self, column: Array) -> Array:
        if not len(self.middles):
            return np.asarray(self.scores[_bin(column, self.edges)])
        drawn = np.interp(column, self.middles, self.scores[:-1])
        return np.where(np.isnan(column), self.scores[-1], drawn)

    def given_a_number(self, first: Array, second: Array) -> _Bins:
        """The log ratio among numbers alone, of two columns that were cut; 0 where there is none,
        and all 0 where they are few."""
        here, there = (np.count_nonzero(~np.isnan(side)) for side in (first, second))
        if min(here, there) < LEAST_STARS:
            return _Bins(np.empty(0), np.zeros(2), np.empty(0))
        own = self.scores[:-1] - math.log(here / there)
        return self._replace(scores=np.append(own, 0.0))


def _bin(column: Array, edges: Array) -> NDArray[np.intp]:
    """The place of each number; what is none comes last."""
    found = np.searchsorted(edges, column, side="right")
    return np.where(np.isnan(column), len(edges) + 1, found)


def _independent(pair: Pair, width: int) -> list[Statistic]:
    """The sum of the columns' own log ratios: the best of all if noise on them is independent.

    Of many answers that one record moves by little each no column shows it, and of their sum the
    tails of the noise are most.
    """
    if width < 2:
        return []
    return [*(_own_odds(pair, width, bins) for bins in BINS), _votes(pair, width)]


def _votes(pair: Pair, width: int) -> Statistic:
    """How many numbers lie on the side of their median that is likelier on X: no weight is learned,
    so that none is wrong where all of them tell the same. Near the median a vote is a part of one.
    """
    first, second = (np.clip(side.numbers[:, :width], -FAR, FAR) for side in pair)
    both = np.vstack([first, second])
    both[:, np.isnan(both).all(axis=0)] = 0.0  # where there is no number, none votes
    low, medians, high = np.nanquantile(both, [0.25, 0.5, 0.75], axis=0)
    near = np.maximum(NEAR * (high - low), 1 / FAR)

    def sides(numbers: Array) -> Array:
        away = np.clip(numbers[:, :width], -FAR, FAR) - medians
        return np.tanh(np.nan_to_num(away / near))

    signs = np.sign(sides(first).mean(axis=0) - sides(second).mean(axis=0))
    return Statistic(
        "how many numbers are on their likelier side", lambda table: sides(table.numbers) @ signs
    )


def _own_odds(pair: Pair, width: int, bins: int) -> Statistic:
    columns = zip(pair.first.numbers.T[:width], pair.second.numbers.T[:width], strict=True)
    cuts = [_binned(*column, bins) for column in columns]

    def odds(table: Table) -> Array:
        return np.asarray(sum(cut(table.numbers[:, j]) for j, cut in enumerate(cuts)))

    return Statistic(f"the numbers' own odds, by {bins} bins, together", odds)


def _binned(first: Array, second: Array, bins: int) -> _Bins:
    pooled = np.concatenate([first, second])
    known = pooled[~np.isnan(pooled)]
    shares = np.linspace(0, 1, bins + 1)[1:-1]
    edges = np.unique(np.quantile(known, shares)) if len(known) else np.empty(0)
    here, there = (
        np.bincount(_bin(side, edges), minlength=len(edges) + 2) + 0.5 for side in (first, second)
    )
    middles = np.quantile(known, (np.arange(bins) + 0.5) / bins) if len(edges) == bins - 1 else []
    return _Bins(edges, np.log(here / there), np.asarray(middles))


class _Pattern(NamedTuple):
    """What repeats of a release: its form, and each number that does; a star stands for others."""

    repeated: Sequence[Array]
    """The repeated numbers of each column."""

    def __call__(self, table: Table) -> tuple[list[Hashable], Array]:
        """The pattern of each release, and its numbers where there are stars."""
        numbers = table.numbers[:, : len(self.repeated)]
        places = np.full(numbers.shape, NO_NUMBER, dtype=np.int16)
        for j, values in enumerate(self.repeated):
            column = numbers[:, j]
            at = np.minimum(np.searchsorted(values, column), max(len(values) - 1, 0))
            known = values[at] == column if len(values) else np.zeros(len(column), dtype=bool)
            places[:, j] = np.where(known, at, np.where(np.isnan(column), NO_NUMBER, STAR))
        rows = zip(places, table.outcomes, strict=True)
        keys: list[Hashable] = [(row.tobytes(), outcome.form) for row, outcome in rows]
        return keys, np.where(places == STAR, numbers, np.nan)


def _patterned(pair: Pair, width: int) -> list[Statistic]:
    """The log ratio of the pattern, and to it that of each star among the stars of its column.

    The law of a release is that of its pattern times that of the stars given the pattern. The sum
    is the best statistic of all if, given that they are there, numbers have independent laws that
    the rest of the pattern does not change: so it is if a list tells which answers were above, and
    fresh noise is added to these. Neither the places nor the values tell as much alone.
    """
    if len(pair.first) < LEAST_PATTERNED_ROWS:
        return []
    pattern = _Pattern([_repeated(*(s.numbers[:, j] for s in pair)).values for j in range(width)])
    (first, here), (second, there) = (pattern(side) for side in pair)
    scores = _scores(first, second)
    if not scores or np.isnan(here).all():
        return []
    return [_pattern_odds(pattern, scores, here, there, bins) for bins in BINS]


def _pattern_odds(
    pattern: _Pattern, scores: Scores, here: Array, there: Array, bins: int
) -> Statistic:
    cuts = [
        _binned(*stars, bins).given_a_number(*stars) for stars in zip(here.T, there.T, strict=True)
    ]

    def odds(table: Table) -> Array:
        keys, stars = pattern(table)
        return _looked_up(keys, scores) + sum(cut(stars[:, j]) for j, cut in enumerate(cuts))

    return Statistic(f"its pattern and the numbers' odds, by {bins} bins, together", odds)


def _boosted(pair: Pair) -> list[Statistic]:
    """The log odds of gradient-boosted classifiers of the two sides."""
    if len(pair.first) < LEAST_BOOSTED_ROWS:
        return []
    return [found for about in BOOSTED if (found := _classifier(pair, about, **BOOSTED[about]))]


def _classifier(
    pair: Pair, about: str, rows: int, least: float, **options: Any
) -> Statistic | None:
    """One of them; None where nothing varies."""
    sides = [side.numbers[:rows] for side in pair]
    shown = np.clip(np.vstack(sides), -FAR, FAR)
    varied = np.nanmax(shown, axis=0, initial=-np.inf) > np.nanmin(shown, axis=0, initial=np.inf)
    if not varied.any():
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    told = np.repeat([1, 0], [len(side) for side in sides])
    leaf = max(5, int(least * len(sides[0])))
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=8, min_samples_leaf=leaf, early_stopping=False, **options
    )
    with threadpool_limits(1):
        model.fit(shown[:, varied], told)

    def odds(table: Table) -> Array:
        with threadpool_limits(1):
            return np.asarray(model.decision_function(np.clip(table.numbers[:, varied], -FAR, FAR)))

    return Statistic(about, odds)
