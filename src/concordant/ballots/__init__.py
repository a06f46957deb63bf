"""Build, validate, merge and subset the arrays of ``Preferences``.

``vocabulary`` maps labels to integer codes, ``build`` creates the columns of ballots from lists, pairs, rows and
matrices, ``invariants`` validates them, ``form`` determines their form, ``merging`` merges equal ballots, ``subsets``
selects some of them, and ``segments`` provides operations on segmented arrays. All packages may import from here. This
package imports kernels, ``support``, ``errors`` and ``types``, never a container class.
"""
