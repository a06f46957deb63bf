"""What a caller of ``read`` may say beyond the path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from concordant.errors import InputError


@dataclass(frozen=True)
class Options:
    """The options every reader understands or refuses."""

    form: str | None = None
    strict: bool = False
    skip_bad_rows: bool = False
    delimiter: str | None = None
    header: bool | None = None
    roles: Mapping[str, object] = field(default_factory=dict)
    categories: Sequence[str] | None = None
    merge: bool = False

    def refuse_roles(self, what: str) -> None:
        """Say that column roles, form, delimiter and header belong to tables only."""
        said = [role for role, value in self.roles.items() if value is not None]
        said += [name for name in ("form", "delimiter", "header") if getattr(self, name) is not None]
        if said:
            raise InputError(f"{said[0]}= has no meaning for {what}, whose layout is fixed: leave it out.")
