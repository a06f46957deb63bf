"""Start Python processes that do not import modules from the working folder.

Python puts the working folder first on its path for ``-c`` and ``-m``, so a ``json.py`` next to a data file would be
imported. Processes of this package are started with ``python`` and ``environment``: in safe-path mode, with the folders
that this process imports from except the working folder, and with the environment variables listed here. Workers that
multiprocessing starts inherit the environment, and take the rest from ``import_path``.

This module runs before the working folder is removed from the path, so it imports only modules that every interpreter
has already loaded.
"""

import os
import sys

TYPE_CHECKING = False  # typing and __future__ would be looked for in the working folder
if TYPE_CHECKING:
    from subprocess import CompletedProcess

_KEPT = """
PATH HOME USER LOGNAME LANG LANGUAGE TZ TMPDIR TEMP TMP TERM
SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT USERPROFILE APPDATA LOCALAPPDATA PROGRAMDATA NUMBER_OF_PROCESSORS
LD_LIBRARY_PATH DYLD_LIBRARY_PATH DYLD_FALLBACK_LIBRARY_PATH __PYVENV_LAUNCHER__ VIRTUAL_ENV CONDA_PREFIX
XDG_CACHE_HOME XDG_CONFIG_HOME MPLCONFIGDIR
PYTHONHOME PYTHONUSERBASE PYTHONNOUSERSITE PYTHONUTF8 PYTHONIOENCODING PYTHONHASHSEED PYTHONDONTWRITEBYTECODE
"""
KEPT = frozenset(_KEPT.split())
"""Environment variables that a process receives."""
KEPT_PREFIXES = ("CONCORDANT_", "LC_", "OMP_", "OPENBLAS_", "MKL_", "BLIS_", "VECLIB_", "NUMEXPR_")


def python(*words: str) -> list[str]:
    """Return the command that runs ``python WORDS`` in safe-path mode; run it with ``environment``."""
    return [sys.executable, "-P", *(["-s"] if sys.flags.no_user_site else []), *words]


def environment(**more: str) -> "dict[str, str]":
    """Return the environment of a process: the listed variables, the import path, and ``more``."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(KEPT_PREFIXES)}
    return kept | import_path() | more


def import_path() -> "dict[str, str]":
    """Return the variables that give a process the import path of this one, without the working folder."""
    folders = [folder for folder in _folders() if os.pathsep not in folder]
    return {"PYTHONSAFEPATH": "1", "PYTHONPATH": os.pathsep.join(folders)}


def run_python(*words: str, content: bytes = b"") -> "CompletedProcess[bytes]":
    """Run ``python WORDS`` to completion in an empty folder, with ``content`` as standard input."""
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="concordant-") as folder:
        return subprocess.run(
            python(*words), input=content, capture_output=True, check=False, cwd=folder, env=environment()
        )


def leave_working_folder() -> None:
    """Remove the working folder from the import path, where ``python -m`` puts it first."""
    sys.path[:] = _folders()


def limit(name: str, amount: int) -> None:
    """Lower a resource limit of this process (``RLIMIT_AS``) if the system supports it; lower inherited limits stay."""
    try:
        import resource
    except ImportError:  # Windows
        return
    kind = getattr(resource, name)
    inherited = [value for value in resource.getrlimit(kind) if value != resource.RLIM_INFINITY]
    amount = min([amount, *inherited])
    try:
        resource.setrlimit(kind, (amount, amount))
    except (OSError, ValueError):  # macOS knows limits of addresses, and refuses them
        return


def _folders() -> "list[str]":
    """Return the import path without the working folder.

    The working folder is kept, in last place, if the user added it to the path or if it contains this package.
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    folders = [path for path in sys.path if os.path.isabs(path)]
    try:
        working_folder = os.path.realpath(os.getcwd())
    except OSError:  # it was removed
        working_folder = ""
    elsewhere = [path for path in folders if os.path.realpath(path) != working_folder]
    named = [path for path in sys.path[0 if sys.flags.safe_path else 1 :] if path in folders and path not in elsewhere]
    return list(dict.fromkeys([*elsewhere, *named, package]))
