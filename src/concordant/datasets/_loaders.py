"""Load each data set from its files."""

from __future__ import annotations

import csv
import io
import os
import re
import tarfile
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from concordant.datasets._known import Dataset
from concordant.errors import InputError
from concordant.io import Options, Source, read, read_features, read_labels
from concordant.labels import Labels
from concordant.preferences import Preferences

Files = Sequence[Path]
_SEASON = re.compile(r"atp_matches_\d{4}\.csv$")


def _plain(_: Dataset, files: Files, __: str | None) -> Preferences:
    return read(list(files))


def _features(_: Dataset, files: Files, __: str | None) -> Any:
    return read_features(list(files))


def _runs(_: Dataset, files: Files, __: str | None) -> Preferences:
    return read(sorted(files[0].iterdir()), format="trec")


def _labels(known: Dataset, files: Files, _: str | None) -> Labels:
    return read_labels(list(files), format="qrels" if known.label_files else None)


# ---- PrefLib ----
def _preflib(known: Dataset, files: Files, part: str | None) -> Preferences:
    """Read one PrefLib file, from a folder or a tar archive."""
    if part is None:
        raise InputError(
            f"The data set {known.name} is a collection: name one of its files,  {known.note.split(', ')[-1]}."
        )
    if files[0].is_dir():
        paths = sorted(files[0].rglob(os.path.basename(part)))
        if paths:
            return read(paths[0])
    else:
        for name, content in _members(files[0], part):
            stream = io.BytesIO(content)
            stream.name = os.path.basename(name)
            return read(stream)
    raise InputError(f"There is no file {part} in {files[0]}: use a PrefLib file name, such as 00014-00000001.soc.")


def _members(path: Path, ending: str) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of the members of a tar archive whose names end with ``ending``."""
    with tarfile.open(path) as archive:
        for member in archive:
            if member.isfile() and member.name.endswith(ending):
                file = archive.extractfile(member)
                if file is not None:
                    yield member.name, file.read()


# ---- sports ----
# Rounds from the first to the last; groups come before the knock-out that follows them.
_ROUNDS = ("ER", "RR", "R128", "R64", "R32", "R16", "QF", "SF", "BR", "F")


def _tennis(_: Dataset, files: Files, part: str | None) -> Preferences:
    """Read all matches in the order of play; if several players have the same name, their number is appended.

    All matches of a tournament have the date of its first day, and some files list the final first, so matches on the
    same date are sorted by round. "played" and "surfaces" leave out walkovers; "surfaces" has an instance per surface.
    """
    rows = [row for text in _tennis_files(files[0]) for row in csv.DictReader(io.StringIO(text))]
    n_read = len(rows)
    rows = sorted((row for row in rows if row["winner_id"] != row["loser_id"]), key=_when_played)
    notes = [f"{len(rows):,} matches from {rows[0]['tourney_date']} to {rows[-1]['tourney_date']}, in order of play"]
    if len(rows) < n_read:
        notes.append(f"left out {n_read - len(rows):,} matches between two unknown players")
    if part in ("played", "surfaces"):
        played = [row for row in rows if "W/O" not in (row.get("score") or "")]
        notes.append(f"left out {len(rows) - len(played):,} walkovers")
        rows = played
    name_of = {row[f"{side}_id"]: row[f"{side}_name"] for row in rows for side in ("winner", "loser")}
    n_players_of_name: dict[str, int] = {}
    for name in name_of.values():
        n_players_of_name[name] = n_players_of_name.get(name, 0) + 1
    label = {number: name if n_players_of_name[name] == 1 else f"{name} ({number})" for number, name in name_of.items()}
    prefs = Preferences.from_pairs(
        [label[row["winner_id"]] for row in rows],
        [label[row["loser_id"]] for row in rows],
        time=[row["tourney_date"] for row in rows],
        instance=[row.get("surface") or "unknown" for row in rows] if part == "surfaces" else None,
    )
    return prefs.noted(*notes)


def _when_played(row: dict[str, str]) -> tuple[str, int, str, int]:
    """Return the sort key of a match: day, round, tournament, number of the match."""
    round_name, number = row.get("round") or "", row.get("match_num") or ""
    round_number = _ROUNDS.index(round_name) if round_name in _ROUNDS else 0
    return row["tourney_date"], round_number, row.get("tourney_id") or "", int(number) if number.isdigit() else 0


def _tennis_files(path: Path) -> Iterator[str]:
    """Yield the text of every season's file, from the archive or the folder."""
    if path.suffix == ".xz":
        members = sorted(member for member in _members(path, ".csv") if _SEASON.search(member[0]))
        yield from (content.decode("utf-8") for _, content in members)
        return
    folder = path if path.is_dir() else path.parent
    seasons = sorted(file for file in folder.glob("*.csv") if _SEASON.search(file.name))
    yield from (file.read_text(encoding="utf-8") for file in seasons)


def _gifgif(_: Dataset, files: Files, __: str | None) -> Preferences:
    """Read the comparisons without lines in which an image is -1 (no image)."""
    prefs = read(files[0], format="csv", header=False, winner=1, loser=2)
    if "-1" not in prefs.items:
        return prefs
    no_image = prefs.items.code("-1")
    is_complete = (prefs.item.reshape(-1, 2) != no_image).all(axis=1)
    kept = prefs.take(is_complete).select(items=[label for label in prefs.items if label != "-1"])
    return kept.noted(*prefs.notes, f"left out {int((~is_complete).sum()):,} rows: an image is missing (-1)")


# ---- crowdsourcing ----
def _lines(path: Path, encoding: str | None = None) -> Iterator[list[str]]:
    """Yield the fields, separated by tabs, of every line that is not empty."""
    with Source(path, Options(encoding=encoding)) as source:
        for _, line in source.lines():
            if line.strip():
                yield [field.strip() for field in line.split("\t")]


def _crowd_votes(_: Dataset, files: Files, __: str | None) -> Preferences:
    """Read binary votes; a question is topic_document. Only a worker's first vote on a document counts."""
    first: dict[tuple[str, ...], float] = {}
    n_rows = 0
    for path in files:
        for fields in _lines(path):
            question, voter, vote = fields[-3:]
            first.setdefault((*question.split("_", 1), voter), float(vote))
            n_rows += 1
    topic, document, worker = zip(*first, strict=True)
    votes = list(first.values())
    prefs = Preferences.from_ratings(list(worker), list(document), votes, instance=list(topic))
    if len(first) == n_rows:
        return prefs
    return prefs.noted(f"left out {n_rows - len(first):,} votes: the worker had already voted on the document")


def _crowd_truth(_: Dataset, files: Files, __: str | None) -> Labels:
    """Read the documents with gold labels; -1 is unjudged."""
    rows = [(fields[1], fields[2], float(fields[3])) for fields in _lines(files[0]) if fields[0] != "SetId"]
    topic, document, label = zip(*[row for row in rows if row[2] >= 0], strict=True)
    return Labels(list(topic), list(document), list(label))


def _crowd_graded(_: Dataset, files: Files, part: str | None) -> Preferences:
    """Read the accepted tasks of one run: five documents of a topic graded by a worker."""
    (header, *tasks), (names, *hits) = list(_lines(files[0], "latin-1")), list(_lines(files[1], "latin-1"))
    hit_of_set = {hit[0]: dict(zip(names, hit, strict=False)) for hit in hits}
    rows = []
    for task in (dict(zip(header, fields, strict=False)) for fields in tasks):
        if task["run"] == part and task["status"] == "Accepted" and task["set"] in hit_of_set:
            hit = hit_of_set[task["set"]]
            rows += [(task["worker"], hit["topic"], hit[f"doc{k}"], float(task[f"doc{k}rel"])) for k in range(1, 6)]
    rows.sort(key=lambda row: row[:3])
    first = [next(grades) for _, grades in groupby(rows, key=lambda row: row[:3])]
    worker, topic, document, grade = zip(*first, strict=True)
    prefs = Preferences.from_ratings(list(worker), list(document), list(grade), instance=list(topic))
    if len(first) < len(rows):
        return prefs.noted(f"left out {len(rows) - len(first):,} grades: the worker had already graded the document")
    return prefs


def _crowd_table(_: Dataset, files: Files, __: str | None) -> Preferences:
    return read(
        files[0], format="csv", layout="ratings", instance="topicID", agent="workerID", item="docID", rating="label"
    )


LOADERS: dict[str, Callable[[Dataset, Files, str | None], Any]] = {
    "plain": _plain,
    "features": _features,
    "runs": _runs,
    "preflib": _preflib,
    "tennis": _tennis,
    "gifgif": _gifgif,
    "crowd-votes": _crowd_votes,
    "crowd-graded": _crowd_graded,
    "crowd-table": _crowd_table,
}
LABELS: dict[str, Callable[[Dataset, Files, str | None], Labels]] = {"plain": _labels, "crowd-truth": _crowd_truth}
