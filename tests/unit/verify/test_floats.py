"""Which doubles a release can be: numpy's samplers, and what hardened noise leaves of it."""

from __future__ import annotations

import numpy as np
import pytest

from estimators.core import mechanisms, noise
from estimators.core.base import PrivateEstimator
from minimax import Pure
from verify.privacy import audit
from verify.privacy.floats import EDGE, Seen, given_away, reaches, ziggurat_widths

ROWS = np.random.default_rng(0).uniform(-1, 1, (12, 3))
SCALES = np.geomspace(0.01, 100, 40)


def drawn(mechanism, value, scale, rng):
    made = rng.laplace(scale=scale) if mechanism == "laplace" else scale * rng.standard_normal()
    return value + made


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("value", [0.0, 0.3, -7.0])
def test_a_release_can_always_come_from_its_own_value(mechanism, value):
    rng = np.random.default_rng(1)
    for scale in np.geomspace(1e-3, 1e3, 120):
        assert reaches(mechanism, drawn(mechanism, value, scale, rng), value, scale)


def given(mechanism, release, value, other, scale):
    return Seen(mechanism, float(release), value, float(other), float(scale))


def test_four_of_five_laplace_releases_are_given_away():
    """A count of 0 against one of 1, in units of the sensitivity; 1,600 releases at epsilon = 1."""
    rng = np.random.default_rng(2)
    seen = [
        [given("laplace", rng.laplace(scale=scale), 0.0, scale, scale)]
        for scale in SCALES
        for _ in range(40)
    ]
    assert given_away(seen) >= 0.8 * len(seen)


def test_the_ziggurat_hides_most_of_the_gaussian():
    rng = np.random.default_rng(3)
    seen = [
        [given("gaussian", scale * rng.standard_normal(), 0.0, scale, scale)]
        for scale in SCALES
        for _ in range(60)
    ]
    assert 0 < given_away(seen) < 0.2 * len(seen)


def test_hardened_noise_gives_nothing_away():
    source = noise.Hardened()
    for kind in ("laplace", "gaussian"):
        for scale in (0.3, 1.0, 10.0):
            released = source.add(kind, np.zeros(100), scale)
            seen = [[given(kind, r, 0.0, scale, scale)] for r in released]
            assert given_away(seen, hardened=True) == 0


def test_the_widths_are_those_of_the_ziggurat():
    """Layers grow, the last ends at the edge, and draws below it are multiples of some width."""
    widths = ziggurat_widths() * 2.0**52
    assert np.all(np.diff(widths[1:]) > 0)
    assert widths[-1] == pytest.approx(EDGE)


def column(found):
    (check,) = [check for check in found.checks if check.name == "floating point"]
    return check


class LaplaceMean(PrivateEstimator):
    """Means of columns clipped to [0, 1], with Laplace noise."""

    releases = ("mean_",)

    def __init__(self, privacy=None, random_state=None):
        self.privacy, self.random_state = privacy, random_state

    def fit(self, X, y=None):
        X = self._validated(X)
        n, d = X.shape
        self.mean_, entry = mechanisms.laplace(
            np.clip(X, 0, 1).mean(axis=0),
            l1_sensitivity=d / n,
            epsilon=self._budget(Pure).epsilon,
            rng=self._rng(),
        )
        self._account([entry])
        return self


def test_the_auditor_has_a_column_of_its_own():
    ordinary = audit(LaplaceMean(Pure(1.0)), Pure(1.0), data=ROWS, releases=300)
    assert column(ordinary).passed is None
    assert not ordinary.refuted
    told = column(ordinary).told.split()
    assert int(told[0]) >= 0.5 * int(told[2]) > 0


def test_hardened_noise_is_audited_and_numpys_under_its_name_is_refuted(monkeypatch):
    made = LaplaceMean(Pure(1.0), noise="hardened")
    found = audit(made, Pure(1.0), data=ROWS, releases=300)
    assert column(found).passed is True
    assert not found.refuted

    def numpys(self, kind, value, scale):
        return value + np.random.default_rng().laplace(scale=scale, size=np.shape(value))

    monkeypatch.setattr(noise.Hardened, "add", numpys)
    caught = audit(made, Pure(1.0), data=ROWS, releases=300)
    assert column(caught).passed is False
    assert caught.refuted
