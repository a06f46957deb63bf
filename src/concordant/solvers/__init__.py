"""Solvers of smooth problems: they see only functions of vectors."""
