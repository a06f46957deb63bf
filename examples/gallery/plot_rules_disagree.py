"""
Voting rules disagree: five rules, three winners
================================================

A hundred voters rank five candidates. The winner depends on the voting rule. The compromise candidate wins under the
rules that use complete ballots.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
election = cc.read(examples / "election.csv")

methods = ["plurality", "instant-runoff", "borda", "copeland", "schulze"]
names = sorted(election.items.labels)
rank = np.array([[cc.rank(election, m).items.index(name) + 1 for m in methods] for name in names])

# %%
# Each line shows the rank of one candidate under the five rules.
figure, axes = plt.subplots(figsize=(7.5, 3.6), layout="constrained")
for row, name in zip(rank, names, strict=True):
    is_winner = name.startswith("Clara")
    axes.plot(methods, row, marker="o", lw=3 if is_winner else 1.5, alpha=1 if is_winner else 0.6, label=name)
    axes.annotate(name, (len(methods) - 1, row[-1]), xytext=(10, 0), textcoords="offset points", va="center")
axes.set(ylabel="rank", yticks=range(1, len(names) + 1), xlim=(-0.3, len(methods) + 0.1))
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
