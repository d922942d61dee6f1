"""WX21 §VII-A: one step of Algorithm 3, on which the proof of Theorem 8 can be tried.

The proof follows one step x+ = H_k(x - eta (grad L(x) + z)). `Step` is such a step on a quadratic
whose curvature lies in [rho, l]; each inequality of the proof is evaluated on many of them, over
scales of the loss and of the noise z, and where it is sharp also at the place of equality.
"""

from __future__ import annotations

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


def square(v: Array, places: list[int]) -> float:
    """|v restricted to these places|^2."""
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


def judged(worst: float, cases: list[Step], **evidence: float) -> Result:
    """Does no step violate the inequality by more than rounding?"""
    return result(worst <= TOLERANCE, largest_violation=worst, steps=len(cases), **evidence)
