"""Reports: one self-contained HTML file on the data, the ranking, its uncertainty, and disagreements between methods.

``study`` computes the results, the modules ``about_…`` convert them to sections of plain values (``sections``), and
``pages`` and ``pictures`` render those as HTML and SVG. One function (``support.markup.escape``) escapes all text, so
labels cannot inject markup.

The command line and the web app import from this package, which imports analysis, request and lower layers.
"""

from __future__ import annotations

from concordant.reporting.reports import Making, Report, report

__all__ = ["Making", "Report", "report"]
