"""Ours and the peers on the same splits of a table, and what their scores say."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
import table_classifiers
import table_peers
from peer_process import Unavailable
from scipy import special, stats
from sklearn.metrics import accuracy_score, log_loss, r2_score
from table_data import TableData, encoded, unscaled, with_intercept
from table_libraries import Libraries, library_fits
from table_peers import Fit, Task
from table_schemas import TableSchema

from minimax.core.privacy import Approximate

DELTA = 1e-6
EPSILONS = (0.5, 1.0, 3.0)
SPLITS = 10
OURS = {"regression": "PrivateRegression", "classification": "PrivateClassifier"}
FLOOR = {"regression": "least squares", "classification": "logistic regression"}
Kind = Literal["ours", "private", "not private"]
KINDS: tuple[Kind, ...] = ("ours", "private", "not private")


class Match(NamedTuple):
    """One split, encoded for the peers, and the seed of all noise."""

    train: TableData
    test: TableData
    task: Task

    @classmethod
    def of(cls, data: TableData, split: int, seed: int) -> Match:
        """That of a seed."""
        train, test = data.split(split)
        return cls(train, test, Task.of(train, seed))


Predict = Callable[[Match, Approximate], np.ndarray]
"""Predictions for the test rows, in the units of the table; of classes, the second's chance."""


class Contestant(NamedTuple):
    """A way to predict."""

    name: str
    kind: Kind
    predict: Predict


def linear(fit: Fit, match: Match, privacy: Approximate) -> np.ndarray:
    """Predictions from encoded coefficients; numbers are kept within their public range."""
    score = with_intercept(encoded(match.test)) @ fit(match.task, privacy)
    if match.test.schema.task == "classification":
        return np.asarray(special.expit(score))
    return unscaled(np.clip(score, -1, 1), match.test.schema.response.bounds)


def our_model(schema: TableSchema, privacy: Approximate, seed: int) -> Any:
    """Ours for a schema: defaults, and what is public."""
    told = {"bounds": schema.bounds, "categories": schema.categories, "random_state": seed}
    if schema.task == "classification":
        from estimators.tables.classifier import PrivateClassifier

        return PrivateClassifier(privacy, classes=[0.0, 1.0], **told)
    from estimators.tables.regression import PrivateRegression

    return PrivateRegression(privacy, response_bounds=schema.response.bounds, **told)


def ours(match: Match, privacy: Approximate) -> np.ndarray:
    """By default, told the schema."""
    try:
        model = our_model(match.train.schema, privacy, match.task.seed)
    except ImportError as error:
        raise Unavailable(str(error)) from None
    model.fit(match.train.frame(), match.train.response)
    if match.test.schema.task == "classification":
        return np.asarray(model.predict_proba(match.test.frame())[:, 1])
    low, high = match.test.schema.response.bounds
    return np.clip(model.predict(match.test.frame()), low, high)


def contestants(schema: TableSchema, running: Libraries) -> list[Contestant]:
    """All for a task, ours first."""
    peers = table_peers if schema.task == "regression" else table_classifiers
    private = {**peers.PRIVATE, **library_fits(running)[schema.task]}
    return [
        Contestant(OURS[schema.task], "ours", ours),
        *(Contestant(name, "private", partial(linear, fit)) for name, fit in private.items()),
        *(
            Contestant(name, "not private", partial(linear, fit))
            for name, fit in peers.NOT_PRIVATE.items()
        ),
    ]


class Score(NamedTuple):
    """What one contestant reached on one split."""

    table: str
    epsilon: float
    name: str
    kind: Kind
    split: int
    figures: dict[str, float]
    seconds: float


def figures_of(match: Match, predicted: np.ndarray) -> dict[str, float]:
    """R^2, or accuracy and log loss."""
    truth = match.test.response
    if match.test.schema.task == "regression":
        return {"R2": float(r2_score(truth, predicted))}
    chances = np.clip(predicted, 1e-15, 1 - 1e-15)
    return {
        "accuracy": float(accuracy_score(truth, predicted > 0.5)),
        "log loss": float(log_loss(truth, chances)),
    }


def contest(
    data: TableData,
    running: Libraries,
    splits: int = SPLITS,
    epsilons: Iterable[float] = EPSILONS,
    kinds: tuple[Kind, ...] = KINDS,
    report: Callable[[str], None] = print,
) -> Iterator[Score]:
    """Everyone's scores on every split; who cannot take part is reported once and left out."""
    schema, missing = data.schema, set()
    for split in range(splits):
        match = Match.of(data, split, split)
        for each in contestants(schema, running):
            if each.kind not in kinds:
                continue
            once: tuple[dict[str, float], float] | None = None
            for epsilon in epsilons:
                if each.name in missing:
                    continue
                try:
                    if once is None or each.kind != "not private":
                        once = timed(each, match, Approximate(epsilon, DELTA))
                except Unavailable as reason:
                    missing.add(each.name)
                    report(f"{schema.name}: {each.name} is left out: {reason}")
                    continue
                yield Score(schema.name, epsilon, each.name, each.kind, split, *once)


def timed(each: Contestant, match: Match, privacy: Approximate) -> tuple[dict[str, float], float]:
    """Figures and seconds of one turn."""
    start = time.perf_counter()
    predicted = each.predict(match, privacy)
    return figures_of(match, predicted), time.perf_counter() - start


class Summary(NamedTuple):
    """A mean over splits with its standard error; ours less it, with half a 95 % interval."""

    mean: float
    error: float
    lead: float | None
    margin: float | None


def by_split(scores: Iterable[Score], name: str, epsilon: float, figure: str) -> dict[int, float]:
    """One contestant's figure on each split."""
    return {
        score.split: score.figures[figure]
        for score in scores
        if (score.name, score.epsilon) == (name, epsilon)
    }


def standard_error(values: np.ndarray) -> float:
    """Of a mean; infinite for a single value."""
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def summary(values: dict[int, float], mine: dict[int, float]) -> Summary:
    """The mean, and the paired difference on the splits that both have."""
    found = np.array(list(values.values()))
    both = sorted(set(values) & set(mine))
    if not both:
        return Summary(float(found.mean()), standard_error(found), None, None)
    lead = np.array([mine[k] - values[k] for k in both])
    quantile = float(stats.t.ppf(0.975, len(both) - 1)) if len(both) > 1 else 1.0
    margin = quantile * standard_error(lead)
    return Summary(float(found.mean()), standard_error(found), float(lead.mean()), margin)


class Line(NamedTuple):
    """A contestant's summaries, one for each epsilon."""

    name: str
    kind: Kind
    summaries: list[Summary]


def summarised(scores: list[Score], table: TableSchema, figure: str) -> list[Line]:
    """All contestants of a table, in the order in which they took part."""
    of_table = [score for score in scores if score.table == table.name]
    epsilons = sorted({score.epsilon for score in of_table})
    lines = []
    for name, kind in dict.fromkeys((score.name, score.kind) for score in of_table):
        found = [
            summary(
                by_split(of_table, name, epsilon, figure),
                by_split(of_table, OURS[table.task], epsilon, figure),
            )
            for epsilon in epsilons
        ]
        lines.append(Line(name, kind, found))
    return lines
