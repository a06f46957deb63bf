"""Consensus of least distance: exact Kemeny, its approximations, and Lehmer codes."""
