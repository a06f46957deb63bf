"""Scores that change over time: a random walk per item, smoothed scores, and predictions.

``walks`` fits the scores of all periods, ``courses`` interpolates them, ``course_forecasts`` predicts every comparison
from earlier ones. Rating systems in ``aggregate`` import from here.
"""
