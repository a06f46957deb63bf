"""
Leaderboard with 95% confidence intervals
=========================================

240 votes compare eight language models; one in five is a tie. Davidson's model gives scores with 95% confidence
intervals. Neighbouring intervals overlap, so the order in the leaderboard is uncertain. Confidence intervals of ranks
show which ranks are plausible for each model, with a simultaneous confidence of 95%.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
ranking = cc.rank(cc.read(examples / "model-votes.csv"))
print(ranking.method, "because the data are pairs with many ties")
print(f"{ranking.items[0]} is the best model with probability {ranking.detail('p_best')[0]:.0%}")

# %%
# Left: scores with 95% confidence intervals. Right: confidence intervals of the ranks.
figure, (left, right) = plt.subplots(1, 2, figsize=(8.5, 3.4), sharey=True, layout="constrained")
place = range(len(ranking.items))
left.hlines(place, ranking.low, ranking.high, lw=2, alpha=0.5)
left.plot(ranking.scores, place, "o")
left.set(xlabel="score (95% CI)", yticks=place, yticklabels=ranking.items)
left.invert_yaxis()
for k, (low, high) in enumerate(zip(ranking.detail("rank_low"), ranking.detail("rank_high"), strict=True)):
    right.plot([low, high], [k, k], lw=6, solid_capstyle="round", color="tab:orange", alpha=0.6)
right.set(xlabel="rank (95% CI)", xticks=range(1, 9))
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
