"""Positional rules: every ballot gives an item points for its place."""
