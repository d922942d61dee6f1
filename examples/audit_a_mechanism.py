"""An audit: a lower confidence bound on the epsilon of a mechanism, from its releases alone.

**Statement.** If a test tells two neighbouring data sets apart too well, the budget is broken.
**Reference.** tracebound: `attacks.audit_epsilon`.
**Output.**

    noise as needed: epsilon is at least 0.9, a budget of 1 is not contradicted
    noise a third of it: epsilon is at least 2.8, a budget of 1 is broken
"""

from attacks import audit_epsilon


def counting(true_count, noise):
    """A count with Laplace noise, as a function from a generator to one release."""
    return lambda rng: true_count + rng.laplace(scale=noise)


for said, noise in (("as needed", 1.0), ("a third of it", 1 / 3)):
    found = audit_epsilon(counting(10, noise), counting(11, noise), trials=10_000, seed=0)
    verdict = "broken" if found.epsilon > 1 else "not contradicted"
    print(f"noise {said}: epsilon is at least {found.epsilon:.1f}, a budget of 1 is {verdict}")
