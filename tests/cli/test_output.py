"""Output of commands: every command in every format, by option and by file extension."""

from __future__ import annotations

import csv
import gzip
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT, Run

from concordant.cli._output import ENDINGS

EXAMPLES = ROOT / "examples"
RUNS = sorted((EXAMPLES / "runs").glob("*.run"))[:2]
COMMANDS: dict[str, list[object]] = {
    "rank": ["rank", EXAMPLES / "model-votes.csv"],
    "groups": ["rank", EXAMPLES / "arena-languages.csv", "--by", "language"],
    "compare": ["compare", EXAMPLES / "election.csv", "--methods", "borda,plurality"],
    "evaluate": ["evaluate", *RUNS, "--labels", EXAMPLES / "qrels.txt"],
    "crowd": ["crowd", "judgements.csv", "--labels", "gold.csv"],
}
FIRST = {"rank": "rank", "groups": "rank", "compare": "method", "evaluate": "system", "crowd": "agent"}
NUMBER = {"rank": 2, "groups": 2, "compare": 1, "evaluate": 1, "crowd": 3}  # a column of numbers


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in a folder with judgements of four annotators, one of them named to cause trouble."""
    monkeypatch.chdir(tmp_path)
    rows = [f"t,d{d},{who},{int(d % 2 == (who != 'w|_%'))}" for d in range(8) for who in ("a", "b", "c", "w|_%")]
    Path("judgements.csv").write_text("\n".join(["topic,document,worker,label", *rows]) + "\n")
    Path("gold.csv").write_text("\n".join(["topic,document,label", *(f"t,d{d},{d % 2}" for d in range(8))]) + "\n")


@pytest.fixture(params=list(COMMANDS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def command(name: str) -> list[object]:
    more = ["--item", "document", "--agent", "worker", "--instance", "topic", "--rating", "label"]
    return [*COMMANDS[name], *(more if name == "crowd" else [])]


def show(run: Run, name: str, *options: object) -> str:
    code, out, err = run(*command(name), *options)
    assert code == 0, err
    return out


def test_markdown_has_a_header_a_rule_and_right_aligned_numbers(run: Run, name: str) -> None:
    lines = show(run, name, "--markdown").splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("|"))
    header, rule, first = (lines[at + k].strip("|").split(" | ") for k in range(3))
    assert header[0].strip() == FIRST[name]
    assert len(header) == len(rule) == len(first)
    assert rule[NUMBER[name]].strip() == "---:"
    assert any(cell.strip() == "---" for cell in rule)


def test_latex_is_a_booktabs_table(run: Run, name: str) -> None:
    text = show(run, name, "--latex")
    assert all(
        rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule", r"\begin{tabular}", r"\end{tabular}")
    )
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert rows[0].startswith(FIRST[name])
    if name == "crowd":
        assert r"w\textbar{}\_\% &" in text


def test_html_on_the_terminal_is_a_fragment_and_in_a_file_a_page(run: Run, name: str) -> None:
    fragment = show(run, name, "--html")
    assert "<table>" in fragment
    assert "<html" not in fragment
    show(run, name, "-o", "x.html")
    page = Path("x.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "Content-Security-Policy" in page
    assert page.count("<table") >= 1


def test_formats_for_people_show_the_cells_of_the_text(run: Run, name: str) -> None:
    words = [line.split() for line in show(run, name).splitlines()]
    for option in ("--markdown", "--html", "--latex"):
        out = show(run, name, option)
        for number in {cell for line in words[2:4] for cell in line if cell.replace(".", "").isdigit()}:
            assert number in out


def test_the_file_extension_decides_the_format(run: Run, name: str) -> None:
    show(run, name, "-o", "x.md")
    assert Path("x.md").read_text() == show(run, name, "--markdown")
    show(run, name, "-o", "x.tex")
    assert Path("x.tex").read_text() == show(run, name, "--latex")
    for plain in ("x", "x.txt"):
        show(run, name, "-o", plain)
        assert Path(plain).read_text() == show(run, name)
    show(run, name, "-o", "x.csv")
    assert Path("x.csv").read_text() == show(run, name, "--csv")
    assert json.loads(show(run, name, "-o", "x.json") or Path("x.json").read_text())


def test_tables_of_values_agree_in_every_format(run: Run, name: str) -> None:
    expected = list(csv.DictReader(io.StringIO(show(run, name, "--csv"))))
    for ending in ("tsv", "jsonl", "parquet", "csv.gz", "xlsx"):
        show(run, name, "-o", f"x.{ending}")
        rows = read(Path(f"x.{ending}"))
        assert [list(row) for row in rows] == [list(row) for row in expected]
        for row, other in zip(rows, expected, strict=True):
            assert [same(cell) for cell in row.values()] == [same(cell) for cell in other.values()], ending


def read(path: Path) -> list[dict[str, object]]:
    """Read a table of values with other libraries."""
    if path.name.endswith(".gz"):
        return list(csv.DictReader(io.StringIO(gzip.decompress(path.read_bytes()).decode())))
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text().splitlines()]
    if path.suffix == ".tsv":
        return list(csv.DictReader(io.StringIO(path.read_text()), delimiter="\t"))
    if path.suffix == ".parquet":
        pq = pytest.importorskip("pyarrow.parquet", reason="reads parquet")
        rows: list[dict[str, object]] = pq.read_table(path).to_pylist()
        return rows
    calamine = pytest.importorskip("python_calamine", reason="reads workbooks")
    header, *cells = calamine.CalamineWorkbook.from_path(path).get_sheet_by_index(0).to_python()
    assert any(isinstance(cell, float) for cell in cells[0])
    return [dict(zip(header, row, strict=True)) for row in cells]


def same(cell: object) -> object:
    """Return a cell in the same form whichever format it came from."""
    if cell in (None, ""):
        return ""
    if isinstance(cell, bool) or cell in ("True", "False"):
        return str(cell)
    try:
        return float(str(cell))
    except ValueError:
        return str(cell)


def test_evaluations_have_full_precision_in_csv(run: Run) -> None:
    rows = list(csv.DictReader(io.StringIO(show(run, "evaluate", "--csv"))))
    data = json.loads(show(run, "evaluate", "--json"))
    assert float(rows[0]["map"]) == data["systems"][0]["means"]["map"]


def test_an_unknown_extension_is_refused_before_anything_is_read(run: Run, name: str) -> None:
    code, _, err = run(*command(name), "-o", "x.docx")
    assert code == 2
    assert ".docx" in err
    assert all(ending in err for ending in ENDINGS)
    assert not Path("x.docx").exists()


def test_an_option_and_another_extension_contradict_each_other(run: Run) -> None:
    code, _, err = run(*command("rank"), "--csv", "-o", "x.xlsx")
    assert code == 2
    assert "--csv contradicts the extension of x.xlsx" in err
    assert run(*command("rank"), "--csv", "-o", "x.dat")[0] == 0
    assert Path("x.dat").read_text().startswith("rank,item")
    assert run(*command("rank"), "--markdown", "--csv")[0] == 2


def test_pipes_and_devices_have_no_extension() -> None:
    words = [sys.executable, "-m", "concordant.cli", *map(str, command("rank")), "--markdown", "-o", "/dev/stdout"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "| ---: | --- |" in done.stdout


def test_explanations_are_rendered_for_people_and_refused_in_tables(run: Run) -> None:
    for option, mark in (("--markdown", "**"), ("--latex", r"\paragraph{"), ("--html", "<h4>")):
        assert mark in show(run, "rank", "--explain", option)
        assert mark in show(run, "compare", "--explain", option)
    for ending in ("csv", "xlsx", "parquet", "jsonl"):
        code, _, err = run(*command("rank"), "--explain", "-o", f"x.{ending}")
        assert code != 0
        assert "--explain cannot be combined with" in err


def test_tables_over_time_are_rendered_for_people(run: Run) -> None:
    words = ["rank", EXAMPLES / "league.csv", "--time", "date", "--method", "elo", "--peaks"]
    code, out, err = run(*words, "--markdown")
    assert code == 0, err
    assert "**peaks**" in out
    code, _, err = run(*words, "-o", "x.xlsx")
    assert code != 0
    assert "--peaks cannot be combined with xlsx output" in err


def test_notes_stay_on_standard_error(run: Run) -> None:
    code, out, err = run(*command("rank"), "--markdown")
    assert code == 0
    assert "note: " in err
    assert "note: " not in out


def test_recommendations_have_the_same_formats(run: Run, tmp_path: Path) -> None:
    assert run("recommend", "train", EXAMPLES / "ratings.csv", "--method", "popular", "-o", "model.zip")[0] == 0
    code, out, err = run("recommend", "for", "model.zip", "--all", "-n", "1", "--markdown")
    assert code == 0, err
    assert "| ---" in out
    assert run("recommend", "for", "model.zip", "--all", "-n", "1", "-o", "x.xlsx")[0] == 0


@pytest.mark.parametrize(
    ("name", "option"), [("compare", "--plot"), ("evaluate", "--plot"), ("evaluate", "--plot-queries")]
)
def test_plots_are_saved(run: Run, name: str, option: str) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    show(run, name, option, "x.svg")
    assert Path("x.svg").read_bytes().startswith(b"<?xml")


def test_the_queries_of_one_system_are_plotted_by_value(run: Run) -> None:
    pytest.importorskip("matplotlib", reason="plots are an extra")
    code, _, err = run("evaluate", RUNS[0], "--labels", EXAMPLES / "qrels.txt", "--plot-queries", "x.svg")
    assert code == 0, err
    assert Path("x.svg").exists()


def test_a_plot_with_an_unknown_extension_is_refused_before_anything_is_read(run: Run) -> None:
    for words in (["compare", "missing.csv", "--plot"], ["evaluate", "missing.run", "--labels", "x", "--plot-queries"]):
        code, _, err = run(*words, "x.docx")
        assert code != 0
        assert ".svg, .png or .pdf" in err
