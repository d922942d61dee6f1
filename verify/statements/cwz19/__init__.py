"""The statements of CWZ19, section by section."""

from __future__ import annotations

from verify.proofs.entry import Entry
from verify.statements.cwz19 import (
    appendix_a,
    experiments,
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

ENTRIES: tuple[Entry, ...] = (
    *minimax_risk.CHAPTER.entries,
    *privacy.ENTRIES,
    *tracing.ENTRIES,
    *mean.ENTRIES,
    *sparse_lower.CHAPTER.entries,
    *sparse_mean.ENTRIES,
    *regression.ENTRIES,
    *regression_lower.CHAPTER.entries,
    *regression_algorithm.ENTRIES,
    *regression_convergence.ENTRIES,
    *sparse_regression.CHAPTER.entries,
    *sparse_regression_algorithm.ENTRIES,
    *experiments.ENTRIES,
    *group_privacy.ENTRIES,
    *sparse_descent_run.CHAPTER.entries,
    *sparse_descent.ENTRIES,
    *appendix_a.ENTRIES,
    *regression_step.ENTRIES,
    *thresholding_step.ENTRIES,
    *thresholding_slips.CHAPTER.entries,
    *stein.ENTRIES,
    *privacy_inequality.ENTRIES,
)
