"""Concatenated bytes of one or more text files, with the file and line number of each row for messages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from concordant import kernels
from concordant.ballots.vocabulary import Coded, shorten, vocabulary_of_bytes
from concordant.errors import FormatError, InputError
from concordant.io._source import Source
from concordant.tables.bad_rows import RowScreen
from concordant.types import AnyArray, Bytes, Floats, Int64s


class Lines:
    """The concatenated text of some files, and the location of each row once ``line`` is set."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Read and join the files; reject empty ones."""
        self.sources = list(sources)
        contents = [source.read_text_bytes() for source in self.sources]
        for source, content in zip(self.sources, contents, strict=True):
            if not content.strip():
                raise source.error("the file is empty: there is nothing to read.")
        joined = contents[0] if len(contents) == 1 else b"\n".join(contents)
        self.data: Bytes = np.frombuffer(joined, np.uint8)
        self._first_line = np.cumsum([0, *(content.count(b"\n") + 1 for content in contents[:-1])])
        self.line: Int64s = np.empty(0, np.int64)

    @property
    def name(self) -> str:
        """The name of the file, or the number of files."""
        return self.sources[0].name if len(self.sources) == 1 else f"{len(self.sources)} files"

    def file_of_rows(self) -> Int64s:
        """Return the position of the file that contains each row."""
        return np.searchsorted(self._first_line, self.line - 1, side="right") - 1

    def at_line(self, message: str, line: int) -> FormatError:
        """Create the error that names a line of the joined text."""
        file = int(np.searchsorted(self._first_line, line - 1, side="right")) - 1
        return self.sources[file].error(message, line - int(self._first_line[file]))

    def error(self, row: int, message: str) -> InputError:
        """Create the error that names this row's file and line."""
        if row < 0:
            return FormatError(message, path=self.name)
        return self.at_line(message, int(self.line[row]))

    def place(self, row: int) -> str:
        """Return the location of a row for messages."""
        file = int(self.file_of_rows()[row])
        line = f"line {int(self.line[row]) - int(self._first_line[file])}"
        return line if len(self.sources) == 1 else f"{self.sources[file].name}, {line}"

    def text(self, start: AnyArray, end: AnyArray) -> Coded:
        """Encode the labels in these spans as integers."""
        codes, offsets, data, _ = kernels.encode_spans(
            self.data, np.ascontiguousarray(start, np.int64), np.ascontiguousarray(end, np.int64)
        )
        return codes, vocabulary_of_bytes(offsets, data)

    def numbers(self, start: AnyArray, end: AnyArray) -> Floats:
        """Parse the numbers in these spans; NaN if a span is not a number."""
        return kernels.parse_numbers(
            self.data, np.ascontiguousarray(start, np.int64), np.ascontiguousarray(end, np.int64)
        )

    def refuse_repeats(self, rows: RowScreen, key: Sequence[Coded], what: str) -> None:
        """Reject rows with the same key as an earlier row; the last part of the key is the document."""
        codes, documents = key[-1]
        joined_key = np.zeros(len(codes), np.int64)
        for part, vocabulary in key:
            joined_key = joined_key * len(vocabulary) + part

        def explain(row: int, earlier: int) -> str:
            return f"the document {shorten(documents[int(codes[row])])!r} {what} (first in {self.place(earlier)})"

        rows.refuse_repeats(joined_key, f"the document {what}", explain)

    def cell(self, start: int, end: int) -> str:
        """Return the text of one span."""
        return self.data[start:end].tobytes().decode("utf-8", "replace")
