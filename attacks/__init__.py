"""The adversaries of the lower-bound proofs, run for real.

* `play` runs the member / outsider experiment for a prior, an estimator and an attack, and sets
  what was scored next to what the theory says: outsiders score zero on average (soundness), members
  score the attack's identity (completeness), and privacy caps the members' sum (`ceiling`).
* `SignAttack`, `ResidualAttack`, `SupportAttack` are the attacks on means.
* `RegressionAttack`, `RegressionResidualAttack`, `SupportRegressionAttack` are those on linear
  regression, `ScoreAttack` and `ScoreResidualAttack` those on logistic regression.
* `TableAttack` traces the records of a table of one's own (`TablePopulation`).
* `LabelAttack` asks for the label of a public row (`PublicDesignPrior`); `local_ceiling` is what
  local privacy allows it.
* `lemma_3_2_counterexample` measures an estimator, not a private one, that breaks the display (B.1)
  from which CWZ19 concludes Lemma 3.2(2); the lemma, which is about private estimators, falls with
  a private clipped mean (`attacks.sparse_mean`). `lemma_4_3_counterexample` refutes Lemma 4.3(2),
  with a private estimator if it is given a budget; `lemma_4_1_boundary` shows the term that the
  proof of Lemma 4.1 drops.
* `audit_epsilon` turns two neighbouring data sets into a lower confidence bound on epsilon.
"""

from attacks.audit import AuditResult, audit_epsilon
from attacks.estimate import Estimate
from attacks.game import Attack, GameResult, play
from attacks.local_regression import (
    LabelAttack,
    PublicDesignPrior,
    local_ceiling,
    reported_share,
)
from attacks.logistic import ScoreAttack, ScoreResidualAttack
from attacks.mean import ResidualAttack, SignAttack, lemma_2_1_threshold
from attacks.regression import (
    BoundaryTerm,
    RegressionAttack,
    RegressionResidualAttack,
    lemma_4_1_boundary,
)
from attacks.release import release_sampler
from attacks.sparse_mean import (
    Counterexample,
    SupportAttack,
    TopNormalPrior,
    lemma_3_2_counterexample,
)
from attacks.sparse_regression import (
    RegressionCounterexample,
    SupportRegressionAttack,
    TopRegressionPrior,
    VisibleColumnsRegression,
    lemma_4_3_counterexample,
)
from attacks.table import TableAttack, TablePopulation

__all__ = [
    "Attack",
    "AuditResult",
    "BoundaryTerm",
    "Counterexample",
    "Estimate",
    "GameResult",
    "LabelAttack",
    "PublicDesignPrior",
    "RegressionAttack",
    "RegressionCounterexample",
    "RegressionResidualAttack",
    "ResidualAttack",
    "ScoreAttack",
    "ScoreResidualAttack",
    "SignAttack",
    "SupportAttack",
    "SupportRegressionAttack",
    "TableAttack",
    "TablePopulation",
    "TopNormalPrior",
    "TopRegressionPrior",
    "VisibleColumnsRegression",
    "audit_epsilon",
    "lemma_2_1_threshold",
    "lemma_3_2_counterexample",
    "lemma_4_1_boundary",
    "lemma_4_3_counterexample",
    "local_ceiling",
    "play",
    "release_sampler",
    "reported_share",
]
