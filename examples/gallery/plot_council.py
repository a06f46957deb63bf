"""
STV count: three seats, seven candidates
========================================

A ward elects three councillors by the single transferable vote (STV). The picture shows the votes at every stage.
Surpluses are transferred at a reduced value, votes of eliminated candidates at full value, and some ballots become
exhausted.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
ranking = cc.rank(cc.read(examples / "council.csv"), "stv", seats=3)
for sentence in ranking.explain().reasons[0].sentences:
    print(sentence)

# %%
# ``ranking.explain().draw()`` (``rank --explain-picture FILE``) draws the flow of votes as SVG. This plot shows the
# votes of every candidate at every stage, and the quota.
votes = next(reason for reason in ranking.explain().reasons if reason.rows)
figure, axes = plt.subplots(figsize=(7, 3.8), layout="constrained")
for name, *counts in votes.rows:
    heights = [float(count.replace(",", "")) for count in counts if count]
    style = ":" if name.startswith("non-transferable") else "-"
    axes.plot(range(1, len(heights) + 1), heights, style, marker="o", label=name)
axes.axhline(140, color="black", lw=1, ls="--")
axes.annotate("quota", (1, 140), xytext=(0, 4), textcoords="offset points")
axes.set(xlabel="stage", ylabel="votes")
axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
axes.spines[["top", "right"]].set_visible(False)
