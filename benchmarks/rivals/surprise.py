"""SVD of scikit-surprise: stochastic gradients with biases, tuned on the validation ratings."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Inputs, Task
from benchmarks.works.recommend import TRAINING, VALIDATION, best_setting, columns, quality, timed

RATES = (0.01, 0.02)
RIDGES = (0.02, 0.05, 0.1)
EPOCHS = (5, 10, 20, 40, 80)
SEED = 1


def factor_fit_partition(inputs: Inputs) -> Task:
    """Fit with the best setting."""
    return fit_of(inputs, tuned(inputs)[1])


def fit_of(inputs: Inputs, setting: dict[str, Any]) -> Task:
    """Fit with one setting."""
    data = _data(inputs)
    return timed(inputs, lambda: _model(inputs, **setting).fit(data), scores)


def tuned(inputs: Inputs) -> tuple[float, dict[str, Any]]:
    """Return the best validation NDCG@10 over all settings, and the setting."""
    data, grid = _data(inputs), [{"lr_all": rate, "reg_all": ridge} for rate in RATES for ridge in RIDGES]
    return best_setting(
        grid, ("n_epochs", EPOCHS), lambda **one: quality(inputs, scores(_model(inputs, **one).fit(data), inputs))
    )


def scores(model: Any, inputs: Inputs, part: int = VALIDATION) -> np.ndarray:
    """Return the scores of the ratings of a part; an item without training ratings is average."""
    agent, item, _ = columns(inputs, part)
    inner = [_inner(model.trainset._raw2inner_id_users, agent), _inner(model.trainset._raw2inner_id_items, item)]
    sides = [(model.bu, model.pu), (model.bi, model.qi)]
    biases = [np.append(bias, 0.0)[own] for own, (bias, _) in zip(inner, sides, strict=True)]
    rows = [np.vstack([row, 0 * row[:1]])[own] for own, (_, row) in zip(inner, sides, strict=True)]
    return np.asarray(model.trainset.global_mean + sum(biases) + np.einsum("ed,ed->e", *rows))


def _inner(known: dict[int, int], labels: np.ndarray) -> np.ndarray:
    """Return the rows of labels, -1 for those that are not known."""
    numbers = np.full(max(int(labels.max()), *known) + 1, -1)
    numbers[list(known)] = list(known.values())
    return numbers[labels]


def _model(inputs: Inputs, **settings: Any) -> Any:
    from surprise import SVD

    return SVD(n_factors=inputs["factors"], random_state=SEED, **settings)


def _data(inputs: Inputs) -> Any:
    import pandas as pd
    from surprise import Dataset, Reader

    table = pd.DataFrame(dict(zip(("agent", "item", "rating"), columns(inputs, TRAINING), strict=True)))
    return Dataset.load_from_df(table, Reader(rating_scale=(1, 5))).build_full_trainset()
