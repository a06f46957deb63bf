"""Well-known tables of each field whose rows or cells have to be rewritten before columns have roles.

Each module recognises one layout and defines ``arrange(table, options)``, for labels ``arrange_labels``. It returns a
``DerivedTable`` with roles, or None if the content of the table shows that it is something else. Layouts that only need
other column names or words are not here: ``tables.options`` lists names, ``tables.outcomes`` and ``tables.grades`` list
words.

``LAYOUTS`` says which column names invite which module, so that other tables pay only for comparing names. Modules
import ``tables.derived`` and lower modules of ``tables``; readers call ``arranged``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module

from concordant.errors import arg
from concordant.tables.layouts._set_names import of_best_and_worst, of_choices, of_survey
from concordant.tables.options import LABELS, PREFERENCES, Options, normalise
from concordant.tables.rows import InputTable

# Roles that say what the rows are: where the user names one, the table is read as it stands.
DECISIVE = {"winner", "loser", "left", "right", "outcome", "left_won", "right_won", "item", "rank", "rating", "ranking"}
DECISIVE |= {"places", "label", "answer"}

Names = frozenset[str]


@dataclass(frozen=True)
class KnownLayout:
    """A layout: its module, and whether a table with these (normalised) column names may have it."""

    module: str
    invites: Callable[[Names], bool]
    reads: tuple[str, ...] = (PREFERENCES,)
    accepts: Names = frozenset()
    """Decisive roles that the user may name, and that the module then leaves to the user."""


def _having(*names: str) -> Callable[[Names], bool]:
    """Return a test for tables that have all these columns."""
    return lambda columns: columns.issuperset(names)


def _having_one_of(pairs: Sequence[tuple[str, str]]) -> Callable[[Names], bool]:
    """Return a test for tables that have both columns of one of these pairs."""
    return lambda columns: any(first in columns and second in columns for first, second in pairs)


# A team and its opponent, or the winner and the loser, where another column says who was at home.
_TEAMS = ("team", "team name", "squad", "club", "fran id", "team id", "team abbreviation", "franchise", "player")
_OPPONENTS = ("opponent", "opp", "opponent name", "opp name", "opp fran", "opp id", "opponent id", "opp team")
WINNERS = (("wteam id", "lteam id"), ("w team id", "l team id"), ("wteam", "lteam"), ("winner tie", "loser tie"))
TEAM_AND_OPPONENT = (("fran id", "opp fran"), *((team, opponent) for team in _TEAMS for opponent in _OPPONENTS))
GAME_LOGS = (*WINNERS, *TEAM_AND_OPPONENT)


def _is_export(names: Names) -> bool:
    """Return whether a table has columns of answers or gold answers of a crowdsourcing platform."""
    starts = ("output ", "golden ", "answer ")
    return names >= {"unit id", "golden", "trust"} or any(name.startswith(starts) for name in names)


def _has_annotations(names: Names) -> bool:
    """Return whether a table has tasks with data and annotations, as Label Studio writes them."""
    return "annotations" in names and any(name.split(" ")[0] == "data" for name in names)


def _lacks_votes(columns: Names) -> bool:
    """Return whether a table is a test file or a submission of an arena competition: answers or outcomes, no models."""
    is_test = columns >= {"response a", "response b"} and columns <= {"id", "prompt", "response a", "response b"}
    return is_test or (columns >= {"winner model a", "winner model b"} and not columns >= {"model a", "model b"})


def _is_alpaca_eval(columns: Names) -> bool:
    """Return whether a table has two generators or outputs and a preference."""
    return "preference" in columns and (
        columns >= {"generator 1", "generator 2"} or columns >= {"output 1", "output 2"}
    )


_ANSWERED = frozenset({"item", "answer", "label"})
LAYOUTS: tuple[KnownLayout, ...] = (
    KnownLayout("preference_tuning", _having("chosen", "rejected")),
    KnownLayout("surveys", of_survey),
    KnownLayout("best_worst", of_best_and_worst, accepts=frozenset({"item"})),
    KnownLayout("choices", of_choices, accepts=frozenset({"item"})),
    KnownLayout(
        "crowd_exports",
        lambda names: not names.isdisjoint({"assignment worker id", "worker id"}) and _is_export(names),
        (PREFERENCES, LABELS), _ANSWERED,
    ),
    KnownLayout(
        "label_studio",
        lambda names: _has_annotations(names) or names >= {"annotator", "annotation id", "lead time", "id"},
        (PREFERENCES, LABELS), _ANSWERED,
    ),
    KnownLayout("crowd_triples", lambda names: names == {"column 1", "column 2", "column 3"}),
    KnownLayout("crowd_triples", lambda names: names == {"column 1", "column 2"}, (LABELS,)),
    KnownLayout("game_logs", _having_one_of(GAME_LOGS)),
    KnownLayout("alpaca_eval", _is_alpaca_eval),
    KnownLayout("arena_hard", _having("model", "games")),
    KnownLayout("wildbench", _having("assignment")),
    KnownLayout("ultrafeedback", _having("completions")),
    KnownLayout("mt_bench_pairs", _having("model 1", "model 2", "g1 winner", "g2 winner")),
    KnownLayout("without_votes", _lacks_votes),
)  # fmt: skip


def _names_a_column(value: object, names: Names) -> bool:
    """Return whether a role names a column of the table as it is; other names are those of the rewritten table."""
    if value is None or not isinstance(value, str):
        return value is not None
    return not value.replace(" ", "").isalpha() or normalise(value) in names


def invited(names: Names, options: Options, what: str = PREFERENCES) -> list[str]:
    """Return the modules of the layouts that a table with these column names may have."""
    given = {role for role in DECISIVE if _names_a_column(options.roles.get(role), names)}
    fitting = (known for known in LAYOUTS if what in known.reads and given <= known.accepts)
    are_answers = options.layout == "answers"
    return [
        known.module
        for known in fitting
        if (options.layout is None or (are_answers and known.accepts >= _ANSWERED)) and known.invites(names)
    ]


def arranged(table: InputTable, options: Options, what: str = PREFERENCES) -> InputTable:
    """Return a table of a known layout rewritten so that its columns have roles, and other tables unchanged.

    A table for which the user names the layout or a decisive role is unchanged.
    """
    for module in invited(frozenset(map(normalise, table.columns)), options, what):
        loaded = import_module(f"{__name__}.{module}")
        rewritten: InputTable | None = (loaded.arrange_labels if what == LABELS else loaded.arrange)(table, options)
        if rewritten is not None:
            return rewritten
    if options.baseline_model is not None:
        what_for = " only applies to judgements of games against a baseline (Arena-Hard), which these are not"
        raise table.error(-1, arg("baseline_model", options.baseline_model) + what_for + ": leave it out.")
    return table
