#!/usr/bin/env python3
"""Everything a developer does with concordant, from a fresh clone and nothing but Python 3.11 or newer.

    python3 dev.py demo           set up and run the main commands on the data in examples/
    python3 dev.py test           set up and run all tests (further arguments go to pytest)
    python3 dev.py setup          set up all that tests, lint and documentation need
    python3 dev.py lint           lint, format, types, import contracts
    python3 dev.py check          the one-minute check before every commit: lint and the quick tests
    python3 dev.py build          recompile the kernels and show which back end is active
    python3 dev.py docs           build the documentation into docs/_build, warnings are errors
    python3 dev.py bench NAME...  run benchmarks against rival libraries, in a separate environment ("bench users":
                                  default calls, warm and in fresh processes; "bench --list" shows all)
    python3 dev.py sanitize       run kernel tests and readers with memory sanitizers
    python3 dev.py fuzz MINUTES   damage files of every format and read them, in processes with limits

The first run makes .venv and installs the project into it, editable. pip does so again when pyproject.toml or a C++
file changed (which compiles that file); else nothing is installed, so that later runs work offline.
"""

from __future__ import annotations

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - this file is the first thing an older Python meets
    sys.exit(f"concordant needs Python 3.11 or newer, and this is {sys.version.split()[0]}: use a newer one.")

import argparse
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent
BUILD = ROOT / "build" / f"dev-{sys.implementation.cache_tag}"
ON_WINDOWS = os.name == "nt"
# Without byte code every process compiles all it imports, which no installed program does: tests start many.
WITH_BYTE_CODE = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
# Tests fill the cores with processes; threads of linear algebra beside them would only wait for each other.
ONE_THREAD = {**WITH_BYTE_CODE, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class StepError(Exception):
    """A step went wrong; the message is for the user."""


def say(message: str) -> None:
    """Print a progress line at once, also into a pipe."""
    print(f"== {message}", flush=True)


def run(command: Sequence[str], env: dict[str, str] | None = None) -> int:
    """Run a command in the project root with its output on the terminal; return its exit code."""
    return subprocess.run(command, cwd=ROOT, env=env, check=False).returncode


# --- environments ----------------------------------------------------------------------------------------


class Environment:
    """A virtual environment in the project root with what pip installed there, remembered in a stamp."""

    def __init__(self, name: str) -> None:
        self.path = ROOT / name
        self.bin = self.path / ("Scripts" if ON_WINDOWS else "bin")
        self.python = self.tool("python")
        self.stamp = self.path / "concordant.stamp"
        asked = [self.python, "-c", "import pip"]
        if not Path(self.python).exists() or subprocess.run(asked, capture_output=True, check=False).returncode != 0:
            say(f"making {name} with Python {sys.version.split()[0]}")
            if run([sys.executable, "-m", "venv", "--clear", str(self.path)]) != 0:
                raise StepError("Cannot make a virtual environment: install your system's python3-venv package.")

    def tool(self, name: str) -> str:
        """Return the path of a program installed in this environment."""
        return str(self.bin / (f"{name}.exe" if ON_WINDOWS else name))

    def pip(self, *arguments: str) -> str:
        """Run pip, showing of its output only how far the compiler is; return all of it."""
        command = [self.python, "-m", "pip", "--disable-pip-version-check", "-v", *arguments]
        shown, lines = re.compile(r"\s*\[\d+/\d+\] "), []
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
            assert process.stdout is not None
            for line in process.stdout:
                lines.append(line.decode(errors="replace").rstrip())
                if shown.match(lines[-1]):
                    print(lines[-1].strip(), flush=True)
        if process.returncode != 0:
            raise StepError("\n".join([*lines[-40:], f"pip failed ({shlex.join(arguments)}): is there a network?"]))
        return "\n".join(lines)

    def fingerprint(self, *patterns: str) -> str:
        """Hash the files that decide what is installed, this interpreter, the compiler and the place of it all."""
        digest = hashlib.sha256(f"{ROOT} {os.environ.get('CXX') or shutil.which('c++')}".encode())
        named = [path for pattern in ("pyproject.toml", "CMakeLists.txt", *patterns) for path in ROOT.glob(pattern)]
        for path in [self.path / "pyvenv.cfg", *sorted(named)]:
            digest.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
        return digest.hexdigest()


def pyproject() -> dict[str, dict[str, object]]:
    """Read pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def set_up(*extras: str) -> Environment:
    """Bring .venv up to date: the project editable, with these extras and those of earlier runs."""
    environment = Environment(".venv")
    before = environment.stamp.read_text().split() if environment.stamp.is_file() else [""]
    wanted = sorted({*before[1:], *extras})
    after = [environment.fingerprint("src/concordant/kernels/**/*.?pp"), *wanted]
    if before != after:
        extras_text = f"[{','.join(wanted)}]" if wanted else ""
        say(f"installing concordant{extras_text} into .venv (a few minutes the first time)")
        # Not isolated: the next compilation finds nanobind where the last one did, and compiles what changed. Then
        # libraries that come as source (trueskill) are built here as well, which the setuptools of a new venv cannot.
        builders = [*pyproject()["build-system"]["requires"], "cmake>=3.26", "ninja", "setuptools>=77"]
        environment.pip("install", *builders)
        editable = ["--no-build-isolation", "-C", f"build-dir={BUILD}", "-e", f".{extras_text}"]
        output = environment.pip("install", *editable)
        broken = re.search(r"FAILED: .*?\berror\b.*?(?=ninja: |\Z)", output, re.DOTALL)
        if broken and ".cpp:" in broken[0]:
            raise StepError(f"{broken[0]}The kernels do not compile: mend the C++ error above.")
        if not list(environment.path.rglob("concordant/kernels/_compiled*")):
            say("no working C++ compiler: going on with the NumPy kernels, same answers, slower")
            shutil.rmtree(BUILD, ignore_errors=True)  # CMake would remember that, also when there is one
        environment.stamp.write_text(" ".join(after))
    return environment


# --- commands --------------------------------------------------------------------------------------------

ENGINES = " ".join(f"examples/runs/engine{k}.run" for k in (1, 2, 3, 4))
TOUR = {
    "What is in a file of ballots?": "describe examples/election.csv",
    "Who wins? Ranked ballots, by the Schulze method": "rank examples/election.csv --method schulze",
    "Do other rules agree? The compromise candidate wins only by some of them": (
        "compare examples/election.csv --methods plurality,instant-runoff,borda,copeland,schulze"
    ),
    "Which model is best? Pairwise votes with ties: the method is chosen by the data": "rank examples/model-votes.csv",
    "Which film is best? Ratings, with missing ones": "rank examples/ratings.csv",
    "Four search engines fused into one run": f"fuse {ENGINES} --method rrf --output build/demo/fused.run",
    "Is the fused run better than each engine alone?": (
        f"evaluate build/demo/fused.run {ENGINES} --labels examples/qrels.txt --metric ndcg@10 --metric map"
    ),
    "A report on the votes, in one HTML page": (
        'report examples/model-votes.csv --title "Which model is best?" --output build/demo/report.html'
    ),
}


def demo() -> int:
    """Set up and show the main commands at work on the data in examples/."""
    program = set_up().tool("concordant")
    (ROOT / "build" / "demo").mkdir(parents=True, exist_ok=True)
    for title, line in TOUR.items():
        print(f"\n# {title}\n$ concordant {line}", flush=True)
        code = run([program, *shlex.split(line)])
        if code != 0:
            raise StepError(f"The demo stopped: concordant {line.split()[0]} ended with exit code {code}.")
    relative = os.path.relpath(program)
    print("\nOpen build/demo/report.html in a browser: the ranking, its uncertainty, and who disagrees.")
    print(f"Now your own data: {relative} rank FILE   (and {relative} --help)")
    return 0


def setup() -> int:
    """Set up all that tests, lint and documentation need, and nothing else."""
    set_up("dev", "docs")
    return 0


def test(*arguments: str) -> int:
    """Set up and run the tests; all arguments go to pytest."""
    if opens_browser(arguments):
        fetch_browser()
    return run([*pytest(set_up("dev"), *arguments), *arguments], ONE_THREAD)


def opens_browser(arguments: Sequence[str]) -> bool:
    """Say whether tests with these arguments may open a browser: those in tests/web, unless slow tests are left out."""
    tests, web = ROOT / "tests", ROOT / "tests" / "web"
    named = [(ROOT / argument.partition("::")[0]).resolve() for argument in arguments]
    places = [place for place in named if place.exists() and place.is_relative_to(tests)]
    is_asked_for = not places or any(place.is_relative_to(web) or web.is_relative_to(place) for place in places)
    return is_asked_for and not any("not slow" in argument for argument in arguments)


def fetch_browser() -> None:
    """Install what tests in a browser need, as far as it can be had; without it those tests skip, with the reason."""
    browsers = ("chromium", "chromium-browser", "google-chrome")
    if not any(map(shutil.which, browsers)) and shutil.which("apt-get") and os.name == "posix" and os.geteuid() == 0:
        say("installing chromium for the tests of pages")
        nothing, asks_nothing = subprocess.DEVNULL, {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        quiet = {"stdin": nothing, "stdout": nothing, "stderr": nothing, "check": False, "env": asks_nothing}
        subprocess.run(["apt-get", "update", "-q"], **quiet)
        subprocess.run(["apt-get", "install", "-y", "-q", "--no-install-recommends", "chromium"], **quiet)
    if not any(map(shutil.which, browsers)):
        say("no chromium here: tests of pages will be skipped")
    folder = ROOT / "build" / "browser"
    if not (folder / "node_modules" / "axe-core").is_dir() and shutil.which("npm"):
        say("fetching axe-core, which checks that everybody can read a page")
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), "axe-core@4"]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
    if not (folder / "node_modules" / "axe-core").is_dir():
        say("no axe-core here: tests of accessibility will be skipped")


def pytest(environment: Environment, *arguments: str) -> list[str]:
    """Run tests on all cores unless somebody wants to watch a single process."""
    alone = any(argument.startswith(("-n", "--numprocesses", "--pdb", "-s")) for argument in arguments)
    return [environment.python, "-m", "pytest", *([] if alone else ["-n", "auto", "--dist", "worksteal"])]


def lint() -> int:
    """Check lint, format, types and import contracts."""
    environment = set_up("dev")
    steps = ("ruff check .", "ruff format --check .", "mypy", "lint-imports")
    return _all_pass([[environment.tool(program), *rest] for program, *rest in map(str.split, steps)])


def check() -> int:
    """Run the one-minute check: lint, format, types, import contracts, quick tests."""
    return max(lint(), _all_pass([[*pytest(set_up("dev")), "-x", "-m", "not slow"]]))


def _all_pass(steps: Sequence[Sequence[str]]) -> int:
    """Run all steps, also those after a failed one; return 1 if one failed."""
    failed = 0
    for step in steps:
        name = shlex.join([Path(step[0]).name, *step[1:]])
        say(name)
        if run(step, ONE_THREAD) != 0:
            failed = 1
            say(f"FAILED: {name}")
    return failed


def build() -> int:
    """Recompile the kernels and show which back end is active."""
    shutil.rmtree(BUILD, ignore_errors=True)
    (ROOT / ".venv" / "concordant.stamp").unlink(missing_ok=True)
    question = "from concordant import kernels; print('active kernels:', kernels.active())"
    return run([set_up().python, "-c", question])


def sanitize(*arguments: str) -> int:
    """Run kernel tests and readers with kernels that report wrong addresses and undefined behaviour (GCC or Clang)."""
    return run([set_up("dev").python, "tools/sanitize.py", *arguments], ONE_THREAD)


def fuzz(*minutes: str) -> int:
    """Damage files of every format and read them for some MINUTES; save what does harm in tests/fuzz/regressions."""
    if len(minutes) != 1 or not minutes[0].replace(".", "", 1).isdigit():
        raise StepError("Say for how many minutes: python3 dev.py fuzz 10.")
    return run([set_up("dev").python, "-m", "tests.fuzz.run", "--minutes", minutes[0], "--save"], ONE_THREAD)


def docs() -> int:
    """Build the documentation into docs/_build/html; a warning is an error."""
    program = set_up("docs").tool("sphinx-build")
    code = run([program, "-W", "--keep-going", "-q", "-b", "html", "docs", "docs/_build/html"])
    if code == 0:
        say("look at docs/_build/html/index.html")
    return code


def bench(*arguments: str) -> int:
    """Run benchmarks in .venv-bench: the project installed as users have it, next to its rivals."""
    environment = Environment(".venv-bench")
    mark = environment.fingerprint("src/**/*.py", "src/**/*.pyi", "src/**/*.?pp")
    if not environment.stamp.is_file() or environment.stamp.read_text() != mark:
        say("installing concordant and its rivals into .venv-bench")
        environment.pip("install", ".")
        for rival in pyproject()["project"]["optional-dependencies"]["bench"]:
            try:
                environment.pip("install", rival)
            except StepError:
                say(f"{rival} cannot be installed here; its rows will say so")
        environment.stamp.write_text(mark)
    return run([environment.python, "-m", "benchmarks", *arguments], WITH_BYTE_CODE)


COMMANDS: dict[str, Callable[..., int]] = {
    command.__name__: command for command in (demo, setup, test, lint, check, build, docs, bench, sanitize, fuzz)
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
    name, rest = parser.parse_args(argv[:1] or ["--help"]).command, argv[1:]
    if rest and name not in TAKES_ARGUMENTS:
        if rest[0] in ("-h", "--help"):
            print(f"python3 dev.py {name}: {COMMANDS[name].__doc__}")
            return 0
        parser.error(f"{name} takes no arguments, got {shlex.join(rest)}")
    try:
        return COMMANDS[name](*rest)
    except StepError as error:
        print(f"dev.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("dev.py: stopped", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
