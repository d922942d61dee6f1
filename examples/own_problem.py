"""A problem of one's own in the calculator: `tracebound bounds --from own_problem:SignsProblem`.

**Statement.** The bound of own_theorem.py beside the toolkit's own, at d = 1.
**Reference.** own_theorem.py.
**Output.**

    tracing: sign data: 0.0246
    coupled signs: 0.0059
"""

from own_theorem import BOUND

from minimax import Pure
from minimax.calculator import rows
from minimax.problems.bounded_mean import BoundedMeanProblem


class SignsProblem(BoundedMeanProblem):
    name = "signs"
    about = "n signs of one mean, or of d"

    def lower(self, privacy):
        own = [BOUND] if privacy is Pure and self.d == 1 else []
        return [*super().lower(privacy), *own]


if __name__ == "__main__":
    for row in rows(SignsProblem(n=100, d=1), Pure(0.1)):
        if row.name in ("tracing: sign data", "coupled signs"):
            print(f"{row.name}: {row.total:.4f}")
