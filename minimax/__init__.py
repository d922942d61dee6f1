"""Certified minimax lower bounds under differential privacy.

Conventions, stated once for the whole toolkit
----------------------------------------------
* Logarithms are natural; information is in nats.
* Total variation is half the l1 distance.
* The loss is the squared l2 distance unless a bound says otherwise; a risk is its expectation.
* Two data sets are neighbours when one is got from the other by **replacing one record**.
* sub-Gaussian(sigma) means E exp(t (x - E x)) <= exp(t^2 sigma^2 / 2) for every t, coordinate by
  coordinate. (CWZ19 prints exp(t^2 sigma^2), which would admit variance 2 sigma^2; the class here
  is the smaller one, so a lower bound for it is also a lower bound for theirs.)
* A lower bound is proved for the Bayes risk under a stated prior, which is at most the minimax
  risk. That prior travels with the bound, and measurements are taken under it.
"""

from minimax.core.bound import (
    Assumption,
    Bound,
    LowerBound,
    OutsideRegime,
    Parts,
    Terms,
    UpperBound,
)
from minimax.core.loss import Loss
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.core.problem import Problem

__all__ = [
    "Approximate",
    "Assumption",
    "Bound",
    "Gaussian",
    "Loss",
    "LowerBound",
    "OffsetConcentrated",
    "OutsideRegime",
    "Parts",
    "Privacy",
    "Problem",
    "Pure",
    "Renyi",
    "Terms",
    "UpperBound",
    "ZeroConcentrated",
]
