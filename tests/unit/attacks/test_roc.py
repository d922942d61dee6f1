"""The ROC curve: rates by hand, the privacy limit against closed forms, what is drawn."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from scipy import special, stats

from attacks import LabelAttack, PublicDesignPrior, RegressionAttack, ResidualAttack, play
from attacks.roc import CURVE_POINTS, RocCurve, accepted, allowed_rate, area, averaged, levels
from estimators import LabelHardThresholding, SampleMean
from estimators.mean import NoisyMean
from minimax import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.core.privacy import OffsetConcentrated, Renyi
from minimax.methods.priors import CosinePrior, RegressionPrior

pytestmark = pytest.mark.oldest

COSINE = CosinePrior(d=5, radius=1.5, sigma=0.7)


def game(privacy=None, n=7):
    estimator = SampleMean() if privacy is None else NoisyMean(privacy, R=3.0)
    return play(COSINE, n, estimator, ResidualAttack(COSINE), trials=6, seed=3)


# --- The limit -----------------------------------------------------------------------------------

LIMITS = {
    Pure(0.7): lambda q: min(1, math.exp(0.7) * q, 1 - math.exp(-0.7) * (1 - q)),
    Approximate(0.7, 0.05): lambda q: min(
        1, math.exp(0.7) * q + 0.05, 1 - math.exp(-0.7) * (1 - q - 0.05)
    ),
    Gaussian(1.3): lambda q: special.ndtr(1.3 + special.ndtri(q)),
    ZeroConcentrated(0.4): lambda q: math.exp(
        -(max(math.sqrt(-math.log(q)) - math.sqrt(0.4), 0) ** 2) if q else -math.inf
    ),
}


@pytest.mark.parametrize("privacy", LIMITS, ids=str)
def test_limit_has_its_closed_form(privacy):
    rates, limit = RocCurve(np.array([0.0, 0.137, 1.0]), np.zeros(3), privacy).limit()
    np.testing.assert_allclose(limit, [LIMITS[privacy](q) for q in rates], atol=1e-12)
    assert {0.0, 0.137, 1.0} <= set(rates.tolist())
    assert np.all(np.diff(rates) > 0)
    assert np.all(limit >= rates)
    assert limit[0] == (privacy.delta if isinstance(privacy, Approximate) else 0)
    assert limit[-1] == 1


@pytest.mark.parametrize("privacy", LIMITS, ids=str)
def test_drawn_limit_is_the_limit(privacy):
    """Read off the figure. The control: a probability in the place of its logarithm gives 1."""
    result = game(privacy)
    lines = {line.get_label(): line for line in result.figure().axes[0].lines}
    rates, drawn = lines[f"limit: {result.privacy}"].get_data()
    expected = [LIMITS[privacy](q) for q in rates]
    np.testing.assert_allclose(drawn, expected, atol=1e-9)
    assert np.mean(drawn) < 0.95
    np.testing.assert_array_equal(result.privacy.tradeoff_log(np.asarray(rates)), 1.0)
    measured = lines[f"measured, AUC {result.auc.value:.3f}"]
    np.testing.assert_array_equal(measured.get_xdata(), result.fpr)
    np.testing.assert_array_equal(measured.get_ydata(), result.tpr)


def test_a_tight_test_reaches_the_limit_and_a_worse_guarantee_is_passed():
    """N(0, 1) against N(mu, 1): the exact curve is the limit of mu-GDP, above that of mu/2."""
    rates = np.linspace(0, 1, 101)
    exact = stats.norm.sf(stats.norm.isf(rates) - 1.0)
    np.testing.assert_allclose(allowed_rate(Gaussian(1.0), rates), exact, atol=1e-12)
    assert np.max(exact - allowed_rate(Gaussian(0.5), rates)) > 0.1


def test_without_privacy_there_is_no_limit():
    result = game()
    labels = [line.get_label() for line in result.figure().axes[0].lines]
    assert not any(label.startswith("limit") for label in labels)
    with pytest.raises(ValueError, match="privacy"):
        result.roc.limit()


def test_every_definition_of_privacy_can_be_drawn_and_summed_up():
    """Not all have a tracing lemma: then there is a limit and no ceiling."""

    class Other(SampleMean):
        def fit(self, X, y=None):
            super().fit(X)
            self.privacy_ = self.__class__.reported
            return self

    for reported in (Renyi(2.0, 1.0), OffsetConcentrated(0.1, 0.2)):
        Other.reported = reported
        result = play(COSINE, 7, Other(), ResidualAttack(COSINE), trials=2, seed=0)
        assert result.to_dict()["ceiling"] is None
        assert "member sum" in result.summary()
        assert result.roc.limit()[1][-1] == 1


def test_label_privacy_limits_an_attack_on_labels_only():
    """A label estimator may publish the rows: nothing limits how well they are recognised."""
    prior = RegressionPrior(d=3, radius=1.0, sigma=0.5)
    estimator = LabelHardThresholding(Pure(1.0, scope="label"))

    def against(prior, attack):
        return play(prior, 20, estimator, attack, trials=2, seed=0, attribute="coef_")

    records = against(prior, RegressionAttack(prior))
    assert records.roc.privacy is None
    assert records.to_dict()["ceiling"] is None
    with pytest.raises(ValueError, match="none of a record"):
        records.ceiling()
    labels = against(PublicDesignPrior(prior, 20), LabelAttack(prior))
    assert labels.roc.privacy == labels.privacy
    assert labels.ceiling().value > 0


# --- What is measured ----------------------------------------------------------------------------


def test_area_counts_ties_half():
    assert area(np.array([1.0, 2.0]), np.array([0.0, -1.0])) == 1
    assert area(np.array([1.0, 2.0]), np.array([1.0, 2.0])) == 0.5
    assert area(np.array([1.0, 3.0]), np.array([3.0, 2.0])) == 0.375


def test_accepted_by_hand():
    inside, outside = np.array([5.0, 2.0, 0.0]), np.array([1.0, 3.0, 0.0])
    np.testing.assert_allclose(accepted(inside, outside), [1 / 3, 2 / 3, 2.5 / 3])


def test_long_curves_are_thinned():
    kept = levels(10**5)
    assert (kept[0], kept[-1]) == (0, 10**5 - 1)
    assert len(kept) < 2 * CURVE_POINTS
    assert np.all(np.diff(kept) > 0)


def test_rate_of_outsiders_is_not_understated_where_positions_differ():
    """Position 1 scores in [10, 11], position 2 in [0, 1]: beating the second best of two has
    chance (1 + 1/2)/2. The rate given may not be below it; (k+1)/(n+1) = 2/3, for one law, is.
    """
    rng = np.random.default_rng(0)
    offset = np.array([10.0, 0.0])
    shares = [accepted(offset + rng.random(2), offset + rng.random(2)) for _ in range(20_000)]
    fpr, tpr = averaged(shares, 2, 0.99)[:2]
    true = np.mean(shares, axis=0)
    np.testing.assert_allclose(true, [1 / 4, 3 / 4], atol=0.02)
    assert np.all(fpr[1:] >= true)
    assert true[1] > 2 / 3 + 0.05
    np.testing.assert_allclose((fpr[0], fpr[-1], tpr[0], tpr[-1]), (0, 1, 0, 1))


def test_advantage_is_measured_where_it_was_not_chosen():
    """Level 0 wins the first half by chance and is worth nothing in the second."""
    shares = [np.array([0.9, 0.5, 1.0])] * 2 + [np.array([0.3, 0.8, 1.0])] * 2
    advantage = averaged(shares, 3, 0.99).advantage
    assert advantage.value == pytest.approx(0.3 - 1 / 3)
    one = averaged(shares[:1], 3, 0.99).advantage
    assert (one.low, one.high) == (-math.inf, math.inf)


# --- The figure ----------------------------------------------------------------------------------


def test_figure_reads_alone(tmp_path):
    result = game(ZeroConcentrated(0.5))
    figure = result.figure()
    curve, bars = figure.axes
    for axis in (curve, bars):
        assert axis.get_xlabel()
        assert axis.get_ylabel()
        assert axis.get_title()
    legend = [text.get_text() for text in curve.get_legend().get_texts()]
    assert legend == [f"measured, AUC {result.auc.value:.3f}", "limit: zCDP(rho=0.5)", "guessing"]
    legend = [text.get_text() for text in bars.get_legend().get_texts()]
    assert {"members", "outsiders"} < set(legend)
    assert "NoisyMean" in figure.get_suptitle()
    for words in ("n = 7", "6 trials", "seed 3", result.source):
        assert words in figure.get_supxlabel()
    for name, shown in (("private", result), ("plain", game())):
        shown.plot(tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").read_bytes()[:4] == b"\x89PNG"


def test_attacks_are_imported_without_matplotlib():
    """And drawing, the control, does ask for it."""
    code = (
        "import sys; sys.modules['matplotlib'] = None; import attacks, attacks.one_report; "
        "from attacks.roc import blank_figure; print('imported'); blank_figure(1, 1)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["imported"], done.stderr
    assert done.returncode != 0
    assert "matplotlib" in done.stderr.splitlines()[-1]


def test_ties_are_broken_by_chance() -> None:
    """As if each score had a small random number added, on average."""
    rng = np.random.default_rng(0)
    inside, outside = rng.integers(0, 4, 7).astype(float), rng.integers(0, 4, 6).astype(float)
    drawn = [
        accepted(*(x + 1e-6 * rng.random(len(x)) for x in (inside, outside))) for _ in range(4000)
    ]
    error = np.std(drawn, axis=0) / np.sqrt(len(drawn))
    assert np.all(np.abs(np.mean(drawn, axis=0) - accepted(inside, outside)) <= 4.5 * error + 1e-12)
    strictly = [np.mean(inside > t) for t in np.sort(outside)[::-1]]
    assert np.all(accepted(inside, outside) >= strictly)
    assert np.any(accepted(inside, outside) > np.add(strictly, 0.05))


def test_a_release_that_tells_nothing_lies_on_the_diagonal() -> None:
    assert np.allclose(accepted(np.zeros(9), np.zeros(9)), np.arange(1, 10) / 10)
