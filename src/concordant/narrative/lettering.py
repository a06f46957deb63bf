"""Letter plots: labels in any script are drawn with installed fonts, and never as formulas.

Matplotlib draws a text with several fonts, in the order of its families. A text in plain Latin is left alone. For other
texts, fonts are chosen among those installed: for every script that the usual font lacks, the regular sans-serif font
that has most of its characters. What no font has is drawn as a box, and a note says what to install; so drawing never
ends in a Python warning. Matplotlib shapes and orders right-to-left text since version 3.11; before, arabic-reshaper
and python-bidi do so if they are installed.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from typing import Any

from concordant.ballots.vocabulary import shorten_apart
from concordant.support.text import isolate, visible

BOX = "□"
ASIAN = "Chinese, Japanese and Korean"
EMOJI = "emoji"
SYMBOLS = "symbols"
_SCRIPTS = {
    "CJK": ASIAN,
    "HIRAGANA": ASIAN,
    "KATAKANA": ASIAN,
    "HANGUL": ASIAN,
    "BOPOMOFO": ASIAN,
    "IDEOGRAPHIC": ASIAN,
}
_FONTS = {ASIAN: "Noto Sans CJK", EMOJI: "Symbola or Noto Emoji", SYMBOLS: "Noto Sans Symbols 2 or Symbola"}
_PREFIXES = ("HALFWIDTH", "FULLWIDTH", "OLD", "NEW", "TAI", "MODIFIER", "COMBINING", "EXTENDED")
_UNSUITABLE = ("LastResort", "Last Resort", "Color")  # of colours only, Matplotlib draws nothing
_PLAIN_LAST = ("Mono", "Serif", "Unifont", "Condensed", "Display", "Looped", "Kufi", "Nastaliq", "Rashi")


def labels(names: Iterable[str], width: int = 28) -> list[str]:
    """Return labels that are drawn together: one line each, shortened, distinct, and isolated if right-to-left."""
    clean = [" ".join(visible(name, colours=False).split()) for name in names]
    encoded = [name.encode("utf-8", "backslashreplace").decode("utf-8") for name in clean]
    return [isolate(name) for name in shorten_apart(encoded, width)]


def label(name: str, width: int = 28) -> str:
    """Return one label, as ``labels`` does."""
    return labels([name], width)[0]


def letter(figure: Any) -> None:
    """Choose fonts for all texts of a figure, and note the scripts that no installed font has (``notes``)."""
    from matplotlib.text import Text

    texts = [text for text in figure.findobj(Text) if text.get_text()]
    for text in texts:
        text.set_parse_math(False)
    if all(text.get_text().isascii() for text in texts):
        return
    if not _is_shaped():
        _rewrite(figure, texts, _in_visual_order)
    characters = frozenset(sign for text in texts for sign in text.get_text() if sign > "\x7f")
    families, undrawable = _fonts_for(characters, _usual_families())
    boxes = {ord(sign): BOX for sign in undrawable} | {ord(sign): None for sign in characters if _is_unseen(sign)}
    if boxes:
        _rewrite(figure, texts, lambda text: text.translate(boxes))
    for text in texts:
        if not text.get_text().isascii():
            text.set_family(families)
    if undrawable:
        figure.concordant_notes = [_note(sorted({_script(sign) for sign in undrawable}))]


def _rewrite(figure: Any, texts: Iterable[Any], rewritten: Callable[[str], str]) -> None:
    """Rewrite all texts and the fixed labels of axes, which are written again when drawn."""
    from matplotlib.ticker import FixedLocator

    written = {text: rewritten(text.get_text()) for text in texts}
    for text, new in written.items():
        text.set_text(new)
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        if isinstance(axis.get_major_locator(), FixedLocator) and len(axis.get_majorticklocs()):
            labels_of_axis = [written.get(text, text.get_text()) for text in axis.get_majorticklabels()]
            axis.set_ticks(axis.get_majorticklocs(), labels_of_axis)


def notes(figure: Any) -> list[str]:
    """Return what a reader of this figure should know: the scripts that no installed font can draw."""
    return list(getattr(figure, "concordant_notes", []))


def _note(scripts: Sequence[str]) -> str:
    named = " and ".join(scripts)
    fonts = ", ".join(_FONTS.get(script, f"Noto Sans {script}") for script in scripts)
    return f"no installed font has the characters of {named}, so the plot shows boxes: install a font such as {fonts}"


def _is_unseen(sign: str) -> bool:
    """Return whether a character only directs the layout, which Matplotlib before 3.11 would draw as a box."""
    return not _is_shaped() and (unicodedata.category(sign) == "Cf" or "\ufe00" <= sign <= "\ufe0f")


@lru_cache(maxsize=1)
def _is_shaped() -> bool:
    """Return whether this Matplotlib shapes text and orders right-to-left text (with libraqm)."""
    from matplotlib import ft2font

    return hasattr(ft2font, "__libraqm_version__")


def _in_visual_order(text: str) -> str:
    """Return text with isolated labels in the order in which they are seen, for a Matplotlib without libraqm."""
    return re.sub("\u2068(.*?)\u2069", lambda found: _seen(found[1]), text)


def _seen(label: str) -> str:
    """Return a right-to-left label with its letters joined and in visual order, if the libraries are installed."""
    for module, name in (("arabic_reshaper", "reshape"), ("bidi.algorithm", "get_display")):
        with suppress(ImportError):
            label = getattr(import_module(module), name)(label)
    return label


# ---- fonts ----
def _usual_families() -> tuple[str, ...]:
    from matplotlib import rcParams

    return tuple(rcParams["font.family"])


@lru_cache(maxsize=256)
def _fonts_for(characters: frozenset[str], usual: tuple[str, ...]) -> tuple[list[str], frozenset[str]]:
    """Return the families that draw these characters, the usual ones first, and the characters that none has."""
    from matplotlib import font_manager

    has_usual = [_has(font_manager.findfont(font_manager.FontProperties(family=[name])), 0) for name in usual]
    missing = {sign for sign in characters if not any(has(ord(sign)) for has in has_usual) and not _is_ignorable(sign)}
    families = list(usual)
    for is_new in (False, True):  # fonts installed since Matplotlib last looked are searched only if needed
        if missing:
            chosen, missing = _cover(missing, _add_new_fonts() if is_new else font_manager.fontManager.ttflist)
            families += chosen
    return families, frozenset(missing)


def _cover(missing: set[str], fonts: Iterable[Any]) -> tuple[list[str], set[str]]:
    """Return the fonts that cover the missing characters, script by script, and those that none has."""
    by_family: dict[str, Any] = {}
    for font in sorted(fonts, key=_preference):
        if not any(word in font.name for word in _UNSUITABLE):
            by_family.setdefault(font.name, font)
    groups: dict[str, set[str]] = {}
    for sign in sorted(missing):
        groups.setdefault(_script(sign), set()).add(sign)
    has = {family: _has(font.fname, getattr(font, "index", 0)) for family, font in by_family.items()}
    chosen: list[str] = []
    left: set[str] = set()
    for script, signs in groups.items():
        region = _region(signs) if script == ASIAN else ""
        while signs:
            covered = [
                (sum(1 for sign in signs if test(ord(sign))), family.endswith(region), -place, family)
                for place, (family, test) in enumerate(has.items())
            ]
            n_covered, _, _, best = max(covered, default=(0, False, 0, ""))
            if not n_covered:
                break
            chosen.append(best)
            signs = {sign for sign in signs if not has[best](ord(sign))}
        left |= signs
    return list(dict.fromkeys(chosen)), left


def _region(signs: Iterable[str]) -> str:
    """Return the ending of the fonts with the usual shapes of these characters: JP, KR or SC."""
    first_words = {unicodedata.name(sign, "").partition(" ")[0] for sign in signs}
    return "JP" if first_words & {"HIRAGANA", "KATAKANA"} else "KR" if "HANGUL" in first_words else "SC"


def _preference(font: Any) -> tuple[bool, bool, int, int, str]:
    """Return the sort key of a font: regular and upright sans-serif fonts first."""
    is_plain = font.style == "normal" and font.weight in (400, "normal", "regular", "book")
    n_unwanted = sum(word in font.name for word in _PLAIN_LAST)
    return not is_plain, n_unwanted > 0, n_unwanted, "Noto Sans" not in font.name, font.name


def _has(path: str, index: int) -> Any:
    """Return the function that tells the glyph of a character in a font file, 0 if there is none."""
    from matplotlib.ft2font import FT2Font

    try:
        font = FT2Font(path, face_index=index) if index else FT2Font(path)
    except (OSError, RuntimeError, TypeError, NotImplementedError):  # damaged, or a font of colour bitmaps
        return lambda _: 0
    return font.get_char_index


@lru_cache(maxsize=1)
def _add_new_fonts() -> list[Any]:
    """Make the fonts known to Matplotlib that were installed since it last looked, and return them."""
    from matplotlib import font_manager

    manager = font_manager.fontManager
    known, n_known = {font.fname for font in manager.ttflist}, len(manager.ttflist)
    for path in sorted(set(font_manager.findSystemFonts()) - known):
        try:
            manager.addfont(path)
        except (OSError, RuntimeError, NotImplementedError):
            continue
    return list(manager.ttflist[n_known:])


# ---- scripts ----
def _is_ignorable(sign: str) -> bool:
    """Return whether a character has no shape of its own: joiners, isolates, variation selectors, spaces."""
    return unicodedata.category(sign) in ("Cf", "Zs", "Zl", "Zp", "Cc") or "\ufe00" <= sign <= "\ufe0f"


def _script(sign: str) -> str:
    """Return the name of the script of a character, from its Unicode name."""
    words = [word for word in unicodedata.name(sign, "").replace("-", " ").split() if word not in _PREFIXES]
    if unicodedata.category(sign)[0] in "SNPC" or not words:
        is_emoji = 0x1F000 <= ord(sign) <= 0x1FAFF or 0x2600 <= ord(sign) <= 0x27BF
        return EMOJI if is_emoji else _SCRIPTS.get((words or [""])[0], SYMBOLS)
    return _SCRIPTS.get(words[0], words[0].capitalize())
