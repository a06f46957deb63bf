"""
Supervised rank fusion: learning which engine to trust
======================================================

Four engines answer forty queries; half of the queries have relevance judgements (qrels). Unsupervised fusion weights
all engines equally. Supervised methods learn weights from the judged half and do better on the held-out half.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(6)
noise = [0.6, 1.2, 2.5, 6.0]
rows, known = [], []
for query in range(40):
    relevance = rng.choice([0, 0, 0, 1, 2], 25)
    known += [(f"q{query}", f"q{query}d{k}", int(grade)) for k, grade in enumerate(relevance)]
    for engine, spread in enumerate(noise):
        best = np.argsort(-(relevance + rng.normal(0, spread, 25)))[:15]
        rows += [(f"engine {engine + 1}", f"q{query}d{k}", place + 1, f"q{query}") for place, k in enumerate(best)]
agent, item, place, query = zip(*rows, strict=True)
runs = cc.Preferences.from_ranks(agent, item, place, instance=query)


def labels_of(queries):
    """Return the relevance judgements of some queries."""
    return cc.Labels(*map(list, zip(*(row for row in known if row[0] in queries), strict=True)))


learn_from, measured_on = [f"q{k}" for k in range(20)], [f"q{k}" for k in range(20, 40)]
rest, labels = runs.select(instances=measured_on), labels_of(measured_on)
systems = {name: cc.rank(rest, name) for name in ("rrf", "combmnz", "borda")}
judged = runs.select(instances=learn_from)
for name, method in (("crf", cc.CRF()), ("supervised-markov-chain", cc.SupervisedMarkovChain())):
    systems[name] = method.fit(judged, labels_of(learn_from)).rank(rest)
values = {name: cc.evaluate(ranking, labels, ["ndcg@10"])["ndcg@10"] for name, ranking in systems.items()}
print({name: round(float(value), 3) for name, value in values.items()})

# %%
# NDCG@10 on the held-out queries.
figure, axes = plt.subplots(figsize=(6.6, 2.8), layout="constrained")
colors = ["tab:orange" if name in ("crf", "supervised-markov-chain") else "tab:blue" for name in values]
axes.barh(list(values), list(values.values()), color=colors)
axes.set(xlabel="NDCG@10", xlim=(0.9 * min(values.values()), 1))
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
