"""Data sets by name: known, found in a folder, loaded; a missing one says where to get it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import concordant as cc
from concordant import datasets
from concordant.cli.__main__ import main
from concordant.errors import InputError, UnknownNameError

TENNIS = "tourney_date,winner_id,loser_id,winner_name,loser_name\n"
# What each set's loader needs, in the published layout, made up and tiny.
LAYOUTS: dict[str, tuple[dict[str, str], str | None]] = {
    "mq2007-agg": (
        {f"MQ2007-agg/A{k}.txt": f"1 qid:{k} 1:1 2:NULL #docid = d{k}\n" for k in range(1, 6)},
        None,
    ),
    "mq2008-agg": (
        {f"letor4-agg/MQ2008-agg/A{k}.txt": f"1 qid:{k} 1:1 2:2 #docid = d{k}\n" for k in range(1, 6)},
        None,
    ),
    "mq2008": ({f"S{k}.txt": f"2 qid:{k} 1:0.5 #docid = d{k}\n" for k in range(1, 6)}, None),
    "lightgbm-lambdarank": ({"rank.test": "1 1:2\n0 1:1\n", "rank.test.query": "2\n"}, "test"),
    "mslr-web10k-sample": ({"msn1.fold1.train.5k.txt": "1 qid:1 1:2\n"}, None),
    "mslr-web10k": ({"MSLR-WEB10K/Fold2/vali.txt": "1 qid:1 1:2\n"}, "Fold2/vali"),
    "yahoo-ltr": ({"set1.train.txt": "1 qid:1 1:2\n"}, None),
    "ml-100k": ({"ml-100k/u.data": "1\t2\t5\t978300760\n"}, None),
    "ml-1m": ({"ratings.dat": "1::2::5::978300760\n"}, None),
    "ml-10m": ({"ml-10M100K/ratings.dat": "1::2::4.5::978300760\n"}, None),
    "ml-latest-small": ({"ratings.csv": "userId,movieId,rating,timestamp\n1,2,5,9\n"}, None),
    "jester-1": ({"jester-data-1.csv": ",".join(["1", "5", *["99"] * 30]) + "\n"}, None),
    "sushi-a": ({"sushi3a.5000.10.order": "3 1\n0 3 2 1 0\n"}, None),
    "sushi-b": ({"sushi3b.5000.10.order": "9 1\n0 2 8 1\n"}, None),
    "preflib": (
        {"datasets/00001 - a/00001-00000001.soi": "# DATA TYPE: soi\n# ALTERNATIVE NAME 1: x\n1: 1\n"},
        "00001-00000001.soi",
    ),
    "trec-robust03": ({"runs/one": "1 Q0 d 1 2.0 me\n", "qrels.txt": "1 0 d 1\n"}, None),
    "crowd-2011": (
        {
            "votes": "1\t7_d1\tw\t1\n2\t7_d2\tw\t0\n",
            "task1_unlabeled_g_truth_cons_public.txt": "SetId\tTopicId\tDocId\tG\n1\t7\td1\t2\n1\t7\td2\t-1\n",
        },
        None,
    ),
    "crowd-2011-all": (
        {
            "votes": "1\t7_d1\tw\t1\n2\t7_d2\tw\t0\n",
            "otherparticipantsvotes": "7_d1\tworker_1  \t1\n7_d1\tworker_1  \t0\n",
            "task1_unlabeled_g_truth_cons_public.txt": "SetId\tTopicId\tDocId\tG\n1\t7\td1\t2\n1\t7\td2\t-1\n",
        },
        None,
    ),
    "crowd-2011-graded": (
        {
            "assignments.txt": "run\tset\tworker\tstatus\t" + "\t".join(f"doc{k}rel" for k in range(1, 6))
            + "\n2\t5\tw\tAccepted\t10\t20\t30\t40\t50\n2\t5\tv\tPreview" + "\tNA" * 5 + "\n",
            "hits.txt": "set\ttopic\t" + "\t".join(f"doc{k}" for k in range(1, 6)) + "\n5\t7\ta\tb\tc\td\te\n",
        },
        "2",
    ),
    "crowd-2011-task2": ({"task2.txt": "topicID\tworkerID\tdocID\tgold\tlabel\n7\tw\td1\t1\t2\n"}, None),
    "gifgif": ({"gifgif_raw.txt": "5,6\n6,-1\n6,5\n7,5\n"}, None),
    "tennis-atp": (
        {
            "tennis_atp/atp_matches_1968.csv": TENNIS + "19680201,1,2,Ann,Bob\n19680101,3,1,Ann,Ann\n",
            "tennis_atp/atp_players.csv": "x\n",
        },
        None,
    ),
}  # fmt: skip


@pytest.fixture
def laid_out(tmp_path: Path) -> Any:
    """Write the files of a set into a folder, packed or not."""

    def write(name: str, packed: bool) -> Path:
        for file, content in LAYOUTS[name][0].items():
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            if packed and path.suffix not in (".csv", ".soi"):
                path.with_name(path.name + ".gz").write_bytes(gzip.compress(content.encode()))
            else:
                path.write_text(content)
        return tmp_path

    return write


def test_every_set_is_described_and_has_a_layout_here() -> None:
    assert set(datasets.names()) == set(LAYOUTS)
    for name in datasets.names():
        known = datasets.describe(name)
        assert all((known.title, known.holds, known.size, known.licence, known.page, known.url, known.files))
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in known.sha256.values())


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", list(LAYOUTS))
def test_every_set_loads_from_its_published_layout(laid_out: Any, name: str, packed: bool) -> None:
    folder, part = laid_out(name, packed), LAYOUTS[name][1]
    loaded = datasets.load(name, folder, part=part)
    if datasets.describe(name).holds == "features":
        assert len(loaded[0]) == len(loaded[1]) == len(loaded[2]) > 0  # type: ignore[index]
    else:
        assert loaded.n_ballots > 0  # type: ignore[union-attr]
    if datasets.describe(name).labels:
        assert len(datasets.load_labels(name, folder, part=part)) > 0


def test_what_no_image_won_against_is_left_out(laid_out: Any) -> None:
    prefs = datasets.load("gifgif", laid_out("gifgif", False))
    assert isinstance(prefs, cc.Preferences)
    assert sorted(prefs.items) == ["5", "6", "7"]
    assert prefs.n_ballots == 3
    assert any("left out 1 rows: an image is missing" in note for note in prefs.notes)


def test_matches_come_in_order_of_date_and_namesakes_are_two_players(laid_out: Any) -> None:
    prefs = datasets.load("tennis-atp", laid_out("tennis-atp", False))
    assert isinstance(prefs, cc.Preferences)
    assert prefs.items.take(prefs.item) == ["Ann (3)", "Ann (1)", "Ann (1)", "Bob"]


def test_matches_of_a_day_come_in_the_order_of_rounds_and_surfaces_are_instances(tmp_path: Path) -> None:
    header = "tourney_date,winner_id,loser_id,winner_name,loser_name,round,match_num,tourney_id,score,surface\n"
    rows = (
        "20160104,1,2,Ann,Bob,F,300,A,6-0 6-0,Clay\n"
        "20160104,2,4,Bob,Dan,SF,299,A,W/O,Clay\n"
        "20160104,1,3,Ann,Cid,SF,298,A,6-0 6-0,Clay\n"
        "20160104,3,5,Cid,Eve,R32,100,A,6-0 6-0,\n"
    )
    (tmp_path / "atp_matches_1968.csv").write_text(header + rows)
    played = {part: datasets.load("tennis-atp", tmp_path, part=part) for part in ("all", "played", "surfaces")}
    one = played["all"]
    assert isinstance(one, cc.Preferences)
    assert one.items.take(one.item) == ["Cid", "Eve", "Ann", "Cid", "Bob", "Dan", "Ann", "Bob"]
    assert one.is_dated
    for part in ("played", "surfaces"):
        some = played[part]
        assert isinstance(some, cc.Preferences)
        assert some.items.take(some.item) == ["Cid", "Eve", "Ann", "Cid", "Ann", "Bob"]
        assert any("left out 1 walkovers" in note for note in some.notes)
    assert list(played["surfaces"].instances or ()) == ["unknown", "Clay"]  # type: ignore[union-attr]


def test_a_missing_set_says_where_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        InputError, match=r"u\.data is missing\. Get it from GroupLens.*grouplens\.org.*no redistribution"
    ):
        datasets.load("ml-100k", tmp_path)
    monkeypatch.delenv("CONCORDANT_DATA", raising=False)
    with pytest.raises(InputError, match="give folder=, or set CONCORDANT_DATA"):
        datasets.load("ml-100k")
    monkeypatch.setenv("CONCORDANT_DATA", str(tmp_path))
    with pytest.raises(InputError, match="is missing"):
        datasets.load("ml-100k")


def test_unknown_names_and_parts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"no data set 'ml-100'. Did you mean ml-100k"):
        datasets.describe("ml-100")
    with pytest.raises(UnknownNameError, match="has no part 'dev': it has train, test"):
        datasets.load("lightgbm-lambdarank", tmp_path, part="dev")
    with pytest.raises(InputError, match="has only one part"):
        datasets.load("ml-100k", tmp_path, part="x")
    with pytest.raises(InputError, match="has no labels"):
        datasets.load_labels("gifgif", tmp_path)


def test_a_library_needs_the_name_of_a_file(laid_out: Any) -> None:
    folder = laid_out("preflib", False)
    with pytest.raises(InputError, match="name one of its files"):
        datasets.load("preflib", folder)
    with pytest.raises(InputError, match=r"no file 9\.soc"):
        datasets.load("preflib", folder, part="9.soc")


def test_checksums_tell_a_changed_file(laid_out: Any) -> None:
    assert datasets.verify("ml-100k", laid_out("ml-100k", True)) == {"u.data": False}


def test_the_command_lists_and_describes(laid_out: Any, capsys: pytest.CaptureFixture[str]) -> None:
    folder = laid_out("ml-100k", False)

    def run(*args: str) -> str:
        with pytest.raises(SystemExit) as stopped:
            main(["datasets", *args, "--data", str(folder)])
        assert stopped.value.code in (0, None)
        return capsys.readouterr().out

    assert all(name in run() for name in datasets.names())
    assert "grouplens.org" in run("ml-100k")
    facts = json.loads(run("ml-100k", "--json", "--verify"))
    assert facts["is_here"] is True
    assert facts["verified"] == {"u.data": False}
    assert len(json.loads(run("--json"))) == len(datasets.names())


@pytest.mark.data
def test_the_sets_that_are_here_load_with_their_sizes(data_folder: Path) -> None:
    sizes = {"ml-100k": 943, "gifgif": 106_877, "tennis-atp": 194_993, "crowd-2011": 1600, "sushi-b": 5000}
    for name, ballots in sizes.items():
        prefs = datasets.load(name, data_folder)
        assert isinstance(prefs, cc.Preferences)
        assert prefs.n_ballots == ballots
    assert len(datasets.load("preflib", data_folder, part="00014-00000001.soc")) == 4926  # type: ignore[arg-type]
    X, _, query = datasets.load("lightgbm-lambdarank", data_folder)  # type: ignore[misc]
    assert (X.shape, len(np.unique(query))) == ((3005, 300), 201)


@pytest.mark.data
def test_the_checksums_are_those_of_the_files_here(data_folder: Path) -> None:
    for name in datasets.names():
        assert all(datasets.verify(name, data_folder).values()), name
