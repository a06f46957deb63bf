"""Methods and settings of the metasearch experiment, the published figures, and reasons for differences from them.

No setting is chosen on the test part of a fold: a contestant either has fixed settings, or lists ``choices``, of which
each fold takes the one with the highest N@5 on the four other parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from concordant.experiments.frame import Settings, published

COLUMNS = (*(f"{letter}@{k}" for letter in "NP" for k in range(1, 6)), "MAP")


@dataclass(frozen=True)
class Contestant:
    """A method and its settings in this experiment."""

    method: str
    settings: Settings = field(default_factory=dict)
    choices: Sequence[Settings] = ()
    """Alternative settings; one is chosen on the parts that are not tested."""
    learns: bool = False
    """Fitted to the labels of the training parts."""
    validates: bool = False
    """Keeps the training state that is best on the validation part."""
    is_seeded: bool = False
    """Run with several seeds and averaged over them."""
    library: str = ""
    """Name of an additional library that it needs."""
    is_upside_down: bool = False
    """Reads the lists in reverse: the largest rank is the best."""
    reasons: Mapping[str, str] = field(default_factory=dict)
    """By set: why figures differ from the published ones by more than 0.5."""


BOTH = ("MQ2008-agg", "MQ2007-agg")
UNIT_COUNT: Settings = {"counts": "difference", "likelihood": "mean", "errors": "none"}
RIDGES = tuple({"prior": prior} for prior in (0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 100.0))
LIST_RIDGES = tuple({"prior": prior} for prior in (1.0, 10.0, 100.0, 300.0, 1000.0, 3000.0))
GAMMAS = tuple({"prior": prior} for prior in (0.1, 1.0, 10.0, 100.0))


def _trained(method: str, **settings: object) -> Contestant:
    """Return a contestant that is trained on labels with a validation part, with several seeds."""
    better = dict.fromkeys(BOTH, "better than published")
    return Contestant(method, settings, learns=True, validates=True, is_seeded=True, reasons=better)


# The default methods (those that are installed). Any other name is a method with its default settings.
CONTESTANTS: Mapping[str, Contestant] = {
    "rrf": Contestant("rrf"),
    "calibrated-rrf": Contestant("calibrated-rrf"),
    "borda": Contestant("borda"),
    "borda-upside-down": Contestant("borda", is_upside_down=True),
    "median-rank": Contestant("median-rank"),
    "copeland": Contestant("copeland"),
    "copeland-difference": Contestant("copeland", {"counts": "difference"}),
    "condorcet-fuse": Contestant("condorcet-fuse"),
    "schulze": Contestant("schulze"),
    "combmnz": Contestant("comb", {"combine": "mnz"}),
    "bradley-terry": Contestant("bradley-terry", UNIT_COUNT, RIDGES),
    "thurstone": Contestant("thurstone", UNIT_COUNT, RIDGES),
    "plackett-luce": Contestant(
        "plackett-luce",
        {"errors": "none"},
        LIST_RIDGES,
        reasons=dict.fromkeys(
            BOTH,
            "better at the top than the published row, which comes from 100 gradient steps; here the penalised "
            "likelihood is maximised",
        ),
    ),
    "ordered-partitions": Contestant("ordered-partitions", {"errors": "none"}, GAMMAS),
    "cps": Contestant("cps", learns=True),
    "cps-upside-down": Contestant(
        "cps",
        {"distance": "spearman"},
        learns=True,
        is_upside_down=True,
        reasons=dict.fromkeys(
            BOTH,
            "the published row (the best of three distances on each set) also reads the lists in reverse; with the "
            "Spearman distance this explains part of the difference, the rest is unexplained",
        ),
    ),
    "svp": Contestant(
        "svp",
        {"steps": 1},
        tuple({"counts": counts} for counts in ("difference", "scaled-difference", "binary", "log")),
        reasons={"MQ2007-agg": "the counts and the number of steps behind the published row are unknown"},
    ),
    "ulara": Contestant("ulara"),
    "cranking": Contestant("cranking", learns=True),
    "cranking-unsupervised": Contestant("cranking"),
    "hodgerank": Contestant("hodgerank"),
    "rank-centrality": Contestant("rank-centrality"),
    "markov-chain": Contestant("markov-chain"),
    "lehmer": Contestant("lehmer"),
    "mpm": Contestant("mpm", {"prior": 0.1}),
    "theta-mpm": Contestant(
        "mpm",
        {"prior": 0.1},
        learns=True,
        reasons={"MQ2007-agg": "better than published at P@1, by 9 of 1,692 queries"},
    ),
    "mpm-adherence": Contestant("mpm", {"prior": 0.1, "adherence": True, "adherence_prior": "none"}),
    "theta-mpm-variances": Contestant("mpm", {"variances": "learnt", "prior": 0.1}, learns=True),
    "lr-i": replace(
        _trained("expert-ranker", counts="binary"),
        reasons={
            "MQ2008-agg": "better than published",
            "MQ2007-agg": "better at the first rank; the rest is within the 95% CI over seeds, or close to it",
        },
    ),
    "lr-r": replace(
        _trained("expert-ranker", counts="scaled-difference"),
        reasons={
            "MQ2008-agg": "better from the second rank on and in MAP; the lower figure at the first rank (also with 20 "
            "seeds) is unexplained",
        },
    ),
    "lr-logr": _trained("expert-ranker", counts="log"),
    "lr-logr-2": _trained("expert-ranker", counts="log", components=2),
    "lr-logr-combined": _trained("expert-ranker", counts="log", scope="combined"),
    "best": Contestant("expert-blend", learns=True, is_seeded=True, library="lightgbm"),
    "crf": _trained("crf"),
    "supervised-markov-chain": Contestant("supervised-markov-chain", learns=True, validates=True),
}
# Methods trained on labels, and the methods that they are compared with (where both are in the table).
SUPERVISED = ("lr-i", "lr-r", "lr-logr", "crf", "supervised-markov-chain", "best")
OPPONENTS = ("rrf", "cps", "lr-logr", "crf")
# The baselines of Volkovs and Zemel (2012) in the configuration that gives their figures, the two that Volkovs,
# Larochelle and Zemel (2012) add, and the strongest baselines on these lists.
PUBLISHED_BASELINES = ("borda-upside-down", "cps-upside-down", "svp", "bradley-terry", "plackett-luce")
PUBLISHED_BASELINES_WITH_FUSION = (*PUBLISHED_BASELINES, "copeland-difference", "rrf")
BASELINES = ("rrf", "borda", "copeland-difference", "cps", "svp", "bradley-terry", "plackett-luce")

# Table 3 of Volkovs, Larochelle and Zemel (2012) and table 1 of Volkovs and Zemel (2012), by the name of the contestant
# that computes the same: BordaCount, CPS-best, SVP, Bradley-Terry, Plackett-Luce, Condorcet, theta-MPM, RRF, LR-…; the
# row of crf is that of Volkovs and Zemel (2013) for MQ2008-agg.
_FIGURES = published(
    len(COLUMNS),
    """
    MQ2008-agg borda-upside-down   23.68 28.06 30.80 34.32 37.13 29.72 30.42 29.38 29.75 29.03 39.45
    MQ2008-agg cps-upside-down     26.52 31.38 34.59 37.63 40.04 31.63 32.27 32.27 31.66 30.64 41.02
    MQ2008-agg svp                 32.49 36.20 38.62 40.17 41.85 38.52 36.42 34.65 32.01 30.23 43.61
    MQ2008-agg bradley-terry       38.05 39.24 40.77 41.79 42.62 44.77 39.73 36.26 33.19 30.28 44.35
    MQ2008-agg plackett-luce       35.20 38.49 39.70 40.49 41.55 41.32 38.96 35.33 32.02 29.62 42.20
    MQ2008-agg copeland-difference 35.67 37.39 39.11 40.50 41.59 40.94 37.43 34.73 32.08 29.59 42.63
    MQ2008-agg theta-mpm           38.17 40.57 42.19 43.07 43.99 44.89 41.13 37.67 33.80 31.17 44.71
    MQ2008-agg rrf                 38.77 40.73 43.48 45.70 47.17 44.89 41.32 38.82 36.51 34.13 47.71
    MQ2008-agg lr-i                40.22 43.94 46.33 48.30 50.16 46.94 44.00 41.45 38.52 36.28 49.54
    MQ2008-agg lr-r                40.90 42.75 45.83 47.93 49.68 47.45 42.92 41.20 38.77 36.22 49.26
    MQ2008-agg lr-logr             42.81 44.53 47.02 49.00 50.69 48.85 44.13 41.84 39.09 36.50 50.32
    MQ2008-agg crf                 42.29 44.99 47.54 49.05 51.03 48.67 44.58 42.08 38.75 36.55 50.41
    MQ2007-agg borda-upside-down   19.02 20.14 20.81 21.28 21.88 24.88 25.24 25.69 25.80 25.97 32.52
    MQ2007-agg cps-upside-down     31.96 33.18 33.86 34.09 34.76 38.65 38.65 38.14 37.19 37.02 40.69
    MQ2007-agg svp                 35.82 35.91 36.53 37.16 37.50 41.61 40.28 39.50 38.88 38.10 42.73
    MQ2007-agg bradley-terry       39.88 39.86 40.40 40.60 40.91 46.34 44.65 43.48 41.98 40.95 43.98
    MQ2007-agg plackett-luce       40.63 40.39 40.26 40.71 40.96 46.93 45.10 43.09 42.32 41.09 43.64
    MQ2007-agg copeland-difference 37.31 37.63 38.03 38.37 38.66 43.26 42.14 40.94 39.85 38.75 42.56
    MQ2007-agg theta-mpm           41.77 41.91 41.92 42.34 42.79 48.35 46.64 44.53 43.52 42.72 45.71
    MQ2007-agg rrf                 41.93 42.66 42.42 42.73 43.13 48.70 47.20 44.84 43.52 42.52 46.72
    MQ2007-agg lr-i                46.13 46.76 46.71 46.87 47.28 52.90 51.39 49.33 47.80 46.66 50.05
    MQ2007-agg lr-r                45.02 45.40 45.68 45.87 46.12 51.83 50.36 48.88 47.25 45.98 49.55
    MQ2007-agg lr-logr             46.30 46.18 46.46 46.56 47.02 53.19 51.04 49.26 47.48 46.29 50.39
    """,
)
PUBLISHED = {
    dataset: {name.split()[1]: figures for name, figures in _FIGURES.items() if name.startswith(dataset)}
    for dataset in BOTH
}
