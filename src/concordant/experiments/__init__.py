"""Published experiments: code to run them, the published and the obtained figures, and the claims.

Each file is one experiment. ``run`` returns the result as plain data; ``tables`` lays it out, with published figures
and differences below the obtained ones, and ends with the claims of the paper (``claims``, with verdicts computed from
the result: see ``claims.py``). ``TITLE``, ``ABOUT`` and ``NOTES`` are the texts of its page, ``to_markdown`` is the
page in Markdown, ``plain`` the result for JSON, and ``draw`` saves figures. ``reporting.about_experiments`` makes HTML
pages.

Only ``concordant reproduce`` and ``reporting`` import from here.
"""
