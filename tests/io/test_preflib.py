"""PrefLib files: every type is read, written and read back the same; oddities of real files are understood."""

from __future__ import annotations

import io
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.conftest import ROOT, MakeFile

import concordant as cc
from concordant import kernels
from concordant.errors import FormatError, InputError
from concordant.io.formats import preflib
from concordant.kernels import twins

HEAD = "# TITLE: A vote\n# DATA TYPE: {}\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: {}\n"
NAMES = "# ALTERNATIVE NAME 1: Ada\n# ALTERNATIVE NAME 2: Ben\n# ALTERNATIVE NAME 3: Cy\n"
LABELS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\n\r"), min_size=1, max_size=8)


def text(kind: str, *orders: str, voters: int = 0) -> str:
    return HEAD.format(kind, voters or sum(int(order.split(":")[0]) for order in orders)) + NAMES + "\n".join(orders)


def ballots(prefs: cc.Preferences) -> list[list[list[str]]]:
    """Return every ballot as tiers of labels."""
    out = []
    for a, b in zip(prefs.indptr[:-1], prefs.indptr[1:], strict=True):
        tiers: dict[int, list[str]] = {}
        for item, tier in zip(prefs.items.take(prefs.item[a:b]), prefs.tier[a:b].tolist(), strict=True):
            tiers.setdefault(tier, []).append(item)
        out.append([tiers[tier] for tier in sorted(tiers)])
    return out


# ---- reading ----
@pytest.mark.usefixtures("backend")
def test_orders_become_ballots_with_counts_as_weights(make: MakeFile) -> None:
    prefs = cc.read(make(text("toi", "5: 3,{1,2}", "2: 2", "1:1, 3 , 2"), "vote.toi"))
    assert ballots(prefs) == [[["Cy"], ["Ada", "Ben"]], [["Ben"]], [["Ada"], ["Cy"], ["Ben"]]]
    assert prefs.weight.tolist() == [5, 2, 1]
    assert prefs.items.labels == ["Ada", "Ben", "Cy"]
    assert prefs.meta == {"title": "A vote", "data type": "toi"}
    assert prefs.notes == (f"{prefs.notes[0].split(':')[0]}: 3 orders (toi) of 8 voters over 3 alternatives",)


def test_candidates_that_nobody_ranked_stay_candidates(make: MakeFile) -> None:
    prefs = cc.read(make(text("soi", "5: 2"), "vote.soi"))
    assert prefs.n_slots == 3


def test_the_example_election_reads_as_its_table() -> None:
    ours, table = (cc.read(ROOT / "examples" / name) for name in ("election.soc", "election.csv"))
    assert ballots(ours) == ballots(table)
    assert ours.weight.tolist() == table.weight.tolist()


def test_the_content_tells_the_format_where_the_name_does_not(make: MakeFile) -> None:
    assert cc.read(make(text("soc", "1: 1,2,3"), "vote.txt")).meta["data type"] == "soc"


def test_orders_nobody_cast_are_kept_in_meta(make: MakeFile) -> None:
    prefs = cc.read(make(text("soc", "4: 1,2,3", "0: 3,2,1"), "vote.soc"))
    assert prefs.n_ballots == 1
    assert prefs.meta["never cast"] == [[["Cy"], ["Ben"], ["Ada"]]]
    assert "1 ballot with weight zero dropped" in prefs.notes


def test_only_line_feeds_end_a_line(make: MakeFile) -> None:
    odd = text("soc", "1: 1,2,3").replace("Ada", "A\x85d\u2028a").replace("Ben", "Be\x0bn")
    assert cc.read(make(odd, "vote.soc")).items.labels == ["A\x85d\u2028a", "Be\x0bn", "Cy"]


def test_windows_line_ends_and_a_byte_order_mark_are_understood(make: MakeFile) -> None:
    content = b"\xef\xbb\xbf" + text("soc", "1: 1,2,3").replace("\n", "\r\n").encode()
    assert cc.read(make(content, "vote.soc")).items.labels == ["Ada", "Ben", "Cy"]


def test_alternatives_may_be_numbered_from_zero(make: MakeFile) -> None:
    content = text("soi", "1: 2,0").replace("NAME 1", "NAME 0").replace("NAME 2", "NAME 1").replace("NAME 3", "NAME 2")
    prefs = cc.read(make(content, "vote.soi"))
    assert ballots(prefs) == [[["Cy"], ["Ada"]]]
    assert prefs.meta["alternative numbers"] == {"Ada": 0, "Ben": 1, "Cy": 2}


def test_shared_and_missing_names_are_told_apart(make: MakeFile) -> None:
    content = text("soc", "1: 1,2,3").replace("Ben", "Ada").replace("Cy", "")
    prefs = cc.read(make(content, "vote.soc"))
    assert prefs.items.labels == ["Ada", "Ada (2)", "3"]
    assert any("share the name of another" in note for note in prefs.notes)
    short = text("soc", "1: 1,2,3").replace("# ALTERNATIVE NAME 3: Cy\n", "")
    assert cc.read(make(short, "vote.soc")).items.labels == ["Ada", "Ben", "3"]


def test_the_layout_before_2022_is_read(make: MakeFile) -> None:
    old = "3\n1,Ada\n2,Ben\n3,Cy\n7,7,2\n4,1,{2,3}\n3,2\n"
    prefs = cc.read(make(old, "old.toi"))
    assert ballots(prefs) == [[["Ada"], ["Ben", "Cy"]], [["Ben"]]]
    assert prefs.weight.tolist() == [4, 3]
    with pytest.raises(FormatError, match=r"line 7: the order is not made of"):
        cc.read(make(old.replace("3,2\n", "3,x\n"), "old.toi"))


def test_several_files_are_several_instances(make: MakeFile) -> None:
    one = make(text("soc", "1: 1,2,3"), "one.soc")
    two = make(text("soi", "2: 3").replace("Ada", "Dee"), "two.soi")
    prefs = cc.read([one, two])
    assert prefs.instances is not None
    assert prefs.instances.labels == ["one.soc", "two.soi"]
    assert [prefs.items.take(prefs.slot_item[a:b]) for a, b in ((0, 3), (3, 6))] == [
        ["Ada", "Ben", "Cy"],
        ["Dee", "Ben", "Cy"],
    ]


# ---- categories ----
CAT = text("cat", "3: {1,2},{},3", "1: {},{},{1,2,3}").replace(
    NAMES, "# NUMBER CATEGORIES: 3\n# CATEGORY NAME 1: {}\n# CATEGORY NAME 2: {}\n# CATEGORY NAME 3: {}\n" + NAMES
)


def categories(*names: str) -> str:
    content = CAT
    for k, name in enumerate(names, 1):
        content = content.replace(f"CATEGORY NAME {k}: {{}}", f"CATEGORY NAME {k}: {name}")
    return content


def test_categories_are_tiers_and_empty_ones_leave_gaps(make: MakeFile) -> None:
    prefs = cc.read(make(categories("Yes", "Maybe", "No"), "vote.cat"))
    assert prefs.tier.tolist() == [0, 0, 2, 2, 2, 2]
    assert prefs.meta["categories"] == ("Yes", "Maybe", "No")
    assert any(note.startswith("categories, best first as listed") for note in prefs.notes)


def test_categories_listed_worst_first_are_turned_round(make: MakeFile) -> None:
    prefs = cc.read(make(categories("Disapproved", "Neutral", "Approved"), "vote.cat"))
    assert ballots(prefs)[0] == [["Cy"], ["Ada", "Ben"]]
    assert prefs.meta["categories"] == ("Approved", "Neutral", "Disapproved")


def test_the_user_orders_categories_and_leaves_some_out(make: MakeFile) -> None:
    path = make(categories("blue", "green", "red"), "vote.cat")
    assert ballots(cc.read(path, categories=["red", "green", "blue"]))[0] == [["Cy"], ["Ada", "Ben"]]
    assert ballots(cc.read(path, categories="blue"))[0] == [["Ada", "Ben"]]
    with pytest.raises(
        FormatError, match="must list categories of the file, best first, each at most once: blue, green, red"
    ):
        cc.read(path, categories=["violet"])
    with pytest.raises(FormatError, match="categories= only applies to PrefLib cat files"):
        cc.read(make("winner,loser\na,b\n"), categories=["x"])


# ---- weighted matching data ----
WMD = "# DATA TYPE: wmd\n# NUMBER ALTERNATIVES: 3\n# NUMBER EDGES: 3\n" + NAMES + "1, 2, 0.5\n1, 3, 2.0\n3, 1, 1.0\n"


def test_edges_are_ratings_of_vertices_by_vertices(make: MakeFile) -> None:
    prefs = cc.read(make(WMD, "kidney.wmd"))
    assert prefs.agents is not None
    assert prefs.value is not None
    assert prefs.agents.labels == ["Ada", "Cy"]
    assert ballots(prefs) == [[["Cy"], ["Ben"]], [["Ada"]]]
    assert prefs.value.tolist() == [2.0, 0.5, 1.0]
    for bad, said in (
        ("1, 9, 1", "both vertices must be in the header"),
        ("1, 2", "must have the form 'vertex"),
        ("1, 2, 7", "already occurs"),
    ):
        with pytest.raises(FormatError, match=rf"line 10: .*{said}"):
            cc.read(make(WMD + bad, "kidney.wmd"))


# ---- what is refused ----
@pytest.mark.usefixtures("backend")
@pytest.mark.parametrize(
    ("order", "said"),
    [
        ("x: 1,2", "line 9: the line does not begin with a whole number of voters"),
        ("-1: 1,2", "line 9: the line does not begin with a whole number of voters"),
        ("1 1,2", "line 9: the line does not begin with a whole number of voters"),
        ("1: 1,,2", "line 9: the order is not made of"),
        ("1: 1,2,", "line 9: the order is not made of"),
        ("1: {1,2", "line 9: the order is not made of"),
        ("1: {1 2}", "line 9: the order is not made of"),
        ("1: 1>2", "line 9: the order is not made of"),
        ("1: 1,4", "line 9: the alternative 4 is not in the header"),
        ("1: 1,2,1", "line 9: the alternative 1 occurs twice in the order"),
        ("1: 0", "line 9: the alternative 0 is not in the header"),
    ],
)
def test_a_bad_order_is_an_error_with_its_line_or_left_out(make: MakeFile, order: str, said: str) -> None:
    path = make(text("toi", "2: 3,2", voters=2) + f"\n{order}\n", "vote.toi")
    with pytest.raises(FormatError, match=said):
        cc.read(path)
    prefs = cc.read(path, skip_bad_rows=True)
    assert ballots(prefs) == [[["Cy"], ["Ben"]]]
    assert any("left out 1 row" in note and "line 9" in note for note in prefs.notes)


def test_what_does_not_fit_its_type_is_noted_and_strict_refuses_it(make: MakeFile) -> None:
    for kind, order, said in (
        ("soc", "1: 1,2", "an incomplete order in a soc file"),
        ("soi", "1: {1,2}", "an order with ties in a soi file"),
        ("toi", "1: 1", "the header declares 9 voters, but the orders have 1 in total"),
    ):
        path = make(text(kind, order, voters=9 if kind == "toi" else 1), f"vote.{kind}")
        assert any(said in note for note in cc.read(path).notes)
        with pytest.raises(FormatError, match=said):
            cc.read(path, strict=True)


def test_other_files_of_the_library_are_refused_with_the_reason(make: MakeFile) -> None:
    with pytest.raises(FormatError, match="read the derived soi, toi or cat file"):
        cc.read(make(text("dat", "1: 1,1"), "vote.dat"))
    with pytest.raises(FormatError, match="the file contains no orders"):
        cc.read(make(text("soc"), "vote.soc"))
    with pytest.raises(InputError, match="winner= does not apply to PrefLib files"):
        cc.read(make(text("soc", "1: 1,2,3"), "vote.soc"), winner="x")


# ---- the kernel and its twin ----
@settings(max_examples=300)
@given(st.text("0123456789:,{} #\r\n\tA", max_size=60), st.sampled_from(":,"))
def test_the_kernel_and_its_twin_agree_on_anything(content: str, separator: str) -> None:
    data = np.frombuffer(f"# ALTERNATIVE NAME 1: x\n{content}".encode(), np.uint8)
    for ours, theirs in zip(
        kernels.parse_orders(data, ord(separator)), twins.parse_orders(data, ord(separator)), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_counts_beyond_64_bits_stop_there_and_are_refused(make: MakeFile) -> None:
    orders = [f"{2**63 - 1}: 1,2,3", "2: 3,1,2"]
    data = np.frombuffer("\n".join(orders).encode(), np.uint8)
    for backend in (kernels, twins):
        assert backend.parse_orders(data, ord(":"))[-1][5] == 2**63 - 1
    with pytest.raises(FormatError, match="more than 2\\^63 voters"):
        cc.read(make(text("soc", *orders), "vote.soc"))


def test_absurd_numbers_of_alternatives_cost_no_memory(make: MakeFile) -> None:
    content = text("soc", "1: 1,2,2000000001").replace("NAME 3:", "NAME 2000000001:")
    assert len(cc.read(make(content, "far.soc")).items) == 3
    content = text("soc", "1: 1,2,3").replace("NUMBER ALTERNATIVES: 3", "NUMBER ALTERNATIVES: 999999999999")
    with pytest.raises(FormatError, match="declares 999,999,999,999 alternatives but names only 3"):
        cc.read(make(content, "many.soc"))


# ---- round trips ----
@st.composite
def elections(draw: Any) -> cc.Preferences:
    labels = draw(st.lists(LABELS, min_size=1, max_size=6, unique=True))
    n = draw(st.integers(1, 5))
    sizes = [draw(st.integers(0, len(labels))) for _ in range(n)]
    item = [code for size in sizes for code in draw(st.permutations(range(len(labels))))[:size]]
    tier = [tier for size in sizes for tier in sorted(draw(st.lists(st.integers(0, 3), min_size=size, max_size=size)))]
    meta: dict[str, object] = draw(
        st.dictionaries(
            st.sampled_from(["title", "description", "my field"]), st.from_regex(r"\w[\w ,:]*\w", fullmatch=True)
        )
    )
    if draw(st.booleans()):
        meta["categories"] = ("good", "fair", "so so", "bad")
    weight = draw(st.lists(st.integers(1, 10**12), min_size=n, max_size=n))
    ptr = np.concatenate([[0], np.cumsum(sizes)])
    return cc.Preferences(labels, ptr, np.array(item, int), np.array(tier, int), weight=weight, meta=meta)


def round_trip(prefs: cc.Preferences, format: str = "preflib") -> cc.Preferences:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "vote.txt"
        assert cc.write(prefs, path, format=format) == []
        return cc.read(path)


@settings(max_examples=80)
@given(elections())
def test_ballots_weights_names_and_header_survive(prefs: cc.Preferences) -> None:
    back = round_trip(prefs)
    assert back == prefs
    assert back.items.labels == prefs.items.labels
    assert back.weight.tolist() == prefs.weight.tolist()
    kept = {key: value for key, value in back.meta.items() if key not in ("file name", "data type")}
    assert kept == dict(prefs.meta)
    if "categories" in prefs.meta:
        assert back.tier.tolist() == prefs.tier.tolist()


@pytest.mark.parametrize(
    "content",
    [
        text("soc", "4: 1,2,3", "0: 3,2,1"),
        text("toc", "4: 1,{2,3}"),
        categories("Yes", "Maybe", "No"),
        categories("Disapproved", "Neutral", "Approved"),
        categories("Disapproved", "Neutral", "Approved") + "\n0: {1},{2},{3}",
        WMD,
    ],
)
def test_a_file_written_from_what_was_read_says_the_same(make: MakeFile, content: str) -> None:
    prefs = cc.read(make(content, "vote.txt"))
    out = io.BytesIO()
    assert cc.write(prefs, out, format="preflib" if prefs.meta["data type"] != "wmd" else "wmd") == []
    back = cc.read(make(out.getvalue(), "again.txt"))
    assert back == prefs
    assert back.meta == prefs.meta
    assert back.tier.tolist() == prefs.tier.tolist()


def test_the_name_or_the_format_chooses_the_type(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_rankings([["a", "b"], ["b", "a"]])
    for kind in ("soc", "soi", "toc", "toi", "cat"):
        cc.write(prefs, tmp_path / f"vote.{kind}.gz")
        assert cc.read(tmp_path / f"vote.{kind}.gz").meta["data type"] == kind
    assert ballots(cc.read(tmp_path / "vote.cat.gz")) == ballots(prefs)


def test_what_preflib_cannot_say_is_refused(tmp_path: Path) -> None:
    tied = cc.Preferences.from_rankings([["a", ["b", "c"]]])
    short = cc.Preferences.from_rankings([["a"]], candidates=["a", "b"])
    several = cc.Preferences.from_rankings([["a"], ["a"]], instance=["x", "y"])
    half = cc.Preferences.from_rankings([["a", "b"]], weight=[0.5])
    split = cc.Preferences.from_rankings([["a\nb", "c"]])
    open_ended = cc.Preferences(["a", "b", "c"], [0, 3], [0, 1, 2], [0, 1, 1], open=[True])
    for prefs, kind, said in (
        (tied, "soi", "a soi file can only contain orders without ties"),
        (short, "soc", "use the file extension .soi"),
        (several, "soc", "one election"),
        (half, "soc", "not whole numbers"),
        (split, "soc", "does not fit on one line"),
        (open_ended, "toc", "cannot represent open \\(top-k\\) ballots"),
        (tied, "wmd", "only ratings by named agents"),
    ):
        with pytest.raises(InputError, match=f"(?i){said}"):
            cc.write(prefs, tmp_path / f"x.{kind}")
    with pytest.raises(InputError, match="Only preferences"):
        cc.write(cc.Labels(None, ["a"], [1]), tmp_path / "x.soc")  # type: ignore[arg-type]


def test_what_is_left_behind_is_said(tmp_path: Path) -> None:
    prefs = cc.Preferences.from_ratings(["u", "u"], ["a", "b"], [2, 1])
    assert cc.write(prefs, tmp_path / "x.soc") == [
        "the agents are not written",
        "the ratings that imply the order are not written",
    ]


# ---- the real library ----
@pytest.mark.data
@pytest.mark.slow
def test_every_file_of_the_library_is_read_and_written_back(data_folder: Path) -> None:
    counts: dict[str, int] = {}
    with tarfile.open(data_folder / "preflib" / "preflib.tar.xz") as archive:
        for k, member in enumerate(archive):
            kind = member.name.rpartition(".")[2]
            file = archive.extractfile(member)
            if kind not in preflib.TYPES or file is None:
                continue
            stream = io.BytesIO(file.read())
            stream.name = Path(member.name).name
            prefs = cc.read(stream)
            counts[kind] = counts.get(kind, 0) + 1
            if k % 20 == 0:
                out = io.BytesIO()
                assert cc.write(prefs, out, format=kind) == []
                out.seek(0)
                out.name = stream.name
                back = cc.read(out)
                assert back == prefs
                assert back.meta == prefs.meta
    assert counts == {"soc": 4342, "soi": 3473, "toc": 471, "toi": 47, "cat": 246}
