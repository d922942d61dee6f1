r"""One budget that several fits draw from, and that none of them can overdraw.

**Use.** ``budget = Budget(Approximate(1.0, 1e-6))``, then ``privacy=budget.share(0.3)`` for any
estimator. Every `fit` draws anew: a second fit, each fold of a cross-validation and each candidate
of a grid search is counted, also in copies that `clone` makes. A draw that is more than what is
left raises `Overdrawn` before anything is computed. `print(budget)` says what was spent and is
left. A budget is for one set of records: fits to other parts of them are added up all the same,
if no record decides which part another one is in (folds as of ``KFold``, not stratified ones).

**What adds up.** A budget is kept in one definition, in which guarantees add up: epsilon (`Pure`),
rho (`ZeroConcentrated`), mu^2 (`Gaussian`), or epsilon and delta each (`Approximate`). Pure, zCDP
and Gaussian budgets are kept in their own. An (epsilon, delta) budget is kept as the largest mu-GDP
that is within it (`Approximate.to_gaussian`, exact) if the first fit that draws from it can spend
that, as the largest rho-zCDP if it can spend zCDP but not GDP, else in epsilon and delta; or as
`kept_in` says. Ten tenths of (1, 1e-6) are ten times (.2367/sqrt(10))-GDP, three times the mu that
(.1, 1e-7) allows each.

**Statement.** Let fits and scores draw from a budget, each chosen after all results before it, and
let what they are granted sum to at most the budget on every path. Then everything together is
within the budget.

**Proof.** By induction over the draws; the first one is fixed, and given its result o the rest is,
by induction, within what is left, which does not depend on o. P and Q are the laws on neighbours.

* Pure: likelihood ratios are at most e^(epsilon_1) and e^(epsilon - epsilon_1).
* (epsilon, delta): P_1 <= e^(epsilon_1) Q_1 + nu, nu a measure of mass at most delta_1. So P(S) <=
  int P_1(do) min{1, e^(epsilon - epsilon_1) Q_o(S)} + delta - delta_1
  <= e^epsilon Q(S) + delta_1 + delta - delta_1.
* zCDP: E_Q (dP/dQ)^alpha is at most the product of exp(alpha (alpha - 1) rho_1) and the same with
  rho - rho_1, for each alpha (Feldman and Zrnic, 2021; Whitehouse et al., 2023).
* GDP: the first result is a function of a normal variable with mean 0 or mu_1, and of further
  chance; given o so is the rest, of one with mean 0 or (mu^2 - mu_1^2)^(1/2) (Blackwell). So the
  whole is a function of two independent ones, whose means are mu apart (Smith and Thakurta, 2022).

The definition is fixed before the first draw, when nothing is known; a minimum over definitions
taken later is not covered, nor are mixtures. If what is left of mu^2 could be exchanged for what
delta it is worth, one would do so after just those results after which that is worth more: half of
(1, 1e-6), then such a choice, loses up to 1.9e-6 at epsilon = 1 (`tests/properties`). So a
fit that cannot spend the budget's definition is refused.

**Noise is independent** between the draws of a budget, as composition needs: with a `random_state`
a draw's noise comes from it and from the number of the draw. (Clones of one seeded estimator would
otherwise add the same noise to each fold, and differences of their releases would have none.)

**What is given back.** A draw is set aside when a fit starts and entered when its ledger is there,
before any attribute is set. A fit that raises in between gives it back: it has released nothing,
and which errors there are is decided by no finite record (`estimators.core.base`).

**Scopes.** Local and label budgets add up in the same way, for what one user reports.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from itertools import count
from numbers import Real
from threading import Lock
from typing import Any

import numpy as np

from estimators.core.accounting import Ledger, NotAccountable, PrintedLedger, check_composable
from estimators.core.amounts import (
    ALTERNATIVES,
    KINDS,
    Draw,
    Fractions,
    Kind,
    additive,
    as_approximate,
    composed,
    in_terms_of,
    part_of,
    spendable,
    with_numbers,
)
from estimators.core.budget_table import as_html, as_text, one_line, percent
from minimax.core.privacy import Approximate, SpendablePrivacy

ROUNDING = 1e-9
"""A draw that is above what is left by this share of it gets what is left; less than this share of
a budget counts as nothing left."""


class Overdrawn(ValueError):
    """More was asked of a budget than is left. Nothing was computed."""


@dataclass(frozen=True, eq=False)
class Share:
    """A part of a budget, given to an estimator as `privacy`: each fit draws it anew.

    Copies are the share itself, so that clones draw from the same budget.
    """

    budget: Budget
    size: float | SpendablePrivacy
    """A number between 0 and 1, or an amount in the budget's definition."""

    def worth(self, *kinds: Kind) -> SpendablePrivacy:
        """What a fit that can spend these definitions would be given; without them, the share in
        the budget's own definition. Draws nothing."""
        kept = self.budget._kept_for(kinds) if kinds else type(self.budget.total)
        granted = self.budget._granted(kept, self.budget._fractions(self.size, kept))
        return spendable(granted, kinds or KINDS) or granted

    def drawing(self, by: str) -> Drawing:
        """A draw, to be used in a ``with`` statement."""
        return Drawing(self, by)

    def __copy__(self) -> Share:
        return self

    def __deepcopy__(self, memo: object) -> Share:
        return self

    def __repr__(self) -> str:
        size = f"{self.size:g}" if isinstance(self.size, float) else str(self.size)
        return f"<{size} of a budget of {self.budget.total}>"


class Drawing:
    """One draw, from when it is set aside to when its ledger is entered; else it is given back."""

    def __init__(self, share: Share, by: str) -> None:
        self.share, self.by = share, by
        self.number = next(share.budget._numbers)
        self.handed: SpendablePrivacy | None = None
        self.draw: Draw | None = None
        """Set aside but not entered yet."""
        self.entered = False

    def hand(self, *kinds: Kind) -> SpendablePrivacy:
        """What may be spent, in one of these definitions, set aside at the first call."""
        if self.handed is None:
            self.draw = self.share.budget._set_aside(self.share, self.by, kinds)
            self.handed = spendable(self.draw.granted, kinds)
            assert self.handed is not None
        return self.handed

    def enter(self, ledger: Ledger) -> None:
        """Enter the ledger, before anything is released: an error if it is more than was handed."""
        if self.draw is None or self.handed is None:
            raise RuntimeError(f"{self.by} has nothing to enter: a draw is entered once")
        spent = composed(ledger, self.handed, slack=ROUNDING)
        for name, number in spent.parameters.items():
            if number > self.handed.parameters[name] * (1 + ROUNDING):
                raise Overdrawn(
                    f"{self.by} would spend {spent} and was given {self.handed}: with these options"
                    " it does not keep to its budget; nothing was released"
                )
        self.share.budget._enter(self.draw, PrintedLedger(ledger))
        self.draw, self.entered = None, True

    def generator(self, source: np.random.Generator) -> np.random.Generator:
        """A generator that no other draw of the budget has, whatever the source."""
        words = source.integers(2**32, size=4).tolist()
        return np.random.default_rng([*words, self.number])

    def __enter__(self) -> Drawing:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None and not self.entered:  # who knows what was released: nothing is given back
            raise RuntimeError(f"{self.by} drew from a budget and entered no ledger")
        if self.draw is not None:
            self.share.budget._give_back(self.draw)
            self.draw = None


class Budget:
    """A privacy budget that several fits draw from: see the module for what is proved of it.

    Draws may be made in several threads. A pickle of a budget, and what another process has of it
    (n_jobs > 1), is a closed copy: it shows what was spent and cannot be drawn from.

    Parameters
    ----------
    total : Pure, Approximate, ZeroConcentrated or Gaussian
    kept_in : Gaussian, ZeroConcentrated, Approximate or None
        The definition in which the draws of an (epsilon, delta) budget add up. None: that of the
        first draw. GDP is worth most; all estimators can spend (epsilon, delta), which adds up
        worst.

    Examples
    --------
    >>> import numpy as np
    >>> from estimators import Budget, NoisyMean
    >>> from minimax import Approximate
    >>> X = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    >>> budget = Budget(Approximate(1.0, 1e-6))
    >>> mean = NoisyMean(budget.share(0.25), R=1.0).fit(X)
    >>> print(budget)
    Budget of approximate(epsilon=1, delta=1e-06), kept as GDP(mu=0.2367)
    draws    each  by         released
        1    25 %  NoisyMean  mean
    spent  25 %: together approximate(epsilon=0.4752, delta=1e-06)
    left   75 %: in one draw approximate(epsilon=0.8565, delta=1e-06)
    """

    def __init__(self, total: SpendablePrivacy, kept_in: Kind | None = None) -> None:
        check_composable(total=total)
        approximate = isinstance(total, Approximate)
        allowed: tuple[Kind, ...] = ALTERNATIVES if approximate else (type(total),)
        if kept_in is not None and kept_in not in allowed:
            names = ", ".join(kind.__name__ for kind in allowed)
            raise ValueError(f"kept_in must be None or one of {names} for {total}, got {kept_in!r}")
        self._total, self._kept_in = total, kept_in
        self._history: tuple[Draw, ...] = ()
        self._aside: tuple[Draw, ...] = ()
        self._numbers, self._lock = count(1), Lock()
        self._process: int | None = os.getpid()

    # --- What a user asks -------------------------------------------------------------------------

    def share(self, share: float) -> Share:
        """A share of the whole budget, between 0 and 1, for `privacy` of an estimator."""
        if isinstance(share, bool) or not isinstance(share, Real):
            raise TypeError(f"share must be a number, got {share!r}")
        if not 0 < share <= 1:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return Share(self, float(share))

    def amount(self, privacy: SpendablePrivacy) -> Share:
        """An amount in the budget's own definition, for `privacy` of an estimator."""
        if type(privacy) is not type(self.total):
            raise TypeError(
                f"an amount of this budget is given as {type(self.total).__name__}, as the budget"
                f" is: {self.total}; two definitions of privacy do not add up; got {privacy!r}"
            )
        if privacy.scope != self.total.scope:
            raise ValueError(f"scope must be {self.total.scope!r}, got {privacy.scope!r}")
        return Share(self, privacy)

    @property
    def total(self) -> SpendablePrivacy:
        """The whole."""
        return self._total

    @property
    def history(self) -> tuple[Draw, ...]:
        """The draws, in the order in which they were entered."""
        return self._history

    @property
    def ledger(self) -> PrintedLedger:
        """Every mechanism call of every draw. (Not for `compose` where parts are named: see
        `spent`.)"""
        return PrintedLedger(entry for draw in self.history for entry in draw.ledger)

    @property
    def kept_as(self) -> SpendablePrivacy | None:
        """The whole in the definition in which draws add up, once that is known."""
        kept = self._kept()
        return None if kept is None else in_terms_of(self.total, kept)

    @property
    def spent(self) -> SpendablePrivacy | None:
        """The guarantee that the ledgers of all draws compose to, at the delta of the budget; None
        before the first.

        It holds for draws that were chosen beforehand. For draws that were chosen after results,
        what is proved is the whole budget.
        """
        calls = tuple(call for draw in self.history for call in draw.calls)
        if not calls:
            return None
        try:
            found, whole = composed(calls, self.total).parameters, self.total.parameters
        except NotAccountable:  # where deltas add up to the whole but for a last digit
            return self.total
        return with_numbers(self.total, {name: min(found[name], whole[name]) for name in whole})

    @property
    def left(self) -> SpendablePrivacy | None:
        """The largest amount that one more draw could be of; None if there is nothing left.

        Of an (epsilon, delta) budget at its delta, or at a smaller one where so little is left that
        no epsilon is needed at that.
        """
        with self._lock:
            return self._left()

    def __str__(self) -> str:
        return as_text(self)

    def __repr__(self) -> str:
        return one_line(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    # --- What draws need --------------------------------------------------------------------------

    def left_fractions(self) -> Fractions:
        """How much is left of each of the numbers that add up."""
        taken = [draw.fractions for draw in (*self._history, *self._aside)]
        left = (1 - math.fsum(each) for each in zip(*taken, strict=True))
        return tuple(one if one > ROUNDING else 0.0 for one in left) if taken else (1.0,)

    def _left(self) -> SpendablePrivacy | None:
        fractions, kept = self.left_fractions(), self._kept()
        if min(fractions) == 0:
            return None
        if kept is None or not (self._history or self._aside):
            return self.total
        granted = self._granted(kept, fractions)
        if isinstance(self.total, Approximate) and not isinstance(granted, Approximate):
            return as_approximate(granted, self.total.delta)
        return granted

    def _kept(self) -> Kind | None:
        """The definition in which draws add up; None where the first draw is to say."""
        draws = (*self._history, *self._aside)
        if self._kept_in is not None or draws:
            return self._kept_in or type(draws[0].granted)
        return None if isinstance(self.total, Approximate) else type(self.total)

    def _kept_for(self, kinds: tuple[Kind, ...]) -> Kind:
        """That definition, if the next draw is of these kinds."""
        wanted = [kind for kind in ALTERNATIVES if kind in kinds]
        return self._kept() or [*wanted, Approximate][0]

    def _fractions(self, size: float | SpendablePrivacy, kept: Kind) -> Fractions:
        whole = additive(in_terms_of(self.total, kept))
        if isinstance(size, float):
            return (size,) * len(whole)
        amount = additive(in_terms_of(size, kept))
        return tuple(part / all_ for part, all_ in zip(amount, whole, strict=True))

    def _granted(self, kept: Kind, fractions: Fractions) -> SpendablePrivacy:
        """So much of the whole, in the definition in which draws add up."""
        return part_of(in_terms_of(self.total, kept), fractions)

    def _set_aside(self, share: Share, by: str, kinds: tuple[Kind, ...]) -> Draw:
        """Take what a draw needs from what is left, or raise."""
        with self._lock:
            self._check_open()
            kept = self._kept_for(kinds)
            asked = self._fractions(share.size, kept)
            self._check_kinds(self._granted(kept, asked), by, kinds)
            left = self.left_fractions()
            if len(left) < len(asked):  # nothing was drawn yet
                left = left * len(asked)
            if any(more > rest * (1 + ROUNDING) for more, rest in zip(asked, left, strict=True)):
                raise Overdrawn(self._refusal(by, asked))
            taken = tuple(map(min, asked, left))
            draw = Draw(by, self._granted(kept, taken), taken, ())
            self._aside = (*self._aside, draw)
            return draw

    def _check_open(self) -> None:
        if self._process != os.getpid():
            raise RuntimeError(
                "this is a copy of a budget, from a pickle or in another process: it shows what"
                " was spent and cannot be drawn from. Fit where the budget was made: n_jobs=1"
            )

    def _check_kinds(self, granted: SpendablePrivacy, by: str, kinds: tuple[Kind, ...]) -> None:
        if spendable(granted, kinds) is not None:
            return
        spends = ", ".join(kind.__name__ for kind in kinds)
        others = [kind for kind in ALTERNATIVES if kind in kinds]
        advice = "use a budget of its own"
        if isinstance(self.total, Approximate) and others:
            advice += f", or for all draws Budget({self.total!r}, kept_in={others[0].__name__})"
        raise TypeError(
            f"{by} with these options can spend {spends}; this budget is kept as"
            f" {in_terms_of(self.total, type(granted))}, and draws in two definitions of privacy do"
            f" not add up: {advice}"
        )

    def _refusal(self, by: str, asked: Fractions) -> str:
        rest = percent(min(self.left_fractions()))
        return (
            f"{by} asks for {percent(max(asked))} of the budget {self.total}, of which {rest} is"
            " left. Nothing was released"
        )

    def _enter(self, draw: Draw, ledger: Ledger) -> None:
        with self._lock:
            self._check_open()
            self._drop(draw)
            self._history = (*self._history, replace(draw, ledger=ledger))

    def _give_back(self, draw: Draw) -> None:
        with self._lock:
            self._drop(draw)

    def _drop(self, draw: Draw) -> None:
        self._aside = tuple(other for other in self._aside if other is not draw)

    # --- Copies -----------------------------------------------------------------------------------

    def __copy__(self) -> Budget:
        return self

    def __deepcopy__(self, memo: object) -> Budget:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _closed_copy, (self.total, self._kept_in, self.history)


def _closed_copy(
    total: SpendablePrivacy, kept_in: Kind | None, history: tuple[Draw, ...]
) -> Budget:
    copy = Budget(total, kept_in)
    copy._history, copy._process = history, None
    return copy
