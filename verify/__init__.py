"""Checks that measured error stays above the lower and below the upper bounds."""
