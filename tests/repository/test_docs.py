"""The documentation cannot lie: its code runs, its outputs are those printed, its names are all there.

Blocks of a page run in order in one namespace, in a folder with a copy of examples/. Skipped are other languages and
blocks that say ``no-run``. An output is checked where one is shown: after ``<!-- output -->``, and below a command in a
console block. A line of three dots stands for any lines.
"""

from __future__ import annotations

import contextlib
import io
import pydoc
import re
import shlex
import shutil
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.cases import load_file
from tests.conftest import ROOT

import concordant as cc
from concordant import learn, registry
from concordant.cli.__main__ import main
from concordant.params import params_of

DOCS = ROOT / "docs"
GENERATED = (
    *("_build", "gallery", "reference/methods", "reference/learners", "reference/recommenders", "reference/metrics.md"),
    *("reference/formats.md", "reference/reading.md"),
)
FENCE = re.compile(
    r"(?P<output><!-- output -->\n)?^(?P<ticks>`{3,})(?P<info>[^\n`]*)\n(?P<text>.*?)^(?P=ticks)$",
    re.DOTALL | re.MULTILINE,
)


def is_generated(path: Path) -> bool:
    return any(path.is_relative_to(DOCS / part) for part in GENERATED)


PAGES = sorted(
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(path for path in DOCS.rglob("*.md") if not is_generated(path))]
)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it stands, what it says it is, and the output promised for it."""

    line: int
    info: tuple[str, ...]
    text: str
    is_output: bool


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        line = text.count("\n", 0, found.start("ticks")) + 2
        yield Block(line, tuple(found["info"].split()), found["text"], found["output"] is not None)


def has_code(page: Path) -> bool:
    return any(block.info[:1] in (("python",), ("console",)) for block in blocks(page))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the examples."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")  # sentences are broken alike wherever the tests run
    return tmp_path


@pytest.mark.parametrize(
    "page", [page for page in PAGES if has_code(page)], ids=lambda p: p.relative_to(ROOT).as_posix()
)
def test_the_code_of_a_page_runs_and_prints_what_it_says(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = types.ModuleType("page")
    monkeypatch.setitem(sys.modules, "page", module)  # dataclasses look their module up
    printed = ""
    for block in blocks(page):
        where = f"{page.relative_to(ROOT)}:{block.line}"
        if block.is_output:
            assert matches(printed, block.text), f"{where}: it prints\n{printed}"
        elif block.info[:1] == ("python",) and "no-run" not in block.info:
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile("\n" * (block.line - 1) + block.text, str(page), "exec"), vars(module))
            printed = out.getvalue()
        elif block.info[:1] == ("console",) and "no-run" not in block.info:
            for command, promised in commands(block.text):
                printed = run(command, where)
                assert not promised or matches(printed, promised), f"{where}: {command} prints\n{printed}"


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Split a console block into (command, output below it); only our own commands are run."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        command, _, promised = part.partition("\n")
        if command.startswith("concordant "):
            yield command, promised


def run(command: str, where: str) -> str:
    words = [word for text in shlex.split(command)[1:] for word in expanded(text)]
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        main(words)
    assert not stopped.value.code, f"{where}: {command}\n{err.getvalue()}"
    return out.getvalue()


def expanded(word: str) -> list[str]:
    """Expand a pattern as a shell does."""
    return (sorted(path.as_posix() for path in Path().glob(word)) if "*" in word else []) or [word]


def matches(printed: str, promised: str) -> bool:
    pattern = "\n".join(
        ".*?" if line.strip() == "…" else re.escape(line.rstrip()) for line in promised.strip().split("\n")
    )
    shown = "\n".join(line.rstrip() for line in printed.strip().split("\n"))
    return re.fullmatch(pattern, shown, re.DOTALL) is not None


def test_the_command_reference_shows_the_help_as_it_is() -> None:
    tool = load_file(ROOT / "tools" / "make_cli_reference.py")
    assert tool.TARGET.read_text(encoding="utf-8") == tool.page(), "run python tools/make_cli_reference.py"


def test_the_picture_of_the_layers_shows_the_import_contract() -> None:
    tool = load_file(ROOT / "tools" / "make_layers.py")
    assert tool.TARGET.read_text(encoding="utf-8") == tool.picture(), "run python tools/make_layers.py"


def walks() -> dict[str, list[str]]:
    """The steps of every walk of the page on architecture, by its heading."""
    text = (DOCS / "develop" / "architecture.md").read_text(encoding="utf-8")
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]}
    steps = {title: re.findall(r"^\d+\. `([\w.]+)`", part, re.MULTILINE) for title, part in sections.items()}
    return {title: names for title, names in steps.items() if names}


def test_the_walks_through_the_code_are_short_and_every_step_exists() -> None:
    assert len(walks()) == 3
    for title, names in walks().items():
        assert 10 < len(names) < 25, title
        for name in names:
            assert callable(pydoc.locate(f"concordant.{name}")), f"{title}: {name}"


def test_every_public_name_is_on_the_python_page() -> None:
    page = (DOCS / "reference" / "python.md").read_text(encoding="utf-8")
    documented = {name.removeprefix("concordant.") for name in re.findall(r"\.\. auto\w+:: ([\w.]+)", page)}
    assert {name for name in cc._HOME if f"{cc._HOME[name]}.{name}" not in documented} == set()
    assert {name for name in cc._MODULES.values() if name not in documented} == set()


def test_every_public_name_says_what_it_is() -> None:
    methods = [registry.load(name).__name__ for name in registry.modules()]
    silent = [name for name in (*cc._HOME, *cc._MODULES, *methods) if not (getattr(cc, name).__doc__ or "").strip()]
    assert silent == []


def test_public_members_say_what_they_are() -> None:
    silent = []
    for name in cc._HOME:
        thing = getattr(cc, name)
        if isinstance(thing, type) and thing.__module__.startswith("concordant"):
            own = {key: item for key, item in vars(thing).items() if not key.startswith("_")}
            silent += [
                f"{name}.{key}"
                for key, item in own.items()
                if (callable(item) or isinstance(item, property | classmethod)) and not (item.__doc__ or "").strip()
            ]
    assert silent == []


def test_every_method_metric_and_format_has_a_page() -> None:
    pages = load_file(DOCS / "_ext" / "registry_pages.py").pages()
    for name in registry.names():
        page = pages[f"methods/{name}.md"]
        assert registry.load(name).summary() in pages["methods/index.md"]
        assert all(f"`{declared.option}`" in page for declared in params_of(registry.load(name)))
    for name in learn.modules():
        page = pages[f"learners/{name}.md"]
        assert f"[{name}]({name}.md)" in pages["learners/index.md"]
        assert all(f"`{declared.option}`" in page for declared in params_of(learn.load(name)))
    assert all(f"### {name}\n" in pages["metrics.md"] for name in cc.metrics.names())


def test_every_family_has_a_guide_page() -> None:
    families = {registry.family(name) for name in registry.modules()}
    missing = {family for family in families if not (DOCS / "guide" / f"{family}.md").is_file()}
    assert missing == set()


def test_every_option_of_every_command_has_help() -> None:
    import click

    from concordant.cli.__main__ import cli
    from concordant.cli.__main__ import commands as all_commands

    silent = []
    for name in all_commands():
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        group = list(command.commands.values()) if isinstance(command, click.Group) else []
        for one in [command, *group]:
            silent += [
                f"{name} {option.opts[0]}"
                for option in one.params
                if isinstance(option, click.Option) and not option.help
            ]
    assert silent == []
