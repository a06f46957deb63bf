"""Draw the pictures at the top of the pages in docs/for and of two pages of docs/guide, of the shipped examples.

Run it after changing how plots look: ``python tools/make_field_pictures.py``. It needs the extra ``plots``.
"""

from __future__ import annotations

import contextlib
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import matplotlib as mpl
from _generated import ROOT

import concordant as cc
from concordant.analysis.crowd import reliability
from concordant.recommend import OrderedPartitionMF
from concordant.registry import title_of
from concordant.reporting.pages import static
from concordant.reporting.pictures import dot_plot, standalone, wide_bump
from concordant.reporting.sections import BumpChart, DotPlot, Scale, Track
from concordant.support.markup import Markup

FOLDER = ROOT / "docs" / "for"
GUIDE = ROOT / "docs" / "guide" / "output.svg"
AGREEMENT = ROOT / "docs" / "guide" / "agreement.svg"
EXAMPLES = ROOT / "examples"
TEXT_AS_TEXT = {"svg.fonttype": "none", "svg.hashsalt": "concordant"}


def main() -> None:
    """Draw all pictures."""
    with mpl.rc_context(TEXT_AS_TEXT):
        cc.rank(cc.read(EXAMPLES / "model-votes.csv"), "davidson").plot(path("llm-leaderboards"))
        games = cc.read(EXAMPLES / "league.csv", time="date")
        cc.rank(games, "elo").plot_history(path("sports-and-games"), items=["Ama", "Bo", "Cleo", "Gia"])
        queries(str(GUIDE))
    for svg in (Path(path("llm-leaderboards")), Path(path("sports-and-games")), GUIDE):
        svg.write_text(re.sub(r" *<dc:date>.*?</dc:date>\n", "", svg.read_text(encoding="utf-8")), encoding="utf-8")
    save("search-and-rag", wide_bump(search()))
    council = cc.rank(cc.read(EXAMPLES / "council.csv"), "stv", seats=3)
    Path(path("elections-and-committees")).write_text(council.explain().draw(), encoding="utf-8")
    save("crowdsourcing", dot_plot(crowd()))
    save(str(AGREEMENT), dot_plot(agreement()))
    save("recommenders", wide_bump(recommended()))
    save("researchers", wide_bump(papers()))


def queries(target: str) -> None:
    """Draw the queries that gain and lose when four engines are fused."""
    labels = cc.read_labels(EXAMPLES / "qrels.txt")
    runs = cc.read(sorted((EXAMPLES / "runs").glob("*.run")))
    best = cc.evaluate(runs.select(agents="engine1"), labels, "ndcg@10")
    cc.evaluate(cc.rank(runs, "rrf"), labels, "ndcg@10").plot(target, baseline=best)


def path(name: str) -> str:
    """Return where the picture of a page is kept."""
    return name if name.endswith(".svg") else str(FOLDER / f"{name}.svg")


def save(name: str, picture: Markup) -> None:
    """Write a picture of the reports as a file."""
    Path(path(name)).write_text(standalone(picture, static("picture.css").strip()) + "\n", encoding="utf-8")


def search() -> BumpChart:
    """Return the ranks of documents of a topic by every engine and after fusion."""
    runs = [cc.rank(cc.read(run), "rrf")["3"] for run in sorted((EXAMPLES / "runs").glob("*.run"))]
    fused = cc.rank(cc.read(sorted((EXAMPLES / "runs").glob("*.run"))), "rrf")["3"]
    ranks = [{item: k + 1 for k, item in enumerate(one.items)} for one in (fused, *runs)]
    shown = [item for item in fused.items if all(item in one for one in ranks)][:8]
    names = (title_of("rrf"), *(f"engine{k + 1}" for k in range(len(runs))))
    return BumpChart("Topic 3", names, tuple(shown), tuple(tuple(one[item] for one in ranks) for item in shown))


def crowd() -> DotPlot:
    """Return the accuracy of the annotators of the page on gold tasks, with 95% confidence intervals."""
    with data_of("crowdsourcing"):
        answers = cc.read("answers.csv", item="task", rating="label")
        found = reliability(answers, cc.read_labels("gold.csv"))
    order = (-found.accuracy).argsort(kind="stable")
    tracks = tuple(Track(float(found.accuracy[k]), float(found.low[k]), float(found.high[k])) for k in order)
    names = tuple(found.agents[k] for k in order)
    return DotPlot("Accuracy on gold tasks, 95% CI", names, tracks, Scale(0.2, 1.0, "accuracy"))


def agreement() -> DotPlot:
    """Return the coefficients of agreement of the judges of the model votes, with 95% confidence intervals."""
    found = cc.agreement(cc.read(EXAMPLES / "model-votes.csv")).coefficients
    tracks = tuple(Track(one.value, one.low, one.high) for one in found)
    names = tuple(one.title for one in found)
    return DotPlot("Agreement of six judges, 95% CI", names, tracks, Scale(0.0, 1.0, "agreement"))


def recommended() -> BumpChart:
    """Return the ranks of all films for everybody and for two users of the page."""
    with data_of("recommenders"):
        ratings = cc.read("ratings.csv")
    model, users = OrderedPartitionMF().fit(ratings), ("1", "2")
    lists = [cc.rank(ratings).items, *(model.recommend(user, 12, exclude_seen=False).items for user in users)]
    ranks = tuple(tuple(one.index(film) + 1 for one in lists) for film in lists[0])
    return BumpChart("Ranks by user", ("everybody", "user 1", "user 2"), tuple(lists[0]), ranks)


@contextlib.contextmanager
def data_of(page: str) -> Iterator[None]:
    """Work in a folder with the data that the first block of a page writes."""
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    block = text.split("```python\n", 1)[1].split("```", 1)[0]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(block, {})
        yield


def papers() -> BumpChart:
    """Return the ranks of the candidates by methods of the papers, and by Borda."""
    ballots = cc.read(EXAMPLES / "election.csv")
    names = ("mpm", "ordered-partitions", "lehmer", "kemeny", "borda")
    rankings = [cc.rank(ballots, name) for name in names]
    ranks = [dict(zip(one.items, one.ranks.tolist(), strict=True)) for one in rankings]
    shown = rankings[0].items
    titles = tuple(map(title_of, names))
    return BumpChart(
        "Ranks by method", titles, tuple(shown), tuple(tuple(one[item] for one in ranks) for item in shown)
    )


if __name__ == "__main__":
    main()
