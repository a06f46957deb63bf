"""
How many votes are enough? A power study
========================================

Simulate votes with known scores, rank them, and compare the estimates with the true scores. The error is inversely
proportional to the square root of the number of votes, and the coverage of the confidence intervals is close to 95%.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(3)
truth = np.sort(rng.normal(0, 0.8, 20))[::-1]
truth -= truth.mean()
names = [f"m{k:02d}" for k in range(20)]
sizes = [200, 600, 2_000, 6_000, 20_000]
errors, covered = [], []
for n in sizes:
    off, inside = [], []
    for seed in range(10):
        votes = cc.simulate.bradley_terry(20, n, scores=truth, seed=seed)
        ranking = cc.rank(votes, "bradley-terry")
        order = [int(label.removeprefix("item")) - 1 for label in ranking.items]
        off.append(np.abs(ranking.scores - truth[order]).mean())
        inside.append(((ranking.low <= truth[order]) & (truth[order] <= ranking.high)).mean())
    errors.append(np.mean(off))
    covered.append(np.mean(inside))
print("coverage of 95% confidence intervals:", ", ".join(f"{share:.0%}" for share in covered))

# %%
# Four times as many votes halve the error.
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
axes.loglog(sizes, errors, marker="o", label="mean absolute error of a score")
axes.loglog(sizes, errors[0] * np.sqrt(sizes[0] / np.array(sizes)), ls=":", color="black", label="1 / √votes")
axes.set(xlabel="votes", ylabel="error")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
