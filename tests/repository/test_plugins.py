"""A package of somebody else adds a method, a reader and metrics: the one printed in docs/develop/plugins.md.

It is written to a folder, built and installed with pip, and used in processes that find it there.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import ROOT

PAGE = ROOT / "docs" / "develop" / "plugins.md"
SHOWN = re.compile(r"<!-- file: (?P<path>\S+) -->\n```\w+\n(?P<text>.*?)```", re.DOTALL)

# Tests work offline, so the package is built by itself instead of by the build tool its pyproject.toml names.
BUILD_SYSTEM = '[build-system]\nrequires = []\nbuild-backend = "build"\nbackend-path = ["."]\n'
BUILD = """
import tomllib, zipfile
from pathlib import Path

def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    project = tomllib.loads(Path("pyproject.toml").read_text())["project"]
    name, info = "tiny_rank-1.0-py3-none-any.whl", "tiny_rank-1.0.dist-info/"
    groups = project["entry-points"].items()
    points = "\\n".join(f"[{group}]\\n" + "\\n".join(f"{k} = {v}" for k, v in named.items()) for group, named in groups)
    with zipfile.ZipFile(Path(wheel_directory, name), "w") as wheel:
        for path in Path("tiny_rank").glob("*.py"):
            wheel.write(path)
        wheel.writestr(info + "METADATA", f"Metadata-Version: 2.1\\nName: {project['name']}\\nVersion: 1.0\\n")
        wheel.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        wheel.writestr(info + "entry_points.txt", points)
        wheel.writestr(info + "RECORD", "")
    return name
"""


def install(package: Path, target: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-index", "--no-build-isolation", "--target", str(target), str(package)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder where the package of the docs page is installed."""
    folder = tmp_path_factory.mktemp("tiny-rank")
    files = {found["path"]: found["text"] for found in SHOWN.finditer(PAGE.read_text(encoding="utf-8"))}
    files["pyproject.toml"] = re.sub(r"\[build-system\].*?\n\n", BUILD_SYSTEM, files["pyproject.toml"], flags=re.DOTALL)
    for path, text in {**files, "build.py": BUILD, "tiny_rank/__init__.py": ""}.items():
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    install(folder, folder / "site")
    return folder / "site"


def python(site: Path, code: str, *more: Path, **files: str) -> str:
    """Run a program that finds the package (and more), in a folder with these files; return what it prints."""
    folder = site.parent / "work"
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [site, ROOT / "docs" / "_ext", *more]))}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=folder, env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def concordant(site: Path, *args: str, **files: str) -> str:
    return python(site, f"from concordant.cli.__main__ import main; main({list(args)!r})", **files)


BALLOTS = "winner,loser\na,b\na,c\nb,c\n"


def test_its_method_is_listed_and_explained(site: Path) -> None:
    listed = {row["name"]: row for row in json.loads(concordant(site, "methods", "--json"))}
    assert listed["last-places"]["family"] == "tiny-rank"
    assert listed["last-places"]["params"][0]["name"] == "penalty"
    assert "borda" in listed
    assert "--penalty" in concordant(site, "methods", "last-places")


def test_its_method_ranks_with_its_own_options(site: Path) -> None:
    line = ["rank", "votes.csv", "--method", "last-places", "--penalty", "2", "--json"]
    answer = json.loads(concordant(site, *line, votes_csv=BALLOTS))
    assert answer["method"] == "last-places"
    assert [(item["item"], item["score"]) for item in answer["instances"][0]["items"]] == [
        ("a", 0),
        ("b", -2),
        ("c", -4),
    ]


def test_its_method_is_found_by_alias_and_in_any_spelling(site: Path) -> None:
    code = (
        "from concordant import registry; print(registry.resolve('few-vetoes')[0], registry.resolve('LastPlaces')[0])"
    )
    assert python(site, code).split() == ["last-places", "last-places"]


def test_its_method_keeps_the_laws(site: Path) -> None:
    assert python(site, "from concordant import laws; print(laws.check('last-places'))").strip() == "[]"


def test_the_docs_list_it(site: Path) -> None:
    pages = json.loads(python(site, "import json, registry_pages; print(json.dumps(registry_pages.pages()))"))
    assert "Anti-plurality" in pages["methods/last-places.md"]
    assert "last-places" in pages["methods/index.md"]
    assert "first-hit" in pages["metrics.md"]
    assert "ann > bob = cy" in pages["formats.md"]


def test_its_reader_reads_files_by_their_ending(site: Path) -> None:
    code = "import concordant as cc; print(cc.rank(cc.read('votes.chain'), 'borda').items)"
    assert python(site, code, votes_chain="ann > bob = cy\nann > cy\n").strip() == "['ann', 'cy', 'bob']"
    assert "chain" in concordant(site, "convert", "--formats")


def test_its_reader_names_file_and_line_of_what_it_cannot_read(site: Path) -> None:
    code = "import concordant as cc\ntry: cc.read('bad.chain')\nexcept cc.FormatError as error: print(error)"
    assert python(site, code, bad_chain="a > b\na >\n").startswith("bad.chain, line 2: a name is missing")


def test_its_metrics_are_parsed_listed_and_used(site: Path) -> None:
    code = (
        "from concordant import metrics\n"
        "print(metrics.parse('hamming').compare([1, 2, 3], [1, 3, 2]), metrics.parse('first-hit:threshold=2'))\n"
        "wanted = ['first-hit', 'map', 'first-hit:one']\n"
        "print(metrics.evaluate_arrays([3, 2, 1, 1], [0, 1, 2, 0], [7, 7, 7, 8], wanted))"
    )
    answer = python(site, code)
    assert answer.startswith("2.0 first-hit:threshold=2\n")
    assert "'first-hit': array([2., 0.])" in answer
    assert "'first-hit:one': array([2., 1.])" in answer
    assert "'first-hit'" in python(site, "from concordant import metrics; print(metrics.names())")
    line = ["evaluate", "one.run", "--labels", "labels.qrels", "--metric", "first-hit", "--json"]
    shown = concordant(site, *line, one_run="q Q0 d1 1 9 t\nq Q0 d2 2 8 t\n", labels_qrels="q 0 d2 1\n")
    assert "first-hit" in shown


def test_a_package_that_cannot_be_loaded_is_named_and_hides_nothing(site: Path, tmp_path: Path) -> None:
    info = tmp_path / "broken-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n")
    lines = [
        f"[{group}]\noops = nowhere" for group in ("concordant.methods", "concordant.readers", "concordant.metrics")
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
    for command in (["methods"], ["metrics"], ["convert", "--formats"]):
        code = f"from concordant.cli.__main__ import main; main({command!r})"
        shown = python(site, code, tmp_path)
        assert "of the package 'broken' cannot be loaded" in shown
        assert len(shown.splitlines()) > 9


def test_everyday_work_does_not_look_for_other_packages() -> None:
    code = (
        "import concordant as cc\n"
        "from concordant import metrics, registry\n"
        "cc.rank(cc.Preferences.from_rankings([['a', 'b']]), 'borda')\n"
        "metrics.parse('ndcg@10')\n"
        "print(registry.Kind.entry_points.cache_info().currsize)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert shown.strip() == "0"
