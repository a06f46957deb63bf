"""Published experiments: what to run, what was published, what came out. One file each.

A file is one experiment: ``run`` does the work and returns plain data, ``tables`` lays it out (published figures below
those that came out), ``TITLE`` and ``NOTES`` are what a page says around the tables, and ``to_markdown`` is that page.
Where there is more to it, ``draw`` makes pictures, ``told`` says in words what the tables show, and ``plain`` makes the
result ready for JSON.

Only ``concordant reproduce`` imports from here; the room may import everything but the faces.
"""
