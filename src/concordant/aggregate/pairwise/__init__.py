"""Models and ratings for pairwise comparisons."""
