"""Write the GROUP BY that reduces a table of a database to counts or sums, for a database that concordant never sees.

The query returns a table that ``concordant rank`` reads: pairs with a weight, or sums of ratings or ranks (see
``engine.sums``). Names of tables and columns are always quoted, so they may hold anything, and must be written as the
database stores them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from concordant.engine.statistics import LEVELS, NET_WINS, POSITIONS, Statistic
from concordant.engine.sums import FORM, UNUSABLE
from concordant.errors import InputError, arg, phrase
from concordant.support.limits import MAX_WEIGHT, MIN_COUNTED
from concordant.tables.layout_roles import NEEDED, OPTIONAL
from concordant.tables.plans import Plan, has_points

MAX_LEVEL = "1e12"
LAYOUTS = ("pairs", "ratings", "ranks")
ROLES = (
    *("winner", "loser", "left", "right", "outcome", "tie", "left_won", "right_won", "left_score", "right_score"),
    *("neutral", "item", "rating", "rank", "agent", "ballot", "instance", "weight"),
)
SHOWN = ("winner", "loser", "left", "right", "outcome", "item", "rating", "item", "rank")
MAX_NAME = 1_000
ROWS, PLACED, COUNTED = "concordant_rows", "concordant_placed", "concordant_counted"


def _standard(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _backticks(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _google(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace("`", "\\`").replace("\n", "\\n").replace("\r", "\\r")
    return "`" + escaped + "`"


def _cast_number(kind: str) -> Callable[[str], str]:
    return lambda column: f"CAST({column} AS {kind})"


def _sqlite_number(column: str) -> str:
    """Return a column of SQLite as a number; a plain cast makes 0 of text."""
    is_number = f"{column} GLOB '*[0-9]*' AND {column} NOT GLOB '*[^0-9.eE+-]*'"
    return (
        f"CASE WHEN typeof({column}) IN ('integer', 'real') THEN CAST({column} AS REAL) "
        f"WHEN {is_number} THEN CAST({column} AS REAL) END"
    )


@dataclass(frozen=True)
class Dialect:
    """How a database quotes names and converts types."""

    quoted: Callable[[str], str]
    text: str
    """Its type for text."""
    number: Callable[[str], str]
    """Returns the expression of a column as a floating-point number."""


DIALECTS = {
    "postgres": Dialect(_standard, "TEXT", _cast_number("DOUBLE PRECISION")),
    "bigquery": Dialect(_google, "STRING", _cast_number("FLOAT64")),
    "snowflake": Dialect(_standard, "VARCHAR", _cast_number("DOUBLE")),
    "spark": Dialect(_backticks, "STRING", _cast_number("DOUBLE")),
    "duckdb": Dialect(_standard, "VARCHAR", _cast_number("DOUBLE")),
    "sqlite": Dialect(_backticks, "TEXT", _sqlite_number),  # a name in double quotes may become text
}


def plan_of(columns: Mapping[str, str]) -> Plan:
    """Return the plan of a table whose rows are not available, from the names of its columns by role."""
    roles = set(columns)
    for layout in LAYOUTS:
        for needed in NEEDED[layout]:
            if roles.issuperset(needed):
                strange = sorted(roles - {*needed, *OPTIONAL[layout]} | roles & {"rank"} - {*needed})
                if strange:
                    what = " does not apply to " + layout + " with " + ", ".join(needed) + ": leave it out."
                    raise InputError(arg(strange[0], columns[strange[0]]) + what)
                return Plan(layout, dict(columns))
    known = phrase("{} and {}; {}, {} and {}; {} and {}; or {} and {}", *map(arg, SHOWN))
    raise InputError("The columns do not say what a row means: name " + known + ".")


def query_of(plan: Plan, table: str, dialect: str, statistic: Statistic) -> str:
    """Return the query that reduces a table with these columns; ``statistic`` matters for ratings and ranks only."""
    writer = _Writer(plan, _table(table, DIALECTS[dialect]), DIALECTS[dialect])
    if plan.layout == "pairs":
        return writer.pairs()
    return writer.levels() if statistic is LEVELS else writer.items()


def _table(name: str, dialect: Dialect) -> str:
    """Return the name of a table as an identifier: parts separated by dots, a part in double quotes as it is."""
    if not re.fullmatch(r'(?:"(?:[^"]|"")+"|[^".]+)(?:\.(?:"(?:[^"]|"")+"|[^".]+))*', name):
        raise InputError(
            arg("table", name) + " is not the name of a table: write TABLE or SCHEMA.TABLE, and put a part that holds "
            'a dot or a quotation mark in double quotes, as in shop."votes.2026".'
        )
    parts = re.findall(r'"(?:[^"]|"")+"|[^".]+', name)
    return ".".join(dialect.quoted(_plain(part[1:-1].replace('""', '"') if part[0] == '"' else part)) for part in parts)


def _plain(name: str) -> str:
    """Return a name that every database can quote, or raise an error."""
    if "\0" in name or not name or len(name) > MAX_NAME:
        raise InputError("The name of a table or column is empty, too long or holds a zero byte: correct it.")
    return name


class _Writer:
    """Writes the query for one table."""

    def __init__(self, plan: Plan, table: str, dialect: Dialect) -> None:
        self.plan, self.table, self.dialect = plan, table, dialect
        self.quoted = dialect.quoted

    def _column(self, role: str) -> str:
        return self.quoted(_plain(self.plan.column[role]))

    def _as(self, expression: str, name: str) -> str:
        return f"{expression} AS {self.quoted(name)}"

    # ---- pairs ----
    def pairs(self) -> str:
        """Return the query that counts equal pairs; the columns of the result are named by their roles."""
        roles = [role for role in self.plan.column if role != "weight"]
        keys = [self._as(self._key(role), role) for role in roles]
        weight = "count(*)"
        if "weight" in self.plan.column:
            number = self.dialect.number(self._column("weight"))
            usable = f"count({number}) = count(*) AND min({number}) >= 0 AND max({number}) <= {MAX_WEIGHT:.0f}"
            weight = f"CASE WHEN {usable} THEN sum({number}) END"
        numbers = ", ".join(str(k + 1) for k in range(len(keys)))
        return f"{_select([*keys, self._as(weight, 'weight')], self.table)}\nGROUP BY {numbers}"

    def _key(self, role: str) -> str:
        """Return the expression to group by; points become 1 for the side with more of them and 0 for the other."""
        column = self._column(role)
        if has_points(self.plan) and role in ("left_score", "right_score"):
            left, right = (self.dialect.number(self._column(side)) for side in ("left_score", "right_score"))
            own, other = (left, right) if role == "left_score" else (right, left)
            return f"CASE WHEN {own} > {other} THEN 1 WHEN {own} <= {other} THEN 0 END"
        return column

    # ---- ratings and ranks ----
    def items(self) -> str:
        """Return the query for the sums by item."""
        terms = {name: self._term(name) for name in (*POSITIONS.sums, *NET_WINS.sums)}
        group, item, weight = self._group(), self._name("item"), self._name("weight")
        of_row = [*group, item, *(self._as(term, "sum_" + name) for name, term in terms.items()), self._name(UNUSABLE)]
        nobody = self._as(f"CAST(NULL AS {self.dialect.text})", "item")
        none = [self._as("0", "sum_" + name) for name in terms if name != "weight"]
        of_ballot = [*group, nobody, self._as(f"max({weight})", "sum_weight"), *none, self._as("0", UNUSABLE)]
        added = [self._as(f"sum({self._name('sum_' + name)})", name) for name in terms]
        chosen = [*group, item, *added, self._as(f"sum({self._name(UNUSABLE)})", UNUSABLE), self._form()]
        by_ballot = ", ".join([*group, self._name("ballot")])
        return (
            f"WITH {self._placed()},\n{COUNTED} AS (\n"
            f"{_select(of_row, PLACED, '  ')}\n  UNION ALL\n"
            f"{_select(of_ballot, PLACED, '  ')}\n  GROUP BY {by_ballot}\n)\n"
            f"{_select(chosen, COUNTED)}\nGROUP BY {', '.join([*group, item])}"
        )

    def levels(self) -> str:
        """Return the query for the histogram of levels."""
        keys = [*self._group(), self._name("item"), self._name("level")]
        added = [self._as(f"sum({self._name(name)})", name) for name in ("weight", UNUSABLE)]
        return f"WITH {self._placed()}\n{_select([*keys, *added, self._form()], PLACED)}\nGROUP BY {', '.join(keys)}"

    def _form(self) -> str:
        return self._as("'ratings'" if "rating" in self.plan.column else "'rankings'", FORM)

    def _name(self, name: str) -> str:
        return self.quoted(name)

    def _group(self) -> list[str]:
        return [self._name("instance")] if "instance" in self.plan.column else []

    def _term(self, name: str) -> str:
        """Return the term of a sum over the rows of ``placed``."""
        weight, better, worse, size, level, total = (
            self._name(column) for column in ("weight", "better", "worse", "size", "level", "level_total")
        )
        return {
            "weight": weight,
            "better": f"{weight} * {better}",
            "worse": f"{weight} * {worse}",
            "tied": f"{weight} * ({size} - {better} - {worse} - 1)",
            "net": f"{weight} * ({size} * {level} - {total})",
            "total": f"{weight} * {level} * ({worse} - {better})",
            "won": f"CASE WHEN {worse} > 0 THEN {weight} ELSE 0 END",
            "lost": f"CASE WHEN {better} > 0 THEN {weight} ELSE 0 END",
        }[name]

    def _placed(self) -> str:
        """Return the common tables ``ballots`` (columns by role) and ``placed`` (with the places on each ballot)."""
        text, column = self.dialect.text, self.plan.column
        level = self.dialect.number(self._column("rating" if "rating" in column else "rank"))
        ballot = next((role for role in ("ballot", "agent") if role in column), None)
        weight = self.dialect.number(self._column("weight")) if "weight" in column else self.dialect.number("1")

        def label(role: str) -> str:
            return f"nullif(CAST({self._column(role)} AS {text}), '')"

        rows = [self._as(f"coalesce({label('instance')}, '?')", "instance") for _ in self._group()]
        rows += [
            self._as(label("item"), "item"),
            self._as("'?'" if ballot is None else label(ballot), "ballot"),
            self._as(level if "rating" in column else f"-({level})", "level"),
            self._as(weight, "weight"),
        ]
        of_ballot = ", ".join([*self._group(), self._name("ballot")])
        by = f"PARTITION BY {of_ballot}"
        item, level, weight = self._name("item"), self._name("level"), self._name("weight")
        usable = (
            f"{item} IS NOT NULL AND {self._name('ballot')} IS NOT NULL AND abs({level}) <= {MAX_LEVEL} "
            f"AND ({weight} = 0 OR ({weight} >= {MIN_COUNTED:g} AND {weight} <= {MAX_LEVEL})) "
            f"AND count(*) OVER ({by}, {item}) = 1 "
            f"AND min({weight}) OVER ({by}) = max({weight}) OVER ({by})"
        )
        placed = [
            *self._group(),
            *(self._name(name) for name in ("ballot", "item", "level", "weight")),
            self._as(f"rank() OVER ({by} ORDER BY {level} DESC) - 1", "better"),
            self._as(f"rank() OVER ({by} ORDER BY {level}) - 1", "worse"),
            self._as(f"count(*) OVER ({by})", "size"),
            self._as(f"sum({level}) OVER ({by})", "level_total"),
            self._as(f"CASE WHEN {usable} THEN 0 ELSE 1 END", UNUSABLE),
        ]
        return f"{ROWS} AS (\n{_select(rows, self.table, '  ')}\n),\n{PLACED} AS (\n{_select(placed, ROWS, '  ')}\n)"


def _select(chosen: Sequence[str], source: str, indent: str = "") -> str:
    """Return a SELECT with a line per column."""
    return f"{indent}SELECT\n{indent}  " + f",\n{indent}  ".join(chosen) + f"\n{indent}FROM {source}"
