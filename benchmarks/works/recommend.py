"""Recommending: a sweep of the solver beside its multiply-adds, whole fits, newcomers, and lists for everybody.

Ratings are simulated: popular items are rated more often, and a rating is rounded from biases and a product of hidden
factors with noise. Where ``CONCORDANT_DATA`` is set, ``factor-fit`` of full size reads MovieLens 1M instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks.core import Answer, Inputs, Size, Task, Work, sizes

AXES = "agents items ratings factors"
MOVIELENS = sizes(AXES, tiny=(60, 40, 15, 3), small=(1500, 1000, 100, 10), full=(6040, 3706, 166, 10))
PAPER = sizes(AXES, tiny=(40, 30, 10, 40), small=(4000, 2000, 50, 100), full=(21_649, 5247, 50, 100))
PAPER_10 = {name: {**size, "factors": 4 if name == "tiny" else 10} for name, size in PAPER.items()}
TRUE_FACTORS = 8
FEWEST = 5  # ratings of an agent
TRAINING, VALIDATION, TESTING = 0, 1, 2  # numbers of the parts, 80%, 10% and 10%
AT_ONCE = 500  # agents whose items are drawn together
NEW_RATINGS = 5
LISTED = 10
SETTLED = 8  # sweeps after which a variational fit knows its priors


# ---- ratings ----
def make(size: Size, seed: int, *, spread: float = 0.9) -> Inputs:
    """Draw ratings; ``spread`` is that of the logarithm of how many an agent gives, 0 for as many by all."""
    rng = np.random.default_rng(seed)
    agents, items, wanted = size["agents"], size["items"], size["ratings"]
    count = np.exp(rng.normal(-(spread**2) / 2, spread, agents)) * wanted
    count = np.clip(np.rint(count), min(FEWEST, wanted), items // 2 if spread else wanted).astype(np.int64)
    agent = np.repeat(np.arange(agents), count)
    item = np.concatenate([_drawn(rng, count[k : k + AT_ONCE], items) for k in range(0, agents, AT_ONCE)])
    scale = np.sqrt(0.45) / TRUE_FACTORS**0.25  # of products with a standard deviation of 0.45
    p, q = rng.normal(0, scale, (agents, TRUE_FACTORS)), rng.normal(0, scale, (items, TRUE_FACTORS))
    score = 3.6 + rng.normal(0, 0.45, agents)[agent] + rng.normal(0, 0.55, items)[item]
    score += np.einsum("ed,ed->e", p[agent], q[item]) + rng.normal(0, 0.8, len(agent))
    rating = np.clip(np.rint(score), 1, 5)
    return _parted({"agent": agent, "item": item, "rating": rating, "factors": size["factors"]}, rng)


def _drawn(rng: np.random.Generator, count: np.ndarray, items: int) -> np.ndarray:
    """Draw different items for some agents: the first ones of all are popular."""
    popular = (-1.1 * np.log(np.arange(items) + 0.02 * items + 1)).astype(np.float32)
    luck = popular + rng.gumbel(size=(len(count), items)).astype(np.float32)
    order = np.argsort(-luck, axis=1)
    return order[np.arange(items) < count[:, None]]


def _parted(ratings: Inputs, rng: np.random.Generator) -> Inputs:
    """Say of every rating which part it belongs to, and how many agents and items there are."""
    part = rng.choice(3, len(ratings["agent"]), p=(0.8, 0.1, 0.1))
    numbers = {f"n_{name}s": int(ratings[name].max()) + 1 for name in ("agent", "item")}
    return {**ratings, **numbers, "part": part}


def make_movielens(size: Size, seed: int) -> Inputs:
    """Read MovieLens 1M where it is given and wanted, or draw something like it."""
    if size != MOVIELENS["full"] or "CONCORDANT_DATA" not in os.environ:
        return make(size, seed)
    from concordant import datasets
    from concordant.recommend._observed import Observed

    found = Observed.of(datasets.load("ml-1m"))
    ratings = {"agent": found.agent.astype(np.int64), "item": found.item.astype(np.int64), "rating": found.value}
    return _parted({**ratings, "factors": size["factors"]}, np.random.default_rng(seed))


def columns(inputs: Inputs, part: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return agents, items and ratings of one part."""
    chosen = inputs["part"] == part
    return inputs["agent"][chosen], inputs["item"][chosen], inputs["rating"][chosen]


def prefs_of(inputs: Inputs, part: int | None = None) -> Any:
    """Return the preferences of one part, or of all ratings."""
    import concordant as cc

    given = [inputs[name] for name in ("agent", "item", "rating")] if part is None else columns(inputs, part)
    return cc.Preferences.from_ratings(*given)


def quality(inputs: Inputs, score: np.ndarray, part: int = VALIDATION) -> float:
    """Return the mean NDCG@10 over agents of the scores of one part's ratings."""
    from concordant import metrics

    agent, _, rating = columns(inputs, part)
    found = metrics.evaluate_arrays(score, rating, agent, ["ndcg@10"], ties="average")
    return float(metrics.mean(found["ndcg@10"]))


# ---- rivals ----
def timed(inputs: Inputs, fit: Callable[[], Any], scores: Callable[[Any, Inputs], np.ndarray]) -> Task:
    """Return a rival's fit as a task; the answer is the validation NDCG@10."""
    return Task(fit, lambda model: {"ndcg@10": np.array([quality(inputs, scores(model, inputs))])})


def best_setting(
    grid: Iterable[dict[str, Any]], epochs: tuple[str, Sequence[int]], reached: Callable[..., float]
) -> tuple[float, dict[str, Any]]:
    """Return the best of what settings reach, and the setting; more epochs only while they help."""
    found, (name, steps) = [], epochs
    for settings in grid:
        before = -1.0
        for step in steps:
            now = reached(**settings, **{name: step})
            found.append((now, {**settings, name: step}))
            if now < before:
                break
            before = now
    return max(found, key=lambda one: one[0])


# ---- one sweep ----
def sweep(inputs: Inputs, *, ridge: float | str, precision: str) -> Task:
    """Solve the agents and then the items once, from where the sweep before ended."""
    from concordant.recommend import OrderedPartitionMF
    from concordant.recommend._alternating import Alternating
    from concordant.recommend._observed import Observed

    model = OrderedPartitionMF(factors=inputs["factors"], ridge=ridge, precision=precision, threads=1)
    observed = Observed.of(prefs_of(inputs))
    fit = Alternating(observed, model._plan(), model._start(observed, None))
    for _ in range(SETTLED if ridge == "auto" else 1):
        fit.step()
    return Task(fit.step, lambda _: {"objective": np.array([fit.objective()])})


def _sweep_work(name: str, doc: str, precision: str, ridge: float | str = 12.0, **changes: Any) -> Work:
    first = Work(
        name=f"factor-sweep{name}",
        doc=f"a sweep of ordered-partition-mf, {precision} precision{doc}, beside its multiply-adds",
        sizes=PAPER,
        make=partial(make, spread=0.0),
        ours=partial(sweep, ridge=ridge, precision=precision),
        rivals={"batched_products": 1 / 2},
        agree=lambda ours, _: bool(np.isfinite(ours["objective"]).all()),
    )
    return first.but(first.name, first.doc, **changes)


# ---- whole fits ----
def models(factors: int, precision: str) -> dict[str, Any]:
    """Return the models whose fits are compared: PMF as it is, with priors from the data, and ordered partitions."""
    from concordant.recommend import PMF, OrderedPartitionMF

    settings: dict[str, Any] = {"factors": factors, "precision": precision, "threads": 1, "tolerance": 0.0}
    return {
        "pmf": PMF(**settings),
        "auto": PMF(**settings, ridge="auto", sweeps=50),
        "partition": OrderedPartitionMF(**settings),
    }


def qualities(model: Any, inputs: Inputs) -> list[float]:
    """Return the validation NDCG@10 after every sweep, until it no longer rises."""
    found: list[float] = []
    model.fit(
        prefs_of(inputs, TRAINING),
        validation=prefs_of(inputs, VALIDATION),
        progress=lambda now: found.append(now.quality),
    )
    return found


def fit_for(model: Any, inputs: Inputs, sweeps: int) -> Task:
    """Fit with so many sweeps; the answer is the validation NDCG@10."""
    from dataclasses import replace

    prefs, chosen = prefs_of(inputs, TRAINING), replace(model, sweeps=sweeps)
    agent, item, _ = columns(inputs, VALIDATION)

    def answer(fitted: Any) -> Answer:
        return {"ndcg@10": np.array([quality(inputs, fitted.predict(agent, item))]), "ratings": np.array([len(agent)])}

    return Task(lambda: chosen.fit(prefs), answer)


def fit_to_best(inputs: Inputs, *, name: str, precision: str) -> Task:
    """Fit with as many sweeps as the validation ratings like best."""
    model = models(inputs["factors"], precision)[name]
    return fit_for(model, inputs, 1 + int(np.argmax(qualities(model, inputs))))


def is_as_good(ours: Answer, theirs: Answer) -> bool:
    """Say whether we rank the validation ratings no worse, but for what ten of them may change."""
    return bool((ours["ndcg@10"] >= theirs["ndcg@10"] - 10 / ours["ratings"]).all())


def _fit_work(name: str, doc: str, precision: str, rivals: str) -> Work:
    return Work(
        name=f"factor-fit-{name}{'-double' if precision == 'double' else ''}",
        doc=f"fit {doc}, {precision} precision, to its best validation NDCG@10, against others to theirs",
        sizes=MOVIELENS,
        make=make_movielens,
        ours=partial(fit_to_best, name=name, precision=precision),
        rivals=dict.fromkeys(rivals.split(), 1.0),
        agree=is_as_good,
    )


# ---- newcomers and lists ----
def make_fitted(size: Size, seed: int) -> Inputs:
    """Draw ratings and fit a model to them, for works that use one."""
    from concordant.recommend import OrderedPartitionMF

    inputs = make(size, seed)
    model = OrderedPartitionMF(factors=size["factors"], sweeps=SETTLED, threads=1).fit(prefs_of(inputs))
    return {**inputs, "model": model}


def welcome(inputs: Inputs) -> Task:
    """Fold in somebody with five ratings, and recommend ten items."""
    model = inputs["model"]
    labels = model.items.labels
    ratings = {labels[k * len(labels) // NEW_RATINGS]: rating for k, rating in enumerate((5.0, 4.0, 4.0, 2.0, 1.0))}

    def call() -> Any:
        return model.fold_in(ratings).recommend(n=LISTED)

    return Task(call, lambda ranking: {"score": np.asarray(ranking.scores)})


def recommend_all(inputs: Inputs) -> Task:
    """List ten items that every agent has not seen."""

    def answer(ranking: Any) -> Answer:
        return {"score": ranking.score.reshape(-1, LISTED)}

    return Task(lambda: inputs["model"].recommend(n=LISTED), answer)


def is_same_lists(ours: Answer, theirs: Answer) -> bool:
    """Say whether both list items with the same scores, to the precision of float32."""
    return ours["score"].shape == theirs["score"].shape and np.allclose(ours["score"], theirs["score"], atol=1e-4)


WORKS = (
    _sweep_work("", "", "single"),
    _sweep_work("-double", "", "double"),
    _sweep_work("-auto", ", variational", "single", "auto"),
    _sweep_work("-10", ", ten factors", "single", sizes=PAPER_10),
    _sweep_work("-10-double", ", ten factors", "double", sizes=PAPER_10),
    _fit_work("pmf", "pmf", "single", "cornac"),
    _fit_work("pmf", "pmf", "double", "cornac"),
    _fit_work("auto", "pmf with ridge=auto", "single", "cornac"),
    _fit_work("auto", "pmf with ridge=auto", "double", "cornac"),
    _fit_work("partition", "ordered-partition-mf", "single", "cornac surprise lenskit"),
    _fit_work("partition", "ordered-partition-mf", "double", "cornac"),
    Work("fold-in", "five ratings of a newcomer, ten items for it", MOVIELENS, make_fitted, welcome, budget=0.005),
    Work(
        "recommend-all",
        "ten items for every agent",
        MOVIELENS,
        make_fitted,
        recommend_all,
        {"plain_numpy": 1.0, "cornac": None},
        is_same_lists,
    ),
)
