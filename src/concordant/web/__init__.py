"""The local web app: upload a file, rank, change roles, methods and options, compare, evaluate, download.

The server (``app``) does no ranking itself: it checks every request (``safety``), stores uploaded files temporarily
(``uploads``, ``stores``) and delegates work to a bounded number of processes with limits on memory and time (``pool``,
``workers``, ``worker``). Their answers (``answers``) are sections of a report, rendered by the same renderer. No data
leave the machine, and the server writes only temporary files, which it removes when it stops.

Only ``concordant serve`` starts it; the worker imports reporting, request and lower layers.
"""
