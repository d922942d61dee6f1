"""Controls for regression: what one would use if nobody's privacy mattered.

They release exact functions of the data, so no lower bound for private estimators covers them.
`privacy_` is None and `ledger_` is empty on purpose.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg, sparse

from estimators.core.base import Array, LinearPredictor, validated_pair
from estimators.core.checks import (
    SAFE_RANGE,
    check_between,
    check_penalty,
    check_sparsity,
    check_whole,
)
from estimators.core.losses import Loss, SquaredLoss, accepted_responses, chosen_loss, slopes
from estimators.core.summaries import Repeated

Indices = NDArray[np.intp]
WELL_CONDITIONED = 1e-8
"""Reciprocal condition number of a Gram matrix above which Cholesky is trusted: its relative error
is then about 1e-16/1e-8, and a step of refinement squares that."""
MINIMISING_STEPS = 100
"""Most Newton steps on one support. Squared loss needs two: one is exact, the next refines it."""
MOST_HALVINGS = 30
LEAST_BEND = 1e-3
"""Second derivatives below this share of the smoothness count as this much (Huber's tails)."""


class GramSolver:
    """Solves min |A x - b| and, for a fat A, min |x| with A x = b, by Cholesky of the Gram matrix.

    Rows or columns are scaled to unit length first, so that only their angles matter. Where the
    Gram matrix is not safely invertible, `numpy.linalg.lstsq` does the work.
    """

    def __init__(self, A: Array) -> None:
        self.A = A
        self.tall = A.shape[0] >= A.shape[1]
        gram = A.T @ A if self.tall else A @ A.T
        lengths = np.sqrt(np.diag(gram))
        self._factor: Array | None = None
        if lengths.min() > 0:
            self._inverse_lengths = 1 / lengths
            scaled = gram * self._inverse_lengths[:, None] * self._inverse_lengths
            factor, failed = linalg.lapack.dpotrf(scaled)
            if failed == 0:
                reciprocal, _ = linalg.lapack.dpocon(factor, np.abs(scaled).sum(axis=0).max())
                self._factor = factor if reciprocal > WELL_CONDITIONED else None

    def _solve_gram(self, b: Array) -> Array:
        x, _ = linalg.lapack.dpotrs(self._factor, b * self._inverse_lengths)
        return np.asarray(x * self._inverse_lengths)

    def solve(self, b: Array, refine: bool = True) -> Array:
        """The least-squares solution of least norm."""
        if self._factor is None:
            return np.asarray(np.linalg.lstsq(self.A, b, rcond=None)[0])
        x = self._once(b)
        return x + self._once(b - self.A @ x) if refine else x

    def _once(self, b: Array) -> Array:
        return self._solve_gram(self.A.T @ b) if self.tall else self.A.T @ self._solve_gram(b)


class LeastSquares(LinearPredictor):
    """Ordinary least squares without intercept, of least norm. A control: **not private**.

    **Algorithm.** coef_ = argmin |X b - y|, the shortest such b if there are several: by Cholesky
    of X'X (or XX' if n < d) with one step of refinement where that is well conditioned, by singular
    values otherwise.

    **Privacy.** None: replacing one record can move the release arbitrarily far.

    **Risk.** E |coef_ - beta|^2 = sigma^2 tr (X'X)^{-1} given X with n >= d; for standard normal
    rows sigma^2 d/(n - d - 1).

    **Source.** The non-private counterpart of CWZ19: Algorithm 4.1 (§5.3).

    **Departures from the paper.** None.

    Attributes
    ----------
    coef_, n_features_in_, privacy_ (None), ledger_ (empty)
    """

    def fit(self, X: Any, y: ArrayLike) -> LeastSquares:
        """Fit y by the columns of X."""
        X, y = validated_pair(self, X, y)
        self.coef_ = GramSolver(X).solve(y)
        self.privacy_ = None
        self.ledger_: tuple[()] = ()
        return self


class IterativeHardThresholding(LinearPredictor):
    """Sparse regression by hard thresholding. A control: **not private**.

    **Algorithm.** Minimise L(theta) = (1/n) sum_i loss(<x_i, theta>, y_i) + l2 |theta|^2/2 over at
    most s non-zeros, from theta = 0. ``method="pursuit"``: join the support with the s coordinates
    of largest gradient, minimise over these 2s, keep the s largest, minimise over those; stop when
    L no longer falls. ``method="gradient"``: theta <- H_s(theta - eta grad L(theta)), with eta the
    best step along the gradient on the support. Where it would change the support it is shortened
    until eta <= 0.99 |move|^2/(smoothness |X move|^2/n + l2 |move|^2), so that L falls at every
    step. Then, with `refit`, minimise over the support. Minimising over a support is by Newton's
    method, which for squared loss is exact after one step.

    **Privacy.** None: the support is an exact function of the data.

    **Risk.** Up to constants sigma^2 s log(d)/n under restricted strong convexity, as for WG19:
    Theorem 5.4 without its second term.

    **Source.** The non-private counterpart of WG19: Algorithm 1 (IGHT) and CWZ19: Algorithm 4.2;
    with `l2` the reference of WX21 §VIII-B.
    Pursuit: Dai and Milenkovic (2009), "Subspace pursuit for compressive sensing signal
    reconstruction". Step: Blumensath and Davies (2010), "Normalized iterative hard thresholding".

    **Departures from the paper.** The papers leave the step to the user. The smoothness of the
    loss takes the place of the constant 1 of squared loss in the step rule.

    Parameters
    ----------
    s : int
        Largest number of non-zero coefficients.
    loss : {"squared", "logistic"} or an object like `estimators.core.losses.Loss`
        "logistic" clips y to [0, 1] and makes `predict` return log-odds.
    method : {"pursuit", "gradient"}
    refit : bool
        Whether "gradient" ends by minimising over the support found.
    steps : int
        Largest number of steps.
    tol : float
        A relative fall of L ("pursuit") or move of theta ("gradient") below this ends the search.
    l2 : float
        The penalty l2 |theta|^2/2.

    Attributes
    ----------
    coef_, support_ (sorted), n_iter_, n_features_in_, privacy_ (None), ledger_ (empty)
    """

    _sparse_rows = True

    def __init__(
        self,
        s: int = 1,
        loss: str | Loss = "squared",
        method: Literal["pursuit", "gradient"] = "pursuit",
        refit: bool = True,
        steps: int = 200,
        tol: float = 1e-8,
        l2: float = 0.0,
    ) -> None:
        self.s, self.loss, self.method = s, loss, method
        self.refit, self.steps, self.tol, self.l2 = refit, steps, tol, l2

    def fit(self, X: Any, y: ArrayLike) -> IterativeHardThresholding:
        """Fit y by at most s columns of X."""
        counts = None
        if isinstance(X, Repeated):
            X, counts = X.X, X.counts
        X, y = validated_pair(self, X, y, sparse_rows=True)
        check_sparsity(self.s, X.shape[1])
        check_whole(steps=self.steps)
        check_between(0, 1, tol=self.tol)
        check_penalty(SAFE_RANGE[1], l2=self.l2)
        if self.method not in ("pursuit", "gradient"):
            raise ValueError(f"method must be 'pursuit' or 'gradient', got {self.method!r}")
        if not isinstance(self.refit, (bool, np.bool_)):
            raise TypeError(f"refit must be True or False, got {self.refit!r}")
        loss = chosen_loss(self.loss)
        risk = Risk(X, accepted_responses(loss, y), loss, counts, float(self.l2))
        search = self._pursue if self.method == "pursuit" else self._descend
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            coef, self.n_iter_ = search(risk)
        if not np.isfinite(coef).all():
            raise ValueError("X or y holds numbers so large that the fit overflows")
        self.coef_, self.support_ = coef, np.flatnonzero(coef)
        self.privacy_ = None
        self.ledger_: tuple[()] = ()
        return self

    def _pursue(self, risk: Risk) -> tuple[Array, int]:
        s, d = int(self.s), risk.d
        best, lowest = np.zeros(d), risk.value(np.zeros(d))
        before = np.empty(0, dtype=np.intp)
        for k in range(1, int(self.steps) + 1):
            support = np.flatnonzero(best)
            gradient = np.abs(risk.gradient(best))
            gradient[support] = -1.0
            joined = np.union1d(support, _largest(gradient, min(s, d - len(support))))
            if np.array_equal(joined, before):  # whose minimiser led to `best`
                return best, k
            wide, before = risk.minimised(best, joined), joined
            kept = joined[_largest(np.abs(wide[joined]), min(s, len(joined)))]
            coef = wide if len(kept) == len(joined) else risk.minimised(wide, kept)
            value = risk.value(coef)
            if not value < lowest * (1 - float(self.tol)):
                return best if not value < lowest else coef, k
            best, lowest = coef, value
        return best, k

    def _descend(self, risk: Risk) -> tuple[Array, int]:
        coef, s, made = np.zeros(risk.d), int(self.s), 0
        while made < int(self.steps):
            made += 1
            gradient = risk.gradient(coef)
            support = np.flatnonzero(coef)
            support = support if len(support) else _largest(np.abs(gradient), s)
            along = np.zeros(risk.d)
            along[support] = gradient[support]
            eta = risk.step_along(along)
            if not eta > 0:
                break
            while True:
                target = coef - eta * gradient
                kept = _largest(np.abs(target), s)
                move = -coef
                move[kept] += target[kept]
                # On an unchanged support the best step is safe: `safe` would be 0.99 of it.
                safe = 0.99 * risk.step_along(move)
                if np.array_equal(kept, support) or not eta > safe:
                    break
                eta = min(safe, eta / 2)
            coef = coef + move
            if np.abs(move).max() <= float(self.tol) * np.abs(coef).max():
                break
        if self.refit and np.any(coef):
            coef = risk.minimised(coef, np.flatnonzero(coef))
        return coef, made


class Risk:
    """The average loss over records + l2 |coef|^2/2, and what can be done with it on few
    coordinates.

    With `counts`, a row with its label stands for so many records.
    """

    def __init__(
        self, X: Any, y: Array, loss: Loss, counts: Array | None = None, l2: float = 0.0
    ) -> None:
        self.X, self.y, self.loss, self.l2 = X, y, loss, l2
        self.n, self.d = X.shape
        self.shares = 1 / self.n if counts is None else counts / counts.sum()
        """Of the rows among the records."""

    def columns(self, support: Indices) -> Array:
        """The columns of X on a support, dense."""
        part = self.X[:, support]
        return part.toarray() if sparse.issparse(part) else part

    def predict(self, coef: Array) -> Array:
        """<x_i, coef>; only the support of `coef` is touched."""
        support = np.flatnonzero(coef)
        if sparse.issparse(self.X):
            return np.asarray(self.X @ coef)
        return np.asarray(self.X[:, support] @ coef[support])

    def value(self, coef: Array) -> float:
        """The average loss and the penalty."""
        return self._value(self.predict(coef), coef)

    def _value(self, prediction: Array, coef: Array) -> float:
        average = float(np.sum(self.shares * self.loss.value(prediction, self.y)))
        return average + self.l2 / 2 * float(coef @ coef)

    def gradient(self, coef: Array) -> Array:
        """The gradient of `value`: one pass over X."""
        slope = slopes(self.loss, self.predict(coef), self.y)
        return np.asarray(self.X.T @ (self.shares * slope)) + self.l2 * coef

    def step_along(self, direction: Array) -> float:
        """|v|^2/(smoothness |X v|^2/n + l2 |v|^2): the step that is best, or safe, along v."""
        square = float(np.sum(direction**2))
        bend = self.loss.smoothness * float(np.sum(self.shares * self.predict(direction) ** 2))
        bend += self.l2 * square
        return square / bend if bend > 0 else 0.0

    def minimised(self, coef: Array, support: Indices) -> Array:
        """`value` minimised over vectors on the support, starting from `coef` there.

        Newton's method with the step halved until the value falls.
        """
        A, inside = self.columns(support), coef[support]
        prediction = A @ inside
        value = self._value(prediction, inside)
        for _ in range(MINIMISING_STEPS):
            slope, bend = slopes(self.loss, prediction, self.y), self._bend(prediction)
            move = self._newton_move(A, inside, slope, bend)
            effect = A @ move
            promised = float(np.sum(self.shares * slope * effect) + self.l2 * (inside @ move))
            if promised <= 1e-13 * value:  # too little to be seen in the value
                inside = inside - move
                break
            for halving in range(MOST_HALVINGS):
                shorter = 0.5**halving
                lower = self._value(prediction - effect * shorter, inside - move * shorter)
                if lower < value:
                    break
            else:
                break
            inside, value = inside - move * shorter, lower
            prediction = A @ inside
        out = np.zeros(self.d)
        out[support] = inside
        return out

    def _newton_move(self, A: Array, inside: Array, slope: Array, bend: Array) -> Array:
        """(A'WA + l2 I)^{-1} (A'g + l2 inside), W = shares bend and g = shares slope: least squares
        with rows sqrt(l2) I appended."""
        root = np.sqrt(bend * self.shares)
        target = root * slope / bend
        if self.l2 > 0:
            ridge = math.sqrt(self.l2)
            rows = np.concatenate([A * root[:, None], ridge * np.eye(len(inside))])
            return GramSolver(rows).solve(np.concatenate([target, ridge * inside]), refine=False)
        if np.all(root == root[0]):  # squared loss: spare the weighted copy
            return GramSolver(A).solve(target, refine=False) / root[0]
        return GramSolver(A * root[:, None]).solve(target, refine=False)

    def _bend(self, prediction: Array) -> Array:
        """The second derivative of each record's loss, from its slopes and away from zero."""
        if isinstance(self.loss, SquaredLoss):
            return np.ones(self.n)
        gap = 1e-4 * (1 + np.abs(prediction))
        rise = slopes(self.loss, prediction + gap, self.y) - slopes(
            self.loss, prediction - gap, self.y
        )
        smoothness = float(self.loss.smoothness)
        return np.clip(rise / (2 * gap), LEAST_BEND * smoothness, smoothness)


def _largest(v: Array, s: int) -> Indices:
    """The indices of the s largest entries."""
    if not 0 < s < len(v):
        return np.arange(s)
    return np.sort(np.argpartition(v, len(v) - s)[len(v) - s :])
