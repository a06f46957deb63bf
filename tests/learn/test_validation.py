"""What is watched on validation queries: the metric itself, ties averaged over all their orders."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the learn extra is not installed")

from concordant.errors import InputError
from concordant.learn import _data


@pytest.mark.parametrize("metric", ["ndcg@10", "ndcg@3:letor", "ndcg", "ndcg@5:empty=skip", "map", "err"])
@pytest.mark.parametrize("levels", [1, 3, 1000])
def test_ties_are_averaged_wherever_they_matter(metric: str, levels: int) -> None:
    rng = np.random.default_rng(levels)
    query = np.sort(rng.integers(0, 12, 90))
    query = np.unique(query, return_inverse=True)[1].astype(np.int64)
    label = rng.integers(0, 3, 90).astype(float)
    label[query == 0] = 0.0
    for order in (np.arange(90), rng.permutation(90)):  # rows of a query need not stand together
        code = _data.query_codes(90, query[order], None)
        watched = _data.Validation.of(np.zeros((90, 1)), label[order], code, metric)
        scores = rng.integers(0, levels, 90) / 7
        expected = _data.measure(metric, scores, label[order], code)
        assert watched.measure(scores) == pytest.approx(expected, abs=1e-12)


def test_a_validation_set_without_any_gain_is_refused() -> None:
    with pytest.raises(InputError, match="is uninformative"):
        _data.Validation.of(np.zeros((4, 1)), np.zeros(4), np.array([0, 0, 1, 1]), "ndcg@10")
