"""A local web page: drop a file, see the ranking, change a role, a method or an option, compare, evaluate, download.

The server (``app``) knows nothing of rankings: it checks every request (``safety``), keeps uploaded files for a while
(``uploads``, ``stores``) and hands work to a bounded number of processes with limits of memory and time (``pool``,
``workers``, ``worker``). What those answer (``answers``) are the sections of a report, rendered by the same renderer.
Nothing leaves the machine, and nothing is written but temporary files, which go when the server does.

Only ``concordant serve`` starts it; the worker imports reporting, request and everything below.
"""
