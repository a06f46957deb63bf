"""Filter preferences, relevance judgements and features by a condition on their roles.

Preferences have a row per ranked item, with the columns agent, instance, item, rank, rating (also called score), weight
and others, as far as they are known. Their candidates without a rank and their empty ballots are rows with missing
values; they are left out only where the condition is certainly false.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from concordant.ballots.segments import segment_index
from concordant.ballots.vocabulary import Coded, encode
from concordant.errors import InputError, arg
from concordant.tables.conditions import nothing_left, parse_condition
from concordant.tables.derived import as_numbers, as_text
from concordant.tables.selection import evaluate_with_unknown
from concordant.types import AnyArray, Bools, Floats, Int64s

if TYPE_CHECKING:
    from concordant.labels import Labels
    from concordant.preferences import Preferences

Column = Callable[[], Coded | Floats]


class RoleTable:
    """Columns by role, each computed when a condition uses it."""

    has_header = True

    def __init__(self, name: str, columns: Mapping[str, Column]) -> None:
        self.name, self.columns, self._columns = name, list(columns), columns

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names the data."""
        return InputError(message, path=self.name or None)

    def meets(self, where: str) -> AnyArray:
        """Return, for each row, 1 if it meets a condition, 0 if not, and -1 if missing values leave it open."""
        condition = parse_condition(where, self)
        names = list(dict.fromkeys(use.column for use in condition.uses)) or self.columns[:1]
        columns = {name: self._columns[name]() for name in names}
        numbers = {name: column for name, column in columns.items() if not isinstance(column, tuple)}
        texts = {name: as_text(column) for name, column in columns.items()}
        for use in condition.uses:
            if use.kind == "number" and use.column not in numbers:
                numbers[use.column] = as_numbers(texts[use.column])
        return evaluate_with_unknown(condition, self, texts, numbers)


def filtered_preferences(prefs: Preferences, where: str, name: str = "") -> Preferences:
    """Return the entries that meet a condition, with a note on how many were left out."""
    table = entry_table(prefs, name)
    met = table.meets(where)
    n_entries = len(prefs.item)
    entries = met[:n_entries] == 1
    if n_entries and not entries.any():
        raise nothing_left(table, where, n_entries)
    ballots, slots = _unranked(prefs)
    is_kept_ballot, is_kept_slot = np.ones(prefs.n_ballots, bool), np.zeros(prefs.n_slots, bool)
    is_kept_ballot[ballots] = met[n_entries : n_entries + len(ballots)] != 0
    is_kept_slot[slots] = met[n_entries + len(ballots) :] != 0
    is_kept_slot[prefs.entry_slot[entries]] = True
    n_left_out = n_entries - int(entries.sum())
    verb = "does" if n_left_out == 1 else "do"
    note = f"left out {n_left_out:,} of {n_entries:,} ranked items that {verb} not meet the condition "
    notes = (*prefs.notes, note + arg("where", where))
    return prefs.subset(is_kept_ballot, is_kept_slot, entries=entries, notes=notes)


def _unranked(prefs: Preferences) -> tuple[Int64s, Int64s]:
    """Return the ballots without items, and the slots of candidates that no ballot ranks."""
    is_ranked = np.zeros(prefs.n_slots, bool)
    is_ranked[prefs.entry_slot] = True
    return np.flatnonzero(np.diff(prefs.indptr) == 0), np.flatnonzero(~is_ranked)


def entry_table(prefs: Preferences, name: str = "") -> RoleTable:
    """Return preferences as a table: a row per ranked item, then the empty ballots and the unranked candidates."""
    ballots, slots = _unranked(prefs)
    ballot_of_entry = segment_index(prefs.indptr)
    ballot = np.concatenate([ballot_of_entry, ballots, np.full(len(slots), -1)]).astype(np.int64)
    missing = len(ballots) + len(slots)

    def by_ballot(values: AnyArray) -> Column:
        return lambda: np.append(np.asarray(values, np.float64), np.nan)[ballot]

    def by_entry(values: AnyArray) -> Column:
        return lambda: np.concatenate([values, np.full(missing, np.nan)])

    columns: dict[str, Column] = {}
    if prefs.agents is not None and prefs.agent is not None:
        agents, agent = prefs.agents, prefs.agent
        columns["agent"] = lambda: (np.append(agent, np.int32(-1))[ballot], agents)
    if prefs.instances is not None:
        instances, of_slot = prefs.instances, segment_index(prefs.slot_ptr)[slots]
        in_ballot = prefs.instance_of_ballot[ballot[: len(ballot) - len(slots)]]
        columns["instance"] = lambda: (np.concatenate([in_ballot, of_slot]).astype(np.int32), instances)
    no_item = np.full(len(ballots), -1)
    item = np.concatenate([prefs.item, no_item, prefs.slot_item[slots]]).astype(np.int32)
    columns["item"] = lambda: (item, prefs.items)
    if prefs.form == "pairs":
        columns |= {
            "winner": lambda: (prefs.item.reshape(-1, 2)[:, 0][ballot], prefs.items),
            "loser": lambda: (prefs.item.reshape(-1, 2)[:, 1][ballot], prefs.items),
        }
    columns["rank"] = by_entry(_ranks(prefs))
    if prefs.value is not None and prefs.scale == "rating":
        columns |= dict.fromkeys(("rating", "score"), by_entry(prefs.value))
    columns["weight"] = by_ballot(prefs.weight)
    if prefs.time is not None:
        columns["time"] = by_ballot(prefs.time) if not prefs.is_dated else _dates(prefs.time, ballot)
    if prefs.shown is not None:
        columns["shown"] = by_entry(prefs.shown)
    for k, covariate in enumerate(prefs.covariates):
        assert prefs.covariate is not None
        columns.setdefault(covariate, by_entry(prefs.covariate[:, k]))
    columns["ballot"] = by_ballot(np.arange(1, prefs.n_ballots + 1))
    return RoleTable(name, columns)


def _ranks(prefs: Preferences) -> Floats:
    """Return the rank of each entry: as given, or else 1 + the number of better entries on its ballot."""
    if prefs.value is not None and prefs.scale == "rank":
        return prefs.value
    ballot = segment_index(prefs.indptr)
    starts = np.ones(len(prefs.tier), bool)
    starts[1:] = (np.diff(prefs.tier) != 0) | (np.diff(ballot) != 0)
    first = np.maximum.accumulate(np.where(starts, np.arange(len(starts)), 0))
    return (first - prefs.indptr[ballot] + 1).astype(np.float64)


def _dates(days: Floats, ballot: Int64s) -> Column:
    """Return dated times as text, which a condition compares with dates."""

    def column() -> Coded:
        moments = np.round(days * 86_400).astype("datetime64[s]")
        texts = [str(moment).replace("T", " ") for moment in moments]
        codes, labels = encode([text.removesuffix(" 00:00:00") for text in texts])
        return np.append(codes, np.int32(-1))[ballot], labels

    return column


def filtered_labels(labels: Labels, where: str, name: str = "") -> Labels:
    """Return the relevance judgements that meet a condition on instance, item and label."""
    from concordant.labels import Labels

    instance = segment_index(labels.ptr).astype(np.int32)
    columns: dict[str, Column] = {"item": lambda: (labels.item, labels.items), "label": lambda: labels.label}
    if labels.instances is not None:
        instances = labels.instances
        columns = {"instance": lambda: (instance, instances), **columns}
    table = RoleTable(name, columns)
    keep = _kept(table, where, len(labels))
    topics = None if labels.instances is None else labels.instances.take(instance[keep])
    return Labels(topics, labels.items.take(labels.item[keep]), labels.label[keep])


def filtered_features(features: Any, where: str, name: str = "") -> Any:
    """Return the feature rows that meet a condition on label, query, item, weight and the features."""
    query, queries = features.query.astype(np.int32), features.queries
    columns: dict[str, Column] = {}
    if features.has_labels:
        columns["label"] = lambda: features.y
    if queries is not None:
        columns["query"] = lambda: (query, queries)
    if features.items is not None:
        columns["item"] = lambda: encode(features.items)
    if features.weight is not None:
        columns["weight"] = lambda: features.weight
    for k, feature in enumerate(features.names):
        columns.setdefault(feature, partial(_feature, features.X, k))
    keep = _kept(RoleTable(name, columns), where, len(features.y))
    return _feature_rows(features, keep, where)


def _feature(X: AnyArray, k: int) -> Floats:
    return X[:, k].astype(np.float64)


def _kept(table: RoleTable, where: str, n_rows: int) -> Bools:
    keep: Bools = table.meets(where) == 1
    if not keep.any():
        raise nothing_left(table, where, n_rows)
    return keep


def _feature_rows(features: Any, keep: Bools, where: str) -> Any:
    """Return some rows of features, with their queries renumbered and a note."""
    from concordant.ballots.vocabulary import renumber
    from concordant.tables.selection import Choice

    attributes = dict(vars(features))
    if features.queries is None:
        query = features.query[keep]
    else:
        codes, attributes["queries"] = renumber(features.query[keep], features.queries)
        query = codes.astype(np.int64)
    for name in ("items", "weight"):
        values = attributes.get(name)
        if values is not None:
            is_list = isinstance(values, list)
            attributes[name] = [values[k] for k in np.flatnonzero(keep)] if is_list else values[keep]
    choice = Choice(where, len(keep), int((~keep).sum()))
    attributes["notes"] = [*features.notes, *choice.notes()]
    return type(features)(features.X[keep], features.y[keep], query, **attributes)
