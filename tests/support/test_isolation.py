"""No process imports from the folder that holds the data, whatever modules lie in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import packages_distributions
from pathlib import Path

import numpy as np
import pytest
from tests.workbooks import xls

from concordant import saving
from concordant.support import processes

pytestmark = pytest.mark.once
PAIRS = [["winner", "loser"], ["a", "b"], ["b", "c"], ["a", "c"]]
COMMAND = [str(Path(sys.executable).with_name("concordant"))]
# What python -m imports by itself before the first line of a package runs; -P keeps it from the working folder.
BEFORE = {"collections", "concordant", "contextlib", "functools", "importlib", "keyword", "operator", "reprlib"}
BEFORE |= {"types", "warnings"}
READ = "import concordant as cc; print(cc.read('votes.xls').n_ballots)"
WORK = "import concordant as cc; print(cc.rank(['1.csv', '2.csv'], 'borda', workers=2).items)"
RANK = "from concordant.cli.__main__ import main; main(['rank', '1.csv', '2.csv', '--workers', '2'])"


def every_name() -> set[str]:
    """The names of all modules that a planted file could stand in for."""
    found = {*sys.stdlib_module_names, *packages_distributions(), "concordant", "sitecustomize", "usercustomize"}
    return {name for name in found if name.isidentifier() and name != "__main__"}


class Folder:
    """A folder of data files and of planted modules, each of which leaves a mark when it is imported."""

    def __init__(self, path: Path) -> None:
        self.path, self.mark = path / "data", path / "mark"
        self.path.mkdir()
        (self.path / "votes.xls").write_bytes(xls(PAIRS))
        for name in ("1.csv", "2.csv"):
            (self.path / name).write_text("winner,loser\na,b\nb,c\n")

    def plant(self, names: set[str]) -> None:
        for name in names:
            text = f"open({str(self.mark)!r}, 'a').write({name!r} + ' ')\nraise SystemExit(77)\n"
            (self.path / f"{name}.py").write_text(text)

    def run(self, *command: str, **env: str) -> str:
        """Run a command in the folder; it must succeed, and import none of the planted modules."""
        done = subprocess.run(
            command, cwd=self.path, env={**os.environ, **env}, capture_output=True, text=True, check=False
        )
        imported = self.mark.read_text() if self.mark.exists() else ""
        assert imported == "", done.stderr
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    made = Folder(tmp_path)
    made.plant(every_name())
    return made


@pytest.fixture
def script(tmp_path: Path) -> str:
    """A program that lies elsewhere and runs where the data are."""
    path = tmp_path / "elsewhere.py"
    path.write_text("import sys\nif __name__ == '__main__':\n    exec(sys.argv[1])\n")
    return str(path)


def test_a_planted_module_is_seen(folder: Folder) -> None:
    with pytest.raises(AssertionError):
        folder.run(sys.executable, "-c", "import json")
    assert folder.mark.read_text() == "json "


@pytest.mark.parametrize(
    "words", [("rank", "votes.xls"), ("rank", "1.csv", "2.csv", "--workers", "2"), ("describe", "votes.xls")]
)
def test_the_command_imports_nothing_from_the_folder_of_the_data(folder: Folder, words: tuple[str, ...]) -> None:
    assert "a" in folder.run(*COMMAND, *words)


@pytest.mark.parametrize("package", ["concordant", "concordant.cli"])
def test_the_module_leaves_the_working_folder_before_it_imports(tmp_path: Path, package: str) -> None:
    folder = Folder(tmp_path)
    folder.plant(every_name() - BEFORE)
    assert "a" in folder.run(sys.executable, "-m", package, "rank", "votes.xls")
    folder.plant(BEFORE)
    assert "a" in folder.run(sys.executable, "-P", "-m", package, "rank", "1.csv", "2.csv", "--workers", "2")


@pytest.mark.parametrize("code", [READ, WORK, RANK])
def test_a_program_elsewhere_imports_nothing_from_the_folder_of_the_data(
    folder: Folder, script: str, code: str
) -> None:
    assert folder.run(sys.executable, script, code)


# ---- what a process needs, it has ----
def test_a_model_file_starts_no_processes_that_import_from_the_folder_of_the_data(folder: Folder) -> None:
    pipeline = pytest.importorskip("sklearn.pipeline", reason="the learn extra is not installed")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    from concordant.learn import RankRegressor

    X = np.arange(24.0).reshape(8, 3) % 7
    union = pipeline.FeatureUnion([("a", preprocessing.StandardScaler()), ("b", preprocessing.MinMaxScaler())])
    fitted = pipeline.make_pipeline(union, RankRegressor()).fit(X, np.arange(8) % 2)
    fitted[0].set_params(n_jobs=2)  # now, since fitting would start a pool of processes here
    saving.save(fitted, folder.path / "model.zip")
    assert saving.load(folder.path / "model.zip")[0].n_jobs is None
    rows = [f"1 qid:1 1:{a} 2:{b} 3:{c}" for a, b, c in X.tolist()]
    (folder.path / "rows.txt").write_text("\n".join(rows))
    folder.plant({"joblib", "multiprocessing"})
    assert folder.run(*COMMAND, "predict", "model.zip", "rows.txt")


def child(code: str) -> str:
    done = processes.run_python("-c", code)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def test_a_process_works_in_an_empty_folder_that_goes_with_it() -> None:
    left, inside = json.loads(child("import json, os; print(json.dumps([os.getcwd(), os.listdir()]))"))
    assert inside == []
    assert not os.path.exists(left)


def test_a_process_imports_what_this_one_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    own, data = tmp_path / "own", tmp_path / "data"
    for one in (own, data):
        one.mkdir()
    (own / "my_plugin.py").write_text("NAME = 'mine'\n")
    (data / "their_plugin.py").write_text("NAME = 'theirs'\n")
    monkeypatch.chdir(data)
    monkeypatch.setattr(sys, "path", ["", str(data), str(own), *sys.path])
    assert child("import my_plugin; print(my_plugin.NAME)") == "mine"
    assert child("import concordant; print(concordant.__file__)")
    monkeypatch.setattr(sys, "path", [str(data), str(own), *sys.path[3:]])
    assert child("import importlib.util; print(importlib.util.find_spec('their_plugin'))") == "None"


def test_a_process_gets_the_settings_that_are_listed_and_no_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONCORDANT_KERNELS", "OMP_NUM_THREADS", "LC_ALL"):
        monkeypatch.setenv(name, {"LC_ALL": "C"}.get(name, "1"))
    for name in ("AWS_SECRET_ACCESS_KEY", "PYTHONSTARTUP", "PYTHONPYCACHEPREFIX", "PYTHONINSPECT"):
        monkeypatch.setenv(name, "x")
    found = processes.environment(MORE="2")
    assert {"CONCORDANT_KERNELS", "OMP_NUM_THREADS", "LC_ALL", "MORE", "PATH"} <= set(found)
    assert not {"AWS_SECRET_ACCESS_KEY", "PYTHONSTARTUP", "PYTHONPYCACHEPREFIX", "PYTHONINSPECT"} & set(found)


def test_starting_workers_leaves_the_environment_as_it_was(tmp_path: Path) -> None:
    from concordant.engine.executors import Processes

    before = dict(os.environ)
    with Processes(1) as executor:
        assert executor.result(executor.submit(abs, -1)) == 1
    assert dict(os.environ) == before


@pytest.mark.skipif(os.name != "posix", reason="limits of a process")
def test_a_limit_is_never_raised() -> None:
    code = """
import resource
from concordant.support.processes import limit
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
limit("RLIMIT_AS", 8 << 30)
print(resource.getrlimit(resource.RLIMIT_AS)[1] >> 30)
limit("RLIMIT_AS", 2 << 30)
print(resource.getrlimit(resource.RLIMIT_AS)[1] >> 30)
"""
    assert child(code).split() == ["4", "2"]


def test_a_package_that_runs_from_the_working_folder_is_found_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a clone that is not installed: its processes must find it, and nothing there may stand in for others."""
    root = Path(processes.__file__).parents[2]
    monkeypatch.chdir(root)
    monkeypatch.setattr(sys, "path", ["", *(one for one in sys.path if one and Path(one) != root)])
    processes.leave_working_folder()
    assert sys.path[-1] == str(root)
    assert processes.import_path()["PYTHONPATH"].split(os.pathsep) == sys.path
    assert child("import json, concordant; print(json.__file__)") == json.__file__


def test_a_working_folder_that_is_gone_is_no_trouble(tmp_path: Path) -> None:
    code = f"import os; os.chdir({str(tmp_path)!r}); os.rmdir({str(tmp_path)!r})\n"
    code += "from concordant.support import processes; print(processes.run_python('-c', 'print(1)').stdout)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "b'1\\n'", done.stderr
