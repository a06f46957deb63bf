"""Rankers are evaluated on queries that they have not seen, next to a random order and the best single feature."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from concordant import metrics
from concordant.analysis import training
from concordant.ballots.vocabulary import Vocabulary
from concordant.errors import InputError
from concordant.io.formats.features import Features
from concordant.learn.forest_ranker import ForestRanker
from concordant.learn.lambda_rank import LambdaRank
from concordant.learn.rank_boost import RankBoost
from concordant.support import progress

pytestmark = pytest.mark.once


def rows_of(n_queries: int = 30, n_rows: int = 6, seed: int = 0) -> Features:
    """Return rows in random order whose label is the first feature minus the second, with noise."""
    rng = np.random.default_rng(seed)
    query = rng.permutation(np.repeat(np.arange(n_queries), n_rows))
    _, first = np.unique(query, return_index=True)
    number = np.empty(n_queries, np.int64)
    number[query[np.sort(first)]] = np.arange(n_queries)  # queries are numbered in order of appearance
    X = rng.normal(size=(len(query), 3))
    y = np.clip(np.rint(1 + X[:, 0] - X[:, 1] + 0.1 * rng.normal(size=len(query))), 0, 3)
    names = Vocabulary([f"q{k}" for k in range(n_queries)])
    return Features(X, y, number[query], names=["good", "bad", "noise"], queries=names)


def test_held_out_queries_are_not_among_the_others() -> None:
    rows = rows_of()
    train, test = training.held_out(rows, 0.2)
    assert test.queries is not None
    assert train.queries is not None
    assert test.n_queries == 6
    assert not {*test.queries} & {*train.queries}
    assert {*test.queries} | {*train.queries} == {f"q{k}" for k in range(30)}
    assert len(train.y) + len(test.y) == len(rows.y)
    for part in (train, test):
        first = np.unique(part.query, return_index=True)[1]
        assert (np.diff(first) > 0).all(), "queries are numbered in order of appearance"


def test_rows_keep_their_query_and_label_when_they_are_selected() -> None:
    rows = rows_of()
    keep = np.arange(len(rows.y)) % 3 > 0
    kept = training.only(rows, keep)
    assert kept.queries is not None
    assert rows.queries is not None
    assert kept.queries.take(kept.query) == rows.queries.take(rows.query[keep])
    assert (kept.y == rows.y[keep]).all()


@pytest.mark.parametrize("n_queries", [1, 3])
def test_too_few_queries_cannot_be_held_out(n_queries: int) -> None:
    with pytest.raises(InputError, match="too few queries to hold some out"):
        training.held_out(rows_of(n_queries))


def test_a_ranker_is_compared_with_a_random_order_and_the_best_single_feature() -> None:
    tried = training.try_out(LambdaRank(), rows_of(), ["ndcg@5", "map"])
    means = {name: training.means_of(values)["ndcg@5"] for name, values in tried.values.items()}
    assert [*means] == ["lambda-rank", training.RANDOM, training.SINGLE]
    assert means["lambda-rank"] > means[training.SINGLE] > means[training.RANDOM]
    assert tried.single in ("good", "−bad")
    assert tried.trained.values["held-out"]["ndcg@5"] == means["lambda-rank"]


def test_a_random_order_has_the_mean_of_all_orders() -> None:
    rows = rows_of(4)
    tried = training.try_out(LambdaRank(), rows, ["ndcg@3"])
    rng, drawn = np.random.default_rng(0), []
    for _ in range(4000):
        values = metrics.evaluate_arrays(rng.random(len(tried.test.y)), tried.test.y, tried.test.query, ["ndcg@3"])
        drawn.append(float(metrics.mean(values["ndcg@3"])))
    assert training.means_of(tried.values[training.RANDOM])["ndcg@3"] == pytest.approx(np.mean(drawn), abs=0.02)


def test_the_best_single_feature_may_be_one_whose_small_values_are_good() -> None:
    rows = rows_of()
    only_bad = Features(rows.X[:, [2, 1]], rows.y, rows.query, names=["noise", "bad"])
    assert training.try_out(LambdaRank(), only_bad, ["map"]).single == "−bad"


@pytest.mark.parametrize(
    ("ranker", "what"),
    [(LambdaRank(), "weight per standard deviation"), (ForestRanker(trees=20), "importance"),
     (RankBoost(rounds=30), "total vote")],
)  # fmt: skip
def test_noise_contributes_least(ranker: Any, what: str) -> None:
    rows = rows_of()
    model = training.fit_ranker(ranker, rows).model
    found = training.importance(model, rows)
    assert found is not None
    assert found[0] == what
    assert int(np.argmin(np.abs(found[1]))) == 2


def test_models_that_do_not_tell_have_no_importance() -> None:
    rows = rows_of()
    assert training.importance(training.fit_ranker(LambdaRank(hidden=3), rows).model, rows) is None


@pytest.mark.parametrize("ranker", [LambdaRank(max_iter=5), RankBoost(rounds=5)])
def test_training_tells_its_progress(ranker: Any) -> None:
    heard: list[progress.Progress] = []
    with progress.listen(heard.append):
        training.fit_ranker(ranker, rows_of())
    assert any(one.total == 5 and one.done > 0 for one in heard)
    assert any(one.text.startswith("Training ") for one in heard)
