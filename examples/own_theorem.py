"""A new bound and a new estimator, checked: `tracebound rates --claims own_theorem:CLAIM`.

**Statement.** n signs of mean theta, eps-DP, t = tanh(eps/2), n t >= 2/3: risk >= 4/(27 n^2 t^2).
**Proof.** theta = a or -a, with equal chance. Drawn together, signs of both laws differ with chance
a each, and move the release's law by at most t in total variation, n a t in all: the mean posterior
variance is at least a^2 (1 - n a t), which is largest at a = 2/(3 n t).
**Reference.** An example of this work's own.
**Estimator.** Laplace noise has risk 8/(n eps)^2 + 1/n: at most 10/(n eps)^2 where n eps^2 <= 2.
"""

from types import SimpleNamespace

import numpy as np
from sklearn.base import BaseEstimator

from minimax import Assumption, LowerBound, Problem, Pure, Terms
from minimax.core.symbolic import library
from minimax.methods.priors import SignInstance
from verify.rates import Claim, Sweep, check


class LaplaceMean(BaseEstimator):
    def __init__(self, epsilon=1.0, random_state=None):
        self.epsilon, self.random_state = epsilon, random_state

    def fit(self, X):
        rng, scale = np.random.default_rng(self.random_state), 2 / (len(X) * self.epsilon)
        self.mean_ = np.clip(X, -1, 1).mean(axis=0) + rng.laplace(scale=scale, size=1)
        return self


def nt(p):
    return p["n"] * library(p["epsilon"]).tanh(p["epsilon"] / 2)


BOUND = LowerBound(
    name="coupled signs",
    source="tracebound: an example",
    parameters=("n", "epsilon"),
    formula=lambda p, _: Terms(None, 4 / (27 * nt(p) ** 2)),
    assumptions=(Assumption("n tanh(epsilon/2) >= 2/3", lambda p: nt(p) >= 2 / 3),),
    prior_at=lambda p, _: SimpleNamespace(
        draw=lambda rng: SignInstance(rng.choice([-1, 1], size=1) * 2 / (3 * nt(p)), sigma=1.0)
    ),
)
BASE, FAR = {"n": 100, "epsilon": 0.04}, {"n": 1e5, "epsilon": 1e-4}
CLAIM = Claim(
    name="signs/coupling/pure",
    problem=type("Signs", (Problem,), {"name": "signs"}),
    model=Pure,
    lower=BOUND,
    estimator="LaplaceMean",
    estimator_at=lambda p: LaplaceMean(p["epsilon"]),
    non_private=lambda p: LaplaceMean(np.inf),
    upper=lambda p: 10 / (p["n"] * p["epsilon"]) ** 2,
    sweeps=(Sweep("privacy", BASE, FAR, ("n", "epsilon"), weight=16),),
)

if __name__ == "__main__":
    print(check(CLAIM, plots="out"))
