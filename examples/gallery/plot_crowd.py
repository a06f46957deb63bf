"""
Annotator reliability with Dawid-Skene
======================================

Forty annotators grade 200 pages on a scale of three grades; some are careful, some guess. The Dawid-Skene model
estimates the accuracy of each annotator from their agreement alone, and recovers the true grades better than the mean
answer.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(5)
n_workers, n_pages, grades = 40, 200, 3
skill = rng.beta(2, 1.2, n_workers) * 0.65 + 0.33
truth = rng.integers(0, grades, n_pages)
worker, page = np.nonzero(rng.random((n_workers, n_pages)) < 0.15)
is_right = rng.random(len(worker)) < skill[worker]
answer = np.where(is_right, truth[page], (truth[page] + rng.integers(1, grades, len(page))) % grades)

votes = cc.Preferences.from_ratings([f"w{k}" for k in worker], [f"p{k}" for k in page], answer)
ranking = cc.rank(votes, "dawid-skene")
found = np.array([ranking.agents.get(f"w{k}", np.nan) for k in range(n_workers)])


def decided(scores):
    """Return the share of pages with the correct grade."""
    names = [int(label[1:]) for label in scores]
    return np.mean([truth[k] == round(score) for k, score in zip(names, scores.values(), strict=True)])


by_model = dict(zip(ranking.items, ranking.scores, strict=True))
mean = cc.rank(votes, "mean-rating")
print(f"correct grades: Dawid-Skene {decided(by_model):.0%}, rounded mean "
      f"{decided(dict(zip(mean.items, mean.scores, strict=True))):.0%}")  # fmt: skip

# %%
# One dot per annotator: the true accuracy, and the accuracy estimated without gold labels.
figure, axes = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
axes.plot([0.3, 1], [0.3, 1], color="black", lw=1, ls=":")
axes.scatter(skill, found, s=8 * np.sqrt(np.bincount(worker, minlength=n_workers)), alpha=0.7)
axes.set(xlabel="true accuracy", ylabel="estimated accuracy", xlim=(0.3, 1), ylim=(0.3, 1))
axes.spines[["top", "right"]].set_visible(False)
