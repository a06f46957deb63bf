"""Positional rules: an item receives points from each ballot for its position."""
