"""
Elo and Glicko-2 ratings over time
==================================

Eight players compete for ten years while their strengths drift; two of them take a break of three years. Elo ratings
are updated after every game, Glicko-2 ratings at the end of every month. Glicko-2 has confidence intervals, which are
wider after a break.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.dates import YearLocator

import concordant as cc

rng = np.random.default_rng(11)
players = np.array([f"player {letter}" for letter in "ABCDEFGH"])
days = np.sort(rng.integers(0, 3650, 4000))
steps = rng.normal(0, 0.03, (3650, len(players)))  # in log odds per day
strength = np.clip(np.cumsum(steps, axis=0) + rng.normal(0, 0.6, len(players)), -3, 3)
winner, loser, when = [], [], []
for day in days:
    here = [0, 1, 2, 3, 4, 5] if 1500 < day < 2600 else range(len(players))
    a, b = rng.choice(here, 2, replace=False)
    if rng.random() > 1 / (1 + np.exp(strength[day, b] - strength[day, a])):
        a, b = b, a
    winner.append(players[a])
    loser.append(players[b])
    when.append(np.datetime64("2014-01-01") + day)
games = cc.Preferences.from_pairs(winner, loser, time=when)

glicko = cc.rank(games, "glicko2", volatility=0.1)
print(glicko.history.best("year"))

# %%
# ``plot_history`` draws the curves with the confidence intervals of Glicko-2. Player G was away from 2018 to 2021.
figure = glicko.plot_history(items=[*glicko.items[:3], "player G"])

# %%
# The true strength of two players (dashed), and the estimates of the two methods.
elo = cc.rank(games, "elo", stake=40)
points = 400 / np.log(10)
dates = np.datetime64("2014-01-01") + np.arange(3650)
figure, panels = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained", sharey=True)
for axes, player in zip(panels, (glicko.items[0], "player G"), strict=True):
    true = strength[:, players == player] - strength.mean(axis=1, keepdims=True)
    axes.plot(dates, 1500 + points * true, "--", color="black", linewidth=1, label="true strength")
    for name, ranking in (("elo", elo), ("glicko2", glicko)):
        own = ranking.history.of(player)
        axes.step(own.time.astype("datetime64[D]"), own.score, where="post", linewidth=1.2, label=name)
    axes.set_title(player, loc="left")
    axes.xaxis.set_major_locator(YearLocator(2))
    axes.spines[["top", "right"]].set_visible(False)
panels[0].set_ylabel("rating")
panels[1].legend(frameon=False)

# %%
# Which method predicts better? Every probability is computed before the game, from earlier games only.
for method in (cc.Elo(stake=40), cc.Glicko2(volatility=0.1), cc.Trueskill(draw=0.0, drift=0.8)):
    probability = method.forecasts(games, since="2016-01-01")
    print(f"{method.name:10} log-loss {-np.nanmean(np.log(probability)):.3f}")
