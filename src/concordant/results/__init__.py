"""Parts of a ranking other than its order: uncertainty, histories, coefficients, explanations.

Methods create these objects and ``ranking`` exposes them; ``rendering`` converts a ranking to text, HTML or plain data.
This package is below ``ranking`` and imports ballots, ``tables.frames`` and ``support``; ``history.at`` forwards to
``ranking``.
"""
