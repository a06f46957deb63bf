"""Process data in parts: mergeable counts, and executors that run the work.

``tallies`` defines sums by keys that merge exactly. ``statistics`` defines what is counted, from ballots in memory or
by an SQL query. ``executors`` run functions in this process, in threads, in processes or on a Dask cluster.
``instances`` and ``gradients`` split fits and gradient sums into parts for them. This package does not access files;
``io`` passes the data in.

``io``, ``request`` and ``analysis`` import from this package, which imports the base classes of methods, preferences
and kernels.
"""
