"""Retrieval metrics against trec_eval itself, through pytrec_eval."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc

pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec-eval-terrier is not installed: it comes with dev")

MEASURES = {
    "map": "map",
    "ndcg": "ndcg:linear",
    "ndcg_cut_10": "ndcg_cut_10",
    "P_5": "P_5",
    "recall_10": "recall_10",
    "recip_rank": "recip_rank",
    "Rprec": "Rprec",
    "bpref": "bpref",
    "success_5": "success_5",
    "map_cut_20": "map_cut_20",
}


def test_every_query_scores_as_in_trec_eval():
    rng = np.random.default_rng(0)
    qrels, run = {}, {}
    for q in range(300):
        n = int(rng.integers(2, 40))
        documents = [f"d{k:03}" for k in rng.permutation(60)[:n]]
        judged = {document: int(rng.integers(0, 4)) for document in documents if rng.random() < 0.7}
        qrels[f"q{q}"] = {**judged, "never": int(rng.integers(0, 2)), "sure": 1}
        scores = rng.permutation(n)  # no ties: their order is a matter of convention
        run[f"q{q}"] = {document: float(s) for document, s in zip(documents, scores, strict=True)}
    expected = pytrec_eval.RelevanceEvaluator(qrels, set(MEASURES)).evaluate(run)
    found = cc.evaluate(run, qrels, list(MEASURES.values()))
    queries = found.instances.labels
    for theirs, ours in MEASURES.items():
        values = found.per_instance[str(cc.metrics.parse(ours))]
        np.testing.assert_allclose(values, [expected[q][theirs] for q in queries], atol=1e-9, err_msg=theirs)
