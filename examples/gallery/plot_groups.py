"""
Differences between groups, tested for significance
===================================================

600 votes in five languages are ranked separately by language. Most differences between languages are not significant.
Tested against all other languages, with Holm's correction for 40 comparisons, one difference is significant: the one
built into the simulated votes.
"""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
found = cc.rank_groups(cc.read(examples / "arena-languages.csv", by="language"))
print(found)

# %%
# The difference between a model's score in a language and its score in all others; a star marks a significant
# difference. ``found.plot()`` and ``rank --by language --plot-groups FILE`` draw the same.
items, names = found.whole.items, found.names
apart = found.matrix(items, names)
figure, axes = plt.subplots(figsize=(5.6, 4), layout="constrained")
reach = np.nanmax(np.abs(apart))
image = axes.imshow(apart, cmap="RdBu", vmin=-reach, vmax=reach, aspect="auto")
axes.set_xticks(range(len(names)), names)
axes.set_yticks(range(len(items)), items)
for i, item in enumerate(items):
    for j, name in enumerate(names):
        if found.cells[name, item].holds:
            axes.text(j, i, "★", ha="center", va="center", color="white")
figure.colorbar(image, label="difference from the other languages")
