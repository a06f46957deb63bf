"""
Discrete choice: market shares from choices
===========================================

Each shopper is shown four of eight teas and chooses one. The Plackett-Luce model estimates the worth of each tea from
these choices. It predicts the share of each tea if all eight are on the shelf, and if one of them is sold out.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

teas = ["assam", "sencha", "earl grey", "oolong", "mint", "rooibos", "chai", "darjeeling"]
worth = np.exp([0.9, 0.2, 0.6, -0.1, 0.4, -0.9, 0.0, -0.4])
rng = np.random.default_rng(7)
ballots = []
for _ in range(400):
    shown = rng.choice(8, 4, replace=False)
    chosen = rng.choice(shown, p=worth[shown] / worth[shown].sum())
    ballots.append([teas[chosen], [teas[k] for k in shown if k != chosen]])
choices = cc.Preferences.from_rankings(ballots).replace(open=np.ones(len(ballots), bool))
print(choices.form)
model = cc.rank(choices, "plackett-luce").model
share = model.p_first(teas)
without = model.p_first([tea for tea in teas if tea != "assam"])

# %%
# Predicted shares of all eight teas, and how much each gains if assam is sold out.
order = np.argsort(-share)
rest = dict(zip([tea for tea in teas if tea != "assam"], without, strict=True))
figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
axes.bar(range(8), share[order], color="tab:blue", label="all eight")
gain = [rest.get(teas[k], share[k]) - share[k] for k in order]
axes.bar(range(8), gain, bottom=share[order], color="tab:orange", label="without assam")
axes.plot(range(8), (worth / worth.sum())[order], "k_", ms=16, label="true share")
axes.set(xticks=range(8), xticklabels=[teas[k] for k in order], ylabel="share")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
