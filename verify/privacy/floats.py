r"""Which doubles can a release be? What floating-point noise gives away besides.

Over the real numbers value + noise can be anything. As doubles it is fl(value + fl(noise)), the
noise is one of the numbers that the sampler can make, and from another value the same double may be
out of reach: whoever sees it knows which value it was not (Mironov, 2012, "On significance of the
least significant bits for differential privacy").

**Laplace.** numpy makes scale log(2u) of a uniform number u < 1/2, a multiple of 2^-53, and
-scale log(2 - u - u) of the others. **Gaussian.**
numpy's ziggurat makes k w_i of a layer i < 256 and k < 2^52, and beyond 3.65 other numbers, which
are taken for reachable. The widths w_i are read off numpy itself (`ziggurat_widths`).

**Statement.** If `reaches` is false, no draw of numpy's sampler gives the release from the value.
**Proof.** Rounded sums, products and logarithms are monotone, so the noise that gives a release is
in an interval, which is enlarged by more than all rounding in its computation; all k in it are
tried, in numpy's own arithmetic, or, if they are too many, it is said to be reached.

A release that can come from its own value and not from the neighbour's is *given away*, if the
noise is numpy's. That is known of ordinary noise. Of noise that is said to be hardened it is taken
for shown if every number can come from its own value, and they are so many that other noise would
have missed it: it does so at least at the rate q/4 (Laplace) or q/50 (Gaussian) as measured, q
being the share out of reach of the neighbour. This is a column of its own: ordinary noise is for
studies, and only for ``noise="hardened"`` it is part of the verdict.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.privacy.rows import Check

Array = NDArray[np.float64]
STEPS = 2.0**52
LAYERS = 256
EDGE = 3.6541528853610088
"""Where the ziggurat ends."""
MOST_TRIED = 64
ULPS = 4
"""By how many units in the last place an interval is enlarged on either side."""
ENOUGH = 100
"""Releases that are looked at."""
MISSES = {"laplace": 1 / 4, "gaussian": 1 / 50}
"""How often hardened noise misses its own value, at least, for each time the neighbour's."""
CERTAIN = 14.0
"""Misses that would be expected: e^-14 is the chance of none."""
KINDS = tuple(MISSES)
"""Mechanisms whose noise is looked at."""


def reaches(mechanism: str, release: float, value: float, scale: float) -> bool:
    """Whether numpy's sampler can make the release from the value; true if that is not known."""
    low, high = _noise_between(release, value)
    if mechanism == "laplace":
        return _laplace_reaches(release, value, scale, low, high)
    return _gaussian_reaches(release, value, scale, low, high)


def _noise_between(release: float, value: float) -> tuple[float, float]:
    """An interval that holds every noise with fl(value + noise) = release."""
    room = ULPS * (math.ulp(release) + math.ulp(value) + math.ulp(release - value))
    return release - value - room, release - value + room


def _laplace_reaches(release: float, value: float, scale: float, low: float, high: float) -> bool:
    for sign in (-1.0, 1.0):  # of the noise
        near, far = sorted((sign * low, sign * high))  # sizes of the noise, between which to look
        if far < 0:
            continue
        slack = ULPS * 2.0**-52
        most = math.exp(min(-near / scale, 0.0)) * STEPS * (1 + slack) + 2
        least = math.exp(-far / scale) * STEPS * (1 - slack) - 2
        first, last = max(math.floor(least), 0), min(math.ceil(most), int(STEPS))
        if last - first > MOST_TRIED:
            return True
        if any(value + _laplace(k, sign, scale) == release for k in range(first, last + 1)):
            return True
    return False


def _laplace(k: int, sign: float, scale: float) -> float:
    """numpy's noise from the uniform number u = k 2^-53, or 1 - k 2^-53 for positive noise."""
    u = k / (2 * STEPS) if sign < 0 else 1 - k / (2 * STEPS)
    w = u + u if sign < 0 else 2.0 - u - u  # which rounds
    return sign * math.inf if w <= 0 else -sign * (scale * math.log(w))


def _gaussian_reaches(release: float, value: float, scale: float, low: float, high: float) -> bool:
    if max(abs(low), abs(high)) >= EDGE * scale:
        return True
    widths = ziggurat_widths()
    ends = np.sort(np.array([low, high]) / scale)
    first, last = np.floor(ends[0] / widths) - 2, np.ceil(ends[1] / widths) + 2
    count = int((last - first).max()) + 1
    if count > MOST_TRIED:
        return True
    k = first[:, None] + np.arange(count)
    drawn = k * widths[:, None]
    made = value + scale * drawn
    return bool(np.any((made == release) & (np.abs(k) < STEPS)))


@lru_cache(maxsize=1)
def ziggurat_widths() -> Array:
    """w_i: what `standard_normal` makes of the word with layer i, no sign and k = 1.

    The word is put in the state of a Mersenne twister, whose tempering is undone.
    """
    found = np.empty(LAYERS)
    for layer in range(LAYERS):
        found[layer] = _normal_of_word((1 << 9) | layer)
    return found


def _normal_of_word(word: int) -> float:
    """The first normal number of a generator whose first 64 bits are these, then zeros."""
    source = np.random.MT19937(0)
    state: Any = source.state
    key = np.zeros(624, dtype=np.uint32)
    key[:2] = [_untempered(word >> 32), _untempered(word & 0xFFFFFFFF)]
    state["state"] = {"key": key, "pos": 0}
    source.state = state
    return abs(float(np.random.Generator(source).standard_normal()))


def _untempered(y: int) -> int:
    """The word of the state that the twister shows as y."""
    y ^= y >> 18
    y ^= (y << 15) & 0xEFC60000
    x = y
    for _ in range(5):
        x = y ^ ((x << 7) & 0x9D2C5680)
    y = x & 0xFFFFFFFF
    x = y
    for _ in range(3):
        x = y ^ (x >> 11)
    return x & 0xFFFFFFFF


class Seen(NamedTuple):
    """A released number, its value before noise, and the neighbour's."""

    mechanism: str
    release: float
    value: float
    other: float
    scale: float

    @property
    def possible(self) -> bool:
        """Whether it can come from its own value."""
        return reaches(self.mechanism, self.release, self.value, self.scale)

    @property
    def elsewhere(self) -> bool:
        """Whether it can come from the neighbour's."""
        return reaches(self.mechanism, self.release, self.other, self.scale)


def given_away(releases: Sequence[Sequence[Seen]], hardened: bool = False) -> int:
    """How many releases, of some numbers each, cannot come from the neighbour's values; none if
    the noise is another one, or there are too few to tell."""
    numbers = [number for release in releases for number in release]
    if not all(number.possible for number in numbers):
        return 0
    away = [[not number.elsewhere for number in release] for release in releases]
    missed = sum(MISSES[number.mechanism] for number in numbers if not number.elsewhere)
    if hardened and missed < CERTAIN:
        return 0
    return sum(map(any, away))


def numbers_of(here: Any, there: Any) -> list[Seen]:
    """The released numbers of a call on X whose value is another one on the neighbour."""
    entry = here.entries[0]
    if len(here.entries) > 1 or entry.mechanism not in KINDS:
        return []
    columns = (np.ravel(np.asarray(x, float)) for x in (here.value, here.before, there.before))
    return [
        Seen(entry.mechanism, float(release), float(value), float(other), float(entry.scale))
        for release, value, other in zip(*columns, strict=True)
        if value != other
    ]


def floating_point_check(calls: Iterable[tuple[Any, Any]], hardened: bool) -> Check:
    """The column: how many releases are given away, for each kind of noise."""
    seen = (numbers_of(here, there) for here, there in calls)
    releases = [numbers for numbers in seen if numbers][:ENOUGH]
    told, found = [], 0
    for kind in KINDS:
        own = [release for release in releases if release[0].mechanism == kind]
        if own:
            away = given_away(own, hardened)
            found += away
            told.append(f"{away} of {len(own)} {kind} releases are given away")
    passed = found == 0 if hardened and releases else None
    return Check("floating point", passed, "; ".join(told) or "no added noise was seen")
