"""ListMLE: maximum likelihood of whole rankings.

Minimise the negative Plackett-Luce log-likelihood of every query's order, sum_i [log sum_{j >= i} exp(f_j) - f_i] over
the rows from the best label to the worst, f = w'x. The order of rows with equal labels is not given by the data: they
are placed in a random order (seeded), in input order or, with ``ties="best"``, in the currently most likely order. Use
it for data without many ties; if most labels are equal, ``OrderedPartitionRanker`` does not spend effort on the order
of tied rows. One evaluation takes linear time. Reference: F. Xia et al., Listwise approach to learning to rank: theory
and algorithm, ICML 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from concordant.learn._data import Rows
from concordant.learn._gradient import PairProbabilities
from concordant.losses.list_mle import ListMLELoss
from concordant.losses.queries import Queries
from concordant.params import param


@dataclass(eq=False, repr=False)
class ListMLE(PairProbabilities):
    """Likelihood of whole orders under the Plackett-Luce model (ListMLE)."""

    ties: str = param(
        "shuffle",
        "order of rows with equal labels: random, as in the input, or most likely",
        choices=("shuffle", "input", "best"),
    )

    def _loss(self) -> ListMLELoss:
        return ListMLELoss(is_best=self.ties == "best")

    def _queries(self, rows: Rows, rng: np.random.Generator) -> Queries:
        shuffle = rng if self.ties == "shuffle" else None
        return Queries.from_rows(rows.label, rows.query, rows.weight, shuffle=shuffle)
