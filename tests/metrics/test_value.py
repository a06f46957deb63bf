"""A metric is a printable, parseable value declared in one place."""

import dataclasses

import pytest

from concordant import metrics
from concordant.errors import ParameterError, UnknownNameError
from concordant.metrics.distances.kemeny import Kemeny
from concordant.metrics.relevance.map import MAP
from concordant.metrics.relevance.ndcg import NDCG
from concordant.metrics.retrieval import BinaryMetric

CANONICAL = [
    "ndcg", "ndcg@10", "ndcg@5:letor", "ndcg@5:skip:letor:linear", "p@5", "p", "map", "map@100", "map:threshold=2",
    "map:one:threshold=0.1", "err", "err@20:lmax=4", "mrr", "mrr@10", "recall@100", "hit@1", "rprec", "rprec:skip",
    "kendall", "kendall:normalised", "tau-b", "spearman", "kemeny", "kemeny:p=0.25:last-free", "kemeny:normalised",
    "footrule", "footrule:last", "position-error", "discounted-error", "agree",
]  # fmt: skip


@pytest.mark.parametrize("text", CANONICAL)
def test_text_round_trips(text):
    metric = metrics.parse(text)
    assert str(metric) == text
    assert metrics.parse(str(metric)) == metric
    assert metrics.parse(metric) is metric


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("NDCG@10", "ndcg@10"),
        ("ndcg@10:letor,linear", "ndcg@10:letor:linear"),
        ("ndcg@10:log2:exponential:zero", "ndcg@10"),
        ("ndcg:discount=letor", "ndcg:letor"),
        ("precision@5", "p@5"),
        ("AP", "map"),
        ("kendall:normalized", "kendall:normalised"),
        ("kendall:normalised=false", "kendall"),
        ("kemeny:missing=last-free", "kemeny:last-free"),
        ("tau_b", "tau-b"),
        ("taub", "tau-b"),
        ("position_error", "position-error"),
        (" p @ 5 ", "p@5"),
        # names of trec_eval
        ("P_10", "p@10"),
        ("recall_100", "recall@100"),
        ("success_5", "hit@5"),
        ("ndcg_cut_10", "ndcg@10:linear"),
        ("ndcg_cut.5", "ndcg@5:linear"),
        ("map_cut_20", "map@20"),
        ("map", "map"),
        ("recip_rank", "mrr"),
        ("Rprec", "rprec"),
        ("bpref", "bpref"),
        ("set_F", "f1"),
        ("set_P", "p"),
        ("set_recall", "recall"),
        ("P_5:threshold=2", "p@5:threshold=2"),
    ],
)
def test_other_spellings_mean_the_same(text, canonical):
    assert str(metrics.parse(text)) == canonical


def test_metrics_are_frozen_equal_and_hashable():
    assert metrics.parse("ndcg@10:letor") == NDCG(10, discount="letor")
    assert {metrics.parse("map"), MAP()} == {MAP()}
    with pytest.raises(dataclasses.FrozenInstanceError):
        NDCG(10).cutoff = 5


def test_several_metrics_are_read_once_each():
    assert [str(metric) for metric in metrics.parse_all("ndcg@10 map ndcg@10")] == ["ndcg@10", "map"]
    assert metrics.parse_all(Kemeny()) == [Kemeny()]
    with pytest.raises(ParameterError, match="at least one"):
        metrics.parse_all([])


@pytest.mark.parametrize(
    ("text", "hint"), [("ndgc@10", "ndcg"), ("kendal", "kendall"), ("", "name@cutoff"), ("zzz", "Use one of")]
)
def test_an_unknown_name_gets_a_suggestion(text, hint):
    with pytest.raises(UnknownNameError, match=hint):
        metrics.parse(text)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("ndcg@10:leter", "letor"),
        ("ndcg@10:zzz", "Use one of"),
        ("ndcg@0", "at least 1"),
        ("ndcg@-3", "at least 1"),
        ("ndcg@ten", "whole number"),
        ("ndcg@", "whole number"),
        ("ndcg@1.5", "whole number"),
        ("ndcg:letor:log2", "twice"),
        ("rprec@5", "no cutoff"),
        ("kendall@5", "no cutoff"),
        ("map:threshold=0", "above 0"),
        ("map:threshold=nan", "not NaN"),
        ("map:threshold=inf", "above 0"),
        ("map:threshold=x", "a number"),
        ("err:lmax=-1", "between"),
        ("kemeny:p=2", "between 0 and 1"),
        ("kemeny:missing=first", "last"),
        ("kendall:normalised=maybe", "must be true or false"),
        ("tau-b:x", "takes none"),
    ],
)
def test_a_bad_option_is_one_clear_sentence(text, hint):
    with pytest.raises(ParameterError, match=hint) as error:
        metrics.parse(text)
    assert "\n" not in str(error.value)


def test_something_that_is_no_text_is_no_metric():
    with pytest.raises(ParameterError, match="give its name"):
        metrics.parse(3)


def test_the_list_of_metrics_describes_each_once():
    described = metrics.describe()
    assert len({one.name for one in described}) == len(described) == 19
    assert {one.kind for one in described} == {"retrieval", "distance"}
    assert all(one.doc.endswith(".") and "\n" not in one.doc for one in described)
    assert list(metrics.names()) == [one.name for one in described]
    options = {one.name: [option.name for option in one.options] for one in described}
    assert options["ndcg"] == ["empty", "cutoff", "discount", "gain"]
    assert options["kemeny"] == ["p", "missing", "normalised"]


def test_only_distances_are_better_when_lower():
    assert metrics.parse("ndcg").higher_is_better
    assert metrics.parse("tau-b").higher_is_better
    assert not metrics.parse("kemeny").higher_is_better
    assert issubclass(MAP, BinaryMetric)
