"""Run kernel tests and readers with kernels that report every wrong address and every undefined operation.

    python3 dev.py sanitize [tests…]      sets everything up and runs this file

The kernels are compiled a second time, with ``-fsanitize=address,undefined`` (GCC or Clang), into build/sanitize-…; the
tests load that build (``CONCORDANT_SANITIZED``, see tests/conftest.py). A report is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from _generated import ROOT

FOLDER = ROOT / "build" / f"sanitize-{sys.implementation.cache_tag}"
REPORTS = FOLDER / "reports"
# What calls kernels directly or with odd data; NumPy's own turns are left out.
TESTS = (
    *(
        "tests/kernels/test_kernels.py",
        "tests/kernels/test_search_kernels.py",
        "tests/ballots/test_vocabulary.py",
        "tests/core/test_preferences.py",
    ),
    *("tests/core/test_views.py", "tests/aggregate", "tests/losses", "tests/metrics", "tests/solvers", "tests/fuzz"),
    *("tests/io/test_preflib.py", "tests/io/test_runs_and_letor.py", "tests/io/test_bad_input.py"),
    *("tests/io/test_feature_tables.py", "tests/io/test_published_layouts.py"),
)


def compiled() -> Path:
    """Compile the kernels with sanitizers, what changed since the last time, and return the library."""
    settings = (f"build-dir={FOLDER}", "cmake.define.CONCORDANT_SANITIZE=ON", "install.strip=false")
    command = [sys.executable, "-m", "pip", "wheel", ".", "-q", "--no-deps", "--no-build-isolation"]
    command += ["-w", str(FOLDER / "wheel"), *(word for setting in settings for word in ("-C", setting))]
    subprocess.run(command, cwd=ROOT, check=True)
    found = list(FOLDER.glob("_compiled*.so"))
    if not found:
        sys.exit("The kernels do not compile with sanitizers: that takes GCC or Clang.")
    return found[0]


def environment(library: Path) -> dict[str, str]:
    """Return an environment in which Python, itself not sanitized, loads the sanitized kernels."""
    preloaded = []
    for name in ("libasan.so", "libstdc++.so.6"):
        command = [os.environ.get("CXX", "c++"), f"-print-file-name={name}"]
        preloaded.append(os.path.realpath(subprocess.check_output(command, text=True).strip()))
    return {
        **os.environ,
        "LD_PRELOAD": " ".join(preloaded),
        "ASAN_OPTIONS": f"detect_leaks=0:allocator_may_return_null=1:log_path={REPORTS / 'address'}",
        "UBSAN_OPTIONS": "print_stacktrace=1",
        "PYTHONMALLOC": "malloc",
        "CONCORDANT_KERNELS": "checked",
        "CONCORDANT_SANITIZED": str(library),
    }


def main(tests: list[str]) -> int:
    """Compile, run the tests and count the reports."""
    print("== compiling the kernels with sanitizers", flush=True)
    env = environment(compiled())
    shutil.rmtree(REPORTS, ignore_errors=True)
    REPORTS.mkdir()
    command = [sys.executable, "-m", "pytest", "-n", "auto", "--dist", "worksteal", "--capture=sys"]
    command += ["-m", "not slow and not data", "-k", "not numpy and not twins", *(tests or TESTS)]
    with open(REPORTS / "undefined", "w", encoding="utf-8") as log:  # this sanitizer knows only standard error
        code = subprocess.run(command, cwd=ROOT, env=env, stderr=log, check=False).returncode
    text = "\n".join(report.read_text(encoding="utf-8", errors="replace") for report in sorted(REPORTS.iterdir()))
    count = text.count("ERROR: AddressSanitizer") + text.count(": runtime error: ")
    print(text)
    print(f"== {count} reports of the sanitizers", flush=True)
    return 1 if count else code


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
