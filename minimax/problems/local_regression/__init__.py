"""Sparse regression from locally private records."""
