"""Arrays that go through the kernels together: NamedTuples that both back ends take and give.

A kernel with many arrays takes them in a bundle, and one with more than four results returns one, so that no call
counts positions. In C++ a bundle is a ``std::tuple`` of arrays in the same order (``BallotArrays`` in ballots.hpp), and
results are made by ``named("Bundle", …)``. The rules of ``checked`` see the fields like arguments of the kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s


class Ballots(NamedTuple):
    """All ballots over slots; ``views.ballots`` makes it from preferences.

    Ballot b belongs to instance ``instance_of_ballot[b]``, whose candidates are the slots from ``slot_ptr`` of it to
    the next; it owns the entries ``indptr[b]:indptr[b + 1]``, sorted by tier (0 is best). If ``is_open``, its last tier
    means "all others, in unknown order".
    """

    slot_ptr: Int64s
    instance_of_ballot: Int32s
    indptr: Int64s
    entry_slot: Int64s
    tier: Int32s
    weight: Floats
    is_open: Bytes


class PairLists(NamedTuple):
    """Groups of ballots whose pairwise matrices add up: group g owns ballots ``ballot_ptr[g]:ballot_ptr[g + 1]``.

    Its slots are those from ``slot_ptr[g]`` to the next; entries stand by rising ``level``, equal levels are ties.
    """

    slot_ptr: Int64s
    ballot_ptr: Int64s
    indptr: Int64s
    slot: Int64s
    level: Floats
    weight: Floats


class LabelledQueries(NamedTuple):
    """Labelled objects by query: positions ``ptr[q]:ptr[q + 1]`` in order of decreasing label, tier 0 is the best.

    ``row`` breaks ties of scores; ``weight`` is per query.
    """

    ptr: Int64s
    tier: Int32s
    label: Floats
    row: Int64s
    weight: Floats


class LambdaGoal(NamedTuple):
    """The metric whose changes weigh pairs, by its number in ``codes``, and how many places count (0: all).

    ``largest`` is the largest label of the scale, which only ERR looks at.
    """

    target: int
    cutoff: int
    largest: float


class Subsets(NamedTuple):
    """Sets of objects: chain c holds one of the positions ``begin[c]:end[c]``, as bytes that follow one another."""

    begin: Int64s
    end: Int64s
    member: Bytes


class DuelRows(NamedTuple):
    """Pairs of slots that met: how often the first won, lost and tied; ``order``: 1 if it was shown first, or empty."""

    first: Int32s
    second: Int32s
    won: Floats
    lost: Floats
    tied: Floats
    order: Floats = np.empty(0)


class Tally(NamedTuple):
    """Votes counted by pair: winner and loser (numbered from the lowest label), whether they tied, the weight.

    ``first[v]`` is where label v first appears: 2 x vote, + 1 for the loser's column; -1 if it never does.
    """

    winner: Int32s
    loser: Int32s
    is_tie: Bytes
    weight: Floats
    first: Int64s


class LabelLists(NamedTuple):
    """Ballots from lists of labels, best first; ``bad`` is -1, or says what was wrong."""

    code: Int32s
    labels: list[str]
    indptr: Int64s
    tier: Int32s
    bad: int


class LetorRows(NamedTuple):
    """Rows of LETOR text; queries and documents are spans of the text (-1: absent), features cut by ``ptr``."""

    label: Floats
    query_start: Int64s
    query_end: Int64s
    document_start: Int64s
    document_end: Int64s
    ptr: Int64s
    feature: Int32s
    value: Floats
    line: Int64s
    bad_line: Int64s
    bad_kind: Int32s


class PrefLibOrders(NamedTuple):
    """PrefLib text; rows of ``heads`` are (start, end), of ``names`` (number, start, end), of ``orders`` (count, tiers,
    line), of ``bad`` (line, kind); orders are cut by ``ptr``.
    """

    heads: Int64s
    names: Int64s
    orders: Int64s
    ptr: Int64s
    item: Int32s
    tier: Int32s
    bad: Int64s
    summary: Int64s


class DuelTerms(NamedTuple):
    """The log-likelihood of duels at some scores: its value, its gradient by slot, and by row its derivatives.

    ``diagonal`` is that of minus the second derivatives by slot, ``side`` their column of the tie parameter. ``slope``
    and ``curve`` are the first and minus the second derivative in the lead of the first item (no ``slope`` where nobody
    needs it), ``cross`` minus the mixed one in lead and tie parameter (empty without one); ``slope_x`` and ``curve_x``
    are those of the tie parameter over all rows. ``bend`` of it is due to how the model writes its tie parameter, and
    may be negative.
    """

    value: float
    gradient: Floats
    diagonal: Floats
    side: Floats
    slope: Floats
    curve: Floats
    cross: Floats
    slope_x: float
    curve_x: float
    bend: float


class StageRows(NamedTuple):
    """Ballots as stages; ``mark`` says what starts at an entry: 1 a tier that is chosen, 2 the rest, 0 nothing."""

    indptr: Int64s
    slot: Int32s
    mark: Bytes
    weight: Floats


class Belief(NamedTuple):
    """The prior by instance: its strength on scores and on other parameters; Gamma on worths, or normal on scores."""

    ridge: Floats
    ridge_extra: Floats
    is_gamma: bool


class WarmStart(NamedTuple):
    """Where a search begins: scores by slot, advantage and tie parameter by instance; empty for the usual start."""

    start: Floats = np.empty(0)
    start_advantage: Floats = np.empty(0)
    start_tie: Floats = np.empty(0)


class Fitted(NamedTuple):
    """Scores by slot, and by instance the other parameters and how the search ended.

    ``log_det`` is the log-determinant of minus the second derivatives without the direction "all scores up by the
    same", ``slack`` the largest derivative left. ``is_definite`` says whether the second derivatives are definite as
    they are. Covariances are a block per instance, of scores that sum to zero; empty where they were not asked for.
    """

    score: Floats
    advantage: Floats
    tie: Floats
    value: Floats
    log_prior: Floats
    log_det: Floats
    slack: Floats
    iterations: Int32s
    is_definite: Bytes
    covariance: Floats
    extra_variance: Floats


class Adherences(NamedTuple):
    """The distinct adherences of every instance (``group_ptr`` cuts them), each with its share of the counts."""

    group_ptr: Int64s
    theta: Floats
    share: Floats


class MPMWarmStart(NamedTuple):
    """Where a search for scores and log-variances begins, by slot."""

    start: Floats
    start_log: Floats


class MPMFit(NamedTuple):
    """Scores and log-variances (none where they are equal) by slot; log Z and its slope in the adherence by group.

    By instance: the norm of the gradient at the end, relative to that of the data at the start, and the steps taken.
    """

    score: Floats
    log_variance: Floats
    log_z: Floats
    slope: Floats
    gradient: Floats
    iterations: Int64s


class Side(NamedTuple):
    """The rows of one side of a factorisation: row r owns ``ptr[r]:ptr[r + 1]`` of the other two.

    ``other`` is the row of the other side an entry pairs it with, ``entry`` where the entry stands in ``Terms``.
    """

    ptr: Int64s
    other: Int32s
    entry: Int64s


class Terms(NamedTuple):
    """The quadratic of every entry in its score f, curve f² / 2 - target f; ``curve`` may be one number for all."""

    target: Floats
    curve: Floats


class StepsFrom(NamedTuple):
    """Rows to start from, and how many steps to take."""

    start: AnyArray
    max_steps: int


class Rows(NamedTuple):
    """Rows of one side that fit the other: factors and bias, and how uncertain they are.

    ``spread`` is the covariance of a row (its lower triangle, row by row), its variances, or nothing. By row: ``doubt``
    is the sum of curvature times the variance of the score over its entries, ``log_det`` that of its precision.
    """

    row: AnyArray
    spread: AnyArray
    doubt: Floats
    log_det: Floats
