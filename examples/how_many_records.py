"""How many records a target risk needs, and how many are proved to be enough.

**Statement.** A lower bound above the risk at n excludes every smaller n; an upper bound below it
names an estimator.
**Reference.** tracebound: `minimax.plan`.
**Output.**

    zCDP(rho=0.125): impossible below n = 2068, enough at 2281
    pure(epsilon=0.5): impossible below n = 2186, enough at 3435
"""

from minimax import Pure, ZeroConcentrated
from minimax.plan import plan
from minimax.problems.bounded_mean import BoundedMeanProblem

problem = BoundedMeanProblem(n=1, d=20)  # its n is what is looked for
for budget in (ZeroConcentrated(0.125), Pure(0.5)):
    found = plan(problem, budget, risk=0.01)
    print(f"{budget}: impossible below n = {found.impossible_below}, enough at {found.enough_at}")
