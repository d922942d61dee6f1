"""The bugs: where, what is replaced by what, what is wrong with it, and which tests notice."""

from __future__ import annotations

from typing import NamedTuple

INSIDE = "tests/contract/test_whitebox.py"
HYGIENE = "tests/contract/test_estimator_hygiene.py"
LAWS = "tests/unit/estimators/test_mechanisms.py"


class Mutant(NamedTuple):
    """A bug of one line."""

    kind: str
    path: str
    right: str
    wrong: str
    tests: tuple[str, ...]
    """Arguments of pytest that select the tests which should fail."""

    @property
    def name(self) -> str:
        """Where and what, in a line."""
        return f"{self.path.removeprefix('estimators/')}: {self.kind}"


def inside(name: str) -> tuple[str, ...]:
    """The white-box checks of the estimators whose name holds this."""
    return (INSIDE, "-k", name)


MECHANISMS, NOISE = "estimators/core/mechanisms.py", "estimators/core/noise.py"
MEAN, SPARSE_MEAN = "estimators/mean.py", "estimators/sparse_mean.py"
HISTOGRAM = "estimators/baselines/histogram.py"
BASELINE_MEAN, STABLE = "estimators/baselines/mean.py", "estimators/stable_sparse_mean.py"
REGRESSION, SPARSE = "estimators/regression.py", "estimators/sparse_regression.py"
ERM, STATISTICS = "estimators/sparse_erm.py", "estimators/baselines/statistics.py"
BASELINES = "estimators/baselines/regression.py"
SPARSE_BASELINES = "estimators/baselines/sparse_regression.py"
PERTURBATION = "estimators/baselines/objective_perturbation.py"
BASE, ACCOUNTING = "estimators/core/base.py", "estimators/core/accounting.py"
PHASES, TUNING = "estimators/residual_phases.py", "estimators/core/tuning.py"
PURSE, LABELS = "estimators/core/purse.py", "estimators/randomisers/labels.py"
SIGNS, VECTORS = "estimators/randomisers/signs.py", "estimators/randomisers/vectors.py"
LAST = "tests/mutation/test_laws.py"
SENSITIVITY = "tests/properties/test_mean_sensitivity.py"

MUTANTS = (
    # --- Scale ---
    Mutant(
        "scale: Laplace noise without its sensitivity",
        MECHANISMS,
        "    scale = float(l1_sensitivity) / float(epsilon)\n",
        "    scale = 1 / float(epsilon)\n",
        (LAWS, "-k", "laplace"),
    ),
    Mutant(
        "scale: Laplace noise of half the stated scale",
        NOISE,
        "    return value + rng.laplace(scale=scale, size=np.shape(value))",
        "    return value + rng.laplace(scale=scale / 2, size=np.shape(value))",
        (LAWS, "-k", "laplace"),
    ),
    Mutant(
        "scale: Gaussian noise of another power",
        NOISE,
        "    return value + scale * rng.standard_normal(np.shape(value))",
        "    return value + scale**0.5 * rng.standard_normal(np.shape(value))",
        (LAWS, "-k", "gaussian"),
    ),
    Mutant(
        "scale: one noise for all coordinates",
        NOISE,
        "    return value + scale * rng.standard_normal(np.shape(value))",
        "    return value + scale * rng.standard_normal()",
        (LAWS, "-k", "gaussian"),
    ),
    Mutant(
        "scale: Gumbel noise without the factor 2",
        MECHANISMS,
        "    scale = 2 * sensitivity / epsilon\n    winner = int(gumbel_top(",
        "    scale = sensitivity / epsilon\n    winner = int(gumbel_top(",
        (LAWS, "-k", "exponential_mechanism"),
    ),
    Mutant(
        "scale: top-k without the factor 2",
        MECHANISMS,
        "    scale = 2 * sensitivity / epsilon\n    ordered",
        "    scale = sensitivity / epsilon\n    ordered",
        (LAWS, "-k", "gumbel_top_k"),
    ),
    Mutant(
        "scale: noisy maximum without the factor 2",
        MECHANISMS,
        "    scale = 2 * sensitivity / epsilon\n    winner = noisy_winner",
        "    scale = sensitivity / epsilon\n    winner = noisy_winner",
        (LAWS, "-k", "noisy_max"),
    ),
    Mutant(
        "scale: K-norm noise with one degree less",
        MECHANISMS,
        "        noise = rng.gamma(d) * direction / np.linalg.norm(direction)",
        "        noise = rng.gamma(max(d - 1, 1)) * direction / np.linalg.norm(direction)",
        ("tests/unit/estimators/test_k_norm.py",),
    ),
    Mutant(
        "scale: a cube's noise drawn for a ball",
        MECHANISMS,
        "        noise = rng.gamma(d + 1) * rng.uniform(-1, 1, size=value.shape)",
        "        noise = rng.gamma(2) * rng.uniform(-1, 1, size=value.shape)",
        inside("NoisyMean"),
    ),
    # --- Clip ---
    Mutant(
        "clip: a mean of records as they come",
        BASE,
        "        out += np.add.reduce(np.clip(chunk, low, high), axis=0, dtype=float)",
        "        out += np.add.reduce(chunk, axis=0, dtype=float)",
        inside("NoisyMean"),
    ),
    Mutant(
        "clip: from above only",
        BASE,
        "        out += np.add.reduce(np.clip(chunk, low, high), axis=0, dtype=float)",
        "        out += np.add.reduce(np.minimum(chunk, high), axis=0, dtype=float)",
        inside("NoisyMean"),
    ),
    Mutant(
        "clip: balls that do not shorten",
        BASE,
        "        out += unit * ((short / np.maximum(np.sqrt(squares), short)) @ shifted)",
        "        out += unit * (np.ones(len(squares)) @ shifted)",
        inside("CoinPressMean"),
    ),
    Mutant(
        "clip: balls that shorten by a root",
        BASE,
        "        out += unit * ((short / np.maximum(np.sqrt(squares), short)) @ shifted)",
        "        out += unit * (np.sqrt(short / np.maximum(np.sqrt(squares), short)) @ shifted)",
        inside("CoinPressMean"),
    ),
    Mutant(
        "clip: responses as they come",
        SPARSE,
        "        y, level = window.clipped(y), window.largest\n",
        "        level = window.largest\n",
        inside("PrivateHardThresholding"),
    ),
    Mutant(
        "clip: entries as they come (sparse path)",
        SPARSE,
        "        design = clipped_design(X, self._entry_bound)",
        "        design = clipped_design(X, math.inf)",
        inside("PrivateHardThresholding"),
    ),
    Mutant(
        "clip: responses of sufficient statistics",
        STATISTICS,
        "design.moments(weights, np.clip(y, -R, R))",
        "design.moments(weights, y)",
        inside("AdaptiveSufficientStatistics"),
    ),
    Mutant(
        "clip: rows of a sketch",
        BASELINES,
        "    weights = bound / np.maximum(np.hypot(design.norms, y), bound)",
        "    weights = np.ones(len(y))",
        ("tests/properties/test_baseline_sensitivity.py",),
    ),
    Mutant(
        "clip: votes of blocks on raw entries",
        SPARSE_BASELINES,
        "            votes[lasso_support(part, y[block], s, penalty)] += 1",
        "            votes += np.abs(part.T @ y[block])",
        inside("TwoStageRegression"),
    ),
    Mutant(
        "clip: a window about the centre",
        BASELINE_MEAN,
        "    np.clip(shifted, np.float64(-half), np.float64(half), out=shifted)",
        "    shifted = np.clip(column, np.float64(-half), np.float64(half)) - np.float64(centre)",
        (SENSITIVITY, "-k", "karwa or Karwa or bins or window or centred"),
    ),
    # --- Sensitivity ---
    Mutant(
        "sensitivity: added or removed in place of replaced",
        MEAN,
        "        noisy, entry = self.noisy_average(average, 2 * window.half / n, budget, rng)",
        "        noisy, entry = self.noisy_average(average, window.half / n, budget, rng)",
        inside("NoisyMean"),
    ),
    Mutant(
        "sensitivity: of one coordinate for all",
        MEAN,
        "        l2 = step if ball else step * math.sqrt(average.size)",
        "        l2 = step",
        inside("NoisyMean"),
    ),
    Mutant(
        "sensitivity: of a phase",
        MEAN,
        "/ len(X), 2 * phase.R / len(X)",
        "/ len(X), phase.R / len(X)",
        inside("NoisyMean"),
    ),
    Mutant(
        "sensitivity: of a phase without its slack",
        BASELINE_MEAN,
        "            l2 = 2 * (radii[-1] + gamma) / n",
        "            l2 = 2 * radii[-1] / n",
        inside("CoinPressMean"),
    ),
    Mutant(
        "sensitivity: of a sum of gradients",
        ERM,
        "gradient, l2_sensitivity=2 * clip / n, scale=scale",
        "gradient, l2_sensitivity=clip / n, scale=scale",
        inside("NoisyHardThresholding"),
    ),
    Mutant(
        "sensitivity: of a gradient without the rows' bound",
        REGRESSION,
        "        simple = 2 * (level + radius * c) * c / n",
        "        simple = level * c / n",
        inside("NoisyGradientRegression"),
    ),
    Mutant(
        "sensitivity: of X'X, as if records were added",
        STATISTICS,
        "    return StatisticsNoise(square, math.sqrt(2) * square, 2 * row_bound * R)",
        "    return StatisticsNoise(square, square / 2, 2 * row_bound * R)",
        ("tests/properties/test_baseline_sensitivity.py",),
    ),
    Mutant(
        "sensitivity: of the joint statistics",
        STATISTICS,
        "        return math.sqrt(2) * row_bound**2 * (1 + square / 2)",
        "        return row_bound**2 * (1 + square / 2)",
        inside("AdaptiveSufficientStatistics"),
    ),
    Mutant(
        "sensitivity: the smallest eigenvalue, as if it were an average",
        BASELINES,
        "        distance = float(least_eigenvalue(gram)) / square - level",
        "        distance = 4 * float(least_eigenvalue(gram)) / square - level",
        (LAST,),
    ),
    Mutant(
        "sensitivity: order statistics move half as far",
        STABLE,
        "    return -np.diff(top) * (n / (4 * R))",
        "    return -np.diff(top) * (n / (2 * R))",
        ("tests/properties/test_sparse_sensitivity.py",),
    ),
    Mutant(
        "sensitivity: values of a stable support",
        STABLE,
        "    l1 = 2 * R * size / n",
        "    l1 = 2 * R / n",
        inside("StableSparseMean"),
    ),
    Mutant(
        "sensitivity: of residuals in a phase",
        PHASES,
        "        return 2 * phase.clip * self.row_length / self.n",
        "        return phase.clip * self.row_length / self.n",
        inside("ResidualClippedRegression and not Sparse"),
    ),
    Mutant(
        "sensitivity: sums of losses in cross-validation",
        TUNING,
        "        sensitivity=2 * level,",
        "        sensitivity=level / 4,",
        inside("SparseMean"),
    ),
    # --- Split and composition ---
    Mutant(
        "split: every part is the whole",
        BASE,
        "    return [_part(privacy, share) for share in shares]",
        "    return [privacy for share in shares]",
        inside("CoinPressMean"),
    ),
    Mutant(
        "split: mu in proportion, not its square",
        BASE,
        "    power = 0.5 if isinstance(privacy, Gaussian) else 1.0",
        "    power = 0.25 if isinstance(privacy, Gaussian) else 1.0",
        inside("CoinPressMean"),
    ),
    Mutant(
        "composition: the count of calls is forgotten",
        ACCOUNTING,
        "ZeroConcentrated(loss_law.added(tuple((_rho(e), e.count) for e in ledger)))",
        "ZeroConcentrated(loss_law.added(tuple((_rho(e), 1) for e in ledger)))",
        (LAWS, "-k", "totals or composition"),
    ),
    Mutant(
        "composition: the worst call for all of them",
        ACCOUNTING,
        "Pure(loss_law.added(tuple((_epsilon(entry), entry.count) for entry in ledger)))",
        "Pure(max(_epsilon(entry) for entry in ledger))",
        (LAWS, "-k", "composition or count or totals"),
    ),
    Mutant(
        "composition: steps of a descent counted once",
        ERM,
        "        self._account([replace(entry, count=steps)])",
        "        self._account([entry])",
        inside("NoisyHardThresholding"),
    ),
    Mutant(
        "missing entry: the search for a level is not paid for",
        "estimators/core/truncation.py",
        "        ledger.append(entry)\n        return Window(-level, level)",
        "        return Window(-level, level)",
        inside("NoisyMean"),
    ),
    Mutant(
        "missing entry: selection is not paid for",
        SPARSE_BASELINES,
        "        self._account([selected, noise])",
        "        self._account([noise])",
        inside("TwoStageRegression"),
    ),
    Mutant(
        "missing entry: a phase of the purse",
        PURSE,
        "        self.ledger.append(entry)\n        return noisy\n\n    def cube",
        "        return noisy\n\n    def cube",
        inside("PrivateRegression"),
    ),
    Mutant(
        "group sizes: folds charged as if disjoint",
        SPARSE_MEAN,
        "        replace(e, count=e.count * (n_folds - 1), about=",
        "        replace(e, count=e.count, about=",
        ("tests/unit/estimators/test_sparse_mean_estimators.py", "-k", "cv or fold or cross"),
    ),
    Mutant(
        "fold sizes: noise for the whole sample, training on a part",
        SPARSE_MEAN,
        "            2 * window.half / complement,\n",
        "            2 * window.half / n,\n",
        inside("SparseMean"),
    ),
    # --- Quantiles, thresholds, tests ---
    Mutant(
        "threshold: no noise on the threshold",
        MECHANISMS,
        "    noisy = threshold + rng.laplace(scale=2 / epsilon)",
        "    noisy = threshold + 0 * rng.laplace(scale=2 / epsilon)",
        (LAST,),
    ),
    Mutant(
        "threshold: fresh noise is half of what is paid for",
        MECHANISMS,
        "        if count + rng.laplace(scale=4 / epsilon) >= noisy:",
        "        if count + rng.laplace(scale=1 / epsilon) >= noisy:",
        (LAST,),
    ),
    Mutant(
        "test: proposals pass at a distance of one",
        MECHANISMS,
        "    threshold = 1 + math.log(1 / (2 * delta)) / epsilon\n    passed",
        "    threshold = 1 / epsilon\n    passed",
        (LAWS, "-k", "propose"),
    ),
    Mutant(
        "bins: a threshold without the record of its own",
        HISTOGRAM,
        "    return 1 + 2 / privacy.epsilon * math.log(1 / min(2 * privacy.delta, 1.0))",
        "    return 1 / privacy.epsilon * math.log(1 / min(2 * privacy.delta, 1.0))",
        (LAST,),
    ),
    # --- Objective perturbation ---
    Mutant(
        "linear term: none",
        SPARSE_BASELINES,
        "        linear = linear_term(perturbed, len(support), rng)",
        "        linear = 0 * linear_term(perturbed, len(support), rng)",
        (LAST,),
    ),
    Mutant(
        "linear term: twice the records' gradient is forgotten",
        PERTURBATION,
        "        return Perturbation(ridge, 4 * gradient / privacy.epsilon, privacy)",
        "        return Perturbation(ridge, gradient / privacy.epsilon, privacy)",
        ("tests/unit/estimators/test_objective_perturbation.py",),
    ),
    # --- Local and label reports ---
    Mutant(
        "labels: reports of raw labels",
        LABELS,
        'y = clipped(y, self.bound)\n        entry = LedgerEntry(\n            "laplace",',
        'y = np.asarray(y, float)\n        entry = LedgerEntry(\n            "laplace",',
        ("tests/properties/test_label_sensitivity.py",),
    ),
    Mutant(
        "labels: half of the noise",
        LABELS,
        "    return Release(with_laplace(y, entry.scale, rng), entry)",
        "    return Release(with_laplace(y, entry.scale / 2, rng), entry)",
        ("tests/unit/estimators/test_label_randomisers.py",),
    ),
    # --- What a fit keeps and tells ---
    Mutant(
        "seed: the same noise in every fit",
        BASE,
        "        return np.random.Generator(system_bits())\n",
        "        return np.random.default_rng(0)\n",
        (HYGIENE, "-k", "unseeded"),
    ),
    Mutant(
        "seed: a fit keeps its generator",
        BASE,
        "        return source if drawing is None else drawing.generator(source)",
        "        self._source = source\n        return source",
        (HYGIENE, "-k", "keeps_no_generator"),
    ),
    Mutant(
        "stored: the average before noise",
        MEAN,
        "        self.mean_, self.R_ = noisy, self._reported(window)\n",
        "        self.mean_, self.R_ = noisy, self._reported(window)\n"
        "        self.raw_ = average\n",
        (HYGIENE, "-k", "NoisyMean"),
    ),
    Mutant(
        "stored: the release without its noise",
        MEAN,
        "        self.mean_, self.R_ = noisy, self._reported(window)\n",
        "        self.mean_, self.R_ = average, self._reported(window)\n",
        inside("NoisyMean"),
    ),
    Mutant(
        "stored: an error that names a record's size",
        MEAN,
        "        average = self._clipped_mean(X, window)\n",
        "        average = self._clipped_mean(X, window)\n        assert np.abs(X).max() < 1e100\n",
        (HYGIENE, "-k", "NoisyMean"),
    ),
)
