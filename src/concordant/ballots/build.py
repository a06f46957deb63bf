"""Convert rankings, pairs, rank matrices and long rows to the arrays of ``Preferences``.

Every function returns keyword arguments for ``Preferences``, which validates them. The bounds of pairs are omitted,
because ``Preferences.of_parts`` knows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from concordant import kernels
from concordant.ballots.segments import first_of, number_inside, pointer, segment_index, spans
from concordant.ballots.vocabulary import (
    Coded,
    Vocabulary,
    as_whole_numbers,
    encode,
    encode_together,
    encode_whole_numbers,
    join_rows,
    join_vocabularies,
    read_arrow,
    renumber,
    shorten,
    speaks_arrow,
)
from concordant.errors import InputError, arg, phrase
from concordant.support.dates import as_times
from concordant.support.frozen import freeze
from concordant.support.limits import NUMBERS, WEIGHTS, are_numbers, are_weights, bad_numbers, bad_weights
from concordant.types import AnyArray, Bools, Floats, Int32s, Int64s

Parts = dict[str, Any]
LIBRARIES = ("pandas", "polars", "pyarrow")
_LIKE_PANDAS = ("modin", "cudf", "dask", "dask_expr")


def library_of(given: Iterable[object]) -> str | None:
    """Return the DataFrame library of the first frame or series among these objects; None if there is none."""
    for value in given:
        kind = type(value)
        if kind.__module__.startswith("narwhals") and hasattr(value, "to_native"):
            kind = type(value.to_native())
        for base in kind.__mro__:  # a frame of a library that builds on pandas counts as pandas
            name = base.__module__.partition(".")[0]
            if name in LIBRARIES:
                return name
            if name in _LIKE_PANDAS:
                return "pandas"
    return None


def gather_rankings(
    rankings: Iterable[Sequence[object]], candidates: Iterable[object] | None = None, **columns: object
) -> Parts:
    """Return rankings as parts, best first; an inner list, tuple or set is a tie. ``candidates`` may add items."""
    extra_labels = [] if candidates is None else list(candidates)
    rankings = rankings if isinstance(rankings, np.ndarray) and rankings.ndim == 2 else list(rankings)
    whole = None if extra_labels else _whole_numbers(rankings)
    if whole is not None:
        numbers, indptr = whole
        (codes, vocabulary), tier = encode(numbers, "item"), number_inside(indptr).astype(np.int32)
        n_entries = len(codes)
    else:
        rankings = list(rankings)
        codes, labels, indptr, tier, bad = kernels.encode_lists(rankings)
        vocabulary, n_entries = Vocabulary(labels), len(codes)
        if bad != -1 or extra_labels:
            flat, indptr, tier = _flatten(rankings)
            n_entries = len(flat)
            codes, vocabulary = encode(flat + extra_labels, "item")
    item = codes[:n_entries]
    freeze(indptr, item, tier)
    parts: Parts = {"items": vocabulary, "indptr": indptr, "item": item, "tier": tier}
    parts.update(ballot_columns(len(rankings), **columns))
    if extra_labels:
        if "instance" in parts:
            text = "{} lists the items of a single instance: leave it out, or leave {} out."
            raise InputError(phrase(text, arg("candidates"), arg("instance")))
        candidate_codes = set(codes[n_entries:].tolist())
        unlisted = next((code for code in codes[:n_entries].tolist() if code not in candidate_codes), None)
        if unlisted is not None:
            raise InputError(
                f"The item {shorten(vocabulary[unlisted])!r} is ranked but is not a candidate: add it to the "
                "candidates."
            )
        order = np.array(list(dict.fromkeys(codes[n_entries:].tolist())), np.int32)
        parts.update(slot_ptr=np.array([0, len(order)]), slot_item=order)
    return parts


def _whole_numbers(rankings: Any) -> tuple[Int64s, Int64s] | None:
    """Return all items and the bounds of the rankings if they are lists or arrays of whole numbers; else None."""
    if isinstance(rankings, np.ndarray):
        numbers, sizes = as_whole_numbers(rankings.reshape(-1)), np.full(len(rankings), rankings.shape[1])
        return None if numbers is None else (numbers, pointer(sizes))
    kinds = set(map(type, rankings))
    first = next((ranking[0] for ranking in rankings if len(ranking)), None) if kinds <= {list, tuple} else None
    if kinds == {np.ndarray} and all(ranking.ndim == 1 and ranking.dtype.kind in "iu" for ranking in rankings):
        flat: Any = np.concatenate(rankings)
    elif type(first) is int:
        flat = list(chain.from_iterable(rankings))
    else:
        return None
    numbers = as_whole_numbers(flat)
    return None if numbers is None else (numbers, pointer(np.fromiter(map(len, rankings), np.int64, len(rankings))))


def _flatten(rankings: list[Any]) -> tuple[list[object], Int64s, Int32s]:
    """Return the items of all rankings, concatenated, with the bounds and tiers of the ballots."""
    flat: list[object] = []
    tiers: list[int] = []
    indptr = np.zeros(len(rankings) + 1, np.int64)
    for row, ranking in enumerate(rankings):
        if isinstance(ranking, (str, bytes)) or not isinstance(ranking, Iterable):
            raise InputError(
                f"Ranking {row + 1} is {shorten(repr(ranking))}, not a list of items: "
                'write it best first, such as ["a", "b"].'
            )
        for tier, place in enumerate(ranking):
            if isinstance(place, (set, frozenset)):
                group = sorted(place, key=str)  # a set has no order of its own: make the result reproducible
            else:
                group = list(place) if isinstance(place, (list, tuple)) else [place]
            flat.extend(group)
            tiers.extend([tier] * len(group))
        indptr[row + 1] = len(flat)
    return flat, indptr, np.array(tiers, np.int32)


def gather_pairs(
    winner: object,
    loser: object,
    *,
    tie: object = None,
    winner_first: object = None,
    time: object = None,
    covariates: Mapping[str, object] | None = None,
    points: tuple[object, object] | None = None,
    **columns: object,
) -> Parts:
    """Return comparisons as parts, one per row.

    ``tie`` marks draws, and ``winner_first`` marks rows whose winner was shown first.
    """
    coded = encode_whole_numbers([winner, loser])
    if coded is None:
        both = encode(winner, "item"), encode(loser, "item")
        _same_rows(both[0][0], both[1][0])
        coded = join_rows(both)
    parts = pairs_of_codes(*coded, tie=tie, winner_first=winner_first, **columns)
    n = len(coded[0]) // 2
    if covariates:
        parts |= covariates_of_pairs(covariates, n)
    if points is not None:
        parts["points"] = points_of_pairs(points, n)
    return parts if time is None else sorted_by_time(parts, time, n)


def covariates_of_pairs(covariates: Mapping[str, object], n: int) -> Parts:
    """Return the covariates of n comparisons (2n entries, winner before loser).

    A difference is stored on the winner's side.
    """
    table = np.zeros((2 * n, len(covariates)))
    for k, (name, values) in enumerate(covariates.items()):
        sides = values if isinstance(values, tuple) and len(values) == 2 else (values,)
        for side, column in enumerate(sides):
            table[side::2, k] = as_numbers(column, n, f"covariate {shorten(name)!r}")
    freeze(table)
    return {"covariate": table, "covariates": tuple(covariates)}


def points_of_pairs(points: tuple[object, object], n: int) -> Floats:
    """Return the points of n comparisons by entry (winner before loser), NaN where they are unknown."""
    if not isinstance(points, tuple) or len(points) != 2:
        raise InputError(arg("points") + " must be a pair of columns: the points of the winner and of the loser.")
    by_entry = np.empty(2 * n)
    for side, column in enumerate(points):
        try:
            values = np.asarray(column, np.float64)
        except (TypeError, ValueError):
            raise InputError("A value of " + arg("points") + " is not a number: give NaN for unknown points.") from None
        if values.shape != (n,):
            raise InputError(f"A column of points has {values.size} values for {n} rows: give one per row.")
        by_entry[side::2] = values
    freeze(by_entry)
    return by_entry


def sorted_by_time(parts: Parts, time: object, n: int) -> Parts:
    """Return ballots in chronological order; ballots with equal times keep their order."""
    moment, is_dated = as_times(time)
    if moment.shape != (n,):
        raise InputError(f"The time column has {moment.size} values for {n} rows: give one per row.")
    if not np.isfinite(moment).all():
        row = int(np.flatnonzero(~np.isfinite(moment))[0])
        raise InputError(
            f"The time in row {row + 1} is missing or invalid: give a number or a date such as 2024-05-31."
        )
    return in_order_of_time(parts | {"time": moment, "is_dated": is_dated})


def in_order_of_time(parts: Parts) -> Parts:
    """Return ballots sorted by time, with items renumbered in order of appearance."""
    order = np.argsort(parts["time"], kind="stable")
    if "indptr" in parts:
        indptr = parts["indptr"]
        entries = spans(indptr[order], indptr[order + 1])
        parts = parts | {"indptr": pointer(np.diff(indptr)[order])}
    else:  # pairs
        entries = (2 * order[:, None] + np.arange(2)).reshape(-1)
    item, items = renumber(parts["item"][entries], parts["items"])
    index_of_column = dict.fromkeys(("tier", "value", "shown", "team", "covariate", "points"), entries)
    index_of_column |= {"weight": order, "agent": order, "instance": order, "time": order, "open": order}
    moved = {name: parts[name][index] for name, index in index_of_column.items() if parts.get(name) is not None}
    return parts | moved | {"item": item, "items": items}


def pairs_of_codes(
    item: Int32s,
    vocabulary: Vocabulary,
    /,
    *,
    tie: object = None,
    winner_first: object = None,
    **columns: object,
) -> Parts:
    """Return comparisons as parts; ``item`` alternates the codes of winners and losers."""
    n = len(item) // 2
    tier = np.zeros(2 * n, np.int32)
    tier[1::2] = 1 if tie is None else ~as_flags(tie, n, "tie")
    parts = _pair_parts(vocabulary, item, tier)
    if winner_first is not None:
        parts["shown"] = np.empty(2 * n, np.int32)
        parts["shown"][1::2] = as_flags(winner_first, n, "winner_first")
        parts["shown"][0::2] = 1 - parts["shown"][1::2]
        freeze(parts["shown"])
    parts.update(ballot_columns(n, **columns))
    return parts


def tally_pairs(winner: object, loser: object, *, weight: object = None, tie: object = None) -> Parts | None:
    """Count equal comparisons: one ballot per pair of items and outcome, weighted by its count.

    None if that would not save memory (more pairs of items than comparisons) or if there are weights of zero.
    """
    if all(
        isinstance(column, np.ndarray) and column.dtype.kind in "iu" and column.ndim == 1 for column in (winner, loser)
    ):
        win, lose = (_as_signed(column) for column in (winner, loser))  # type: ignore[arg-type]
        vocabulary = None
        low, high = (int(min(win.min(), lose.min())), int(max(win.max(), lose.max()))) if len(win) else (0, 0)
    else:
        (win, lose), vocabulary = encode_together([winner, loser], "item")
        low, high = 0, len(vocabulary) - 1
    n, span = _same_rows(win, lose), high - low + 1
    if not 0 < span * span <= max(8 * n, 1 << 16) or (
        weight is not None and not (as_numbers(weight, n, "weight") > 0).all()
    ):
        return None
    flags = np.empty(0, np.uint8) if tie is None else as_flags(tie, n, "tie").astype(np.uint8)
    weights = np.empty(0) if weight is None else as_numbers(weight, n, "weight")
    code_a, code_b, is_tie, total, first = kernels.tally_votes(win, lose, flags, weights, low, span)
    if (code_a == code_b).any():
        return None  # an item against itself: the container says which ballot
    if vocabulary is None:
        used = np.flatnonzero(first >= 0)
        appearance = used[np.argsort(first[used])]
        code = np.full(span, -1, np.int32)
        code[appearance] = np.arange(len(appearance), dtype=np.int32)
        code_a, code_b = code[code_a], code[code_b]
        vocabulary = Vocabulary.lazy(len(appearance), lambda: [str(low + offset) for offset in appearance.tolist()])
    item, tier = np.empty(2 * len(code_a), np.int32), np.zeros(2 * len(code_a), np.int32)
    item[0::2], item[1::2] = code_a, code_b
    tier[1::2] = 1 - is_tie
    return {**_pair_parts(vocabulary, item, tier), "weight": total, "is_merged": True}


def _pair_parts(vocabulary: Vocabulary, item: Int32s, tier: Int32s) -> Parts:
    freeze(item, tier)
    return {"items": vocabulary, "item": item, "tier": tier, "form": "pairs"}


def _same_rows(winner: AnyArray, loser: AnyArray) -> int:
    """Return the number of comparisons; reject columns of different lengths."""
    if len(winner) != len(loser):
        raise InputError(
            f"There are {len(winner)} winners and {len(loser)} losers: give two columns of the same length."
        )
    return len(winner)


def _as_signed(column: AnyArray) -> AnyArray:
    return np.ascontiguousarray(column, np.int32 if column.dtype == np.int32 else np.int64)


def gather_rows(item: object, value: object, *, scale: str, **columns: object) -> Parts:
    """Return the ballots of ``gather_numbered_rows`` without the row of each entry."""
    return gather_numbered_rows(item, value, scale=scale, **columns)[0]


def gather_numbered_rows(
    item: object,
    value: object,
    *,
    scale: str,
    agent: object = None,
    instance: object = None,
    weight: object = None,
    level: object = None,
) -> tuple[Parts, Int64s]:
    """Return ballots from the long form: one row per (agent, instance, item) with a rank (1 is best) or a rating.

    On the scale "nominal", values are codes of classes, which do not order the items.
    ``level`` orders the items if the value does not (a TREC run is ordered by its rank column and has scores as
    values). The row of each entry is also returned.
    """
    codes, vocabulary = encode(item, "item")
    n = len(codes)
    values = as_numbers(value, n, scale)
    agents = instances = None
    instance_codes = agent_codes = np.empty(0, np.int32)
    if instance is not None:
        instance_codes, instances = _same_length(encode(instance, "instance"), n, "instance")
    if agent is not None:
        agent_codes, agents = _same_length(encode(agent, "agent"), n, "agent")
    sort_by = values if level is None else as_numbers(level, n, "rank")
    if level is None and scale != "rank":
        sort_by = -values if scale == "rating" else np.zeros(n)
    order, indptr, tier = kernels.group_rows(instance_codes, agent_codes, sort_by)
    if len(order):
        codes, values = codes[order], values[order]
    if len(order) or _is_new(values, value):
        freeze(values)  # so that the container takes them without a copy
    first = indptr[:-1] if not len(order) else order[indptr[:-1]]
    freeze(indptr, codes, tier)
    parts: Parts = {
        "items": vocabulary,
        "indptr": indptr,
        "item": codes,
        "tier": tier,
        "value": values,
        "scale": scale,
        "form": None if level is None else "rankings",
        "agents": agents,
        "instances": instances,
        "agent": None if agents is None else agent_codes[first],
        "instance": None if instances is None else instance_codes[first],
    }
    if weight is not None:
        parts["weight"] = _weight_of_ballots(as_numbers(weight, n, "weight"), order, indptr)
    return parts, order if len(order) else np.arange(n)


def gather_answers(item: object, answer: object, **columns: object) -> Parts:
    """Return ballots of nominal answers: one row per (agent, instance, item) with the class that the agent gave."""
    coded = encode(item, "item")
    codes, classes = _same_length(encode(answer, "answer"), len(coded[0]), "answer")
    return gather_rows(coded, codes.astype(np.float64), scale="nominal", **columns) | {"classes": classes}


def with_candidates(parts: Parts, item: Coded, instance: Coded | None) -> Parts:
    """Return ballots with additional candidates: ``item`` in ``instance``, row by row."""
    (_, item_code), items = join_vocabularies([parts["items"], item[1]])  # known codes stay
    if instance is None:
        return parts | {"items": items}
    (_, instance_code), instances = join_vocabularies([parts["instances"], instance[1]])
    instance_of_entry = np.concatenate(
        [np.repeat(parts["instance"], np.diff(parts["indptr"])), instance_code[instance[0]]]
    )
    item_of_entry = np.concatenate([parts["item"], item_code[item[0]]])
    _, first = kernels.encode_ints(instance_of_entry.astype(np.int64) * len(items) + item_of_entry)
    order = first[np.argsort(instance_of_entry[first], kind="stable")]
    slots = {
        "slot_item": item_of_entry[order],
        "slot_ptr": np.searchsorted(instance_of_entry[order], np.arange(len(instances) + 1)),
    }
    return parts | {"items": items, "instances": instances, **slots}


def gather_matrix(
    matrix: object,
    *,
    items: Iterable[object] | None,
    agents: Iterable[object] | None,
    weight: object = None,
    instance: object = None,
    scale: str = "rank",
) -> Parts:
    """Return ballots from a matrix (items x agents) of ranks (1 is best) or ratings (higher is better); NaN is missing.

    If agents belong to different instances, the candidates of an instance are the items that its agents rank or rate.
    """
    values = np.asarray(matrix, np.float64)
    if values.ndim != 2:
        raise InputError(f"A {scale} matrix has two dimensions (items x agents), not {values.ndim}: reshape it.")
    n_items, n_agents = values.shape
    if np.isinf(values).any():
        raise InputError(f"A {scale} is infinite: use NaN for missing values.")
    _, vocabulary = _same_length(encode(range(n_items) if items is None else items), n_items, "item")
    if len(vocabulary) != n_items:
        raise InputError(f"The {n_items} item labels are not unique: give each row a different label.")
    column, row = np.nonzero(~np.isnan(values.T))
    parts = gather_rows((row, vocabulary), values[row, column], scale=scale, agent=(column, _unnamed(n_agents)))
    if instance is None:
        parts |= {"slot_ptr": np.array([0, n_items]), "slot_item": np.arange(n_items, dtype=np.int32)}
    return _named_ballots(parts, n_agents, agent=agents, weight=weight, instance=instance)


def gather_questions(
    matrix: Floats, items: Sequence[str], questions: Sequence[str], *, scale: str, **columns: object
) -> Parts:
    """Return ballots from a matrix (agents x columns); a column is an item of a question, and NaN is a missing answer.

    A question is an instance whose candidates are the items of its columns.
    """
    item, vocabulary = encode(items)
    question, instances = encode(questions, "instance")
    row, column = np.nonzero(~np.isnan(matrix))
    parts = gather_rows(
        (item[column], vocabulary), matrix[row, column], scale=scale,
        agent=(row, _unnamed(len(matrix))), instance=(question[column], instances),
    )  # fmt: skip
    by_question = np.argsort(question, kind="stable")
    sizes = np.bincount(question, minlength=len(instances))
    parts |= {"slot_ptr": np.concatenate([[0], np.cumsum(sizes)]), "slot_item": item[by_question]}
    return _named_ballots(parts, len(matrix), **columns)


def _unnamed(count: int) -> Vocabulary:
    """Return a vocabulary of agents without names, so that agents with equal names still cast separate ballots."""
    return Vocabulary.lazy(count, list)


def _named_ballots(
    parts: Parts, n_agents: int, agent: Any = None, weight: object = None, instance: object = None
) -> Parts:
    """Replace the numbers of agents by their names, and give each ballot the weight and instance of its agent."""
    agent_of_ballot, parts["agent"], parts["agents"] = parts["agent"], None, None
    for name, labels in (("agent", agent), ("instance", instance)):
        if labels is not None:
            codes, parts[f"{name}s"] = _same_length(encode(labels, name), n_agents, name)
            parts[name] = codes[agent_of_ballot]
    if weight is not None:
        parts["weight"] = as_numbers(weight, n_agents, "weight")[agent_of_ballot]
    return parts


def as_numbers(column: object, n: int, what: str) -> Floats:
    """Return a column as finite float64 values, or raise an error with the row that is not a number."""
    if column is None:
        raise InputError(f"The {what} column is missing: give one number per row.")
    if speaks_arrow(column):
        kind, parts = read_arrow(column, what)
        column = np.asarray(parts) if kind == "number" else np.asarray(_texts(parts), object)
    if isinstance(column, list):
        values, bad = kernels.list_numbers(column)
        if bad < 0:
            column = values
    try:
        values = np.ascontiguousarray(column, np.float64)
    except (TypeError, ValueError):
        values = np.array([_number(value, row, what) for row, value in enumerate(column)])  # type: ignore[arg-type, var-annotated]
    if values.ndim != 1 or len(values) != n:
        raise InputError(f"The {what} column has {values.size} values for {n} rows: give one per row.")
    if what == "weight" and not are_weights(values) and (is_bad := bad_weights(values)).any():
        row = int(is_bad.argmax())
        raise InputError(f"The weight in row {row + 1} is {values[row]:g}: every weight must be {WEIGHTS}.")
    if not are_numbers(values):
        row = int(np.flatnonzero(bad_numbers(values))[0])
        raise InputError(f"The {what} in row {row + 1} is {values[row]:g}: every {what} must be {NUMBERS}.")
    return values


def _is_new(values: Floats, column: object) -> bool:
    """Return whether the numbers converted from a column are a copy, not a view of the user's memory."""
    if isinstance(column, np.ndarray):
        return not np.may_share_memory(values, column)
    return isinstance(column, list) or speaks_arrow(column)


def as_flags(column: object, n: int, what: str) -> Bools:
    """Return a column of yes/no answers as booleans."""
    values = np.asarray(column)
    if values.dtype != bool:
        numbers = as_numbers(column, n, what)
        if not np.isin(numbers, (0.0, 1.0)).all():
            row = int(np.flatnonzero(~np.isin(numbers, (0.0, 1.0)))[0])
            raise InputError(f"The {what} in row {row + 1} is {numbers[row]:g}: use true/false or 1/0.")
        values = numbers == 1.0
    if values.shape != (n,):
        raise InputError(f"The {what} column has {values.size} values for {n} rows: give one per row.")
    return values


def _number(value: object, row: int, what: str) -> float:
    """Return a cell as a float, or raise an error with its row."""
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        shown = "missing" if value is None else shorten(repr(value))
        raise InputError(f"The {what} in row {row + 1} is {shown}: every {what} must be a number.") from None


def _texts(parts: Any) -> list[str | None]:
    """Return the texts of a column of ``kernels.read_stream`` (codes, offsets, UTF-8 data); None for missing values."""
    codes, offsets, data, _ = parts
    raw, ends = data.tobytes(), offsets.tolist()
    labels = [raw[a:b].decode("utf-8", "replace") for a, b in pairwise(ends)]
    return [None if code < 0 else labels[code] for code in codes.tolist()]


def ballot_columns(n: int, weight: object = None, agent: object = None, instance: object = None) -> Parts:
    """Return the columns that apply to whole ballots, validated and encoded."""
    parts: Parts = {}
    if weight is not None:
        parts["weight"] = as_numbers(weight, n, "weight")
    if agent is not None:
        parts["agent"], parts["agents"] = _same_length(encode(agent, "agent"), n, "agent")
    if instance is not None:
        parts["instance"], parts["instances"] = _same_length(encode(instance, "instance"), n, "instance")
    return parts


def _same_length(coded: tuple[Int32s, Vocabulary], n: int, what: str) -> tuple[Int32s, Vocabulary]:
    if len(coded[0]) != n:
        raise InputError(f"There are {len(coded[0])} {what} labels for {n} rows: give one per row.")
    return coded


def _weight_of_ballots(weights: Floats, order: Int64s, indptr: Int64s) -> Floats:
    """Return the weight of each ballot; reject rows of one ballot with different weights."""
    by_entry = weights[order] if len(order) else weights
    per_ballot = by_entry[indptr[:-1]]
    differs = by_entry != np.repeat(per_ballot, np.diff(indptr))
    if differs.any():
        entry = int(np.flatnonzero(differs)[0])
        row = int(order[entry]) if len(order) else entry
        raise InputError(
            f"The weight in row {row + 1} differs from that of the other rows of its ballot: give all rows of a ballot "
            "the same weight."
        )
    return per_ballot


def number_teams(indptr: Int64s, team: AnyArray) -> Int32s:
    """Return the team number of each entry within its ballot, from 0 in order of appearance."""
    low = int(team.min(initial=0))
    span = int(team.max(initial=0)) - low + 1
    group, _ = kernels.encode_ints(segment_index(indptr) * span + (team.astype(np.int64) - low))
    return (group - group[first_of(indptr)]).astype(np.int32)


def compact(codes: AnyArray, size: int) -> tuple[Int64s, Int32s]:
    """Return the codes in use (ascending) and the new code of each old one."""
    present = np.zeros(size, bool)
    present[codes] = True
    used = np.flatnonzero(present)
    new = np.full(size, -1, np.int32)
    new[used] = np.arange(len(used), dtype=np.int32)
    return used, new
