"""The data that score models are fitted to: ballots reduced to pairwise counts, stages or net wins.

``duels`` and ``counts`` reduce ballots to pairwise outcomes, ``stages`` to successive choices; ``completed`` adds
unmentioned candidates to ballots, ``contestants`` and ``designs`` express the strengths of teams and of items with
covariates as linear functions of scores and coefficients. Methods and the other parts of ``models`` import from
here; this package imports ballots and kernels.
"""
