"""Elections in files of their own: candidates, ballots, seats, withdrawn candidates and titles.

Readers collect ballots in an ``Election``; each of several files is one instance, named by its file. ``meta`` of the
preferences holds the title, the number of seats and the withdrawn candidates, which are not candidates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from concordant.ballots import build
from concordant.ballots.vocabulary import Vocabulary, encode_together, shorten
from concordant.errors import InputError
from concordant.io._compose import NOT_WRITTEN, has_open, lists_of_tiers
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support.limits import WEIGHTS, bad_weights
from concordant.tables.bad_rows import STRICT_HINT, refuse_lines
from concordant.tables.options import Options

TITLE, SEATS, WITHDRAWN = "title", "seats", "withdrawn"
MAX_CANDIDATES = 100_000
Tiers = Sequence[Sequence[int]]  # candidates by place, best first; an empty place is a skipped one


class BadBallotError(ValueError):
    """Why a ballot cannot be used."""


@dataclass
class Election:
    """The ballots of one file while it is read; candidates are numbered from 0."""

    source: Source
    options: Options
    candidates: list[str] = field(default_factory=list)
    withdrawn: set[int] = field(default_factory=set)
    meta: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    item: list[int] = field(default_factory=list)
    tier: list[int] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    odd: dict[str, list[int]] = field(default_factory=dict)
    """Lines with something unusual that can be read, by what it is."""
    bad: dict[str, list[int]] = field(default_factory=dict)
    """Lines of ballots that cannot be used, by reason."""

    def add(self, line: int, tiers: Tiers, weight: float = 1.0, score: Mapping[int, float] | None = None) -> None:
        """Add a ballot; an empty one is left out and counted, one that names a candidate twice is rejected."""
        if bad_weights(weight):
            raise BadBallotError(f"the weight of a ballot is not {WEIGHTS}")
        named = [code for place in tiers for code in place]
        if len(set(named)) < len(named):
            raise BadBallotError("a candidate occurs twice on a ballot")
        if any(not place for place in tiers):
            self.note_line(line, "a skipped rank")
        standing = [[code for code in place if code not in self.withdrawn] for place in tiers]
        standing = [left for left, place in zip(standing, tiers, strict=True) if left or not place]  # others move up
        kept = [(code, k) for k, place in enumerate(standing) for code in place]
        if not kept:
            what = "an empty ballot" if not named else "a ballot that names only withdrawn candidates"
            self.note_line(line, what + ", left out")
            return
        self.weights.append(weight)
        self.sizes.append(len(kept))
        self.item += [code for code, _ in kept]
        self.tier += [k for _, k in kept]
        self.value += [] if score is None else [score[code] for code, _ in kept]

    def note_line(self, line: int, what: str) -> None:
        """Count a line with something unusual."""
        self.odd.setdefault(what, []).append(line)

    def refuse(self, line: int, problem: BadBallotError) -> None:
        """Reject a ballot, or count it if bad rows are left out."""
        self.bad.setdefault(str(problem), []).append(line)
        refuse_lines(self.bad, self.source.error, self.options)

    def parts(self, kind: str) -> build.Parts:
        """Return the keyword arguments of ``Preferences``."""
        if not self.candidates:
            raise self.source.error("the file names no candidates: check that this is the right file.")
        if not self.sizes and not self.bad:
            raise self.source.error("the file contains no ballots: check that this is the right file.")
        if not self.sizes:
            raise self.source.error("no ballot could be read: check that this is the right file.")
        code = np.cumsum([k not in self.withdrawn for k in range(len(self.candidates))]) - 1
        labels, renamed = _distinct(self.candidates)
        standing = [label for k, label in enumerate(labels) if k not in self.withdrawn]
        votes = f"{float(np.sum(self.weights)):,.10g}"
        notes = [f"{self.source.name}: {len(self.sizes):,} ballots ({kind}) of {votes} voters over "
                 f"{len(standing):,} candidates"]  # fmt: skip
        if renamed:
            notes.append(f"{renamed:,} candidates share the name of another; their number was added")
        if self.withdrawn:
            names = [labels[k] for k in sorted(self.withdrawn)]
            self.meta[WITHDRAWN] = names
            notes.append(f"{len(names):,} withdrawn and not a candidate: {', '.join(map(shorten, names[:5]))}")
        seats = self.meta.get(SEATS)
        if isinstance(seats, int) and seats > 1:
            notes.append(f"the election has {seats:,} seats, which the method stv takes as its parameter seats")
        parts: build.Parts = {
            "items": Vocabulary(standing),
            "indptr": np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64),
            "item": code[self.item].astype(np.int32),
            "tier": np.array(self.tier, np.int32),
            "weight": np.array(self.weights, np.float64),
            "meta": self.meta,
            "notes": [*notes, *self.notes, *self._remarks(), *refuse_lines(self.bad, self.source.error, self.options)],
        }
        return parts | ({"value": np.array(self.value), "scale": "rating"} if self.value else {})

    def _remarks(self) -> list[str]:
        """Return notes on unusual lines; reject them if strict."""
        for what, lines in self.odd.items():
            if self.options.strict:
                raise self.source.error(what + STRICT_HINT, lines[0])
        return [
            f"{len(lines):,} ballot{'s' * (len(lines) > 1)}: {what} (first: line {lines[0]})"
            for what, lines in self.odd.items()
        ]


def _distinct(names: Sequence[str]) -> tuple[list[str], int]:
    """Return distinct names: a name that another candidate has gets its number; also return how many did."""
    labels: dict[str, None] = {}
    for number, name in enumerate(names, 1):
        label = name or str(number)
        while label in labels:
            label = f"{label} ({number})"
        labels[label] = None
    return list(labels), sum(bool(name) and label != name for label, name in zip(labels, names, strict=True))


def preferences(
    sources: Sequence[Source], options: Options, what: str, read: Callable[[Election], None], kind: str
) -> Preferences:
    """Read every file with ``read``, which fills an election; each of several files is one instance."""
    options.refuse_roles(what)
    parts = []
    for source in sources:
        if not source.head.strip():
            raise source.error("the file is empty: there is nothing to read.")
        election = Election(source, options)
        read(election)
        parts.append(election.parts(kind))
    return Preferences(**(parts[0] if len(parts) == 1 else joined(parts, sources)))


def joined(parts: Sequence[build.Parts], sources: Sequence[Source]) -> build.Parts:
    """Join elections as instances: each keeps its own candidates, and items with the same name are the same item."""
    names = [source.stem for source in sources]
    names = names if len(set(names)) == len(names) else [source.name for source in sources]
    codes, items = encode_together([(np.arange(len(part["items"])), part["items"]) for part in parts])
    sizes = np.concatenate([np.diff(part["indptr"]) for part in parts])
    return {
        "items": items,
        "indptr": np.concatenate([[0], np.cumsum(sizes)]),
        "item": np.concatenate([code[part["item"]] for code, part in zip(codes, parts, strict=True)]),
        "tier": np.concatenate([part["tier"] for part in parts]),
        "weight": np.concatenate([part["weight"] for part in parts]),
        "instances": Vocabulary(names),
        "instance": np.repeat(np.arange(len(parts)), [len(part["weight"]) for part in parts]),
        "slot_ptr": np.cumsum([0, *(len(code) for code in codes)]),
        "slot_item": np.concatenate(codes),
        "notes": [note for part in parts for note in part["notes"]],
        "meta": {"titles": [part["meta"].get("title", "") for part in parts]},
    }


# ---- writing ----
def written_ballots(data: object, kind: str, forbidden: str) -> tuple[Preferences, list[list[list[int]]], list[str]]:
    """Return the preferences, the tiers of each ballot and notes on what the format cannot represent.

    Reject preferences that are not one election, and labels with characters that do not fit on a line.
    """
    if not isinstance(data, Preferences):
        raise InputError(f"Only preferences can be written as {kind}, not a {type(data).__name__}: use csv.")
    if data.n_instances > 1:
        raise InputError(
            f"A {kind} file contains one election, but these preferences have several instances: select one of them."
        )
    if has_open(data):
        raise InputError(f"{kind} cannot represent open (top-k) ballots: write a table instead (csv, jsonl, parquet).")
    for label in data.items:
        if not label.strip() or re.search(f"[\n\r\0\ud800-\udfff{forbidden}]", label) or label != label.strip():
            raise InputError(f"The item {shorten(label)!a} cannot be written in {kind}: rename it first.")
    tiers = lists_of_tiers(data.item.tolist(), data.tier.tolist(), data.indptr.tolist())
    return data, list(tiers), _lost(data, kind)


def _lost(prefs: Preferences, kind: str) -> list[str]:
    """Return notes on what a file of ballots cannot represent."""
    notes = []
    if prefs.agents is not None:
        notes.append("the agents are not written")
    if prefs.instances is not None:
        notes.append("the name of the instance is not written")
    keeps_values = kind == "ABIF" and prefs.scale == "rating"
    if prefs.value is not None and not keeps_values:
        notes.append(f"the {prefs.scale}s that imply the order are not written")
    if prefs.said_form is not None and (keeps_values or prefs.form != "rankings"):
        notes.append(f"the form ({prefs.form}) is not written: it will be inferred from the ballots")
    if (np.diff(prefs.indptr) == 0).any():
        notes.append("empty ballots are not read back")
    return notes + [f"{what} not written" for name, what in NOT_WRITTEN.items() if getattr(prefs, name) is not None]


def text_of(meta: Mapping[str, object], key: str) -> str:
    """Return a text of ``meta`` on one line, empty if there is none."""
    value = meta.get(key)
    return " ".join(value.split()) if isinstance(value, str) else ""


def names_in(meta: Mapping[str, object], key: str, taken: Collection[str]) -> list[str]:
    """Return a list of names of ``meta`` without those that are taken."""
    value: Any = meta.get(key, ())
    names: Iterable[Any] = value if isinstance(value, (list, tuple)) else ()
    return [name for name in names if isinstance(name, str) and name not in taken]


def number(value: float) -> str:
    """Return a weight as text; whole numbers have no decimal point."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))
