"""Empirical risk minimisation under sparsity."""
