"""
Does everybody agree?
=====================

600 votes in five languages. Each language has a ranking of its own; most differences are luck. Tested against all other
languages, with Holm's correction for 40 comparisons, one remains: the difference that was planted.
"""

import sys
from pathlib import Path

import concordant as cc

examples = Path(sys.argv[0]).resolve().parent.parent
found = cc.rank_groups(cc.read(examples / "arena-languages.csv", by="language"))
print(found)

# %%
# How far a model's score in a language is from its score elsewhere; a star where the difference holds.
found.plot()
