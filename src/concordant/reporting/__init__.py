"""Reports: what the data are, who is first, how sure that is, who disagrees and why, as one self-contained HTML file.

``study`` gathers what is known of some preferences, the modules ``about_…`` turn it into sections of plain values
(``sections``), and ``pages`` and ``pictures`` turn those into HTML and SVG. Text enters a page through one function
(``markup.escape``), so labels are never anything but text.

The command line and the web app import from here; the room imports analysis, request and everything below.
"""

from __future__ import annotations

from concordant.reporting.reports import Making, Report, report

__all__ = ["Making", "Report", "report"]
