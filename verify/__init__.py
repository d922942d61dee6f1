"""Checks that measured error stays above the lower and below the upper bounds.

The flow, left to right: claims -> grid -> measure -> judge -> report.
"""
