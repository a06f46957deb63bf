"""The command line: one file per command, imported when used.

A command's file defines one click command named ``command``; files with a leading underscore hold shared code. No other
package imports this one; commands import other packages inside the functions that need them.
"""
