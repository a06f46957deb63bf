"""Metrics by the names of other tools: the values are theirs, and every heading says which gain was used."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import concordant as cc
from concordant import metrics
from concordant.metrics.tools import NAMES

QRELS = {"1": {"d1": 3, "d2": 0, "d3": 1, "d4": 2, "d5": 4, "d9": 1}, "2": {"d1": 0, "d2": 2, "d7": 1, "d8": 3}}
RUN = {
    "1": {"d1": 0.9, "d2": 0.8, "d3": 0.7, "d4": 0.6, "d6": 0.5, "d9": 0.4},
    "2": {"d7": 0.3, "d1": 0.9, "d2": 0.5, "d5": 0.2},
}
# Means over both queries by ir_measures 0.4.3 (ERR and exp-log2 by the script gdeval, which rounds) and ranx 0.3.21.
IR_MEASURES = {
    "nDCG@3": 0.4388855170731558,
    "nDCG": 0.4909221264628625,
    "P@3": 2 / 3,
    "AP": 0.5027777777777778,
    "AP@3": 0.36111111111111105,
    "RR": 0.75,
    "RR@3": 0.75,
    "R@3": 0.5333333333333333,
    "Success@1": 0.5,
    "Rprec": 0.6333333333333333,
    "Bpref": 0.1,
    "SetP": 0.5833333333333333,
    "SetR": 0.7333333333333334,
    "SetF": 0.6493506493506493,
    "P(rel=2)@3": 1 / 3,
    "AP(rel=2)": 0.375,
    "R(rel=2)@3": 0.41666666666666663,
    "nDCG(dcg='exp-log2')@3": 0.30666,
    "ERR@3": 0.27995,
    "ERR@10": 0.29454,
}
RANX = {
    "ndcg": 0.4909221264628625,
    "ndcg@3": 0.4388855170731558,
    "ndcg_burges@3": 0.3066579590443841,
    "precision@3": 2 / 3,
    "recall@3": 0.5333333333333333,
    "f1@3": 0.5833333333333333,
    "map": 0.5027777777777778,
    "map@3": 0.36111111111111105,
    "mrr@3": 0.75,
    "hit_rate@3": 1.0,
    "r-precision": 0.6333333333333333,
    "bpref": 0.1,
    "precision@3-l2": 1 / 3,
    "map-l2": 0.375,
    "bpref-l2": 0.3472222222222222,
}
GOLDEN = [("ir_measures", name, value) for name, value in IR_MEASURES.items()]
GOLDEN += [("ranx", name, value) for name, value in RANX.items()]


def value(name: str) -> float:
    return cc.evaluate(RUN, QRELS, [name])[name]


@pytest.mark.parametrize(("tool", "name", "expected"), GOLDEN)
def test_a_prefix_asks_for_what_that_tool_computes(tool: str, name: str, expected: float) -> None:
    gdeval = tool == "ir_measures" and ("ERR" in name or "exp" in name)
    assert value(f"{tool}:{name}") == pytest.approx(expected, abs=1e-5 if gdeval else 1e-12)
    assert value(f"{tool.upper()}:{name.upper() if '(' not in name else name}") == value(f"{tool}:{name}")


def test_ir_measures_agrees_where_it_is_installed() -> None:
    tool = pytest.importorskip("ir_measures")
    for name in (name for name in IR_MEASURES if "ERR" not in name and "exp" not in name):
        measure = tool.parse_measure(name)
        assert value(f"ir_measures:{name}") == pytest.approx(tool.calc_aggregate([measure], QRELS, RUN)[measure])


def test_ranx_agrees_where_it_is_installed() -> None:
    tool = pytest.importorskip("ranx")
    for name in RANX:
        expected = tool.evaluate(tool.Qrels(QRELS), tool.Run(RUN), name)
        assert value(f"ranx:{name}") == pytest.approx(expected)


@pytest.mark.parametrize(
    "name",
    [
        "ndcg",
        "ndcg_cut_3",
        "map",
        "map_cut_3",
        "P_3",
        "recall_3",
        "recip_rank",
        "Rprec",
        "success_1",
        "bpref",
        "set_P",
        "set_recall",
        "set_F",
    ],
)
def test_pytrec_eval_agrees(name: str) -> None:
    tool = pytest.importorskip("pytrec_eval")
    family = name.rstrip("0123456789").rstrip("_") if name[-1].isdigit() else name
    asked = name if family == name else f"{family}.{name.rsplit('_', 1)[1]}"
    found = tool.RelevanceEvaluator(QRELS, {asked}).evaluate(RUN)
    expected = sum(one[name] for one in found.values()) / len(found)
    assert value(f"trec_eval:{name}") == pytest.approx(expected)
    assert value(f"pytrec_eval:{asked}") == pytest.approx(expected)


def test_plain_names_keep_their_conventions() -> None:
    assert value("nDCG@3") == value("ndcg@3") == value("ndcg@3:exponential") != value("ir_measures:nDCG@3")
    assert value("ndcg_cut_3") == value("ndcg@3:linear") == value("ir_measures:nDCG@3")


def test_every_name_of_every_tool_is_a_metric_here() -> None:
    for tool, names in NAMES.items():
        for name in names:
            assert isinstance(metrics.parse(f"{tool}:{name}"), metrics.RetrievalMetric)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ir_measures:nDCG(gains=2)@3", "of ir_measures is not supported"),
        ("ranx:rbp.95", "The ranx metric 'rbp.95' is not supported"),
        ("ir_measures:nDGC@3", "The ir_measures metric"),
        ("ranx:ndcg@3-l2", "ndcg has no option"),
    ],
)
def test_what_a_tool_has_and_we_have_not_is_refused(name: str, why: str) -> None:
    with pytest.raises(cc.ConcordantError, match=why):
        metrics.parse(name)


def test_options_may_follow_the_name_of_a_tool() -> None:
    assert str(metrics.parse("ir_measures:nDCG@10:skip")) == "ndcg@10:skip:linear"


def test_headings_say_which_gain_was_used_and_read_back() -> None:
    for name in ("ndcg@10", "ndcg@10:linear", "ndcg:letor"):
        found = metrics.parse(name)
        assert found.gain in found.heading
        assert metrics.parse(found.heading) == found
    assert metrics.headings(["map", "ndcg@5"]) == ["map", "ndcg@5:exponential"]
    assert "exponential gain (2^label - 1)" in cc.evaluate(RUN, QRELS, "ndcg@3").to_dict()["conventions"]["ndcg@3"]
    assert "ndcg@3:exponential" in str(cc.evaluate(RUN, QRELS, "ndcg@3"))


def test_the_command_and_the_report_say_which_gain_was_used(tmp_path: Path) -> None:
    from concordant.cli.__main__ import cli

    run, qrels = tmp_path / "a.run", tmp_path / "qrels.txt"
    run.write_text("".join(f"{q} Q0 {d} 1 {s} a\n" for q, docs in RUN.items() for d, s in docs.items()))
    qrels.write_text("".join(f"{q} 0 {d} {label}\n" for q, docs in QRELS.items() for d, label in docs.items()))
    asked = ["evaluate", str(run), "--labels", str(qrels), "--metric", "ndcg@3", "--metric", "ir_measures:nDCG@3"]

    def told(*more: str) -> Any:
        result = CliRunner().invoke(cli, [*asked, *more])
        assert result.exit_code == 0, result.output
        return result.stdout

    assert "ndcg@3:exponential" in told()
    assert "ndcg@3:linear" in told()
    assert told("--csv").splitlines()[0] == "system,ndcg@3:exponential,ndcg@3:linear"
    system = json.loads(told("--json"))["systems"][0]
    assert set(system["conventions"]) == set(system["means"]) == {"ndcg@3", "ndcg@3:linear"}
    page = cc.report(cc.read(run), labels=cc.read_labels(qrels), metrics=["ndcg@3"]).to_html()
    assert "NDCG@3: exponential" in page
    assert "exponential gain (2^label - 1), discount log2(i + 1)" in page
