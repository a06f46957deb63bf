"""Scorers: functions from feature rows to scores, with gradients with respect to their parameters.

A scorer (table, linear, network; ``kernel`` maps features for the linear one) holds no data and no parameters: both are
passed in, so that a solver can process blocks of rows. ``learn`` and solvers import from here; this package imports
only ``support`` and NumPy.
"""
