"""Stagewise models: the best is chosen first, then the best of the rest."""
