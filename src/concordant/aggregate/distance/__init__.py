"""Consensus rankings of minimum distance: exact Kemeny, approximations, and Lehmer codes."""
