"""The Lasso by scikit-learn's coordinate descent, without its checks and on few columns.

scikit-learn's estimator spends more on looking at its arguments than on a block of a few hundred
rows, and turns all of a CSR matrix round though most columns stay out of the solution.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from estimators.core.base import Array
from estimators.core.design import by_columns

MOST_ROUNDS = 10
"""After so many extensions of the columns tried all of them are."""


def lasso(X: Any, y: Array, penalty: float, *, most_sweeps: int, tol: float) -> Array:
    """argmin |y - Xb|^2/(2n) + penalty |b|_1, up to a duality gap of tol |y|^2/n."""
    import sklearn  # slow to import, and needed for nothing else
    from sklearn.linear_model import lasso_path

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        _, coefs, _ = lasso_path(
            by_columns(X),
            y,
            alphas=[penalty],
            precompute=False,
            max_iter=most_sweeps,
            tol=tol,
            check_input=False,
        )
    return np.asarray(coefs[:, 0], dtype=float)


def screened_lasso(X: Any, y: Array, penalty: float, *, most_sweeps: int, tol: float) -> Array:
    r"""The same, on the columns that matter.

    **Statement.** b solves the Lasso exactly if it does on the columns W, b_j = 0 for other j, and
    |x_j'(y - Xb)|/n <= penalty for them.

    **Proof.** These are the conditions of Karush, Kuhn and Tucker, which suffice as the problem is
    convex; on W they are those of the Lasso on W.

    W starts as the columns with |x_j'y|/n > penalty and takes in those that do not fulfil it, until
    all do: a round is about four passes over the data.
    """
    n, d = X.shape
    coef, tried = np.zeros(d), np.zeros(d, dtype=bool)
    for _ in range(MOST_ROUNDS):
        residual = y - X @ coef
        missing = ~tried & (np.abs(np.asarray(X.T @ residual)) > n * penalty)
        if not missing.any():
            return coef
        tried |= missing
        columns = np.flatnonzero(tried)
        coef = np.zeros(d)
        coef[columns] = lasso(X[:, columns], y, penalty, most_sweeps=most_sweeps, tol=tol)
    return lasso(X, y, penalty, most_sweeps=most_sweeps, tol=tol)
