"""What `bench/tables.py` makes of its figures: summaries, document, plot, sums over many rows."""

import importlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.unit.test_bench_tables import BUDGET, ROOT, made_up_table

DOCUMENT = ROOT / "docs" / "tables.md"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Modules of the bench by name."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return lambda name: importlib.import_module(name)


def scores(bench: Any, splits: int = 4) -> list[Any]:
    """Made-up figures of all tables."""
    found, contest = [], bench("table_contest")
    for schema in bench("table_schemas").TABLES:
        names = {contest.OURS[schema.task]: "ours", "AdaSSP": "private"}
        names |= {contest.FLOOR[schema.task]: "not private"}
        for place, (name, kind) in enumerate(names.items()):
            for epsilon in contest.EPSILONS:
                for split in range(splits):
                    figures = dict.fromkeys(
                        bench("table_report").FIGURES[schema.task],
                        0.8 - 0.1 * place + 0.01 * split * (place + 1),
                    )
                    found.append(
                        contest.Score(schema.name, epsilon, name, kind, split, figures, 0.1)
                    )
    return found


def test_everyone_takes_part_on_the_same_splits(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    peers, contest = bench("table_peers"), bench("table_contest")
    monkeypatch.setattr(peers, "STEPS", (20,))
    monkeypatch.setattr(peers, "TUNING_SETS", 1)
    peers.descent_tuning.cache_clear()
    running, said = bench("table_libraries").Libraries(None, ROOT), []
    data = made_up_table(bench, "housing", 3_000)
    found = list(contest.contest(data, running, 2, (1.0, 3.0), report=said.append))
    peers.descent_tuning.cache_clear()
    assert len(said) == 1
    assert "--no-peers" in said[0]
    counts = {score.name: 0 for score in found}
    for score in found:
        counts[score.name] += 1
    assert set(counts.values()) == {4}
    assert set(counts) == {"PrivateRegression", *peers.PRIVATE, *peers.NOT_PRIVATE}
    floor = contest.by_split(found, "least squares", 1.0, "R2")
    assert floor == contest.by_split(found, "least squares", 3.0, "R2")
    mine = contest.by_split(found, "PrivateRegression", 1.0, "R2")
    assert mine != contest.by_split(found, "PrivateRegression", 3.0, "R2")
    again = list(contest.contest(data, running, 2, (1.0,), kinds=("ours",)))
    assert contest.by_split(again, "PrivateRegression", 1.0, "R2") == mine
    assert {score.kind for score in again} == {"ours"}


def test_differences_are_of_the_same_splits(bench: Any) -> None:
    summary = bench("table_contest").summary
    rng = np.random.default_rng(0)
    common = rng.normal(size=10)
    mine = dict(enumerate(common + 0.5))
    found = summary(dict(enumerate(common)), mine)
    assert found.lead == pytest.approx(0.5)
    assert found.margin == pytest.approx(0)
    assert found.error > 0.1
    shuffled = summary(dict(enumerate(rng.permutation(common))), mine)
    assert shuffled.margin > 0.1
    assert summary({0: 1.0}, {}).lead is None


def test_intervals_of_differences_cover(bench: Any) -> None:
    summary, rng, held = bench("table_contest").summary, np.random.default_rng(1), 0
    for _ in range(1_000):
        found = summary(dict(enumerate(rng.normal(size=10))), dict(enumerate(rng.normal(size=10))))
        held += abs(found.lead) <= found.margin
    assert 920 <= held <= 978  # 95 % of 1,000 is 950; P(outside) < 1e-4


def test_the_best_private_peer_decides(bench: Any) -> None:
    verdicts = bench("table_report").peer_verdicts(scores(bench))
    said = {verdict.goal: verdict.met for verdict in verdicts}
    assert len(said) == 3 * 3 + 3 * 2
    assert all("AdaSSP" in goal for goal in said)
    # Ours has the larger figures: ahead in R^2 and accuracy, behind in log loss.
    assert all(met == ("log loss" not in goal) for goal, met in said.items())


def test_figures_survive_being_kept(bench: Any) -> None:
    report, sections = bench("table_report"), bench("table_sections")
    figures = report.Figures(scores(bench), means=[sections.MeanRow("a", 1.0, 0.1, 0.01, None)])
    again = report.Figures.from_json(json.loads(json.dumps(figures.as_json())))
    assert again == figures
    assert again.splits == 4


def test_the_document_says_all_that_was_measured(bench: Any, tmp_path: Path) -> None:
    report = bench("table_report")
    figures = report.Figures(scores(bench))
    text = report.document(figures)
    for schema in bench("table_schemas").TABLES:
        assert f"## {schema.title}" in text
    assert "4 splits" in text
    assert text.endswith(report.schema_section())
    assert report.document(report.Figures()).endswith(report.schema_section())
    bench("table_plot").plot(figures.scores, tmp_path / "plot.png")
    assert (tmp_path / "plot.png").stat().st_size > 10_000


def public_part(text: str, heading: str) -> str:
    """The last section of the document."""
    return text[text.index(heading) :]


def test_the_document_has_the_schemas_of_the_bench(bench: Any) -> None:
    report = bench("table_report")
    text = DOCUMENT.read_text(encoding="utf-8")
    assert public_part(text, report.PUBLIC_HEADING) == report.schema_section()
    changed = text.replace("0 to 500,001", "0 to 600,000")
    assert public_part(changed, report.PUBLIC_HEADING) != report.schema_section()
    assert report.PEERS_SECTION in text
    assert (DOCUMENT.with_suffix(".png")).exists()


@pytest.mark.parametrize("name", ["housing", "diamonds", "parkinsons"])
def test_coefficients_in_units_of_the_table_predict_the_same(bench: Any, name: str) -> None:
    sections, data = bench("table_sections"), made_up_table(bench, name, 400)
    slopes = sections.table_least_squares(data)
    design = sections.unit_design(data)
    for column, values in zip(data.schema.features, design.T, strict=False):
        if not column.is_number:
            break
        assert values == pytest.approx(data.columns[column.name])
    table_data = bench("table_data")
    Z = table_data.with_intercept(table_data.encoded(data))
    plain = Z @ np.linalg.lstsq(Z, data.response, rcond=None)[0]
    assert slopes[0] + design @ slopes[1:] == pytest.approx(plain, rel=1e-6)


class Classical:
    """Least squares with the intervals of a textbook, for the bench to measure."""

    def __init__(self, sections: Any, bench: Any, schema: Any, factor: float) -> None:
        self.sections, self.bench, self.schema, self.factor = sections, bench, schema, factor

    def _design(self, frame: Any) -> Any:
        columns = {name: frame[name].to_numpy() for name in frame.columns}
        table = self.bench("table_data").TableData(self.schema, columns, np.zeros(len(frame)))
        return self.bench("table_data").with_intercept(self.sections.unit_design(table))

    def fit(self, frame: Any, y: Any) -> Any:
        Z = self._design(frame)
        inverse = np.linalg.inv(Z.T @ Z)
        self.coef = inverse @ (Z.T @ y)
        meat = (Z * (y - Z @ self.coef)[:, None]).T @ (Z * (y - Z @ self.coef)[:, None])
        self.covariance = inverse @ meat @ inverse
        return self

    def _around(self, centre: Any, variance: Any) -> Any:
        half = self.factor * 1.645 * np.sqrt(variance)
        return centre - half, centre + half

    def confidence_interval(self, level: float) -> Any:
        return self._around(self.coef[1:], np.diag(self.covariance)[1:])

    def fitted_interval(self, frame: Any, level: float) -> Any:
        Z = self._design(frame)
        return self._around(Z @ self.coef, np.einsum("ij,jk,ik->i", Z, self.covariance, Z))


def test_coverage_is_that_of_the_intervals(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sections, data = bench("table_sections"), made_up_table(bench, "parkinsons", 600)
    low, high = data.schema.response.bounds
    noisy = data.response + np.random.default_rng(9).normal(0, 0.05 * (high - low), len(data))
    data = replace(data, response=np.clip(noisy, low, high))
    for factor, wanted in ((1.0, (0.86, 0.93)), (0.5, (0.5, 0.68))):
        monkeypatch.setattr(
            sections,
            "our_model",
            lambda schema, *_, f=factor: Classical(sections, bench, schema, f),
        )
        for row in sections.coverage_rows(data, 60):
            assert wanted[0] < row.coverage < wanted[1]
            assert row.met == (row.coverage >= row.goal)
            assert 0 < row.half_width < 1


def test_goals_and_wide_ranges_compare_with_least_squares(
    bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    sections, data = bench("table_sections"), made_up_table(bench, "housing", 500)
    peers, contest = bench("table_peers"), bench("table_contest")
    monkeypatch.setattr(sections, "ours", lambda m, p: contest.linear(peers.least_squares, m, p))
    rows = sections.goal_rows(data, splits=2, seeds=2)
    assert [row.epsilon for row in rows] == [1.0, 0.3]
    assert all(row.ours == pytest.approx(row.floor) for row in rows)
    verdicts = sections.goal_verdicts(rows)
    assert len(verdicts) == 3
    assert all(verdict.met for verdict in verdicts)
    behind = [row._replace(ours=row.ours - 0.5) for row in rows]
    assert not any(verdict.met for verdict in sections.goal_verdicts(behind))
    wide = sections.wide_rows(data, 2)
    mine, statistics, _ = wide
    assert mine.told == pytest.approx(mine.wide)  # least squares does not read ranges
    assert statistics.wide < statistics.told
    assert all(verdict.met for verdict in sections.wide_verdicts(wide))
    assert not any(v.met for v in sections.wide_verdicts([mine._replace(wide=0.0)]))


def test_means_have_no_more_noise_than_the_plain_mechanism(bench: Any) -> None:
    sections, running = bench("table_sections"), bench("table_libraries").Libraries(None, ROOT)
    said: list[str] = []
    rows = list(sections.mean_rows(made_up_table(bench, "adult", 3_000), running, 30, said.append))
    assert len(said) == 2 * 3
    assert all(verdict.met for verdict in sections.mean_verdicts(rows))
    for row in rows:
        widths = np.ones(6)
        plain = sections.plain_gaussian(widths, 3_000, type(BUDGET)(row.epsilon, 1e-6))
        wanted = row.noise * np.sum(plain**2)
        assert row.error == pytest.approx(wanted, abs=5 * row.deviation)
    louder = [row._replace(noise=1.2) for row in rows]
    assert not any(verdict.met for verdict in sections.mean_verdicts(louder))


def test_the_stream_is_the_same_each_time_and_counts(bench: Any) -> None:
    large = bench("table_large")
    stream = large.Stream(large.CHUNK + 10, responses=True)
    first, second = list(stream()), list(stream())
    assert [len(y) for _, y in first] == [large.CHUNK, 10]
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first, second, strict=True))
    assert not np.array_equal(first[0][0][:10], first[1][0])
    assert stream.passes == pytest.approx(2)
    assert max(np.abs(X).max() for X, _ in first) <= 1


def test_time_and_memory_of_many_rows(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    large = bench("table_large")
    monkeypatch.setattr(large, "CHUNK", 2_000)
    rows = list(large.large_rows(100_000))
    assert [row.name for row in rows] == ["PrivateMean", "PrivateRegression"]
    for row in rows:
        assert row.passes >= 1
        assert large.large_verdicts(row)[0].met
    growing = rows[0]._replace(memory=(1.0, 10.0))
    assert not large.large_verdicts(growing)[0].met
