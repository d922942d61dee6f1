"""Statistics of a release that may tell two neighbours apart, learned from releases.

Every statistic is a function from releases to numbers, fixed once it is learned, and an event is
{statistic >= t} or {statistic <= t}. Which of them is used, and where t stands, may depend on any
releases but those on which the event is then counted: `verify.privacy.blackbox` sees to that.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from minimax.core.privacy import Approximate, Privacy, Pure
from verify.privacy.budget import Counts, delta_of, least_budget
from verify.privacy.outcomes import Outcome

Array = NDArray[np.float64]
Side = Literal[">=", "<="]
Scores = dict[Hashable, float]
MOST_NUMBERS = 400
"""Numbers of a release that are looked at."""
MOST_COLUMNS = 24
"""Columns that are tried alone: those in which the two sides differ most."""
MOST_ATOMS = 2000
DIFFERENCES = 5
"""Among so many first numbers, all differences are columns too: shared noise cancels in them."""
FRACTIONS = 3
"""Of so many first numbers the fractional part is a column too: a lattice shows in it."""
LEAST_BOOSTED_ROWS = 200
"""Releases of each side from which a classifier is learned: with fewer it learns their noise."""
BOOSTED: dict[str, dict[str, Any]] = {
    "a sharp classifier": {"rows": 5_000, "least": 1e-3, "learning_rate": 0.2, "max_iter": 40},
    "a smooth classifier": {"rows": 40_000, "least": 0.05, "learning_rate": 0.1, "max_iter": 20},
}
"""What is rare and plain, and what is common and hardly to be seen: the rows of each side that are
used, and the share of them that a leaf must have."""
CANDIDATES = 200


@dataclass(frozen=True, eq=False)
class Table:
    """Releases of one side, as rows of numbers and as they are."""

    numbers: Array
    """One row for each release; NaN where it has fewer numbers than others."""
    outcomes: Sequence[Outcome]

    def __len__(self) -> int:
        return len(self.outcomes)

    def part(self, rows: slice) -> Table:
        """Some of the rows."""
        return Table(self.numbers[rows], self.outcomes[rows])


def joined(tables: Sequence[Table]) -> Table:
    """All rows of several tables."""
    return Table(
        np.vstack([table.numbers for table in tables]),
        [outcome for table in tables for outcome in table.outcomes],
    )


@dataclass(frozen=True)
class Layout:
    """Which columns a table has: given by the first releases that were seen, kept from then on."""

    width: int

    @staticmethod
    def of(outcomes: Sequence[Outcome]) -> Layout:
        """Wide enough for these."""
        return Layout(min(max((len(o.numbers) for o in outcomes), default=0), MOST_NUMBERS))

    def table(self, outcomes: Sequence[Outcome]) -> Table:
        """The releases' numbers, and columns that are computed from them."""
        blank = (None,) * self.width
        rows = [(outcome.numbers + blank)[: self.width] for outcome in outcomes]
        plain = np.array(rows, dtype=float).reshape(len(rows), self.width)
        length = np.array([len(outcome.numbers) for outcome in outcomes], dtype=float)
        return Table(np.column_stack([plain, length, *self._derived(plain)]), outcomes)

    def pair(self, sides: tuple[Sequence[Outcome], Sequence[Outcome]]) -> Pair:
        """The tables of both sides."""
        return Pair(*map(self.table, sides))

    def _derived(self, plain: Array) -> list[Array]:
        """How many numbers, their sum, largest, smallest, where these are; differences; parts."""
        if self.width == 0:
            return []
        first = plain[:, :DIFFERENCES].T
        parts = [column - np.floor(column) for column in first[:FRACTIONS]]
        if self.width == 1:
            return parts
        known = ~np.isnan(plain)
        high, low = (np.where(known, plain, fill) for fill in (-np.inf, np.inf))
        derived = [known.sum(axis=1), np.where(known, plain, 0.0).sum(axis=1)]
        derived += [high.max(axis=1), low.min(axis=1), high.argmax(axis=1), low.argmin(axis=1)]
        derived += [a - b for i, a in enumerate(first) for b in first[i + 1 :]]
        return [np.where(np.isfinite(c), c, np.nan).astype(float) for c in (*derived, *parts)]

    def names(self) -> list[str]:
        """What each column is."""
        plain = [*(f"number {j}" for j in range(self.width)), "how many entries"]
        few = range(min(self.width, DIFFERENCES))
        parts = [f"fractional part of number {j}" for j in few[:FRACTIONS]]
        if self.width < 2:
            return plain + parts
        derived = ["how many numbers", "their sum", "the largest", "the smallest"]
        derived += ["where the largest is", "where the smallest is"]
        derived += [f"number {i} - number {j}" for i in few for j in few[i + 1 :]]
        return plain + derived + parts


@dataclass(frozen=True, eq=False)
class Statistic:
    """A function from releases to numbers, and what it is in words."""

    about: str
    values: Callable[[Table], Array]

    def __call__(self, table: Table) -> Array:
        found = np.asarray(self.values(table), dtype=float)
        return np.where(np.isnan(found), -np.inf, found)


class Pair(NamedTuple):
    """Releases on X and on its neighbour, row by row with the same noise."""

    first: Table
    second: Table


def joined_pair(parts: Sequence[Pair]) -> Pair:
    """All rows of several pairs of tables."""
    return Pair(*(joined([part[side] for part in parts]) for side in (0, 1)))


def learned(pair: Pair, names: Sequence[str]) -> list[Statistic]:
    """Statistics that may tell the two sides apart, learned from these releases."""
    with np.errstate(all="ignore"):  # a release may be as large as numbers can be
        return [*_atoms(pair), *_columns(pair, names), *_linear(pair), *_boosted(pair)]


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
            found.append(Statistic(f"{about}, value by value", own))
    return found


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
    shown = np.clip(np.vstack(sides), -1e30, 1e30)
    varied = np.nanmax(shown, axis=0, initial=-np.inf) > np.nanmin(shown, axis=0, initial=np.inf)
    if not varied.any():
        return None
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import
    from threadpoolctl import threadpool_limits

    told = np.repeat([1, 0], [len(side) for side in sides])
    leaf = max(5, int(least * len(sides[0])))
    model = HistGradientBoostingClassifier(
        max_leaf_nodes=8, min_samples_leaf=leaf, early_stopping=False, **options
    )
    with threadpool_limits(1):
        model.fit(shown[:, varied], told)

    def odds(table: Table) -> Array:
        with threadpool_limits(1):
            return np.asarray(
                model.decision_function(np.clip(table.numbers[:, varied], -1e30, 1e30))
            )

    return Statistic(about, odds)


# --- Events ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Event:
    """{statistic side threshold}, thought likelier on X, or on its neighbour if `swapped`."""

    statistic: Statistic
    threshold: float
    side: Side
    swapped: bool
    promise: float
    """The lower bound on the budget that it is hoped to give, about: to choose by."""

    @property
    def about(self) -> str:
        """In words."""
        where = "the neighbour" if self.swapped else "X"
        return f"{self.statistic.about} {self.side} {self.threshold:.6g}, likelier on {where}"

    def counts(self, pair: Pair) -> Counts:
        """How many releases of these pairs fall in the event."""
        return self._counts(pair, np.array([self.threshold]))[0]

    def counts_along(self, pair: Pair, points: int) -> tuple[Counts, ...]:
        """The same for thresholds that run through the values, the rarest event first."""
        values = np.concatenate([self.statistic(table) for table in pair])
        shares = special.expit(np.linspace(-7, 7, points))
        return tuple(self._counts(pair, np.quantile(values, shares, method="lower")))

    def _counts(self, pair: Pair, thresholds: Array) -> list[Counts]:
        drawn = len(pair.first)
        values = [self.statistic(table) for table in pair]
        shares = _tails(values[0], values[1], thresholds, self.side)
        first, second, both = (np.rint(drawn * share).astype(int).tolist() for share in shares)
        likelier, rarer = (second, first) if self.swapped else (first, second)
        return sorted(
            {Counts(k, j, drawn, b) for k, j, b in zip(likelier, rarer, both, strict=True)}
        )


def promising_events(
    statistics: Sequence[Statistic], pair: Pair, claim: Privacy, drawn: int, level: float
) -> list[Event]:
    """The best event of each statistic on these releases, the most promising first."""
    found = [_best_event(each, pair, claim, drawn, level) for each in statistics]
    return sorted(found, key=lambda event: -event.promise)


def _best_event(
    statistic: Statistic, pair: Pair, claim: Privacy, drawn: int, level: float
) -> Event:
    first, second = (statistic(table) for table in pair)
    thresholds = _thresholds(first, second)
    best = Event(statistic, float(thresholds[0]), ">=", False, -math.inf)
    sides: tuple[Side, ...] = (">=", "<=")
    for side in sides:
        p, q, both = _tails(first, second, thresholds, side)
        for swapped in (False, True):
            chances = (q, p) if swapped else (p, q)
            hoped = _promise(*chances, both, len(first), claim, drawn, level)
            at = int(np.argmax(hoped))
            if hoped[at] > best.promise:
                best = Event(statistic, float(thresholds[at]), side, swapped, float(hoped[at]))
    return best


def _thresholds(first: Array, second: Array) -> Array:
    """Values at which to cut, dense in both tails, where the ratio of the laws is largest."""
    pooled = np.unique(np.concatenate([first, second]))
    if len(pooled) <= CANDIDATES:
        return pooled
    share = special.expit(np.linspace(-9, 9, CANDIDATES))
    return np.unique(pooled[(share * (len(pooled) - 1)).astype(int)])


def _tails(first: Array, second: Array, thresholds: Array, side: Side) -> tuple[Array, ...]:
    """The share of pairs in each event: on the first side, on the second, on both."""
    worse = np.minimum(first, second) if side == ">=" else np.maximum(first, second)
    return tuple(_tail(np.sort(values), thresholds, side) for values in (first, second, worse))


def _tail(ordered: Array, thresholds: Array, side: Side) -> Array:
    """The share of values in each event."""
    if side == ">=":
        return np.asarray(1 - np.searchsorted(ordered, thresholds, side="left") / len(ordered))
    return np.asarray(np.searchsorted(ordered, thresholds, side="right") / len(ordered))


def _promise(
    p: Array, q: Array, both: Array, n: int, claim: Privacy, drawn: int, level: float
) -> Array:
    """What a test may be hoped to show if chances are what n pairs say, less one deviation.

    Of a ratio, how many deviations the claim will be exceeded by; of other claims the bound itself.
    Where that is 0, as at first for a small budget, what is left of it decides without the test,
    and then how many deviations p and q are apart.
    """
    if isinstance(claim, (Pure, Approximate)):
        ratio = math.exp(claim.epsilon)
        excess = p - ratio * q
        spread = np.sqrt(p + ratio**2 * q - 2 * ratio * both - excess**2 + 1 / n)
        return np.asarray(
            (excess - delta_of(claim) - spread / math.sqrt(n)) / spread * math.sqrt(drawn)
        )
    z = -float(special.ndtri(level / 2))
    low, high = _wilson(p, n, 1.0)[0], _wilson(q, n, 1.0)[1]
    tested = least_budget(claim, _wilson(low, drawn, z)[0], _wilson(high, drawn, z)[1])
    apart = (p - q) / np.sqrt((p * (1 - p) + q * (1 - q) + 1 / n) / n)
    return np.asarray(tested + 1e-3 * least_budget(claim, low, high) + 1e-6 * apart)


def _wilson(share: Array, n: int, z: float) -> tuple[Array, Array]:
    """Wilson's interval: quick and about right, which is enough to choose by."""
    centre, room = share + z**2 / (2 * n), z * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    low, high = ((centre + sign * room) / (1 + z**2 / n) for sign in (-1, 1))
    return np.maximum(low, 0.0), np.minimum(high, 1.0)
