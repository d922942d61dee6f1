"""Checks that measured error stays above the lower and below the upper bounds."""

import warnings

# CWZ19's experiments have delta = 10/n^1.1, more than 1/n up to n = 10^10; their records are drawn.
warnings.filterwarnings("ignore", message=r"delta = .* is at least 1/n")
# Cells where noise dominates, and controls with more of it, are what the checks are made of.
warnings.filterwarnings("ignore", message=r"n = \d+ is too small ")
