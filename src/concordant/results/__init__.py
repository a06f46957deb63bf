"""What a ranking carries in addition to its order: uncertainty, histories, coefficients, explanations.

Methods create these objects and ``ranking`` hands them out; ``rendering`` writes a ranking as text, HTML or plain
data. The room is below ``ranking`` and imports ballots, ``tables.frames`` and ``support``; ``history.at`` forwards to
``ranking``.
"""
