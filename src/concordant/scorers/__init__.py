"""Scorers: functions from rows of features to scores, with the gradient in their parameters.

A scorer (table, linear, network; ``kernel`` maps features for the linear one) holds no data and no parameters: both are
passed in, so that a solver may work through blocks of rows.

``learn`` and solvers import from here; the room imports ``support`` and NumPy only.
"""
