"""Interaction saves the logarithm in the local model.

**Statement.** With interaction the risk p/(n eps^2) can be reached, without log p: WX21's Remark 1
conjectures that it cannot.
**Reference.** WX21: Theorem 2 and Remark 1; `SequentialHalving`.
**Output.**

    p = 16: 926 p/n without interaction, 225 p/n with it
    p = 256: 2013 p/n without interaction, 185 p/n with it
    p = 4096: 3243 p/n without interaction, 193 p/n with it
"""

from minimax import Pure
from minimax.problems.local_regression.problem import LocalRegressionProblem

budget = Pure(0.5, scope="local")
for p in (16, 256, 4096):
    n = 10**9
    proven = {
        form: LocalRegressionProblem(n=n, p=p, interactive=form).best_upper(budget).risk * n / p
        for form in (False, True)
    }
    print(f"p = {p}: {proven[False]:.0f} p/n without interaction, {proven[True]:.0f} p/n with it")
