"""Metrics are written as people write them."""

from __future__ import annotations

import math

import pytest

from concordant.reporting.metric_texts import known, metric_heading, metric_name, shown_value, signed

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("metric", "name", "heading"),
    [
        ("ndcg@10", "NDCG@10", "NDCG@10 (exponential)"),
        ("map", "MAP", "MAP"),
        ("recall@5", "recall@5", "recall@5"),
        ("p@5:threshold=2", "P@5", "P@5 (threshold=2)"),
    ],
)
def test_a_name_has_no_options_and_a_heading_has_them(metric: str, name: str, heading: str) -> None:
    assert (metric_name(metric), metric_heading(metric)) == (name, heading)


def test_differences_have_a_sign_unless_they_round_to_zero() -> None:
    assert [signed(value) for value in (0.01234, -0.5, 0.00004, -0.00004)] == ["+0.0123", "−0.5000", "0", "0"]


def test_skipped_queries_are_named_and_drawn_as_zero() -> None:
    assert (shown_value(math.nan), known(math.nan)) == ("skipped", 0.0)
    assert (shown_value(0.25), known(0.25)) == ("0.2500", 0.25)
