"""Retrieval metrics, which measure a ranking against relevance labels, one file each."""
