"""Default calls, the way people type them: no special arguments, labels as they come, once and again.

Everything is measured warm and as the first call of a fresh process, imports included, beside what others do with the
same inputs. The curves show how costs grow with items and ballots, next to what the maths says.
"""

from __future__ import annotations

from benchmarks.works.users import growth, hard, lists, pairs, rankings, tables

WORKS = (*pairs.WORKS, *tables.WORKS, *rankings.WORKS, *lists.WORKS, *hard.WORKS)
CURVES = growth.CURVES
