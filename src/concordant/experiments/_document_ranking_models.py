"""The models of the document-ranking experiment, their settings, and how settings are chosen.

All models see standardised features. Settings are chosen by MAP on the validation part, which also stops stochastic
models and boosted trees early. Everything else follows Tran, Phung and Venkatesh (2016): L-BFGS until the loss improves
by less than 1e-5 or for 100 iterations, 1,000 stochastic updates for sampled models. The models in the last rows are
not in the paper: other losses, boosting, a kernel, a network, trees, and ``blend``, the strongest model of
``concordant.learn``.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from concordant import learn, metrics
from concordant.errors import OneQueryWarning
from concordant.experiments._document_ranking_data import Rows
from concordant.types import AnyArray, Floats

Predict = Callable[[Rows], Floats]
Settings = Mapping[str, Any]
Fit = Callable[[Rows, Rows], Predict]
CHOICE = "map"
UPDATES = 1000
ALPHAS = tuple({"alpha": alpha} for alpha in (1e-3, 1e-2, 1e-1, 1.0))
LIST_ALPHAS = (*ALPHAS, {"alpha": 10.0})  # the loss of a list is larger than that of a pair
COSTS = tuple({"C": cost} for cost in (1.0, 10.0, 100.0, 1000.0))

KERNELS = tuple({"gamma": gamma, "C": cost} for gamma in (0.002, 0.01) for cost in (100.0, 1000.0, 10_000.0))


@dataclass(frozen=True)
class Model:
    """A row of the table."""

    estimator: str
    """Name in ``concordant.learn``."""
    settings: Settings = field(default_factory=dict)
    grid: Sequence[Settings] = ALPHAS
    published: str = ""
    """Its name in the paper."""
    is_watched: bool = False
    """Whether training stops early by the validation part."""
    is_sampled: bool = False
    """Whether it takes the paper's number of stochastic updates."""
    is_linear: bool = True
    """Whether it is linear, so that second-order features change it."""

    def fit(self, train: Rows, valid: Rows) -> tuple[Predict, Settings]:
        """Fit to the training rows with the settings that are best on the validation rows."""
        return _best(self.fits(train), train, valid)

    def fits(self, train: Rows) -> list[tuple[Settings, Fit]]:
        """Return, for every setting of the grid, a function that fits with it."""
        settings = dict(self.settings)
        if self.is_sampled:
            batches = -(-train.n_queries // settings["batch"])
            settings["max_iter"] = max(1, UPDATES // batches)
        return [
            (chosen, partial(_fit, self.estimator, {**settings, **chosen}, self.is_watched)) for chosen in self.grid
        ]


def _pmop(published: str = "", **settings: Any) -> Model:
    """Return an ordered-partition model; geometric and harmonic means are sampled."""
    sampled = settings.get("mean") in ("geometric", "harmonic")
    if sampled:
        settings = {"samples": 3, "batch": 32, **settings}
    return Model("OrderedPartitionRanker", settings, LIST_ALPHAS, published, is_sampled=sampled)


MODELS: Mapping[str, Model] = {
    "rank-regress": Model("RankRegressor", published="Rank Regress"),
    "ranknet": Model("RankNet", published="RankNet"),
    "ranking-svm": Model("RankSVM", grid=COSTS, published="Ranking SVM"),
    "listmle": Model("ListMLE", grid=LIST_ALPHAS, published="ListMLE"),
    "davidson": Model("DavidsonRanker", published="PairTies-D"),
    "rao-kupper": Model("RaoKupperRanker", published="PairTies-RK"),
    "pmop-arithmetic": _pmop("PMOP-ArithM"),
    "pmop-arithmetic-weighted": _pmop("PMOP-ArithM(*)", rank_weighting=True),
    "pmop-maximum": _pmop("PMOP-MAX", mean="maximum"),
    "pmop-harmonic-gibbs": _pmop("PMOP-HarmM.Gibbs", mean="harmonic"),
    "pmop-geometric-gibbs": _pmop("PMOP-GeoM.Gibbs", mean="geometric"),
    "pmop-geometric-mh": _pmop("PMOP-GeoM.MH", mean="geometric", sampler="metropolis"),
    "pmop-minimum": _pmop(mean="minimum"),
    "squared-hinge": Model("RankSVM", {"loss": "squared-hinge"}, COSTS),
    "exponential": Model("LossRanker", {"loss": "exponential"}),
    "listmle-best": Model("ListMLE", {"ties": "best"}, LIST_ALPHAS),
    "listnet": Model("ListNet", grid=LIST_ALPHAS),
    "lambdarank": Model("LambdaRank", {"metric": CHOICE}, is_watched=True),
    "rankboost": Model("RankBoost", {"metric": CHOICE}, ({},), is_watched=True, is_linear=False),
    "kernel-svm": Model("RankSVM", {"kernel": "rbf", "components": 500}, KERNELS, is_linear=False),
    "network": Model(
        "RankNet",
        {"hidden": 10, "learning_rate": 0.003, "metric": CHOICE},
        ALPHAS,
        is_watched=True,
        is_linear=False,
    ),
    "lambdamart": Model("LightGBMRanker", {"metric": CHOICE, "threads": 1}, ({},), is_watched=True, is_linear=False),
    "lambdarank-ranks": Model("BlendedRanker", {"rankers": ("LambdaRank",)}, ({},), is_watched=True, is_linear=False),
    "forest-ranks": Model("BlendedRanker", {"rankers": ("ForestRanker",)}, ({},), is_watched=True, is_linear=False),
    "blend": Model("BlendedRanker", {}, ({},), is_watched=True, is_linear=False),
}


# ---- fitting and choosing ----
def _fit(name: str, settings: Settings, is_watched: bool, train: Rows, valid: Rows) -> Predict:
    """Fit a ranker of ``concordant.learn`` (on standardised features); return its predictions."""
    from sklearn.exceptions import ConvergenceWarning

    params = {
        key: [getattr(learn, ranker_name)() for ranker_name in value] if key == "rankers" else value
        for key, value in settings.items()
    }
    ranker = getattr(learn, name)(**params)
    if "standardise" in ranker.get_params() and name != "BlendedRanker":  # the features are standardised already
        ranker.set_params(standardise=False)
    watched = {"valid": tuple(valid)} if is_watched else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # 100 iterations are the paper's rule
        warnings.simplefilter("ignore", OneQueryWarning)  # training time is also measured with one large query
        ranker.fit(train.X, train.y, qid=train.query, **watched)
    if "qid" in inspect.signature(ranker.predict).parameters:
        return lambda rows: ranker.predict(rows.X, qid=rows.query)
    return lambda rows: ranker.predict(rows.X)


def _best(fits: Sequence[tuple[Settings, Fit]], train: Rows, valid: Rows) -> tuple[Predict, Settings]:
    """Fit with every setting; return the model with the highest MAP on the validation rows (the first if tied)."""
    results = []
    for chosen, fit in fits:
        predict = fit(train, valid)
        results.append((_quality(predict(valid), valid) if len(fits) > 1 else 0.0, predict, chosen))
    _, predict, chosen = max(results, key=lambda result: result[0])
    return predict, chosen


def _quality(scores: Floats, rows: Rows) -> float:
    return metrics.mean(metrics.evaluate_arrays(scores, rows.y, rows.query, [CHOICE])[CHOICE])


def standardiser(X: AnyArray) -> Callable[[AnyArray], AnyArray]:
    """Return the function that standardises columns by mean and standard deviation of X; constant columns become 0."""
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    factor = np.where(deviation > 1e-12, 1 / np.maximum(deviation, 1e-12), 0.0)
    return lambda matrix: (matrix - mean) * factor
