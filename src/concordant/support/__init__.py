"""Helpers without domain knowledge: isolated processes, named pipes, and workbooks as plain cells."""
