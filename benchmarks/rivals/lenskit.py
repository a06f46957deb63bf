"""BiasedMF of LensKit: alternating least squares on what damped biases leave, tuned on the validation ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Inputs, Task
from benchmarks.works.recommend import TRAINING, VALIDATION, best_setting, columns, quality, timed

RIDGES = (0.02, 0.05, 0.1, 0.2)
EPOCHS = (5, 10, 20, 40)
SEED = 1


def factor_fit_partition(inputs: Inputs) -> Task:
    """Fit with the best setting."""
    return fit_of(inputs, tuned(inputs)[1])


def fit_of(inputs: Inputs, setting: dict[str, Any]) -> Task:
    """Fit with one setting."""
    data = _data(inputs)
    return timed(inputs, lambda: _fitted(inputs, data, **setting), scores)


def tuned(inputs: Inputs) -> tuple[float, dict[str, Any]]:
    """Return the best validation NDCG@10 over all settings, and the setting."""
    data, grid = _data(inputs), [{"regularization": ridge} for ridge in RIDGES]

    def reached(**settings: Any) -> float:
        return quality(inputs, scores(_fitted(inputs, data, **settings), inputs))

    return best_setting(grid, ("epochs", EPOCHS), reached)


def scores(model: Any, inputs: Inputs, part: int = VALIDATION) -> np.ndarray:
    """Return the scores of the ratings of a part."""
    agent, item, _ = columns(inputs, part)
    user, own = model.users.numbers(agent), model.items.numbers(item)
    product = np.einsum("ed,ed->e", model.user_embeddings[user], model.item_embeddings[own])
    bias = model.bias
    return np.asarray(bias.global_bias + bias.user_biases[user] + bias.item_biases[own] + product, float)


def _fitted(inputs: Inputs, data: Any, **settings: Any) -> Any:
    from lenskit.als import BiasedMFScorer
    from lenskit.training import TrainingOptions

    model = BiasedMFScorer(embedding_size=inputs["factors"], **settings)
    model.train(data, TrainingOptions(rng=SEED))
    return model


def _data(inputs: Inputs) -> Any:
    import pandas as pd
    from lenskit.data import from_interactions_df

    table = pd.DataFrame(dict(zip(("user_id", "item_id", "rating"), columns(inputs, TRAINING), strict=True)))
    return from_interactions_df(table, users=range(inputs["n_agents"]), items=range(inputs["n_items"]))
