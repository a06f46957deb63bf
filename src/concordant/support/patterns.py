"""Regular expressions that are compiled when first used, so that modules with many of them load quickly."""

from __future__ import annotations

import re
from typing import Any, AnyStr, cast


class _Lazy:
    """A pattern that is compiled when one of its methods is first needed."""

    def __init__(self, pattern: Any, flags: int) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the compiled pattern, and keep it."""
        found = getattr(re.compile(*self._given), name)
        setattr(self, name, found)
        return found


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return a regular expression that is compiled when first used."""
    return cast("re.Pattern[AnyStr]", _Lazy(pattern, flags))
