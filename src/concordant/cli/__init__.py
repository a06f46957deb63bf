"""The command line: one file per command, imported when used.

A command's file holds one click command named ``command``; files with a leading underscore hold what commands share.
Nothing imports from here; commands import every other room, inside the function that needs it.
"""
