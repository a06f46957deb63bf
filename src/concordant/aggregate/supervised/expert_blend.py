"""Expert blend: the mean of a linear ranker and boosted trees on every expert's ranks; the most accurate fusion
method in concordant.

Every document is described by its rank in each expert's list (``concordant.features.PlaceFeatures``: reciprocal and
logarithmic ranks, the share of the candidates ranked below it, the share of the query's documents in the list, and
whether it is listed at all). Two models of different kinds are trained on the labels:

- a linear model of pairs, P(i above j) = 1 / (1 + exp(f_j - f_i)), with equal weight for every query and a ridge
  penalty: few parameters and little overfitting
- LambdaMART, gradient-boosted trees on pairs weighted by the change of NDCG, with small trees, ``bags`` times on
  bootstrap samples of the queries: it captures interactions, such as the meaning of a low rank in a short list

The scores of each model are divided by their standard deviation within queries, then averaged. Neither model uses early
stopping, so all judged queries are used for training, including any share set aside for validation. ``best`` is an
alias of this method.

On the LETOR 4.0 aggregation sets it is better than the linear models on singular vectors of Volkovs, Larochelle and
Zemel (2012): the mean of NDCG@1 to 5 is 0.95 points higher on MQ2007-agg (p = 0.002) and 0.44 on MQ2008-agg (not
significant); see ``concordant reproduce metasearch``. With fewer than a few dozen judged queries, or if a model must
fuse in microseconds or show a weight per expert, use ``expert-ranker``. The trees need LightGBM.

Cost: training takes about a second per ten thousand documents ranked by ten experts, with the default of 5 times 100
trees; ranking is linear in the documents, and fusing the lists of one query takes about ten milliseconds. References:
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

    usual_name = "Blend of expert rankers"
    silence = "each expert has a learnt weight for documents that it does not list"
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
        """Return all instances for training; none is held out, because no validation is needed."""
        train, _ = super()._parts(prefs, labels, None if isinstance(validation, (int, float)) else validation)
        return train, None

    def _learn(self, train: Labelled, valid: Labelled | None) -> Mapping[str, Any]:
        """Train a linear ranker and bagged boosted trees; ``scale`` is the standard deviation of their scores."""
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
        """Return the blended score of every slot and, as the agents' weights, their effects in the linear model."""
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
        """Whether ``fit`` uses validation instances: it does not."""
        return False

    @property
    def trust(self) -> dict[str, float]:
        """For each expert, the linear model's score difference between the first and the thousandth document of its
        list.
        """
        if not self.learnt:
            return {}
        table: Floats = np.asarray(self.learnt["weights"]).reshape(-1, len(COLUMNS))
        gain = table @ np.subtract(FIRST, LAST) / float(self.learnt["scale"][0])
        return dict(zip(self.known_agents, gain.tolist(), strict=True))
