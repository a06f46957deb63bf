"""Texts are plain technical English: phrases that were replaced do not come back, and every page finds the glossary."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
PLACES = ("*.md", "docs/**/*.md")  # patterns of the pages that are checked
GENERATED = re.compile(r"docs/(_build|gallery|reference)/")

# What must not come back, and what to write instead; "How we write" in CONTRIBUTING.md has the rules.
PHRASES = {
    "foretell": "predict",
    "foretold": "predicted",
    "told apart": "significantly different",
    "no luck": "statistically significant",
    "more than luck": "statistically significant",
    "turned around": "discordant, reversed",
    "turns around": "reverses",
    "at hand": "available",
    "anew": "again",
    "refused are": "… is rejected",
    "goes in a circle": "cyclic",
    "go in a circle": "cyclic",
    "hidden factor": "latent factor",
    "hidden factors": "latent factors",
    "somebody new": "new user",
    "chosen by evidence": "chosen by marginal likelihood",
    "beside others": "comparison",
    "beside the whole": "alongside the overall ranking",
    "what there is": "list, catalogue",
    "take it with you": "download",
    "measured by the labels": "evaluation",
    "who is right how often": "annotator reliability",
    "how sure it is": "uncertainty",
    "is no table": "cannot be …",
    "likewise": "also",
    "is mended": "is fixed",
    "what covariates are worth": "covariate effects",
    "not here any more": "no longer available",
}
TERMS = (
    *("95% CI", "adjusted p-value", "annotator", "approval", "ballot", "candidate", "catalogue", "cold start"),
    *("Condorcet winner", "confidence interval", "contest", "covariate effect", "cross-validation", "cycle"),
    *("discordant pair", "empirical Bayes", "fold-in", "Hessian", "home advantage", "inter-annotator agreement"),
    *("Kendall tau", "L2 regularisation", "latent factors", "leaderboard", "learning rate", "learning to rank", "MAP"),
    *("marginal likelihood", "maximum likelihood", "memory limit", "metasearch", "NDCG", "negative log-likelihood"),
    *("new user", "NumPy reference implementation", "outlier annotators", "pairwise comparison", "position bias"),
    *("qrels", "query", "reciprocal rank fusion", "regularisation", "relevance judgements", "shrinkage", "solver"),
    *("standard error", "stationary distribution", "statistically significant", "style control", "topic"),
    *("worker quality",),
)


def prose(text: str) -> str:
    """Return a page without its code, on one line: programs print what they print."""
    without_blocks = re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.DOTALL | re.MULTILINE)
    return " ".join(re.sub(r"`[^`\n]+`", "", without_blocks).split())


def found(text: str) -> list[str]:
    """List the phrases of a page that should be replaced."""
    words = prose(text)
    return [
        f"{phrase!r}: write {better!r}"
        for phrase, better in PHRASES.items()
        if re.search(rf"\b{re.escape(phrase)}\b", words, re.IGNORECASE)
    ]


def literals(text: str) -> Iterator[str]:
    """Yield the docstrings and strings of a module; the parts of an f-string are joined by dots."""
    tree = ast.parse(text)
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield " … ".join(part.value for part in node.values if isinstance(part, ast.Constant))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.value


def modules() -> list[str]:
    return sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/**/*.py"))


def pages() -> list[str]:
    paths = {path.relative_to(ROOT).as_posix() for place in PLACES for path in ROOT.glob(place)}
    return sorted(path for path in paths if not GENERATED.match(path))


@pytest.mark.parametrize("page", pages())
def test_replaced_phrases_do_not_come_back(page: str) -> None:
    assert found((ROOT / page).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", modules())
def test_replaced_phrases_do_not_come_back_in_the_program(module: str) -> None:
    assert found("\n\n".join(literals((ROOT / module).read_text(encoding="utf-8")))) == []


def test_phrases_are_found_in_docstrings_and_messages_and_not_in_names() -> None:
    program = 'def anew() -> str:\n    """Rank anew."""\n    return f"no {1} luck at hand"\n'
    assert [found(text) for text in literals(program)] == [["'anew': write 'again'"], ["'at hand': write 'available'"]]


def test_phrases_are_found_in_prose_and_not_in_code() -> None:
    assert found("Majorities never go\nin a circle.") == ["'go in a circle': write 'cyclic'"]
    assert found("```text\nMajorities never go in a circle.\n```\nSee `anew`, renewed and a new user.") == []


def test_the_glossary_has_the_terms_that_people_search_for() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8").lower()
    assert [term for term in TERMS if term.lower() not in text] == []


def test_every_guide_page_ends_with_a_link_to_the_glossary() -> None:
    last = {path.name: path.read_text("utf-8").rstrip().splitlines()[-1] for path in ROOT.glob("docs/guide/*.md")}
    assert {name: line for name, line in last.items() if "(../glossary.md)" not in line} == {}


def test_an_entry_of_the_changelog_is_one_line() -> None:
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith((" ", "\t"))] == []
    assert sum(line.startswith("- ") for line in lines) > 50
    assert sum(len(line.split()) for line in lines) <= 1000


def test_every_guide_page_starts_with_a_picture() -> None:
    heads = {path.name: path.read_text("utf-8").split("\n\n")[1] for path in ROOT.glob("docs/guide/*.md")}
    assert [name for name, first in heads.items() if "![" not in first] == []
