r"""The member / outsider experiment behind every tracing proof.

One trial draws an instance from the prior, a sample X of n records and a release M(X). Every
member x_i is scored, and so is one outsider for every i. The proofs compare

    P: (x_i, M(X), x_{-i})     with     Q: (x_i, M(X'_i), x_{-i}),

X'_i being X with record i replaced by an independent copy.

**Why one release is enough.** Draw a fresh record z_i and keep X. Given the instance, z_i is
independent of (M(X), x_{-i}); under Q, x_i is independent of (M(X'_i), x_{-i}); both pairs have the
same marginals, as X'_i is again a sample with the other records x_{-i}. So (z_i, M(X), x_{-i}) has
the law Q: an outsider is scored against the *same* release, and an attack that also uses the other
records keeps those of position i. No second fit is needed, and nothing is approximated.

**What is reported.** Trials are independent and records within a trial are not, so every interval
is a Student interval over trials. Soundness: A = <V, z - E z> with V independent of z has
E_Q A = 0 and E_Q|A| <= sqrt(E_Q A^2) <= sigma sqrt(E|V|^2). In regression a record's score
(y - E[y|x]) x stands for z - E z, and |V|^2 is V'(E xx')V. Completeness: the attack's identity for
sum_i E_P A_i, where it has one. Between the two stands privacy, which allows the members' sum no
more than `GameResult.ceiling`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray

from attacks.ceiling import TRACED, routes
from attacks.estimate import Estimate, check_confidence, check_count, root
from attacks.release import Attacked, Estimator, fresh_estimator, released, shares_randomness
from attacks.roc import RocCurve, accepted, area, averaged, blank_figure, draw_scores
from minimax.core.bound import Prior
from minimax.core.privacy import Privacy
from minimax.methods.tracing import Tail

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
KEPT_SCORES = 200_000


class Attack(Protocol):
    """Scores A_i = <V_i, record_i - E record>, V_i free of record i except through the release.

    In regression <V_i, (y_i - E[y_i|x_i]) x_i>; records and sample are then `Labelled`. An attack
    on the label alone, in which member and outsider share x_i, says so by `asks = "label"`; one
    whose centred record (or score of a record) has a symmetric law, by `symmetric = True`, and one
    whose squared scores have no variance by `heavy = True` (`attacks.ceiling`).
    """

    @property
    def name(self) -> str:
        """What the attack does, in a few words."""

    @property
    def source(self) -> str:
        """Paper key and statement."""

    @property
    def sigma(self) -> float:
        """Sub-Gaussian scale of a record's coordinates, or of y given x."""

    @property
    def tail(self) -> Tail:
        """What is known of an outsider's score given V."""

    def scores(self, records: Any, release: Array, instance: Any, sample: Any) -> Array:
        """The score of `records[i]` in position i, for all i; `sample` holds the members."""

    def spread(self, release: Array, instance: Any, n: int) -> float:
        """A number whose expectation is the average over i of E|V_i|^2 (regression: V'(E xx')V)."""

    def completeness(self, release: Array, instance: Any, n: int) -> float | None:
        """A number whose expectation is sum_i E_P A_i, or None where there is no such identity."""


@dataclass(frozen=True, eq=False)
class GameResult:
    """What the members and the outsiders scored, next to what the theory says they must.

    `auc` is the chance that a member outranks an outsider against the same release (ties count
    half). `fpr`, `tpr` average the trials' curves, and `advantage` is tpr - fpr at the level that
    the first half of the trials prefers, measured on the second half: see `attacks.roc`.
    """

    attack: str
    source: str
    prior: str
    estimator: str
    n: int
    trials: int
    seed: int
    confidence: float
    sigma: float
    tail: Tail
    asks: Literal["record", "label"]
    """What differs between member and outsider."""
    symmetric: bool
    """Whether the centred records have a symmetric law."""
    heavy: bool
    """Whether the squared scores have no variance."""
    privacy: Privacy | None
    """The guarantee the estimator reports in `privacy_`, or None."""
    in_scores: Array
    out_scores: Array
    member_sum: Estimate
    completeness: Estimate | None
    """What the attack's identity says `member_sum` is, measured on the same trials."""
    completeness_gap: Estimate | None
    """member sum minus the identity, trial by trial: its mean must be zero."""
    outsider_mean: Estimate
    outsider_abs: Estimate
    outsider_square: Estimate
    spread: Estimate
    """E|V|^2: `outsider_square` is at most sigma^2 times it (equal for Gaussian records)."""
    member_square: Estimate
    """E (A_i^+)^2 averaged over the members."""
    member_second: Estimate
    """E A_i^2 averaged over the members."""
    loss: Estimate
    """The instance's loss: E|M - target|^2, or in regression |M - target|^2_Sigma."""
    fpr: Array
    tpr: Array
    auc: Estimate
    level: float
    """The rate of accepted outsiders at which `accepted` and `advantage` are measured."""
    accepted: Estimate
    """Members accepted at that level, with an interval that holds for every law."""
    advantage: Estimate

    @property
    def outsider_rms(self) -> Estimate:
        """sqrt(E_Q A^2)."""
        return self.outsider_square.map(root)

    @property
    def soundness(self) -> Estimate:
        """sigma sqrt(E|V|^2), which E_Q|A| and the outsiders' rms may not exceed."""
        return self.spread.map(lambda v: self.sigma * root(v))

    def ceiling(self, privacy: Privacy | None = None) -> Estimate:
        r"""The largest members' sum that `privacy` (by default the estimator's own) allows.

        **Statement.** sum_i E_P A_i <= n (own sigma sqrt(v) + leak sqrt(w) + second sqrt(u)), v, w
        and u the averages over i of E|V_i|^2, E_P (A_i^+)^2 and E_P A_i^2, for every
        `attacks.ceiling.Route`; the least counts. **Proof.** Each route for every i, then Jensen. A
        private estimator stays below; one that does not is not private, whatever it says. Up to
        three intervals enter, so that this one holds with confidence 1 - 3 (1 - confidence).
        """
        held = self._binding if privacy is None else privacy
        if held is None:
            raise ValueError(f"privacy must be given: the estimator reports none of a {self.asks}")
        open_routes = routes(held, self.tail, symmetric=self.symmetric, heavy=self.heavy)

        def allowed(spread: float, positive: float, square: float) -> float:
            moments = self.sigma**2 * spread, positive, square
            return self.n * min(route.allowed(*moments) for route in open_routes)

        moments = (self.spread, self.member_square, self.member_second)
        ends = zip(*((m.value, m.low, m.high) for m in moments), strict=True)
        return Estimate(*(allowed(*end) for end in ends))

    def to_dict(self) -> dict[str, object]:
        """Everything but the raw scores, ready for JSON (infinite ends become None)."""
        plain: dict[str, object] = {
            key: getattr(self, key)
            for key in ("attack", "source", "prior", "estimator", "n", "trials", "seed")
        }
        plain["confidence"] = self.confidence
        plain["privacy"] = None if self.privacy is None else str(self.privacy)
        for key, estimate in self._estimates().items():
            plain[key] = None if estimate is None else estimate.to_dict()
        plain["level"] = self.level
        plain["fpr"], plain["tpr"] = self.fpr.tolist(), self.tpr.tolist()
        return plain

    def summary(self) -> str:
        """The experiment and its verdict-free numbers, as text."""
        lines = [
            f"{self.attack} ({self.source})",
            f"  estimator {self.estimator}, prior {self.prior}",
            f"  n = {self.n}, {self.trials} trials, seed {self.seed}, "
            f"{100 * self.confidence:.6g} % intervals",
        ]
        lines += [
            f"  {key.replace('_', ' '):<17} {estimate}"
            for key, estimate in self._estimates().items()
            if estimate is not None
        ]
        return "\n".join(lines)

    @property
    def roc(self) -> RocCurve:
        """The measured curve with the limit that the estimator's own privacy puts on it."""
        return RocCurve(self.fpr, self.tpr, self._binding)

    def figure(self) -> Figure:
        """ROC curve and score histograms."""
        figure = blank_figure(11, 4.8)
        curve, bars = figure.subplots(1, 2)
        self.roc.draw(curve, f"measured, AUC {self.auc.value:.3f}")
        draw_scores(bars, self.in_scores, self.out_scores)
        figure.suptitle(f"{self.attack}\nagainst {_short(self.estimator, 120)}", fontsize="medium")
        figure.supxlabel(
            f"{self.source}; n = {self.n}, {self.trials} trials, seed {self.seed}", fontsize="small"
        )
        return figure

    def plot(self, path: str | Path) -> None:
        """The figure, written to `path`."""
        self.figure().savefig(path)

    @property
    def _binding(self) -> Privacy | None:
        """The estimator's privacy if it is of what the attack asks for."""
        labels_only = self.privacy is not None and self.privacy.scope == "label"
        return None if labels_only and self.asks == "record" else self.privacy

    def _estimates(self) -> dict[str, Estimate | None]:
        return {
            "member_sum": self.member_sum,
            "completeness": self.completeness,
            "completeness_gap": self.completeness_gap,
            "ceiling": self.ceiling() if isinstance(self._binding, TRACED) else None,
            "outsider_mean": self.outsider_mean,
            "outsider_abs": self.outsider_abs,
            "outsider_rms": self.outsider_rms,
            "soundness": self.soundness,
            "loss": self.loss,
            "auc": self.auc,
            "accepted": self.accepted,
            "advantage": self.advantage,
        }


def play(
    prior: Prior,
    n: int,
    estimator: Attacked,
    attack: Attack,
    *,
    trials: int,
    seed: int,
    confidence: float = 0.99,
    n_jobs: int = 1,
    attribute: str = "mean_",
) -> GameResult:
    """Run the experiment.

    Parameters
    ----------
    prior : draws an instance with `target` and `sample(n, rng)`
    n : records in a sample
    estimator : an object with `fit` (copied for every trial, its generators and seeds replaced by
        those of the trial: `attacks.release`); a function of the sample and a generator, or of the
        sample alone, that returns the release; or a function from a generator to an estimator,
        whose one argument is called so (rng, generator, random_state, seed)
    attack : what scores
    trials, seed : number of independent trials; every trial has its own spawned seed, so the result
        does not depend on `n_jobs`
    confidence : of each interval separately
    attribute : where the fitted estimator keeps its release
    """
    for name, count, least in (("n", n, 1), ("trials", trials, 1), ("seed", seed, 0)):
        check_count(name, count, least)
    check_confidence(confidence)
    for method in ("scores", "spread", "completeness"):
        if not hasattr(attack, method):
            raise TypeError(f"attack must have {method}, {attack!r} has not")
    if not (isinstance(estimator, Estimator) or callable(estimator)):
        raise TypeError(f"estimator must have fit or be a function: {estimator!r}")
    if n_jobs != 1 and shares_randomness(estimator):
        raise ValueError(
            "n_jobs must be 1: the estimator draws from a generator that a function of its own "
            "holds, and every worker would get the same copy"
        )
    kept = min(n, max(1, KEPT_SCORES // trials))
    seeds = np.random.SeedSequence(seed).spawn(trials)
    ran: list[_Trial] = joblib.Parallel(n_jobs=n_jobs)(
        joblib.delayed(_trial)(prior, n, estimator, attack, attribute, kept, child)
        for child in seeds
    )
    return GameResult(
        attack=attack.name,
        source=attack.source,
        prior=repr(prior),
        estimator=_short(repr(estimator), 400),
        n=n,
        trials=trials,
        seed=seed,
        confidence=confidence,
        sigma=attack.sigma,
        tail=attack.tail,
        asks=getattr(attack, "asks", "record"),
        symmetric=getattr(attack, "symmetric", False),
        heavy=getattr(attack, "heavy", False),
        privacy=ran[0].privacy,
        **_collect(ran, n, confidence),
    )


class _Trial(NamedTuple):
    total: float
    identity: float | None
    out_mean: float
    out_abs: float
    out_square: float
    spread: float
    in_square: float
    in_second: float
    loss: float
    auc: float
    accepted: Array
    in_scores: Array
    out_scores: Array
    privacy: Privacy | None


def _trial(
    prior: Prior,
    n: int,
    estimator: Attacked,
    attack: Attack,
    attribute: str,
    kept: int,
    seed: np.random.SeedSequence,
) -> _Trial:
    rng = np.random.default_rng(seed)
    instance = prior.draw(rng)
    made_for = getattr(getattr(attack, "prior", None), "d", None)
    if made_for is not None and made_for != len(instance.target):
        raise ValueError(
            f"attack is made for dimension {made_for}, the prior draws {len(instance.target)}"
        )
    sample, fresh = instance.sample(n, rng), instance.sample(n, rng)
    fitted = fresh_estimator(estimator, rng)
    release = np.asarray(released(fitted, sample, attribute), dtype=float).ravel()
    if release.shape != np.shape(instance.target):
        raise ValueError(
            f"estimator must release shape {np.shape(instance.target)}, got {release.shape}"
        )
    if not np.isfinite(release).all():
        raise ValueError("estimator must release finite numbers")
    inside = attack.scores(sample, release, instance, sample)
    outside = attack.scores(fresh, release, instance, sample)
    # A random subset: an estimator with folds may treat positions differently.
    place = rng.choice(n, kept, replace=False)
    return _Trial(
        total=float(inside.sum()),
        identity=attack.completeness(release, instance, n),
        out_mean=float(outside.mean()),
        out_abs=float(np.abs(outside).mean()),
        out_square=float(np.mean(outside**2)),
        spread=attack.spread(release, instance, n),
        in_square=float(np.mean(np.maximum(inside, 0.0) ** 2)),
        in_second=float(np.mean(inside**2)),
        loss=instance.loss(release),
        auc=area(inside, outside),
        accepted=accepted(inside, outside),
        in_scores=inside[place],
        out_scores=outside[place],
        privacy=getattr(fitted, "privacy_", None),
    )


def _collect(ran: list[_Trial], n: int, confidence: float) -> dict[str, Any]:
    def over(values: Sequence[float]) -> Estimate:
        return Estimate.over(values, confidence)

    sums, identity = [t.total for t in ran], [t.identity for t in ran]
    known = [x for x in identity if x is not None]
    told = len(known) == len(ran)
    curve = averaged([t.accepted for t in ran], n, confidence)
    return {
        "in_scores": np.concatenate([t.in_scores for t in ran])[:KEPT_SCORES],
        "out_scores": np.concatenate([t.out_scores for t in ran])[:KEPT_SCORES],
        "member_sum": over(sums),
        "completeness": over(known) if told else None,
        "completeness_gap": over(np.subtract(sums, known).tolist()) if told else None,
        "outsider_mean": over([t.out_mean for t in ran]),
        "outsider_abs": over([t.out_abs for t in ran]),
        "outsider_square": over([t.out_square for t in ran]),
        "spread": over([t.spread for t in ran]),
        "member_square": over([t.in_square for t in ran]),
        "member_second": over([t.in_second for t in ran]),
        "loss": over([t.loss for t in ran]),
        "auc": over([t.auc for t in ran]),
        **curve._asdict(),
    }


def _short(text: str, length: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 3] + "..."
