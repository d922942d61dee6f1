"""Differentially private estimators paired with certified minimax lower bounds.

What can be imported are the packages `minimax`, `estimators`, `attacks` and `verify`; this one
holds the version and the command ``tracebound``.
"""

__version__ = "0.13.0"
