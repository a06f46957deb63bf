"""Bundles of arrays: NamedTuples that both back ends accept and return.

A kernel with many arrays takes a bundle, and one with more than four results returns a bundle, so that no caller
depends on positions. In C++ a bundle is a ``std::tuple`` of arrays in the same order (``BallotArrays`` in ballots.hpp),
and results are built by ``named("Bundle", …)``. The rules of ``checked`` treat the fields as arguments of the kernel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from concordant.types import AnyArray, Bytes, Floats, Int32s, Int64s


class Ballots(NamedTuple):
    """All ballots over slots; ``views.ballots`` makes it from preferences.

    Ballot b belongs to instance q = ``instance_of_ballot[b]``, whose candidates are the slots ``slot_ptr[q]:slot_ptr[q
    + 1]``; it owns the entries ``indptr[b]:indptr[b + 1]``, sorted by tier (0 is best). If ``is_open``, its last tier
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

    Its slots are ``slot_ptr[g]:slot_ptr[g + 1]``; entries are in order of ascending ``level``, equal levels are ties.
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
    """The metric whose changes weight the pairs, by its number in ``codes``, and its cutoff (0: none).

    ``largest`` is the largest label of the scale, used only by ERR.
    """

    target: int
    cutoff: int
    largest: float


class Subsets(NamedTuple):
    """Sets of objects: chain c holds a subset of the positions ``begin[c]:end[c]``, with one byte per position."""

    begin: Int64s
    end: Int64s
    member: Bytes


class DuelRows(NamedTuple):
    """Compared pairs of slots: how often the first won, lost and tied; ``order``: 1 if it was shown first, or empty."""

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
    """Ballots from lists of labels, best first; ``bad`` is -1, or the code of an error."""

    code: Int32s
    labels: list[str]
    indptr: Int64s
    tier: Int32s
    bad: int


class LetorRows(NamedTuple):
    """Rows of LETOR text; queries and documents are spans of the text (-1: absent), ``ptr`` delimits the features."""

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
    line), of ``bad`` (line, kind); orders are delimited by ``ptr``.
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
    """The log-likelihood of pairwise comparisons at given scores: value, gradient by slot, and derivatives by row.

    ``diagonal`` is the diagonal of the negative Hessian by slot, ``side`` its column for the tie parameter. ``slope``
    and ``curve`` are the first and the negative second derivative in the score difference (``slope`` is empty if
    unused), ``cross`` is the negative mixed derivative in score difference and tie parameter (empty without one);
    ``slope_x`` and ``curve_x`` are the derivatives in the tie parameter summed over all rows. ``bend`` is the part of
    ``curve_x`` due to the parametrisation of ties, and may be negative.
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
    """Ballots as stages; ``mark`` is what starts at an entry: 1 a chosen tier, 2 the rest, 0 nothing."""

    indptr: Int64s
    slot: Int32s
    mark: Bytes
    weight: Floats


class Belief(NamedTuple):
    """A Gamma prior on worths or a Gaussian one on scores; its strength for scores and other parameters by instance."""

    ridge: Floats
    ridge_extra: Floats
    is_gamma: bool


class WarmStart(NamedTuple):
    """A warm start: scores by slot, position bias and tie parameter by instance; empty for the default start."""

    start: Floats = np.empty(0)
    start_advantage: Floats = np.empty(0)
    start_tie: Floats = np.empty(0)


class Fitted(NamedTuple):
    """The result of a fit: scores by slot; by instance the other parameters and convergence information.

    ``log_det`` is the log-determinant of the negative Hessian without the direction of equal scores, ``slack`` the
    largest absolute derivative at the end. ``is_definite`` is whether the unmodified Hessian is definite. Covariances
    are a block per instance, of scores that sum to zero; empty if they were not requested.
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
    """The distinct adherences of every instance (delimited by ``group_ptr``), each with its share of the counts."""

    group_ptr: Int64s
    theta: Floats
    share: Floats


class MPMWarmStart(NamedTuple):
    """A warm start: scores and log-variances by slot."""

    start: Floats
    start_log: Floats


class MPMFit(NamedTuple):
    """Scores and log-variances (empty if all are equal) by slot; log Z and its derivative in the adherence by group.

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

    ``other`` is the row of the other side that an entry refers to, ``entry`` the index of the entry in ``Terms``.
    """

    ptr: Int64s
    other: Int32s
    entry: Int64s


class Terms(NamedTuple):
    """The quadratic loss of every entry in its score f: curve f² / 2 - target f; ``curve`` may be a single number."""

    target: Floats
    curve: Floats


class StepsFrom(NamedTuple):
    """Starting rows, and the number of steps."""

    start: AnyArray
    max_steps: int


class Rows(NamedTuple):
    """Fitted rows of one side: factors and bias, with their uncertainty.

    ``spread`` is the covariance of a row (its lower triangle, row by row), its variances, or empty. By row: ``doubt``
    is the sum of curvature times the variance of the score over its entries, ``log_det`` the log-determinant of its
    precision.
    """

    row: AnyArray
    spread: AnyArray
    doubt: Floats
    log_det: Floats


class GlickoRun(NamedTuple):
    """Glicko-2 ratings after the last period of each slot (``seen``), and the win probability of each first slot.

    Rows have the mean and the standard error of every slot that played in a period, at its end.
    """

    mean: Floats
    sd: Floats
    volatility: Floats
    seen: Int64s
    chance: Floats
    row_slot: Int64s
    row_period: Int64s
    row_mean: Floats
    row_sd: Floats


class AnswersByItem(NamedTuple):
    """Answers of annotators by item: item s owns ``ptr[s]:ptr[s + 1]``; ``known`` is its class, or -1."""

    ptr: Int64s
    agent: Int64s
    answer: Int64s
    weight: Floats
    known: Int64s
