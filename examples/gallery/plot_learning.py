"""
Learning to rank: eight rankers compared
========================================

The training data have 20 queries with five features and relevance grades 0 to 2. The true relevance is linear except
for one product of two features. Rankers that can model the product do better on 20 held-out queries.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import concordant as cc
from concordant import metrics
from concordant.learn import ListMLE, OrderedPartitionRanker, RankBoost, RankNet, RankSVM, SecondOrderFeatures

examples = Path(sys.argv[0]).resolve().parent.parent
X, y, qid = cc.read_features(examples / "letor" / "train.txt")
new = cc.read_features(examples / "letor" / "test.txt")

rankers = {
    "ListMLE": ListMLE(),
    "RankBoost": RankBoost(rounds=50),
    "RankSVM": RankSVM(),
    "RankNet": RankNet(),
    "ordered partitions": OrderedPartitionRanker(),
    "RankNet, network": RankNet(hidden=8, alpha=1e-3, learning_rate=0.03),
    "RankSVM, kernel": RankSVM(kernel="polynomial", degree=2, C=1),
}


def measured(model):
    """Return NDCG@10 of every held-out query."""
    return metrics.evaluate_arrays(model.predict(new.X), new.y, new.query, ["ndcg@10"])["ndcg@10"]


values = {}
for name, ranker in rankers.items():
    model = make_pipeline(StandardScaler(), ranker)
    model.fit(X, y, **{f"{model.steps[-1][0]}__qid": qid})
    values[name] = measured(model)
products = make_pipeline(SecondOrderFeatures(), StandardScaler(), RankNet()).fit(X, y, ranknet__qid=qid)
values["RankNet, products"] = measured(products)

# %%
# One dot per query; the bar is the mean.
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for k, (name, by_query) in enumerate(values.items()):
    color = "tab:blue" if "," in name else "tab:gray"
    axes.barh(k, by_query.mean(), color=color, alpha=0.35)
    axes.scatter(by_query, [k] * len(by_query), s=12, color=color)
axes.set_yticks(range(len(values)), list(values))
axes.set(xlabel="NDCG@10 on held-out queries", xlim=(0, 1.02))
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)

# %%
# Twenty queries are few: after Holm's correction, none of the paired tests is significant.
print(metrics.compare_systems(values, baseline="RankNet"))
