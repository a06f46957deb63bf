"""
How sure is a leaderboard?
==========================

240 votes between eight language models, one in five a tie. Davidson's model gives scores with intervals; those of
neighbours overlap, so a place in the table is not a fact. Rank intervals say which places each model could hold, all of
them together with a confidence of 95%.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
ranking = cc.rank(cc.read(examples / "model-votes.csv"))
print(ranking.method, "because these are pairs and many tie")
print(f"{ranking.items[0]} is truly the best with a chance of {ranking.detail('p_best')[0]:.0%}")

# %%
# Scores with their intervals on the left, the places each model could hold on the right.
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), sharey=True, layout="constrained")
place = range(len(ranking.items))
left.hlines(place, ranking.low, ranking.high, lw=2, alpha=0.5)
left.plot(ranking.scores, place, "o")
left.set(xlabel="score", yticks=place, yticklabels=ranking.items)
left.invert_yaxis()
for k, (low, high) in enumerate(zip(ranking.detail("rank_low"), ranking.detail("rank_high"), strict=True)):
    right.plot([low, high], [k, k], lw=6, solid_capstyle="round", color="tab:orange", alpha=0.6)
right.set(xlabel="places it could hold", xticks=range(1, 9))
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
