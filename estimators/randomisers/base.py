"""What randomisers of vectors share: blocks of users, clipping, means of reports, the ledger."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from estimators.core.accounting import LedgerEntry
from estimators.core.mechanisms import Release
from estimators.core.rows import row_products
from estimators.core.witness import is_watched, shown
from minimax.core.privacy import SpendablePrivacy

Array = NDArray[np.float64]
BLOCK = 2**17
"""Numbers randomised at a time: what a block needs stays in the processor's cache."""


class VectorRandomiser(ABC):
    """One unbiased report a user of a vector with p coordinates, clipped to a ball of some norm."""

    p: int
    radius: float
    norm: ClassVar[str] = "l2"
    """That in which the radius is meant."""

    @property
    @abstractmethod
    def name(self) -> str:
        """As the ledger calls it."""

    @property
    @abstractmethod
    def guarantee(self) -> SpendablePrivacy:
        """What holds for each report, whatever the input."""

    @property
    @abstractmethod
    def length(self) -> float:
        """The largest root mean square norm of a report, over all inputs."""

    @abstractmethod
    def clip(self, X: ArrayLike) -> Array:
        """The inputs that the reports are about: those outside are brought to the boundary."""

    @abstractmethod
    def log_likelihood(self, reports: ArrayLike, x: ArrayLike) -> Array:
        """log density of reports at one input x, relative to a law that no input changes."""

    @abstractmethod
    def _fill(self, reports: Array, X: Array, rng: np.random.Generator, scratch: Array) -> None:
        """Write the reports of a block of rows that has been checked; scratch has their shape."""

    @property
    def scale(self) -> float:
        """What the ledger has for the size of the noise."""
        return self.length

    def error(self, x: ArrayLike) -> float:
        """E|R(x) - clip(x)|^2, exactly: E|R(x)|^2 is length^2 for every input."""
        return self.length**2 - float(np.sum(self.clip(np.atleast_2d(x)) ** 2))

    def randomise(self, X: ArrayLike, rng: np.random.Generator) -> Release[Array]:
        """One report for each row of X (one user each)."""
        X = checked_rows(X, self.p, "X")
        reports = np.empty(X.shape)
        scratch = np.empty(_block_shape(self.p))
        for rows in blocks(range(len(X)), self.p):
            self._fill(reports[rows], X[rows], rng, scratch[: len(X[rows])])
        return shown(lambda told: self.clip(X), Release(reports, self.entry(len(X))))

    def entry(self, users: int) -> LedgerEntry:
        """The ledger's record of one report from each of some users."""
        return LedgerEntry(
            self.name,
            self.radius,
            self.norm,
            self.scale,
            (self.guarantee,),
            about=f"one report from each of {users} users",
        )


def mean_of_reports(
    chunks: Iterable[ArrayLike], randomiser: VectorRandomiser, rng: np.random.Generator
) -> Release[Array]:
    """The mean of one report a user, with the users' vectors coming in chunks of rows.

    Only a block of reports exists at a time: memory does not grow with the number of users. An
    unbiased estimate of the mean of the clipped rows, with variance at most length^2/n.
    """
    total, users = np.zeros(randomiser.p), 0
    reports, scratch = np.empty((2, *_block_shape(randomiser.p)))
    for chunk in chunks:
        X = checked_rows(chunk, randomiser.p, "chunks")
        if is_watched():
            total += randomiser.randomise(X, rng).value.sum(axis=0)
            users += len(X)
            continue
        for rows in blocks(range(len(X)), randomiser.p):
            size = len(X[rows])
            randomiser._fill(reports[:size], X[rows], rng, scratch[:size])
            total += np.ones(size) @ reports[:size]  # the sum of the rows, by a product
        users += len(X)
    if users == 0:
        raise ValueError("chunks must hold at least one user, got none")
    return Release(total / users, randomiser.entry(users))


def checked_rows(X: ArrayLike, p: int, name: str) -> Array:
    """X as users in rows, or an error that names the argument."""
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != p:
        raise ValueError(f"{name} must have p = {p} columns, got an array of shape {X.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        total = X.sum()
    if not np.isfinite(total) and not np.isfinite(X).all():
        raise ValueError(f"{name} must be finite")
    return X


def checked_reports(reports: ArrayLike, p: int) -> Array:
    """Reports in rows, or an error."""
    rows = np.atleast_2d(np.asarray(reports, dtype=float))
    if rows.shape[1] != p:
        raise ValueError(f"reports must have p = {p} columns, got {rows.shape[1]}")
    return rows


def _block_shape(p: int) -> tuple[int, int]:
    return max(1, BLOCK // p), p


def blocks(users: range, width: int) -> Iterator[slice]:
    """Slices of the users, for `width` numbers each, that hold about `BLOCK` numbers."""
    rows = _block_shape(width)[0]
    for start in range(users.start, users.stop, rows):
        yield slice(start, min(start + rows, users.stop))


def shortened(X: ArrayLike, p: int, radius: float) -> Array:
    """Rows shortened to l2 norm at most `radius`."""
    X, norms, share = directions(checked_rows(X, p, "X"), radius)
    return np.asarray(X * (radius * share / norms)[:, None])


def directions(X: Array, radius: float) -> tuple[Array, Array, Array]:
    """Rows along the inputs' directions, the norms of those rows, and min(|x|, r)/r.

    The rows are the inputs except where a square over- or underflows, and e_1 for a zero input.
    """
    squares = row_products(X, X)
    norms = np.sqrt(squares)
    share = np.minimum(norms, radius) / radius
    odd = np.flatnonzero(~((squares > 1e-280) & (squares < 1e280)))
    if len(odd):
        X = X.copy()
        largest = np.abs(X[odd]).max(axis=1)
        zero = largest == 0
        X[odd[zero]] = np.eye(1, X.shape[1])
        # In two steps, as the inverse of a subnormal number overflows.
        power = np.frexp(np.where(zero, 1.0, largest))[1]
        X[odd] = np.ldexp(np.ldexp(X[odd], -(power // 2)[:, None]), -(power - power // 2)[:, None])
        norms[odd] = np.sqrt(row_products(X[odd], X[odd]))
        # |x| >= r compared on the scale of the rows, as |x| itself may overflow.
        relative = np.minimum(np.log(norms[odd]) + power * math.log(2) - math.log(radius), 0.0)
        share[odd] = np.where(zero, 0.0, np.exp(relative))
    return X, norms, share
