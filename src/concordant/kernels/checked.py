"""Compiled kernels with argument checks before every call (``CONCORDANT_KERNELS=checked``, for tests).

Kernels do not validate their arguments. This module first checks each call against ``RULES``: pointer arrays (named
``…ptr``) start at 0, are non-decreasing and end at the length of the arrays they delimit; codes are within the range
that they index; parallel arrays have the same length. A rule names arguments (or fields of bundles) and applies to
every kernel that has them. ``OWN`` adds or replaces rules for single kernels. Before any array is read or written, a
violated rule raises a ``KernelError`` that names the kernel and the rule.

====================  ====================================================================================
``p cuts a b``        p is a pointer array; a and b have as many rows as it ends at
``p lines a``         p is a pointer array; a has as many columns as it ends at
``p counts a b``      a and b have one row per segment of p
``p squares a b``     a and b hold a square matrix per segment of p; ``triangles`` and ``staircases`` its parts
``p beside q``        two pointer arrays with the same number of segments; ``p over q``: p cuts the segments of q
``p fits a``          a has more rows than the longest segment of p, of spans from ``begin`` to ``end``
``a below n|m``       0 <= a < n: a number, the end of a pointer array, or the rows of an array; the first present
``a names p``         0 <= a < segments of p
``a local p``         the columns of a, cut by p, hold numbers below the size of their segment
``a inside p by q``   row k of a lies in segment s of p, where k lies in segment s of q
``a inside p of i``   the same, where an entry has the segment i[b] of its ballot b, delimited by indptr
``a inside p over q`` the same, where q delimits the ballots of a segment
``a like b c``        the same number of rows; ``across``: as many as a has columns
``a spans d``         pairs (a, end): 0 <= a <= end <= rows of d; ``chains``: their lengths add up to the rows of d
``a columns b``       -1 <= a < columns of b
``a leads f``         where f is not negative, 0 <= a < rows of f
``p steps a``         a has a row for every step between adjacent entries of the longest segment of p
``p stages a``        a has a row per tier of every segment of p
``p sheets a``        a has a column per entry of the square matrices of p, or none
``a grades c``        0 <= row f of a <= c[f] + 1
``a window n``        n <= a < n + span
``a packs c``         c has a column per entry of a lower triangle over the columns of a, or none
``a widens c``        c has as many columns as a, or none
``a repeats c``       c has as many rows as a, or one that applies to all
``a is free``         its rows, or its values, may be anything: the kernel only compares or hashes them
====================  ====================================================================================

A name with ``?`` may be empty instead. Columns of matrices are compared by the kernels themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Set
from functools import wraps
from types import ModuleType
from typing import Any

import numpy as np

from concordant.types import AnyArray, Int64s

RULES = (
    *(
        "indptr cuts item entry_slot tier level slot mark draw",
        "indptr counts instance_of_ballot weight? is_open?",
    ),
    "slot_ptr cuts slot_item place fallback score start? start_log?",
    "slot_ptr squares before covariance strength opposition margin wins ties matrix is_above",
    "slot_ptr counts critical prior ridge ridge_extra start_advantage? start_tie?",
    "ptr cuts score scores tier label vote order sequence row direction code start ranked_label",
    *("ptr squares before preference chance", "before like tied?", "ptr counts weight?"),
    *("rank_ptr cuts ranked_item", "label_ptr cuts label_item label_value", "rank_ptr beside label_ptr"),
    *(
        "judged_ptr cuts judged_label",
        "ptr beside judged_ptr",
        "group_ptr cuts theta share",
        "slot_ptr beside group_ptr",
    ),
    "first like second won lost tied weight order?",
    *("first below n_slots|size|x|score", "second below n_slots|size|x|score"),
    *("item below n_items", "slot_item below n_items", "ranked_item below n_items", "label_item below n_items"),
    *("instance_of_ballot below n_instances", "instance_of_ballot names slot_ptr"),
    *("entry_slot below slot_ptr|n_slots|slots|score", "entry_slot inside slot_ptr of instance_of_ballot"),
    *("slot below worth", "place local slot_ptr", "score like variance"),
    *("order local ptr", "sequence local ptr", "start spans data", "begin spans scores"),
    *("begin chains member uniform", "begin fits log_bias log_factorial", "begin like weight choice"),
    *("better like worse cap multiplier", "better below X|gram", "worse below X|gram", "gram like scores"),
    *("root below feature", "feature like threshold left right value", "feature columns X"),
    *("left leads feature", "right leads feature", "data is free"),
    *(f"{name} is free" for name in ("cuts", "draw", "draws", "fallback", "keys", "table", "tier", "values", "x")),
)
_RIDGE = (
    *("ptr cuts other entry", "other below other_row", "entry below target"),
    *("other_row like other_spread", "other_row across ridge", "target repeats curve"),
)
OWN: dict[str, tuple[str, ...]] = {
    "ability_posterior": (
        *("ptr cuts agent answer weight", "ptr counts known log_ease", "answer below log_share"),
        *("agent below ability", "known columns log_share"),
    ),
    "annotation_posterior": (
        *("ptr cuts agent answer weight", "ptr counts known", "answer below log_share"),
        *("known columns table", "table across log_share", "agent is free"),
    ),
    "ballot_slopes": (
        *("indptr cuts level? shown?", "shown is free"),
        *("slot_ptr counts advantage tie",),
    ),
    "best_stump": ("code like cuts", "code across potential", "code grades cuts"),
    "count_votes": ("item like tier weight?",),
    "elo_stream": ("indptr cuts order?", "indptr counts game_factor?"),
    "expected_ndcg": ("row is free",),
    "extreme_partitions": ("ptr fits log_spread", "ptr stages factor?", "ptr steps shrink"),
    "factor_scores": ("ptr cuts other", "ptr counts row", "other below other_row"),
    "fit_duels": (
        *("duel_ptr cuts first second won lost tied order?", "slot_ptr beside duel_ptr"),
        *("first inside slot_ptr by duel_ptr", "second inside slot_ptr by duel_ptr"),
    ),
    "fit_mpm_scores": ("slot_ptr cuts net start",),
    "fit_mpm_variances": ("pair_ptr cuts net", "slot_ptr triangles net", "slot_ptr beside pair_ptr"),
    "fit_stages": ("slot_ptr beside ballot_ptr", "ballot_ptr over indptr", "slot inside slot_ptr over ballot_ptr"),
    "fuse_lists": ("lists like weight",),
    "glicko_periods": ("first like result period", "period is free"),
    "group_rows": ("values like instance? agent?", "instance is free", "agent is free"),
    "insertion_orders": ("ptr lines sequence", "sequence local ptr"),
    "interval_codes": ("value is free",),
    "join_entries": ("row like slot value", "row below n_rows", "slot below n_slots"),
    "kendall_counts": ("tiers across reference", "tiers columns tiers", "reference columns tiers"),
    "kendall_matrix": ("tiers columns tiers",),
    "label_agreement": ("indptr cuts label",),
    "lambda_descent": ("visits names ptr", "row below X", "X across theta"),
    "lambda_terms": ("row is free",),
    "lehmer_decode": ("code local ptr",),
    "lehmer_encode": ("order columns order",),
    "majority_path": ("slot_ptr cuts start", "start inside slot_ptr by slot_ptr"),
    "matrix_product": ("matrix across x",),
    "mean_partitions": ("ptr stages factor?",),
    "mean_partitions_hessian_product": ("ptr stages factor?",),
    "outer_products": ("ptr cuts slot value", "slot below n_slots"),
    "pair_costs": ("slot_ptr counts unit",),
    "pair_descent_gram": ("order below better",),
    "pair_descent_linear": ("order below better", "X across weight"),
    "pair_factors": ("slot_ptr beside ballot_ptr", "ballot_ptr over indptr", "slot inside slot_ptr over ballot_ptr"),
    "pair_steps": (
        *("agent like better worse", "agent below of_agent"),
        *("better below of_item", "worse below of_item"),
    ),
    "pick_codes": ("ptr staircases votes",),
    "pivot_orders": ("ptr lines priority", "ptr sheets draw"),
    "plain_columns": ("is_wanted is free",),
    "query_ranks": ("row below X", "X is free"),
    "ranking_totals": ("ptr lines tier",),
    "ridge_rows": (*_RIDGE, "other_row packs other_spread"),
    "ridge_steps": (*_RIDGE, "ptr counts start", "other_row widens other_spread"),
    "search_weak_orders": ("tier local ptr",),
    "sign_sums": ("first like root bits", "bits is free"),
    "split_blocks": ("start inside ptr by ptr",),
    "stage_product": ("worth like rate x",),
    "take_blocks": ("ptr squares matrix", "block_ptr cuts item", "item inside ptr by ptr"),
    "tally_votes": ("winner like loser tie? weight?", "winner window low", "loser window low"),
    "worth_terms": ("first like total", "score like balance"),
    "trueskill_stream": ("indptr cuts team?", "team local indptr"),
    "weighted_medians": ("group like value weight", "group below n_groups"),
}


# Verbs whose subject is a pointer array or a table that other arrays go with.
POINTING = {"cuts", "lines", "counts", "squares", "triangles", "staircases", "beside", "over", "fits", "like", "across"}
POINTING |= {"chains", "stages", "sheets", "steps", "repeats", "packs", "widens"}


class KernelError(AssertionError):
    """A kernel was called with arguments that violate a rule: a bug in the caller."""


def install(compiled: ModuleType) -> None:
    """Replace every compiled kernel by a wrapper that checks its arguments."""
    for name, function in list(vars(compiled).items()):
        if not name.startswith("_") and not hasattr(function, "__wrapped__"):
            setattr(compiled, name, verifying(name, function))


def verifying(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the kernel with its rules checked before each call."""
    from concordant.kernels import twins

    signature = inspect.signature(getattr(twins, name))
    rules = rules_of(name, tuple(arguments_of(name)))

    @wraps(function)
    def checked(*args: Any, **named: Any) -> Any:
        """Check pointers and rules, then call the kernel."""
        values: dict[str, Any] = {}
        for argument, value in signature.bind(*args, **named).arguments.items():
            values |= value._asdict() if hasattr(value, "_fields") else {argument: value}
        for argument, value in values.items():
            if argument.endswith("ptr") and (not len(value) or value[0] != 0 or (np.diff(value) < 0).any()):
                raise KernelError(f"{name}: {argument}: the pointers do not start at 0, or decrease")
        for rule in rules:
            if trouble := broken(rule, values):
                raise KernelError(f"{name}: {rule}: {trouble}")
        return function(*args, **named)

    return checked


def arguments_of(name: str) -> dict[str, str]:
    """Return the arguments of a kernel that rules may name, with their types; bundles are replaced by their fields."""
    from concordant.kernels import bundles, twins

    kinds: dict[str, str] = {}
    for argument in inspect.signature(getattr(twins, name)).parameters.values():
        bundle: Any = getattr(bundles, argument.annotation, None)
        fields = bundle.__annotations__ if hasattr(bundle, "_fields") else {argument.name: argument.annotation}
        kinds |= {field: str(getattr(kind, "__forward_arg__", kind)) for field, kind in fields.items()}
    return {argument: kind for argument, kind in kinds.items() if kind != "float"}


def rules_of(name: str, parameters: tuple[str, ...]) -> list[str]:
    """Return the rules of a kernel: its own, and the general rules for all other arguments."""
    own = OWN.get(name, ())
    settled = {word.rstrip("?") for rule in own if rule.split()[1] in POINTING for word in rule.split()[2:]}
    valued = {rule.split()[0] for rule in own if rule.split()[1] not in POINTING}
    free = {rule.split()[0] for rule in own if rule.split()[1] == "is"}
    general = [_fitting(rule, parameters, settled | free, valued) for rule in RULES]
    return [*own, *(rule for rule in general if rule)]


def _fitting(rule: str, parameters: tuple[str, ...], settled: Set[str], valued: Set[str]) -> str | None:
    """Return the part of a general rule that applies to a kernel with these parameters; None if nothing does."""
    subject, verb, *objects = rule.split()
    if subject not in parameters:
        return None
    if verb in POINTING:
        present = [name for name in objects if name.rstrip("?") in parameters and name.rstrip("?") not in settled]
        return f"{subject} {verb} {' '.join(present)}" if present else None
    if subject in valued:
        return None
    if verb == "below":
        bound = next((name for name in objects[0].split("|") if name in parameters), None)
        return f"{subject} below {bound}" if bound else None
    needed = {"inside": objects[::2], "spans": [objects[0], "end"], "is": []}.get(verb, objects)
    return rule if set(needed) <= set(parameters) else None


# ---- one rule on one call ----
def broken(rule: str, given: Mapping[str, Any]) -> str | None:
    """Return how these arguments violate a rule; None if they satisfy it."""
    subject, verb, *objects = rule.split()
    value = given[subject]
    if verb in _LENGTHS:
        return _wrong_length(int(_LENGTHS[verb](value, given)), objects, given)
    if verb in _LIMITS:
        low, high, words = _LIMITS[verb](value, objects, given)
        return None if ((np.asarray(value) >= low) & (np.asarray(value) < high)).all() else f"not all {words}"
    return _OTHERS[verb](value, objects, given)


def _rows(value: Any) -> int:
    return int(value.shape[0]) if hasattr(value, "shape") else len(value)


def _wrong_length(expected: int, objects: list[str], given: Mapping[str, Any]) -> str | None:
    """Return an error if an array does not have the expected number of rows; names with ``?`` may be empty."""
    for name in objects:
        rows = _rows(given[name.rstrip("?")])
        if rows != expected and not (name.endswith("?") and rows == 0):
            return f"{name.rstrip('?')} has {rows} rows, not {expected}"
    return None


def _tiers(pointers: AnyArray, given: Mapping[str, Any]) -> int:
    """Return the total number of tiers of all segments."""
    tier = given["tier"]
    begins = np.append(True, tier[1:] != tier[:-1])[: len(tier)]
    begins[pointers[:-1][np.diff(pointers) > 0]] = True
    return int(begins.sum())


# How many rows the others have, from the subject and all that is given.
_LENGTHS: dict[str, Callable[[AnyArray, Mapping[str, Any]], int]] = {
    "cuts": lambda pointers, _: pointers[-1],
    "counts": lambda pointers, _: len(pointers) - 1,
    "beside": lambda pointers, _: len(pointers),
    "squares": lambda pointers, _: (np.diff(pointers) ** 2).sum(),
    "triangles": lambda pointers, _: (np.diff(pointers) * (np.diff(pointers) - 1) // 2).sum(),
    "staircases": lambda pointers, _: (np.diff(pointers) * (np.diff(pointers) + 1) // 2).sum(),
    "like": lambda value, _: _rows(value),
    "across": lambda table, _: table.shape[-1],
    "chains": lambda begin, given: (given["end"] - begin).sum(),
    "stages": _tiers,
}


def _below(_codes: AnyArray, others: list[str], given: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """Return the limits of codes below a number, the end of a pointer array, or the rows of an array."""
    bound = given[others[0]]
    if others[0].endswith("ptr"):
        bound = int(bound[-1])
    elif not isinstance(bound, (int, np.integer)):
        bound = _rows(bound)
    return 0, bound, f"within 0 … {bound - 1}"


def _names(_codes: AnyArray, others: list[str], given: Mapping[str, Any]) -> tuple[Any, Any, str]:
    segments = len(given[others[0]]) - 1
    return 0, segments, f"within {segments}"


def _columns(_codes: AnyArray, others: list[str], given: Mapping[str, Any]) -> tuple[Any, Any, str]:
    columns = given[others[0]].shape[-1]
    return -1, columns, f"within {columns}"


def _local(codes: AnyArray, others: list[str], given: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """Return the limits of codes that number the items of their segment."""
    size = np.diff(given[others[0]])
    if codes.shape[-1] != size.sum():
        return 1, 0, f"{size.sum()} columns"
    return 0, np.repeat(size, size), "below the size of their segment"


def _inside(codes: AnyArray, others: list[str], given: Mapping[str, Any]) -> tuple[Any, Any, str]:
    """Return the limits of codes that lie in a segment of a pointer array (see "inside" in the table of rules)."""
    pointers, relation, by = given[others[0]], others[1], given[others[2]]
    if relation == "of":
        segment: Int64s = np.repeat(by, np.diff(given["indptr"]))
    else:
        segment_ptr = given["indptr"][by] if relation == "over" else by
        segment = np.repeat(np.arange(len(segment_ptr) - 1), np.diff(segment_ptr))
    if len(segment) != len(codes) or (len(segment) and not 0 <= segment.min() <= segment.max() < len(pointers) - 1):
        return 1, 0, f"of the {len(segment)} rows, or not in a segment"
    return pointers[:-1][segment], pointers[1:][segment], "within their segment"


# Between which bounds the values of the subject lie, from the lower one to before the upper one, and how to say so.
_LIMITS: dict[str, Callable[[AnyArray, list[str], Mapping[str, Any]], tuple[Any, Any, str]]] = {
    "below": _below,
    "names": _names,
    "columns": _columns,
    "local": _local,
    "inside": _inside,
    "grades": lambda _, others, given: (0, np.asarray(given[others[0]])[:, None] + 2, "within their intervals"),
    "window": lambda _, others, given: (given[others[0]], given[others[0]] + given["span"], "in the window"),
}


def _lines(pointers: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    wrong = [name for name in others if given[name].shape[-1] != pointers[-1]]
    return f"{wrong[0]} has {given[wrong[0]].shape[-1]} columns" if wrong else None


def _columns_of(others: list[str], given: Mapping[str, Any], expected: int) -> str | None:
    """Return an error if an array has neither the expected number of columns nor none."""
    columns = given[others[0]].shape[-1]
    return f"{others[0]} has {columns} columns, not {expected}" if columns not in (0, expected) else None


def _packs(table: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    return _columns_of(others, given, table.shape[-1] * (table.shape[-1] + 1) // 2)


def _widens(table: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    return _columns_of(others, given, table.shape[-1])


def _over(pointers: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    below = len(given[others[0]]) - 1
    return f"ends at {pointers[-1]}, not {below}" if pointers[-1] != below else None


def _fits(pointers: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    size = given["end"] - pointers if "end" in given else np.diff(pointers)
    short = [name for name in others if _rows(given[name]) <= size.max(initial=-1)]
    return f"{short[0]} has {_rows(given[short[0]])} rows for {size.max()}" if short else None


def _steps(pointers: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    steps = int(np.diff(pointers).max(initial=1)) - 1
    return None if _rows(given[others[0]]) >= steps else f"{others[0]} has {_rows(given[others[0]])} rows, not {steps}"


def _sheets(pointers: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    columns, entries = given[others[0]].shape[-1], int((np.diff(pointers) ** 2).sum())
    return None if columns in (0, entries) else f"{others[0]} has {columns} columns, not {entries}"


def _leads(child: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    inner = np.asarray(given[others[0]]) >= 0
    return None if ((child >= 0) & (child < len(inner)))[inner].all() else "not all point to a node"


def _spans(start: AnyArray, others: list[str], given: Mapping[str, Any]) -> str | None:
    """Return an error if spans from ``start`` to ``end`` are not ordered or exceed the data."""
    end = given["end"]
    if len(start) != len(end):
        return f"{len(start)} beginnings and {len(end)} ends"
    good = (start >= 0) & (start <= end) & (end <= _rows(given[others[0]]))
    return None if good.all() else "not all within the data"


_OTHERS: dict[str, Callable[[Any, list[str], Mapping[str, Any]], str | None]] = {
    **{check.__name__[1:]: check for check in (_lines, _over, _fits, _steps, _sheets, _leads, _spans, _packs, _widens)},
    "is": lambda *_: None,
    "repeats": lambda value, others, given: (
        None if len(given[others[0]]) == 1 else _wrong_length(len(value), others, given)
    ),
}
