"""The arrays behind ``Preferences``: building, checking, merging and cutting ballots.

``vocabulary`` numbers labels, ``build`` makes the columns of ballots from lists, pairs, rows and matrices,
``invariants`` checks them, ``form`` names their form, ``merging`` joins equal ballots, ``subsets`` selects some,
``segments`` has the arithmetic of arrays cut into segments. Everything may be imported from here; the room itself
imports kernels, ``support``, ``errors`` and ``types``, never a container.
"""
