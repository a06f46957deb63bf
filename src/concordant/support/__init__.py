"""Helpers without domain knowledge: text, files, dates, memory, isolated processes, read-only containers.

``text`` formats numbers, ``display`` renders tables as text, Markdown, LaTeX or HTML with the elements of ``markup``,
``brief`` provides short reprs, ``files`` replaces files atomically, ``dates`` parses times, ``memory`` limits memory,
``special`` computes tail probabilities of distributions, ``processes`` starts isolated Python processes, ``pipes``
opens named pipes, ``workbooks`` reads cells, ``frozen`` and ``lazy`` provide immutable and lazily computed values,
``limits`` defines the valid ranges of weights and numbers, ``state`` declares the state of a fitted model, and
``interrupts`` lets long calls react to Ctrl-C. All other packages may import them; they import only ``errors`` and
``types``.
"""
