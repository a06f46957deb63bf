"""Recommender systems: predict the preferences of agents for items that they have not seen.

>>> import concordant as cc
>>> from concordant.recommend import PMF
>>> prefs = cc.Preferences.from_ratings(["ann", "ann", "bob", "bob"], ["x", "y", "y", "z"], [5, 3, 4, 1])
>>> PMF(factors=1).fit(prefs).recommend("ann").items
['z']

Every recommender has its own file in this folder and is found by its name, like a method of ``aggregate``. Custom
recommenders derive from ``Recommender``.

The command line and experiments import from this package; it imports preferences, metrics and kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from concordant.registry import RECOMMENDERS

if TYPE_CHECKING:
    from concordant.recommend._alternating import Sweep as Sweep
    from concordant.recommend._base import NEWCOMER as NEWCOMER
    from concordant.recommend._base import Recommender as Recommender
    from concordant.recommend._base import Watched as Watched
    from concordant.recommend._observed import Observed as Observed
    from concordant.recommend._splitting import split as split
    from concordant.recommend._splitting import taken as taken
    from concordant.recommend.bpr import BPR as BPR
    from concordant.recommend.cofi_rank import CoFiRank as CoFiRank
    from concordant.recommend.consensus_recommender import ConsensusRecommender as ConsensusRecommender
    from concordant.recommend.ordered_partition_mf import OrderedPartitionMF as OrderedPartitionMF
    from concordant.recommend.plackett_luce_mf import PlackettLuceMF as PlackettLuceMF
    from concordant.recommend.pmf import PMF as PMF
    from concordant.recommend.popular import Popular as Popular

modules, load = RECOMMENDERS.modules, RECOMMENDERS.load
BASES = {
    **dict.fromkeys(("NEWCOMER", "Recommender", "Watched"), "_base"),
    **dict.fromkeys(("split", "taken"), "_splitting"),
    "Observed": "_observed",
    "Sweep": "_alternating",
}
__getattr__, __dir__ = RECOMMENDERS.lazily(__name__, BASES)
