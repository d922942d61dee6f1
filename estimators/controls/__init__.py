"""Estimators without privacy: every check of a private lower bound must see them fall below it."""
