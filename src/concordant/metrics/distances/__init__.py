"""Distances between two rankings; one file each."""
