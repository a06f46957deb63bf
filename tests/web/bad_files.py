"""Files that cannot be read, or not as they are, of every field and every kind of damage."""

from __future__ import annotations

import gzip
import io
import zipfile

from tests.workbooks import xls, xlsx

ROWS = "".join(f"a{k % 7},a{(k + 1) % 7}\n" for k in range(10_000))


def zipped(**content: bytes) -> bytes:
    """Return a zip archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, inside in content.items():
            archive.writestr(name, inside)
    return out.getvalue()


FILES: dict[str, bytes] = {
    "empty.csv": b"",
    "blank.csv": b"\n  \n",
    "header.csv": b"winner,loser\n",
    "one-column.csv": b"name\nann\nbob\ncy\n",
    "two-unknown.csv": b"x,y\nfoo,1\nbar,2\n",
    "many-unknown.csv": b"p,q,r,s\nfoo,1,x,9\nbar,2,y,8\n",
    "empty-winner.csv": b"winner,loser\na,b\n,b\nb,a\n",
    "self.csv": b"winner,loser\na,b\nb,b\nb,a\n",
    "one-bad-of-10000.csv": ("winner,loser\n" + ROWS[:50_004] + "a1,a1\n" + ROWS[50_004:]).encode(),
    "thousands.csv": b'user,item,rating\nu1,i1,"1.234,5"\nu1,i2,3\nu2,i1,2\nu2,i2,1\n',
    "text-rating.csv": b"user,item,rating\nu1,i1,4\nu1,i2,good\nu2,i1,2\nu2,i2,1\n",
    "ragged.csv": b"winner,loser\na,b\nb,c,d,e\nc,a\n",
    "short-row.csv": b"user,item,rating\nu1,i1,4\nu1\nu2,i1,2\nu2,i2,1\n",
    "unclosed.csv": b'winner,loser\na,b\n"b,c\nc,a\n',
    "wrong-delimiter.csv": b"winner/loser\na/b\nb/c\n",
    "latin1.csv": "winner,loser\nJosé,Zoë\nZoë,Ann\n".encode("latin-1"),
    "utf16-no-bom.csv": "winner,loser\na,b\nb,c\n".encode("utf-16-le"),
    "shift-jis.csv": "winner,loser\n東京,大阪\n大阪,京都\n".encode("shift_jis"),
    "broken-utf8.csv": b"winner,loser\n" + b"a,b\n" * 200 + b"\xff\xfe\x80a,b\nb,c\n",
    "nul.csv": b"winner,loser\na\x00x,b\nb,c\n",
    "negative-weight.csv": b"winner,loser,weight\na,b,1\nb,c,-3\nc,a,1\n",
    "text-weight.csv": b"winner,loser,count\na,b,1\nb,c,lots\nc,a,1\n",
    "bad-outcome.csv": b"model_a,model_b,winner\nx,y,model_a\ny,z,perhaps\nz,x,model_b\n",
    "binary.csv": bytes(range(256)) * 20,
    "picture.png": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
    "report.pdf": b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj\n<<>>\nendobj\n",
    "page.html": b"<!doctype html><html><body><p>hi</p></body></html>",
    "bomb.zip": zipped(**{"votes.csv": b"winner,loser\n" + b"a,b\n" * 20_000_000}),
    "several.zip": zipped(**{"a.csv": b"winner,loser\na,b\n", "b.txt": b"hello"}),
    "broken.zip": zipped(**{"votes.csv": b"winner,loser\na,b\n" * 99})[:-30],
    "broken.csv.gz": gzip.compress(b"winner,loser\na,b\nb,c\n" * 100)[:-12],
    "broken.json": b'{"a": [1, 2',
    "object.json": b'{"a": 1, "b": {"c": 2}}',
    "bad-line.jsonl": b'{"winner": "a", "loser": "b"}\n{"winner": \n{"winner": "b", "loser": "a"}\n',
    "qrels.txt": b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n",
    "bad.run": b"q1 Q0 d1 1 0.9 sys\nq1 Q0 d2 two 0.8 sys\nq1 Q0 d3 x y sys\n",
    "bad.soc": b"# NUMBER ALTERNATIVES: 3\n1: 1,2,3\n2: 1,2,9\n",
    "bad.blt": b'3 1\n1 1 2 0\n1 5 0\n0\n"A"\n"B"\n"C"\n"T"\n',
    "notes.txt": b"Dear all,\nplease find the results of the election below.\nBest wishes\n",
    "rank-gap.csv": b"voter,item,rank\nv1,a,1\nv1,b,zero\nv2,a,2\n",
    "votes.xls": xls([["name"], ["x"], ["y"]]),
    "broken.xlsx": b"PK\x03\x04" + b"junk" * 100,
    "not-a-workbook.xlsx": b"winner,loser\na,b\n",
    "broken.parquet": b"PAR1" + b"\x00" * 50 + b"PAR1",
    "broken.sqlite": b"SQLite format 3\x00" + b"\x00" * 200,
}
# What is not for ranking, but for training and for checking annotators.
OTHER_TASKS: dict[str, bytes] = {
    "letor.txt": b"2 qid:1 1:0.5 2:0.1\n1 qid:1 1:0.1 2:0.9\n0 qid:2 1:0.5 2:0.3\n",
    "annotators.csv": b"worker,task,label\nw1,t1,cat\nw1,t2,dog\nw2,t1,cat\nw2,t2,dog\n",
}
DATES = b"winner,loser,time\na,b,01/02/2020\nb,c,03/04/2020\nc,a,05/06/2020\n"
SHEETS = xlsx({"Info": [["about", "this file"]], "Votes": [["winner", "loser"], ["a", "b"], ["b", "c"]]})
VOTES = b"winner,loser\nann,bob\nbob,cy\nann,cy\n"
# Settings that do not fit their file, which is fine without them.
SETTINGS: list[tuple[str, bytes, dict[str, str]]] = [
    ("dates.csv", DATES, {"role.time": "time"}),
    ("sheets.xlsx", SHEETS, {"sheet": "nope"}),
    ("tabs.csv", b"winner\tloser\na\tb\nb\tc\n", {"delimiter": ";"}),
    ("votes.csv", VOTES, {"layout": "ratings"}),
    ("votes.csv", VOTES, {"layout": "places"}),
    ("votes.csv", VOTES, {"layout": "rankings"}),
    ("votes.csv", VOTES, {"layout": "rank-matrix"}),
    ("votes.csv", VOTES, {"encoding": "klingon"}),
    ("votes.csv", VOTES, {"encoding": "utf-16"}),
    ("votes.csv", VOTES, {"delimiter": "::"}),
    ("votes.csv", VOTES, {"where": "winer = 'a'"}),
    ("votes.csv", VOTES, {"where": "winner = 'nobody'"}),
    ("votes.csv", VOTES, {"role.winner": "-"}),
    ("votes.csv", VOTES, {"role.winner": "rating", "role.loser": "time"}),
    ("votes.csv", VOTES, {"method": "brda"}),
    ("votes.csv", VOTES, {"method": "mean-rating"}),
    ("votes.csv", VOTES, {"method": "bradley-terry", "o.prior": "-1"}),
    ("votes.csv", VOTES, {"method": "elo", "o.steps": "1"}),
    ("votes.csv", VOTES, {"min_ballots": "99"}),
    ("votes.csv", VOTES, {"method": "borda", "scale": "elo"}),
    ("votes.csv", VOTES, {"scale": "elo", "anchor": "nobody"}),
    ("votes.csv", VOTES, {"add_columns": "nothing"}),
]
