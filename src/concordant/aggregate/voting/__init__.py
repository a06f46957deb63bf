"""Voting rules: elections by pairwise majorities or by rounds."""
