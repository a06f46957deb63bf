"""Rank and score fusion: combine the result lists of several search engines."""
