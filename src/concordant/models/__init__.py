"""The one core of score models: observations x likelihood x prior x solve, the fitted model, and how sure it is."""
