"""File formats, one module each: a ``Format`` declaration and its ``read`` and ``write`` functions.

Every module here is found by its name; adding a file adds a format. Modules import the private helpers of ``io`` and
everything below; other rooms use them through ``concordant.io`` only.
"""
