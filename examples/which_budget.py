"""Which budget reaches a risk with the records that there are, and which dimension a budget allows.

**Statement.** The minimax risk does not grow with the budget, so one excluded level excludes all
that are smaller.
**Reference.** tracebound: `minimax.plan_for`.
**Output.**

    impossible up to rho = 0.0041, enough at 0.0053
    enough up to d = 42, impossible at d = 47
"""

from minimax import ZeroConcentrated
from minimax.plan_for import plan_for
from minimax.problems.bounded_mean import BoundedMeanProblem

problem, budget = BoundedMeanProblem(n=5_000, d=20), ZeroConcentrated(0.1)
level = plan_for(problem, budget, 0.01, "rho")
print(f"impossible up to rho = {level.impossible_at:.2g}, enough at {level.enough_at:.2g}")
size = plan_for(problem, budget, 0.01, "d")
print(f"enough up to d = {size.enough_at:.0f}, impossible at d = {size.impossible_at:.0f}")
