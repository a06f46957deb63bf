"""Learning to rank: what a loss costs beside the products with X, and whole fits against others.

The sets are simulated: rows of a query are normal, labels 0 to 4 follow a linear truth with noise.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

YAHOO = sizes("queries documents features", tiny=(20, 8, 5), small=(2000, 24, 519), full=(19944, 24, 519))
TWO_THOUSAND = {**YAHOO, "full": YAHOO["small"]}
LONG = sizes("queries documents features", tiny=(1, 300, 5), small=(1, 10_000, 20), full=(1, 100_000, 20))
EXACT = (
    "ranknet", "hinge", "squared_hinge", "rank_regress", "exponential", "davidson", "rao_kupper",
    "list_mle", "list_net", "pmop_arithmetic", "pmop_maximum", "pmop_minimum", "lambdarank",
)  # fmt: skip


def make(size: Size, seed: int, test_share: float = 0.0) -> Inputs:
    """Draw a set; the last ``test_share`` of its queries are for testing."""
    rng = np.random.default_rng(seed)
    queries, documents, features = size["queries"], size["documents"], size["features"]
    X = np.empty((queries * documents, features), np.float32)
    for first in range(0, len(X), 1 << 14):
        X[first : first + (1 << 14)] = rng.standard_normal((len(X[first : first + (1 << 14)]), features), np.float32)
    truth = rng.standard_normal(features).astype(np.float32) / np.float32(np.sqrt(features))
    y = np.digitize(X @ truth + rng.normal(scale=0.5, size=len(X)), [0.0, 0.8, 1.4, 2.0]).astype(np.float64)
    qid = np.repeat(np.arange(queries), documents)
    last = int(queries * (1 - test_share)) * documents
    made: Inputs = {"X": X[:last], "y": y[:last], "qid": qid[:last], "start": truth * np.float32(0.5)}
    return {**made, "X_test": X[last:], "y_test": y[last:], "qid_test": qid[last:]} if test_share else made


def loss_of(name: str) -> Any:
    """Return a loss by its name here."""
    from concordant import losses

    if name.startswith("pmop_"):
        from concordant.losses.ordered_partitions import ExtremePartitionLoss, MeanPartitionLoss

        is_maximum = name == "pmop_maximum"
        return MeanPartitionLoss() if name == "pmop_arithmetic" else ExtremePartitionLoss(is_maximum=is_maximum)
    return losses.load(name)()


def evaluate_once(inputs: Inputs, *, loss: str) -> Task:
    """Evaluate objective and gradient of a linear model once."""
    from concordant.losses.queries import Queries
    from concordant.scorers.linear import Linear
    from concordant.solvers.objective import Objective

    chosen = loss_of(loss)
    queries = Queries.from_rows(inputs["y"], inputs["qid"])
    objective = Objective(Linear(inputs["X"].shape[1]), chosen, inputs["X"], queries)
    theta = np.concatenate([inputs["start"].astype(np.float64), np.array(chosen.own_start, float)])
    return Task(lambda: objective(theta), partial(_value, len(inputs["start"])))


def _value(features: int, found: tuple[float, Any]) -> Answer:
    return {"value": np.array([found[0]]), "gradient": np.asarray(found[1])[:features]}


def is_near(ours: Answer, theirs: Answer) -> bool:
    """Say whether values and gradients agree to the precision of float32 sums."""
    if not len(theirs.get("gradient", ())):
        return True
    scale = np.abs(theirs["gradient"]).max()
    return bool(
        np.allclose(ours["value"], theirs["value"], rtol=1e-3)
        and np.abs(ours["gradient"] - theirs["gradient"]).max() < 1e-2 * scale
    )


def fit(inputs: Inputs, *, name: str, **params: Any) -> Task:
    """Fit a ranker; the answer is its mean NDCG@5 on the test queries."""
    from concordant import learn

    def run() -> Any:
        return learn.load(name)(**params).fit(inputs["X"], inputs["y"], qid=inputs["qid"])

    return Task(run, partial(quality, inputs))


def quality(inputs: Inputs, model: Any) -> Answer:
    """Return the mean NDCG@5 of a fitted model on the test queries."""
    from concordant import metrics

    if "X_test" not in inputs:
        return {}
    scores = np.asarray(model.predict(inputs["X_test"]), float)
    values = metrics.evaluate_arrays(scores, inputs["y_test"], inputs["qid_test"], ["ndcg@5"])
    return {"ndcg@5": np.array([metrics.mean(values["ndcg@5"])])}


def is_no_worse(ours: Answer, theirs: Answer) -> bool:
    """Say whether our quality is at least theirs."""
    return bool((ours["ndcg@5"] >= theirs["ndcg@5"]).all())


def _loss_work(loss: str) -> Work:
    torch = {"torch": 1.0} if loss in ("ranknet", "list_mle") else {}
    return Work(
        name=f"loss-{loss.replace('_', '-')}",
        doc=f"one evaluation of the {loss.replace('_', ' ')} loss with gradient, linear, float32",
        sizes=YAHOO,
        make=make,
        ours=partial(evaluate_once, loss=loss),
        rivals={"two_products": 1 / 1.25, **torch},
        agree=is_near,
    )


def _long_work(name: str, **params: Any) -> Work:
    mean = f"-{params['mean']}" if "mean" in params else ""
    loss = f"-{params['loss']}" if "loss" in params else ""
    return Work(
        name=f"long-{name}{mean}{loss}",
        doc=f"fit {name}{mean.replace('-', ' ')}{loss.replace('-', ' ')} to one query of 100,000 documents",
        sizes=LONG,
        make=make,
        ours=partial(fit, name=name, **params),
        budget=10.0,
    )


_MADE_TO_TEST: Callable[[Size, int], Inputs] = partial(make, test_share=0.25)
WORKS = (
    *(_loss_work(loss) for loss in EXACT),
    *(
        Work(
            name=f"fit-{name}",
            doc=f"fit {name} to 1,500 queries, against LightGBM lambdarank; NDCG@5 on 500 others",
            sizes=TWO_THOUSAND,
            make=_MADE_TO_TEST,
            ours=partial(fit, name=name),
            rivals={"lightgbm": 50},
            agree=is_no_worse,
        )
        for name in ("rank-net", "list-mle", "ordered-partition-ranker", "rank-svm")
    ),
    _long_work("rank-svm", loss="hinge"),
    _long_work("rank-svm", loss="squared-hinge"),
    _long_work("rank-regressor"),
    _long_work("loss-ranker", loss="exponential"),
    _long_work("list-mle"),
    _long_work("ordered-partition-ranker", mean="arithmetic"),
    _long_work("ordered-partition-ranker", mean="maximum"),
    _long_work("ordered-partition-ranker", mean="minimum"),
)
