"""Scores that change over time: random walks per item, their smoothed paths, and predictions.

``walks`` fits the scores of all periods, ``courses`` interpolates them, ``course_forecasts`` predicts every comparison
from earlier ones. Rating systems in ``aggregate`` import from here.
"""
