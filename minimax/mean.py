"""Another name for the lower bounds of `minimax.problems.mean`."""

from minimax.problems.mean.lower import antipodal_gaussian as antipodal_gaussian
from minimax.problems.mean.lower import claimed_theorem_3_1 as claimed_theorem_3_1
from minimax.problems.mean.lower import dense_packing as dense_packing
from minimax.problems.mean.lower import lower_bounds as lower_bounds
from minimax.problems.mean.lower import statistical_gaussian as statistical_gaussian
from minimax.problems.mean.lower import tracing_gaussian as tracing_gaussian
