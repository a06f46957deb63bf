"""Text and plots about a ranking: certainty statements, explanations and figures.

``certainty`` states how certain the first place is, ``sentences`` explains any ranking in words, ``plots`` draws
figures. Methods import this package, which imports ``ranking``, ``results`` and lower layers.
"""
