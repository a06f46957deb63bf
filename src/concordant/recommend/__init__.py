"""Recommending: what an agent would say of items it has not seen."""
