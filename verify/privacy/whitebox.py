r"""Does a fit do what its ledger says? Every entry is replayed, before noise and after.

**Replay.** A fit on X is recorded: the value before noise and the release of every mechanism call.
The fit on a neighbour X' is then made to release *the same* (`estimators.core.witness`), and its
k-th value before noise must be within the stated sensitivity of the first fit's, as adaptive
composition asks: sensitivity is over neighbours *given what was released before*. And as everything
a fit gives out must be computed from what was released and from public numbers, the fit on X' must
end with the very attributes of the fit on X, to the last bit: what differs was not paid for.

**Noise.** What was added, over the scale of its entry, has the stated law: Kolmogorov's exact test
of all coordinates (Laplace, normal), of the levels of randomised responses and of choices, or of
lengths (K-norm noise has a Gamma(d) length in its norm), and an exact test of the scale: the sum of
|z|, of z^2/2 or of lengths is a Gamma variable. It gets half of the audit's error, the search for
events the other half; the other checks have none. No two calls of a fit may share a draw
(`used_twice`).

**Seen through.** If all calls are seen, every pair was replayed, all checks are passed and the law
of every mechanism is tested, then on these pairs the release is a function of values plus noise of
the stated law, which move by no more than is stated. Of what composition takes for granted only
that draws which are not equal are independent is left to be looked for, and few releases are drawn.

**Exact curve.** Where all calls are Gaussian and the movements m_i do not depend on the path, the
transcripts on the pair are N(0, I) and N(v, I) up to a linear map, |v|^2 = sum (m_i/scale_i)^2: the
trade-off between them is exactly that of |v|-GDP, and a claim below is refuted without any error.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from estimators.core.accounting import LedgerEntry, NotAccountable, compose
from estimators.core.witness import seen_by
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Renyi,
    SpendablePrivacy,
    ZeroConcentrated,
)
from verify.privacy.budget import letter, refutes
from verify.privacy.floats import floating_point_check
from verify.privacy.hygiene import differing, fitted
from verify.privacy.neighbours import Neighbours
from verify.privacy.noise_laws import NoiseLaw, has_law, law_of, used_twice
from verify.privacy.outcomes import Data, is_hardened
from verify.privacy.rows import Check

Array = NDArray[np.float64]
ROUNDING = 1e-9
NOISE_FITS, ENOUGH_NOISE = 200, 4000
"""Fits whose noise is tested, at most, and numbers that are enough."""
FIRST_NOISE_SEED = 1000
PATHS = 2
"""Seeds with which each pair is replayed."""
HARDENED_PATHS = 6
"""Replays of each pair with noise that no seed repeats."""
SEEN_THROUGH = "seen through"
NORMS = {"l1": 1, "l2": 2}
"""All others are the largest of the movements."""


@dataclass(frozen=True, eq=False)
class Call:
    """One mechanism call: what it was given and what it gave."""

    before: Any
    value: Any
    entries: tuple[LedgerEntry, ...]

    @property
    def noise(self) -> Array:
        """What was added, in units of the stated scale; of mechanisms that add noise."""
        return np.asarray((self.value - self.before) / self.entries[0].scale, dtype=float)

    def moved(self, other: Call, entry: LedgerEntry) -> float:
        """How far the value before noise is from another one, in the entry's norm.

        For reports whose entry has the radius of what they may be about: the size of the record
        that was replaced, if it is one; of a sketch, what a row does to A'A.
        """
        if isinstance(self.before, dict):
            bins = self.before.keys() | other.before.keys()
            return float(sum(abs(self.before.get(k, 0) - other.before.get(k, 0)) for k in bins))
        here, there = (np.asarray(call.before, dtype=float) for call in (self, other))
        step, order = here - there, NORMS.get(entry.norm, math.inf)
        if entry.mechanism == "sketch":
            return math.sqrt(float(np.linalg.norm(step, 2)))
        if entry.guarantees[0].scope == "local" or entry.norm == "log ratio":
            return _size_of_replaced(here, there, order)
        if len(self.entries) > 1:  # peeling releases its values one by one
            return float(np.abs(step).max())
        return float(np.linalg.norm(np.ravel(step), order))


def _size_of_replaced(here: Array, there: Array, order: float) -> float:
    """The larger norm of the one row in which two tables differ; infinity if there are more."""
    replaced = np.flatnonzero((here != there).reshape(len(here), -1).any(axis=1))
    if len(replaced) > 1:
        return math.inf
    rows = [np.ravel(table[k]) for k in replaced for table in (here, there)]
    return max((float(np.linalg.norm(row, order)) for row in rows), default=0.0)


def _entries(entry: Any) -> tuple[LedgerEntry, ...]:
    return entry if isinstance(entry, tuple) else (entry,)


@dataclass
class Recorder:
    """Keeps every call, and lets it pass."""

    calls: list[Call] = field(default_factory=list)

    def __call__(self, before: Any, result: Any) -> Any:
        self.keep(before, result[0], _entries(result[1]))
        return result

    def keep(self, before: Any, value: Any, entries: tuple[LedgerEntry, ...]) -> None:
        """A call, with what noise hides of it if that was the release."""
        hidden = before(value) if callable(before) else before
        own = dict(hidden) if isinstance(hidden, dict) else np.copy(hidden)
        self.calls.append(Call(own, value, entries))


class OtherPath(Exception):
    """The calls of a fit depend on the data by more than what was released."""


@dataclass
class Replayer(Recorder):
    """Keeps every call, and releases what was released before."""

    path: Sequence[Call] = ()

    def __call__(self, before: Any, result: Any) -> Any:
        at, entries = len(self.calls), _entries(result[1])
        if at >= len(self.path) or self.path[at].entries != entries:
            raise OtherPath(f"call {at + 1} is another one")
        value, entry = self.path[at].value, result[1]
        self.keep(before, value, entries)
        return type(result)(value, entry) if hasattr(result, "_fields") else (value, entry)


@dataclass(frozen=True, eq=False)
class Replay:
    """A fit on X and one on its neighbour that was made to release the same."""

    pair: str
    here: Any
    there: Any
    calls: list[tuple[Call, Call]]

    def up_to(self, count: int) -> Replay:
        """Its first calls."""
        return replace(self, calls=self.calls[:count])

    def movements(self) -> list[tuple[LedgerEntry, float]]:
        """Each entry and how far its value moved."""
        return [(e, a.moved(b, e)) for a, b in self.calls for e in a.entries]

    def shift(self) -> float:
        """|v| of the module's docstring."""
        return math.sqrt(sum((moved / entry.scale) ** 2 for entry, moved in self.movements()))


def recorded(estimator: Any, data: Data, seed: int | None) -> tuple[Any, list[Call]]:
    """A fit and its calls."""
    recorder = Recorder()
    with seen_by(recorder):
        fit = fitted(estimator, data, seed)
    return fit, recorder.calls


def replayed(estimator: Any, pair: Neighbours, seed: int | None) -> Replay:
    """The fit on X, and the one on its neighbour that follows it."""
    here, calls = recorded(estimator, pair.first, seed)
    replayer = Replayer(path=calls)
    with seen_by(replayer):
        there = fitted(estimator, pair.second, seed)
    if len(replayer.calls) != len(calls):
        raise OtherPath(f"{len(replayer.calls)} calls for {len(calls)}")
    return Replay(pair.about, here, there, list(zip(calls, replayer.calls, strict=True)))


def whitebox_checks(
    estimator: Any, claim: Privacy, neighbours: Sequence[Neighbours], level: float
) -> list[Check]:
    """All checks of a fit that keeps a ledger; none if it does not."""
    fit, calls = recorded(estimator, neighbours[0].first, 0)
    ledger = getattr(fit, "ledger_", None)
    if ledger is None:
        return []
    composed = _composition(fit, claim)
    if not calls:
        return [composed, Check("replay", None, "its mechanisms show no calls: see the releases")]
    unseen = sum((_counted(ledger) - _counted(e for c in calls for e in c.entries)).values())
    try:
        replays = [r for pair in neighbours for r in _replays(estimator, pair)]
    except OtherPath as error:
        told = f"the calls depend on the data by more than what was released: {error}"
        return [composed, Check("replay", None if unseen else False, told)]
    checks = [_paid(replays), _sensitivity(replays), _nothing_else(replays)]
    if unseen:  # the fits were not made to release the same by those that show no call
        told = f"{unseen} of {_counted(ledger).total()} entries show no call: no verdict from this"
        first = [replay.up_to(_leading(ledger, calls)) for replay in replays]
        sure = [c for c in (_named(ledger, calls), _sensitivity(first)) if c.passed is False]
        checks = sure + [Check(c.name, c.passed or None, told) for c in checks]
    else:
        checks.append(_exact(replays, ledger, claim))
    floats = _floats(estimator, neighbours, replays)
    found = [composed, *checks, _noise(estimator, neighbours[0].first, level)]
    return [*found, floats, _seen_through(found, neighbours, replays)]


def _seen_through(
    found: Sequence[Check], neighbours: Sequence[Neighbours], replays: Sequence[Replay]
) -> Check:
    """Whether next to nothing is left to be looked for in releases; why not."""
    calls = [call for replay in replays for call, _ in replay.calls]
    other = {entry.mechanism for call in calls if not has_law(call) for entry in call.entries}
    missing = {pair.about for pair in neighbours} - {replay.pair for replay in replays}
    if any(check.passed is not True for check in found if check.name != "exact curve"):
        return Check(SEEN_THROUGH, None, "a check above says nothing")
    if other:
        return Check(SEEN_THROUGH, None, f"the law is not tested: {', '.join(sorted(other))}")
    if missing:
        return Check(SEEN_THROUGH, None, f"{len(missing)} pairs of data raise")
    return Check(SEEN_THROUGH, True, "few releases are drawn")


def _replays(estimator: Any, pair: Neighbours) -> list[Replay]:
    """Replays of a pair with several seeds; none if a fit raises, which is an outcome."""
    try:
        return [replayed(estimator, pair, seed) for seed in range(PATHS)]
    except OtherPath as error:
        raise OtherPath(f"{error}: {pair.about}") from None
    except Exception:
        return []


def _leading(ledger: Sequence[LedgerEntry], calls: Sequence[Call]) -> int:
    """How many calls come before the first entry that shows none: they are replayed surely."""
    seen = [_key(entry) for call in calls for entry in call.entries]
    count = 0
    for entry, key in zip(ledger, seen, strict=False):
        if _key(entry) != key:
            break
        count += 1
    return count


def _floats(estimator: Any, neighbours: Sequence[Neighbours], replays: Sequence[Replay]) -> Check:
    """What releases give away as doubles; hardened ones are drawn anew, as no seed repeats them."""
    hardened = is_hardened(estimator)
    if hardened:
        pairs = [pair for pair in neighbours for _ in range(HARDENED_PATHS)]
        drawn = (replayed(estimator, pair, None) for pair in pairs)
        return floating_point_check((c for replay in drawn for c in replay.calls), True)
    return floating_point_check((c for replay in replays for c in replay.calls), False)


def _counted(entries: Iterable[LedgerEntry]) -> Counter[str]:
    """How many calls of each kind."""
    found = Counter[str]()
    for entry in entries:
        found[_key(entry)] += entry.count
    return found


def _paid(replays: Sequence[Replay]) -> Check:
    """Every call whose value moves with the record is in the ledger.

    Calls on other records cost this one nothing: two folds of one size are one entry.
    """
    for replay in replays:
        moving = [entry for entry, moved in replay.movements() if moved > 0]
        missing = _counted(moving) - _counted(replay.here.ledger_)
        if missing:
            told = "; ".join(f"{count} x {key}" for key, count in missing.items())
            return Check("ledger", False, f"released and not in it: {told}: {replay.pair}")
    return Check("ledger", True)


def _named(ledger: Sequence[LedgerEntry], calls: Sequence[Call]) -> Check:
    """Every mechanism that was called stands in the ledger, whatever its numbers."""
    called = {entry.mechanism for call in calls for entry in call.entries}
    missing = called - {entry.mechanism for entry in ledger}
    told = f"called and not in it: {', '.join(sorted(missing))}"
    return Check.of("ledger", not missing, told)


def _key(entry: LedgerEntry) -> str:
    numbers = f"sensitivity {entry.sensitivity:.9g}, scale {entry.scale:.9g}"
    return f"{entry.mechanism}, {entry.norm} {numbers}"


def composed(ledger: Sequence[LedgerEntry], like: Privacy) -> SpendablePrivacy:
    """What a ledger adds up to, in the definition of a claim and at its delta."""
    delta = like.delta if isinstance(like, Approximate) else None
    kind: Any = type(like)
    return compose(tuple(ledger), kind, delta)


def _composition(fit: Any, claim: Privacy) -> Check:
    """The ledger gives `privacy_`, and that is within the claim."""
    if not isinstance(claim, get_args(SpendablePrivacy)):
        return Check("composition", None, f"ledgers are not composed to {claim.name}")
    reported = fit.privacy_
    try:
        again, total = composed(fit.ledger_, reported), composed(fit.ledger_, claim)
    except NotAccountable as error:
        return Check("composition", False, str(error))
    for name, number in again.parameters.items():
        if number > reported.parameters[name] * (1 + ROUNDING):
            return Check(
                "composition", False, f"the ledger gives {again}, privacy_ says {reported}"
            )
    said = total.parameters[letter(claim)]
    wrong = f"the ledger gives {total}, which is more than {claim}"
    return Check.of("composition", not refutes(claim, said) and total.scope == claim.scope, wrong)


def _sensitivity(replays: Sequence[Replay]) -> Check:
    worst, told = 0.0, ""
    for replay in replays:
        for entry, moved in replay.movements():
            ratio = moved / entry.sensitivity
            if ratio > worst:
                worst = ratio
                told = f"{entry.mechanism} moves by {moved:.4g}, stated {entry.sensitivity:.4g}"
                told += f": {replay.pair}"
    if worst > 1 + ROUNDING:
        return Check("sensitivity", False, told)
    return Check("sensitivity", True, f"largest movement {worst:.3g} of what is stated")


def _noise(estimator: Any, data: Data, level: float) -> Check:
    """The noise of many fits, each law apart, the level shared; no draw may serve two calls."""
    drawn: dict[tuple[str, float], tuple[NoiseLaw, list[Array]]] = {}
    hardened, rng = is_hardened(estimator), np.random.default_rng(FIRST_NOISE_SEED)
    reused = 0
    for seed in range(NOISE_FITS):
        own = None if hardened else FIRST_NOISE_SEED + seed
        calls = recorded(estimator, data, own)[1]
        reused += not hardened and used_twice(calls)  # discrete noise may repeat
        for call in calls:
            if has_law(call):
                key, law, noise = law_of(call, rng)
                drawn.setdefault(key, (law, []))[1].append(noise)
        if sum(len(part) for _, parts in drawn.values() for part in parts) > ENOUGH_NOISE:
            break
    if reused > 1:
        return Check("noise", False, "two calls of a fit are given the same noise")
    told = []
    for (name, _), (law, parts) in drawn.items():
        chance = law.chance(np.concatenate(parts))
        if chance < level / len(drawn):
            return Check("noise", False, f"{name}: not the stated law and scale (p = {chance:.2g})")
        told.append(f"{sum(map(len, parts))} of {name}")
    return Check("noise", True if drawn else None, ", ".join(told) or "no added noise was seen")


def _nothing_else(replays: Sequence[Replay]) -> Check:
    for replay in replays:
        leaked = differing(replay.here, replay.there)
        if leaked:
            names = ", ".join(sorted(leaked))
            told = f"{names} differ though the same was released: {replay.pair}"
            return Check("nothing else", False, told)
    return Check("nothing else", True)


def _exact(replays: Sequence[Replay], ledger: Sequence[LedgerEntry], claim: Privacy) -> Check:
    """The exact budget of Gaussian transcripts, at the pair that shows most of it."""
    by_pair: dict[str, list[float]] = {}
    for replay in replays:
        by_pair.setdefault(replay.pair, []).append(replay.shift())
    fixed = [max(s) for s in by_pair.values() if max(s) <= min(s) * (1 + ROUNDING)]
    gaussian = all(entry.mechanism == "gaussian" for entry in ledger)
    if not gaussian or max(fixed, default=0.0) == 0:
        return Check("exact curve", None, "the law is not that of Gaussian noise alone")
    real = Gaussian(max(fixed) / (1 + ROUNDING), claim.scope)
    match claim:
        case Gaussian():
            shown: Privacy = real
        case Approximate():
            shown = real.to_approximate(claim.delta)
        case ZeroConcentrated() | OffsetConcentrated():  # whose orders are not bounded
            shown = real.to_zcdp()
        case Renyi():
            shown = Renyi(claim.alpha, claim.alpha * real.mu**2 / 2, claim.scope)
        case _:
            return Check(
                "exact curve", False, f"exactly {real}, which is {claim.name} for no number"
            )
    number = shown.parameters[letter(claim)] / (1 + 3 * ROUNDING)
    return Check("exact curve", not refutes(claim, number), f"exactly {real}, so {shown}")
