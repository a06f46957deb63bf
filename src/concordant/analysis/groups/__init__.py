"""Groups of ballots ranked separately, and tests of their differences.

``rank_groups`` has that function and its result, ``contrasts`` the significance tests, ``comparison`` the differences
between two groups. Commands and reports import these modules; they import methods and readers.
"""
