"""PyTorch, as rankers are usually written with it: all queries in one padded tensor, gradients by autograd."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Task


def loss_ranknet(inputs: Inputs) -> Task:
    """Mean logistic loss of the pairs with different labels."""
    import torch

    def loss(scores: Any, labels: Any) -> Any:
        better = labels[:, :, None] > labels[:, None, :]
        margin = scores[:, :, None] - scores[:, None, :]
        return torch.nn.functional.softplus(-margin[better]).mean()

    return _task(inputs, loss)


def loss_list_mle(inputs: Inputs) -> Task:
    """Mean Plackett-Luce negative log-likelihood of the lists sorted by label, ties in input order."""
    import torch

    def loss(scores: Any, labels: Any) -> Any:
        order = torch.sort(labels, dim=1, descending=True, stable=True).indices
        ranked = torch.gather(scores, 1, order)
        rest = torch.logcumsumexp(ranked.flip(1), dim=1).flip(1)
        return (rest - ranked).sum(1).mean()

    return _task(inputs, loss)


def _task(inputs: Inputs, loss: Any) -> Task:
    import torch

    torch.set_num_threads(1)
    queries = int(inputs["qid"][-1]) + 1
    X = torch.from_numpy(inputs["X"])
    labels = torch.from_numpy(inputs["y"].reshape(queries, -1))
    weight = torch.from_numpy(inputs["start"].copy()).requires_grad_()

    def evaluate() -> Any:
        weight.grad = None
        value = loss((X @ weight).view(queries, -1), labels)
        value.backward()
        return value, weight.grad

    def answer(found: Any) -> Answer:
        return {"value": np.array([float(found[0])]), "gradient": found[1].numpy().astype(float)}

    return Task(evaluate, answer)
