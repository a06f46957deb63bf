#!/usr/bin/env python3
"""Everything a developer does with concordant, from a fresh clone and nothing but Python 3.11 or newer.

    python3 dev.py demo           set up and run the main commands on the data in examples/
    python3 dev.py test           set up and run all tests (further arguments go to pytest)
    python3 dev.py check          the one-minute check before every commit
    python3 dev.py build          compile the kernels in place
    python3 dev.py docs           build the documentation into docs/_build, warnings are errors
    python3 dev.py bench NAME...  run benchmarks against rival libraries, in an environment of their own
    python3 dev.py sanitize       run kernel tests and readers with kernels that report every wrong address
    python3 dev.py fuzz MINUTES   damage files of every format and read them, in processes with limits

The first run makes .venv and installs the project into it, editable. Later runs install nothing as long as
pyproject.toml is the same, and compile nothing as long as the C++ sources are, so they work offline.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this file is the first thing an older Python meets
    sys.exit(f"concordant needs Python 3.11 or newer, and this is {sys.version.split()[0]}: use a newer one.")

import argparse
import hashlib
import os
import shlex
import subprocess
import time
import tomllib
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parent
KERNELS = ROOT / "src" / "concordant" / "kernels"
PYPROJECT = ROOT / "pyproject.toml"
CMAKE_LISTS = ROOT / "CMakeLists.txt"
ON_WINDOWS = os.name == "nt"
# Tests fill the cores with processes; threads of linear algebra beside them would only wait for each other.
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class StepError(Exception):
    """A step went wrong; the message is for the user."""


# --- running commands ------------------------------------------------------------------------------------


def say(message: str) -> None:
    """Print a progress line at once, also into a pipe."""
    print(f"== {message}", flush=True)


def shown(command: Sequence[str]) -> str:
    """Write a command as one would type it."""
    return shlex.join([Path(command[0]).name, *command[1:]])


def run(command: Sequence[str], env: dict[str, str] | None = None) -> int:
    """Run a command in the project root with its output on the terminal; return its exit code."""
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


def run_quietly(command: Sequence[str], failure: str) -> None:
    """Run a command whose output matters only when it fails."""
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if done.returncode != 0:
        output = done.stdout.decode(errors="replace").rstrip()
        raise StepError(f"{output}\n{failure} (the command was: {shown(command)})")


def fingerprint(parts: Iterable[str | Path]) -> str:
    """Hash texts and the contents of files; the same parts give the same stamp."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def is_stamped(stamp: Path, mark: str) -> bool:
    """Say whether a step already ran with exactly these inputs."""
    return stamp.is_file() and stamp.read_text() == mark


# --- environments ----------------------------------------------------------------------------------------


class Environment:
    """A virtual environment in the project root and what dev.py installed there."""

    def __init__(self, name: str) -> None:
        self.path = ROOT / name
        self.bin = self.path / ("Scripts" if ON_WINDOWS else "bin")
        self.python = str(self.bin / ("python.exe" if ON_WINDOWS else "python"))

    def tool(self, name: str) -> str:
        """Return the path of a program installed in this environment."""
        return str(self.bin / (f"{name}.exe" if ON_WINDOWS else name))

    def stamp(self, step: str) -> Path:
        """Return the file that remembers the inputs of a finished step."""
        return self.path / f"concordant-{step}.stamp"

    def make(self) -> None:
        """Create the environment unless a working one is there."""
        if Path(self.python).exists() and self._works():
            return
        say(f"making {self.path.name} with Python {sys.version.split()[0]}")
        run_quietly(
            [sys.executable, "-m", "venv", "--clear", str(self.path)],
            "Cannot make a virtual environment: install your system's python3-venv package and try again.",
        )

    def has(self, module: str) -> bool:
        """Say whether a module is installed."""
        return self._ask(f"import {module}").returncode == 0

    def pip_install(self, *arguments: str) -> None:
        """Install with pip, silently unless it fails."""
        run_quietly(
            [self.python, "-m", "pip", "install", "--disable-pip-version-check", *arguments],
            "pip could not install this: check the network connection and try again.",
        )

    @cached_property
    def version(self) -> str:
        """Describe the interpreter, as far as installed files depend on it."""
        question = "import sys; print(sys.implementation.cache_tag, sys.prefix)"
        return self._ask(question).stdout.strip()

    def _works(self) -> bool:
        question = "import sys, pip; sys.exit(sys.version_info < (3, 11))"
        return self._ask(question).returncode == 0

    def _ask(self, question: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([self.python, "-c", question], capture_output=True, text=True, check=False)


def set_up(extras: Sequence[str]) -> Environment:
    """Bring .venv up to date: the project editable with its extras, and the kernels compiled."""
    environment = Environment(".venv")
    environment.make()
    wanted = set(extras) | _installed_extras(environment)
    mark = fingerprint([environment.version, PYPROJECT, *sorted(wanted)]) + "\n" + ",".join(sorted(wanted))
    stamp = environment.stamp("install")
    if not is_stamped(stamp, mark):
        brackets = f"[{','.join(sorted(wanted))}]" if wanted else ""
        say(f"installing concordant{brackets} into .venv (a minute or two the first time)")
        stamp.unlink(missing_ok=True)
        environment.pip_install(*build_requirements(), "cmake>=3.26", "ninja")
        # The kernels are built by build_kernels, where a change of one C++ file recompiles one file.
        environment.pip_install("--no-build-isolation", "--config-settings", "wheel.cmake=false", "-e", f".{brackets}")
        stamp.write_text(mark)
    build_kernels(environment)
    return environment


def _installed_extras(environment: Environment) -> set[str]:
    """Remember extras of earlier runs, so that ``demo`` after ``test`` does not undo the stamp."""
    stamp = environment.stamp("install")
    lines = stamp.read_text().splitlines() if stamp.is_file() else []
    return set(filter(None, lines[1].split(","))) if len(lines) > 1 else set()


def build_requirements() -> list[str]:
    """Read what building needs from pyproject.toml."""
    requires: list[str] = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["build-system"]["requires"]
    return requires


# --- kernels ---------------------------------------------------------------------------------------------


def build_kernels(environment: Environment) -> None:
    """Compile the kernels next to their Python files if a source changed; without a compiler, say so."""
    sources = sorted([*KERNELS.glob("*.cpp"), *KERNELS.glob("*.hpp")])
    mark = fingerprint([environment.version, CMAKE_LISTS, *(path.name for path in sources), *sources])
    stamp = environment.stamp("kernels")
    built = [path for path in KERNELS.glob("_compiled*") if path.suffix in {".so", ".pyd"}]
    if is_stamped(stamp, mark) and built:
        return
    directory = ROOT / "build" / f"dev-{environment.version.split()[0]}"
    start = time.perf_counter()
    if not _configure(environment, directory, "-DCONCORDANT_INPLACE=ON"):
        log = (directory / "configure.log").relative_to(ROOT)
        say(f"no working C++ compiler: going on with the NumPy kernels, same answers, slower (see {log})")
        for outdated in built:
            outdated.unlink()
        return
    _compile(environment, directory)
    stamp.write_text(mark)
    say(f"compiled in {time.perf_counter() - start:.0f} s")


def _compile(environment: Environment, directory: Path) -> None:
    say("compiling the kernels, on all cores")  # ninja shows how far it is
    if run([environment.tool("cmake"), "--build", str(directory)]) != 0:
        raise StepError("The kernels do not compile: mend the C++ error above.")


def _configure(environment: Environment, directory: Path, *settings: str) -> bool:
    """Configure the build unless done before with the same inputs; False if there is no compiler."""
    mark = fingerprint([str(ROOT), environment.version, CMAKE_LISTS, PYPROJECT])
    stamp = directory / "concordant-configure.stamp"
    if is_stamped(stamp, mark) and (directory / "build.ninja").is_file():
        return True
    directory.mkdir(parents=True, exist_ok=True)
    nanobind = subprocess.run(
        [environment.python, "-m", "nanobind", "--cmake_dir"], capture_output=True, text=True, check=False
    )
    command = [environment.tool("cmake"), "--fresh", "-S", str(ROOT), "-B", str(directory), "-G", "Ninja"]
    command += [
        "-DCMAKE_BUILD_TYPE=Release",
        *settings,
        f"-DCMAKE_MAKE_PROGRAM={environment.tool('ninja')}",
        f"-DPython_EXECUTABLE={environment.python}",
        f"-Dnanobind_DIR={nanobind.stdout.strip()}",
    ]
    with open(directory / "configure.log", "w", encoding="utf-8") as log:
        done = subprocess.run(command, cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, check=False)
    if done.returncode == 0:
        stamp.write_text(mark)
    return done.returncode == 0


# --- commands --------------------------------------------------------------------------------------------

TOUR = (
    ("What is in a file of ballots?", "describe examples/election.csv"),
    ("Who wins? Ranked ballots, by the Schulze method", "rank examples/election.csv --method schulze"),
    (
        "Do other rules agree? The compromise candidate wins only by some of them",
        "compare examples/election.csv --methods plurality,instant-runoff,borda,copeland,schulze",
    ),
    (
        "Which model is best? Pairwise votes with ties: the method is chosen by the data",
        "rank examples/model-votes.csv",
    ),
    ("Which film is best? Ratings, with missing ones", "rank examples/ratings.csv"),
    (
        "Four search engines fused into one run",
        "fuse examples/runs/engine1.run examples/runs/engine2.run examples/runs/engine3.run"
        " examples/runs/engine4.run --method rrf --output build/demo/fused.run",
    ),
    (
        "Is the fused run better than each engine alone?",
        "evaluate build/demo/fused.run examples/runs/engine1.run examples/runs/engine2.run"
        " examples/runs/engine3.run examples/runs/engine4.run --labels examples/qrels.txt"
        " --metric ndcg@10 --metric map",
    ),
)


def demo(_arguments: Sequence[str]) -> int:
    """Set up and show the main commands at work on the data in examples/."""
    environment = set_up([])
    (ROOT / "build" / "demo").mkdir(parents=True, exist_ok=True)
    for title, line in TOUR:
        print(f"\n# {title}\n$ concordant {line}", flush=True)
        code = run([environment.tool("concordant"), *shlex.split(line)])
        if code != 0:
            raise StepError(f"The demo stopped: concordant {line.split()[0]} ended with exit code {code}.")
    relative = os.path.relpath(environment.tool("concordant"))
    print(f"\nNow your own data: {relative} rank FILE   (and {relative} --help)")
    return 0


def test(arguments: Sequence[str]) -> int:
    """Set up and run the tests; all arguments go to pytest."""
    environment = set_up(["dev"])
    return run([*pytest_command(environment, arguments), *arguments], ONE_THREAD)


def pytest_command(environment: Environment, arguments: Sequence[str] = ()) -> list[str]:
    """Run tests on all cores where pytest-xdist is there and nobody wants to watch a single process."""
    command = [environment.python, "-m", "pytest"]
    alone = any(argument.startswith(("-n", "--numprocesses", "--pdb", "-s")) for argument in arguments)
    return command if alone or not environment.has("xdist") else [*command, "-n", "auto", "--dist", "worksteal"]


def check(_arguments: Sequence[str]) -> int:
    """Run the one-minute check: lint, format, types, import contracts, quick tests."""
    environment = set_up(["dev"])
    steps = (
        [environment.tool("ruff"), "check", "."],
        [environment.tool("ruff"), "format", "--check", "."],
        [environment.tool("mypy")],
        [environment.tool("lint-imports")],
        [*pytest_command(environment), "-x", "-m", "not slow"],
    )
    failed = []
    for step in steps:
        say(shown(step))
        start = time.perf_counter()
        if run(step, ONE_THREAD) != 0:
            failed.append(shown(step))
        say(f"{time.perf_counter() - start:.1f} s")
    if failed:
        raise StepError(f"The check failed: {'; '.join(failed)}.")
    say("all good")
    return 0


def build(_arguments: Sequence[str]) -> int:
    """Compile the kernels in place, and say which back end is active."""
    Environment(".venv").stamp("kernels").unlink(missing_ok=True)
    environment = set_up([])
    question = "from concordant import kernels; print('active kernels:', kernels.active())"
    return run([environment.python, "-c", question])


# What calls kernels directly or with odd data; NumPy's own turns are left out.
SANITIZED = (
    *("tests/test_kernels.py", "tests/test_search_kernels.py", "tests/test_vocabulary.py", "tests/test_preferences.py"),
    *("tests/test_views.py", "tests/aggregate", "tests/losses", "tests/metrics", "tests/solvers", "tests/fuzz"),
    *("tests/io/test_preflib.py", "tests/io/test_runs_and_letor.py", "tests/io/test_bad_input.py"),
    *("tests/io/test_feature_tables.py", "tests/io/test_published_layouts.py"),
)


def sanitize(arguments: Sequence[str]) -> int:
    """Run kernel tests and readers with kernels that report wrong addresses and undefined behaviour (GCC or Clang)."""
    environment = set_up(["dev"])
    directory = ROOT / "build" / f"sanitize-{environment.version.split()[0]}"
    if not _configure(environment, directory, "-DCONCORDANT_SANITIZE=ON"):
        raise StepError(f"No working C++ compiler: see {directory / 'configure.log'}.")
    _compile(environment, directory)
    reports = directory / "reports"
    reports.mkdir(exist_ok=True)
    for outdated in reports.iterdir():
        outdated.unlink()
    selection = ["-m", "not slow and not data", "-k", "not numpy and not twins", *(arguments or SANITIZED)]
    command = [*pytest_command(environment), "--capture=sys", *selection]
    with open(reports / "undefined", "w", encoding="utf-8") as log:  # this sanitizer knows only standard error
        code = subprocess.run(
            command, cwd=ROOT, env=_sanitizing(directory, reports), stderr=log, check=False
        ).returncode
    texts = [report.read_text(encoding="utf-8", errors="replace") for report in sorted(reports.iterdir())]
    count = sum(text.count("ERROR: AddressSanitizer") + text.count(": runtime error: ") for text in texts)
    print("\n".join(texts))
    say(f"{count} reports of the sanitizers")
    return 1 if count else code


def _sanitizing(directory: Path, reports: Path) -> dict[str, str]:
    """Return an environment in which Python, itself not sanitized, loads the sanitized kernels."""
    compiler = os.environ.get("CXX", "c++")
    libraries = []
    for name in ("libasan.so", "libstdc++.so.6"):
        answer = subprocess.run([compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True)
        libraries.append(os.path.realpath(answer.stdout.strip()))
    (kernels,) = directory.glob("_compiled*.so")
    return {
        **ONE_THREAD,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={reports / 'address'}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "CONCORDANT_KERNELS": "checked",
        "CONCORDANT_SANITIZED": str(kernels),
    }


def fuzz(arguments: Sequence[str]) -> int:
    """Damage files of every format and read them for some MINUTES; save what does harm in tests/fuzz/regressions."""
    if len(arguments) != 1 or not arguments[0].replace(".", "", 1).isdigit():
        raise StepError("Say for how many minutes: python3 dev.py fuzz 10.")
    environment = set_up(["dev"])
    return run([environment.python, "-m", "tests.fuzz.run", "--minutes", arguments[0], "--save"], ONE_THREAD)


def docs(_arguments: Sequence[str]) -> int:
    """Build the documentation into docs/_build/html; a warning is an error."""
    environment = set_up(["docs"])
    folder = ROOT / "docs"
    code = run(
        [
            environment.python,
            "-m",
            "sphinx",
            "-W",
            "--keep-going",
            "-q",
            "-b",
            "html",
            str(folder),
            str(folder / "_build" / "html"),
        ]
    )
    if code == 0:
        say("look at docs/_build/html/index.html")
    return code


def bench(arguments: Sequence[str]) -> int:
    """Run benchmarks in .venv-bench: the project installed as users have it, next to its rivals."""
    environment = Environment(".venv-bench")
    environment.make()
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]["bench"]
    _install_once(environment, ".", _project_files())
    for requirement in extras:
        _install_once(environment, requirement, [])
    # Without byte code every import is compiled anew, which no installed program does.
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    return run([environment.python, "-m", "benchmarks", *arguments], env)


def _project_files() -> list[Path]:
    patterns = ("*.py", "*.pyi", "*.cpp", "*.hpp")
    sources = [path for pattern in patterns for path in (ROOT / "src").rglob(pattern)]
    return [PYPROJECT, CMAKE_LISTS, *sorted(sources)]


def _install_once(environment: Environment, requirement: str, inputs: Sequence[Path]) -> None:
    """Install unless done before with the same inputs; a rival that cannot be installed is left out."""
    is_project = requirement == "."
    name = "concordant" if is_project else requirement
    stamp = environment.stamp("".join(letter if letter.isalnum() else "-" for letter in name))
    mark = fingerprint([environment.version, *inputs])
    if is_stamped(stamp, mark):
        return
    say(f"installing {name} into {environment.path.name}")
    try:
        environment.pip_install(requirement)
    except StepError:
        if is_project:
            raise
        say(f"{name} cannot be installed here; its rows will say so")
        return
    stamp.write_text(mark)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "demo": demo,
    "test": test,
    "check": check,
    "build": build,
    "docs": docs,
    "bench": bench,
    "sanitize": sanitize,
    "fuzz": fuzz,
}
TAKES_ARGUMENTS = ("test", "bench", "sanitize", "fuzz")


def main(argv: Sequence[str]) -> int:
    """Run one command; 0 is success, 1 a failed step, 2 a command nobody knows."""
    parser = argparse.ArgumentParser(
        prog="dev.py",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="python3 dev.py COMMAND [arguments]",
    )
    parser.add_argument("command", choices=list(COMMANDS), help="what to do")
    options = parser.parse_args(argv[:1] or ["--help"])
    rest = list(argv[1:])
    if rest and options.command not in TAKES_ARGUMENTS:
        if rest[0] in ("-h", "--help"):
            print(f"python3 dev.py {options.command}: {COMMANDS[options.command].__doc__}")
            return 0
        parser.error(f"{options.command} takes no arguments, got {shlex.join(rest)}")
    try:
        return COMMANDS[options.command](rest)
    except StepError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dev.py: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
