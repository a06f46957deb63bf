"""Aggregation methods: families as folders, one file per method."""
