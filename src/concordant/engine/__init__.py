"""Work in parts: counts that add up whatever the parts, and the places where parts are worked on.

``tallies`` holds sums by keys that merge exactly, ``statistics`` says what is counted (from ballots in memory, or by
one SQL text), ``executors`` run functions here, in threads, in processes or on a Dask cluster, ``instances`` and
``gradients`` cut fits and gradient sums into parts for them. Nothing here knows files: ``io`` hands them in.

``io``, ``request`` and ``analysis`` import from here; the room imports methods' bases, preferences and kernels.
"""
