"""PrefLib files: soc, soi, toc, toi (orders), cat (categories), wmd (weighted matching data).

A file is one election: ``# KEY: value`` lines, then one line ``count: 3,{1,2},4`` per distinct order. The header names
the alternatives; all of them are candidates, even those on no ballot. Its other fields are kept in ``meta`` under their
names in lower case. Several files read at once are several instances, named by file.

soc, soi, toc, toi
    orders without or with ties (in braces), complete or incomplete.
cat
    categories in order; a category is a tier (an empty one leaves a gap), and ``meta["categories"]`` names them, best
    first. The listed order is taken as best first, unless the first category means no and the last means yes.
    ``categories=`` overrides the order, and leaves out the categories that it does not name.
wmd
    one line ``vertex, vertex, weight`` per edge: the first vertex is an agent who rates the second.

Orders that nobody cast (a count of zero) are kept in ``meta["never cast"]``. The layout before 2022 (``n``, lines
``number,name``, totals, lines ``count,1,2,3``) is read as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from concordant import kernels
from concordant.ballots import build
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import Vocabulary, encode, shorten
from concordant.errors import FormatError, arg
from concordant.io._compose import lists_of_tiers
from concordant.io._elections import joined
from concordant.io._formats import Format, Writing
from concordant.io._source import Source
from concordant.preferences import Preferences
from concordant.support.limits import bad_numbers
from concordant.tables.bad_rows import STRICT_HINT, RowScreen, refuse_lines
from concordant.tables.options import PREFERENCES, Options
from concordant.types import Bytes, Int32s, Int64s

TYPES = ("soc", "soi", "toc", "toi", "cat", "wmd")
COUNTS = {
    *("number alternatives", "number voters", "number unique orders", "number unique preferences"),
    *("number categories", "number edges"),
}
MAX_VOTERS = 2**63 - 1  # where the kernel's sum of counts stops
MAX_UNNAMED = 1_000_000  # alternatives a header may count without naming them all
NUMBERS, NEVER_CAST = "alternative numbers", "never cast"
CATEGORIES, AS_LISTED, COUNTED_FROM = "categories", "categories as listed", "categories counted from"
_TROUBLES = {
    1: "the line does not begin with a whole number of voters and a colon",
    2: "the order is not made of alternative numbers, commas and braces",
}
_OLD = re.compile(rb"\s*\d{1,9}[ \t]*\r?\n[ \t]*\d+[ \t]*,[^\n]*\n")
_CATEGORY = re.compile(r"category name (\d+)")
_YES = {"yes", "approved", "approve", "for", "agree", "like", "good", "accept", "vote", "selected"}
_NO = {"no", "disapproved", "disapprove", "not approved", "against", "disagree", "dislike", "bad", "reject"}


FORMATS = (
    Format(
        "preflib",
        tuple(f".{kind}" for kind in TYPES),
        "PrefLib elections: orders, categories, weighted matching data",
        (PREFERENCES,),
        True,
        __name__,
        sniff=lambda head: head.startswith((b"# FILE NAME", b"# TITLE", b"# DATA TYPE")),
    ),
)


def read(sources: Sequence[Source], options: Options) -> Preferences:
    """Read elections; each of several files is one instance."""
    options.refuse_roles("PrefLib files")
    files = [_File(source, options) for source in sources]
    if len(files) == 1:
        return _edges(files[0]) if files[0].type == "wmd" else files[0].preferences()
    return Preferences(**joined([file.parts() for file in files], sources))


def write(data: Any, how: Writing) -> tuple[bytes, list[str]]:
    """Return the content of a file, and notes on what it leaves out."""
    from concordant.io import _compose_preflib

    return _compose_preflib.write(data, how)


class _Summary(NamedTuple):
    """What the kernel reports about all orders."""

    is_numbered: bool
    is_named: bool
    has_repeats: bool
    is_strict: bool
    is_all_cast: bool
    voters: int
    shortest: int
    max_tiers: int
    lowest: int
    highest: int


class _Places:
    """Locations of orders in their file."""

    def __init__(self, source: Source, line: Int64s, shift: int) -> None:
        self.source, self.line, self.shift = source, line, shift

    def error(self, row: int, message: str) -> FormatError:
        """Create the error that names an order's line."""
        return self.source.error(message, None if row < 0 else int(self.line[row]) - self.shift)

    def place(self, row: int) -> str:
        """Return the location of an order."""
        return f"line {int(self.line[row]) - self.shift}"


class _File(RowScreen):
    """One file: its header fields, its alternatives, its orders."""

    def __init__(self, source: Source, options: Options) -> None:
        """Parse a file with the kernel: header fields, names of alternatives, orders, and invalid lines."""
        self.source, self.options = source, options
        content = source.read_text_bytes()
        self.header: dict[str, str] = {}
        self._shift, separator = 0, ":"
        if not content.startswith(b"#") and _OLD.match(content):
            content, separator = self._as_new_layout(content), ","
        self.data = np.frombuffer(content, np.uint8)
        parsed = kernels.parse_orders(self.data, ord(separator))
        self.ptr, self.item, self.tier = parsed.ptr, parsed.item, parsed.tier
        for a, b in parsed.heads.tolist():
            key, _, value = content[a:b].decode("utf-8").partition(":")
            self.header[key.strip().lower()] = value.strip()
        self.number, self._spans = parsed.names[:, 0], parsed.names[:, 1:]
        self.count_of_order, self.tiers, self.line = parsed.orders.T
        self.summary = _Summary(*parsed.summary.tolist())
        places = _Places(source, self.line, self._shift)  # apart: a cycle would keep the arrays alive
        super().__init__(places, len(self.line), options)
        self.type = self.header.get("data type", source.ending.removeprefix(".")).strip().lower()
        if self.type not in TYPES:
            raise source.error(_refusal(self.type))
        self.remarks: list[str] = []
        if self.type != "wmd":
            self._report(*parsed.bad.T)

    def _as_new_layout(self, content: bytes) -> bytes:
        """Rewrite the header of the layout before 2022 line by line; its orders stay unchanged."""
        lines = content.split(b"\n")
        n = int(lines[0])
        head = [b"# NUMBER ALTERNATIVES: %d" % n]
        for k, line in enumerate(lines[1 : n + 1], 2):
            number, comma, name = line.partition(b",")
            if not comma or not number.strip().isdigit():
                raise self.source.error(
                    "the line must give the number and the name of an alternative, as in '1,Smith'.", k
                )
            head.append(b"# ALTERNATIVE NAME %s: %s" % (number.strip(), name.strip()))
        if self.source.ending.removeprefix(".") not in TYPES:
            head.append(b"# DATA TYPE: toi")
            self._shift = 1
        return b"\n".join([*head, b"#", *lines[n + 2 :]])

    def _report(self, line: Int64s, kind: Int64s) -> None:
        """Raise an error for the first line that could not be parsed, or count such lines by reason."""
        if len(line):
            bad = {_TROUBLES[k]: (line[kind == k] - self._shift).tolist() for k in np.unique(kind).tolist()}
            self.remarks += refuse_lines(bad, self.source.error, self.options)
        if not len(self.line):
            raise self.source.error("the file contains no orders: check that this is the right file.")

    # ---- alternatives ----
    def alternatives(self) -> Vocabulary:
        """Return the names of the alternatives; ``number`` then holds their numbers, in the same order."""
        declared = self._declared("number alternatives")
        if declared is not None and declared > len(self.number):
            return self._with_unnamed(declared)
        if not self.summary.is_numbered and len(np.unique(self.number)) != len(self.number):
            raise self.source.error(
                "two alternatives in the header have the same number: give each a different number."
            )
        if self.summary.is_named:
            return Vocabulary.lazy(len(self.number), partial(_spelled, self.data, self._spans))
        return self._distinct(_spelled(self.data, self._spans))

    def _with_unnamed(self, declared: int) -> Vocabulary:
        """Name alternatives by their number if the header counts but does not name them."""
        if declared > MAX_UNNAMED:
            raise self.source.error(
                f"the header declares {declared:,} alternatives but names only {len(self.number):,}: name "
                "the others, or "
                "change NUMBER ALTERNATIVES."
            )
        names = _spelled(self.data, self._spans)
        taken = set(self.number.tolist())
        start = 0 if 0 in taken or 0 in self.item else 1
        free = [k for k in range(start, start + declared) if k not in taken][: declared - len(names)]
        self.number = np.append(self.number, free).astype(np.int64)
        return self._distinct(names + [""] * len(free))

    def _distinct(self, names: Sequence[str]) -> Vocabulary:
        """Return distinct names: an unnamed alternative gets its number, a repeated name has its number appended."""
        labels: dict[str, None] = {}
        for number, name in zip(self.number.tolist(), names, strict=True):
            label = name or str(number)
            while label in labels:
                label = f"{label} ({number})"
            labels[label] = None
        unnamed = sum(not name for name in names)
        shared = sum(label != name for label, name in zip(labels, names, strict=True)) - unnamed
        if unnamed:
            self.remarks.append(f"{unnamed:,} alternatives have no name and are named by their number")
        if shared:
            self.remarks.append(f"{shared:,} alternatives share the name of another; their number was added")
        return Vocabulary(labels)

    def _declared(self, key: str) -> int | None:
        """Return a count from the header; None if it is absent or not a number."""
        text = self.header.get(key, "")
        return int(text) if text.isascii() and text.isdigit() and len(text) < 1000 else None

    # ---- orders ----
    def codes(self, n: int) -> Int32s:
        """Return the code of each alternative in the orders; reject unknown and repeated ones."""
        lowest, highest = self.summary.lowest, self.summary.highest
        if self._is_numbered(n):
            code: Int32s = self.item - np.int32(1)
            are_known = lowest >= 1 and highest <= n
        else:
            order = np.argsort(self.number)  # numbers may be anywhere below 2^31: no table of them
            position = np.searchsorted(self.number, self.item, sorter=order)
            candidate = np.append(order, -1)[position]
            code = np.where(np.append(self.number, -1)[candidate] == self.item, candidate, -1).astype(np.int32)
            are_known = bool((code >= 0).all())
        if len(code) and not are_known:
            self._refuse_entries(
                (code < 0) | (code >= n),
                "an alternative is not in the header",
                "the alternative {} is not in the header",
            )
            code = np.clip(code, 0, n - 1)
        if self.summary.has_repeats:
            order = np.lexsort((self.item, row := segment_index(self.ptr)))
            is_repeat = np.zeros(len(order), bool)
            is_repeat[order[1:]] = (np.diff(self.item[order]) == 0) & (np.diff(row[order]) == 0)
            self._refuse_entries(
                is_repeat, "an alternative occurs twice in the order", "the alternative {} occurs twice in the order"
            )
        return code

    def _is_numbered(self, n: int) -> bool:
        """Whether the alternatives are numbered 1 … n in this order."""
        return self.summary.is_numbered and len(self._spans) == n

    def _refuse_entries(self, bad: Any, reason: str, text: str) -> None:
        """Reject the orders that contain a bad entry."""
        order_of_entry = segment_index(self.ptr)
        is_bad_order = np.zeros(len(self.line), bool)
        is_bad_order[order_of_entry[bad]] = True
        self.refuse(is_bad_order, reason, lambda order: text.format(self.item[bad & (order_of_entry == order)][0]))

    def preferences(self) -> Preferences:
        """Return the election, without repeating the checks of the kernel and of ``codes``."""
        parts = self.parts()
        if self._reasons or self.type == "cat" or not self.summary.is_all_cast:
            return Preferences(**parts)
        parts |= {"weight": parts["weight"].astype(np.float64), "notes": tuple(parts["notes"])}
        return Preferences.unchecked(**parts | {"meta": MappingProxyType(parts["meta"])})

    def parts(self) -> build.Parts:
        """Return the keyword arguments of ``Preferences``."""
        if self.type == "wmd":
            raise self.source.error("weighted matching data are read one file at a time: name a single file.")
        items = self.alternatives()
        code = self.codes(len(items))
        self._expect(len(items))
        parts: build.Parts = {"items": items, "indptr": self.ptr, "item": code, "tier": self.tier}
        parts["weight"] = self.count_of_order
        voters = self.summary.voters
        if voters == MAX_VOTERS:
            raise self.source.error(
                "the orders have more than 2^63 voters in total: check the numbers before the colons."
            )
        if self._reasons:
            keep = np.repeat(self.good, np.diff(self.ptr))
            ptr = np.concatenate([[0], np.cumsum(np.diff(self.ptr)[self.good])])
            parts |= {"indptr": ptr, "item": code[keep], "tier": self.tier[keep], "weight": parts["weight"][self.good]}
            voters = int(parts["weight"].sum())
        declared = self._declared("number voters")
        if declared is not None and declared != voters:
            self._disagree(f"the header declares {declared:,} voters, but the orders have {voters:,} in total")
        meta = self._meta(items)
        if self.type == "cat":
            self._name_categories(parts, meta)
        if not self.summary.is_all_cast:
            orders = lists_of_tiers(items.take(parts["item"]), parts["tier"].tolist(), parts["indptr"].tolist())
            meta[NEVER_CAST] = [order for order, count in zip(orders, parts["weight"], strict=True) if not count]
        what = f"{self.source.name}: {len(parts['weight']):,} orders ({self.type}) of {voters:,} voters"
        notes = [f"{what} over {len(items):,} alternatives", *self.remarks, *self.notes()]
        return parts | {"meta": meta, "notes": notes}

    def _expect(self, n: int) -> None:
        """Note (or reject) orders that are incomplete or tied in a file whose type excludes them."""
        if self.type in ("soc", "toc") and self.summary.shortest < n:
            self.tolerate(np.diff(self.ptr) < n, f"an incomplete order in a {self.type} file")
        if self.type in ("soc", "soi") and not self.summary.is_strict:
            self.tolerate(self.tiers != np.diff(self.ptr), f"an order with ties in a {self.type} file")

    def _disagree(self, what: str) -> None:
        """Note a contradiction between header and orders, or reject it if strict."""
        if self.strict:
            raise self.source.error(what + STRICT_HINT)
        self.remarks.append(what)

    def _meta(self, items: Vocabulary) -> dict[str, object]:
        """Return the header fields to keep in ``meta``, and the numbers of the alternatives unless they are 1, 2, …"""
        meta: dict[str, object] = {
            key: value
            for key, value in self.header.items()
            if key and key not in COUNTS and not key.startswith("category name")
        }
        meta["data type"] = self.type
        if not self._is_numbered(len(items)) and self.number.tolist() != list(range(1, len(items) + 1)):
            meta[NUMBERS] = dict(zip(items.labels, self.number.tolist(), strict=True))
        return meta

    # ---- categories ----
    def _name_categories(self, parts: build.Parts, meta: dict[str, object]) -> None:
        """Renumber the tiers so that categories are best first, and omit those that the user did not name."""
        listed = self._listed_categories()
        best_first, how = _meant(listed, self.options.categories, self.source)
        position = np.array([best_first.index(name) if name in best_first else -1 for name in listed], np.int32)
        tier = position[parts["tier"]] if len(parts["tier"]) else parts["tier"]
        is_kept = tier >= 0
        if not is_kept.all():
            ends = np.concatenate([[0], np.cumsum(is_kept)])[parts["indptr"]]
            parts |= {"indptr": ends, "item": parts["item"][is_kept]}
            tier = tier[is_kept]
        parts["tier"] = tier
        meta[CATEGORIES] = tuple(best_first)
        if "category name 0" in self.header:
            meta[COUNTED_FROM] = 0
        if best_first != listed:
            meta[AS_LISTED] = tuple(listed)
        self.remarks.append("categories, best first" + how + f": {', '.join(map(shorten, best_first))}")

    def _listed_categories(self) -> list[str]:
        """Return the names of the categories in the order of the header; unnamed ones are numbered."""
        named = {int(match[1]): value for key, value in self.header.items() if (match := _CATEGORY.fullmatch(key))}
        listed = [named[k] for k in sorted(named)]
        listed += [f"category {k}" for k in range(len(listed) + 1, self.summary.max_tiers + 1)]
        if len(set(listed)) != len(listed):
            raise self.source.error("two categories in the header have the same name: rename one of them.")
        return listed


def _spelled(data: Bytes, spans: Int64s) -> list[str]:
    content = data.tobytes()
    return [content[a:b].decode("utf-8") for a, b in spans.tolist()]


def _meant(listed: list[str], wanted: Sequence[str] | None, source: Source) -> tuple[list[str], str]:
    """Return the categories, best first, and how their order was determined."""
    if wanted is not None:
        plain = {name.strip().lower(): name for name in listed}
        unknown = [name for name in wanted if name.strip().lower() not in plain]
        if unknown or len(set(wanted)) != len(wanted) or not wanted:
            raise source.error(
                arg("categories")
                + f" must list categories of the file, best first, each at most once: {', '.join(listed)}."
            )
        return [plain[name.strip().lower()] for name in wanted], ", as asked"
    if len(listed) > 1 and listed[0].strip().lower() in _NO and listed[-1].strip().lower() in _YES:
        return listed[::-1], " (listed in reverse)"
    return listed, " as listed (" + arg("categories") + " changes the order)"


def _refusal(kind: str) -> str:
    """Return the error message for an unsupported data type."""
    if kind in ("dat", "csv"):
        return (
            f"PrefLib's {kind} files hold data as collected, without a fixed layout (ballots that name a "
            "candidate twice, tables): read the derived soi, toi or cat file."
        )
    what = f"unknown data type {kind!r}" if kind else "the header has no data type"
    return f"{what}: set '# DATA TYPE' to one of {', '.join(TYPES)}."


# ---- weighted matching data ----
def _edges(file: _File) -> Preferences:
    """Read each edge as a rating: the first vertex is the agent, the second the item."""
    items = file.alternatives()
    code_of = {number: code for code, number in enumerate(file.number.tolist())}
    rows: list[tuple[int, int, float]] = []
    lines: list[int] = []
    for line, text in enumerate(file.data.tobytes().split(b"\n"), 1):
        if not text.strip() or text.startswith(b"#"):
            continue
        fields = [field.strip() for field in text.split(b",")]
        try:
            first, second, weight = int(fields[0]), int(fields[1]), float(fields[2])
        except (ValueError, IndexError):
            raise file.source.error("the line must have the form 'vertex, vertex, weight'.", line) from None
        if first not in code_of or second not in code_of or len(fields) != 3 or bad_numbers(weight):
            raise file.source.error(
                "the edge is invalid: both vertices must be in the header, and the weight must be in range.", line
            )
        rows.append((code_of[first], code_of[second], weight))
        lines.append(line)
    if not rows:
        raise file.source.error("the file contains no edges: check that this is the right file.")
    line_of_edge: dict[tuple[int, int], int] = {}
    for (first, second, _), line in zip(rows, lines, strict=True):
        if line_of_edge.setdefault((first, second), line) != line:
            raise file.source.error(
                f"the edge already occurs in line {line_of_edge[first, second]}: keep one of them.", line
            )
    start, end, weight_of = (np.array(column) for column in zip(*rows, strict=True))
    agent, agents = encode(items.take(start), "agent")
    parts = build.gather_rows((end, items), weight_of, scale="rating", agent=(agent, agents))
    note = f"{file.source.name}: {len(rows):,} edges (wmd), read as ratings of {len(agents):,} agents"
    return Preferences(**parts, meta=file._meta(items), notes=[note, *file.remarks])
