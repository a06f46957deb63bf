"""Settings come from addresses, which anybody can write: they are validated, and reach nothing that they should not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.conftest import ROOT
from tests.reporting.test_reporting import HOSTILE, Tree
from tests.web.asking import Page
from tests.web.conftest import Server
from tests.web.malformed import NAMES, TEXTS, malformed_requests, malformed_settings
from tests.web.test_safety import VOTES

from concordant.errors import ConcordantError, ParameterError
from concordant.web.settings import MAX_SETTINGS, PageSettings, settings_of

pytestmark = pytest.mark.once
SECRET = "correct-horse-battery"


def refusal(pairs: list[tuple[str, str]]) -> str:
    """Return why settings are refused; those that are kept are plain JSON."""
    try:
        json.dumps(settings_of(pairs), allow_nan=False, ensure_ascii=False).encode()
    except ConcordantError as problem:
        return str(problem)
    return ""


# ---- validation ----
def test_malformed_settings_are_refused_in_a_sentence_or_kept_as_plain_json() -> None:
    refused = [why for why in map(refusal, malformed_settings(10_000)) if why]
    assert len(refused) > 200
    for why in refused:
        assert len(why) < 400
        assert why.isprintable()
        assert why.endswith((".", "?"))


@pytest.mark.parametrize(
    ("pairs", "why"),
    [
        ([("method", "x")] * (MAX_SETTINGS + 1), "at most 500"),
        ([("metod", "elo")], "Did you mean method"),
        ([("__proto__", "x")], "no setting"),
        ([("params", "x")], "no setting"),
        ([("roles", "x")], "no setting"),
        ([("files", "/etc/passwd")], "no setting"),
        ([("min_ballots", "-1")], "out of range"),
        ([("min_ballots", "nan")], "out of range"),
        ([("centre", "1e999")], "out of range"),
        ([("skip_bad_rows", "maybe")], "maybe"),
        ([("layout", "cube")], "cube"),
        ([("scale", "fish")], "fish"),
        ([("task", "destroy")], "destroy"),
        ([("where", "\ud800")], "surrogate"),
        ([("o.k", "\ud800")], "surrogate"),
        ([("role.\ud800", "winner")], "surrogate"),
        ([("role.a", "king")], "king"),
        ([("role.a", "other side of \ud800")], "surrogate"),
        ([("where", "x" * 2001)], "at most 2,000"),
        ([("role." + "x" * 10_001, "winner")], "at most 10,000"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_with_its_reason(pairs: list[tuple[str, str]], why: str) -> None:
    with pytest.raises(ParameterError, match=why):
        settings_of(pairs)


def test_all_that_the_page_sends_is_taken() -> None:
    pairs = [
        ("o.prior", "3"), ("o.tie", "true"), ("min_ballots", " "), ("skip_bad_rows", "true"), ("methods", "a, b"),
        ("metrics", ""), ("layout", "pairs"), ("method", "elo"), ("role.who", "winner"), ("role.x", "place"),
        ("role.y", ""), ("role.z", "other side of who"), ("curve", "ann\nbob"), ("centre", "1200"),
    ]  # fmt: skip
    assert settings_of(pairs) == {
        "params": {"prior": "3", "tie": "true"}, "skip_bad_rows": True, "methods": "a, b", "layout": "pairs",
        "method": "elo", "roles": {"who": "winner", "x": "place", "y": "-", "z": "other side of who"},
        "curve": "ann\nbob", "centre": 1200.0,
    }  # fmt: skip
    assert settings_of([]) == {"params": {}, "roles": {}}


# ---- what they reach ----
@pytest.fixture
def votes(tmp_path: Any) -> str:
    (tmp_path / "secret.csv").write_text(f"a\n{SECRET}\n")
    path = tmp_path / "votes.csv"
    path.write_bytes(VOTES)
    return str(path)


@pytest.mark.parametrize(
    "where",
    [
        "winner IN (SELECT a FROM read_csv('{secret}'))",
        "EXISTS (FROM '{secret}')",
        "winner = (SELECT content FROM read_text('{secret}'))",
        "winner = getenv('HOME')",
        "1=1); COPY (SELECT 1) TO '{secret}'; --",
        "1=1; ATTACH '{secret}' AS x",
        "1=1) UNION ALL (SELECT * FROM '{secret}'",
        "winner = 'x' OR load_extension('httpfs')",
        "sum(length(winner)) > 0",
        "repeat(winner, 1000000000) = ''",
        "winner = $1",
        "'",
    ],
)
def test_a_condition_on_rows_reaches_no_other_file(votes: str, where: str) -> None:
    secret = Path(votes).with_name("secret.csv")
    page = Page(votes, where=where.format(secret=secret))
    assert page.error
    assert SECRET not in page.html + page.error
    assert secret.read_text() == f"a\n{SECRET}\n"
    assert "Unexpected" not in page.error


def test_a_condition_on_rows_keeps_rows(votes: str) -> None:
    page = Page(votes, where="winner <> 'bob'")
    assert page.error == ""
    assert re.search(r"\b2 (ballots|votes|comparisons|matches|pairs)", page.regions["where"])


@pytest.mark.parametrize(
    "name", ["encoding", "sheet", "delimiter", "question", "anchor", "by", "item", "query", "span"]
)
@pytest.mark.parametrize(
    "value",
    ["rot13", "zip", "unicode_escape", "idna", "../../secret.csv", "secret", "\x00", "__import__('os')", "undefined"],
)
def test_names_in_settings_lead_nowhere(votes: str, name: str, value: str) -> None:
    page = Page(votes, **{name: value})
    assert SECRET not in page.html + page.error
    assert "Unexpected" not in page.html + page.error


@pytest.mark.parametrize("text", [text for text in TEXTS if "\ud800" <= text < "\ue000" or len(text) < 2001])
@pytest.mark.parametrize("name", ["method", "methods", "metrics", "add_columns", "anchor", "o.prior", "where", "curve"])
def test_hostile_texts_end_in_a_sentence(votes: str, name: str, text: str) -> None:
    if refusal([(name, text)]):
        return
    page = Page(votes, **{name: text})
    assert "Unexpected" not in page.html + page.error
    assert not {tag for tag, _ in Tree(page.html).tags} & {"script", "b", "iframe"}


def test_hostile_names_of_columns_and_items_are_text_in_every_region(tmp_path: Any) -> None:
    import csv

    labels = [label.replace("\x00", "") for label in HOSTILE]
    path = tmp_path / "odd.csv"
    columns = ["winner", "loser", *(f"{label}_{side}" for label in labels[:3] for side in "ab"), *labels]
    rows = [
        [a, b, *map(str, range(6)), *(f"{x}{k % 3}" for x in labels)]
        for k, a in enumerate(labels)
        for b in labels
        if a != b
    ]
    with open(path, "w", newline="", encoding="utf-8", errors="surrogatepass") as file:
        csv.writer(file).writerows([columns, *rows])
    for settings in (
        {},
        {"by": labels[0]},
        {"item": labels[1]},
        {f"role.{labels[0]}_a": "covariate"},
        {"layout": "ratings"},
    ):
        page = Page(path, **settings)
        assert "Unexpected" not in page.html + page.error
        tree = Tree(page.html)
        assert not {tag for tag, _ in tree.tags} & {"script", "img", "style", "iframe", "object", "b"}
        assert not {name for _, attributes in tree.tags for name in attributes if name.startswith("on")}
        assert not {name for _, attributes in tree.tags for name in attributes if name == "style"}
        links = [attributes.get("href") or "" for attributes in tree.attributes("a")]
        assert [link for link in links if not link.startswith(("?", "#", "/", "data:text/csv;base64,"))] == []


# ---- over the network ----
def test_a_refused_setting_starts_nothing_and_the_next_one_works(server: Server) -> None:
    key = server.upload(VOTES)
    for query in ("min_ballots=1e999", "method=%ED%A0%80&what=1", "what=1", "min_ballots=-1", "o.a=1&" * 501):
        status, _, content = server.ask("GET", f"/api/data/{key}/view?{query}")
        assert status == 400, query
        assert json.loads(content)["error"].endswith((".", "?")), query
        assert server.ask("GET", f"/api/data/{key}/download/csv?{query}")[0] == 400
    assert server.work(key, method="borda", min_ballots="1").state == "done"


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"method": "no such"}, "no method"),
        ({"params": {"prior": "-1"}, "method": "bradley-terry"}, "out of range"),
        ({"params": {"prior": "x"}, "method": "bradley-terry"}, "not a number"),
        ({"params": {"priro": "1"}, "method": "bradley-terry"}, "Did you mean prior"),
        ({"methods": "a,b"}, "no method"),
    ],
)
def test_settings_that_do_not_fit_are_a_sentence_and_the_page_goes_on(
    server: Server, settings: dict[str, Any], why: str
) -> None:
    key = server.upload(VOTES)
    assert why in (view := server.work(key, **settings)).html
    assert view.state in ("done", "failed")
    assert server.work(key).error is None


def test_settings_are_not_kept_by_the_server(server: Server) -> None:
    key = server.upload(VOTES)
    assert 'value="copeland" selected' in server.work(key, method="copeland").regions["controls"]
    assert 'value="copeland" selected' not in server.work(key).regions["controls"]


def test_names_of_unknown_settings_are_refused_by_the_server(server: Server) -> None:
    key = server.upload(VOTES)
    for name in filter(None, NAMES):
        if name != "id":
            assert server.ask("GET", f"/api/data/{key}/view?{quote(name)}=1")[0] == 400


def test_requests_that_are_hardly_http_do_no_harm(server: Server) -> None:
    key = server.upload(VOTES)
    own = f"127.0.0.1:{server.port}"
    for content in malformed_requests(own, server.cookie, key):
        answer = server.told(content)
        assert not answer.startswith(b"HTTP/1.1 5"), (content, answer)
        assert b"root:" not in answer
    assert server.work(key).state == "done"


def test_what_the_examples_link_to_is_valid() -> None:
    from urllib.parse import parse_qsl

    from concordant.web import pages

    for task in pages.TASKS:
        settings_of(parse_qsl(getattr(task, "address", "") or ""))
    assert {"method", "by", "where"} <= set(PageSettings.__dataclass_fields__)
    assert (ROOT / "examples").is_dir()
