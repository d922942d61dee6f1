"""Can a release be traced to its records? ``python -m verify.attacks``.

The flow: `settings` are an attack with its prior, `matches` set estimators against them at several
budgets, each match is played (`attacks.play`) and judged (`judge`) against what is proved. `tails`
are the two probabilities of Lemma 2.1, and `controls` what all of it is tried on.
"""
