"""A file or a setting that cannot be used: the page says what and where, and every button does something."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from html import unescape
from pathlib import Path

import pytest
from tests.reporting.test_reporting import Tree
from tests.web.asking import Page
from tests.web.bad_files import FILES, OTHER_TASKS, SETTINGS
from tests.workbooks import xlsx

from concordant.web.settings import settings_of
from concordant.web.words import LABELS

pytestmark = pytest.mark.once
# Words of the command line and of Python, which the page does not have.
OPTIONS = re.compile(r"(?<![\w-])--[a-z]|\bcc\.|\b[a-z_]+=(?:['\"…]|True|False|None|[A-Z])|`concordant ")
UNREADABLE = [  # what no remedy on the page can mend
    *("empty.csv", "blank.csv", "header.csv", "nul.csv", "binary.csv", "picture.png", "report.pdf", "page.html"),
    *("bomb.zip", "several.zip", "broken.zip", "broken.csv.gz", "broken.json", "bad-line.jsonl", "qrels.txt"),
    *("broken.xlsx", "not-a-workbook.xlsx", "broken.parquet", "broken.sqlite"),
]


def shown(path: Path, settings: Mapping[str, str]) -> tuple[str | None, str, str]:
    """Return the error for a file, the panel on it, and the controls."""
    page = Page(path.name, **settings)
    return page.answer.get("error"), page.regions.get("problem", ""), page.regions.get("controls", "")


def text_of(panel: str) -> str:
    """Return the words of a panel, without the lines of the file."""
    return unescape(re.sub(r'<svg.*?</svg>|<div class="lines".*?</div></div>|<[^>]*>', " ", panel, flags=re.DOTALL))


def remedies(panel: str) -> list[dict[str, str]]:
    """Return the settings that the buttons of a panel change."""
    return [json.loads(unescape(change)) for change in re.findall(r'data-set="([^"]*)"', panel)]


def pressed(settings: Mapping[str, str], change: Mapping[str, str]) -> dict[str, str]:
    """Return the settings once a button was pressed."""
    return {name: value for name, value in {**settings, **change}.items() if value}


def check(path: Path, settings: Mapping[str, str]) -> list[dict[str, str]]:
    """Check what the page says about a file that cannot be used; return the remedies."""
    error, panel, controls = shown(path, settings)
    assert error
    assert "Unexpected" not in error
    text = text_of(panel)
    for said in (error, text):
        assert OPTIONS.findall(said) == [], said
    tree = Tree(panel)
    assert "What you can do" in text
    assert "Choose another file" in text
    assert len(tree.attributes("button")) == len(remedies(panel))
    for wanted in ("encoding", "delimiter", "layout", "skip_bad_rows"):
        is_text = path.suffix == ".csv"
        assert f'data-setting="{wanted}"' in controls or not is_text, wanted
    for change in remedies(panel):
        settings_of([(name, value) for name, value in change.items() if value])  # all are settings of the page
        assert shown(path, pressed(settings, change))[0] != error, change
    return remedies(panel)


@pytest.mark.parametrize("name", ["letor.txt", "annotators.csv"])
def test_data_for_another_task_are_explained_where_they_are_ranked_all_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(OTHER_TASKS[name])
    error, panel, _ = shown(tmp_path / name, {"task": "rank"})
    assert error
    assert "What you can do" in panel
    assert OPTIONS.findall(f"{error} {text_of(panel)}") == []


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_explained_and_every_button_does_something(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(FILES[name])
    found = check(tmp_path / name, {})
    if name in UNREADABLE:
        return
    results = [shown(tmp_path / name, change)[0] for change in found]
    assert found or "Choose columns" in shown(tmp_path / name, {})[1]
    if name not in ("one-column.csv", "wrong-delimiter.csv", "votes.xls", "notes.txt"):
        assert None in results, results


@pytest.mark.parametrize(("name", "content", "settings"), SETTINGS)
def test_settings_that_do_not_fit_are_explained_and_can_be_undone(
    name: str, content: bytes, settings: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(content)
    if shown(tmp_path / name, settings)[0] is None:
        pytest.skip("these settings can be used")
    found = check(tmp_path / name, settings)
    results = [shown(tmp_path / name, pressed(settings, change))[0] for change in found]
    assert None in results, results


def test_one_bad_line_of_many_is_shown_with_its_value_and_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"u{k},i{k % 9},{k % 5}" for k in range(10_000)]
    rows[7_000] = "u7000,i1,good <b>"
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["user,item,rating", *rows]) + "\n")
    error, panel, _ = shown(path, {})
    assert error is not None
    assert error.startswith("ratings.csv, line 7002: ")
    assert '<div class="wrong"><b>7,002</b>u7000,i1,<mark>good &lt;b&gt;</mark></div>' in panel
    assert "<b>7,000</b>" in panel
    assert "<b>7,004</b>" in panel
    assert "<b>1</b>user,item,rating" in panel
    assert remedies(panel)[0] == {"skip_bad_rows": "true"}
    assert shown(path, {"skip_bad_rows": "true"})[0] is None


def test_a_long_line_is_shown_around_its_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "ratings.csv"
    path.write_text(f"user,item,rating\n{'u' * 5000},i1,good\nu2,i1,3\n")
    panel = shown(path, {})[1]
    assert "<mark>good</mark>" in panel
    assert len(panel) < 5_000


def test_an_encoding_is_offered_with_the_text_that_it_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, first, text in (
        ("latin1.csv", "windows-1252", "José,Zoë"),
        ("shift-jis.csv", "shift_jis", "東京,大阪"),
        ("utf16-no-bom.csv", "utf-16-le", "winner,loser"),
    ):
        (tmp_path / name).write_bytes(FILES[name])
        _, panel, _ = shown(tmp_path / name, {})
        assert remedies(panel)[0] == {"encoding": first}
        assert text in panel
        assert shown(tmp_path / name, {"encoding": first})[0] is None


def test_a_file_that_is_no_data_is_called_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "picture.png").write_bytes(FILES["picture.png"])
    error, panel, _ = shown(tmp_path / "picture.png", {})
    assert error == "picture.png is an image: open a table, ballots, matches, runs or a spreadsheet instead."
    assert remedies(panel) == []


def test_ambiguous_dates_are_read_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    name, content, settings = SETTINGS[0]
    (tmp_path / name).write_bytes(content)
    error, panel, controls = shown(tmp_path / name, settings)
    assert "“Dates begin with: the day” or “Dates begin with: the month”" in str(error)
    assert {"date_order": "day"} in remedies(panel)
    assert {"date_order": "month"} in remedies(panel)
    assert 'data-setting="date_order"' in controls


def test_tabs_and_spaces_can_be_chosen_as_delimiters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tabs.csv").write_text("winner\tloser\na\tb\nb\tc\n")
    (tmp_path / "spaces.csv").write_text("winner loser\na b\nb c\n")
    for name, word in (("tabs.csv", "tab"), ("spaces.csv", "space")):
        error, _, controls = shown(tmp_path / name, {"delimiter": word})
        assert error is None
        assert f'<option value="{word}" selected>' in controls


def test_every_label_of_a_control_is_on_some_page(tmp_path: Path) -> None:
    (tmp_path / "dates.csv").write_bytes(SETTINGS[0][1])
    page = Page(tmp_path / "dates.csv", scale="elo", date_order="day", transpose="false").html
    for name in ("layout", "encoding", "delimiter", "where", "skip_bad_rows", "method", "date_order"):
        assert LABELS[name] in page, name


def test_each_question_of_a_form_is_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    heads = [f"{what} [{place} choice]" for what in ("Lunch?", "Dinner?") for place in ("1st", "2nd")]
    rows = ["Pizza,Sushi,Soup,Rice", "Sushi,Pizza,Rice,Soup", "Pizza,Sushi,Soup,Rice"]
    Path("form.csv").write_text("\n".join([",".join(heads), *rows]) + "\n")
    offered = check(Path("form.csv"), {})
    assert {"question": "Lunch?"} in offered
    assert {"question": "Dinner?"} in offered
    assert shown(Path("form.csv"), {"question": "Dinner?"})[0] is None


def test_advice_begins_outside_the_names_of_controls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("plain.csv").write_text("voter,approved\nv1,Ann; Bob\nv2,Bob\nv3,Ann; Cy\n")
    panel = shown(Path("plain.csv"), {})[1]
    assert panel
    assert "“Kind of data: Matrix of ranks (1 is best)”" in text_of(panel).partition("roles")[2]
    assert "“" not in text_of(re.findall(r"<h2.*?</h2>", panel)[0])


def test_the_sheets_of_a_workbook_are_listed_and_offered(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="reads workbooks")
    path = tmp_path / "votes.xlsx"
    votes = [["winner", "loser"], ["a", "b"], ["b", "c"]]
    path.write_bytes(xlsx({"Read me": [["Please", "read", "me"], ["1", "x", "2"], ["1", "y", "5"]], "Votes": votes}))
    page = Page(path)
    assert page.error
    assert json.dumps({"sheet": "Votes"}) in unescape(page.regions["problem"])
    assert '<option value="Votes">Votes</option>' in page.regions["controls"]
    assert Page(path, sheet="Votes").error == ""


def test_a_binary_file_is_called_one_and_offers_no_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("program.csv").write_bytes(b"\x7fELF\x02\x01\x01\x00" + bytes(range(256)) * 40)
    error, panel, _ = shown(Path("program.csv"), {})
    assert str(error).startswith("program.csv is not a text file")
    assert "Not read" in panel
    assert "Choose columns" not in panel
    assert remedies(panel) == []


def test_encodings_with_the_same_text_are_offered_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("latin1.csv").write_bytes(FILES["latin1.csv"])
    panel = shown(Path("latin1.csv"), {})[1]
    texts = re.findall(r"Line 2 then reads: (.*?)<", panel)
    assert texts
    assert len(texts) == len({*texts})


def test_a_bomb_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from concordant.web import reading

    monkeypatch.chdir(tmp_path)
    Path("bomb.zip").write_bytes(FILES["bomb.zip"])
    looked, preview = list[str](), reading.preview
    monkeypatch.setattr(reading, "preview", lambda path, **options: (looked.append(path), preview(path, **options))[1])
    assert shown(Path("bomb.zip"), {})[0]
    assert looked == ["bomb.zip"]
    Path("bomb.zip").write_bytes(FILES["several.zip"])
    shown(Path("bomb.zip"), {})
    assert len(looked) == 2, "another file of the same name"


@pytest.mark.parametrize("first", ["ratings.csv", "movies.csv"])
def test_a_table_of_names_beside_ratings_is_left_aside_with_a_note(
    first: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [f"u{k % 5},{k % 7},{1 + k % 4}" for k in range(35)]
    Path("ratings.csv").write_text("\n".join(["userId,movieId,rating", *rows]) + "\n")
    Path("movies.csv").write_text("movieId,title,genres\n" + "".join(f"{k},Film {k},Drama\n" for k in range(7)))
    second = {"ratings.csv": "movies.csv", "movies.csv": "ratings.csv"}[first]
    page = Page(first, second)
    assert page.error == ""
    assert "movies.csv is not used: its columns have no recognised roles" in page.regions["offers"]
    assert "concordant rank ratings.csv --method" in page.regions["download"]


def test_a_label_of_many_megabytes_does_not_fill_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("long.csv").write_text(f"winner,loser\n{'a' * 3_000_000},b\nb,c\n")
    page = Page("long.csv")
    assert page.error == ""
    assert len(page.html) < 500_000


@pytest.mark.parametrize(
    ("content", "first", "n_skipped"),
    [
        ("user,item,rating,x,y\n,a,5,1,q\n,b,4,2,q\n,c,3,3,r\n", {"role.user": "-"}, "3 of 3 rows"),
        ("user,film,stars,kind\nv,a,5,x\n,a,4,y\n,a,3,x\n", "columns", "2 of 3 rows"),
        ("a,b,c,d\n1,x,2020-01-02,hello\n,y,2020-01-03,there\n,x,2020-01-03,you\n", "columns", ""),
    ],
)
def test_the_role_of_a_column_is_offered_before_rows_are_lost(
    content: str, first: object, n_skipped: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "votes.csv"
    path.write_text(content)
    error, panel, _ = shown(path, {})
    assert error is not None
    main = re.findall(r'<(?:button|a)[^>]*class="button primary"[^>]*>', panel)
    assert len(main) == 1
    assert ('data-opens="settings"' in main[0]) == (first == "columns")
    assert first == "columns" or remedies(panel)[0] == first
    assert n_skipped in text_of(panel)
    assert {"skip_bad_rows": "true"} not in remedies(panel)[:-1]
