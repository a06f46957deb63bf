"""The pages of other tasks than ranking: recommend items, check annotators, train a ranker."""

from __future__ import annotations

from concordant.web.reading import Source
from concordant.web.tasks import Task


def holds_features(source: Source) -> bool:
    return False


def holds_classes(source: Source) -> bool:
    return False


class RecommendTask(Task):
    name = "recommend"


class CrowdTask(Task):
    name = "crowd"


class TrainTask(Task):
    name = "train"
