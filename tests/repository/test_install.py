"""Promises about installing: the wheel, the command, dev.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from tests.cases import load_file

pytestmark = pytest.mark.once
ROOT = Path(__file__).resolve().parents[2]
NO_BUILD = "the build requirements are not installed (dev.py installs them)"


def run(*command: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False)


def wheel_files(folder: Path, build_folder: Path, **env: str) -> list[str]:
    """Build a wheel offline, with what the build folder holds from an earlier run, and list what is inside."""
    pytest.importorskip("scikit_build_core", reason=NO_BUILD)
    pytest.importorskip("nanobind", reason=NO_BUILD)
    build = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        ".",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
    ]
    done = run(*build, "-C", f"build-dir={build_folder}", **env)
    assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return zipfile.ZipFile(wheel).namelist()


def is_compiled(name: str) -> bool:
    return name.startswith("concordant/kernels/_compiled")


def test_the_installed_version_is_the_declared_one() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert metadata.version("concordant") == declared


def test_the_command_is_installed() -> None:
    scripts = metadata.entry_points(group="console_scripts", name="concordant")
    assert [script.value for script in scripts] == ["concordant.cli.__main__:main"]


def test_the_core_depends_on_few_libraries() -> None:
    core = [line for line in metadata.requires("concordant") or [] if "extra ==" not in line]
    names = sorted(line.split(">")[0].split("<")[0] for line in core)
    assert names == ["backports.zstd", "click", "duckdb", "highspy", "narwhals", "numpy", "rich", "scipy"]


@pytest.mark.slow
def test_a_wheel_carries_the_compiled_kernels_and_no_sources(tmp_path: Path) -> None:
    if not (shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")):
        pytest.skip("there is no C++ compiler here")
    files = wheel_files(tmp_path, load_file(ROOT / "dev.py").BUILD)  # compiled there already, with the same settings
    assert sum(is_compiled(name) for name in files) == 1
    assert not [name for name in files if name.endswith((".cpp", ".hpp", ".pyc"))]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="needs a command that always fails")
def test_a_wheel_is_built_without_a_compiler(tmp_path: Path) -> None:
    broken = shutil.which("false") or "/bin/false"
    files = wheel_files(tmp_path, tmp_path / "build", CXX=broken, CC=broken)
    assert "concordant/kernels/twins.py" in files
    assert not [name for name in files if is_compiled(name)]


def test_the_kernel_switch_refuses_a_back_end_nobody_knows() -> None:
    done = run(sys.executable, "-c", "import concordant.kernels", CONCORDANT_KERNELS="fortran")
    assert done.returncode == 1
    assert "must be 'auto', 'numpy', 'compiled' or 'checked'" in done.stderr


def test_the_numpy_kernels_can_be_forced() -> None:
    question = "from concordant import kernels; print(kernels.active())"
    assert run(sys.executable, "-c", question, CONCORDANT_KERNELS="numpy").stdout.strip() == "numpy"


def test_dev_explains_itself_from_any_directory(tmp_path: Path) -> None:
    done = run(sys.executable, str(ROOT / "dev.py"), "--help", cwd=tmp_path)
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("demo", "test", "check", "build", "docs", "bench", "sanitize", "fuzz"))


@pytest.mark.parametrize("command", [["nonsense"], ["check", "--fast"], ["demo", "now"]])
def test_dev_refuses_what_it_does_not_know(command: list[str]) -> None:
    done = run(sys.executable, "dev.py", *command)
    assert done.returncode == 2
    assert "error" in done.stderr


def test_dev_needs_only_the_standard_library() -> None:
    done = run(sys.executable, "-I", "-S", "dev.py", "--help")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("arguments", "opens"),
    [
        ([], True),
        (["-x", "-k", "docs"], True),
        (["tests"], True),
        (["tests/web"], True),
        (["tests/tables", "tests/web/test_browser.py::test_pasted_rows_are_ranked"], True),
        (["tests/tables"], False),
        (["tests/web/../io", "-k", "web"], False),
        (["-m", "not slow and not once"], False),
    ],
)
def test_dev_fetches_a_browser_only_for_tests_that_may_open_one(arguments: list[str], opens: bool) -> None:
    assert load_file(ROOT / "dev.py").opens_browser(arguments) is opens
