"""Read the files of a question: the first rows, the role of each column, and the request for a ranking."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from concordant import registry
from concordant.ballots.vocabulary import shorten
from concordant.errors import ConcordantError, InputError, suggest
from concordant.io import Preview, preview
from concordant.params import params_of
from concordant.request import Request
from concordant.tables.options import MATRICES
from concordant.web import forms
from concordant.web.settings import NOT_READ, typed

MAX_BYTES = 2_000_000_000  # a compressed upload may unpack into
MAX_LOOKS = 16  # kept
MAX_TABLES = 10  # files, up to which each is looked at
GROUP = "by"  # the role of the column of groups
OPTIONS = (
    *(
        "layout",
        "encoding",
        "delimiter",
        "sheet",
        "question",
        "table",
        "where",
        "transpose",
        "date_order",
        "categories",
    ),
    *("repeated", "skip_bad_rows"),
)
DELIMITERS = {"tab": "\t", "space": " "}  # which a menu or an address cannot show
Settings = Mapping[str, Any]


@dataclass(frozen=True)
class Source:
    """Files as they will be read: their first rows, the role of each column, and the reading options."""

    files: tuple[str, ...]
    preview: Preview
    roles: Mapping[str, str]
    """The role of each column."""
    reading: Mapping[str, Any]
    by: str
    """The column of groups, if any."""

    def check(self) -> None:
        """Raise the problem that the preview found."""
        if self.preview.problem:
            raise InputError(self.preview.problem)

    def request(self, min_ballots: float | None) -> Request:
        """Return the request for a ranking by the default method."""
        plan = self.preview.plan
        plans = {} if plan is None else {os.path.abspath(self.files[0]): plan}
        reading = {**self.reading, "max_bytes": MAX_BYTES}
        return Request(list(self.files), reading=reading, min_ballots=min_ballots, plans=plans)


_LOOKS: dict[str, Preview | ConcordantError] = {}


def look(path: str, **options: Any) -> Preview:
    """Return the first rows of a file; of the same file, options and problem, the last few are kept."""
    stat = os.stat(path) if os.path.isfile(path) else None
    known = [os.path.abspath(path), stat and (stat.st_mtime_ns, stat.st_size), sorted(options.items())]
    key = json.dumps(known, default=str)
    if key not in _LOOKS:
        try:
            found: Preview | ConcordantError = preview(path, **options)
        except ConcordantError as problem:
            found = problem
        for old in [*_LOOKS][: len(_LOOKS) + 1 - MAX_LOOKS]:
            del _LOOKS[old]
        _LOOKS[key] = found
    kept = _LOOKS[key]
    if isinstance(kept, ConcordantError):
        raise kept.with_traceback(None)
    return kept


def unrelated_among(files: Sequence[str]) -> list[str]:
    """Return the tables among several that hold no preferences, such as the names of films next to ratings: no column
    has a recognised role, and another table with other columns can be read.
    """
    if not 1 < len(files) <= MAX_TABLES:
        return []
    try:
        looks = {path: look(path, max_bytes=MAX_BYTES) for path in files}
    except ConcordantError:  # reading says what is wrong
        return []
    if not all(one.columns for one in looks.values()):
        return []
    read = [set(one.columns) for one in looks.values() if not one.problem]
    unread = [path for path, one in looks.items() if one.problem and set(one.columns) not in read]
    return unread if read else []


def source_of(files: list[str], settings: Settings) -> Source:
    """Look at the first rows of some files, with the roles of columns that the settings change."""
    reading: dict[str, Any] = {name: settings[name] for name in OPTIONS if settings.get(name)}
    if "delimiter" in reading:
        reading["delimiter"] = DELIMITERS.get(reading["delimiter"], reading["delimiter"])
    limits = {"max_bytes": MAX_BYTES}
    guessed = look(files[0], **reading, **limits)
    changed = {column: role for column, role in settings["roles"].items() if column in guessed.columns}
    by = settings.get("by", "") or next((column for column, role in changed.items() if role == GROUP), "")
    by = by if by in guessed.columns else ""
    recognised = forms.role_by_column(guessed)
    changed = {column: "" if role in (NOT_READ, GROUP) else role for column, role in changed.items()}
    if not changed:
        return Source(tuple(files), guessed, recognised, reading, by)
    chosen = forms.paired({**dict.fromkeys(guessed.columns, ""), **recognised, **changed})
    roles = forms.roles_of(chosen, [] if guessed.plan is None else list(guessed.plan.column))
    if guessed.plan is not None and guessed.plan.layout in MATRICES and "layout" not in reading:
        reading |= {"layout": guessed.plan.layout} | ({} if "item" in guessed.plan.column else {"transpose": True})
    previewed = look(files[0], **reading, **roles, **limits)
    return Source(tuple(files), previewed, chosen, {**reading, **roles}, by)


def unknown_columns(source: Source, settings: Settings) -> list[str]:
    """Return sentences on columns that the settings name and the files lack, such as those of an old link."""
    columns = source.preview.columns
    named = [(settings.get("by", ""), "is not used to split the data")]
    named += [(column, "gets no role") for column in settings["roles"]]
    return [
        f"There is no column “{shorten(column, 60)}”: it {what}.{suggest(column, [*columns])}"
        for column, what in dict(named).items()
        if column not in ("", NOT_READ, *columns)
    ]


def gold_among(files: Sequence[str]) -> str | None:
    """Return the file of gold labels among two files, of which the other has the answers of annotators: a table with
    the same columns of items and labels, and none of annotators.
    """
    if len(files) != 2:
        return None
    try:
        looks = [look(path, max_bytes=MAX_BYTES) for path in files]
    except ConcordantError:  # reading says what is wrong
        return None
    for answers, gold in ((0, 1), (1, 0)):
        plan, columns = looks[answers].plan, looks[gold].columns
        if plan is None or plan.layout != "answers" or "agent" not in plan.column:
            continue
        if {plan.column["item"], plan.column["answer"]} <= set(columns) and plan.column["agent"] not in columns:
            return files[gold]
    return None


def asked(request: Request, settings: Settings) -> Request:
    """Return the request with the method and the options of the settings."""
    named = str(settings.get("method") or "")

    def params(method: str) -> dict[str, Any]:
        declared = params_of(registry.load(registry.resolve(method)[0]))
        return typed(declared, settings["params"], named)

    return request.by(named or None, params)


def listed(text: object) -> tuple[str, ...]:
    """Return the names in a text, separated by commas."""
    return tuple(name.strip() for name in str(text or "").split(",") if name.strip())


def listed_lines(text: object) -> tuple[str, ...]:
    """Return the names in a text, one per line."""
    return tuple(filter(None, str(text or "").split("\n")))
