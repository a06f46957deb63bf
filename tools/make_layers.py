"""Write docs/develop/layers.svg: the layers of the package, from the import contract in pyproject.toml.

Run it after changing the layers: ``python tools/make_layers.py``. With ``--check`` it only says whether the picture is
up to date; a test does the same. A module imports only from the rows below its own; hovering over a module shows the
first sentence of its documentation.
"""

from __future__ import annotations

import ast
import tomllib
from html import escape

from _generated import ROOT, keep

TARGET = ROOT / "docs" / "develop" / "layers.svg"
SOURCE = ROOT / "src" / "concordant"
WIDTH, ROW, BOX, CHARACTER = 760, 34, 24, 7.3
INK, FAINT, ACCENT, ROOM = "#24303c", "#c9d3da", "#1f6f8b", "#d5e8ef"


def layers() -> list[list[str]]:
    """Return the modules of every layer, the highest first."""
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = pyproject["tool"]["importlinter"]["contracts"]
    (contract,) = (one for one in contracts if one["type"] == "layers")
    return [[name.strip() for name in layer.replace("|", ":").split(":")] for layer in contract["layers"]]


def sentence(name: str) -> str:
    """Return the first sentence of a module's documentation."""
    package = SOURCE / name / "__init__.py"
    path = package if package.is_file() else SOURCE / f"{name}.py"
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) if path.is_file() else ""
    return " ".join((text or "").split("\n\n")[0].split())


def picture() -> str:
    """Return the picture: a row per layer, a box per room (filled) or root module (white)."""
    rows = layers()
    height = ROW * len(rows) + 30
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="monospace"',
        'font-size="12">',
        "<title>The layers of concordant: a module imports only from the rows below its own</title>",
    ]
    for k, row in enumerate(rows):
        top = 5 + k * ROW
        widths = [CHARACTER * len(name) + 18 for name in row]
        left = (WIDTH - sum(widths) - 8 * (len(row) - 1)) / 2
        lines.append(f'<path d="M0 {top + ROW - 5}H{WIDTH}" stroke="{FAINT}"/>' if k < len(rows) - 1 else "")
        for name, width in zip(row, widths, strict=True):
            fill = ROOM if (SOURCE / name).is_dir() else "#ffffff"
            lines.append(
                f"<g><title>{escape(f'{name}: {sentence(name)}')}</title>"
                f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" height="{BOX}" rx="4" fill="{fill}" '
                f'stroke="{ACCENT}"/>'
                f'<text x="{left + width / 2:.1f}" y="{top + 16}" text-anchor="middle" fill="{INK}">{name}</text></g>'
            )
            left += width + 8
    legend = "filled: room (folder) · white: module at the root · imports go downwards only"
    lines.append(f'<text x="{WIDTH / 2}" y="{height - 8}" text-anchor="middle" fill="{INK}">{legend}</text>')
    return "\n".join([*filter(None, lines), "</svg>", ""])


if __name__ == "__main__":
    raise SystemExit(keep(TARGET, picture()))
