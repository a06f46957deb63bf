"""Any table, sheet or DataFrame into ballots.

``options`` declares the reading options, ``roles`` decides which column is what and ``plans`` holds the decision;
``build`` and ``rows`` make ballots from long tables, ``wide`` from tables with a column per item or person,
``teams``, ``covariates``, ``outcomes``, ``grades`` and ``ranking_text`` read special cells, ``bad_rows`` collects
unreadable ones and ``frames`` accepts DataFrames. Readers of files (``io``) and ``Preferences.from_frame`` use the
same functions; the room imports ballots and ``support``, and knows no files.
"""
