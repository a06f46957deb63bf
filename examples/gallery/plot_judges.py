"""
Which LLM judges can be trusted?
================================

Twelve simulated judges compare eight models. They differ in discrimination (0: random answers) and in position bias.
Both are estimated together with the scores of the models, and shrunk to the mean of the judges.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(2)
score = np.linspace(1, -1, 8)
discrimination, position_bias = np.linspace(2, 0, 12), rng.normal(0.4, 0.5, 12)
judge, left = rng.integers(0, 12, 6000), rng.integers(0, 8, 6000)
right = (left + rng.integers(1, 8, 6000)) % 8
lead = discrimination[judge] * (score[left] - score[right]) + position_bias[judge]
is_first = rng.random(6000) < 1 / (1 + np.exp(-lead))
votes = cc.Preferences.from_pairs(
    [f"model {k}" for k in np.where(is_first, left, right)],
    [f"model {k}" for k in np.where(is_first, right, left)],
    agent=[f"judge {k + 1}" for k in judge],
    winner_first=is_first,
)
ranking = cc.rank(votes, "bradley-terry", judge_effects="both")
print(ranking.model.judges)

# %%
# Estimates with 95% confidence intervals; crosses are the true values.
figure, panels = plt.subplots(1, 2, figsize=(8.5, 3.6), sharey=True, layout="constrained")
judges = ranking.model.judges.columns()
number = [int(name.split()[1]) - 1 for name in judges["judge"]]
place = range(len(number))
for axes, name, truth in zip(panels, ("discrimination", "position_bias"), (discrimination, position_bias), strict=True):
    axes.hlines(place, judges[f"{name}_low"], judges[f"{name}_high"], lw=2, alpha=0.5)
    axes.plot(judges[name], place, "o")
    axes.plot(truth[number], place, "x", color="black")
    axes.axvline(0, color="black", lw=1, ls=":")
    axes.set(xlabel=name.replace("_", " ") + " (95% CI)", yticks=place, yticklabels=judges["judge"])
    axes.spines[["top", "right"]].set_visible(False)
panels[0].invert_yaxis()
