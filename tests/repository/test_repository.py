"""Promises about the source tree as a whole."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "concordant"
WORKFLOWS = ROOT / ".github" / "workflows"
YAML = [*sorted((ROOT / ".github").rglob("*.yml")), ROOT / ".pre-commit-config.yaml", ROOT / "CITATION.cff"]

HEAVY = {
    "scipy",
    "pandas",
    "polars",
    "pyarrow",
    "duckdb",
    "narwhals",
    "rich",
    "matplotlib",
    "highspy",
    "sklearn",
}
UNSAFE = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "marshal", "shelve"}
Found = dict[Callable[..., set[str]], dict[str, set[str]]]
MAX_LINES = 550  # "about 500", docstrings apart: a longer module is two ideas


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def has_no_numpy(path: Path) -> bool:
    """Modules that load before a command knows what it will do."""
    names = {"__init__.py", "errors.py", "params.py", "registry.py"}
    return (path.parent == SOURCE and path.name in names) or SOURCE / "cli" in path.parents


def imports_on_load(node: ast.AST) -> Iterator[str]:
    """Packages imported while the module loads: not inside functions, not for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
            continue
        yield from imported(child)
        yield from imports_on_load(child)


def imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        yield from (alias.name.split(".")[0] for alias in node.names)
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        yield node.module.split(".")[0]


def written_files() -> list[Path]:
    """Files people write here: not what builds, environments and caches leave behind."""
    folders = ("src", "tests", "benchmarks", "examples", "docs", "tools", ".ci", ".github")
    kinds = {
        ".py",
        ".pyi",
        ".cpp",
        ".hpp",
        ".md",
        ".toml",
        ".txt",
        ".csv",
        ".rst",
        ".run",
        ".soc",
        ".yml",
        ".yaml",
        ".cff",
    }
    names = {"CMakeLists.txt", "LICENSE", "Makefile", "run", ".gitignore"}
    inside = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    found = [path for path in [*ROOT.iterdir(), *inside] if path.suffix in kinds or path.name in names]
    skipped = {"__pycache__", "results", "_build"}
    built = ROOT / "docs" / "gallery"
    return sorted(
        path
        for path in found
        if path.is_file() and not skipped & set(path.relative_to(ROOT).parts) and built not in path.parents
    )


def heavy(path: Path, tree: ast.Module, _: list[ast.AST]) -> set[str]:
    """Libraries that a module loads and should not, when it is imported."""
    forbidden = HEAVY | {"numpy"} if has_no_numpy(path) else HEAVY
    if path.parent.name == "learn":  # estimators are subclasses of scikit-learn's, and are imported by name only
        forbidden = forbidden - {"sklearn"}
    return forbidden.intersection(imports_on_load(tree))


def unpickling(_: Path, __: ast.Module, nodes: list[ast.AST]) -> set[str]:
    """Libraries that unpickle, and switches that let NumPy do it."""
    switches = [node for node in nodes if isinstance(node, ast.keyword) and node.arg == "allow_pickle"]
    on = [node for node in switches if not (isinstance(node.value, ast.Constant) and node.value.value is False)]
    return UNSAFE.intersection(name for node in nodes for name in imported(node)) | {f"line {one.lineno}" for one in on}


def evaluating(_: Path, __: ast.Module, nodes: list[ast.AST]) -> set[str]:
    """Functions that run a text as code."""
    called = [node.func for node in nodes if isinstance(node, ast.Call)]
    names = {function.id for function in called if isinstance(function, ast.Name)}
    return names & {"eval", "exec", "compile", "__import__"}


def private(path: Path, _: ast.Module, nodes: list[ast.AST]) -> set[str]:
    """Names with a leading underscore that a module imports from another package (a room inside belongs to it)."""
    home, found = path.relative_to(SOURCE.parent).parts[:-1], set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("concordant"):
            for parts in ((*str(node.module).split("."), alias.name) for alias in node.names):
                hidden = next((k for k, part in enumerate(parts) if re.match(r"_[^_]", part)), 0)
                owner = parts[:hidden] if SOURCE.parent.joinpath(*parts[:hidden]).is_dir() else parts[: hidden - 1]
                if hidden and owner != home[: len(owner)]:
                    found.add(".".join(parts))
    return found


def silent(_: Path, tree: ast.Module, __: list[ast.AST]) -> set[str]:
    """That a module does not say what it is."""
    return set() if ast.get_docstring(tree) else {"no docstring"}


CHECKS = (heavy, unpickling, evaluating, private, silent)


@pytest.fixture(scope="module")
def found() -> Found:
    """For every check of modules, those in which it finds something; each module is parsed once."""
    answers: Found = {check: {} for check in CHECKS}
    for path in sorted(SOURCE.rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        nodes = list(ast.walk(tree))
        for check in CHECKS:
            if names := check(path, tree, nodes):
                answers[check][relative(path)] = names
    return answers


def test_heavy_libraries_load_only_where_they_are_used(found: Found) -> None:
    assert found[heavy] == {}


def test_nothing_is_ever_unpickled(found: Found) -> None:
    assert found[unpickling] == {}


def test_nothing_evaluates_text_as_code(found: Found) -> None:
    assert found[evaluating] == {}


def test_no_private_name_is_imported_from_another_package(found: Found) -> None:
    assert found[private] == {}


def test_every_module_says_what_it_is(found: Found) -> None:
    assert found[silent] == {}


BAD = """
import pickle, scipy, numpy
from concordant.io._csv import sniff
np.load(path, allow_pickle=True)
eval("1")
"""


def test_the_checks_find_what_is_wrong() -> None:
    tree = ast.parse(BAD)
    answers = [check(SOURCE / "cli" / "bad.py", tree, list(ast.walk(tree))) for check in CHECKS]
    assert answers == [
        {"scipy", "numpy"},
        {"pickle", "line 4"},
        {"eval"},
        {"concordant.io._csv.sniff"},
        {"no docstring"},
    ]


def test_every_promise_of_security_names_a_test_that_exists() -> None:
    promises = [line for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| **")]
    assert len(promises) > 8
    for promise in promises:
        tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", promise)
        assert tests, promise
        for file, name in tests:
            assert f"def {name}(" in (ROOT / file).read_text(), f"{file}::{name}"


def test_importing_concordant_loads_no_numpy() -> None:
    question = "import sys, concordant; print(*sorted(sys.modules))"
    answer = subprocess.run([sys.executable, "-c", question], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in answer.stdout.split()}
    assert not loaded & (HEAVY | {"numpy", "click"})


def n_lines(path: Path) -> int:
    """Return the number of lines of a file, without docstrings: sections for parameters do not make a module long."""
    text = path.read_text(encoding="utf-8")
    nodes = ast.walk(ast.parse(text)) if path.suffix == ".py" else ()
    scopes = [node for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)]
    docs = [node.body[0] for node in scopes]
    return len(text.splitlines()) - sum((doc.end_lineno or doc.lineno) - doc.lineno for doc in docs)


def test_no_module_is_too_long() -> None:
    code = [path for path in written_files() if path.suffix in {".py", ".cpp", ".hpp"}]
    lines = {relative(path): n_lines(path) for path in code}
    assert {name: count for name, count in lines.items() if count > MAX_LINES} == {}


def test_no_file_names_a_place_on_one_machine() -> None:
    place = re.compile(r"(?<![\w.~-])/(?:home|Users|root|work|opt)/\w|[A-Z]:\\\\?Users|--(?:extra-)?index-url")
    found = [
        f"{relative(path)}:{number}: {line.strip()[:100]}"
        for path in written_files()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if place.search(line)
    ]
    assert found == []


def test_the_version_stands_in_one_place() -> None:
    declared = re.compile(r"""^_{0,2}version_{0,2}\s*[=:]\s*["']?\d""", re.MULTILINE)
    files = [path for path in written_files() if path.suffix in {".py", ".toml", ".txt"}]
    assert [relative(path) for path in files if declared.search(path.read_text("utf-8"))] == ["pyproject.toml"]


def test_the_citation_has_the_version_and_the_licence_of_the_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == project["version"]
    assert citation["license"] == project["license"]


@pytest.mark.parametrize("path", YAML, ids=relative)
def test_every_yaml_file_can_be_read(path: Path) -> None:
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_tests_run_on_every_python_and_system_that_is_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    promised = [line.rpartition(" ")[2] for line in project["classifiers"] if " :: Python :: 3." in line]
    matrix = yaml.safe_load((WORKFLOWS / "tests.yml").read_text())["jobs"]["tests"]["strategy"]["matrix"]
    assert matrix["python"] == promised
    assert [name.partition("-")[0] for name in matrix["os"]] == ["ubuntu", "macos", "windows"]
    low, high = (int(bound.rpartition(".")[2]) for bound in project["requires-python"].split(","))
    assert promised == [f"3.{minor}" for minor in range(low, high)]


def test_workflows_and_hooks_run_what_is_here() -> None:
    """Every script a workflow or hook runs exists, and every command of dev.py it names is one."""
    commands = subprocess.run([sys.executable, "dev.py", "--help"], cwd=ROOT, capture_output=True, text=True).stdout
    for path in YAML:
        text = path.read_text(encoding="utf-8")
        assert all(f"dev.py {name} " in commands for name in re.findall(r"dev\.py (\w+)", text)), path
        assert all((ROOT / name).is_file() for name in re.findall(r"bash (\S+)", text)), path


def test_no_test_looks_at_the_clock() -> None:
    """A busy machine is no bug: limits of time are set once, in conftest.py (of browsers: in web) and by the fuzzer."""
    clock = re.compile(r"\bimport time\b|\bfrom time\b|perf_counter|process_time|monotonic|timeout|\bdeadline=")
    allowed = {"tests/conftest.py", "tests/repository/test_repository.py", "tests/fuzz/run.py", "tests/web/conftest.py"}
    found = {relative(path) for path in (ROOT / "tests").rglob("*.py") if clock.search(path.read_text("utf-8"))}
    assert found <= allowed


def test_every_room_says_what_it_holds_and_imports() -> None:
    rooms = [path / "__init__.py" for path in sorted(SOURCE.iterdir()) if (path / "__init__.py").is_file()]
    silent = [
        relative(path) for path in rooms if "import" not in str(ast.get_docstring(ast.parse(path.read_text("utf-8"))))
    ]
    assert silent == []


def test_every_compiled_kernel_has_a_twin_of_the_same_name() -> None:
    compiled = pytest.importorskip("concordant.kernels._compiled", reason="the kernels are not compiled here")
    from concordant.kernels import twins

    kernels = {name for name in vars(compiled) if not name.startswith("_")}
    twin_names = {name for name in vars(twins) if callable(getattr(twins, name)) and not name.startswith("_")}
    assert kernels <= twin_names
