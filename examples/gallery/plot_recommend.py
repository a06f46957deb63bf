"""
Recommender systems: matrix factorisation against popularity
============================================================

Popularity is a reasonable baseline for every user. With a few ratings per user, latent factors predict better. Users
and films are simulated, and an average of ten ratings per user is held out for evaluation.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc
from concordant.recommend import PMF, OrderedPartitionMF, Popular, split

rng = np.random.default_rng(8)
n_agents, n_items, n_tastes = 300, 80, 3
likes, is_like = rng.normal(size=(n_agents, n_tastes)), rng.normal(size=(n_items, n_tastes))
score = likes @ is_like.T + rng.normal(0, 0.7, n_items) + rng.normal(0, 0.8, (n_agents, n_items))
stars = np.digitize(score, np.quantile(score, [0.2, 0.4, 0.6, 0.8])) + 1

recommenders = {"popular": Popular(), "pmf": PMF(ridge="auto"), "ordered-partition-mf": OrderedPartitionMF()}
sizes = [5, 10, 20, 40]
quality = {name: [] for name in recommenders}
for size in sizes:
    agent, item = np.nonzero(rng.random((n_agents, n_items)) < (size + 10) / n_items)
    who, what = [f"a{k}" for k in agent], [f"film {k}" for k in item]
    ratings = cc.Preferences.from_ratings(who, what, stars[agent, item])
    train, test = split(ratings, 10 / (size + 10), seed=0)
    for name, recommender in recommenders.items():
        quality[name].append(recommender.fit(train).score(test, "ndcg@5"))

# %%
# NDCG@5 on held-out ratings by the number of training ratings per user.
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
for name, values in quality.items():
    axes.plot(sizes, values, marker="o", label=name)
axes.set(xlabel="training ratings per user", ylabel="NDCG@5", xscale="log", xticks=sizes, xticklabels=sizes)
axes.minorticks_off()
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
