"""Analyses of data and rankings that involve more than one method.

``describing`` and ``findings`` summarise data, ``advice`` suggests methods, ``comparing`` and ``disagreeing`` compare
methods, ``fusing`` merges result lists, ``crowd`` estimates annotator reliability, ``groups`` ranks groups of ballots.
Commands, reports and the web app import from this package, which may import readers, methods and lower layers.
"""
