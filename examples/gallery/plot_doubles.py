"""
Who carries the team?
=====================

Seventy matches of doubles with changing partners. The share of matches won mixes players up with their partners; a
model in which a team is as strong as its members together takes both sides of the net into account.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
matches = cc.read(examples / "doubles.csv", team="team", ballot="match")
ranking = cc.rank(matches, "bradley-terry")
is_won = matches.tier == 0
share = np.bincount(matches.item, is_won) / np.bincount(matches.item)

# %%
# The order of strengths against the share of matches won; the names stand in the true order, Mira first.
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
won = [share[matches.items.code(item)] for item in ranking.items]
axes.hlines(range(len(won)), ranking.low, ranking.high, lw=2, alpha=0.4)
axes.plot(ranking.scores, range(len(won)), "o")
labels = [f"{item}  ({part:.0%} won)" for item, part in zip(ranking.items, won, strict=True)]
axes.set(xlabel="strength", yticks=range(len(won)), yticklabels=labels)
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
