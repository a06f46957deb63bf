"""Rankers that learn from features: scikit-learn estimators with queries.

>>> from concordant.learn import RankNet
>>> X, y, qid = [[0.1], [0.9], [0.2], [0.8]], [0, 1, 0, 1], [1, 1, 2, 2]
>>> int(RankNet().fit(X, y, qid=qid).predict([[0.3], [0.7]]).argmax())
1

Every estimator has its own file in this folder and is found by its name, like a method of ``aggregate``. Custom rankers
derive from ``Ranker``, or from ``RidgeRanker`` if they minimise a loss.

The command line and supervised methods import from this package; it imports losses, scorers, solvers and metrics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from concordant.registry import LEARNERS

if TYPE_CHECKING:
    from concordant.learn._base import Learner as Learner
    from concordant.learn._base import Ranker as Ranker
    from concordant.learn._gradient import GradientRanker as GradientRanker
    from concordant.learn._gradient import RidgeRanker as RidgeRanker

modules, load = LEARNERS.modules, LEARNERS.load
BASES = {"Learner": "_base", "Ranker": "_base", "GradientRanker": "_gradient", "RidgeRanker": "_gradient"}
__getattr__, __dir__ = LEARNERS.lazily(__name__, BASES)
