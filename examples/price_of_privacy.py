"""The cost of privacy, with its constant: both sides meet.

**Statement.** Under rho-zCDP the risk of a mean of n signs in R^d, or of Gaussian vectors, is for
large d and to leading order d/n + 2 d^2/(rho n^2): no estimator has less, `NoisyMean` has it.
**Reference.** docs/exact_constants.md.
**Output.**

    d = 100: lower 0.78, upper 1.00 times leading order
    d = 10000: lower 0.93, upper 1.00 times leading order
    d = 1000000: lower 0.96, upper 1.00 times leading order
"""

from minimax import ZeroConcentrated
from minimax.problems.bounded_mean import BoundedMeanProblem

for n, d in ((10**4, 10**2), (10**6, 10**4), (10**8, 10**6)):
    problem, budget = BoundedMeanProblem(n, d), ZeroConcentrated(0.001)
    leading = d / problem.n + 2 * d**2 / (budget.rho * problem.n**2)
    lower, upper = problem.best_lower(budget).risk, problem.best_upper(budget).risk
    print(f"d = {d}: lower {lower / leading:.2f}, upper {upper / leading:.2f} times leading order")
