"""File formats, one module each, with a ``Format`` declaration and ``read`` and ``write`` functions.

Every module in this folder is found automatically, so adding a file adds a format. Modules may import the private
helpers of ``io`` and all lower layers; other packages use them only through ``concordant.io``.
"""
