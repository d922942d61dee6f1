"""A figure for each attack: members' sums as shares of what is allowed, and the ROC curves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from attacks.roc import RocCurve
from verify.attacks.judge import Row
from verify.attacks.report import in_letters
from verify.plotting import new_figure, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEAST, MOST = -0.5, 30.0
"""Shares beyond are drawn at the edge."""
FEW = 6
"""Fewer matches than these, and the limits of the controls are drawn too."""


def figure(rows: Sequence[Row]) -> Figure:
    """All matches of one attack."""
    played = [row for row in rows if row.game is not None]
    drawing = new_figure(11.5, max(3.6, 1.8 + 0.34 * len(played)))
    shares, curves = drawing.subplots(1, 2, width_ratios=(3, 2))
    _draw_shares(shares, played)
    _draw_curves(curves, played)
    setting = rows[0].match.setting
    drawing.suptitle(f"{setting.attack.name} ({setting.attack.source})", fontsize="medium")
    return drawing


def _draw_shares(axis: Axes, rows: Sequence[Row]) -> None:
    """The members' sum over the ceiling: at most one for whoever keeps the claim."""
    names = []
    for at, row in enumerate(rows):
        game, claim = row.game, row.match.claim
        names.append(f"{row.match.name}\n{'' if claim is None else in_letters(claim)}")
        assert game is not None
        if row.ceiling is None:
            axis.annotate("no claim", (0.02, at), fontsize="x-small", va="center", color="grey")
            continue
        most, colour = row.ceiling.value or row.ceiling.high, "C3" if row.match.fails else "C0"
        low, high, value = (
            _share(x, most)
            for x in (game.member_sum.low, game.member_sum.high, game.member_sum.value)
        )
        axis.plot([low, high], [at, at], color=colour)
        axis.plot([value], [at], "o", color=colour, markersize=5)
        if game.completeness is not None:
            forced = _share(game.completeness.value, most)
            axis.plot([forced], [at], "|", color="black", markersize=12)
    axis.axvline(1.0, color="C0", linestyle="--")
    axis.axvline(0.0, color="grey", linestyle=":")
    axis.set_xscale("symlog", linthresh=1.0)
    axis.set_xlim(LEAST, MOST)
    ticks = [-0.5, 0, 0.5, 1, 2, 5, 10, 20]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_yticks(range(len(rows)), names, fontsize="x-small")
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.set_xlabel("members' sum over what privacy allows (|: what the identity forces)")


def _share(part: float, most: float) -> float:
    """Of what is allowed, which is nothing where a release does not vary: all scores are 0."""
    if most == 0:
        return 0.0 if part == 0 else MOST if part > 0 else LEAST
    return min(max(part / most, LEAST), MOST)


def _draw_curves(axis: Axes, rows: Sequence[Row]) -> None:
    """Measured curves, and the limits of the claims among them."""
    limits: dict[str, RocCurve] = {}
    for row in rows:
        game, claim = row.game, row.match.claim
        assert game is not None
        axis.plot(game.fpr, game.tpr, color="C3" if row.match.fails else "C0", linewidth=0.8)
        kept = row.match.fails is None or len(rows) < FEW
        if claim is not None and row.ceiling is not None and kept:
            limits.setdefault(in_letters(claim), RocCurve(game.fpr, game.tpr, claim))
    styles = ("--", "-.", ":", (0, (1, 3)), (0, (5, 1)))
    for k, (told, curve) in enumerate(limits.items()):
        style = styles[k % len(styles)]
        axis.plot(*curve.limit(), color="black", linestyle=style, linewidth=1, label=told)
    axis.plot([], [], color="C0", label="measured")
    if any(row.match.fails for row in rows):
        axis.plot([], [], color="C3", label="measured, controls")
    axis.plot([0, 1], [0, 1], color="grey", linewidth=0.6)
    axis.set(xlabel="outsiders accepted", ylabel="members accepted", xlim=(0, 1), ylim=(0, 1.01))
    axis.legend(loc="lower right", fontsize="x-small", title="most that is allowed by")


def write_plots(folder: Path, rows: Sequence[Row]) -> list[Path]:
    """One file for each attack."""
    found = []
    for name in dict.fromkeys(row.match.setting.name for row in rows):
        own = [row for row in rows if row.match.setting.name == name]
        if any(row.game is not None for row in own):
            found.append(write_figure(folder / f"attack_{name}.png", figure(own)))
    return found
