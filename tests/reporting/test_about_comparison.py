"""A model and its baselines: the best baseline, the test of the difference, and the table of metrics."""

from __future__ import annotations

import numpy as np
import pytest

import concordant as cc
from concordant.reporting.about_comparison import Values, contrast_of, contrast_sentence, metrics_table, span_of
from concordant.reporting.pages import part
from concordant.reporting.sections import ReportTable, Track

pytestmark = pytest.mark.once

MODEL = np.array([0.9, 0.8, 0.7, 0.9, np.nan])
LOW = np.array([0.1, 0.2, 0.1, 0.3, 0.9])
HIGH = np.array([0.5, 0.6, 0.5, 0.4, 0.9])


def values(**columns: np.ndarray) -> Values:
    return {name: {"ndcg@10": column, "map": column / 2} for name, column in columns.items()}


def test_a_model_is_compared_with_its_best_baseline_on_queries_that_all_have() -> None:
    found = contrast_of(values(model=MODEL, low=LOW, high=HIGH), "ndcg@10")
    assert found is not None
    assert (found.baseline, found.is_better) == ("high", True)
    assert [found.mean, found.mean_of_baseline] == pytest.approx([0.825, 0.5])
    tested = cc.metrics.compare_systems({"model": MODEL[:4], "low": LOW[:4], "high": HIGH[:4]}, baseline="model")
    assert found.p == next(row.p_holm for row in tested.rows if row.system == "high")


def test_a_model_alone_has_no_contrast() -> None:
    assert contrast_of(values(model=MODEL), "ndcg@10") is None


def test_a_model_that_is_worse_is_not_better() -> None:
    found = contrast_of(values(model=LOW[:4], high=HIGH[:4]), "ndcg@10")
    assert found is not None
    assert not found.is_better
    said = contrast_sentence(found, "The model", "the baseline", "ndcg@10", "On 4 queries")
    assert said.startswith("On 4 queries, The model has NDCG@10 0.175, and the baseline 0.500; the difference is ")


def test_the_row_of_the_model_is_highlighted_and_the_others_have_their_difference() -> None:
    parts = metrics_table(values(low=LOW[:4], high=HIGH[:4]), {"low": "<b>low</b>"}, "Means")
    table = parts[0]
    assert isinstance(table, ReportTable)
    assert [row[:2] for row in table.rows] == [("high", "0.5000"), ("<b>low</b>", "0.1750")]
    assert table.chosen == {1}
    assert [row[2] for row in table.rows] == [Track(0.5), Track(0.175)]
    assert [row[3] for row in table.rows] == ["+0.3250", ""]
    assert "<b>" not in part(table)


def test_a_range_of_counts_has_its_median() -> None:
    assert (span_of(np.array([1, 2, 6])), span_of(np.array([3, 3]))) == ("1 to 6 (median 2)", "3")
