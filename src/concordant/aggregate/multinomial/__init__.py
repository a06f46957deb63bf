"""Multinomial preference models: scores fitted to the counts of all pairwise preferences at once."""
