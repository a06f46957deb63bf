"""Declare the options of all readers.

These declarations define the keyword arguments of ``cc.read``, ``cc.read_labels``, ``cc.read_features`` and
``Preferences.from_frame``, the command-line options, their validation and the table in the documentation. To add an
option, add a field to ``Options`` (or a column to ``COLUMNS``) and use it; nothing else is needed.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar

from concordant.errors import InputError, UnknownNameError, arg, suggest
from concordant.params import Param, params_of

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

PREFERENCES, LABELS, FEATURES, FRAME = "preferences", "labels", "features", "frame"
FILES = (PREFERENCES, LABELS, FEATURES)
BALLOTS = (PREFERENCES, FRAME)
MATRICES = ("rank-matrix", "rating-matrix")
CLICKS = "clicks"
LAYOUTS = ("pairs", "ranks", "ratings", "places", "rankings", "answers", *MATRICES, CLICKS)
MAX_BYTES, MAX_RATIO = 16 << 30, 200.0
UNGROUPED = "(none)"  # the group of ballots that name none
IF_ANY = "?"  # "?": the column, if one is named like its role; "?name": that column, if it is there


@dataclass(frozen=True)
class Option(Param):
    """A reading option for Python, the command line and the documentation."""

    reads: tuple[str, ...] = FILES
    """What it applies to: preferences, labels, features, a DataFrame."""
    typed: str = "str | int | None"
    """Its type as a Python annotation."""
    flag: str | None = ""
    """Its command-line name: "" for the default name, None for no option."""
    metavar: str | None = None
    flag_value: str | None = None
    """The value that the command-line option sets; the option then takes no argument."""
    bare_value: str | None = None
    """The value of the command-line option without an argument, if the argument may be left out."""
    synonyms: tuple[str, ...] = ()
    """Column names that are recognised as this role."""
    weak: tuple[str, ...] = ()
    """Column names that are recognised if there is no synonym; the first one in this order is used."""
    sure: int = 1
    """Number of synonyms that take precedence if several columns match."""
    many: bool = False
    """Whether it may be repeated on the command line."""
    heading: str = "input"
    """Its heading in the command-line help."""
    common: bool = False
    """Whether the short help of a command lists it."""


def option(default: T, doc: str, *, low: float | None = None, choices: Sequence[str] = (), **more: Any) -> T:
    """Declare an option as a field of ``Options``; ``more`` are fields of ``Option``."""
    checked = {"doc": doc, "choices": tuple(choices), "low": low, "high": None, "words": ()}
    return dataclasses.field(default=default, metadata={"param": checked, "option": more})


def column(name: str, doc: str, synonyms: str = "", weak: str = "", **more: Any) -> Option:
    """Declare a column role, with the column names that are recognised as this role, and weaker ones."""
    words, weak_words = (tuple(filter(None, names.split(", "))) for names in (synonyms, weak))
    usual = {"metavar": "COLUMN", "heading": "columns"}
    return Option(name, str, None, f"column {doc}", synonyms=words, weak=weak_words, **{**usual, **more})


def _of_ballots(name: str, doc: str, synonyms: str = "", **more: Any) -> Option:
    return column(name, doc, synonyms, **{"reads": BALLOTS, **more})


def _of_side(name: str, doc: str, synonyms: str, weak: str = "") -> Option:
    more = {"weak": weak, "typed": "str | int | Sequence[str] | None", "metavar": "COLUMN[,COLUMN]", "common": True}
    return _of_ballots(name, f"{doc}; several for a team", synonyms, **more)


def _of_features(name: str, doc: str, synonyms: str = "", **more: Any) -> Option:
    return column(name, doc, synonyms, **{"reads": (FEATURES,), "typed": "str | int | bool | None", "sure": 2, **more})


_WINNERS = "chosen model, winning model, preferred model, winner model, better model, winning side"

# The columns of a table. A column named exactly like its role wins over one named by a synonym.
COLUMNS = (
    _of_side("winner", "with the winning item", "winner, chosen, won, better, preferred", _WINNERS),
    _of_side("loser", "with the losing item", "loser, rejected, lost, worse", "rejected model, losing model"),
    _of_ballots("tie", "that is true for ties", "tie, tied, draw, is tie, is draw", weak="both equal, is equal"),
    _of_side("left", "with the first item", "left"),
    _of_side("right", "with the second item", "right"),
    _of_ballots(
        *("outcome", "with the result (left or right won)", "outcome, result, choice, preference, verdict"),
        weak="vote, vote type, reaction, judgment, judgement, decision, human preference",
        common=True,
    ),
    _of_ballots("left_won", "that is true where the left item won", "left won"),
    _of_ballots("right_won", "that is true where the right item won", "right won"),
    _of_ballots("left_score", "with the points of the left item (or the winner); more points win"),
    _of_ballots("right_score", "with the points of the right item (or the loser)"),
    _of_ballots("neutral", "that is true where neither side was at home", "neutral, neutral venue, neutral site"),
    _of_ballots("ranking", "with whole rankings, like 'a > b = c'", "ranking, ranked, preferences", common=True),
    _of_ballots(
        *("agent", "with the voter, judge, user or engine"),
        "agent, user, voter, judge, worker, engine, system, run, rater, annotator, reviewer, expert, respondent, "
        "assessor, member, juror, delegate, critic, evaluator, labeller",
        weak="judge hash, evaluation session, annotator hash, user hash, voter hash, judge model, session hash",
        common=True,
    ),
    column(
        *("item", "with the item ranked or rated"),
        "item, docno, parent asin, asin, movie, doc, document, corpus, passage, pid, candidate, option, model, "
        "alternative, product, player, team, film, book, driver, rider, horse, athlete, title, name",
        reads=(*BALLOTS, LABELS),
        sure=4,
        common=True,
    ),
    _of_ballots("rank", "with the rank (1 is best)", "rank, position, place", common=True),
    _of_ballots(
        *("rating", "with the rating (higher is better)", "rating, stars, score, value, grade, overall"),
        weak="liked, like, is liked, clicked, is clicked, purchased, bought, watched, interested, thumbs up, feedback",
        common=True,
    ),
    _of_ballots(
        *("answer", "with the class or number that the agent gave the item"),
        "answer, label, response, class, judgment, judgement, annotation, category, worker label, worker answer",
    ),
    column(
        *("instance", "with the query, topic or election"),
        "instance, qid, q id, query id, query, topic, election, question, prompt, contest",
        reads=(*BALLOTS, LABELS),
        sure=4,
        common=True,
    ),
    _of_ballots("by", "with groups to compare, such as language", common=True),  # only where somebody asks for it
    _of_ballots("weight", "with the weight (count) of each row", "weight, count, votes, n, times, frequency"),
    # The next three only where somebody asks for them, but for teams in the layout they are written in.
    _of_ballots("time", "with the time of each row (date or number)", heading="time", common=True),
    _of_ballots("team", "with the team of each item; team members win and lose together"),
    Option(
        *("covariate", str, None, "covariate of the items compared: one column per side, or one column of differences"),
        reads=BALLOTS, metavar="COLUMN[,COLUMN]", typed="Sequence[str] | str | None", many=True, heading="columns",
    ),
    _of_ballots("ballot", "that identifies the ballot: match, race, list", "ballot, match, race, game"),
    _of_ballots("open", "that is true where the order of the last items is open", "open", flag=None),
    Option(
        *("places", str, None, "columns of places, best first, whose cells name items"),
        reads=BALLOTS, metavar="A,B,…", typed="Sequence[str | int] | str | int | None", heading="columns",
    ),
    column(
        *("label", "with the label (higher is better)"),
        "label, relevance, rel, grade, gain, judgment, judgement, gold, rating, score",
        reads=(LABELS,),
    ),
    _of_features(
        *("label", "with the label (higher is better)", "label, relevance, rel, y, target, grade, judgment, judgement"),
        common=True,
    ),
    _of_features(
        *("query", "with the query"), "query, qid, query id, group, group id, topic, topic id, instance, search id",
        common=True,
    ),
    _of_features(
        *("item", "with the document ID"), "item, docid, doc, doc id, document, document id, item id, product id",
        common=True,
    ),
    _of_features("weight", "with row weights, equal within a query"),
    Option(
        *("features", str, None, "feature columns; by default all other numeric ones"),
        reads=(FEATURES,), flag="--feature-columns", metavar="A,B,…", typed="Sequence[str] | str | None",
        heading="columns", common=True,
    ),
)  # fmt: skip
# Options that mean nothing where the data are ratings or rankings by agents.
_OF_PAIRS = {"winner", "loser", "tie", "left", "right", "outcome", "left_won", "right_won", "left_score", "right_score"}
_OF_MATCHES = {"neutral", "date_order", "team", "team_separator", "covariate", "ballot", "time"}
UNRATED = _OF_PAIRS | _OF_MATCHES | {"both_bad", "baseline_model"}
UNRATED |= {"merge", "reduce", "workers", "cluster", "skip_bad_files"}


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a reader."""

    format: str | None = option(None, "file format; detected if not given", metavar="NAME", common=True)
    layout: str | None = option(
        None, "table layout (what a row represents); detected if not given", choices=LAYOUTS, reads=BALLOTS
    )
    roles: Mapping[str, Any] = field(default_factory=dict)
    """Columns by role: a name, a position from 1, or None for a role without a column."""
    encoding: str | None = option(None, "text encoding, if not UTF-8", metavar="NAME")
    delimiter: str | None = option(None, "column separator; detected if not given", metavar="CHAR")
    header: bool | None = option(None, "whether the first line names the columns")
    transpose: bool = option(
        False, "swap rows and columns of a table; a matrix then has a row per agent", reads=(*FILES, FRAME)
    )
    team_separator: str | None = option(
        None, "separator between team members in one cell, like '+'", metavar="TEXT", reads=BALLOTS
    )
    date_order: str | None = option(
        None, "what comes first in dates like 05/06/2024; shown by the column if not given", choices=("day", "month"),
        reads=BALLOTS, heading="columns",
    )  # fmt: skip
    sheet: str | int | None = option(
        None, "sheet name or number; default: first with data", metavar="NAME", common=True
    )
    table: str | None = option(None, "table of a database; the only one if not given", metavar="NAME")
    sql: str | None = option(
        None, "SELECT statement over the tables of a database or over files, named without their endings",
        metavar="QUERY",
    )  # fmt: skip
    where: str | None = option(
        None, "SQL condition for the rows to keep", metavar="CONDITION", reads=(*FILES, FRAME), common=True
    )
    drop_duplicates: Sequence[str] | str | bool = option(
        False, "leave out rows that are equal to an earlier one, in all columns or in the named ones",
        metavar="[COLUMNS]", reads=(*FILES, FRAME), bare_value="",
    )  # fmt: skip
    question: str | None = option(None, "form question to read; all if not given", metavar="TEXT", reads=BALLOTS)
    categories: Sequence[str] | str | None = option(
        None, "labels of a rating scale, or categories of a PrefLib cat file, best first",
        metavar="A,B,…", reads=(*BALLOTS, LABELS),
    )  # fmt: skip
    repeated: str | None = option(
        None, "answer that counts if an agent answers an item repeatedly; default: last",
        choices=("last", "first", "majority"), reads=BALLOTS,
    )  # fmt: skip
    both_bad: str = option(
        "tie", "votes that both sides are bad: count them as ties, or skip them", choices=("tie", "skip"), reads=BALLOTS
    )
    baseline_model: str | None = option(
        None, "model that all others are compared with, if the file does not name it", metavar="NAME", reads=BALLOTS
    )
    merge: bool = option(
        False, "merge equal ballots and add their weights while reading", reads=(PREFERENCES,), heading="scale"
    )
    reduce: bool = option(
        False,
        "keep only pairwise counts, for data larger than memory",
        reads=(PREFERENCES,),
        heading="scale",
    )
    workers: int | None = option(
        None, "number of worker processes", low=1, metavar="N", reads=(PREFERENCES,), heading="scale", common=True
    )
    cluster: object = option(
        None, "address of the Dask scheduler", metavar="ADDRESS", reads=(PREFERENCES,), heading="scale"
    )
    memory_limit: str | None = option(
        None,
        "maximum memory for reading and counting, like 4GB",
        metavar="AMOUNT",
        reads=(PREFERENCES,),
        heading="scale",
        common=True,
    )
    skip_bad_files: bool = option(
        False,
        "skip and list unreadable files (only with reduce)",
        reads=(PREFERENCES,),
        heading="scale",
    )
    n_features: int | None = option(None, "number of features", reads=(FEATURES,), flag=None)
    dtype: str = option(
        "float64",
        "store features in single precision (half the memory)",
        heading="scale",
        reads=(FEATURES,),
        flag="--float32",
        flag_value="float32",
    )
    skip_bad_rows: bool = option(False, "skip and count rows that cannot be read", reads=(*FILES, FRAME), common=True)
    strict: bool = option(False, "reject input that needs guessing or repair", reads=(*FILES, FRAME))
    max_bytes: int = option(MAX_BYTES, "maximum uncompressed size of a file, in bytes", flag=None)
    max_ratio: float = option(MAX_RATIO, "maximum ratio of uncompressed to compressed size", flag=None)
    plans: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Cached plans of tables, by file."""

    @classmethod
    def of(cls, what: str, given: Mapping[str, Any]) -> Options:
        """Validate the options for reading preferences, labels, features or a frame.

        Separate columns from the other options.
        """
        known = _by_name(what)
        fields, roles = {}, {}
        for name, value in given.items():
            if name not in known:
                columns = [declared.name for declared in known.values() if is_column(declared)]
                raise UnknownNameError(
                    f"Unknown argument {name!r}.{suggest(name, list(known))} "
                    f"Columns can be given for {', '.join(columns)}."
                )
            if not is_column(known[name]):
                # Other texts have checks of their own, with better advice.
                if known[name].kind is not str or name in ("both_bad", "date_order", "repeated"):
                    known[name].check(value)
                fields[name] = value
            elif value is not None or what != FEATURES:
                roles[name] = value
        if fields.get("dtype", "float64") not in ("float64", "float32"):
            raise InputError(
                arg("dtype", fields["dtype"]) + " is not a valid feature type: use 'float64' or 'float32'."
            )
        if fields.get("drop_duplicates") == "":  # the option without an argument
            fields["drop_duplicates"] = True
        if isinstance(fields.get("categories"), str):
            fields["categories"] = [category.strip() for category in fields["categories"].split(",")]
        return cls(**fields, roles=roles)

    def given_columns(self) -> list[str]:
        """Return the names of all columns mentioned in the options."""
        values = [[value] if isinstance(value, str) else value for value in self.roles.values()]
        texts = [one for value in values if isinstance(value, Sequence) for one in value if isinstance(one, str)]
        return [name for text in texts for name in {text, *text.split(",")}]

    def refuse_roles(self, what: str) -> None:
        """Reject column roles, layout, delimiter, header and similar options, which apply to tables only."""
        given = [
            role for role, value in self.roles.items() if not (value is None or value is False or is_optional(value))
        ]
        table_options = ("layout", "delimiter", "header", "sheet", "question", "baseline_model")
        given += [name for name in table_options if getattr(self, name) is not None] + ["transpose"] * self.transpose
        if given:
            raise InputError(arg(given[0]) + f" does not apply to {what}, whose layout is fixed: leave it out.")


@cache
def options_of(what: str) -> tuple[Option, ...]:
    """List the options for reading preferences, labels, features or a frame, in the order of the help texts."""
    checked = {declared.name: vars(declared) for declared in params_of(Options)}
    declared_options: list[Option] = []
    for field_or_option in dataclasses.fields(Options):
        if field_or_option.name == "roles":
            declared_options += COLUMNS
        elif field_or_option.name != "plans":
            declared_options.append(
                Option(
                    **checked[field_or_option.name],
                    **{"typed": str(field_or_option.type), **field_or_option.metadata["option"]},
                )
            )
    return tuple(field_or_option for field_or_option in declared_options if what in field_or_option.reads)


@cache
def _by_name(what: str) -> dict[str, Option]:
    return {declared.name: declared for declared in options_of(what)}


def is_column(declared: Option) -> bool:
    """Return whether an option names a column."""
    return declared in COLUMNS


def columns_of(what: str) -> dict[str, Option]:
    """Return the column roles of preferences, labels, features or a frame."""
    return {declared.name: declared for declared in COLUMNS if what in declared.reads}


def is_optional(value: object) -> bool:
    """Return whether a role is optional ("?" or "?name")."""
    return isinstance(value, str) and value.startswith(IF_ANY)


def takes_options(what: str) -> Callable[[F], F]:
    """Add the options to the signature of a function, for ``help`` and editors."""

    def mark(function: F) -> F:
        signature = inspect.signature(function)
        first = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.kind is not inspect.Parameter.VAR_KEYWORD
        ]
        more = [
            inspect.Parameter(
                declared.name, inspect.Parameter.KEYWORD_ONLY, default=declared.default, annotation=declared.typed
            )
            for declared in options_of(what)
        ]
        function.__signature__ = signature.replace(parameters=[*first, *more])  # type: ignore[attr-defined]
        return function

    return mark


def normalise(name: str) -> str:
    """Return a column name as lower-case words, so that ``userId``, ``User ID`` and ``user_id`` are equal."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.strip())
    return re.sub(r"[\W_]+", " ", spaced).strip().lower()


def listed(names: Sequence[str]) -> str:
    """Format a list of columns for a message."""
    shown = ", ".join(name if len(name) <= 40 else name[:39] + "…" for name in names[:12])
    return shown + (f", … ({len(names)} in all)" if len(names) > 12 else "")
