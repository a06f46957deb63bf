"""
Style control: the best answers, or the longest?
================================================

Voters in an arena prefer long answers. With the difference in length of the two answers as a covariate, the model
separates the effect of length from the strength of the language models. Verbose models fall in the ranking, concise
models rise.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
votes = cc.read(examples / "arena-style.csv", covariate="length_a,length_b")
ranking = cc.rank(votes)
plain = ranking.model.uncorrected
length = ranking.coefficients[0]
print(f"effect of a hundred additional words: {100 * length.value:+.2f} ± {196 * length.stderr:.2f} log odds")

# %%
# Left: scores without the correction. Right: scores with it.
figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
before = dict(zip(plain.items, plain.scores, strict=True))
for item, score in zip(ranking.items, ranking.scores, strict=True):
    color = "tab:green" if score > before[item] + 0.3 else "tab:red" if score < before[item] - 0.3 else "tab:gray"
    axes.plot([0, 1], [before[item], score], marker="o", color=color)
    axes.annotate(item, (1, score), xytext=(8, 0), textcoords="offset points", va="center")
axes.set(xticks=[0, 1], xticklabels=["as voted", "at equal length"], ylabel="score", xlim=(-0.2, 1.6))
axes.spines[["top", "right"]].set_visible(False)
