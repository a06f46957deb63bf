"""What score models observe: ballots as duels, stages or counts.

``duels`` and ``counts`` reduce ballots to pairwise outcomes, ``stages`` to successive choices; ``completed`` adds
unmentioned candidates, ``contestants`` and ``designs`` express teams and covariates as linear combinations of scores.
Methods and the other parts of ``models`` import from here; the room imports ballots and kernels.
"""
