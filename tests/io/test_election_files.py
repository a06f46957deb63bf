"""Elections in files of their own: BLT, ABIF, CEF, Debian's tally sheets and Scottish csv files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import Run

import concordant as cc
from concordant.errors import FormatError, InputError
from concordant.io import preview

BLT = """# the example of a manual
4 2
-2
3 1 3 4 0
4 1 2 3 0   # a comment
2 4 - 1=3 0
(ballot-7) 4 0
1 0
0
"Adam" "Basil # Jr" /* a
comment of two lines */ "Cha\\"r"
"Don"
"The title"
"""


def orders(prefs: cc.Preferences) -> list[tuple[float, str]]:
    """Return the weight and the ranking of each ballot, as text."""
    found = []
    for ballot in range(prefs.n_ballots):
        tiers: dict[int, list[str]] = {}
        for entry in range(int(prefs.indptr[ballot]), int(prefs.indptr[ballot + 1])):
            tiers.setdefault(int(prefs.tier[entry]), []).append(prefs.items[int(prefs.item[entry])])
        text = " > ".join(" = ".join(sorted(tiers[tier])) for tier in sorted(tiers))
        found.append((float(prefs.weight[ballot]), text))
    return found


@pytest.mark.parametrize("name", ["votes.blt", "votes.txt"])
def test_a_blt_file_has_seats_and_withdrawn_candidates(make: Any, name: str) -> None:
    prefs = cc.read(make(BLT, name))
    assert prefs.items.labels == ["Adam", 'Cha"r', "Don"]
    assert orders(prefs) == [(3, 'Adam > Cha"r > Don'), (4, 'Adam > Cha"r'), (2, 'Don > Adam = Cha"r'), (1, "Don")]
    assert prefs.meta["seats"] == 2
    assert prefs.meta["title"] == "The title"
    assert prefs.meta["withdrawn"] == ["Basil # Jr"]
    notes = " ".join(prefs.notes)
    assert "1 withdrawn and not a candidate: Basil # Jr" in notes
    assert "1 ballot: an empty ballot, left out (first: line 8)" in notes
    assert "1 ballot: a skipped rank (first: line 6)" in notes
    assert prefs.tier.tolist()[5:8] == [0, 2, 2]


@pytest.mark.parametrize("format", ["blt", "abif"])
def test_elections_are_written_and_read_back(make: Any, tmp_path: Path, format: str) -> None:
    prefs = cc.read(make(BLT, "votes.blt"))
    notes = cc.write(prefs, tmp_path / f"back.{format}")
    back = cc.read(tmp_path / f"back.{format}")
    assert orders(back) == orders(prefs)
    assert back.items == prefs.items
    assert (back.meta["seats"], back.meta["title"]) == (2, "The title")
    if format == "blt":
        assert (notes, back == prefs, back.meta["withdrawn"]) == ([], True, prefs.meta["withdrawn"])


def test_an_inner_zero_is_a_skipped_rank(make: Any) -> None:
    text = '3 1\n1 2 0 1 0\n1 3 1 2 0\n0\n"a"\n"b"\n"c"\n"t"\n'
    prefs = cc.read(make(text, "stack.txt"))
    assert orders(prefs) == [(1, "b > a"), (1, "c > a > b")]
    assert prefs.tier.tolist()[:2] == [0, 2]


def test_ballots_may_share_a_line_or_continue_on_the_next(make: Any) -> None:
    text = '3 1\n2 1 2 0 1 2 1 0\n4 3\n1 0\n0 "a" "b" "c"\n'
    assert orders(cc.read(make(text, "votes.blt"))) == [(2, "a > b"), (1, "b > a"), (4, "c > a")]


def test_nicknames_and_options_of_droop(make: Any) -> None:
    text = '3 2\n[tie 3 2 1]\n[nick x y z]\n4 x z=y 0\n0\n"Ann"\n"Bob"\n"Cy"\n"t"\n'
    assert orders(cc.read(make(text, "votes.blt"))) == [(4, "Ann > Bob = Cy")]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("4 2\n-2", "4\n-2", "line 2: the first line must give the numbers of candidates and seats"),
        ("3 1 3 4 0", "3 1 3 9 0", "line 4: a ballot names a candidate that is not a number from 1 to 4"),
        ("3 1 3 4 0", "3 1 3 1 0", "line 4: a candidate occurs twice on a ballot"),
        ("3 1 3 4 0", "x 1 3 0", "line 4: a ballot does not begin with a weight"),
        ("-2", "-9", "line 3: '9' is not the number of a candidate"),
        ("1 0\n0\n", "1 0\n", "line 9: a line with only 0 must stand before the names"),
        ('"Don"\n"The title"\n', "", "there are 4 candidates, but only 3 names"),
        ('"Adam"', '"Don"', None),
    ],
)
def test_a_damaged_blt_file_is_refused_with_the_line(make: Any, old: str, new: str, said: str | None) -> None:
    path = make(BLT.replace(old, new, 1), "votes.blt")
    if said is None:
        assert cc.read(path).items.labels == ["Don", 'Cha"r', "Don (4)"]
        return
    with pytest.raises(FormatError, match=said):
        cc.read(path)


def test_bad_ballots_can_be_left_out(make: Any) -> None:
    prefs = cc.read(make(BLT.replace("3 1 3 4 0", "3 1 3 1 0"), "votes.blt"), skip_bad_rows=True)
    assert prefs.n_ballots == 3
    assert any("left out 1 row: a candidate occurs twice" in note for note in prefs.notes)
    with pytest.raises(FormatError, match="strict=True rejects"):
        cc.read(make(BLT, "votes.blt"), strict=True)


def test_several_elections_are_instances(make: Any) -> None:
    prefs = cc.read([make(BLT, "a.blt"), make(BLT, "b.blt")])
    assert prefs.n_instances == 2
    assert prefs.slot_ptr.tolist() == [0, 3, 6]


def test_a_truncated_file_is_refused(make: Any) -> None:
    with pytest.raises(FormatError, match="truncated"):
        cc.read(make("3 1\n1 2 0\n1 3\n", "votes.blt"))


ABIF = """# an example
{"title": "Class rep"}
{"seats": 2}
=A:[Ann Lee]
B:[Bob]
27:A>B=Cy
12:"Dee > Dee">A   # a comment
3: B
"""


@pytest.mark.parametrize("name", ["votes.abif", "votes.txt"])
def test_abif_names_are_bare_quoted_or_bracketed(make: Any, name: str) -> None:
    text = ABIF if name.endswith("abif") else ABIF.replace("B:[Bob]", "=B:[Bob]")
    prefs = cc.read(make(text, name))
    assert orders(prefs) == [(27, "Ann Lee > Bob = Cy"), (12, "Dee > Dee > Ann Lee"), (3, "Bob")]
    assert prefs.items.labels == ["Ann Lee", "Bob", "Cy", "Dee > Dee"]
    assert (prefs.meta["title"], prefs.meta["seats"]) == ("Class rep", 2)


def test_abif_scores_are_ratings(make: Any, tmp_path: Path) -> None:
    prefs = cc.read(make("5:A/5,B/2,C/0\n2:B/5,A/5,C/1\n", "scores.abif"))
    assert orders(prefs) == [(5, "A > B > C"), (2, "A = B > C")]
    assert prefs.value is not None
    np.testing.assert_array_equal(prefs.value, [5, 2, 0, 5, 5, 1])
    assert prefs.form == "ratings"
    assert cc.write(prefs, tmp_path / "back.abif") == []
    assert cc.read(tmp_path / "back.abif") == prefs
    partly = cc.read(make("5:A/5>B/2\n2:B>A\n", "partly.abif"))
    assert partly.value is None
    assert any("the scores are not kept" in note for note in partly.notes)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("5:A>", "line 1: a name is missing after the last '>'"),
        ("5:A>>B", "line 1: a name is expected at '>B'"),
        ("5:A B", "line 1: '>', '=' or ',' is expected at 'B'"),
        ("5:A>A", "line 1: a candidate occurs twice"),
        ("5:A/1>B/3", "line 1: the scores of a ballot contradict its order"),
        ("{title}", "line 1: the line is not a JSON object"),
        ("# nothing", "names no candidates"),
    ],
)
def test_damaged_abif_lines_are_refused(make: Any, line: str, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        cc.read(make(line + "\n", "votes.abif"))


def test_a_table_of_rankings_is_not_abif(make: Any) -> None:
    assert preview(make("ranking\na > b\nb > a\n", "votes.txt")).format == "csv"


CEF = """#/Candidates: Ann ; Bob ; Cy
#/Number of Seats: 2
# a comment
first, second || Ann > Bob ^7 * 42
Bob = Cy
/EMPTY_RANKING/ * 3
Cy > Zed # unknown
"""


def test_cef_ranks_the_others_last_unless_told_not_to(make: Any) -> None:
    prefs = cc.read(make(CEF, "votes.cvotes"))
    assert orders(prefs) == [(42, "Ann > Bob > Cy"), (1, "Bob = Cy > Ann"), (1, "Cy > Ann = Bob")]
    assert prefs.meta["seats"] == 2
    explicit = cc.read(make("#/Implicit Ranking: false\n#/Weight Allowed: true\n" + CEF, "votes.txt"))
    assert orders(explicit) == [(294, "Ann > Bob"), (1, "Bob = Cy"), (1, "Cy")]
    with pytest.raises(FormatError, match="line 2: a candidate occurs twice"):
        cc.read(make("#/Candidates: a;b\na > b > a\n", "votes.cef"))
    with pytest.raises(FormatError, match="must be true or false"):
        cc.read(make("#/Implicit Ranking: maybe\na > b\n", "votes.cef"))


def test_debian_tally_sheets(make: Any) -> None:
    options = "  Option 1----->: Ann\n/  Option 2---->: Bob\n|/  Option 3--->: None of the above\n||/\n"
    prefs = cc.read(make(options + "V: 123 aaa\nV: 21-   bbb\nV: 1-1   ccc\nV: ---   ddd\n", "tally.txt"))
    assert orders(prefs) == [(1, "Ann > Bob > None of the above"), (1, "Bob > Ann"), (1, "Ann = None of the above")]
    with pytest.raises(FormatError, match="line 5: the vote does not have one character for each of the 3 options"):
        cc.read(make(options + "V: 12 aaa\n", "tally.txt"))


SCOTTISH = '3,2,\n155,1,2,\n20,3,\n7,2,3,1,\n"Candidate 1","Ann","Green",\n"Candidate 2","Bob","Lab",\n'
SCOTTISH += '"Candidate 3","Cy, Jr","SNP",\n"Ward 1",\n'


def test_scottish_elections(make: Any, run: Run) -> None:
    path = make(SCOTTISH, "ward.csv")
    prefs = cc.read(path)
    assert orders(prefs) == [(155, "Ann > Bob"), (20, "Cy, Jr"), (7, "Bob > Cy, Jr > Ann")]
    assert (prefs.meta["seats"], prefs.meta["title"]) == (2, "Ward 1")
    code, out, _ = run("rank", path, "--method", "stv", "--seats", "2")
    assert code == 0
    assert "Ann" in out
    with pytest.raises(FormatError, match="line 2: a ballot names a candidate that is not a number from 1 to 3"):
        cc.read(make(SCOTTISH.replace("155,1,2,", "155,1,9,"), "ward.csv"))


def test_a_real_ward_as_published(data_folder: Path) -> None:
    prefs = cc.read(data_folder / "votekit" / "eilean_siar_2012_ward3.csv")
    assert (prefs.n_items, prefs.meta["seats"], float(prefs.weight.sum())) == (4, 3, 802)
    back = cc.rank(prefs, "stv", seats=3)
    assert back.items[-1] == "David Cameron Wilson"


def test_a_table_of_numbers_is_not_scottish(make: Any) -> None:
    assert preview(make("winner,loser\n1,2\n3,1\n", "votes.csv")).format == "csv"
    assert preview(make("3,2\n1,2\n3,1\n", "votes.csv")).format == "csv"


@pytest.mark.parametrize("format", ["blt", "abif"])
def test_what_an_election_file_cannot_hold_is_refused(tmp_path: Path, format: str) -> None:
    several = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]], instance=["x", "y"])
    with pytest.raises(InputError, match="several instances"):
        cc.write(several, tmp_path / f"x.{format}")
    with pytest.raises(InputError, match="cannot be written in"):
        cc.write(cc.Preferences.from_rankings([["a\nb", "c"]]), tmp_path / f"x.{format}")
    with pytest.raises(InputError, match="Only preferences"):
        cc.write(cc.Labels(None, ["a"], [1]), tmp_path / f"x.{format}")


def test_convert_writes_blt(make: Any, run: Run) -> None:
    path = make("count,first,second\n3,Ann,Bob\n2,Bob,\n", "votes.csv")
    code, out, said = run("convert", path, "-", "--to", "blt")
    assert (code, out) == (0, '2 1\n3 1 2 0\n2 2 0\n0\n"Ann"\n"Bob"\n""\n')
    assert "the number of seats is unknown and is written as 1" in said


def test_doubled_quotes_in_a_blt_name_are_quotes(tmp_path: Path) -> None:
    path = tmp_path / "votes.blt"
    path.write_text('2 1\n4 1 2 0\n3 2 1 0\n0\n"Amy ""A"""\n"Bo"\n"Title"\n')
    assert list(cc.read(path).items) == ['Amy "A"', "Bo"]
