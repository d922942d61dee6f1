"""Sparse regression from locally private labels."""
