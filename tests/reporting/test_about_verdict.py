"""Verdicts: who leads, how certain that is, and what a reader should look at next; and the card that is shared."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from tests.conftest import ROOT, Run
from tests.reporting.test_reporting import HOSTILE, RUNS, hostile

import concordant as cc
from concordant.errors import InputError
from concordant.narrative.verdict import Bar, Chip, Dots, Verdict
from concordant.reporting import reports
from concordant.reporting.about_verdict import verdict_of
from concordant.reporting.card import card_svg
from concordant.reporting.study import Data, Study
from concordant.results.uncertain import Uncertainty

pytestmark = pytest.mark.once

EXAMPLES = ROOT / "examples"
SVG = "{http://www.w3.org/2000/svg}"


def study_of(prefs: cc.Preferences, method: str | None = None, params: Mapping[str, object] | None = None) -> Study:
    given = params or {}
    return Study(Data(prefs), cc.rank(prefs, **given) if method is None else cc.rank(prefs, method, **given))


def verdict(prefs: cc.Preferences, method: str | None = None, **params: object) -> Verdict:
    found = verdict_of(study_of(prefs, method, params))
    assert found is not None
    return found


# ---- one contest ----
def test_an_election_has_a_winner_with_the_votes_of_the_closest_comparison() -> None:
    found = verdict(cc.read(EXAMPLES / "election.csv"), "borda")
    assert (found.over, found.headline, found.is_label) == ("Winner by Borda count", "Clara Lindqvist", True)
    assert found.sentence.startswith("The difference from the runner-up Ben Okoro is significant: 61 to 39 votes")
    assert found.numbers == (("100", "voters"), ("5", "candidates"))
    assert (found.method, found.method_id) == ("Borda count", "borda")
    assert isinstance(found.figure, Bar)
    assert (found.figure.left, found.figure.right, found.figure.share) == ("Clara 61", "39 Ben", 0.61)


def test_disagreement_of_rules_and_the_condorcet_winner_are_chips() -> None:
    prefs = cc.read(EXAMPLES / "election.csv")
    disputed = Chip("Rules disagree about the winner", "warn", "methods")
    assert verdict(prefs, "borda").chips == (disputed, Chip("Condorcet winner", section="duels"))
    missed = Chip("Condorcet winner: Clara Lindqvist", "warn", "duels")
    assert verdict(prefs, "plurality").chips == (disputed, missed)


def test_a_leaderboard_has_a_leader_with_scores_and_intervals() -> None:
    prefs = cc.read(EXAMPLES / "model-votes.csv")
    found = verdict(prefs)
    assert (found.over, found.headline) == ("Leader of 8 models", "heron-large")
    assert found.numbers == (("240", "votes"), ("8", "models"), ("20%", "ties"), ("6", "judges"))
    assert isinstance(found.figure, Dots)
    ranking = cc.rank(prefs)
    assert found.figure.labels == tuple(ranking.items[:5])
    assert found.figure.low == tuple(ranking.low[:5].tolist())


def test_a_shared_first_place_is_nobodys_victory() -> None:
    found = verdict(cc.Preferences.from_rankings([["a", "b", "c"], ["b", "a", "c"]]), "borda")
    assert (found.over, found.headline) == ("Shared first place by Borda count", "a and b")
    assert found.sentence == "a and b share first place among 3."


def test_several_seats_have_several_winners() -> None:
    found = verdict(cc.read(EXAMPLES / "council.csv"), "stv", seats=3)
    assert found.over == "Elected by single transferable vote"
    assert found.headline == "Rosa Lind, Ines Duarte and Omar Haddad"
    assert found.numbers[0] == ("3", "seats")
    assert "quota is 140 votes" in found.sentence


def test_style_control_is_a_chip() -> None:
    found = verdict(cc.read(EXAMPLES / "arena-style.csv", covariate=["length_a", "length_b"]))
    assert any(chip.text.startswith("Style control: ") and chip.section == "style" for chip in found.chips)


def test_differences_between_groups_are_a_chip() -> None:
    made = cc.report(cc.read(EXAMPLES / "arena-languages.csv", by="language"), by="instance", methods=[])
    assert made.verdict is not None
    (chip,) = [chip for chip in made.verdict.chips if chip.section == "groups"]
    assert "significant difference" in chip.text


def test_classes_without_an_order_have_no_verdict() -> None:
    answers = {"worker": ["a", "b", "c"] * 2, "task": ["1"] * 3 + ["2"] * 3, "answer": ["x", "x", "y", "y", "y", "x"]}
    prefs = cc.Preferences.from_answers(answers["worker"], answers["task"], answers["answer"])
    assert verdict_of(study_of(prefs, "dawid-skene")) is None


def test_a_single_item_is_first_without_a_test() -> None:
    found = verdict(cc.Preferences.from_rankings([["only"]]), "borda")
    assert (found.headline, found.sentence, found.figure) == ("only", "", None)


# ---- at once ----
def test_the_first_verdict_compares_no_methods_and_computes_no_covariance(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    winner, loser = rng.integers(0, 2000, (2, 20_000))
    keep = winner != loser
    prefs = cc.Preferences.from_pairs(winner[keep].astype(str), loser[keep].astype(str))
    study = study_of(prefs, "bradley-terry")

    def fail(*_: object) -> Uncertainty:
        raise AssertionError("too early")

    monkeypatch.setattr(type(study.ranking.uncertainty), "known", fail)
    monkeypatch.setattr(Study, "compared", property(fail))
    found = verdict_of(study, is_complete=False)
    assert found is not None
    assert (found.headline, found.sentence) == (study.ranking.items[0], "")


def test_the_first_verdict_says_what_the_last_one_says() -> None:
    study = study_of(cc.read(EXAMPLES / "election.csv"), "borda")
    first, last = verdict_of(study, is_complete=False), verdict_of(study)
    assert first is not None
    assert last is not None
    assert (first.headline, first.sentence, first.numbers) == (last.headline, last.sentence, last.numbers)


# ---- several instances ----
def test_the_best_of_the_fused_run_and_the_runs_is_named_with_its_test() -> None:
    prefs, labels = cc.read(RUNS), cc.read_labels(EXAMPLES / "qrels.txt")
    study = Study(Data(prefs), cc.rank(prefs, "rrf"), (), labels, ("ndcg@10", "mrr"))
    found = verdict_of(study)
    assert found is not None
    assert (found.over, found.headline, found.is_label) == ("Best run by NDCG@10", "Fused run", False)
    fused = study.evaluations["rrf"].means
    best = study.evaluations["engine1"].means
    metric = next(iter(fused))
    assert (
        f"{fused[metric]:.3f}, {fused[metric] - best[metric]:.3f} above the best single run engine1" in found.sentence
    )
    assert "not significant (paired t test" in found.sentence
    assert found.chips[0] == Chip("Metrics disagree: MRR favours engine2", "warn", "labels")
    assert found.numbers == (("12", "judged queries"), ("4", "runs"))
    assert isinstance(found.figure, Dots)
    assert set(found.figure.labels) == {"fused run", "engine1", "engine2", "engine3", "engine4"}


def test_without_judgements_the_verdict_counts_queries() -> None:
    found = verdict(cc.read(RUNS), "rrf")
    assert (found.over, found.headline) == ("Fusion of 4 runs by reciprocal rank fusion", "12 queries")
    assert found.sentence.endswith("of 12 queries (5% level).")


def test_judgements_without_a_relevant_document_name_no_best_run() -> None:
    prefs = cc.read(RUNS)
    labels = cc.read_labels(io.StringIO("1 0 doc0101 0\n1 0 doc0102 0\n2 0 doc0101 0\n"), format="qrels")
    found = verdict_of(Study(Data(prefs), cc.rank(prefs, "rrf"), (), labels, ("ndcg@10", "map")))
    assert found is not None
    assert found.headline == "12 queries"


def test_the_fused_run_is_tested_against_the_best_run_also_if_that_is_better() -> None:
    prefs, labels = cc.read(RUNS), cc.read_labels(EXAMPLES / "qrels.txt")
    found = verdict_of(Study(Data(prefs), cc.rank(prefs, "rrf"), (), labels, ("mrr",)))
    assert found is not None
    assert (found.over, found.headline, found.is_label) == ("Best run by MRR", "engine2", True)
    assert "above the fused run" in found.sentence


def test_other_instances_are_counted_in_their_word() -> None:
    found = verdict(cc.read(EXAMPLES / "arena-languages.csv", instance="language"))
    assert (found.headline, found.is_label) == ("5 languages", False)


# ---- the card ----
def drawn(found: Verdict, source: str = "") -> ElementTree.Element:
    return ElementTree.fromstring(card_svg(found, source))


def test_the_card_shows_the_verdict() -> None:
    found = verdict(cc.read(EXAMPLES / "election.csv"), "borda")
    card = drawn(found, "election.csv")
    assert (card.get("width"), card.get("height")) == ("1200", "630")
    said = " ".join("".join(text.itertext()) for text in card.iter(f"{SVG}text"))
    for words in (
        "Clara Lindqvist",
        "Winner by Borda count",
        "Rules disagree",
        "61 to 39",
        "100",
        "voters",
        "election",
    ):
        assert words in said


def test_the_card_keeps_names_apart_and_isolated_on_every_line() -> None:
    long, arabic = "company/model-of-the-year-instruct-", "نموذج اللغة العربية الكبير جدا"
    names = [f"{long}int4", f"{long}int8", arabic]
    prefs = cc.Preferences.from_pairs(
        [names[0], names[2], names[2], names[0]] * 4, [names[2], names[0], names[1], names[1]] * 4
    )
    texts = ["".join(text.itertext()) for text in drawn(verdict(prefs, "bradley-terry")).iter(f"{SVG}text")]
    assert all("\\u20" not in text for text in texts)
    assert all(text.count("\u2068") == text.count("\u2069") for text in texts)
    assert len({text for text in texts if text.startswith("comp…")}) == 2


def test_the_card_refers_to_nothing_outside_and_runs_nothing() -> None:
    text = card_svg(verdict(hostile(), "borda"), HOSTILE[0])
    tree = ElementTree.fromstring(text)
    assert {node.tag.removeprefix(SVG) for node in tree.iter()} <= {
        "svg", "title", "style", "rect", "text", "tspan", "line", "circle", "path",
    }  # fmt: skip
    for node in tree.iter():
        assert not [name for name in node.attrib if name.startswith("on") or name.endswith("href")]
    assert "url(" not in text
    assert "@import" not in text


@pytest.mark.parametrize("label", ["a" * 10_000, "word " * 500, "候补者" * 200, "W" * 40])
def test_long_labels_stay_within_the_card(label: str) -> None:
    found = Verdict("Winner", label, True, f"The difference from {label} is large.", (Chip(label),), (("3", label),))
    card = drawn(found, label)
    for text in card.iter(f"{SVG}text"):
        shown = "".join(text.itertext())
        size = float(text.get("font-size", "0"))
        width = sum(1.0 if ord(c) > 0x2E80 else 0.45 for c in shown) * size
        assert float(text.get("x", "0")) + width <= 1200
        assert 0 < float(text.get("y", "0")) < 630


def test_a_report_has_a_card_and_says_when_it_has_none() -> None:
    made = cc.report(cc.read(EXAMPLES / "election.csv"), methods=[], title="Board")
    assert "Board" in made.card()
    with pytest.raises(InputError, match="no verdict"):
        reports.Report("Nothing").card()


def test_the_command_writes_the_card(tmp_path: Path, run: Run) -> None:
    card = tmp_path / "verdict.svg"
    code, *_ = run("report", EXAMPLES / "election.csv", "-o", tmp_path / "report.html", "--card", card)
    assert code == 0
    assert ElementTree.parse(card).getroot().tag == f"{SVG}svg"
    assert str(tmp_path) not in (tmp_path / "report.html").read_text()


def test_numbers_at_the_right_edge_of_the_small_picture_are_whole() -> None:
    from concordant.narrative.verdict import Dots
    from concordant.reporting.verdict_card import TICK, WIDTH, picture_of

    drawn = picture_of(Dots("NDCG@10", ("a", "b"), (0.98, 0.63), (None, None), (None, None)))
    found = re.findall(r'<text x="([\d.]+)"[^>]*class="q t mid"[^>]*>([^<]*)<', drawn)
    found = found or re.findall(r'<text class="q t mid"[^>]*x="([\d.]+)"[^>]*>([^<]*)<', drawn)
    assert ("1.0") in [text for _, text in found]
    assert all(float(x) + TICK * len(text) / 2 <= WIDTH + 1e-6 for x, text in found)
