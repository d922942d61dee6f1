"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.cwz19 import (
    appendix_a,
    experiments,
    figures,
    group_privacy,
    mean,
    minimax_risk,
    privacy,
    privacy_inequality,
    regression,
    regression_algorithm,
    regression_convergence,
    regression_lower,
    regression_step,
    sparse_descent,
    sparse_descent_run,
    sparse_lower,
    sparse_mean,
    sparse_regression,
    sparse_regression_algorithm,
    stein,
    thresholding_slips,
    thresholding_step,
    tracing,
)

CHAPTERS = (
    minimax_risk.CHAPTER,
    privacy.CHAPTER,
    tracing.CHAPTER,
    mean.CHAPTER,
    sparse_lower.CHAPTER,
    sparse_mean.CHAPTER,
    regression.CHAPTER,
    regression_lower.CHAPTER,
    regression_algorithm.CHAPTER,
    regression_convergence.CHAPTER,
    sparse_regression.CHAPTER,
    sparse_regression_algorithm.CHAPTER,
    experiments.CHAPTER,
    figures.CHAPTER,
    group_privacy.CHAPTER,
    sparse_descent_run.CHAPTER,
    sparse_descent.CHAPTER,
    appendix_a.CHAPTER,
    regression_step.CHAPTER,
    thresholding_step.CHAPTER,
    thresholding_slips.CHAPTER,
    stein.CHAPTER,
    privacy_inequality.CHAPTER,
)
ENTRIES: tuple[Entry, ...] = tuple(entry for chapter in CHAPTERS for entry in chapter.entries)
