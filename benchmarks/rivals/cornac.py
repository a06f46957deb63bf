"""Cornac's matrix factorisation, by stochastic gradients, with biases, tuned on the validation ratings."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Task
from benchmarks.works.recommend import LISTED, TRAINING, VALIDATION, columns, quality, timed

RATES = (0.01, 0.02)
RIDGES = (0.02, 0.05, 0.1)
EPOCHS = range(5, 81, 5)
SEED = 1


def _fit(inputs: Inputs) -> Task:
    return fit_of(inputs, tuned(inputs)[1])


def fit_of(inputs: Inputs, setting: dict[str, Any]) -> Task:
    """Fit with one setting."""
    data = _data(inputs, columns(inputs, TRAINING))
    return timed(inputs, lambda: _model(inputs, **setting).fit(data), scores)


def tuned(inputs: Inputs) -> tuple[float, dict[str, Any]]:
    """Return the best validation NDCG@10 over all settings, and the setting."""
    data, found = _data(inputs, columns(inputs, TRAINING)), []
    for rate in RATES:
        for ridge in RIDGES:
            settings = {"learning_rate": rate, "lambda_reg": ridge}
            parameters: dict[str, Any] = {}
            for epochs in EPOCHS:  # goes on from the model before: the entries are visited in their order
                model = _model(inputs, **settings, max_iter=EPOCHS.step, init_params=parameters).fit(data)
                names = {"U": "u_factors", "V": "i_factors", "Bu": "u_biases", "Bi": "i_biases"}
                parameters = {short: getattr(model, name) for short, name in names.items()}
                found.append((quality(inputs, scores(model, inputs)), {**settings, "max_iter": epochs}))
    return max(found, key=lambda one: one[0])


def scores(model: Any, inputs: Inputs, part: int = VALIDATION) -> np.ndarray:
    """Return the scores of the ratings of a part."""
    agent, item, _ = columns(inputs, part)
    product = np.einsum("ed,ed->e", model.u_factors[agent], model.i_factors[item])
    return np.asarray(model.global_mean + model.u_biases[agent] + model.i_biases[item] + product, float)


def _model(inputs: Inputs, **settings: Any) -> Any:
    from cornac.models import MF

    return MF(k=inputs["factors"], use_bias=True, num_threads=1, seed=SEED, **settings)


def _data(inputs: Inputs, triples: tuple[np.ndarray, np.ndarray, np.ndarray]) -> Any:
    """Return a data set whose numbers of agents and items are ours."""
    from cornac.data import Dataset

    agent, item, rating = triples
    maps = [OrderedDict((k, k) for k in range(inputs[name])) for name in ("n_agents", "n_items")]
    return Dataset(inputs["n_agents"], inputs["n_items"], *maps, (agent, item, rating.astype(float)), seed=SEED)


def recommend_all(inputs: Inputs) -> Task:
    """List items with the factors that we found, agent by agent: there is no call for all."""
    ours = inputs["model"]
    agent = np.repeat(np.arange(len(ours.agents)), np.diff(ours.seen_ptr))
    item = ours.seen_item.astype(np.int64)
    numbers = {**inputs, "n_agents": len(ours.agents), "n_items": len(ours.items)}
    data = _data(numbers, (agent, item, np.full(len(item), ours.mean)))
    rows = {
        "U": ours.of_agent[:, :-1],
        "V": ours.of_item[:, :-1],
        "Bu": ours.of_agent[:, -1],
        "Bi": ours.of_item[:, -1],
    }
    parameters = {name: np.ascontiguousarray(row, np.float32) for name, row in rows.items()}
    model = _model(inputs, init_params=parameters, trainable=False).fit(data)
    _ = data.csr_matrix  # made on the first use

    def lists() -> list[list[int]]:
        return [model.recommend(k, k=LISTED, remove_seen=True, train_set=data) for k in range(len(ours.agents))]

    def answer(found: list[list[int]]) -> Answer:
        return {"score": np.take_along_axis(ours.complete(), np.array(found), axis=1)}

    return Task(lists, answer)


factor_fit_pmf = factor_fit_auto = factor_fit_partition = _fit
factor_fit_pmf_double = factor_fit_auto_double = factor_fit_partition_double = _fit
