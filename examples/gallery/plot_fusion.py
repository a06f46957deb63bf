"""
Rank fusion of four search engines
==================================

Four search engines answer twelve topics. On average the fused runs are better than the best single engine, although one
of the four is hardly better than random.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import concordant as cc
from concordant.evaluation import ranking_of_run

examples = Path(sys.argv[0]).resolve().parent.parent
paths = sorted((examples / "runs").glob("*.run"))
labels = cc.read_labels(examples / "qrels.txt")

metric = "ndcg@10"
systems = {path.stem: cc.evaluate(ranking_of_run(cc.read(path)), labels, metric) for path in paths}
runs = cc.read(paths)
systems |= {name: cc.evaluate(cc.rank(runs, name), labels, metric) for name in ("rrf", "combmnz", "borda")}

# %%
# One dot per topic; the bar is the mean.
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for k, (name, result) in enumerate(systems.items()):
    color = "tab:gray" if name.startswith("engine") else "tab:blue"
    axes.barh(k, result[metric], color=color, alpha=0.35)
    axes.scatter(result.per_instance[metric], [k] * len(result.per_instance[metric]), s=12, color=color)
axes.set_yticks(range(len(systems)), list(systems))
axes.set(xlabel="NDCG@10", xlim=(0, 1))
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
