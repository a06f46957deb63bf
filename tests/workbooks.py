"""Small workbooks from rows of cells, made by the script that makes the examples."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_PATH = Path(__file__).resolve().parent.parent / "examples" / "make.py"
_SPEC = importlib.util.spec_from_file_location("make_examples", _PATH)
assert _SPEC is not None
assert _SPEC.loader is not None
_MODULE = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_MODULE)

xlsx, ods, archive = _MODULE.xlsx, _MODULE.ods, _MODULE.archive
