"""What is said and drawn about a ranking: certainty, sentences and plots.

``certainty`` states how certain the first place is, ``sentences`` explains any ranking in words, ``plots`` draws it.
The room is above ``ranking`` and below the methods, which import it; it imports ``ranking``, ``results`` and below.
"""
