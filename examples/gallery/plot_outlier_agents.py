"""
Outlier judges in a panel
=========================

Twenty judges rank ten items; two of them reverse the order. Their agreement with the majority of the other judges
identifies them as outliers.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc
from concordant.analysis.findings import agreement

rng = np.random.default_rng(1)
orders = [np.argsort(np.arange(10) + rng.normal(0, 2.0, 10)) for _ in range(20)]
orders[7], orders[15] = orders[7][::-1], orders[15][::-1]
ballots = [[f"item {k}" for k in order] for order in orders]
prefs = cc.Preferences.from_rankings(ballots, agent=[f"judge {k + 1}" for k in range(20)])

found = agreement(prefs)
print(prefs.describe().finding("outlier agents").text)

# %%
# The share of each judge's pairs that agree with the majority of the others; outliers in red.
figure, axes = plt.subplots(figsize=(7, 3), layout="constrained")
outliers = set(found.outliers().tolist())
colors = ["tab:red" if k in outliers else "tab:blue" for k in range(20)]
axes.bar(range(1, 21), found.share, color=colors)
axes.axhline(found.median, color="black", lw=1, ls=":")
axes.set(xlabel="judge", ylabel="agreement", xticks=range(1, 21), ylim=(0, 1))
axes.spines[["top", "right"]].set_visible(False)
