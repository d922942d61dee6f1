"""The adversaries of the lower-bound proofs, run for real.

* `play` runs the member / outsider experiment for a prior, an estimator and an attack, and sets
  what was scored next to what the theory says: outsiders score zero on average (soundness), members
  score the attack's identity (completeness), and privacy caps the members' sum (`ceiling`).
* `SignAttack`, `ResidualAttack`, `SupportAttack` are the attacks on means.
* `lemma_3_2_counterexample` refutes CWZ19: Lemma 3.2(2).
* `audit_epsilon` turns two neighbouring data sets into a lower confidence bound on epsilon.
"""

from attacks.audit import AuditResult, audit_epsilon, release_sampler
from attacks.game import Attack, Estimate, GameResult, play
from attacks.mean import ResidualAttack, SignAttack, lemma_2_1_threshold
from attacks.sparse_mean import (
    Counterexample,
    SupportAttack,
    TopNormalPrior,
    lemma_3_2_counterexample,
)

__all__ = [
    "Attack",
    "AuditResult",
    "Counterexample",
    "Estimate",
    "GameResult",
    "ResidualAttack",
    "SignAttack",
    "SupportAttack",
    "TopNormalPrior",
    "audit_epsilon",
    "lemma_2_1_threshold",
    "lemma_3_2_counterexample",
    "play",
    "release_sampler",
]
