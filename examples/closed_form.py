"""A theorem as an object: its value, its closed form, its exponents, and where it is proved.

**Statement.** R >= d^2/(J + 1/Q), statistics and privacy in one information (van Trees).
**Reference.** CWZ19: Theorem 3.1, with constants; docs/exact_constants.md.
**Output.**

    tracing: Gaussian data, antipodal pairs
    statistics 0.20 + privacy 1.13 = 1.33
    exponents: {'n': -2.0, 'd': 2.0, 'rho': -1.0}
    n must be at least 1, got 0.5
"""

from minimax import OutsideRegime, ZeroConcentrated
from minimax.mean import antipodal_gaussian

bound = antipodal_gaussian(ZeroConcentrated)
point = {"n": 1000, "d": 200, "sigma": 1.0, "radius": 1.0, "rho": 0.05}
print(bound.name)
parts = bound.parts(**point)
print(f"statistics {parts.statistical:.2f} + privacy {parts.privacy:.2f} = {parts.total:.2f}")
deep = {**point, "d": 1e7, "n": 1e8, "rho": 2e-5}
print("exponents:", {name: round(bound.slope(name, **deep), 1) for name in ("n", "d", "rho")})
try:
    bound.value(**{**point, "n": 0.5})
except (OutsideRegime, ValueError) as refused:
    print(refused)
