"""A private mean, what it spent, and what its release is worth.

**Statement.** Clip, average, add noise: the sensitivity is a fact of the code, and `privacy_` is
composed from the ledger.
**Reference.** This work; CWZ19: Algorithm 3.1.
**Output.**

    approximate(epsilon=1, delta=1e-06) in 4 mechanism calls
    largest error of a coordinate: 0.05
    90% of the 90 % intervals hold the mean
"""

import numpy as np

from estimators import NoisyMean
from minimax import Approximate

X = np.random.default_rng(0).normal(0.3, 1.0, size=(5000, 20))
fitted = NoisyMean(Approximate(1.0, 1e-6), sigma=1.0, radius=10.0, random_state=0).fit(X)
print(fitted.privacy_, "in", len(fitted.ledger_), "mechanism calls")
print(f"largest error of a coordinate: {np.abs(fitted.mean_ - 0.3).max():.2f}")
low, high = fitted.confidence_interval(0.9)
print(f"{np.mean((low <= 0.3) & (high >= 0.3)):.0%} of the 90 % intervals hold the mean")
