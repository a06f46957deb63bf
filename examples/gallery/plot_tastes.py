"""
Mixture model: one consensus, or several groups?
================================================

Two groups of guests rank eight dishes. A single consensus suits neither. A mixture model finds the groups, their sizes,
and the group of each guest.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

dishes = ["ramen", "sushi", "curry", "pizza", "tacos", "salad", "stew", "pie"]
rng = np.random.default_rng(2)
meaty = np.array([0.5, -1.0, 1.0, 0.8, 0.6, -2.0, 1.4, 0.3])
light = np.array([0.2, 1.6, -0.2, -0.8, -0.1, 1.5, -1.4, -0.8])
kind = rng.random(120) < 0.6
noisy = np.where(kind[:, None], meaty, light) + rng.gumbel(0, 0.6, (120, 8))
ballots = [[dishes[k] for k in order] for order in np.argsort(-noisy, axis=1)]
guests = cc.Preferences.from_rankings(ballots, agent=[f"guest {k}" for k in range(120)])

types = cc.rank(guests, "mpm-mixture", components=2).model
whole = cc.rank(guests, "mpm")
print("sizes of the groups:", ", ".join(f"{share:.0%}" for share in types.shares))

# %%
# The ranking of the dishes for all guests and for each group.
figure, axes = plt.subplots(figsize=(6.8, 3.8), layout="constrained")
columns = [whole, *types.types]
for dish in dishes:
    places = [part.items.index(dish) + 1 for part in columns]
    axes.plot(range(3), places, marker="o", alpha=0.8)
    axes.annotate(dish, (2, places[-1]), xytext=(8, 0), textcoords="offset points", va="center")
labels = ["all guests", *(f"group {k + 1} ({share:.0%})" for k, share in enumerate(types.shares))]
axes.set(xticks=range(3), xticklabels=labels, ylabel="rank", yticks=range(1, 9), xlim=(-0.2, 2.5))
axes.invert_yaxis()
axes.spines[["top", "right"]].set_visible(False)
