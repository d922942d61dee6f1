"""What a game shows, held against what is proved.

Five statements, of which the first three hold for every estimator:

* `outsiders`: they score zero on average (the attack knows the law of the records);
* `soundness`: E_Q|A| is at most sigma sqrt(E|V|^2);
* `identity`: the members' sum is what the attack's identity says (it knows the prior), which is
  what accuracy forces;
* `ceiling`: the members' sum is at most what the claim allows;
* `roc`: members are accepted at most as often as the claim's trade-off curve allows at the rate of
  accepted outsiders.

**Intervals.** The error of a run is divided over its matches and over `INTERVALS` in each. Means of
scores have Student's intervals over independent trials, which is nominal: they are averages over n
records. Rates lie in [0, 1] and have the interval of Maurer and Pontil (2009), which holds for
every law.
"""

from __future__ import annotations

from dataclasses import dataclass

from attacks import Estimate, GameResult
from attacks.ceiling import TRACED
from attacks.local_regression import local_ceiling
from attacks.roc import allowed_rate
from attacks.score import DirectAttack
from minimax.core.privacy import Privacy
from verify.attacks.matches import Match
from verify.privacy.rows import Check

INTERVALS = 10
"""At least as many intervals as the checks of one match use."""


@dataclass(frozen=True, eq=False)
class Row:
    """A match and what was found, or why nothing could be."""

    match: Match
    game: GameResult | None
    checks: tuple[Check, ...] = ()
    ceiling: Estimate | None = None
    error: str = ""

    @property
    def well(self) -> bool:
        """Whether every check holds; of a control, whether the one that must fail does."""
        failed = [check.name for check in self.checks if check.passed is False]
        if self.game is None:
            return False
        return not failed if self.match.fails is None else self.match.fails in failed

    @property
    def verdict(self) -> str:
        """In capitals: what failed first."""
        if self.game is None:
            return "NOT PLAYED"
        failed = [check.name for check in self.checks if check.passed is False]
        return VERDICTS[failed[0]] if failed else "HOLDS"

    def to_dict(self) -> dict[str, object]:
        """For JSON."""
        played = {} if self.game is None else self.game.to_dict()
        return {
            **played,
            "setting": self.match.setting.name,
            "estimator": self.match.name,
            "claim": None if self.match.claim is None else str(self.match.claim),
            "ceiling": None if self.ceiling is None else self.ceiling.to_dict(),
            "must_fail": self.match.fails,
            "checks": [check._asdict() for check in self.checks],
            "verdict": self.verdict,
            "well": self.well,
            "error": self.error,
        }


VERDICTS = {
    "outsiders": "BIASED",
    "soundness": "UNSOUND",
    "identity": "BROKEN",
    "ceiling": "PIERCED",
    "roc": "PIERCED",
}


def judged(match: Match, game: GameResult) -> Row:
    """The row of a match that was played."""
    claim = _binding(match, game)
    ceiling = None if claim is None else allowed_sum(match, game, claim)
    checks = [_outsiders(game), _soundness(game)]
    checks += [_identity(game), _under(game, ceiling), _roc(game, claim)]
    return Row(match, game, tuple(checks), ceiling)


def _binding(match: Match, game: GameResult) -> Privacy | None:
    """The claim, if it is of what the attack asks for and has a ceiling."""
    claim = game.privacy if match.claim is None else match.claim
    labels_only = claim is not None and claim.scope == "label" and game.asks == "record"
    return claim if isinstance(claim, TRACED) and not labels_only else None


def allowed_sum(match: Match, game: GameResult, claim: Privacy) -> Estimate:
    """The least of the ceilings that hold for the claim."""
    found = game.ceiling(claim)
    attack = match.setting.attack
    if claim.scope in ("local", "label") and isinstance(attack, DirectAttack):
        other = local_ceiling(game, attack, claim)
        ends = ("value", "low", "high")
        found = Estimate(*(min(getattr(found, e), getattr(other, e)) for e in ends))
    return found


def _outsiders(game: GameResult) -> Check:
    told = f"mean score {game.outsider_mean}"
    return Check("outsiders", game.outsider_mean.contains(0.0), told)


def _soundness(game: GameResult) -> Check:
    told = f"E|A| {game.outsider_abs}, at most {game.soundness}"
    return Check("soundness", game.outsider_abs.low <= game.soundness.high, told)


def _identity(game: GameResult) -> Check:
    if game.completeness_gap is None:
        return Check("identity", None, "the attack has none")
    told = f"sum less identity {game.completeness_gap}"
    return Check("identity", game.completeness_gap.contains(0.0), told)


def _under(game: GameResult, ceiling: Estimate | None) -> Check:
    if ceiling is None:
        return Check("ceiling", None, "no claim that limits these scores")
    told = f"sum {game.member_sum}, at most {ceiling}"
    return Check("ceiling", game.member_sum.low <= ceiling.high, told)


def _roc(game: GameResult, claim: Privacy | None) -> Check:
    if claim is None:
        return Check("roc", None, "no claim that limits these scores")
    most = float(allowed_rate(claim, game.level))
    told = f"members accepted {game.accepted}, at most {most:.4g} at FPR {game.level:.4g}"
    return Check("roc", game.accepted.low <= most, told)
