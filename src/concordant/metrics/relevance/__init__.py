"""Retrieval metrics, which evaluate a ranking against relevance labels; one file each."""
