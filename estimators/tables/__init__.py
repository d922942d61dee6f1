"""A table as it comes: public bounds and categories in, an estimate with an interval out.

The front doors of the package. `schema` says what is public about the columns, `records` reads any
source of rows in sums, `ranges` finds where the data lie; the rest is one file for each estimator.
"""
