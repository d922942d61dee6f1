"""A tracing attack tells members of a data set from outsiders, until the release is private.

**Statement.** Members' scores sum to what the proof of the lower bound says; privacy caps that sum.
**Reference.** CWZ19: Section 2, with `attacks.ResidualAttack`.
**Output.**

    sample mean: members are told from outsiders with AUC 1.0
    private mean: members are told from outsiders with AUC 0.5
"""

from attacks import ResidualAttack, play
from estimators import NoisyMean, SampleMean
from minimax import ZeroConcentrated
from minimax.priors import CosinePrior

prior = CosinePrior(d=60, radius=1.0, sigma=1.0)
private = NoisyMean(ZeroConcentrated(0.01), sigma=1.0, radius=1.0)
for name, estimator in (("sample mean", SampleMean()), ("private mean", private)):
    game = play(prior, 100, estimator, ResidualAttack(prior), trials=40, seed=0)
    print(f"{name}: members are told from outsiders with AUC {game.auc.value:.1f}")
