"""What every bound is made of: the bound itself, privacy, and formulas for any kind of number."""
