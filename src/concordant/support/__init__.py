"""Helpers without domain knowledge: isolated processes, and workbooks as plain cells."""
