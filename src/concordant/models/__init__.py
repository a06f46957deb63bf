"""Score models: observations x likelihood x prior x solver, the fitted model and its uncertainty.

``observations`` reduces ballots, ``likelihoods`` evaluates them with priors, ``solve`` fits scores, ``time`` fits
scores that change; ``uncertainty``, ``clusters``, ``tied`` and ``multinomial_errors`` give standard errors,
``fitted`` answers questions to the model, ``notices`` warns, ``adherence`` measures agents. Methods in ``aggregate``
import from here; the room imports views, results and kernels.
"""
