"""Files of sums: counts of pairs, or sums of ratings or ranks, in Parquet, with a record of the files they come from.

The columns are plain, so that other tools can read them: ``winner``, ``loser``, ``tie`` and ``weight`` of pairs (see
``engine.sums`` for ratings and ranks), and ``instance`` and ``agent`` if they are kept. A sum that is not a whole
number is stored as a rounded number, and exactly in two more columns (``weight_whole`` + ``weight_part`` x 2^-52). The
list ``ballots`` in the first row numbers the ballots of ratings and ranks, so that none is split between files. The
metadata of the file (key ``concordant_sums``) hold the schema version, the columns that were read, the record of the
files with their checksums, and a checksum of everything.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from concordant.ballots.vocabulary import join_vocabularies
from concordant.engine.statistics import ITEM_SUMS, LEVELS, Statistic, preferences_of_pairs
from concordant.engine.sums import FORM, FORMS, PART, UNUSABLE, WHOLE, read_sums, statistic_of
from concordant.engine.tallies import UNIT, Sums, Tally
from concordant.errors import FormatError
from concordant.io._duckdb import DuckTable, opened
from concordant.io._source import Source
from concordant.io.signs import KEY, is_stored
from concordant.preferences import Preferences
from concordant.support.duck import connect, identifier, quoted
from concordant.support.limits import MAX_WEIGHT
from concordant.tables.options import Options
from concordant.tables.rows import InputTable
from concordant.types import AnyArray, Int64s

ONLY_RANKED = "these are sums of ballots, which only rank can use, one file at a time: read the ballots themselves."
SCHEMA = 1
PAIRS = "pairs"
KINDS: Mapping[str, Statistic | None] = {PAIRS: None, "items": ITEM_SUMS, "levels": LEVELS}
SHOWN_AS = {"first": "winner", "second": "loser"}  # the columns of pairs; those of a tie are in alphabetical order
LABELS = ("instance", "agent", "first", "second", "item", "level")


@dataclass(frozen=True)
class Counted:
    """A file whose rows are in the sums: its path as seen from the folder of the sums, and its checksum."""

    name: str
    sha256: str


@dataclass(frozen=True, eq=False)
class Stored:
    """The content of a file of sums."""

    kind: str
    """pairs, items or levels."""
    form: str
    columns: tuple[tuple[str, str], ...]
    """Roles and names of the columns that were read, the same in all files."""
    tally: Tally
    rows: int
    """Number of rows that were counted."""
    files: tuple[Counted, ...] = ()
    ballots: Int64s = field(default_factory=lambda: np.zeros(0, np.int64))
    """The numbers of all ballots of ratings or ranks, sorted."""

    def plus(self, other: Stored, name: str) -> Stored:
        """Add sums of other files; ``name`` names them in errors."""
        if (self.kind, self.form) != (other.kind, other.form):
            raise FormatError(f"these are {other.about}, but the others are {self.about}: keep them apart.", path=name)
        if self.columns != other.columns:
            shown = [", ".join(f"{role} {column!r}" for role, column in one.columns) for one in (other, self)]
            raise FormatError(
                f"the columns ({shown[0]}) differ from those of the sums ({shown[1]}): name the same columns, or keep "
                "the sums apart.",
                path=name,
            )
        if split := len(np.intersect1d(self.ballots, other.ballots, assume_unique=True)):
            raise FormatError(
                f"{split:,} ballots are in the sums already, and rows of one ballot cannot be added at different "
                "times: write whole ballots to each file, or rank the files themselves.",
                path=name,
            )
        ballots = np.union1d(self.ballots, other.ballots)
        tally, rows, files = self.tally.merge(other.tally), self.rows + other.rows, (*self.files, *other.files)
        return replace(self, tally=tally, rows=rows, files=files, ballots=ballots)

    @property
    def about(self) -> str:
        """What the sums are."""
        statistic = KINDS[self.kind]
        return "counts of pairs" if statistic is None else f"{statistic.name} of {self.form}"


# ---- writing ----
def parquet_of(stored: Stored) -> bytes:
    """Return the content of the Parquet file."""
    from tempfile import TemporaryDirectory

    tally = stored.tally.sorted
    rows: dict[str, Any] = {"n": np.arange(len(tally))}
    tables: dict[str, Any] = {}
    chosen, joins = [], []
    for key, codes in tally.keys.items():
        name = SHOWN_AS.get(key, key)
        rows[key] = np.asarray(codes, np.int64)
        if key in LABELS:
            labels = list(tally.labels[tally.domain[key]])
            if key == "instance" and labels == [""]:
                continue
            texts = np.array([float(text) for text in labels]) if key == "level" else np.array(labels, object)
            tables[f"labels_{key}"] = {"code": np.arange(len(labels)), "label": texts}
            joins.append(f"LEFT JOIN labels_{key} ON labels_{key}.code = rows.{key}")
            chosen.append(f"labels_{key}.label AS {identifier(name)}")
        else:
            chosen.append(f"rows.{key}{' = 1' if key == 'tie' else '::TINYINT'} AS {identifier(name)}")
    for name, sums in tally.sums.items():
        rows[f"sum_{name}"] = sums.whole if sums.part is None else sums.value
        chosen.append(f"rows.sum_{name} AS {identifier(name)}")
        if sums.part is not None:
            rows[f"whole_{name}"], rows[f"part_{name}"] = sums.whole, sums.part
            chosen += [f"rows.whole_{name} AS {name}{WHOLE}", f"rows.part_{name} AS {name}{PART}"]
    if stored.kind != PAIRS:
        tables["ballots"] = {"number": stored.ballots}
        chosen += [f"0 AS {UNUSABLE}", f"{quoted(stored.form)} AS {FORM}"]
        chosen.append("CASE WHEN rows.n = 0 THEN (SELECT list(number) FROM ballots) END AS ballots")
    query = f"SELECT {', '.join(chosen)} FROM rows {' '.join(joins)} ORDER BY rows.n"
    meta = quoted(json.dumps(_metadata(stored, tally), ensure_ascii=True))
    with TemporaryDirectory(prefix="concordant-") as folder, connect(path := f"{folder}/sums", small=True) as database:
        for name, table in {"rows": rows, **tables}.items():
            database.register(name, table)
        database.execute(f"COPY ({query}) TO {quoted(path)} (FORMAT parquet, KV_METADATA {{{KEY}: {meta}}})")
        with open(path, "rb") as file:
            return file.read()


def _metadata(stored: Stored, tally: Tally) -> dict[str, Any]:
    """Return the metadata of a file of sums, with a checksum of these and of the sorted tally."""
    facts: dict[str, Any] = {
        "schema": SCHEMA,
        "kind": stored.kind,
        "form": stored.form,
        "columns": [list(pair) for pair in stored.columns],
        "rows": stored.rows,
        "files": [{"name": one.name, "sha256": one.sha256} for one in stored.files],
    }
    check = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for domain in sorted(tally.labels):
        check.update(json.dumps([domain, list(tally.labels[domain])]).encode())
    for key in sorted(tally.keys):
        check.update(key.encode() + np.asarray(tally.keys[key], "<i8").tobytes())
    for name in sorted(tally.sums):
        sums = tally.sums[name]
        part = np.zeros(len(sums), np.int64) if sums.part is None else sums.part
        check.update(name.encode() + np.asarray(sums.whole, "<i8").tobytes() + np.asarray(part, "<i8").tobytes())
    check.update(np.asarray(stored.ballots, "<i8").tobytes())
    return {**facts, "sha256": check.hexdigest()}


# ---- reading ----
def read_stored(source: Source) -> Stored:
    """Read a file of sums; raise an error if it is damaged, was changed, or is of a later schema."""
    from concordant.io.formats.table import open_as_stored

    table = open_as_stored(source, Options(format="parquet"))
    assert isinstance(table, DuckTable)
    with opened(table, small=True) as database:
        path = quoted(table.path())
        pairs = database.execute(f"SELECT key, value FROM parquet_kv_metadata({path})").fetchall()
        numbers = np.zeros(0, np.int64)
        if "ballots" in table.columns:
            query = f"SELECT unnest(ballots) AS number FROM {table.scan()}"
            numbers = np.asarray(database.execute(query).fetchnumpy()["number"])
    facts = _checked(source, [bytes(value) for key, value in pairs if bytes(key) == KEY.encode()])
    statistic = KINDS[facts["kind"]]
    if numbers.dtype.kind != "i":
        raise _tampered(source, "the list of ballots does not hold whole numbers")
    form, tally = (PAIRS, _pairs(table)) if statistic is None else read_sums(table, statistic)
    columns = tuple((str(role), str(name)) for role, name in facts["columns"])
    files = tuple(Counted(one["name"], one["sha256"]) for one in facts["files"])
    stored = Stored(facts["kind"], form, columns, tally.sorted, facts["rows"], files, numbers.astype(np.int64))
    if facts["form"] != form or _metadata(stored, stored.tally)["sha256"] != facts["sha256"]:
        raise _tampered(source, "the content does not have the checksum that was stored with it")
    return stored


def _tampered(source: Source, what: str) -> FormatError:
    return source.error(
        f"{what}: the file was changed after the sums were written. Restore it from a copy, or reduce the files again."
    )


def _checked(source: Source, values: Sequence[bytes]) -> dict[str, Any]:
    """Return the metadata, with every part of the declared type."""
    try:
        (value,) = values
        facts: Any = json.loads(value)
        schema = facts["schema"]
        if isinstance(schema, int) and schema > SCHEMA:
            raise source.error(
                f"the sums have schema {schema}, which this version (schema {SCHEMA}) cannot read: update concordant."
            )
        is_good = (
            schema == SCHEMA
            and facts["kind"] in KINDS
            and facts["form"] in (PAIRS, *FORMS)
            and all(isinstance(role, str) and isinstance(name, str) for role, name in facts["columns"])
            and all(isinstance(one["name"], str) and isinstance(one["sha256"], str) for one in facts["files"])
            and type(facts["rows"]) is int
            and isinstance(facts["sha256"], str)
        )
    except FormatError:
        raise
    except (ValueError, KeyError, TypeError, RecursionError):
        is_good, facts = False, {}
    if not is_good:
        raise _tampered(source, "the metadata of the sums are not as concordant writes them")
    checked: dict[str, Any] = facts
    return checked


def _pairs(table: DuckTable) -> Tally:
    """Return the tally of a file of pairs."""
    texts = [name for name in ("instance", "agent", "winner", "loser", "tie") if name in table.columns]
    exact = [name for name in ("weight" + WHOLE, "weight" + PART) if name in table.columns]
    numbers = ["weight", *exact, *(["shown"] if "shown" in table.columns else [])]
    missing = {"winner", "loser", "tie", "weight"}.difference(table.columns)
    if missing or len(exact) == 1:
        raise table.error(-1, "a column of the sums is missing: restore the file, or reduce the files again.")
    coded, values = table.fetch(texts, numbers)
    whole, part = values.get("weight" + WHOLE, values["weight"]), values.get("weight" + PART)
    flag = np.array([label == "true" for label in coded["tie"][1]], bool)
    has_all = all((coded[name][0] >= 0).all() for name in texts) and {*coded["tie"][1]} <= {"true", "false"}
    is_good = (whole >= 0) & (whole <= MAX_WEIGHT) & (whole == np.floor(whole))
    if part is not None:
        is_good &= (part >= 0) & (part < UNIT) & (part == np.floor(part)) & (whole + part / UNIT == values["weight"])
    if "shown" in values:
        is_good &= np.isin(values["shown"], (0, 1, 2))
    if not (has_all and is_good.all()):
        row = int(np.argmin(is_good)) if not is_good.all() else -1
        raise table.error(row, "the sums are not as concordant writes them: restore the file, or reduce again.")
    first, second = coded["winner"], coded["loser"]
    news, items = join_vocabularies([first[1], second[1]])
    keys: dict[str, AnyArray] = {}
    labels = {"item": items}
    for role in ("instance", "agent"):
        if role in coded:
            keys[role], labels[role] = coded[role]
    for key, codes, new in (("first", first[0], news[0]), ("second", second[0], news[1])):
        keys[key] = new[codes]
    keys["tie"] = flag[coded["tie"][0]].astype(np.int8) if len(flag) else np.zeros(0, np.int8)
    if "shown" in values:
        keys["shown"] = values["shown"].astype(np.int8)
    domain = {name: "item" if name in SHOWN_AS else name for name in keys if name not in ("tie", "shown")}
    units = None if part is None else part.astype(np.int64)
    weight = Sums(whole.astype(np.int64), units if units is not None and units.any() else None)
    return Tally(keys, domain, labels, {"weight": weight}).grouped()


# ---- using ----
def preferences_of(stored: Stored, name: str) -> Preferences:
    """Return counts of pairs as preferences."""
    return preferences_of_pairs(stored.tally, (f"{name}: {stored.rows:,} pairs, counted before",))


def add_up(parts: Sequence[Stored], names: Sequence[Any]) -> Stored:
    """Add up several files of sums; reject a file that is in two of them."""
    total, known = parts[0], {one.sha256 for one in parts[0].files}
    for part, name in zip(parts[1:], names[1:], strict=True):
        twice = [one.name for one in part.files if one.sha256 in known]
        if twice:
            raise FormatError(f"{twice[0]} is counted in two of these files of sums: name one of them.", path=str(name))
        known |= {one.sha256 for one in part.files}
        total = total.plus(part, str(name))
    return total


def read_preferences(sources: Sequence[Source]) -> Preferences:
    """Read files of sums where ballots are needed, which counts of pairs are."""
    for source in sources:
        if not is_stored(source):
            raise source.error("this file holds no sums, but others do: read them separately.")
    total = add_up([read_stored(source) for source in sources], [source.name for source in sources])
    if total.kind != PAIRS:
        raise sources[0].error(ONLY_RANKED)
    return preferences_of(total, os.path.basename(sources[0].name))


def refuse_sums(table: InputTable) -> None:
    """Raise an error if a table holds sums, where its rows are read as ballots."""
    if statistic_of(table.columns) is not None:
        raise table.error(-1, ONLY_RANKED)
