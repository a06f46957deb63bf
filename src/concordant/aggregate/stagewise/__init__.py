"""Stagewise models: rankings as successive choices from the remaining items."""
