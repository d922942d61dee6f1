"""Sparse linear regression."""
