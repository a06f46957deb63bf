"""Recommendations, annotators and rankers of feature rows in the web app, asked for without a server."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import random
import re
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conftest import ROOT, Run
from tests.reporting.test_reporting import HOSTILE

import concordant as cc
from concordant.errors import ParameterError
from concordant.support import progress
from concordant.web.answers import Answerer
from concordant.web.app import KINDS
from concordant.web.messages import Question
from concordant.web.recommended import ratings_of
from concordant.web.settings import settings_of

pytestmark = pytest.mark.once
EXAMPLES = ROOT / "examples"
Table = Sequence[Sequence[object]]


class Page:
    """A page of the web app: what the worker tells while it answers."""

    def __init__(self, files: Iterable[str | Path], labels: Path | None = None, title: str = "data.csv") -> None:
        self.files, self.labels, self.title = (
            [str(file) for file in files],
            None if labels is None else str(labels),
            title,
        )
        self.answerer = Answerer(self.told)
        self.sections: dict[str, str] = {}
        self.regions: dict[str, str] = {}
        self.names: list[str] = []
        self.jobs: list[Any] = []

    def told(self, update: Any) -> None:
        """Keep what is told."""
        self.names = [name for name, _ in update.get("sections", [])] or self.names
        self.regions |= update.get("regions", {})
        self.jobs += [update["job"]] if "job" in update else []
        if "section" in update:
            self.sections[update["section"]] = update["html"]
        if "gone" in update:
            self.names.remove(update["gone"])

    def _ask(self, settings: Any, kind: str = "", part: str = "") -> Any:
        question: Question = {
            "id": 1, "do": "file" if kind else "view", "kind": kind, "part": part, "title": self.title,
            "date": "2026-01-01", "files": self.files, "labels": self.labels,
            "settings": settings_of([*settings.items()]),
        }  # fmt: skip
        return self.answerer.answer(question)

    def show(self, part: str = "", **settings: str) -> Page:
        """Ask for the page with these settings; it must have no error."""
        answer = self._ask(settings, part=part)
        assert answer["error"] is None, answer
        return self

    def file(self, kind: str, **settings: str) -> bytes:
        """Download a file."""
        assert kind in KINDS
        answer = self._ask(settings, kind)
        assert answer["error"] is None, answer
        return base64.b64decode(answer["content"])

    def rows(self, kind: str, **settings: str) -> list[dict[str, str]]:
        """Download a file of rows."""
        return list(csv.DictReader(io.StringIO(self.file(kind, **settings).decode("utf-8-sig"))))

    @property
    def offers(self) -> dict[str, dict[str, str]]:
        """The settings that each offer changes, by its text."""
        found = re.findall(r'<button[^>]*data-set="([^"]*)"[^>]*>([^<]*)</button>', self.regions["offers"])
        return {html.unescape(text): json.loads(html.unescape(change)) for change, text in found}

    def lines(self, name: str) -> list[str]:
        """The lines that reproduce the page."""
        found = re.search(rf'<pre[^>]*id="{name}"[^>]*>(.*?)</pre>', self.regions["download"], re.DOTALL)
        assert found is not None
        return html.unescape(found[1]).splitlines()


def text(section: str) -> str:
    """Return the text of HTML."""
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", section)).split())


def items_in(section: str, caption: str) -> list[str]:
    """Return the labels in the table with this caption."""
    table = next(one for one in re.findall("<table.*?</table>", section, re.DOTALL) if caption in html.unescape(one))
    return [html.unescape(label) for label in re.findall(r"<bdi>(.*?)</bdi>", table)]


def write(path: Path, header: Sequence[str], rows: Table) -> Path:
    """Write a table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


@pytest.fixture
def ratings() -> Page:
    """The page of the example ratings."""
    return Page([EXAMPLES / "ratings.csv"], title="ratings.csv")


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Labelled rows of 40 queries; the label follows the sum of three features."""
    rng, rows = np.random.default_rng(1), []
    for query in range(40):
        for number in range(8):
            x = rng.normal(size=4).round(3)
            label = int(np.clip(round(1 + x[:3].sum() + 0.2 * rng.normal()), 0, 3))
            rows.append([f"q{query:02}", f"d{query}-{number}", label, *x])
    return write(tmp_path / "rows.csv", ["query", "doc", "label", "bm25", "pagerank", "clicks", "length"], rows)


def answers_of(path: Path, classes: Sequence[str], names: Sequence[str] = ("ann", "bob", "cat", "dan", "eve")) -> Path:
    """Write answers about 30 items by annotators of whom each is less reliable than the one before."""
    dice, rows = random.Random(2), []
    for number in range(30):
        true = dice.choice(classes)
        for name, share in zip(names, (0.97, 0.9, 0.85, 0.8, 0.4), strict=True):
            rows.append([name, f"item {number}", true if dice.random() < share else dice.choice(classes)])
    return write(path, ["worker", "task", "label"], rows)


# ---- recommendations ----
def test_ratings_open_as_a_ranking_that_offers_recommendations(ratings: Page) -> None:
    assert "ranking" in ratings.show().names
    assert ratings.offers["Recommend items for a user"] == {"task": "recommend"}


def test_a_user_gets_unseen_items_and_sees_the_own_ratings(ratings: Page) -> None:
    prefs = cc.read(EXAMPLES / "ratings.csv")
    ratings.show(task="recommend")
    assert ratings.names == ["recommend", "newcomer", "similar", "quality", "data"] == [*ratings.sections]
    for user in ("u01", "u23"):
        section = ratings.show("recommend", task="recommend", user=user).sections["recommend"]
        with open(EXAMPLES / "ratings.csv", encoding="utf-8") as file:
            seen = {row["item"] for row in csv.DictReader(file) if row["user"] == user}
        offered = items_in(section, f"Recommended for {user}")
        assert len(offered) == min(10, len(prefs.items) - len(seen))
        assert not seen & {*offered}
        assert {*items_in(section, f"by {user}")} == seen
        assert "Predicted rating" in section


def test_a_new_user_gets_the_items_that_the_library_recommends(ratings: Page) -> None:
    rated = "Salt and Thunder=5; Paper Boats=1"
    ratings.show(task="recommend", rated=rated)
    section = ratings.sections["newcomer"]
    model = cc.load(io.BytesIO(ratings.file("model", task="recommend")))
    expected = model.fold_in({"Salt and Thunder": 5.0, "Paper Boats": 1.0}).recommend()
    assert items_in(section, "For the new user") == list(expected.items)
    without = re.findall(r'data-setting="rated" value="([^"]*)"', section)
    assert without == ["Paper Boats=1", "Salt and Thunder=5"], "each chip removes its rating"
    assert 'id="set-rate-item"' in section
    assert 'id="set-rate-value"' in section
    assert 'data-setting="rate-add"' in section


@pytest.mark.parametrize(
    ("settings", "part", "said"),
    [
        ({"user": "nobody"}, "recommend", "There is no user 'nobody'"),
        ({"rated": "Paper Boats"}, "newcomer", "'Paper Boats' is not a rating"),
        ({"rated": "Paper Boats=9"}, "newcomer", "out of range: rate from 1 to 5"),
        ({"rated": "No such film=4"}, "newcomer", "None of these items is in the data"),
        ({"like": "No such film"}, "similar", "No such film"),
    ],
)
def test_a_wrong_name_gets_a_sentence_in_its_section(
    ratings: Page, settings: dict[str, str], part: str, said: str
) -> None:
    section = ratings.show(task="recommend", **settings).sections[part]
    assert said in text(section)
    assert "<input" in section, "the control is still there"
    assert "Recommended for" in text(ratings.sections["recommend"]) or part == "recommend"


def test_a_rating_outside_the_scale_is_removed_alone(ratings: Page) -> None:
    page = ratings.show(task="recommend", rated="Paper Boats=9; Unknown=4")
    shown = page.sections["newcomer"]
    assert "is out of range" in text(shown)
    assert 'value="Unknown=4"' in shown
    assert 'value="Paper Boats=9"' in shown


def test_items_with_the_signs_of_the_notation_can_be_rated(ratings: Page) -> None:
    ratings.show(task="recommend")
    task = next(iter(ratings.answerer._tasks.values()))
    of: Any = task.of  # type: ignore[attr-defined]
    assert ratings_of("a=b=5; x; y=4;", of) == {"a=b": 5.0, "x; y": 4.0}
    assert ratings_of("", of) == {}
    with pytest.raises(ParameterError, match="is not a rating"):
        ratings_of("a=4; b", of)


def test_the_evaluation_tells_when_the_same_list_for_everyone_is_as_good(ratings: Page) -> None:
    ratings.show(task="recommend")
    told = text(ratings.regions["verdict"])
    assert "Not shown to be better than the same list for everyone" in told
    assert "is not statistically significant: p = " in told
    assert "slightly optimistic" in text(ratings.sections["quality"])


def test_users_with_too_few_ratings_are_recommended_items_without_an_evaluation(tmp_path: Path) -> None:
    rows = [[f"u{k}", f"i{(k + j) % 6}", 1 + (k + j) % 5] for k in range(8) for j in range(2)]
    page = Page([write(tmp_path / "few.csv", ["user", "item", "rating"], rows)]).show(task="recommend")
    assert "Not evaluated" in text(page.regions["verdict"])
    assert "too few ratings" in text(page.sections["quality"])
    assert "--validation 0" in page.lines("shell")[0]


def test_clicks_are_recommended_by_another_recommender(tmp_path: Path) -> None:
    dice = random.Random(1)
    rows = [[f"u{k}", f"i{item}"] for k in range(30) for item in dice.sample(range(k % 2 * 10, k % 2 * 10 + 12), 6)]
    page = Page([write(tmp_path / "clicks.csv", ["user", "item"], rows)]).show(task="recommend", rated="i1=1; i2=1")
    assert "bpr" in text(page.regions["verdict"])
    assert "For the new user" in text(page.sections["newcomer"])
    assert 'type="hidden"' in page.sections["newcomer"], "clicks have no value to enter"


def test_downloaded_recommendations_and_recommenders_are_those_of_the_command_line(
    ratings: Page, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(EXAMPLES)
    model = tmp_path / "model.zip"
    model.write_bytes(ratings.file("model", task="recommend", user="u07"))
    code, out, err = run("recommend", "for", model, "--all", "--csv")
    assert code == 0, err
    rows = ratings.rows("lists", task="recommend")
    expected = list(csv.DictReader(io.StringIO(out)))
    assert [(row["agent"], row["item"]) for row in rows] == [(row["agent"], row["item"]) for row in expected]
    parquet = tmp_path / "lists.parquet"
    parquet.write_bytes(ratings.file("lists_parquet", task="recommend"))
    assert len(cc.read(parquet, layout="ratings", rating="score", rank=None).item) == len(rows)


def test_the_lines_of_a_recommender_reproduce_the_page(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "ratings.csv").write_bytes((EXAMPLES / "ratings.csv").read_bytes())
    monkeypatch.chdir(tmp_path)
    settings = {"task": "recommend", "recommender": "pmf", "o.factors": "3", "user": "u07", "rated": "Paper Boats=5"}
    page = Page(["ratings.csv"]).show(**settings)
    shown = items_in(page.sections["recommend"], "Recommended for u07")
    for line in page.lines("shell"):
        if not line.startswith("#"):
            code, out, err = run(*shlex.split(line)[1:])
            assert code == 0, err
    assert [item for item in shown if item in out] == shown
    assert [out.index(item) for item in shown] == sorted(out.index(item) for item in shown)
    exec("\n".join(page.lines("python")), {})
    printed = capsys.readouterr().out
    lists = printed.split("\n\n")
    assert [printed.index(item) for item in shown] == sorted(printed.index(item) for item in shown), lists


def test_a_changed_user_trains_nothing_again(ratings: Page) -> None:
    ratings.show(task="recommend")
    ratings.jobs.clear()
    ratings.show("recommend", task="recommend", user="u02")
    assert not [job for job in ratings.jobs if "Training" in job["text"]]


# ---- annotators ----
def test_classes_of_annotators_open_as_labels(tmp_path: Path) -> None:
    page = Page([answers_of(tmp_path / "answers.csv", ("cat", "dog", "bird"))]).show()
    assert page.names == ["classes", "annotators", "disagreement", "data"] == [*page.sections]
    assert "of the answers agree with the majority" in text(page.regions["verdict"])
    assert "eve agrees least" in text(page.regions["verdict"])
    assert items_in(page.sections["annotators"], "least reliable")[0] == "eve"
    assert page.offers == {}, "classes without an order cannot be ranked"


def test_labels_and_annotators_are_those_of_the_library(tmp_path: Path, run: Run) -> None:
    path = answers_of(tmp_path / "answers.csv", ("cat", "dog", "bird"))
    page, prefs = Page([path]), cc.read(path)
    decided = cc.crowd.decide(prefs).columns()
    assert [(row["item"], row["dawid_skene"]) for row in page.rows("labels")] == [
        *zip(decided["item"], decided["label"], strict=True)
    ]
    expected = cc.crowd.reliability(prefs).columns()
    assert [row["agent"] for row in page.rows("annotators")] == expected["agent"]
    page.show()
    for line in page.lines("shell"):
        words = [str(path) if word == path.name else word for word in shlex.split(line)[1:]]
        assert run(*words)[0] == 0


def test_gold_answers_give_accuracies_with_intervals(tmp_path: Path) -> None:
    path = answers_of(tmp_path / "answers.csv", ("yes", "no", "unclear"))
    decided = cc.crowd.decide(cc.read(path)).columns()
    gold = write(tmp_path / "gold.csv", ["item", "label"], [*zip(decided["item"], decided["label"], strict=True)][:20])
    page = Page([path], gold).show()
    assert "Accuracy [95% CI]" in text(page.sections["annotators"])
    assert "Dawid-Skene 100.0%" in text(page.sections["annotators"])
    assert "--gold gold.csv" in page.lines("shell")[0]
    assert 'id="judgements"' in page.regions["controls"]  # the file that the script sends as labels
    assert page.rows("annotators")[0]["on_gold"] == "20"


def test_judgements_in_numbers_open_as_a_ranking_that_offers_to_check_annotators(tmp_path: Path) -> None:
    page = Page([answers_of(tmp_path / "judged.csv", ("0", "1"))]).show()
    assert "ranking" in page.names
    assert page.offers["Check annotators"] == {"task": "crowd"}
    page.show(task="crowd")
    assert page.offers["Rank the items instead"] == {"task": "rank"}
    differ = (
        cc.crowd.decide(cc.read(page.files[0]), "majority-vote").label != cc.crowd.decide(cc.read(page.files[0])).label
    )
    assert f"{int(differ.sum())} of 30 items" in text(page.sections["disagreement"])


# ---- rankers of feature rows ----
def test_feature_rows_open_as_a_trained_ranker(features: Path) -> None:
    page = Page([features]).show()
    assert page.names == ["quality", "features", "queries", "data"] == [*page.sections]
    assert "Better than any single feature" in text(page.regions["verdict"])
    systems = text(page.sections["quality"])
    assert "Random order" in systems
    assert "best single feature: " in systems
    assert items_in(page.sections["features"], "Features")[-1] == "length", "it has nothing to do with the label"


@pytest.mark.parametrize("name", ["hotels.csv", "letor/train.txt"])
def test_the_examples_of_feature_rows_are_recognised(name: str) -> None:
    page = Page([EXAMPLES / name]).show()
    assert "LambdaRank" in text(page.regions["verdict"])
    assert "20 queries" in text(page.regions["where"])


def test_downloaded_rankers_score_rows_on_the_command_line(features: Path, run: Run, tmp_path: Path) -> None:
    page, model = Page([features]), tmp_path / "model.zip"
    model.write_bytes(page.file("model", learner="rank-svm"))
    code, out, err = run("predict", model, features, "--evaluate", "--json")
    assert code == 0, err
    assert json.loads(out)["metrics"]["ndcg@10"] > 0.9
    rows = page.rows("predictions")
    assert {*rows[0]} == {"query", "item", "label", "score", "rank"}
    best = [row for row in rows if row["rank"] == "1"]
    assert len(best) == len({row["query"] for row in rows})


def test_the_lines_of_a_ranker_reproduce_the_page(
    features: Path, run: Run, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(features.parent)
    page = Page([features.name]).show(learner="rank-boost", **{"o.rounds": "20"}, metric="map")
    found = re.search(r"has MAP ([\d.]+)", text(page.regions["verdict"]))
    assert found is not None
    code, out, err = run(*shlex.split(page.lines("shell")[0])[1:], "--json")
    assert code == 0, err
    facts = json.loads(out)["sets"]
    assert f"{next(facts[part]['metrics']['map'] for part in facts if part != 'train'):.3f}" == found[1]
    exec("\n".join(page.lines("python")), {})
    assert re.search(rf"'rank-boost': {{'map': {found[1][:4]}", capsys.readouterr().out)
    assert (features.parent / "model.zip").read_bytes()[:2] == b"PK"


def test_missing_values_are_imputed_where_the_ranker_needs_it(features: Path) -> None:
    lines = features.read_text().splitlines()
    cells = lines[5].split(",")
    lines[5] = ",".join([*cells[:4], "", *cells[5:]])
    features.write_text("\n".join(lines))
    page = Page([features]).show()
    assert "Missing values are replaced by the mean" in text(page.regions["offers"])
    assert "--missing mean" in page.lines("shell")[0]
    assert "Missing values are replaced" not in text(page.show(learner="rank-boost").regions["offers"])


def test_rows_of_one_query_are_not_evaluated_but_explained(tmp_path: Path) -> None:
    rows = [["a", k % 2, k / 7] for k in range(12)]
    page = Page([write(tmp_path / "one.csv", ["query", "label", "bm25"], rows)])
    answer = page._ask({})
    assert "too few queries" in answer["error"]
    assert "“Column of queries”" in answer["error"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"learner": "no-such"}, "unknown"),
        ({"o.max_iter": "-1", "learner": "lambda-rank"}, "out of range"),
        ({"metric": "no-such"}, "no-such"),
    ],
)
def test_wrong_settings_get_a_sentence(features: Path, settings: dict[str, str], said: str) -> None:
    answer = Page([features])._ask(settings)
    assert said in answer["error"]
    assert "Unexpected" not in answer["error"]


def test_training_reports_its_progress(features: Path) -> None:
    from concordant.learn.lambda_rank import LambdaRank

    X, y, query = cc.read_features(features)
    heard: list[progress.Progress] = []
    with progress.listen(heard.append):
        LambdaRank(max_iter=7).fit(X, y, qid=query)
    assert max(one.done for one in heard) >= 6.0, "the last pass has begun"
    assert {one.total for one in heard if one.total} == {7}


# ---- all tasks ----
@pytest.mark.parametrize(
    "name", ["ratings.csv", "league.csv", "arena-style.csv", "arena-languages.csv", "model-votes.csv", "election.csv"]
)
def test_whatever_is_offered_works(name: str) -> None:
    page = Page([EXAMPLES / name]).show()
    expected = {
        "ratings.csv": ["Recommend items for a user"],
        "league.csv": ["Show ratings over time", "Show Elo ratings"],
        "arena-style.csv": ["Control for answer length", "Show Elo ratings"],
        "arena-languages.csv": ["Split by language", "Show Elo ratings"],
        "model-votes.csv": ["Show Elo ratings"],
        "election.csv": [],
    }
    assert [*page.offers] == expected[name]
    for change in page.offers.values():
        other = Page([EXAMPLES / name]).show(**change)
        assert not [section for section in other.sections.values() if "Not available" in section]
        assert other.offers != page.offers


def test_teams_are_offered_once_the_items_are_known() -> None:
    page = Page([EXAMPLES / "doubles.csv"]).show(**{"role.player": "item"})
    change = page.offers["Read as teams"]
    page.show(**{"role.player": "item"}, **change)
    assert "Read as teams" not in page.offers


def _hostile_rows(kind: str) -> tuple[list[str], Table, dict[str, str]]:
    names = [*(name for name in HOSTILE if "\0" not in name and name.strip()), "plain"]
    if kind == "recommend":
        rows = [[user, item, 1 + (k + j) % 5] for k, user in enumerate(names) for j, item in enumerate(names) if k != j]
        return ["user", "item", "rating"], rows, {"task": "recommend", "user": HOSTILE[0], "rated": f"{HOSTILE[1]}=3"}
    if kind == "crowd":
        rows = [[user, item, names[k * j % 3]] for k, user in enumerate(names) for j, item in enumerate(names)]
        return ["worker", "task", "label"], rows, {"task": "crowd"}
    values = [[(k * 3 + m) % 7 / 7 for m in range(len(names) - 1)] for k in range(5 * len(names))]
    rows = [[names[k // 5], k % 3, *value] for k, value in enumerate(values)]
    return ["query", "label", *names[:-1]], rows, {"task": "train"}


@pytest.mark.parametrize("kind", ["recommend", "crowd", "train"])
def test_hostile_names_are_escaped(kind: str, tmp_path: Path) -> None:
    header, rows, settings = _hostile_rows(kind)
    page = Page([write(tmp_path / "hostile.csv", header, rows)], title=HOSTILE[0]).show(**settings)
    report = page.file("html", **settings).decode()
    for shown in [*page.sections.values(), *page.regions.values(), report]:
        assert "<script>alert" not in shown
        assert "<img" not in shown
        assert "</style></script>" not in shown
    assert html.escape("<script>alert", quote=False) in "".join(page.sections.values())


@pytest.mark.parametrize("kind", ["recommend", "crowd", "train"])
def test_the_report_has_all_sections_without_controls_or_folders(kind: str, tmp_path: Path, features: Path) -> None:
    crowd = answers_of(tmp_path / "answers.csv", ("cat", "dog"))
    path = {"recommend": EXAMPLES / "ratings.csv", "crowd": crowd, "train": features}[kind]
    page = Page([path], title=path.name)
    report = page.file("html", task=kind, rated="Paper Boats=4").decode()
    page.show(task=kind, rated="Paper Boats=4")
    for name in page.names:
        assert f'id="{name}"' in report
    assert 'id="verdict"' in report
    assert "data-setting" not in report
    assert "<input" not in report.replace('<input type="search"', "")
    assert str(path.parent) not in report
    assert page.file("card", task=kind)


def test_every_control_is_labelled_and_every_setting_declared(ratings: Page, tmp_path: Path, features: Path) -> None:
    crowd = Page([answers_of(tmp_path / "answers.csv", ("cat", "dog"))])
    for page in (ratings.show(task="recommend", rated="Paper Boats=4"), crowd.show(), Page([features]).show()):
        content = "".join([*page.sections.values(), page.regions["controls"]])
        for setting in {*re.findall(r'data-setting="([^"]*)"', content)} - {"rate-add"}:
            settings_of([(html.unescape(setting), "")])
        identifiers = re.findall(r' id="(?!grid-)([^"]*)"', content)
        assert len(identifiers) == len({*identifiers})
        fields = re.findall(r"<(?:input|select)\b[^>]*>", content)
        for field in fields:
            name = re.search(r' id="([^"]*)"', field)
            is_named = "aria-label" in field or 'type="hidden"' in field or 'type="checkbox"' in field
            assert is_named or (name is not None and f'for="{name[1]}"' in content), field


def test_a_link_may_name_what_the_data_lack() -> None:
    page = Page([EXAMPLES / "election.csv"])
    page.show(methods="nosuch,borda,schulze", by="nosuch", item="Nobody", curve="Nobody", **{"role.nix": "time"})
    said = html.unescape(page.regions["offers"])
    for part in ("no column “nosuch”", "no column “nix”", "no candidate “Nobody”", "Not compared: there is no method",
                 "have no times"):  # fmt: skip
        assert part in said
    assert "2 methods" in page.sections["methods"]
    page.show(methods="nosuch")
    assert "Methods compared" in page.sections["methods"]
    assert "Not available" not in page.sections["methods"]
