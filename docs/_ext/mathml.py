"""Formulas as MathML, written at build time: pages need no script and no network."""

from __future__ import annotations

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError, latex2mathml


def _mathml(text: str, *, as_block: bool) -> str:
    try:
        return latex2mathml.tex2mathml(text, as_block=as_block)
    except (MathError, SyntaxError):
        return f"<code>{escape(text)}</code>"  # better the source than nothing


def _visit_inline(self: Any, node: nodes.math) -> None:
    self.body.append(_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def _visit_block(self: Any, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_mathml(node.astext(), as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Offer the renderer under the name mathml."""
    app.add_html_math_renderer("mathml", (_visit_inline, None), (_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
