"""Another name for `minimax.methods.priors`."""

from minimax.methods.priors import CosinePrior as CosinePrior
