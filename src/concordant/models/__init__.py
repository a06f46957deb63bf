"""Score models: observations x likelihood x prior x solver, the fitted model and its uncertainty.

``observations`` reduces ballots, ``likelihoods`` evaluates them with priors, ``solve`` fits scores, ``time`` fits
scores that change; ``uncertainty``, ``clusters``, ``tied`` and ``multinomial_errors`` compute standard errors,
``fitted`` defines the fitted models, ``notices`` the warnings, ``adherence`` the agents' agreement with the
consensus. Methods in ``aggregate`` import from here; this package imports views, results and kernels.
"""
