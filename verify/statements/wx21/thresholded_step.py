"""WX21 §VII-A: one step of Algorithm 3, on which the proof of Theorem 8 can be tried.

The proof follows one step x+ = H_k(x - eta (grad L(x) + z)). `Step` is such a step on a quadratic
whose curvature lies in [rho, l]; each inequality of the proof is evaluated on many of them, over
scales of the loss and of the noise z, and where it is sharp also at the place of equality.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from estimators.sparse_erm import hard_threshold
from verify.proofs.entry import Result, result

Array = NDArray[np.float64]
Set = frozenset[int]
TOLERANCE = 1e-9
"""Of a violation, relative to the largest term involved."""


@dataclass(frozen=True)
class Step:
    """One noisy step on L(x) = (x - m)'H(x - m)/2 towards a comparison point."""

    H: Array
    m: Array
    start: Array
    target: Array
    z: Array
    k: int
    eta: float
    places: int = 0
    """Up to how many places I^t is filled (by the first free ones) beyond the support of x_t."""

    @cached_property
    def rho(self) -> float:
        """The least curvature."""
        return float(np.linalg.eigvalsh(self.H)[0])

    @cached_property
    def smooth(self) -> float:
        """The largest curvature."""
        return float(np.linalg.eigvalsh(self.H)[-1])

    @property
    def t(self) -> float:
        """k*/(k + k*)."""
        k_star = np.count_nonzero(self.target)
        return float(k_star / (self.k + k_star))

    def loss(self, x: Array) -> float:
        """L(x)."""
        return float((x - self.m) @ self.H @ (x - self.m)) / 2

    @cached_property
    def g(self) -> Array:
        """The noisy gradient."""
        return np.asarray(self.H @ (self.start - self.m) + self.z)

    @cached_property
    def end(self) -> Array:
        """x_{t+1}."""
        return hard_threshold(self.start - self.eta * self.g, self.k)

    @cached_property
    def sets(self) -> tuple[Set, Set, Set]:
        """I^t, I^{t+1}, I*."""
        now, then, star = (
            frozenset(np.flatnonzero(x).tolist()) for x in (self.start, self.end, self.target)
        )
        free = [j for j in range(len(self.m)) if j not in now]
        now |= frozenset(free[: max(self.places - len(now), 0)])
        return now, then, star

    @cached_property
    def joint(self) -> list[int]:
        """I."""
        return sorted(frozenset().union(*self.sets))

    @cached_property
    def old(self) -> list[int]:
        """I^t and I*."""
        now, _, star = self.sets
        return sorted(now | star)

    @cached_property
    def new(self) -> list[int]:
        """I without I^t and I*."""
        return sorted(set(self.joint) - set(self.old))

    @cached_property
    def swapped(self) -> list[int] | None:
        """R: the largest |I without (I^t, I*)| entries dropped; None if so many were not."""
        now, then, _ = self.sets
        dropped = sorted(now - then, key=lambda j: -abs(self.start[j] - self.eta * self.g[j]))
        return dropped[: len(self.new)] if len(dropped) >= len(self.new) else None

    @property
    def move(self) -> Array:
        """x_{t+1} - x_t."""
        return np.asarray(self.end - self.start)

    @property
    def residual(self) -> Array:
        """x_{t+1} - x_t + eta g."""
        return np.asarray(self.move + self.eta * self.g)


def _square(v: Array, places: list[int]) -> float:
    return float(np.sum(v[places] ** 2))


def steps(
    rng: np.random.Generator,
    *,
    count: int = 120,
    d: int = 12,
    k: int = 4,
    k_star: int = 1,
    kappa: float | None = None,
    sizes: tuple[int, ...] | None = None,
    places: int = 0,
) -> list[Step]:
    """Random steps: curvature, scale of the loss, noise and step size all vary.

    With `kappa` the step size is 1/(2l); else eta l lies below (k - k*)/(k + k*), as (21) needs.
    `sizes` are numbers of non-zero entries of the start, by default k.
    """
    made = []
    for i in range(count):
        scale = float(10 ** rng.uniform(-2, 5))
        ratio = kappa or float(rng.uniform(1, 5))
        Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
        H = Q @ np.diag(scale * np.linspace(1 / ratio, 1, d)) @ Q.T
        size = k if sizes is None else sizes[i % len(sizes)]
        start, target = np.zeros(d), np.zeros(d)
        start[rng.permutation(d)[:size]] = rng.standard_normal(size)
        target[rng.permutation(d)[:k_star]] = 2 * rng.standard_normal(k_star)
        near = start if i % 4 == 1 else target
        m = near + 0.3 * rng.standard_normal(d) * rng.integers(0, 2)
        z = scale * float(10 ** rng.uniform(-3, 1)) * rng.standard_normal(d)
        if i % 3 == 0:  # against the way to the target
            z = -scale * float(rng.uniform(0, 1)) * (target - start)
        largest = (k - k_star) / (k + k_star)
        eta = (0.5 if kappa else float(rng.uniform(0.05, 0.95)) * largest) / scale
        made.append(Step(H, m, start, target, z, k, eta, places))
    return made


def violation(left: float, right: float, *terms: float) -> float:
    """left - right over the largest term."""
    return (left - right) / max(abs(left), abs(right), *map(abs, terms), 1e-300)


def _judge(worst: float, cases: list[Step], **evidence: float) -> Result:
    return result(worst <= TOLERANCE, largest_violation=worst, steps=len(cases), **evidence)


# --- (17), (18), (19) ----------------------------------------------------------------------------


def smoothness_chain(rng: np.random.Generator, *, kept: float) -> Result:
    """(17): is the last line equal to the one before, and L(x+) at most that?

    The last line has `kept` times the term -(1 - eta l)/(2 eta) |x+ - x|^2 (printed: 0).
    """
    unequal, above = 0.0, -math.inf
    cases = steps(rng)
    for step in cases:
        room = (1 - step.eta * step.smooth) / (2 * step.eta) * float(step.move @ step.move)
        noise = math.sqrt(_square(step.z, step.joint)) * float(np.linalg.norm(step.move))
        fit = _square(step.residual, step.joint) / (2 * step.eta)
        before = step.loss(step.start) + fit - step.eta / 2 * _square(step.g, step.joint)
        before += noise - room
        last = step.loss(step.start) + fit - step.eta / 2 * _square(step.g, step.new)
        last += -step.eta / 2 * _square(step.g, step.old) + noise - kept * room
        unequal = max(unequal, abs(violation(last, before, fit, noise)))
        above = max(above, violation(step.loss(step.end), last, fit, noise))
    return _judge(max(unequal, above), cases, largest_inequality_of_lines=unequal)


def exchange(rng: np.random.Generator, *, places: int) -> Result:
    """(18): is there an R of the right size among the entries dropped, and are they smaller?

    k = 4; the start has from 0 (x_0 = 0) to 4 non-zero entries, and I^t is filled to `places`.
    """
    cases = steps(rng, sizes=(0, 1, 2, 3, 4), places=places)
    missing = sum(step.swapped is None for step in cases)
    worst = max(
        violation(
            _square(step.start - step.eta * step.g, step.swapped),
            step.eta**2 * _square(step.g, step.new),
        )
        for step in cases
        if step.swapped is not None
    )
    return result(
        missing == 0 and worst <= TOLERANCE,
        steps_without_such_a_set=missing,
        steps=len(cases),
        largest_violation=worst,
    )


def residual_bound(rng: np.random.Generator, *, extra: int) -> Result:
    """(19): |r_I|^2 - eta^2 |g_new|^2 <= |r_{I without R}|^2, r = x+ - x + eta g.

    The mutant takes `extra` more of the dropped entries into R.
    """
    worst, cases = -math.inf, steps(rng)
    for step in cases:
        now, then, _ = step.sets
        out = set(sorted(now - then)[: len(step.swapped or []) + extra]) if extra else set()
        kept = sorted(set(step.joint) - (out or set(step.swapped or [])))
        left = _square(step.residual, step.joint) - step.eta**2 * _square(step.g, step.new)
        worst = max(worst, violation(left, _square(step.residual, kept)))
    return _judge(worst, cases)


# --- (20) to (24) --------------------------------------------------------------------------------


def _inner(step: Step) -> float:
    """<z, x* - x>."""
    return float(step.z @ (step.target - step.start))


def _common(step: Step, gain: float) -> float:
    """The terms that (20) and (21) share, but for the one linear in z."""
    away = float(np.sum((step.target - step.start) ** 2))
    gap = step.loss(step.target) - step.loss(step.start)
    total = step.loss(step.start) + gain * 2 * step.t * gap
    total += step.t * (1 - step.eta * step.rho) / step.eta * away
    return total + step.eta * (step.t - 0.5) * _square(step.g, step.old)


def equation_20(step: Step, linear: float, gain: float) -> float:
    """The right side of (20) with `linear` times 2t <z, x* - x>, `gain` times 2t (L(x*) - L(x))."""
    noise = math.sqrt(_square(step.z, step.joint)) * float(np.linalg.norm(step.move))
    room = (1 - step.eta * step.smooth) / (2 * step.eta) - step.t / step.eta
    moved = float(step.move @ step.move)
    return _common(step, gain) - room * moved + 2 * step.t * linear * _inner(step) + noise


def _young(step: Step) -> float:
    """eta (k + k*)/(2 ((1 - eta l) k - (1 + eta l) k*))."""
    return step.eta / (2 * (1 - step.eta * step.smooth - 2 * step.t))


def equation_21(step: Step, linear: float, gain: float) -> float:
    """The right side of (21)."""
    noise = _young(step) * _square(step.z, step.joint)
    return _common(step, gain) + 2 * step.t * linear * _inner(step) + noise


def equation_23(step: Step, linear: float, gain: float) -> float:
    """The right side of (23)."""
    eta, rho, t = step.eta, step.rho, step.t
    gap = step.loss(step.target) - step.loss(step.start)
    slope = gain * 2 * t * (1 + 2 * (1 - eta * rho) / (eta * rho))
    curb = eta / 2 - (eta**2 * rho**2 + 8 * (1 - eta * rho)) * t / (eta * rho**2)
    total = step.loss(step.start) + slope * gap - curb * _square(step.g, step.old)
    noise = (_young(step) + 8 * (1 - eta * rho) * t / (eta * rho**2)) * _square(step.z, step.joint)
    return total + 2 * t * linear * _inner(step) + noise


def equation_24(step: Step, linear: float, gain: float) -> float:
    """The right side of (24)."""
    gap = step.loss(step.target) - step.loss(step.start)
    noise = 37 * step.smooth / step.rho**2 * _square(step.z, step.joint)
    contracted = step.loss(step.start) + gain * step.rho / (8 * step.smooth) * gap
    return contracted + 2 * step.t * linear * _inner(step) + noise


def descent(
    rng: np.random.Generator,
    right: Callable[[Step, float, float], float],
    *,
    printed: bool = False,
    gain: float = 1.0,
    shape: Mapping[str, float] | None = None,
) -> Result:
    """Is L(x+) at most the right side, with 1/eta (printed) or 1 in the term linear in z?

    `gain` multiplies the factor of L(x*) - L(x); `shape` is that of the `steps`.
    """
    cases = steps(rng, **(shape or {}))  # type: ignore[arg-type]
    worst = max(
        violation(
            step.loss(step.end),
            right(step, 1 / step.eta if printed else 1.0, gain),
            step.loss(step.start),
        )
        for step in cases
    )
    return _judge(worst, cases)


def distance_bound(rng: np.random.Generator, constant: float) -> Result:
    """(22) with this for 8; among the steps those with z = -g and m half-way, where it is sharp."""
    cases = steps(rng)
    for _ in range(20):
        d, k = 12, 4
        start, target = np.zeros(d), np.zeros(d)
        start[:k], target[k] = rng.standard_normal(k), float(rng.standard_normal())
        v = target - start
        rho = float(10 ** rng.uniform(-2, 2))
        cases.append(Step(rho * np.eye(d), start + v / 2, start, target, rho / 4 * v, k, 0.5 / rho))
    worst = -math.inf
    for step in cases:
        rho, gap = step.rho, step.loss(step.target) - step.loss(step.start)
        noise = _square(step.z, step.joint)
        bound = 4 / rho * gap + constant / rho**2 * (_square(step.g, step.old) + noise)
        worst = max(worst, violation(float(np.sum((step.start - step.target) ** 2)), bound))
    return _judge(worst, cases)
