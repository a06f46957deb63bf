"""Drawings of the web app: icons and the small pictures of the start page, coloured by the style sheet."""

from __future__ import annotations

from concordant.support.markup import Markup, element, verbatim

_STAR = "m10 1 2.7 6 6.3.7-4.7 4.3 1.4 6.5L10 15.3 4.3 18.5l1.4-6.5L1 7.7 7.3 7z"
_ELECTION = (
    '<path class="line c1" d="M14 44C34 44 34 16 52 16S70 16 76 16"/>'
    '<path class="line c2" d="M14 16C34 16 34 32 52 32S70 32 76 32"/>'
    '<path class="line c3" d="M14 30C34 30 34 48 52 48H76"/><circle class="f1" cx="76" cy="16" r="5"/>'
    '<circle class="f2" cx="76" cy="32" r="5"/><circle class="f3" cx="76" cy="48" r="5"/>'
    '<circle class="f1" cx="14" cy="44" r="5"/><circle class="f2" cx="14" cy="16" r="5"/>'
    '<circle class="f3" cx="14" cy="30" r="5"/>'
)
_LEADERBOARD = (
    '<line class="span" x1="61" x2="79" y1="12" y2="12"/><circle class="point" cx="70" cy="12" r="5"/>'
    '<line class="span" x1="51" x2="69" y1="25" y2="25"/><circle class="point" cx="60" cy="25" r="5"/>'
    '<line class="span" x1="38" x2="56" y1="38" y2="38"/><circle class="point" cx="47" cy="38" r="5"/>'
    '<line class="span" x1="17" x2="35" y1="51" y2="51"/><circle class="point" cx="26" cy="51" r="5"/>'
)
_LEAGUE = (
    '<path class="band f2" d="M8 46C24 46 28 18 46 18S66 34 82 30V44C66 48 58 34 46 34S26 56 8 58Z"/>'
    '<path class="line c0" d="M8 22C26 18 44 44 82 48"/>'
    '<path class="line c2" d="M8 52C24 50 28 26 46 26S66 42 82 37"/>'
    '<circle class="hollow" cx="46" cy="26" r="4.5"/>'
)
_SEARCH = (
    '<rect class="f1" x="10" y="14" width="18" height="5" rx="2.5"/>'
    '<rect class="f0" x="10" y="24" width="12" height="5" rx="2.5"/>'
    '<rect class="f2" x="10" y="34" width="16" height="5" rx="2.5"/>'
    '<rect class="f0" x="10" y="44" width="10" height="5" rx="2.5"/>'
    '<rect class="f2" x="36" y="14" width="14" height="5" rx="2.5"/>'
    '<rect class="f1" x="36" y="24" width="18" height="5" rx="2.5"/>'
    '<rect class="f0" x="36" y="34" width="10" height="5" rx="2.5"/>'
    '<rect class="f0" x="36" y="44" width="14" height="5" rx="2.5"/><path class="line c0" d="M60 32h5"/>'
    '<rect class="f1" x="70" y="18" width="14" height="6" rx="3"/>'
    '<rect class="f2" x="70" y="29" width="12" height="6" rx="3"/>'
    '<rect class="f0" x="70" y="40" width="8" height="6" rx="3"/>'
)
_FORM = (
    '<rect class="hollow" x="14" y="8" width="62" height="48" rx="5"/>'
    '<rect class="hollow" x="22" y="15" width="9" height="9" rx="2"/>'
    '<rect class="f0" x="38" y="17" width="28" height="5" rx="2.5"/>'
    '<rect class="hollow" x="22" y="28" width="9" height="9" rx="2"/>'
    '<rect class="f0" x="38" y="30" width="20" height="5" rx="2.5"/>'
    '<rect class="hollow" x="22" y="41" width="9" height="9" rx="2"/>'
    '<rect class="f0" x="38" y="43" width="24" height="5" rx="2.5"/><path class="line c1" d="m23 32 3 3 6-7"/>'
)
_RATINGS = "".join(
    f'<path class="f{2 if column < full else 0}" transform="translate({10 + 14.5 * column} {8 + 18 * row}) scale(.62)" '
    f'd="{_STAR}"/>'
    for row, full in enumerate((5, 4, 2))
    for column in range(5)
)
PICTURES = {
    "election": _ELECTION,
    "leaderboard": _LEADERBOARD,
    "league": _LEAGUE,
    "search": _SEARCH,
    "ratings": _RATINGS,
    "form": _FORM,
}
ICONS = {
    "download": '<path d="M10 3v9M6.5 8.8 10 12l3.5-3.2M4 13v3.5h12V13"/>',
    "report": '<path d="M5 2.5h7l3.5 3.5v11.5h-10.5zM8 10h5M8 13.5h5"/>',
    "theme": '<circle cx="10" cy="10" r="7"/><path d="M10 3a7 7 0 0 1 0 14z" fill="currentColor"/>',
    "settings": '<path d="M3 6h8M15 6h2M3 14h2M9 14h8"/><circle cx="13" cy="6" r="2"/><circle cx="7" cy="14" r="2"/>',
    "upload": '<path d="M10 13V3.5M6.3 7 10 3.5 13.7 7M3 12v4.5h14V12"/>',
    "close": '<path d="M5 5l10 10M15 5 5 15"/>',
    "bad": '<path d="M6.8 2.5h6.4l4.3 4.3v6.4l-4.3 4.3H6.8L2.5 13.2V6.8zM10 6.5v4M10 13.4v.1"/>',
}


def icon(name: str, size: int = 18) -> Markup:
    """Return an icon, which screen readers skip."""
    return element(
        "svg", verbatim(ICONS[name], within="svg"), width=size, height=size, viewBox="0 0 20 20", fill="none",
        stroke="currentColor", stroke_width="1.8", stroke_linecap="round", stroke_linejoin="round", aria_hidden="true",
    )  # fmt: skip


def picture(name: str) -> Markup:
    """Return the picture of a task."""
    return element(
        "svg", verbatim(PICTURES[name], within="svg"), viewBox="0 0 90 64", width=90, height=64, aria_hidden="true"
    )
