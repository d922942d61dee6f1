"""The companion: a site with a page for every statement, bound, estimator, attack and problem."""
