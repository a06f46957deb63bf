"""Integer codes of options, shared by Python, the compiled kernels and the NumPy references.

A retrieval metric reaches the kernels as one row ``(measure, cutoff, empty, first, second)`` of a float64 table:
``cutoff`` 0 means the whole list, ``empty`` is the value of a query without relevant documents, and the last two depend
on the measure (see :class:`Measure`). retrieval.cpp and distance.cpp use the same codes.
"""

from __future__ import annotations

from enum import IntEnum


class Measure(IntEnum):
    """Retrieval measures; comments name the last two columns of the row."""

    NDCG = 0  # discount (0: log2(i+1), 1: LETOR), gain (0: 2^label-1, 1: label)
    PRECISION = 1  # threshold, unused; so are the others
    AVERAGE_PRECISION = 2
    EXPECTED_RECIPROCAL_RANK = 3  # largest label, unused
    RECIPROCAL_RANK = 4
    RECALL = 5
    HIT = 6
    R_PRECISION = 7


class Missing(IntEnum):
    """How a distance treats items that are missing from one ranking."""

    IGNORE = 0  # only items both rank
    LAST = 1  # one last bucket
    LAST_FREE = 2  # one last bucket whose inner pairs cost nothing


class Lambda(IntEnum):
    """The metric whose change weights the pairs in LambdaRank, as in lambdas.cpp."""

    NDCG = 0
    AP = 1
    ERR = 2


class Duel(IntEnum):
    """Models of pairwise comparisons, as in duels.hpp: win probability as a function of the score difference."""

    BRADLEY_TERRY = 0
    THURSTONE = 1
    DAVIDSON = 2
    RAO_KUPPER = 3
