"""Write PrefLib files: the type that fits the ballots, the header from ``meta``, and one line per ballot."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from concordant.ballots.form import RAN, READ_AS, refuse_nominal
from concordant.ballots.merging import dense_tiers
from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import shorten
from concordant.errors import InputError
from concordant.io._compose import NOT_WRITTEN, has_open, has_ties, lists_of_tiers
from concordant.io._formats import Writing
from concordant.io._source import COMPRESSIONS
from concordant.io.formats.preflib import AS_LISTED, CATEGORIES, COUNTED_FROM, COUNTS, NEVER_CAST, NUMBERS, TYPES
from concordant.preferences import Preferences

ELSEWHERE = "write a table instead (csv, jsonl, parquet)"
FIRST = ("file name", "title", "description", "data type", "modification type", "relates to", "related files")
_WHAT = {"soc": "complete orders without ties", "soi": "orders without ties", "toc": "complete orders", "toi": "orders"}
Tiers = list[list[int]]


def write(data: object, how: Writing) -> tuple[bytes, list[str]]:
    """Return the content of a PrefLib file and notes on what it cannot represent.

    The file name or the format may determine the type.
    """
    if not isinstance(data, Preferences):
        raise InputError(f"Only preferences can be written as PrefLib, not a {type(data).__name__}: use csv.")
    refuse_nominal(data, "A PrefLib file")
    kind = _asked(how) or _fitting(data)
    _refuse_what_no_file_holds(data, kind)
    labels = data.items.labels
    number = _numbers(data)
    if kind == "wmd":
        counts, body = _edges(data, number)
    else:
        counts, body = _orders(data, kind, number)
    header = _header(data.meta, kind, how.name)
    names = [f"# ALTERNATIVE NAME {number[label]}: {label}" for label in labels]
    written = [*header, *(f"# {key}: {value}" for key, value in counts.items()), *names, *body]
    return "".join(line + "\n" for line in written).encode("utf-8"), _left_behind(data, kind)


def _asked(how: Writing) -> str | None:
    """Return the PrefLib type that the format or the file name requests, or None."""
    stem = (how.name or "").lower()
    for packing in COMPRESSIONS:
        stem = stem.removesuffix(packing)
    candidates = ((how.asked or "").strip().lower(), os.path.splitext(stem)[1])
    return next((kind for kind in (text.removeprefix(".") for text in candidates) if kind in TYPES), None)


def _is_strict(prefs: Preferences) -> bool:
    return not has_ties(prefs) and bool((np.diff(prefs.indptr) > 0).all())


def _is_complete(prefs: Preferences) -> bool:
    return bool((np.diff(prefs.indptr) == prefs.n_items).all())


def _fitting(prefs: Preferences) -> str:
    """Return the most specific type that can represent these ballots."""
    if CATEGORIES in prefs.meta:
        return "cat"
    return ("so" if _is_strict(prefs) else "to") + ("c" if _is_complete(prefs) else "i")


def _refuse_what_no_file_holds(prefs: Preferences, kind: str) -> None:
    """Reject preferences that PrefLib, or a file of this type, cannot represent."""
    if prefs.n_instances > 1:
        raise InputError(
            "A PrefLib file contains one election, but these preferences have several instances: select one of them."
        )
    if has_open(prefs):
        raise InputError(f"PrefLib cannot represent open (top-k) ballots: {ELSEWHERE}.")
    for label in prefs.items:
        if label == "" or re.search("[\n\r\0\ud800-\udfff]", label):
            raise InputError(f"The item {shorten(label)!a} does not fit on one line of text: rename it first.")
    if kind == "wmd":
        return
    if (prefs.weight != np.floor(prefs.weight)).any() or (prefs.weight >= 2**63).any():
        raise InputError(
            f"PrefLib weights are numbers of voters, but these weights are not whole numbers: {ELSEWHERE}."
        )
    strict, complete = kind in ("soc", "soi"), kind in ("soc", "toc")
    if (strict and not _is_strict(prefs)) or (complete and not _is_complete(prefs)):
        fits = _fitting(prefs) if CATEGORIES not in prefs.meta else "cat"
        raise InputError(
            f"A {kind} file can only contain {_WHAT[kind]}: use the file extension .{fits} for these ballots."
        )


def _numbers(prefs: Preferences) -> dict[str, int]:
    """Return the number of each alternative: as read from the file if known, else 1, 2, …"""
    known = prefs.meta.get(NUMBERS)
    labels = prefs.items.labels
    if isinstance(known, Mapping) and all(label in known for label in labels):
        return {label: int(known[label]) for label in labels}
    return {label: code for code, label in enumerate(labels, 1)}


# ---- the header ----
def _header(meta: Mapping[str, object], kind: str, name: str | None) -> list[str]:
    """Return the header lines: the usual fields first, then the others from ``meta``."""
    fields = {key: value for key, value in meta.items() if isinstance(value, str) and key not in COUNTS}
    fields["data type"] = kind
    if "file name" not in fields and name not in (None, "-"):
        fields["file name"] = os.path.basename(name or "")
    keys = [key for key in FIRST if key in fields] + [key for key in fields if key not in FIRST]
    for key in keys:
        if any(sign in key + fields[key] for sign in "\n\r") or ":" in key:
            raise InputError(
                f"The header field {shorten(key)!r} does not fit on one line: change or remove it in meta."
            )
    return [f"# {key.upper()}: {fields[key]}".rstrip() for key in keys]


# ---- the body ----
def _orders(prefs: Preferences, kind: str, number: Mapping[str, int]) -> tuple[dict[str, object], list[str]]:
    """Return the counts for the header and one line ``count: order`` per ballot."""
    code_of = [number[label] for label in prefs.items.labels]
    tier = (prefs.tier if kind == "cat" else dense_tiers(prefs)).tolist()
    categories = _categories(prefs) if kind == "cat" else []
    position = _positions(prefs, categories)
    tier = [position[k] for k in tier] if categories else tier
    item = [code_of[code] for code in prefs.item.tolist()]
    ballots = lists_of_tiers(item, tier, prefs.indptr.tolist(), len(categories) or 1)
    orders = [(int(count), _written(tiers)) for count, tiers in zip(prefs.weight, ballots, strict=True)]
    orders += [(0, _written(tiers)) for tiers in _never_cast(prefs, number, categories, position)]
    distinct = len({text for _, text in orders})
    counts: dict[str, object] = {
        "NUMBER ALTERNATIVES": prefs.n_items,
        "NUMBER VOTERS": sum(count for count, _ in orders),
        "NUMBER UNIQUE PREFERENCES" if kind == "cat" else "NUMBER UNIQUE ORDERS": distinct,
    }
    if categories:
        counts["NUMBER CATEGORIES"] = len(categories)
        first = 0 if prefs.meta.get(COUNTED_FROM) == 0 else 1
        counts |= {f"CATEGORY NAME {k}": label for k, label in enumerate(categories, first)}
    return counts, [f"{count}: {text}" for count, text in orders]


def _written(tiers: Sequence[Sequence[int]]) -> str:
    return ",".join(str(tier[0]) if len(tier) == 1 else "{" + ",".join(map(str, tier)) + "}" for tier in tiers)


def _categories(prefs: Preferences) -> list[str]:
    """Return the categories as they were listed; tiers without names are numbered."""
    known: Any = prefs.meta.get(AS_LISTED, prefs.meta.get(CATEGORIES, ()))
    listed = [str(label) for label in known]
    needed = int(prefs.tier.max(initial=-1)) + 1
    if len(prefs.meta.get(CATEGORIES, ())) < needed:  # type: ignore[arg-type]
        listed = [f"category {k}" for k in range(1, needed + 1)]
    if any(sign in label for label in listed for sign in "\n\r"):
        raise InputError("The name of a category does not fit on one line: change it in meta.")
    return listed or ["category 1"]


def _positions(prefs: Preferences, categories: Sequence[str]) -> list[int]:
    """Return the position of every tier's category in the file's list."""
    best_first: Any = prefs.meta.get(CATEGORIES, ())
    if AS_LISTED in prefs.meta and set(best_first) <= set(categories):
        return [categories.index(label) for label in best_first]
    return list(range(len(categories)))


def _never_cast(
    prefs: Preferences, number: Mapping[str, int], categories: Sequence[str], position: Sequence[int]
) -> list[Tiers]:
    """Return the orders that were read with a count of zero, as alternative numbers by tier."""
    kept: Any = prefs.meta.get(NEVER_CAST, ())
    orders: list[Tiers] = []
    for tiers in kept:
        if not all(label in number for tier in tiers for label in tier):
            continue  # its items were taken out since
        placed: Tiers = [[] for _ in range(len(categories) or len(tiers))]
        for k, tier in enumerate(tiers):
            placed[position[k] if categories else k] = [number[label] for label in tier]
        orders.append(placed)
    return orders


def _edges(prefs: Preferences, number: Mapping[str, int]) -> tuple[dict[str, object], list[str]]:
    """Return the counts for the header and one line ``agent, item, rating`` per rating."""
    if prefs.agents is None or prefs.agent is None or prefs.value is None or prefs.scale != "rating":
        raise InputError(
            "A wmd file stores a weighted directed graph (matching data), so only ratings by named agents can be "
            "written to it: give the ratings an agent column, or use another format."
        )
    if not set(prefs.agents) <= set(prefs.items) or (prefs.weight != 1).any():
        raise InputError(
            "In a wmd file, every agent is a vertex and therefore also an item, and ballots have no weights: "
            + ELSEWHERE
            + "."
        )
    if len(set(prefs.agent.tolist())) != prefs.n_ballots:
        raise InputError(f"In a wmd file, each agent has one ballot, but here an agent has several: {ELSEWHERE}.")
    agents = prefs.agents.take(prefs.agent[segment_index(prefs.indptr)])
    rows = zip(agents, prefs.items.take(prefs.item), prefs.value.tolist(), strict=True)
    counts: dict[str, object] = {"NUMBER ALTERNATIVES": prefs.n_items, "NUMBER EDGES": len(prefs.item)}
    return counts, [f"{number[agent]}, {number[item]}, {value!r}" for agent, item, value in rows]


def _left_behind(prefs: Preferences, kind: str) -> list[str]:
    """Return notes on what a file of this type cannot represent."""
    notes = []
    if prefs.agents is not None and kind != "wmd":
        notes.append("the agents are not written")
    if prefs.said_form is not None and prefs.form != "rankings" and kind not in ("cat", "wmd"):
        notes.append(f"the form ({prefs.form}) is not written: the ballots will be read as rankings")
    if prefs.instances is not None:
        notes.append("the name of the instance is not written")
    if prefs.value is not None and kind != "wmd":
        notes.append(f"the {prefs.scale}s that imply the order are not written")
    notes += [f"{what} not written" for name, what in NOT_WRITTEN.items() if getattr(prefs, name) is not None]
    known = {NUMBERS, NEVER_CAST, CATEGORIES, AS_LISTED, COUNTED_FROM, RAN, READ_AS}
    unknown_fields = [key for key, value in prefs.meta.items() if not isinstance(value, str) and key not in known]
    if unknown_fields:
        notes.append(f"the header fields {', '.join(unknown_fields)} are not written")
    return notes
