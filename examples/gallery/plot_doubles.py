"""
Team games: strength of each doubles player
===========================================

The data are seventy doubles matches with changing partners. A player's win rate depends on partners and opponents. A
model in which the strength of a team is the sum of its members' strengths accounts for both.
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
# Estimated strengths with 95% confidence intervals; the labels show the win rate. The true order starts with Mira.
figure, axes = plt.subplots(figsize=(6, 3.6), layout="constrained")
won = [share[matches.items.code(item)] for item in ranking.items]
axes.hlines(range(len(won)), ranking.low, ranking.high, lw=2, alpha=0.4)
axes.plot(ranking.scores, range(len(won)), "o")
labels = [f"{item}  ({part:.0%} won)" for item, part in zip(ranking.items, won, strict=True)]
axes.set(xlabel="strength (95% CI)", yticks=range(len(won)), yticklabels=labels)
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
