"""Temporary."""
from concordant import registry
from concordant.narrative.fields import OTHER
from concordant.narrative.verdict import Verdict

if not hasattr(registry, "title_of"):
    registry.title_of = lambda name: name.replace("-", " ").title()
try:
    from concordant.narrative.fields import field_of_preferences
except ImportError:
    def field_of_preferences(prefs): return OTHER
try:
    from concordant.reporting.about_verdict import verdict_of
except ImportError:
    def verdict_of(study, is_complete=True):
        r = study.ranking
        if r.n_instances != 1: return None
        s = r.certainty.sentences()
        return Verdict("First", r.items[0], True, " ".join(s[1:2]), (), (("3", "x"),), registry.title_of(r.method), r.method)
try:
    from concordant.reporting.card import card_svg
except ImportError:
    def card_svg(v, s=""): return "<svg/>"
def none(*a, **k): return None
try:
    from concordant.reporting.about_item import item_card
except ImportError:
    item_card = none
try:
    from concordant.reporting.about_style import style_section, uncontrolled
except ImportError:
    style_section = uncontrolled = none
try:
    from concordant.reporting.about_time import time_section
except ImportError:
    time_section = none
from concordant.reporting import about_labels

queries_section = getattr(about_labels, "queries_section", none)
query_section = getattr(about_labels, "query_section", none)
import concordant.reporting.about_labels as L


def labels_section(study, baseline=""):
    return L.labels_section(study)
