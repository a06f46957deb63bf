"""Helpers without domain knowledge: text, files, dates, memory, isolated processes, read-only containers.

``text`` formats numbers and tables, ``files`` replaces files as a whole, ``dates`` parses times, ``memory`` limits
memory, ``special`` has the tails of distributions, ``processes`` starts isolated Python processes, ``pipes`` opens
named pipes, ``workbooks`` reads cells, ``frozen`` and ``later`` hold values that cannot be changed or are computed on
first access, ``limits`` is the range of weights and numbers, ``state`` declares what a fitted model holds,
``interrupts`` lets long calls react to Ctrl-C. Every other room may import them; they import only ``errors`` and
``types``.
"""
