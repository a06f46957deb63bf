"""Equal pairs are joined while a table is read, with the same result as joining them afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import ROOT, MakeFile

import concordant as cc
from concordant.errors import FormatError, InputError


def duels(prefs: cc.Preferences) -> dict[tuple[str, ...], float]:
    """Return the weight of every (winner, loser, tied, agent, instance, who was first)."""
    found: dict[tuple[str, ...], float] = {}
    labels = prefs.items.take(prefs.item)
    for b in range(prefs.n_ballots):
        pair = labels[2 * b : 2 * b + 2]
        tied = bool(prefs.tier[2 * b] == prefs.tier[2 * b + 1])
        agent = "" if prefs.agents is None or prefs.agent is None else prefs.agents[int(prefs.agent[b])]
        instance = "" if prefs.instances is None or prefs.instance is None else prefs.instances[int(prefs.instance[b])]
        first = "" if prefs.shown is None else pair[int(prefs.shown[2 * b] > prefs.shown[2 * b + 1])]
        key = (*(sorted(pair) if tied else pair), str(tied), agent, instance, first)
        assert key not in found
        found[key] = float(prefs.weight[b])
    return found


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
@settings(max_examples=25)
@given(data=st.data())
def test_merging_while_reading_is_merging_afterwards(
    tmp_path_factory: pytest.TempPathFactory, ending: str, data: Any
) -> None:
    rows = data.draw(
        st.lists(
            st.tuples(st.sampled_from("abcé"), st.sampled_from("abcé"), st.booleans(), st.integers(1, 5)), min_size=1
        ).map(lambda rows: [row for row in rows if row[0] != row[1]] or [("a", "b", False, 1)])
    )
    winner, loser, tie, weight = (list(column) for column in zip(*rows, strict=True))
    instance = [("x" if w > 2 else "y") for w in weight]
    prefs = cc.Preferences.from_pairs(winner, loser, tie=tie, weight=weight, instance=instance)
    path = tmp_path_factory.mktemp("merged") / f"votes.{ending}"
    cc.write(prefs, path)
    merged = cc.read(path, merge=True)
    assert merged.is_merged
    assert duels(merged) == duels(cc.read(path).merge())


def test_agents_of_pairs_are_forgotten_unless_they_are_named(make: MakeFile) -> None:
    path = make("winner,loser,judge\na,b,u\na,b,v\na,b,u\n")
    forgotten = cc.read(path, merge=True)
    assert forgotten.weight.tolist() == [3]
    assert "agents (judge) are not kept: use agent= to keep them" in forgotten.notes
    kept = cc.read(path, merge=True, agent="judge")
    assert duels(kept) == {("a", "b", "False", "u", "", ""): 2, ("a", "b", "False", "v", "", ""): 1}


def test_outcomes_merge_whichever_side_they_name() -> None:
    path = ROOT / "examples" / "model-votes.csv"
    assert duels(cc.read(path, merge=True)) == duels(cc.read(path).merge(agents=False))


def test_columns_without_names_merge_too(make: MakeFile) -> None:
    assert cc.read(make("a,b\na,b\nb,c\n"), merge=True, header=False).weight.tolist() == [2, 1]


def test_other_layouts_and_formats_merge_after_reading(make: MakeFile) -> None:
    rankings = cc.read(make("ranking\na > b > c\na > b > c\n"), merge=True)
    assert rankings.weight.tolist() == [2]
    soc = make("# DATA TYPE: soi\n# ALTERNATIVE NAME 1: x\n1: 1\n2: 1\n", "vote.soi")
    assert cc.read(soc, merge=True).weight.tolist() == [3]
    rated = cc.read(make("user,item,rating\nu,a,1\nu,b,2\nv,a,1\nv,b,2\n"), merge=True)
    assert rated.n_ballots == 2


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("a,b,1\na,c,x\n", r"line 3: the weight is 'x', not 0 or a number"),
        ("a,b,1\na,b,1\na,c,-2\n", r"line 4: the weight is '-2', not 0 or a number"),
        ("a,b,1\na,c,\n", r"line 3: the weight is missing"),
        ("a,b,1\na,a,1\n", r"line 3: 'a' is compared with itself"),
        ("a,b,1\n,a,1\n", r"line 3: the winner is missing"),
        ("a,b,1\nb,a\n", r"line 3: the row has 2 fields, but the table has 3"),
    ],
)
def test_a_bad_row_is_named_or_left_out(make: MakeFile, rows: str, said: str) -> None:
    path = make("winner,loser,weight\n" + rows)
    with pytest.raises(FormatError, match=said):
        cc.read(path, merge=True)
    prefs = cc.read(path, merge=True, skip_bad_rows=True)
    assert prefs.n_ballots == 1
    assert any("left out 1 row" in note for note in prefs.notes)


def test_left_out_rows_are_counted_as_rows(make: MakeFile) -> None:
    prefs = cc.read(make("winner,loser\na,b\na,a\na,a\na,a\n"), merge=True, skip_bad_rows=True)
    assert any("left out 3 rows: an item is compared with itself" in note for note in prefs.notes)


def test_an_order_in_time_cannot_be_merged(make: MakeFile) -> None:
    with pytest.raises(InputError, match="Merging loses the order of events"):
        cc.read(make("winner,loser,day\na,b,1\n"), merge=True, time="day")
