"""What people write by hand: loops over dictionaries and lists."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations, groupby
from typing import Any

from benchmarks.core import Answer, Inputs, LeftOutError, Task

Scored = list[tuple[str, float]]


def _best_first(scores: dict[str, float]) -> Scored:
    return sorted(scores.items(), key=lambda pair: -pair[1])


def _ranking(fused: dict[str, Scored]) -> Answer:
    import numpy as np

    rows = [(int(query[1:]), int(item[1:]), score) for query, scored in fused.items() for item, score in scored]
    instance, item, score = zip(*rows, strict=True)
    return {"instance": np.array(instance), "item": np.array(item), "score": np.array(score)}


def _centred(scored: Scored) -> Answer:
    answer = _ranking({"q0": scored})
    return {**answer, "score": answer["score"] - answer["score"].mean()}


def rrf(inputs: Inputs) -> Task:
    """Fuse all queries with a dictionary of dictionaries."""
    columns = [column if isinstance(column, list) else column.tolist() for column in _rrf_columns(inputs)]

    def fuse() -> dict[str, Scored]:
        scores: dict[str, dict[str, float]] = {}
        for query, document, rank in zip(*columns, strict=True):
            of_query = scores.get(query)
            if of_query is None:
                of_query = scores[query] = {}
            of_query[document] = of_query.get(document, 0.0) + 1.0 / (60.0 + rank)
        return {query: _best_first(of_query) for query, of_query in scores.items()}

    return Task(fuse, _ranking)


def _rrf_columns(inputs: Inputs) -> tuple[Any, Any, Any]:
    return inputs["query"], inputs["document"], inputs["rank"]


def rrf_arrow(inputs: Inputs) -> Task:
    """Fuse as above: a loop needs Python objects, so they are made beforehand, one per distinct label."""
    import numpy as np

    objects = {"rank": inputs["rank"].to_pylist()}
    for name in ("query", "document"):
        encoded = inputs[name].dictionary_encode()
        labels = np.array(encoded.dictionary.to_pylist(), object)
        objects[name] = labels[encoded.indices.to_numpy()].tolist()
    return rrf(objects)


users_rrf_strings, users_rrf_arrow = rrf, rrf_arrow


def fuse(inputs: Inputs) -> Task:
    """Fuse the lists of one query."""
    lists = inputs["lists"]

    def fuse_lists() -> Scored:
        scores: dict[str, float] = {}
        for results in lists:
            for rank, document in enumerate(results, 1):
                scores[document] = scores.get(document, 0.0) + 1.0 / (60.0 + rank)
        return _best_first(scores)

    return Task(fuse_lists, lambda scored: _ranking({"q0": scored}))


fuse_short = fuse_many = users_fuse_3x10 = users_fuse_10x10 = users_fuse_10x100 = fuse


def borda(inputs: Inputs) -> Task:
    """Add up points ballot by ballot."""
    rankings = inputs["rankings"]

    def count() -> Scored:
        scores: dict[str, float] = defaultdict(float)
        for ranking in rankings:
            for below, item in enumerate(reversed(ranking)):
                scores[item] += below
        return _best_first(scores)

    return Task(count, _centred)


def copeland(inputs: Inputs) -> Task:
    """Hold every duel, ballot by ballot."""
    rankings = inputs["rankings"]
    if len(rankings) * len(rankings[0]) ** 2 > 1e7:
        raise LeftOutError("a loop takes minutes at this size")

    def duel() -> Scored:
        wins: dict[tuple[str, str], int] = defaultdict(int)
        for ranking in rankings:
            for better, worse in combinations(ranking, 2):
                wins[better, worse] += 1
        scores = dict.fromkeys(rankings[0], 0.0)
        for a, b in combinations(rankings[0], 2):
            margin = wins[a, b] - wins[b, a]
            scores[a] += (margin > 0) + (margin == 0) / 2
            scores[b] += (margin < 0) + (margin == 0) / 2
        return _best_first(scores)

    return Task(duel, _centred)


users_borda, users_copeland = borda, copeland


def retrieval(inputs: Inputs) -> Task:
    """Evaluate from dictionaries of scores and of labels."""
    run, judgements = dictionaries(inputs)

    def evaluate() -> list[tuple[float, float]]:
        return [_ndcg_and_precision(run[query], judgements[query]) for query in run]

    def answer(values: list[tuple[float, float]]) -> Answer:
        import numpy as np

        ndcg, precision = zip(*values, strict=True)
        return {"ndcg": np.array(ndcg), "map": np.array(precision)}

    return Task(evaluate, answer)


retrieval_arrays = retrieval


def _ndcg_and_precision(scores: dict[str, float], labels: dict[str, int]) -> tuple[float, float]:
    ranked = sorted(scores, key=lambda document: -scores[document])
    gains = [labels.get(document, 0) for document in ranked]
    best = sorted(labels.values(), reverse=True)
    ideal = sum(gain / math.log2(position + 1) for position, gain in enumerate(best[:10], 1))
    found, total = 0, 0.0
    for position, gain in enumerate(gains, 1):
        if gain >= 1:
            found += 1
            total += found / position
    relevant = sum(gain >= 1 for gain in best)
    dcg = sum(gain / math.log2(position + 1) for position, gain in enumerate(gains[:10], 1))
    return (dcg / ideal if ideal else 0.0), (total / relevant if relevant else 0.0)


def dictionaries(inputs: Inputs) -> tuple[dict[str, dict[str, float]], dict[str, dict[str, int]]]:
    """Write a run and its judgements as dictionaries, the form other libraries take too."""
    run, judgements = {}, {}
    for query, documents, scores, labels in zip(
        inputs["query"], inputs["document"], inputs["score"].tolist(), inputs["label"].tolist(), strict=True
    ):
        run[query] = dict(zip(documents, scores, strict=True))
        judgements[query] = {d: label for d, label in zip(documents, labels, strict=True) if label >= 0}
    return run, judgements


def users_glicko2(inputs: Inputs) -> Task:
    """Glickman's steps in loops, month by month."""
    months = inputs["time"].astype("datetime64[M]").astype(int).tolist()
    games = list(zip(months, inputs["winner"].tolist(), inputs["loser"].tolist(), strict=True))
    tau, start, scale = 0.5, 350 / 173.7178, 173.7178

    def volatility_after(sigma: float, sd: float, variance: float, delta: float) -> float:
        a = math.log(sigma**2)

        def f(x: float) -> float:
            power = math.exp(x)
            total = sd**2 + variance + power
            return power * (delta**2 - total) / (2 * total**2) - (x - a) / tau**2

        left, right, k = a, 0.0, 1
        if delta**2 > sd**2 + variance:
            right = math.log(delta**2 - sd**2 - variance)
        else:
            while f(a - k * tau) < 0:
                k += 1
            right = a - k * tau
        at_left, at_right = f(left), f(right)
        while abs(right - left) > 1e-10 and at_left != at_right:
            middle = left + (left - right) * at_left / (at_right - at_left)
            at_middle = f(middle)
            if at_middle * at_right <= 0:
                left, at_left = right, at_right
            else:
                at_left /= 2
            right, at_right = middle, at_middle
        return math.exp(left / 2)

    def play() -> dict[int, list[float]]:
        state: dict[int, list[float]] = {}  # mean, deviation, volatility, last month
        for month, played in groupby(games, key=lambda game: game[0]):
            meetings: dict[int, list[tuple[int, float]]] = {}
            for _, won, lost in played:
                meetings.setdefault(won, []).append((lost, 1.0))
                meetings.setdefault(lost, []).append((won, 0.0))
            before = {}
            for item in meetings:
                mean, sd, sigma, seen = state.get(item, [0.0, start, 0.06, month - 1])
                before[item] = mean, min(math.sqrt(sd**2 + (month - 1 - seen) * sigma**2), start), sigma
            for item, met in meetings.items():
                mean, sd, sigma = before[item]
                information = gain = 0.0
                for opponent, result in met:
                    g = 1 / math.sqrt(1 + 3 * before[opponent][1] ** 2 / math.pi**2)
                    e = 1 / (1 + math.exp(-g * (mean - before[opponent][0])))
                    information += g * g * e * (1 - e)
                    gain += g * (result - e)
                sigma = volatility_after(sigma, sd, 1 / information, gain / information)
                after = 1 / (1 / (sd**2 + sigma**2) + information)
                state[item] = [mean + after * gain, math.sqrt(after), sigma, month]
        return state

    def answer(state: dict[int, list[float]]) -> Answer:
        import numpy as np

        score = np.full(inputs["items"], 0.0)
        for item, (mean, *_) in state.items():
            score[item] = 1500 + scale * mean
        return {"score": score - score.mean()}

    return Task(play, answer)
