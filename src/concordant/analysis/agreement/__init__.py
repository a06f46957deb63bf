"""Inter-rater agreement: coefficients with bootstrap confidence intervals, and a table of pairs of raters.

``codings`` arranges answers by item and rater, ``categorical`` has the coefficients of classes (alpha, kappa, pi, AC1),
``numerical`` those of numbers (alpha, ICC), ``rankings`` Kendall's W and tau, ``pairwise`` the table of pairs,
``result`` what is shown, and ``measuring`` the function ``cc.agreement``. Commands and reports import ``measuring``;
this package imports containers.
"""
