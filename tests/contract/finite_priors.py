r"""The priors of the proofs as tiny finite problems, for `tests.contract.mechanisms`.

Sign data, diluted and block data are finite as they are. Of Gaussian records only the sign is kept,
and only ranks 0 and 1 of a spike's count in the plane: a private mechanism of what is kept is one
of the data, since a replaced record moves what is kept to a neighbour or nowhere. Its risk can only
be too large for the optimum, and a lower bound must stay below it all the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from itertools import product

import numpy as np
from scipy import special, stats

from minimax.core.bound import Prior
from minimax.core.loss import Loss
from minimax.core.privacy import Privacy
from minimax.methods.priors import (
    BlockPrior,
    CosinePrior,
    DilutedPrior,
    GaussianBlockPrior,
    LogisticBlockPrior,
    LogisticPrior,
    RegressionBlockPrior,
    RegressionPrior,
    SignPrior,
    TwoLabelPrior,
)
from minimax.methods.van_trees import ball_exponent
from minimax.problems.bounded_mean.diluted import TO_THE_SAMPLE_MEAN
from minimax.problems.label_regression.uniform_noise import UniformNoisePrior
from minimax.problems.local_regression.rare_labels import RareLabelPrior
from tests.contract.finite_problems import (
    Array,
    FiniteProblem,
    as_pairs,
    counting_problem,
    risk_of_reports,
)
from tests.contract.mechanisms import least_risk


class TooLarge(ValueError):
    """The prior is known, but has no finite form in this dimension."""


def central_problem(prior: Prior, n: int, loss: Loss) -> FiniteProblem:
    """n records of the prior, and the target that the loss is about."""
    if loss is TO_THE_SAMPLE_MEAN:
        assert isinstance(prior, SignPrior)
        return sample_means(prior, n)
    return finite(prior, n)


@singledispatch
def finite(prior: Prior, n: int) -> FiniteProblem:
    """n records under a prior. A prior of a new kind needs a form here."""
    raise TypeError(f"{type(prior).__name__} has no finite form: register one with `finite`")


# --- Sign data ------------------------------------------------------------------------------------


def sign_law(u: float, size: int) -> tuple[Array, Array]:
    """Gauss-Jacobi nodes: exact for the polynomials in p that n signs and the loss give."""
    p, weights = special.roots_jacobi(size, u / 2 - 1, u / 2 - 1)
    return p, weights / weights.sum()


@finite.register
def signs(prior: SignPrior, n: int) -> FiniteProblem:
    """A record is one of 2^d sign vectors."""
    p, weights = sign_law(prior.u, n // 2 + 2)
    values = np.array(list(product([-1.0, 1.0], repeat=prior.d)))
    means = np.array(list(product(p, repeat=prior.d)))
    masses = np.prod(np.array(list(product(weights, repeat=prior.d))), axis=1)
    chances = np.prod((1 + means[:, None, :] * values) / 2, axis=2)
    return counting_problem(n, masses, chances, prior.sigma * means)


def sample_means(prior: SignPrior, n: int) -> FiniteProblem:
    """d = 1; the target is the mean of the sample itself."""
    if prior.d > 1:
        raise TooLarge(f"{prior}: the sample mean is taken in dimension one")
    mass = stats.betabinom.pmf(np.arange(n + 1), n, prior.u / 2, prior.u / 2)
    xbar = prior.sigma * np.linspace(-1, 1, n + 1)
    return FiniteProblem(np.diag(mass), xbar[:, None], _path(n + 1))


def _path(size: int) -> tuple[tuple[int, int], ...]:
    steps = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    return as_pairs(steps == 1)


@finite.register
def diluted(prior: DilutedPrior, n: int) -> FiniteProblem:
    """d = 1: of the m points j are +1; a record is +, - or 0."""
    if prior.d > 1:
        raise TooLarge(f"{prior}: points are counted in dimension one")
    share = np.arange(prior.points + 1) / prior.points
    law = stats.betabinom(prior.points, prior.u / 2, prior.u / 2)
    weights = law.pmf(np.arange(prior.points + 1))
    kept = prior.alpha * np.stack([share, 1 - share], axis=1)
    chances = np.column_stack([kept, np.full(len(share), 1 - prior.alpha)])
    return counting_problem(n, weights, chances, prior.alpha * prior.sigma * (2 * share - 1))


def block_vectors(d: int, s: int) -> Array:
    """Every choice of one signed coordinate in each of s blocks of floor(d/s)."""
    size = d // s
    choices = np.array(list(product(range(2 * size), repeat=s)))
    vectors = np.zeros((len(choices), d))
    for block in range(s):
        places = block * size + choices[:, block] // 2
        vectors[np.arange(len(choices)), places] = (-1.0) ** choices[:, block]
    return vectors


@finite.register
def spikes(prior: BlockPrior, n: int) -> FiniteProblem:
    """A record is 0 or the spike, one of (2m)^s vectors; a data set is a spike and its count.

    Data sets with two different spikes never occur and are left out. With two spikes all counts
    are kept, with more only whether there is any.
    """
    vectors = block_vectors(prior.d, prior.s)
    kinds, top = len(vectors), n if len(vectors) == 2 else 1
    chances = stats.binom.pmf(np.arange(n + 1), n, prior.alpha)
    chances = np.append(chances[:top], chances[top:].sum())
    joint = np.zeros((kinds * top + 1, kinds))
    joint[0] = chances[0]
    for kind in range(kinds):
        joint[1 + kind * top : 1 + (kind + 1) * top, kind] = chances[1:]
    spike = np.append(-1, np.repeat(np.arange(kinds), top))
    count = np.append(0, np.tile(np.arange(1, top + 1), kinds))
    apart = np.abs(np.subtract.outer(count, count))
    same = (spike[:, None] == spike) | (count[:, None] == 0) | (count == 0)
    near = (same & (apart == 1)) | (~same & (count[:, None] == 1) & (count == 1))
    return FiniteProblem(joint / kinds, prior.alpha * prior.height * vectors, as_pairs(near))


# --- Gaussian and logistic records, by a sign -----------------------------------------------------


def binary(n: int, weights: Array, chance: Array, targets: Array) -> FiniteProblem:
    """n records of two values, the first with the given chance."""
    return counting_problem(n, weights, np.stack([chance, 1 - chance], axis=1), targets)


def _only(size: int, prior: object) -> None:
    if size != 1:
        raise TooLarge(f"{prior}: one coordinate at most")


@finite.register
def gaussian_signs(prior: CosinePrior, n: int) -> FiniteProblem:
    """The signs of the one coordinate whose mean is not zero; nodes of the trapezium rule.

    For a trigonometric density and smooth chances the rule errs by far less than the solver.
    """
    _only(prior.support or prior.d, prior)
    mu = prior.radius * np.linspace(-1, 1, 401)
    weights = np.cos(np.pi * mu / (2 * prior.radius)) ** 2
    return binary(n, weights / weights.sum(), special.ndtr(mu / prior.sigma), mu)


def ball_law(radius: float) -> tuple[Array, Array]:
    """Gauss-Jacobi nodes of the ball prior in dimension one."""
    nodes, weights = special.roots_jacobi(96, ball_exponent(1), ball_exponent(1))
    return radius * nodes, weights / weights.sum()


@finite.register
def linear_signs(prior: RegressionPrior, n: int) -> FiniteProblem:
    """z = x y ~ N(beta, sigma^2), of which the sign is kept."""
    _only(prior.support or prior.d, prior)
    beta, weights = ball_law(prior.radius)
    return binary(n, weights, special.ndtr(beta / prior.sigma), beta)


@finite.register
def logistic_signs(prior: LogisticPrior, n: int) -> FiniteProblem:
    """z = x (2y - 1) is 1 with chance expit(beta) whatever x, which is pure noise.

    A mechanism on z may draw the x itself, so reducing (x, y) to z loses nothing.
    """
    _only(prior.support or prior.d, prior)
    beta, weights = ball_law(prior.radius)
    return binary(n, weights, special.expit(beta), beta)


@finite.register
def gaussian_blocks(prior: GaussianBlockPrior, n: int) -> FiniteProblem:
    """The signs of all coordinates."""
    return _sign_cells(prior.tau * block_vectors(prior.d, prior.s), prior.sigma, n)


def _sign_cells(means: Array, sigma: float, n: int) -> FiniteProblem:
    values = np.array(list(product([-1.0, 1.0], repeat=means.shape[1])))
    chances = np.prod(special.ndtr(means[:, None, :] * values / sigma), axis=2)
    return counting_problem(n, np.full(len(means), 1 / len(means)), chances, means)


@finite.register
def slopes(prior: RegressionBlockPrior, n: int) -> FiniteProblem:
    """The signs w = sign(y) x of a record, and of those the first alone if n > 1 and d > 1.

    x is uniform on {-1, 1}^d/sqrt(s), so that w sqrt(s) has the law
    Phi(<w, beta>/(sigma sqrt s))/2^{d-1}, and the loss is |.|^2/s.
    """
    return _signed_rows(prior, n, lambda slope: special.ndtr(slope / prior.sigma))


@finite.register
def label_slopes(prior: LogisticBlockPrior, n: int) -> FiniteProblem:
    """As `slopes`, w = (2y - 1) x: a positive y has the chance expit(<x, beta>)."""
    return _signed_rows(prior, n, special.expit)


def _signed_rows(
    prior: RegressionBlockPrior | LogisticBlockPrior, n: int, positive: Callable[[Array], Array]
) -> FiniteProblem:
    beta = prior.height * block_vectors(prior.d, prior.s)
    values = np.array(list(product([-1.0, 1.0], repeat=prior.d)))
    chances = positive(beta @ values.T / math.sqrt(prior.s)) / 2 ** (prior.d - 1)
    if n > 1:
        first = values[:, 0] > 0
        chances = np.stack([chances[:, side].sum(axis=1) for side in (first, ~first)], axis=1)
    return counting_problem(
        n, np.full(len(beta), 1 / len(beta)), chances, beta / math.sqrt(prior.s)
    )


# --- Local privacy --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Reports:
    """What each of n users holds: `chances[i][j]` is the law of user i's value given target j.

    One report: the channel is the programme's mechanism with one record. More: each user reports
    through that channel, which is one protocol among many, and private as asked.
    """

    chances: list[Array]
    weights: Array
    targets: Array
    absolute: bool

    def alone(self, user: int) -> FiniteProblem:
        """Their problem without the others: any two values are neighbours."""
        joint = (self.weights[:, None] * self.chances[user]).T
        near = ~np.eye(len(joint), dtype=bool)
        return FiniteProblem(joint, self.targets, as_pairs(near), self.absolute)

    def least_risk(self, privacy: Privacy | None) -> float:
        """With one user the least, with more that of the protocol."""
        if len(self.chances) == 1:
            return least_risk(self.alone(0), privacy).risk
        best: dict[int, Array] = {}
        for user, table in enumerate(self.chances):
            if id(table) not in best:
                best[id(table)] = least_risk(self.alone(user), privacy).channel @ table.T
        laws = [best[id(table)] for table in self.chances]
        return risk_of_reports(laws, self.weights, self.targets, self.absolute)

    def constant_risk(self) -> float:
        """Without any report."""
        return self.alone(0).constant_risk()


def local_problem(prior: Prior, n: int) -> Reports:
    """Whole records are private, and all users' alike."""
    targets, weights = _targets(prior)
    assert isinstance(prior, TwoLabelPrior)
    return Reports([record_law(prior, targets)] * n, weights, targets, prior.summed)


@singledispatch
def record_law(prior: Prior, targets: Array) -> Array:
    """The law of what a record tells, given each target."""
    raise TypeError(f"{type(prior).__name__} has no finite form: register one with `record_law`")


@record_law.register
def _rare_labels(prior: RareLabelPrior, targets: Array) -> Array:
    """w = sign(y) x where the label is seen, and one value where it is not."""
    values = np.array(list(product([-1.0, 1.0], repeat=targets.shape[1])))
    told = np.maximum(targets @ values.T, 0) * 2 / (prior.height * len(values))
    return np.column_stack([told, 1 - told.sum(axis=1)])


@record_law.register
def _two_sided(prior: TwoLabelPrior, targets: Array) -> Array:
    """w = sign(y) x has the law (1 + <w, theta>/B)/2^p; the rest is noise that a user may draw."""
    values = np.array(list(product([-1.0, 1.0], repeat=targets.shape[1])))
    return np.asarray((1 + targets @ values.T / prior.height) / len(values))


def label_problem(prior: Prior, n: int) -> Reports:
    """Labels are private and rows are public: the sign vectors with first entry 1, in turn."""
    targets, weights = _targets(prior)
    assert isinstance(prior, TwoLabelPrior)
    rows = np.array(list(product([1.0], *[[1.0, -1.0]] * (targets.shape[1] - 1))))
    tables = [label_law(prior, prior.link(targets @ row)) for row in rows]
    return Reports([tables[i % len(rows)] for i in range(n)], weights, targets, prior.summed)


@singledispatch
def label_law(prior: Prior, means: Array) -> Array:
    """The law of a label, given each of its means."""
    raise TypeError(f"{type(prior).__name__} has no finite form: register one with `label_law`")


@label_law.register
def _two_labels(prior: TwoLabelPrior, means: Array) -> Array:
    tilt = (means - float(prior.link(np.zeros(1))[0])) / prior.height
    return np.stack([1 + tilt, 1 - tilt], axis=1) / 2


@label_law.register
def _uniform_labels(prior: UniformNoisePrior, means: Array) -> Array:
    """The cells between the ends of the intervals: the densities are constant on each."""
    ends = np.unique(np.concatenate([means - prior.height, means + prior.height]))
    below = np.clip((ends - means[:, None]) / (2 * prior.height) + 0.5, 0, 1)
    return np.diff(below, axis=1)


def _targets(prior: Prior) -> tuple[Array, Array]:
    assert isinstance(prior, TwoLabelPrior)
    vectors = prior.size / math.sqrt(prior.s) * block_vectors(prior.p, prior.s)
    weights = np.full(len(vectors), (1 - prior.null) / len(vectors))
    if prior.null:
        vectors = np.vstack([vectors, np.zeros(prior.p)])
        weights = np.append(weights, prior.null)
    return vectors, weights
