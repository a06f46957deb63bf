"""Supervised rank aggregation: methods that learn agent weights from labelled instances."""
