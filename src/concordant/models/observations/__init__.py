"""The data that score models are fitted to: ballots reduced to pairwise counts, stages or net wins.

``duels`` and ``counts`` reduce ballots to pairwise outcomes, ``stages`` to successive choices; ``completed`` adds
unmentioned candidates, ``contestants`` and ``designs`` express teams and covariates as linear combinations of scores.
Methods and the other parts of ``models`` import from here; this package imports ballots and kernels.
"""
