"""Numbers by which Python, the compiled kernels and their NumPy twins name the same choice.

A retrieval metric reaches the kernels as one row ``(measure, cutoff, empty, first, second)`` of a float64
table: ``cutoff`` 0 means the whole list, ``empty`` is the value of a query without anything relevant, and the
last two depend on the measure (see :class:`Measure`). The same numbers stand in retrieval.cpp and distance.cpp.
"""

from __future__ import annotations

from enum import IntEnum


class Measure(IntEnum):
    """What is measured; the last two columns of the row are named beside it."""

    NDCG = 0  # discount (0: log2(i+1), 1: LETOR), gain (0: 2^label-1, 1: label)
    PRECISION = 1  # threshold, unused; so are the others
    AVERAGE_PRECISION = 2
    EXPECTED_RECIPROCAL_RANK = 3  # largest label, unused
    RECIPROCAL_RANK = 4
    RECALL = 5
    HIT = 6
    R_PRECISION = 7


class Missing(IntEnum):
    """What a distance makes of items that one ranking leaves out."""

    IGNORE = 0  # only items both rank
    LAST = 1  # one last bucket
    LAST_FREE = 2  # one last bucket whose inner pairs cost nothing


class Lambda(IntEnum):
    """The metric whose change weights the pairs of LambdaRank, as in lambdas.cpp."""

    NDCG = 0
    AP = 1
    ERR = 2


class Duel(IntEnum):
    """The model of two items that meet, as in duels.hpp: what a lead in score does to the chances."""

    BRADLEY_TERRY = 0
    THURSTONE = 1
    DAVIDSON = 2
    RAO_KUPPER = 3
