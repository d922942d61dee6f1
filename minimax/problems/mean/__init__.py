"""The mean of sub-Gaussian records."""
