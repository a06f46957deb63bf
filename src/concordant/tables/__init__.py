"""Convert tables, sheets and DataFrames into ballots.

``options`` declares the reading options, ``roles`` assigns roles to columns, and ``plans`` holds the assignment.
``build`` and ``rows`` construct ballots from long tables, ``wide`` from tables with a column per item or person.
``teams``, ``covariates``, ``outcomes``, ``grades`` and ``ranking_text`` parse special cells, ``bad_rows`` handles
unreadable rows and ``frames`` accepts DataFrames. File readers (``io``) and ``Preferences.from_frame`` use the same
functions. This package imports ``ballots`` and ``support``, and does not access files.
"""
