"""
Cyclic preferences with HodgeRank
=================================

HodgeRank splits preferences into a ranking and a cyclic part (a beats b, b beats c, c beats a). In games with a
rock-paper-scissors element, no ranking explains the cyclic part. The method reports its share.
"""

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

rng = np.random.default_rng(0)
strength = np.linspace(1.2, -1.2, 6)
style = np.array([0, 1, 2, 0, 1, 2])  # each style has an advantage over the next


def games(cycle, n=3000):
    """Simulate games with a given strength of the cyclic effect."""
    a, b = rng.integers(0, 6, n), rng.integers(0, 5, n)
    b += b >= a
    lead = strength[a] - strength[b] + cycle * np.array([0, 1, -1])[(style[b] - style[a]) % 3]
    a_won = rng.random(n) < 1 / (1 + np.exp(-lead))
    names = np.array([f"player {k + 1}" for k in range(6)])
    return cc.Preferences.from_pairs(names[np.where(a_won, a, b)], names[np.where(a_won, b, a)])


cycles = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0]
fits = [cc.rank(games(cycle), "hodgerank").fit for cycle in cycles]
print(sorted(fits[0]))

# %%
# The share of the preferences that no ranking can explain.
figure, axes = plt.subplots(figsize=(6, 3.2), layout="constrained")
axes.plot(cycles, [fit["cyclic_residual"] for fit in fits], marker="o")
axes.set(xlabel="strength of the cyclic effect", ylabel="cyclic residual", ylim=(0, None))
axes.spines[["top", "right"]].set_visible(False)
