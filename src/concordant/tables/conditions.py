"""Conditions on the rows of a table (``judge != 'x' AND turn = 1``), written in SQL and evaluated by DuckDB.

DuckDB parses a condition into a tree, which is checked before anything runs: it may contain columns, constants,
operators and the functions listed here, but no subqueries, no aggregates and no other functions. The tree also tells
how each column is used. A column compared with a number is read as numbers, one compared with a text as text, one
compared with a date as dates, and one that stands for itself (``NOT hidden``) as true or false. A filled cell that
cannot be read this way is an error with an example; words such as ``NA`` are missing values, for which no comparison
holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from concordant.ballots.vocabulary import shorten
from concordant.errors import InputError, UnknownColumnError, arg, suggest
from concordant.support.duck import connect, quoted
from concordant.tables.grades import MISSING
from concordant.tables.options import listed, normalise
from concordant.tables.plans import HasColumns

TEXT, NUMBER, FLAG, DATE, TIME = "text", "number", "flag", "date", "time"
MEANING = {NUMBER: "a number", FLAG: "true or false", DATE: "a date", TIME: "a date or time"}
ADVICE = {
    NUMBER: "compare it with a text in single quotes, or use TRY_CAST",
    FLAG: "compare it with a text in single quotes",
    DATE: "write dates as 2024-05-31, or compare it with a text in single quotes",
    TIME: "write times as 2024-05-31 12:00:00",
}
YES, NO = ("true", "t", "yes", "y", "1", "1.0"), ("false", "f", "no", "n", "0", "0.0")

_TEMPLATE = "SELECT * FROM t WHERE (\n{}\n)"
_CLASSES = {"COLUMN_REF", "CONSTANT", "COMPARISON", "CONJUNCTION", "OPERATOR", "FUNCTION", "BETWEEN", "CASE", "CAST"}
_CLASSES |= {"COLLATE", "TYPE"}
_KIND_OF_LITERAL = {"INTEGER": NUMBER, "NUMERIC": NUMBER, "STRING": TEXT, "BOOLEAN": FLAG}
_KIND_OF_TYPE = {
    **dict.fromkeys(("VARCHAR", "TEXT", "STRING", "CHAR", "BPCHAR"), TEXT),
    **dict.fromkeys(("BOOLEAN", "BOOL", "LOGICAL"), FLAG),
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMP WITH TIME ZONE", "TIMESTAMPTZ", "INTERVAL"), TIME),
    "DATE": DATE,
}
# Functions by what the columns among their arguments are read as, and what they return; None: as the other arguments.
_BY_KINDS: dict[tuple[str | None, str | None], str] = {
    (
        NUMBER,
        NUMBER,
    ): "+ - * / // % ^ ** abs round floor ceil ceiling trunc sqrt ln log log2 log10 exp pow power mod sign",
    (TEXT, TEXT): "lower upper trim ltrim rtrim substr substring left right replace concat || reverse regexp_extract "
    "regexp_replace split_part ->> json_extract_string",
    (TEXT, NUMBER): "length len strlen instr strpos position levenshtein",
    (TEXT, FLAG): "~~ !~~ ~~* !~~* ~~~ like_escape not_like_escape ilike_escape not_ilike_escape regexp_matches "
    "regexp_full_match starts_with prefix suffix ends_with contains",
    (TIME, NUMBER): "year month day hour minute second quarter week weekday dayofweek isodow dayofyear date_part "
    "datepart epoch",
    (TIME, TIME): "date_trunc datetrunc",
    (TIME, TEXT): "strftime",
    (TEXT, TIME): "strptime",
    (None, None): "nullif ifnull greatest least",
}
_FUNCTIONS = {name: kinds for kinds, names in _BY_KINDS.items() for name in names.split()}
_ARITHMETIC = ("+", "-")
_WORDS = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_]\w*(?:\s*\()?""")
_LOGIC = "and or not in is null true false between like ilike glob similar to case when then else end collate escape"
_NO_COLUMNS = frozenset(f"{_LOGIC} cast as date timestamp interval distinct from".split())

Node = dict[str, Any]


class Use(NamedTuple):
    """A column of a condition, and what its cells are read as."""

    column: str
    kind: str

    def sql(self, text: str, number: str) -> str:
        """Return the SQL expression for the cells, given those for their text and their number."""
        if self.kind == NUMBER:
            return f"nullif({number}, 'NaN'::DOUBLE)"
        if self.kind == FLAG:
            plain = f"lower(trim({text}))"
            return f"(CASE WHEN {plain} IN {_tuple(YES)} THEN true WHEN {plain} IN {_tuple(NO)} THEN false END)"
        if self.kind == DATE:
            return f"TRY_CAST(TRY_CAST({text} AS TIMESTAMP) AS DATE)"
        return f"TRY_CAST({text} AS TIMESTAMP)" if self.kind == TIME else f"nullif({text}, '')"

    def is_bad(self, text: str, number: str) -> str:
        """Return the SQL condition for a filled cell that cannot be read this way."""
        if self.kind == TEXT:
            return "false"
        return (
            f"coalesce(lower(trim({text})), '') NOT IN {_tuple(sorted(MISSING))} AND {self.sql(text, number)} IS NULL"
        )


class Condition:
    """A checked condition: the columns it uses, and its SQL."""

    def __init__(self, text: str, uses: Sequence[Use], template: str, token: str) -> None:
        self.text, self.uses, self._template, self._token = text, tuple(uses), template, token

    def sql(self, expressions: Sequence[str]) -> str:
        """Return the condition with an SQL expression for each of ``uses``."""
        return re.sub(rf"\b{self._token}(\d+)\b", lambda match: expressions[int(match[1])], self._template)


def parse_condition(text: object, table: HasColumns) -> Condition:
    """Parse and check a condition over the columns of a table."""
    if not isinstance(text, str) or not text.strip():
        raise InputError(arg("where", text) + " is not a condition: write for example " + _EXAMPLE + ".")
    token = "column_"
    while token in text:
        token += "_"
    with connect(small=True) as connection:
        tree = _tree(connection, _with_quoted_columns(text, table.columns), text)
        node: Node = tree["statements"][0]["node"]
        walker = _Walker(table, token)
        walker.check(node["where_clause"])
        walker.assign(node["where_clause"], FLAG)
        (sql,) = connection.execute("SELECT json_deserialize_sql($1::JSON)", [_dumped(tree)]).fetchone() or ("",)
    return Condition(text, walker.uses, sql.partition(" WHERE ")[2], token)


def not_readable(table: HasColumns, use: Use, cell: str) -> InputError:
    """Create the error for a cell that a condition cannot read."""
    what = f" reads the column {shorten(use.column)!r} as {MEANING[use.kind]}, but a cell is {shorten(cell)!r}"
    return table.error(-1, arg("where") + what + f": {ADVICE[use.kind]}.").at(column=use.column)


def cannot_apply(table: HasColumns, condition: Condition, problem: Exception) -> InputError:
    """Create the error for a condition that DuckDB cannot evaluate."""
    return table.error(-1, _refusal(condition.text, first_sentence(problem)) + ".")


def nothing_left(table: HasColumns, condition: str, n_rows: int) -> InputError:
    """Create the error for a condition that no row meets."""
    rows = f"none of the {n_rows:,} rows meets" if n_rows != 1 else "the only row does not meet"
    return table.error(-1, f"{rows} the condition " + arg("where", condition) + ": check its names and values.")


def first_sentence(problem: Exception) -> str:
    """Return the first line of DuckDB's message, without the kind of error."""
    first = (str(problem).splitlines() or [type(problem).__name__])[0]
    return re.sub(r"^(\w+ )+Error: ", "", first).rstrip(".! ")


_EXAMPLE = "\"turn = 1 AND judge != 'x'\""


def _refusal(text: str, why: str) -> str:
    return arg("where", text) + f" is not a valid condition ({why})"


def _dumped(tree: Node) -> str:
    import json

    return json.dumps(tree)


def _tuple(words: Sequence[str]) -> str:
    return f"({', '.join(map(quoted, words))})"


# ---- parsing ----
def _tree(connection: Any, text: str, as_given: str) -> Node:
    """Return DuckDB's tree for a query whose only variable part is the condition."""
    tree = _serialised(connection, text)
    if tree["error"]:
        why = str(tree.get("error_message", "it cannot be parsed")).rstrip(". ")
        advice = f': write it like {_EXAMPLE}, with unusual column names in double quotes ("my column").'
        raise InputError(_refusal(as_given, why) + advice)
    plain = _serialised(connection, "true")
    if _frame(tree) != _frame(plain) or tree["statements"][0]["node"]["where_clause"].get("function_name") == "row":
        raise InputError(_refusal(as_given, "it is more than a condition") + f": write it like {_EXAMPLE}.")
    return tree


def _serialised(connection: Any, text: str) -> Node:
    import json

    (parsed,) = connection.execute("SELECT json_serialize_sql($1)", [_TEMPLATE.format(text)]).fetchone()
    tree: Node = json.loads(parsed)
    return tree


def _frame(tree: Node) -> list[Node]:
    """Return the parts of the query around the condition, which must be as in the template."""
    nodes = [statement["node"] for statement in tree["statements"]]
    return [{name: part for name, part in node.items() if name != "where_clause"} for node in nodes]


def _with_quoted_columns(text: str, columns: Sequence[str]) -> str:
    """Put column names that are words of SQL (``left``, ``user``, ``order``) in double quotes."""
    names = set(columns)

    def quote(match: re.Match[str]) -> str:
        word = match[0]
        is_column = word in names and word.lower() not in _NO_COLUMNS and word.lower() in _keywords()
        return f'"{word}"' if is_column else word

    return _WORDS.sub(quote, text)


@cache
def _keywords() -> frozenset[str]:
    """Return the words that DuckDB does not accept as plain names of columns everywhere."""
    with connect(small=True) as connection:
        query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category <> 'unreserved'"
        words = {str(name) for (name,) in connection.execute(query).fetchall()}
    return frozenset(words | {"user", "current_user", "session_user", "current_date", "current_time"})


# ---- checking ----
class _Walker:
    """The walk through the tree of a condition: checks its parts, and decides how each column is read."""

    def __init__(self, table: HasColumns, token: str) -> None:
        self.table, self.token = table, token
        self.uses: list[Use] = []

    def check(self, node: Node) -> None:
        """Reject everything but columns, constants, operators and known functions."""
        for part in _nodes(node):
            kind = part["class"]
            if kind not in _CLASSES:
                what = {"SUBQUERY": "a subquery", "WINDOW": "a window function", "PARAMETER": "a parameter (?)"}
                self._refuse(what.get(kind, kind.lower().replace("_", " ")))
            if kind == "FUNCTION" and (part["function_name"] not in _FUNCTIONS or part["schema"]):
                self._refuse(f"the function {part['function_name']}")

    def _refuse(self, what: str) -> None:
        raise self.table.error(
            -1,
            arg("where") + f" contains {what}, which a condition cannot use: compare columns with values, "
            "or use functions such as abs, contains, length, lower, regexp_matches, round, substr and year.",
        )

    def assign(self, node: Node, wanted: str | None) -> None:
        """Decide how the columns below a node are read, whose value is used as ``wanted`` (None: not known)."""
        kind = node["class"]
        if kind == "COLUMN_REF":
            self._use(node, wanted or TEXT)
        elif kind == "CAST":
            self.assign(node["child"], FLAG if _kind(node) == FLAG else TEXT)
        elif kind in ("COMPARISON", "BETWEEN") or node["type"] in ("COMPARE_IN", "COMPARE_NOT_IN"):
            self._assign_compared(node)
        elif kind == "FUNCTION":
            self._assign_arguments(node)
        elif kind == "CASE":
            for check in node["case_checks"]:
                self.assign(check["when_expr"], FLAG)
            self._assign_alike([*(check["then_expr"] for check in node["case_checks"]), node["else_expr"]], wanted)
        elif node["type"] == "OPERATOR_COALESCE":
            self._assign_alike(node["children"], wanted)
        else:
            inner = FLAG if kind == "CONJUNCTION" or node["type"] == "OPERATOR_NOT" else TEXT
            for child in _children(node):
                self.assign(child, inner)

    def _assign_compared(self, node: Node) -> None:
        """Read the columns of a comparison as what they are compared with; columns alone: in order as numbers."""
        orders = ("LESS", "GREATER", "BETWEEN")
        usual = NUMBER if any(word in node["type"] for word in orders) else TEXT
        children = list(_children(node))
        kinds = {kind for kind in map(_kind, children) if kind is not None}
        if kinds == {TEXT, NUMBER} and any(child["class"] == "COLUMN_REF" for child in children):
            raise self.table.error(
                -1,
                arg("where") + " compares a column with numbers and texts at once: put all of them in single quotes.",
            )
        self._assign_alike(children, usual)

    def _assign_alike(self, children: Sequence[Node], usual: str | None) -> None:
        """Read columns as what stands next to them, or else as usual."""
        kinds = [kind for kind in map(_kind, children) if kind is not None]
        for child in children:
            self.assign(child, kinds[0] if kinds else usual)

    def _assign_arguments(self, node: Node) -> None:
        """Read columns as the function needs them; a date plus an interval is a date."""
        arguments = [argument["expression"] for argument in node["arguments"]]
        needed, _ = _FUNCTIONS[node["function_name"]]
        if needed is None:
            self._assign_alike(arguments, TEXT)
            return
        if node["function_name"] in _ARITHMETIC and {DATE, TIME} & set(map(_kind, arguments)):
            needed = TIME
        for argument in arguments:
            self.assign(argument, needed)

    def _use(self, node: Node, kind: str) -> None:
        """Replace the name of a column by a token for its use."""
        use = Use(self._find(".".join(node["column_names"])), kind)
        if use not in self.uses:
            self.uses.append(use)
        node["column_names"] = [f"{self.token}{self.uses.index(use)}"]

    def _find(self, name: str) -> str:
        """Return the column of this name, compared without case and punctuation if no name is equal."""
        columns = self.table.columns
        if name in columns:
            return name
        same = [column for column in columns if normalise(column) == normalise(name)]
        if len(same) == 1:
            return same[0]
        nested: str | None = getattr(self.table, "resolve", lambda _: None)(name)
        if nested is not None:
            return nested
        what = f"there is no column {shorten(name)!r}, which " + arg("where") + f" names.{suggest(name, columns)} "
        known = f"The columns are {listed(columns)}; put texts in single quotes."
        path = self.table.error(-1, "").path
        where = f"{self.table.name}: " if path is None and self.table.name else ""
        raise UnknownColumnError(where + what + known, column=name, path=path).at(parameter="where")


def _kind(node: Node) -> str | None:
    """Return what a part of a condition evaluates to; None for a column or NULL."""
    kind = node["class"]
    if kind == "CONSTANT":
        return _KIND_OF_LITERAL.get(node["literal"]["kind"])
    if kind == "CAST":
        return _KIND_OF_TYPE.get(node["type_expr"]["type_name"].upper(), NUMBER)
    if kind == "COLLATE":
        return TEXT
    if kind == "FUNCTION":
        arguments = [_kind(argument["expression"]) for argument in node["arguments"]]
        if node["function_name"] in _ARITHMETIC and {DATE, TIME} & set(arguments):
            return TIME
        return _FUNCTIONS[node["function_name"]][1] or next((one for one in arguments if one is not None), None)
    if kind == "CASE":
        values = [*(check["then_expr"] for check in node["case_checks"]), node["else_expr"]]
        return next((one for one in map(_kind, values) if one is not None), None)
    if node["type"] == "OPERATOR_COALESCE":
        return next((one for one in map(_kind, node["children"]) if one is not None), None)
    return None if kind == "COLUMN_REF" else FLAG


def _children(node: Any) -> Iterator[Node]:
    """Yield the nodes directly below a node."""
    for part in node.values() if isinstance(node, dict) else node:
        if isinstance(part, dict) and "class" in part:
            yield part
        elif isinstance(part, (dict, list)):
            yield from _children(part)


def _nodes(node: Node) -> Iterator[Node]:
    """Yield a node and all nodes below it."""
    yield node
    for child in _children(node):
        yield from _nodes(child)
