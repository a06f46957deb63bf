"""Parsing: fields, strings, rows and Arrow buffers into arrays.

Every module is the NumPy reference of the ``.cpp`` file with the same name. Call them through ``concordant.kernels``.
"""
