"""Tables for people in every format: numbers to the right, labels escaped, nothing lost."""

from __future__ import annotations

import html as html_module
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from concordant.support import display
from concordant.support.display import DisplayTable, Passage

TABLE = DisplayTable(
    ["rank", "item", "score", "95% CI"],
    [["1", "a|b_c", " 1.5", "[ 0.5,   2.5]"], ["2", "[x] & y", "-0.5", "[-1.5,  0.5]"]],
    {0, 2, 3},
    "bradley-terry, q_1",
    ["50% of the ballots"],
)


def test_text_is_aligned_with_the_title_above_and_the_notes_below() -> None:
    lines = display.text([TABLE]).splitlines()
    assert lines[0] == "bradley-terry, q_1"
    assert lines[-1] == "50% of the ballots"
    assert len({len(line) for line in lines[2:4]}) == 1


def test_markdown_aligns_numbers_to_the_right_and_escapes_pipes() -> None:
    lines = display.markdown([TABLE]).splitlines()
    assert lines[0] == "**bradley-terry, q_1**"
    assert lines[3] == "| ---: | --- | ---: | ---: |"
    assert lines[4] == r"| 1 | a\|b_c | 1.5 | [0.5, 2.5] |"
    assert lines[5] == "| 2 | [x] & y | -0.5 | [-1.5, 0.5] |"


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("gpt_4_turbo", "gpt_4_turbo"),
        ("_private_", r"\_private\_"),
        ("**bold** `code`", r"\*\*bold\*\* \`code\`"),
        ("<script>x</script>", "&lt;script>x&lt;/script>"),
        ("[text](address)", r"\[text](address)"),
        ("a\\|b", r"a\\\|b"),
        ("one\ntwo\r\nthree", "one two three"),
        ("&lt;", "&amp;lt;"),
        ("a\x07b", r"a\\x07b"),
    ],
)
def test_labels_are_literal_in_markdown(label: str, shown: str) -> None:
    assert display.markdown([DisplayTable(["item"], [[label]])]).splitlines()[2] == f"| {shown} |"


def test_latex_is_a_booktabs_tabular() -> None:
    text = display.latex([TABLE])
    assert r"\begin{tabular}{rlrr}" in text
    rules = [line for line in text.splitlines() if line.endswith("rule")]
    assert rules == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"rank & item & score & 95\% CI \\" in text
    assert r"2 & [x] \& y & $-$0.5 & [$-$1.5, 0.5] \\" in text
    assert text.startswith("% bradley-terry, q_1; needs \\usepackage{booktabs}\n")
    assert r"50\% of the ballots" in text


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        (r"a_b % & # $ { }", r"a\_b \% \& \# \$ \{ \}"),
        ("~^\\", r"\textasciitilde{}\textasciicircum{}\textbackslash{}"),
        ("a > b < c | d", r"a \textgreater{} b \textless{} c \textbar{} d"),
        ("[first]", "{[}first]"),
        ("*star", "{*}star"),
        ("--flag", "-{}-flag"),
        ("▲ ▼ …", r"$\uparrow$ $\downarrow$ \dots{}"),
        ("% a\n\\end{tabular}", r"\% a \textbackslash{}end\{tabular\}"),
    ],
)
def test_labels_are_literal_in_latex(label: str, shown: str) -> None:
    assert display.latex([DisplayTable(["item"], [[label]])]).splitlines()[5] == rf"{shown} \\"


def test_a_title_cannot_leave_its_comment() -> None:
    text = display.latex([DisplayTable(["item"], [["a"]], title="one\n\\input{two}")])
    assert text.splitlines()[0].startswith("% one \\input{two};")


@given(st.text(max_size=30))
def test_every_latex_row_has_one_cell_per_column(label: str) -> None:
    row = display.latex([DisplayTable(["item", "score"], [[label, "1"]], {1})]).splitlines()[5]
    assert len(re.findall(r"(?<!\\)&", row.replace(r"\\", ""))) == 1
    assert row.endswith(r" & 1 \\")


@given(st.text(max_size=30))
def test_every_markdown_row_has_one_cell_per_column(label: str) -> None:
    row = display.markdown([DisplayTable(["item", "score"], [[label, "1"]], {1})]).splitlines()[2]
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", row)) == 3


class Cells(HTMLParser):
    """The text of all cells."""

    def __init__(self) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag == "td":
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] == "td" and data != "\n":
            self.cells[-1] += data


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf", "Zl", "Zp"]), min_size=1, max_size=30))
def test_labels_are_text_in_html(label: str) -> None:
    parser = Cells()
    parser.feed(display.html([DisplayTable(["item"], [[label]])]))
    assert parser.cells == [label]
    assert set(parser.tags) == {"table", "thead", "tbody", "tr", "th", "td"}


def test_html_is_a_fragment_with_numbers_to_the_right() -> None:
    text = display.html([TABLE, Passage(["a > b"], "Why")])
    assert text.startswith("<table><caption>bradley-terry, q_1</caption>")
    assert '<td style="text-align:right">[0.5, 2.5]</td>' in text
    assert f"<p>{html_module.escape('a > b')}</p>" in text
    assert "<html" not in text


def test_a_passage_has_a_title_sentences_and_a_table_in_every_format() -> None:
    block = Passage(["a beats b."], "Why_", DisplayTable(["item"], [["a"]]))
    assert display.text([block]) == "Why_\n  a beats b.\n  item\n  a"
    assert display.markdown([block]).startswith("**Why\\_**\n\na beats b.\n\n| item |")
    assert display.latex([block]).startswith("\\paragraph{Why\\_}\n\na beats b.\n\n% needs")
    assert display.html([block]).startswith("<h4>Why_</h4>\n<p>a beats b.</p>\n<table>")
