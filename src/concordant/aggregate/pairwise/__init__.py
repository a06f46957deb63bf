"""Score models of comparisons between two items."""
