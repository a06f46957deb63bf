"""Verdicts on claims: computed from the outcomes of their parts."""

from __future__ import annotations

import pytest

from concordant.experiments import claims
from concordant.experiments.claims import Claim, Difference


@pytest.mark.parametrize(
    ("outcomes", "verdict"),
    [
        ([True, True], claims.HOLDS),
        ([False, False], claims.FAILS),
        ([True, False], claims.PARTLY),
        ([True, None], claims.HOLDS),
        ([None], claims.NOT_RUN),
        ([], claims.NOT_RUN),
    ],
)
def test_a_verdict_combines_the_parts_that_were_run(outcomes: list[bool | None], verdict: str) -> None:
    assert claims.verdict(outcomes) == verdict


def test_a_difference_counts_only_if_it_is_significant() -> None:
    assert claims.is_above(Difference(1.0, 0.01))
    assert not claims.is_above(Difference(1.0, 0.2))
    assert not claims.is_above(Difference(-1.0, 0.01))
    assert claims.is_below(Difference(-1.0, 0.01))
    assert claims.is_level(Difference(1.0, 0.2))
    assert claims.is_above(None) is None
    assert claims.is_below(None) is None
    assert claims.is_level(None) is None


def test_a_direction_counts_in_part_only_if_it_is_the_same_everywhere() -> None:
    up, clear, down = Difference(1.0, 0.2), Difference(1.0, 0.01), Difference(-1.0, 0.2)
    assert claims.verdict(claims.in_direction([clear, clear])) == claims.HOLDS
    assert claims.verdict(claims.in_direction([up, up, None])) == claims.PARTLY
    assert claims.verdict(claims.in_direction([up, down])) == claims.FAILS
    assert claims.verdict(claims.in_direction([None])) == claims.NOT_RUN


def test_the_claims_table_has_a_row_per_claim_and_json_has_the_same() -> None:
    rows = [
        Claim.of("a beats b", "table 1", [True, False], ["one set +1", "", "other set -1"], "paired t-test"),
        claims.untestable("c beats d", "table 2", "the data are not public"),
    ]
    table = claims.claims_table(rows)
    assert table.title == "Claims of the paper"
    assert [row[1] for row in table.rows] == ["holds in part", "cannot be tested with the data available"]
    assert table.rows[0][2] == "one set +1; other set -1"
    assert claims.as_rows(rows)[0]["verdict"] == "holds in part"


def test_p_values_are_written_with_their_sign() -> None:
    assert claims.shown_p(0.0388) == "p = 0.039"
    assert claims.shown_p(1e-9) == "p < 0.001"
    assert str(Difference(1.234, 0.2)) == "+1.23 (p = 0.2)"
