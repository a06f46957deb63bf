"""
Few ratings: shrinkage instead of mean stars
============================================

Ranked by mean stars, films with very few ratings come first. The multinomial preference model compares ratings of the
same user and shrinks uncertain scores towards the mean. Ranked by the lower end of the 95% confidence interval, a film
needs many good ratings to come first.
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
    """Return the number of ratings of each film in the top ten."""
    return [int(count[int(label.split()[1])]) for label in ranking.items[:10]]


print("ratings of the top ten by mean:", raters(mean))
print("ratings of the top ten by lower CI end:", raters(careful))

# %%
# One dot per film, the top ten in red. Films with few ratings have extreme means, but low lower confidence limits.
figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.4), sharex=True, layout="constrained")
for axes, ranking, values, label in (
    (panels[0], mean, mean.scores, "mean stars"),
    (panels[1], careful, careful.low, "mpm, lower end of the 95% CI"),
):
    number = [int(name.split()[1]) for name in ranking.items]
    axes.scatter(count[number], values, s=14, c=np.arange(len(number)) < 10, cmap="coolwarm")
    axes.set(xscale="log", xlabel="ratings", ylabel=label)
    axes.spines[["top", "right"]].set_visible(False)
