"""The recommenders of the collaborative-filtering experiment, each with the settings to try on validation ratings.

Third-party libraries (cornac, scikit-surprise, lenskit) are included if they are installed, with the same training,
validation and test ratings.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from concordant import registry
from concordant.preferences import Preferences
from concordant.recommend import Observed, Watched
from concordant.types import Floats

METRICS = ("err", "ndcg@1", "ndcg@5")
CHOSEN_BY = "ndcg@5"
Settings = Mapping[str, object]
FACTORS = 100  # of the published models


def grid(**tried: Sequence[object]) -> list[dict[str, object]]:
    """Return every combination of the settings."""
    return [dict(zip(tried, values, strict=True)) for values in product(*tried.values())]


# Name here -> recommender and the settings to choose from.
OURS: Mapping[str, tuple[str, list[dict[str, object]]]] = {
    "popular": ("popular", grid(by=["count", "rating"])),
    "consensus": ("consensus-recommender", grid(aggregator=["mpm"])),
    "bpr": ("bpr", grid(contrast=["unseen", "rated"], rate=[0.02, 0.05])),
    "cofi-regression": ("cofi-rank", grid(loss=["regression"], factors=[FACTORS], ridge=[5.0, 10.0, 15.0, 20.0])),
    "cofi-ordinal": ("cofi-rank", grid(loss=["ordinal"], factors=[FACTORS], ridge=[20.0, 30.0, 50.0])),
    "cofi-ndcg": ("cofi-rank", grid(loss=["ndcg"], factors=[FACTORS], ridge=[5.0, 8.0, 12.0], sweeps=[15])),
    "plackett-luce-mf": ("plackett-luce-mf", grid(factors=[6, 10])),
    "pmf": ("pmf", grid(factors=[5, 10], ridge=[8.0, 12.0, 15.0], sweeps=[50])),
    "pmf-variational": ("pmf", grid(factors=[6, 10], ridge=["auto"], sweeps=[50])),
    "pmop": (
        "ordered-partition-mf",
        grid(
            factors=[FACTORS],
            beta=[0.01],
            biases=[False],
            centred=[False],
            initial=["uniform"],
            ridge=[2.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0],
            sweeps=[100],
        ),
    ),
    "ordered-partition-mf": ("ordered-partition-mf", grid(factors=[6, 10], beta=[0.01, 0.2, 0.5])),
}
MAIN, AS_PUBLISHED = "ordered-partition-mf", "pmop"
DESCRIBED = {
    "cofi-regression": "cofi-regression (mean subtracted)",
    "cofi-ordinal": "cofi-ordinal (squared hinge)",
    "cofi-ndcg": "cofi-ndcg (subgradients)",
    "pmf": "pmf (point estimate)",
    "pmf-variational": "pmf (variational)",
    "pmop": "pmop (as published)",
    "ordered-partition-mf": "ordered-partition-mf (variational)",
}
"""Row labels for models that differ from others of the same name, or from the published ones."""


class Outcome(NamedTuple):
    """The metrics of every agent on the test ratings, the chosen settings, and the fitted concordant model, if any."""

    values: dict[str, Floats]
    settings: Settings
    model: Any = None


def run_ours(name: str, train: Preferences, valid: Preferences, whole: Preferences, test: Preferences) -> Outcome:
    """Choose settings and number of sweeps on validation ratings, refit with these ratings included, and test."""
    method, tried = OURS[name]
    best: tuple[float, Settings] = (-np.inf, {})
    for settings in tried:
        states: list[Any] = []
        recommender: Any = registry.RECOMMENDERS.make(method, **settings)
        fitted = recommender.fit(train, validation=valid, metric=CHOSEN_BY, progress=states.append)
        quality = fitted.score(valid, CHOSEN_BY)
        if quality > best[0]:
            best_sweep = max(states, key=lambda state: state.quality).number if states else None
            limit = {key: best_sweep for key in ("sweeps", "passes") if best_sweep and hasattr(recommender, key)}
            best = (quality, {**settings, **limit})
    model = registry.RECOMMENDERS.make(method, **best[1]).fit(whole)
    return Outcome(model.by_agent(test, METRICS), best[1], model)


# ---- libraries of others ----
Predict = Callable[[Any, Any], Floats]


def _cornac(agent: Any, item: Any, rating: Floats, settings: Settings) -> Predict:
    """Fit cornac's biased matrix factorisation; return its predictions."""
    cornac = importlib.import_module("cornac")
    rows = list(zip(agent.tolist(), item.tolist(), rating.tolist(), strict=True))
    data = cornac.data.Dataset.from_uir(rows)
    model = cornac.models.MF(use_bias=True, early_stop=False, seed=1, verbose=False, num_threads=1, **settings)
    model.fit(data)
    sides = [(model.u_factors, model.u_biases), (model.i_factors, model.i_biases)]
    return _of_factors(float(model.global_mean), sides, [data.uid_map, data.iid_map])


def _of_factors(mean: float, sides: Sequence[tuple[Any, Any]], codes: Sequence[Mapping[int, int]]) -> Predict:
    """Return the prediction mean + b_u + b_i + p_u · q_i as a function of a library's row numbers.

    Unknown rows contribute 0.
    """
    rows = [
        np.vstack([np.column_stack([factors, bias]), np.zeros((1, factors.shape[1] + 1))]) for factors, bias in sides
    ]  # the row of strangers is the last one, where -1 points
    lookups = [_lookup(code_map) for code_map in codes]

    def predict(agents: Any, items: Any) -> Floats:
        u, i = (row[lookup(ours)] for row, lookup, ours in zip(rows, lookups, (agents, items), strict=True))
        return np.asarray(mean + u[:, -1] + i[:, -1] + (u[:, :-1] * i[:, :-1]).sum(axis=1), np.float64)

    return predict


def _lookup(codes: Mapping[int, int]) -> Callable[[Any], Any]:
    """Return a function that maps concordant codes to the codes of a library, -1 if unknown."""
    table = np.full(max(codes) + 2, -1)
    table[list(codes)] = list(codes.values())
    return lambda ours: table[np.minimum(ours, len(table) - 1)]


def _surprise(agent: Any, item: Any, rating: Floats, settings: Settings) -> Predict:
    """Fit surprise's SVD; return its predictions."""
    surprise, frames = importlib.import_module("surprise"), importlib.import_module("pandas")
    table = frames.DataFrame({"agent": agent, "item": item, "rating": rating})
    reader = surprise.Reader(rating_scale=(float(rating.min()), float(rating.max())))
    model = surprise.SVD(random_state=1, **settings)
    data = surprise.Dataset.load_from_df(table, reader).build_full_trainset()
    model.fit(data)
    known = ((model.pu, model.bu, data.to_raw_uid), (model.qi, model.bi, data.to_raw_iid))
    codes = [{int(raw(k)): k for k in range(len(bias))} for _, bias, raw in known]
    return _of_factors(float(data.global_mean), [(factors, bias) for factors, bias, _ in known], codes)


def _lenskit(agent: Any, item: Any, rating: Floats, settings: Settings) -> Predict:
    """Fit lenskit's biased matrix factorisation; return its predictions, or the mean rating where it makes none."""
    als, data = importlib.import_module("lenskit.als"), importlib.import_module("lenskit.data")
    frames = importlib.import_module("pandas")
    model = als.BiasedMFScorer(als.BiasedMFConfig(**settings))
    table = frames.DataFrame({"user_id": agent, "item_id": item, "rating": rating})
    model.train(data.from_interactions_df(table))

    def predict(agents: Any, items: Any) -> Floats:
        predicted = np.full(len(agents), float(rating.mean()))
        for u in np.unique(agents):
            rows = np.flatnonzero(agents == u)
            score = model(int(u), data.ItemList(item_ids=items[rows])).scores()
            predicted[rows] = np.nan_to_num(np.asarray(score, np.float64), nan=float(rating.mean()))
        return predicted

    return predict


OTHERS: Mapping[str, tuple[str, Callable[..., Predict], list[dict[str, object]]]] = {
    "cornac MF": (
        "cornac",
        _cornac,
        grid(k=[10, 50], learning_rate=[0.005, 0.01], lambda_reg=[0.05, 0.1, 0.15], max_iter=[20, 50, 100]),
    ),
    "surprise SVD": (
        "surprise",
        _surprise,
        grid(n_factors=[10, 50], lr_all=[0.005, 0.01], reg_all=[0.05, 0.1], n_epochs=[20, 50]),
    ),
    "lenskit BiasedMF": (
        "lenskit",
        _lenskit,
        grid(embedding_size=[5, 10], epochs=[10, 20], regularization=[0.1, 0.2, 0.3]),
    ),
}


def others_here() -> list[str]:
    """List the installed third-party libraries."""
    return [name for name, (module, _, _) in OTHERS.items() if importlib.util.find_spec(module)]


def run_other(name: str, train: Preferences, valid: Preferences, whole: Preferences, test: Preferences) -> Outcome:
    """Choose a library's settings on validation ratings, refit with these ratings included, and test."""
    _, fit, tried = OTHERS[name]
    ours = registry.RECOMMENDERS.make("popular").fit(whole)  # only to know agents and items by the same codes
    on_validation, on_test = Watched(ours, Observed.of(valid), (CHOSEN_BY,)), Watched(ours, Observed.of(test), METRICS)

    def fitted(prefs: Preferences, settings: Settings) -> Predict:
        observed = Observed.of(prefs)
        return fit(observed.agent, observed.item, observed.ratings(name), settings)

    best: tuple[float, Settings] = (-np.inf, {})
    for settings in tried:
        quality = on_validation.quality(fitted(train, settings)(on_validation.agent, on_validation.item))
        if quality > best[0]:
            best = (quality, settings)
    return Outcome(on_test.values(fitted(whole, best[1])(on_test.agent, on_test.item)), best[1])
