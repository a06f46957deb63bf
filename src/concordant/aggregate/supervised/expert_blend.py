"""Expert blend: a linear ranker and boosted trees on every expert's places, averaged; the strongest fusion here.

Every document is described by its place in each expert's list (``concordant.features.PlaceFeatures``: reciprocal and
logarithmic places, the share of the candidates it stands ahead of, how much of the query the list covers, whether it is
listed at all). Two models of different kinds learn from the labels:

- a linear model of pairs, P(i before j) = 1 / (1 + exp(f_j - f_i)), every query counting the same, with a ridge
  penalty: few parameters, little to overfit
- LambdaMART, gradient-boosted trees on pairs weighted by the change of NDCG, small trees, ``bags`` times on queries
  drawn with replacement: what no line can tell, such as what a late place means in a list that covers little

Scores are averaged after each model's were divided by their standard deviation within queries. Neither model is stopped
by a validation set: all judged queries are learnt from, a share asked for validation included. ``best`` is another
name of this method.

On the LETOR 4.0 aggregation sets it is above the linear models on singular vectors of Volkovs, Larochelle and Zemel
(2012): by 0.95 points of the mean of NDCG@1 to 5 on MQ2007-agg (p = 0.002) and by 0.44 on MQ2008-agg (within chance);
see ``concordant reproduce metasearch``. With less than some dozens of judged queries, or where a model must fuse in
microseconds or show a weight per expert, use ``expert-ranker``. The trees need LightGBM.

Cost: about a second of training per ten thousand documents ranked by ten experts, with the usual 5 times 100 trees;
ranking is linear in the documents, and the lists of one query are fused in some ten milliseconds. References:
M. Volkovs, H. Larochelle and R. Zemel, Learning to rank by aggregating expert preferences, CIKM 2012; C. Burges, From
RankNet to LambdaRank to LambdaMART, Microsoft Research MSR-TR-2010-82.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from concordant.aggregate.common import snap_scores
from concordant.aggregate.supervised._base import Labelled, SupervisedMethod, Validation
from concordant.ballots.segments import deviation_within
from concordant.features.places import COLUMNS, PlaceFeatures
from concordant.labels import Labels
from concordant.method import Outcome
from concordant.params import param
from concordant.preferences import Preferences
from concordant.support.state import SMALLEST, floats, part
from concordant.types import Floats

FIRST, LAST = (10 / 11, 1.0, 1.0, 0.5, 0.0), (10 / 1010, 0.0, 0.0, 0.5, 0.0)  # a list's first and 1,000th document
TIE = 1e-10  # scores this close, relative to the largest, are one score


@dataclass(frozen=True, kw_only=True)
class ExpertBlend(SupervisedMethod):
    """Mean of a linear ranker and boosted trees, trained on each expert's ranks."""

    silence = "being left out by an expert has a learnt weight of its own"
    aliases = {"best": {}}
    learns = {
        **SupervisedMethod.learns,
        "weights": floats("table"),
        "ranker": part("table"),
        "scale": floats(2, low=SMALLEST),
    }

    alpha: float = param(0.1, "ridge (L2) penalty of the linear model, on standardised features", low=0.0)
    bags: int = param(5, "number of boosted models, each on a bootstrap sample of the queries", low=1)
    trees: int = param(100, "number of trees per boosted model", low=1)
    leaves: int = param(7, "maximum number of leaves per tree", low=2)
    learning_rate: float = param(0.05, "learning rate (shrinkage)", low=0.0)
    columns: float = param(0.3, "share of the features sampled for each tree", low=0.01, high=1.0)
    threads: int = param(1, "number of threads; 0 for all processors", low=0)

    def _parts(self, prefs: Preferences, labels: Labels, validation: Validation) -> tuple[Labelled, Labelled | None]:
        """Return all instances to learn from; none is held out, because nothing is chosen on it."""
        train, _ = super()._parts(prefs, labels, None if isinstance(validation, (int, float)) else validation)
        return train, None

    def _learn(self, train: Labelled, valid: Labelled | None) -> Mapping[str, Any]:
        """Train a linear ranker and bagged boosted trees on the same features; ``scale`` is the deviation of each
        one's scores.
        """
        from concordant.learn.bagged_ranker import BaggedRanker
        from concordant.learn.light_gbm_ranker import LightGBMRanker
        from concordant.learn.rank_net import RankNet

        rows = np.flatnonzero(train.is_known)
        X = PlaceFeatures().fit_transform(train.prefs)[rows]
        label, query = train.label[rows], train.query[rows]
        spread = X.std(axis=0)
        spread[spread < 1e-9] = 1.0
        linear = RankNet(alpha=self.alpha, weighting="queries", seed=self.seed, standardise=False)
        linear.fit(X / spread, label, qid=query)
        weights = np.asarray(linear.coef_, np.float64) / spread
        boosted = LightGBMRanker(
            trees=self.trees,
            leaves=self.leaves,
            learning_rate=self.learning_rate,
            columns=self.columns,
            threads=self.threads,
        )
        bagged = BaggedRanker(boosted, n_rankers=self.bags, seed=self.seed).fit(X, label, qid=query)
        scale = [deviation_within(scores, query) for scores in (X @ weights, bagged.predict(X))]
        return {"weights": weights, "ranker": bagged, "scale": np.array(scale)}

    def scores(self, prefs: Preferences) -> Outcome:
        """Return the blended score of every slot and, as the agents' weights, how far the linear model trusts each."""
        warnings = self.unknown_agents(prefs)
        features = PlaceFeatures()
        features.agents_ = self.known_agents
        X = features.transform(prefs)
        weights, boosted, scale = (self.learnt[name] for name in ("weights", "ranker", "scale"))
        score = (X @ weights / scale[0] + boosted.predict(X) / scale[1]) / 2
        trusted = self.trust
        assert prefs.agents is not None
        by_agent = {label: trusted[label] for label in prefs.agents.labels if label in trusted}
        return Outcome(snap_scores(prefs, score, TIE), agents=by_agent or None, warnings=warnings)

    def learnt_sizes(self) -> dict[str, int]:
        """Return the number of features."""
        return {"table": len(COLUMNS) * len(self.known_agents)}

    @property
    def takes_validation(self) -> bool:
        """Whether ``fit`` makes use of validation instances: it does not."""
        return False

    @property
    def trust(self) -> dict[str, float]:
        """By expert: how much more the linear model gives the first document of its list than the thousandth."""
        if not self.learnt:
            return {}
        table: Floats = np.asarray(self.learnt["weights"]).reshape(-1, len(COLUMNS))
        gain = table @ np.subtract(FIRST, LAST) / float(self.learnt["scale"][0])
        return dict(zip(self.known_agents, gain.tolist(), strict=True))
