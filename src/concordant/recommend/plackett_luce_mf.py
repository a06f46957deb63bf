"""Plackett-Luce matrix factorisation: latent factors that explain the ranking of each agent.

f(u, i) = c_i + p_u · q_i, and the ranking of an agent has the likelihood of choosing its items one by one, each in
proportion to exp(f) among those that remain. Ratings are sorted first, which breaks ties by the order of the data. Use
it for rankings without ties, and for comparison with ordered-partition-mf, which models ties. As there, ``beta`` below
1 adds the squared error of the ratings.

Cost: as ordered-partition-mf. Reference: Y. Shi, M. Larson and A. Hanjalic, List-wise learning to rank with matrix
factorization for collaborative filtering, RecSys 2010.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from concordant.params import param
from concordant.recommend.ordered_partition_mf import OrderedPartitionMF


@dataclass(frozen=True, kw_only=True)
class PlackettLuceMF(OrderedPartitionMF):
    """Latent factors that maximise the Plackett-Luce likelihood of each agent's ranking, ignoring ties."""

    aliases: ClassVar = {"list-rank": {}, "listrank-mf": {}}
    is_strict: ClassVar[bool] = True

    beta: float = param(
        1.0, "weight of the likelihood of orders; the squared error has weight 1 - beta", low=0.0, high=1.0
    )
