"""Rankers that learn from features: scikit-learn estimators with queries.

>>> from concordant.learn import RankNet
>>> X, y, qid = [[0.1], [0.9], [0.2], [0.8]], [0, 1, 0, 1], [1, 1, 2, 2]
>>> RankNet().fit(X, y, qid=qid).predict([[0.3], [0.7]]).argmax()
1

Every estimator is one file of this folder and is found by its name, like a method of ``aggregate``.
"""

from __future__ import annotations

from concordant.registry import LEARNERS

modules, load = LEARNERS.modules, LEARNERS.load


def __getattr__(name: str) -> object:
    globals()[name] = LEARNERS.attribute(__name__, name)
    return globals()[name]


def __dir__() -> list[str]:
    return sorted([*globals(), *LEARNERS.attributes()])
