"""Private linear regression that pays for the noise, not for the largest response.

**Statement.** Residuals are clipped in phases that shrink to the noise; a gradient method pays for
the whole range of the responses.
**Reference.** This work (`ResidualClippedRegression`); CWZ19: Algorithm 4.1.
**Output.**

    zCDP(rho=0.0001)
    the loss of the gradient method is more than 100 times as large
"""

import numpy as np

from estimators import NoisyGradientRegression, ResidualClippedRegression
from minimax import ZeroConcentrated

rng = np.random.default_rng(0)
X = rng.choice([-0.5, 0.5], size=(50_000, 4))  # rows of norm 1
beta = np.array([0.6, 0.0, 0.0, -0.6])
y = X @ beta + 0.05 * rng.standard_normal(50_000)
budget, known = ZeroConcentrated(1e-4), {"sigma": 0.05, "row_bound": 1.0, "radius": 1.0}
clipped = ResidualClippedRegression(budget, second_moment="isotropic", random_state=0, **known)
steps = NoisyGradientRegression(budget, random_state=0, **known)
losses = [np.mean((X @ (model.fit(X, y).coef_ - beta)) ** 2) for model in (clipped, steps)]
print(clipped.privacy_)
more = "more" if losses[1] > 100 * losses[0] else "less"
print(f"the loss of the gradient method is {more} than 100 times as large")
