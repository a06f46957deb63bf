"""
Pairwise win matrix of a leaderboard
====================================

The matrix shows the pairwise win rates between language models, in the order of the ranking. Above the diagonal, blue
means that the ranking agrees with the votes, and red marks a pairwise result that contradicts it.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
votes = cc.read(examples / "model-votes.csv")
ranking = cc.rank(votes, "copeland")

duels = cc.views.win_matrices(votes)
wins, ties = duels.matrix(), duels.tie_matrix()
with np.errstate(invalid="ignore"):
    share = (wins + ties / 2) / (wins + wins.T + ties)
share = share[np.ix_(ranking.order, ranking.order)]

# %%
# Each cell is the win rate of the row against the column; ties count as half a win.
figure, axes = plt.subplots(figsize=(6.2, 5), layout="constrained")
image = axes.imshow(share, cmap="RdBu", vmin=0, vmax=1)
axes.set_xticks(range(len(ranking.items)), ranking.items, rotation=40, ha="right")
axes.set_yticks(range(len(ranking.items)), ranking.items)
for i, j in zip(*np.nonzero(~np.isnan(share)), strict=True):
    color = "white" if abs(share[i, j] - 0.5) > 0.3 else "black"
    axes.text(j, i, f"{share[i, j]:.0%}", ha="center", va="center", fontsize=8, color=color)
bar = figure.colorbar(image, label="win rate of the row")
bar.outline.set_visible(False)
