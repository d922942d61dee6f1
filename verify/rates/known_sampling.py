r"""How much longer the sampling error of a trial's records is than it is on average.

Where statistics dominate, most of what makes a loss large or small is the error that records have
before any noise is added, and its mean square is known. Like the lengths of noise (`known_noise`)
it is told as a *surplus*, which has mean 0.

**Statement.** With S the places where the target is not 0, each of these has mean 0:

* records N(target, sigma^2 I): n |mean - target|_S^2/(sigma^2 |S|) - 1;
* rows x in {-a, a}^d, labels <x, target> + N(0, sigma^2):
  |X'(y - X target)|_S^2/(n a^2 sigma^2 |S|) - 1;
* rows x in {-a, a}^d, labels 1 with chance p(x), else 0:
  |X'(y - p)|_S^2/(a^2 |S| sum_i p_i (1 - p_i)) - 1.

**Proof.** Given X, the coordinates of X'(y - E y) are sums of independent terms with mean 0 and
variances a^2 Var y_i. (Records that stand for many enter with their number.)
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.core.design import Design
from minimax.core.bound import Instance
from minimax.methods.priors import GaussianInstance, LinearInstance, LogisticInstance

Array = NDArray[np.float64]


def sampling_surplus(instance: Instance, arguments: tuple[Any, ...]) -> float:
    """That of the arguments of `fit`; 0 where it is not known."""
    law: Any = instance
    support = np.flatnonzero(instance.target)
    if not len(support):
        return 0.0
    if type(law) is GaussianInstance and isinstance(arguments[0], np.ndarray):
        return _of_means(law, arguments[0], support)
    if type(law) is LinearInstance:
        design = _design(arguments[0])
        noise = arguments[1] - design.predict(law.target)
        return _of_labels(law, design, noise, design.n * law.sigma**2, support)
    if type(law) is LogisticInstance:
        design = _design(arguments[0])
        chance = law.chance(design.X)
        variance = getattr(design, "counts", 1.0) * chance * (1 - chance)
        return _of_labels(law, design, arguments[1] - chance, float(np.sum(variance)), support)
    return 0.0


def _of_means(law: GaussianInstance, X: Array, support: NDArray[np.intp]) -> float:
    error = (X.mean(axis=0) - law.target)[support]
    return len(X) * float(error @ error) / (law.sigma**2 * len(support)) - 1


def _of_labels(
    law: LinearInstance | LogisticInstance,
    design: Design,
    noise: Array,
    variance: float,
    support: NDArray[np.intp],
) -> float:
    """From the noise of the labels, and the sum of its variances."""
    error = design.correlate(noise)[support]
    return float(error @ error) / (variance * law.scale**2 * len(support)) - 1


def _design(X: Any) -> Design:
    return X if isinstance(X, Design) else Design(X, within=0.0)
