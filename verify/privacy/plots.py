"""The trade-off curve of an audit: what the claim allows, and what was measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from attacks.roc import allowed_rate, blank_figure
from verify.files import write_whole
from verify.privacy.auditing import Audit

BAND = 0.01
"""Level of the band, point by point: it is for the eye, the verdict has its own."""


def figure(found: Audit) -> Figure:
    """Chances of events on one side over those on the other, with what the claim allows."""
    drawing = blank_figure(6.4, 5.6)
    axis = drawing.subplots()
    rates = np.concatenate([np.geomspace(1e-4, 0.1, 100), np.linspace(0.1, 1, 100)])
    limit = f"most that {found.claim} allows"
    axis.plot(rates, allowed_rate(found.claim, rates), "--", color="C0", label=limit)
    if found.search.curve:
        p, q = (np.array([c[k] / c.drawn for c in found.search.curve]) for k in (0, 1))
        low, high = zip(*(c.chances(BAND) for c in found.search.curve), strict=True)
        above = [
            c._replace(likelier=c.rarer, rarer=c.likelier).chances(BAND) for c in found.search.curve
        ]
        axis.plot(q, p, color="C3", label="measured")
        axis.fill_between(q, low, [pair[1] for pair in above], color="C3", alpha=0.2)
        axis.plot(high, low, ":", color="C3", label=f"surely reached, {1 - BAND:.0%} each point")
    axis.plot([0, 1], [0, 1], ":", color="grey", label="guessing")
    axis.set(xlabel="chance on one side", ylabel="chance on the other", xlim=(0, 1), ylim=(0, 1))
    axis.set_title(f"{found.name}: {found.verdict.value}", fontsize="medium")
    axis.legend(loc="lower right", fontsize="small")
    return drawing


def write_plot(folder: Path, found: Audit) -> Path:
    """The figure in a file that is named after the mechanism."""
    name = re.sub(r"[^\w.=-]+", "_", found.name)[:80]
    path = folder / f"privacy_{name}.png"
    write_whole(path, lambda target: figure(found).savefig(target))
    return path
