"""Fusion of search results: ranks or scores of many engines into one list."""
