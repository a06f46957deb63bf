"""
Five stars from one enthusiast
==============================

By the mean of their stars, films that hardly anybody has seen come first. The multinomial preference model compares
what the same person said of different films and draws what is known badly to the middle; sorted by the low end of its
interval, a film must have earned its place.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(4)
n_users, n_films = 300, 60
quality, taste = rng.normal(0, 1, n_films), rng.normal(0, 0.5, n_users)
seen = rng.random((n_users, n_films)) < np.geomspace(0.6, 0.008, n_films)
user, film = np.nonzero(seen)
stars = np.clip(np.round(3 + 0.8 * quality[film] + taste[user] + rng.normal(0, 0.9, len(user))), 1, 5)
ratings = cc.Preferences.from_ratings([f"u{k}" for k in user], [f"film {k}" for k in film], stars)

mean, careful = cc.rank(ratings, "mean-rating"), cc.rank(ratings, "mpm").by("low")
count = seen.sum(axis=0)


def raters(ranking):
    """Return how many people rated each of the first ten."""
    return [int(count[int(label.split()[1])]) for label in ranking.items[:10]]


print("ratings of the first ten by the mean:", raters(mean))
print("ratings of the first ten by the low end:", raters(careful))

# %%
# A dot per film. Few ratings make extreme means; the low end of the interval does not fall for them.
figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.4), sharex=True, layout="constrained")
for axes, ranking, values, label in (
    (panels[0], mean, mean.scores, "mean of the stars"),
    (panels[1], careful, careful.low, "mpm, low end of the interval"),
):
    number = [int(name.split()[1]) for name in ranking.items]
    axes.scatter(count[number], values, s=14, c=np.arange(len(number)) < 10, cmap="coolwarm")
    axes.set(xscale="log", xlabel="ratings", ylabel=label)
    axes.spines[["top", "right"]].set_visible(False)
