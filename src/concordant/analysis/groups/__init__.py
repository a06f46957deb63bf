"""Groups of ballots ranked separately, and tests of their differences.

``rank_groups`` defines the function of this name, ``contrasts`` the significance tests, and ``comparison`` the
result. Commands and reports import these modules; they import methods and readers.
"""
