"""Empirical risk minimisation under sparsity: theorems about fixed data, so no `Problem`."""
