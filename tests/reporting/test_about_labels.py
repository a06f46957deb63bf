"""Evaluation, queries and one query: the numbers are those of cc.evaluate and of the paired tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from tests.conftest import Run
from tests.reporting.test_reporting import EXAMPLES, HOSTILE, RUNS, Tree

import concordant as cc
from concordant.evaluation import on_shared_instances, paired_tests, ranking_of_run, rankings_of_runs, run_of_ranking
from concordant.reporting.about_labels import (
    favoured,
    labels_section,
    metrics_of_methods,
    queries_section,
    query_section,
)
from concordant.reporting.pages import page, rendered
from concordant.reporting.sections import Control, Fold, Messages, ReportTable, Section, Tag, Text, Versus
from concordant.reporting.study import Data, Study

pytestmark = pytest.mark.once

METRICS = ("ndcg@10", "map", "mrr")


def study_of(prefs: cc.Preferences, labels: cc.Labels, methods: tuple[str, ...] | None = ()) -> Study:
    return Study(Data(prefs), cc.rank(prefs, "rrf"), methods, labels, METRICS)


@pytest.fixture(scope="module")
def study() -> Study:
    return study_of(cc.read(RUNS), cc.read_labels(EXAMPLES / "qrels.txt"))


@pytest.fixture(scope="module")
def results(study: Study) -> dict[str, cc.Evaluation]:
    labels = study.labels
    assert labels is not None
    runs = {path.stem: cc.evaluate(cc.read(path), labels, METRICS) for path in RUNS}
    fused = run_of_ranking(cc.rank(cc.read(RUNS), "rrf"), 15)
    return on_shared_instances({"rrf": cc.evaluate(fused, labels, METRICS), **runs})


def parts_of(section: Section | None, kind: type) -> list[Any]:
    assert section is not None
    inner = [part for fold in section.parts if isinstance(fold, Fold) for part in fold.parts]
    return [part for part in [*section.parts, *inner] if isinstance(part, kind)]


def texts(section: Section | None) -> str:
    assert section is not None
    told = [message.text for part in parts_of(section, Messages) for message in part.messages]
    return " ".join([section.note, *told, *(part.text for part in parts_of(section, Text))])


def name_of(cell: object) -> str:
    shown = getattr(cell, "text", cell)
    return "rrf" if shown == "Reciprocal rank fusion" else str(shown)


def signed(text: str) -> float:
    return float(text.removesuffix(" ★").replace("−", "-"))


# ---- metrics ----
def test_the_metrics_are_those_of_evaluate(study: Study, results: dict[str, cc.Evaluation]) -> None:
    table = parts_of(labels_section(study), ReportTable)[0]
    assert {name_of(row[0]) for row in table.rows} == set(results)
    for row in table.rows:
        means = results[name_of(row[0])].means
        assert [float(row[1]), *map(float, row[3:5])] == pytest.approx(list(means.values()), abs=5e-5)
        assert row[2].value == pytest.approx(means["ndcg@10"])
        assert row[2].low <= row[2].value <= row[2].high
    assert table.scale is not None
    assert table.scale.low == 0.0
    order = [results[name_of(row[0])]["ndcg@10"] for row in table.rows]
    assert order == sorted(order, reverse=True)
    assert [name_of(table.rows[k][0]) for k in table.chosen] == ["rrf"]


@pytest.mark.parametrize("baseline", ["", "engine3", "rrf"])
def test_the_tests_are_paired_tests_against_the_baseline(
    study: Study, results: dict[str, cc.Evaluation], baseline: str
) -> None:
    best = max((name for name in results if name != "rrf"), key=lambda name: results[name]["ndcg@10"])
    expected = {test["system"]: test for test in paired_tests(results, baseline or best) if test["metric"] == "ndcg@10"}
    table = parts_of(labels_section(study, baseline), ReportTable)[0]
    for row in table.rows:
        name = name_of(row[0])
        if name == (baseline or best):
            assert row[5] == "baseline"
            continue
        test = expected[name]
        assert signed(row[5]) == pytest.approx(test["difference"], abs=5e-5)
        assert row[5].endswith("★") == test["significant"]
        assert [float(row[6]), float(row[7])] == pytest.approx([test["p"], test["p_holm"]], abs=5e-5)


def test_an_unknown_baseline_gives_a_sentence(study: Study) -> None:
    assert "There is no run named 'nobody'. The baseline is engine1." in texts(labels_section(study, "nobody"))


def test_metrics_that_favour_different_runs_are_named(study: Study, results: dict[str, cc.Evaluation]) -> None:
    leaders = favoured(study)
    assert list(leaders) == list(METRICS)
    for metric, name in leaders.items():
        assert results[name][metric] == max(result[metric] for result in results.values())
    assert "favour different runs" in texts(labels_section(study))


def test_runs_that_lead_by_all_metrics_are_not_a_dispute() -> None:
    rows = [("good", "q1", "d1", 2), ("good", "q1", "d2", 1), ("good", "q2", "d1", 2), ("good", "q2", "d2", 1),
            ("bad", "q1", "d2", 2), ("bad", "q1", "d1", 1), ("bad", "q2", "d2", 2), ("bad", "q2", "d1", 1)]  # fmt: skip
    study = study_of(runs_of(rows), cc.Labels(["q1", "q2"], ["d1", "d1"], [1, 1]))
    assert len(set(favoured(study).values())) == 1
    assert "favour" not in texts(labels_section(study))


def test_other_fusion_methods_are_evaluated_in_a_table_of_their_own(results: dict[str, cc.Evaluation]) -> None:
    whole = study_of(cc.read(RUNS), cc.read_labels(EXAMPLES / "qrels.txt"), None)
    section = labels_section(whole)
    assert section is not None
    first, *_ = (part for part in section.parts if isinstance(part, ReportTable))
    assert {name_of(row[0]) for row in first.rows} == set(results)
    assert "compared" not in vars(whole), "metrics of runs need no comparison of methods"
    others = metrics_of_methods(whole)
    assert others is not None
    assert "Borda count" in [name_of(row[0]) for row in others.rows]


def runs_of(rows: list[tuple[str, str, str, float]]) -> cc.Preferences:
    run, query, document, score = zip(*rows, strict=True)
    return cc.Preferences.from_ratings(run, document, score, instance=query)


def test_the_command_warns_if_no_document_is_judged(run: Run, tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 x1 1\n2 0 x2 1\n", encoding="utf-8")
    code, _, err = run("evaluate", *RUNS, "--labels", tmp_path / "qrels")
    assert code == 0
    assert err.count("no ranked item is judged") == 1


def test_documents_that_are_not_judged_at_all_give_a_warning() -> None:
    rows = [("one", "q1", "d1", 2), ("one", "q2", "d2", 1), ("two", "q1", "d2", 2), ("two", "q2", "d1", 1)]
    labels = cc.Labels(["q1", "q2"], ["x1", "x2"], [1, 1])
    study = study_of(runs_of(rows), labels)
    assert "No run contains a judged document" in texts(labels_section(study))
    evaluation = cc.evaluate({"q1": {"d1": 1.0}}, {"q1": {"x1": 1}})
    assert [notice.name for notice in evaluation.warnings] == ["unjudged-items"]
    assert not cc.evaluate({"q1": {"d1": 1.0}}, {"q1": {"d1": 0}}).warnings


def test_one_blind_run_is_named() -> None:
    rows = [("one", "q1", "d1", 2), ("one", "q2", "d2", 1), ("two", "q1", "y", 2), ("two", "q2", "z", 1)]
    section = labels_section(study_of(runs_of(rows), cc.Labels(["q1", "q2"], ["d1", "d2"], [1, 1])))
    assert "Of two, no ranking contains a judged document" in texts(section)


def test_without_judgements_there_is_no_section() -> None:
    study = Study(Data(cc.read(RUNS)), cc.rank(cc.read(RUNS), "rrf"), ())
    assert labels_section(study) is None
    assert queries_section(study) is None
    assert query_section(study) is None
    assert favoured(study) == {}


def test_a_run_may_be_named_like_a_method() -> None:
    rows = [("rrf", "q1", "d1", 2), ("rrf", "q1", "d2", 1), ("rrf", "q2", "d2", 1), ("borda", "q1", "d2", 2),
            ("borda", "q1", "d1", 1), ("borda", "q2", "d2", 1)]  # fmt: skip
    study = study_of(runs_of(rows), cc.Labels(["q1", "q2"], ["d1", "d2"], [1, 1]))
    names = {name_of(row[0]) for row in parts_of(labels_section(study), ReportTable)[0].rows}
    assert names == {"rrf", "rrf (run)", "borda (run)"}


def test_runs_are_sorted_together_as_each_alone() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"r{r}", f"q{q}", f"d{d}", float(rng.integers(3)))
        for r in range(4) for q in range(5) for d in rng.permutation(8)[:5].tolist() if (r, q) != (2, 3)
    ]  # fmt: skip
    prefs = runs_of(rows)
    for agent, ranking in rankings_of_runs(prefs).items():
        alone = ranking_of_run(prefs.select(agents=agent))
        assert ranking.instances == alone.instances
        assert [one.items for one in ranking] == [one.items for one in alone]
        assert np.array_equal(ranking.score[ranking.order], alone.score[alone.order])


@pytest.mark.parametrize("method", ["rrf", "borda"])
def test_a_fused_run_is_evaluated_as_the_command_writes_it(run: Run, tmp_path: Path, method: str) -> None:
    rng = np.random.default_rng(1)
    rows = [
        (f"r{r}", f"q{q}", f"d{d}", float(score))
        for r in range(3) for q in range(6) for score, d in enumerate(rng.permutation(14)[:7].tolist())
    ]  # fmt: skip
    paths = [tmp_path / f"r{k}.run" for k in range(3)]
    for k, path in enumerate(paths):
        cc.write(runs_of(rows).select(agents=f"r{k}"), path, format="trec")
    labels = cc.Labels([f"q{q}" for q in range(6) for _ in range(4)], [f"d{3 * k}" for _ in range(6) for k in range(4)],
                       rng.integers(0, 3, 24).tolist())  # fmt: skip
    prefs = cc.read(paths)
    study = Study(Data(prefs), cc.rank(prefs, method), (), labels, METRICS)
    assert study.depth == 7
    fused = tmp_path / "fused.run"
    run("fuse", *map(str, paths), "--method", method, "--depth", "7", "-o", str(fused))
    written = cc.evaluate(cc.read(fused), labels, METRICS)
    for metric, values in study.run_evaluations[method].per_instance.items():
        assert np.array_equal(values, written.per_instance[metric])
    assert "cut at 7 documents per query" in texts(labels_section(study))


# ---- queries ----
def test_every_query_shows_its_judgements_and_its_difference(study: Study, results: dict[str, cc.Evaluation]) -> None:
    table = parts_of(queries_section(study), ReportTable)[0]
    names = results["rrf"].instances
    assert names is not None
    assert study.labels is not None
    assert {row[0] for row in table.rows} == set(names.labels)
    for row, link in zip(table.rows, table.links, strict=True):
        q = names.code(row[0])
        own, base = (results[name].per_instance["ndcg@10"][q] for name in ("rrf", "engine1"))
        assert isinstance(row[3], Versus)
        assert (row[3].value, row[3].baseline) == (own, base)
        assert len(row[3].others) == 3
        assert signed(row[-1]) == pytest.approx(own - base, abs=5e-5)
        labels = study.labels.label[study.labels.ptr[q] : study.labels.ptr[q + 1]]
        assert (row[1], row[2]) == (f"{len(labels)}", f"{int((labels > 0).sum())}")
        assert link == f"?{urlencode({'query': row[0]})}"
    gains = [signed(row[-1]) for row in table.rows]
    assert gains == sorted(gains, reverse=True)


def test_of_many_queries_both_ends_are_shown(study: Study) -> None:
    everything = parts_of(queries_section(study), ReportTable)[0].rows
    section = queries_section(study, top=5)
    assert parts_of(section, ReportTable)[0].rows == (*everything[:3], *everything[-2:])
    assert "3 with the highest and the 2 with the lowest difference of 12 queries" in texts(section)


def test_a_report_has_no_links_to_settings_of_the_app(study: Study) -> None:
    section = queries_section(study)
    assert section is not None
    assert 'href="?query=' in rendered([section])
    assert 'href="?query=' not in page("runs", [section])


# ---- one query ----
def test_the_first_query_shown_is_that_of_the_largest_difference(
    study: Study, results: dict[str, cc.Evaluation]
) -> None:
    gain = results["rrf"].per_instance["ndcg@10"] - results["engine1"].per_instance["ndcg@10"]
    names = results["rrf"].instances
    assert names is not None
    section = query_section(study)
    assert section is not None
    assert section.title == f"Query {names[int(np.abs(gain).argmax())]}"
    assert "loses most" in texts(section)


def test_documents_have_their_relevance_and_their_rank_in_each_run(study: Study) -> None:
    section = query_section(study, "3")
    table = parts_of(section, ReportTable)[0]
    assert study.labels is not None
    judged = dict(
        zip(study.labels.items.take(study.labels.item[study.labels.ptr[2] : study.labels.ptr[3]]),
            study.labels.label[study.labels.ptr[2] : study.labels.ptr[3]], strict=True)
    )  # fmt: skip
    assert study.labels.instances is not None
    assert study.labels.instances[2] == "3"
    assert [row[1] for row in table.rows] == study.ranking["3"].items[:20]
    for row in table.rows:
        grade = judged.get(row[1])
        expected = "not judged" if grade is None else f"{grade:.0f} of 3"
        assert isinstance(row[2], Tag)
        assert row[2].text == expected
        for name, cell in zip(table.header[3:], row[3:], strict=True):
            run = study.runs[name]["3"]
            rank = dict(zip(run.items, run.ranks.tolist(), strict=True)).get(row[1])
            assert cell == ("–" if rank is None else str(rank))
    menu = parts_of(section, Control)[0]
    assert (menu.setting, menu.value, len(menu.options)) == ("query", "3", 12)


def test_an_unknown_query_gives_a_sentence(study: Study) -> None:
    assert "There is no query 'nothing'." in texts(query_section(study, "nothing"))


def test_queries_without_judgements_or_documents_say_so() -> None:
    rows = [("one", "q1", "d1", 2), ("one", "q2", "d2", 1), ("two", "q1", "d2", 2), ("two", "q2", "d1", 1)]
    study = study_of(runs_of(rows), cc.Labels(["q1", "q3"], ["d1", "d3"], [1, 1]))
    assert "no relevance judgements" in texts(query_section(study, "q2"))
    assert "No run has documents" in texts(query_section(study, "q3"))
    assert labels_section(study) is not None
    assert queries_section(study) is not None


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_text(name: str) -> None:
    rows = [
        (name, name, name, 2),
        (name, name, "d", 1),
        ("two", name, "d", 2),
        ("two", "q2", name, 1),
        (name, "q2", "d", 1),
    ]
    study = study_of(runs_of(rows), cc.Labels([name, "q2"], [name, "d"], [1, 1]), None)  # fmt: skip
    sections = [labels_section(study, name), queries_section(study), query_section(study, name)]
    tree = Tree(rendered([section for section in sections if section is not None]))
    assert not {tag for tag, _ in tree.tags} & {"script", "img", "style", "iframe"}
    assert not any(key.startswith("on") for _, attributes in tree.tags for key in attributes)
    assert all(str(link["href"]).startswith("?query=") for link in tree.attributes("a"))
