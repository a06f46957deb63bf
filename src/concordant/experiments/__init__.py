"""Published experiments: what to run, what was published, what came out. One file each."""

from __future__ import annotations

import os
from pathlib import Path

from concordant.errors import InputError


def data_folder(given: str | os.PathLike[str] | None, *parts: str) -> Path:
    """Return the folder of a public data set below ``given`` or ``CONCORDANT_DATA``, or say where to get it."""
    root = given or os.environ.get("CONCORDANT_DATA")
    name = "/".join(parts)
    if not root:
        raise InputError(
            f"This experiment reads the public data set {name}: say where it is with --data DIR or CONCORDANT_DATA."
        )
    folder = Path(root).joinpath(*parts)
    if not folder.is_dir():
        raise InputError(f"{folder} is not there: put the files of {name} in it, or give another --data DIR.")
    return folder
