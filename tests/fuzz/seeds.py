"""Small whole files of every format: what the fuzzer starts from, made with our own writers or by hand."""

from __future__ import annotations

import tempfile
import zipfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests.workbooks import ods, xlsx

import concordant as cc

WIDE = ",".join(map(str, range(1, 31)))
RATED = ",".join(["3.5", "-2.25", "99", *["99"] * 27])
LETOR = "2 qid:1 1:0.5 2:3 #docid = a1\n0 qid:1 1:0.25 3:1e2 #docid = a2\n1 qid:2 2:-1 3:0 #docid = b1\n"
WRITTEN_BY_HAND = {
    "winners.csv": 'winner,loser,weight\nann,bob,2\n"bob, jr",ann,1\ncy,ann,0.5\nann,cy,3\n',
    "arena.csv": "question_id,model_a,model_b,winner,judge\n1,x,y,model_a,j1\n2,y,z,tie,j2\n3,z,x,model_b,j1\n",
    "places.csv": "count,first,second,third\n22,Ada,Ben,Cy\n19,Ben,Cy,\n3,Cy,,\n",
    "matrix.csv": "item,v1,v2,v3\nAda,1,2,3\nBen,2,1,\nCy,3,3,1\n",
    "form.csv": "Timestamp,Name,Rank them [x],Rank them [y]\n1,ann,1st choice,2nd choice\n2,bob,2nd,1st\n",
    "graded.csv": "Timestamp,Q? [x],Q? [y],Service? [x],Service? [y]\n1,Good,Poor,Fair,Good\n2,Fair,Good,,\n",
    "lists.csv": "ID,Name,Rank them\n1,ann,x;y;z;\n2,bob,z;x;y;\n",
    "votes.csv": "Precinct,rank1,rank2,Rank3,count\np,Ada,skipped,Ben,2\nq,UWI,overvote,undervote,1\nr,Cy,Cy,Ada,1\n",
    "choices.csv": "id,chid,alt,choice,price\n1,1,x,TRUE,2\n1,1,y,FALSE,3\n2,2,x,FALSE,1\n2,2,y,TRUE,2\n",
    "best-worst.csv": "id,item1,item2,item3,best,worst\n1,x,y,z,x,z\n1,y,z,w,z,\n2,x,y,w,w,x\n",
    "maxdiff.csv": "id,block,label,value\n1,1,x,1\n1,1,y,0\n1,1,z,-1\n2,1,x,-1\n2,1,y,1\n2,1,z,0\n",
    "counts.csv": "item,totals,bests,worsts\nx,10,5,1\ny,10,1,4\nz,12,3,3\n",
    "qualtrics.csv": "ResponseId,Finished,Q1_1,Q1_2\nResponse ID,Finished,Rank - x,Rank - y\n"
    '"{""ImportId"":""_recordId""}","{""ImportId"":""finished""}",a,b\nR_1,True,1,2\nR_2,False,-99,-99\nR_3,True,2,1\n',
    "monkey.csv": "Respondent ID,Collector ID,Rank them,\n,,x,y\n1,7,1,2\n2,7,2,1\n",
    "lime.csv": "id,submitdate,startlanguage,q[1],q[2]\n1,2024-01-01,en,x,y\n2,,de,y,x\n",
    "votekit.csv": "VoteKit RankProfile\nCandidates\n(Ada:A),(Ben:B)\nMax Ranking Length\n2\n"
    "Includes Voter Set\nFalse\n=,=,=,=,=,=,=,=,=,=\n"
    "Ranking_1,Ranking_2,&,Weight,&\n\"{'A', 'B'}\",,&,2.0,&\n{'B'},{'A'},&,1.0,&\n",
    "text.csv": "ranking\na > b = c > d\nb > a\nc = d > a\n",
    "semicolons.csv": "user;item;rating\nu1;a;4,5\nu1;b;3\nu2;a;1\n",
    "ratings.dat": "1::10::5::978300760\n1::20::3::978302109\n2::10::1::978301968\n",
    "u.data": "1\t10\t5\t978300760\n1\t20\t3\t978302109\n2\t10\t1\t978301968\n",
    "jester.csv": f"2,{RATED}\n30,{WIDE}\n2,{RATED}\n",
    "sushi.order": "10 1\n0 3 5 0 3\n0 3 2 9 1\n0 2 4 6\n",
    "sushi.score": "0 4 -1 2\n-1 1 3 0\n2 -1 -1 4\n",
    "train.letor": LETOR,
    "MQ.svmlight": LETOR.replace("#docid = a1", "# comment").replace(":3", ":NULL"),
    "judged.qrels": "1 0 d1 2\n1 0 d2 0\n2 0 d1 1\n",
    "old.soc": "3\n1,Ada\n2,Ben\n3,Cy\n9,9,2\n5,1,2,3\n4,3,2,1\n",
    "match.wmd": "# FILE NAME: m.wmd\n# DATA TYPE: wmd\n# NUMBER ALTERNATIVES: 3\n# NUMBER EDGES: 2\n"
    "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n1,2,1.5\n2,3,0.5\n",
    "judge.cat": "# FILE NAME: j.cat\n# TITLE: t\n# DATA TYPE: cat\n# NUMBER ALTERNATIVES: 2\n# NUMBER VOTERS: 5\n"
    "# NUMBER CATEGORIES: 2\n# CATEGORY NAME 1: yes\n# CATEGORY NAME 2: no\n"
    "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n3: {1},{2}\n2: {1,2},{}\n",
    "passages.tsv": "1\ta\t1\n1\tb\t2\n2\tc\t1\n2\ta\t2\n",
    "ranx.json": '{"1": {"a": 9.5, "b": 8.0}, "2": {"c": 7.5, "a": 1e-3}}',
    "ranx-qrels.json": '{"1": {"a": 1, "b": 0}, "2": {"c": 2}}',
    "hits.json": '{"took": 1, "responses": [{"hits": {"hits": [{"_id": "a", "_score": 2.5}, {"_id": "b", '
    '"_score": 1}]}}, {"hits": {"hits": [{"_id": "b", "_score": null}]}}]}',
    "vespa.json": '{"root": {"id": "top", "relevance": 1.0, "children": [{"id": "id:m:m::1", "relevance": 0.5}, '
    '{"id": "group:root:0", "children": [{"id": "id:m:m::2", "relevance": 0.25}]}]}}',
    "election.blt": '# c\n4 2\n-2\n3 1 3 4 0\n2 4 - 1=3 0\n(b1) 4 0\n0\n"Ann" /* x */ "Bob" "Cy"\n"Dee"\n"Title"\n',
    "election.abif": '# c\n{"title": "t"}\n=A:[Ann Lee]\n27:A>B=Cy\n12:"Dee">A\n',
    "scores.abif": "5:A/5,B/2,C/0\n2:B/5,A/5,C/1\n",
    "election.cvotes": "#/Candidates: Ann ; Bob ; Cy\n#/Number of Seats: 2\nt || Ann > Bob ^7 * 42\nBob = Cy\n",
    "tally.txt": "  Option 1----->: Ann\n/  Option 2---->: Bob\n|/\nV: 12 aaa\nV: 21   bbb\nV: -1   ccc\n",
    "ward.csv": '3,2,\n155,1,2,\n20,3,\n7,2,3,1,\n"Candidate 1","Ann","G",\n"Candidate 2","Bob","L",\n'
    '"Candidate 3","Cy","S",\n"Ward 1",\n',
    "games.pgn": '[Event "e"]\n[Date "2024.01.31"]\n[White "Ann"]\n[Black "Bob"]\n[Result "1-0"]\n\n1. e4 1-0\n\n'
    '[Event "e"]\n[Date "2024.02.01"]\n[White "Cy"]\n[Black "Ann"]\n[Result "1/2-1/2"]\n\n1. d4 1/2-1/2\n',
    "races.txt": "DriverID Race Place\n83 1 1\n18 1 2\n20 1 3\n18 2 1\n83 2 2\n",
    "orders.txt": "Ann Bob Cy\nBob Ann Dee Cy\nCy Ann Bob\n",
    "anime.inter": "user_id:token\titem_id:token\trating:float\n1\ta\t-1\n1\tb\t9\n2\ta\t8\n",
    "amazon.csv": "A2CX7LUOHB2NDG,0321732944,5.0,1341100800\nA2NWSAGRHCP8N5,0439886341,1.0,1367193600\n",
    "goodreads.csv": "user_id,book_id,is_read,rating,is_reviewed\n0,948,1,5,0\n0,947,1,0,0\n1,947,1,3,0\n",
    "steam.csv": '151603712,"Sky, rim",purchase,1.0,0\n151603712,"Sky, rim",play,2.5,0\n5250,Fallout,play,1.5,0\n',
}
LABELS = {"judged.qrels", "labels.csv", "ranx-qrels.json"}
FEATURES = {"train.letor", "MQ.svmlight", "hotels.csv"}
HOTELS = "city,hotel,relevance,price,stars\nArles,A1,0,110,2\nArles,A2,2,183,5\nLyon,L1,1,,3\nLyon,L2,0,9e1,1\n"


def preferences() -> dict[str, cc.Preferences]:
    """Return preferences of every form."""
    ballots = [["Ada", ["Ben", "Zoë"], "Cy"], ["Ben", "Ada"], ["Cy"]]
    rankings = cc.Preferences.from_rankings(ballots, weight=[3, 1, 2], agent=["u", "v", "u"], instance=["q", "q", "r"])
    ratings = cc.Preferences.from_ratings(
        item=["a", "b", "a", "c"], agent=["u1", "u1", "u2", "u2"], rating=[5.0, 3.5, 1.0, 2.0]
    )
    return {
        "rankings": rankings,
        "pairs": cc.Preferences.from_pairs(["a", "b", "c", "a"], ["b", "c", "a", "c"], weight=[1, 2, 3, 4]),
        "ratings": ratings,
        "orders": cc.Preferences.from_rankings([["Ada", "Ben", "Cy"], ["Cy", "Ben", "Ada"]], weight=[3, 2]),
    }


@cache
def seeds() -> dict[str, bytes]:
    """Return every seed: the name of a file and its content."""
    found = {name: content.encode() for name, content in WRITTEN_BY_HAND.items()}
    found |= {"labels.csv": b"instance,item,label\nq1,a,2\nq1,b,0\nq2,a,1\n", "hotels.csv": HOTELS.encode()}
    with tempfile.TemporaryDirectory() as folder:
        for form, prefs in preferences().items():
            for ending in ("csv", "tsv", "jsonl", "json", "parquet"):
                found[f"{form}.{ending}"] = written(prefs, Path(folder) / f"{form}.{ending}")
        by_name = preferences()
        found["orders.soc"] = written(by_name["orders"], Path(folder) / "orders.soc")
        found["orders.toi"] = written(by_name["orders"], Path(folder) / "orders.toi")
        runs = cc.Preferences.from_ratings(
            item=["d1", "d2", "d1"], agent=["s", "s", "s"], rating=[3.0, 2.0, 1.0], instance=["1", "1", "2"]
        )
        found["engine.run"] = written(runs, Path(folder) / "engine.run")
        for packing in ("gz", "bz2", "xz", "zst"):
            found[f"pairs.csv.{packing}"] = written(by_name["pairs"], Path(folder) / f"pairs.csv.{packing}")
        with zipfile.ZipFile(Path(folder) / "pairs.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("pairs.csv", found["pairs.csv"])
        found["pairs.zip"] = (Path(folder) / "pairs.zip").read_bytes()
        cc.save(cc.BradleyTerry(), Path(folder) / "model.zip")
        found["model.zip"] = (Path(folder) / "model.zip").read_bytes()
        found |= database_seeds(Path(folder))
    return found | arrow_seeds() | workbook_seeds()


def database_seeds(folder: Path) -> dict[str, bytes]:
    """Return small databases with one table."""
    import sqlite3

    import duckdb

    rows = "SELECT 'a' AS winner, 'b' AS loser, 1.5 AS weight UNION ALL SELECT 'b', 'c', 2"
    for name, connect in (("votes.sqlite", sqlite3.connect), ("votes.duckdb", duckdb.connect)):
        connection = connect(str(folder / name))
        connection.execute(f"CREATE TABLE votes AS {rows}")
        connection.commit()
        connection.close()
    return {name: (folder / name).read_bytes() for name in ("votes.sqlite", "votes.duckdb")}


def written(prefs: cc.Preferences, path: Path) -> bytes:
    """Return what our own writer makes of preferences."""
    cc.write(prefs, path)
    return path.read_bytes()


def workbook_seeds() -> dict[str, bytes]:
    """Return workbooks, where the package that reads them is installed."""
    if find_spec("python_calamine") is None:
        return {}
    sheets = {"Points": [["Points"], [], ["name", "x", "y"], ["ann", 5, 3.5], ["bob", 4, None]], "Other": [["a"], [1]]}
    return {"points.xlsx": xlsx(sheets, merged=["A1:C1"]), "points.ods": ods(sheets)}


def arrow_seeds() -> dict[str, bytes]:
    """Return Arrow files and streams of several types, where pyarrow is installed."""
    try:
        import pyarrow as pa
    except ImportError:
        return {}
    names = pa.array(["a long name", "b", "c", "a long name"])
    found = {}
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int16(), pa.string())):
        table = pa.table({"winner": names.cast(kind), "loser": ["b", "c", "b", "c"], "note": pa.array([1, None, 2, 3])})
        for ending, start in (("arrow", pa.ipc.new_file), ("ipc", pa.ipc.new_stream)):
            sink = pa.BufferOutputStream()
            with start(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=2)
            found[f"{str(kind).split('<')[0].replace('_', '-')}.{ending}"] = sink.getvalue().to_pybytes()
    return found
