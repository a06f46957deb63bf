"""Valid ranges of numbers in data: one for weights and one for all other numbers.

A weight is 0 (the ballot is dropped) or lies between 1e-50 and 9e15; whole weights in this range are exact as floats.
Every other number (rating, rank, score, label, time, covariate, feature) lies between -1e30 and 1e30. These ranges keep
differences, squares, fourth powers and weighted sums over any number of rows finite, and every number fits into a
float32.
"""

from __future__ import annotations

import numpy as np

from concordant.types import AnyArray, Bools

MIN_WEIGHT, MAX_WEIGHT, MAX_NUMBER = 1e-50, 9e15, 1e30
MIN_COUNTED = 1e-9  # where files are counted in units of 2^-52
COUNTED = f"0 or a number between {MIN_COUNTED:g} and {MAX_WEIGHT:g}".replace("e+", "e").replace("e-0", "e-")
WEIGHTS = f"0 or a number between {MIN_WEIGHT:g} and {MAX_WEIGHT:g}".replace("e+", "e")
NUMBERS = f"a finite number between {-MAX_NUMBER:g} and {MAX_NUMBER:g}".replace("e+", "e")


def are_weights(weight: AnyArray) -> bool:
    """Return whether every weight is positive and in range: nothing has to be dropped or rejected."""
    return not weight.size or bool(weight.min() >= MIN_WEIGHT and weight.max() <= MAX_WEIGHT)  # false of NaN


def are_numbers(values: AnyArray) -> bool:
    """Return whether every number is in range."""
    return not values.size or bool(values.min() >= -MAX_NUMBER and values.max() <= MAX_NUMBER)  # false of NaN


def has_beyond(values: AnyArray) -> bool:
    """Return whether a number is out of range; NaN, which marks a missing value, is not."""
    return bool((values > MAX_NUMBER).any() or (values < -MAX_NUMBER).any())


def bad_weights(weight: AnyArray | float) -> Bools:
    """Mark the weights that are neither 0 nor in range."""
    return np.logical_not((weight == 0) | ((weight >= MIN_WEIGHT) & (weight <= MAX_WEIGHT)))


def bad_numbers(values: AnyArray | float) -> Bools:
    """Mark the numbers that are not in range."""
    return np.logical_not((values >= -MAX_NUMBER) & (values <= MAX_NUMBER))


def sql_weight(name: str) -> str:
    """Return the SQL condition that the values of a column are weights that can be summed exactly."""
    return f"({name} = 0 OR ({name} >= {MIN_COUNTED!r} AND {name} <= {MAX_WEIGHT!r}))"
