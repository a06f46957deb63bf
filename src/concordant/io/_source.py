"""Read bytes from a path, standard input or an open file, compressed or not, in any common encoding.

Compression is recognised by the first bytes, never by the name. The unpacked size is limited: a small file that unpacks
into terabytes is rejected.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from concordant.errors import FormatError, InputError, action, arg, clause
from concordant.support import pipes
from concordant.support.files import is_address
from concordant.tables.options import Options

HEAD = 1 << 16
CHUNK = 1 << 20
RATIO_FROM = 64 << 20  # below this much output any ratio is harmless

COMPRESSIONS = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".zip": "zip"}
_MAGIC = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"PK\x03\x04", "zip"),
    (b"PK\x05\x06", "zip"),
)

OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"  # how old workbooks begin, and locked new ones
ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma", "zstd": ZSTD}
"""The modules that unpack with ``open`` and pack with ``compress``."""
RATINGS = ("ratings.csv", "ratings.dat", "u.data")

_ANY_MAGIC = tuple(magic for magic, _ in _MAGIC)

PathLike = str | os.PathLike[str]
State = tuple[int, int, int, int]
AS_IT_IS = Options()
_OPEN_FILE = action("open_file", ", or pass an open file, for example of fsspec: cc.read(fsspec.open(url).open())")


class Source(AbstractContextManager["Source"]):
    """An input: its name for messages, its first bytes, and its content as bytes or as an uncompressed file."""

    def __init__(
        self,
        path: PathLike | IO[Any],
        options: Options = AS_IT_IS,
    ) -> None:
        """Open an input: locate the file, detect compression and encoding, and read its head.

        A small uncompressed file is read completely.
        """
        if options.encoding is not None:
            _refuse_unknown_encoding(options.encoding)
        self.encoding, self.options = options.encoding, options
        self._temporary: list[str] = []
        self._plain: str | None = None
        self._content: bytes | None = None
        self.member: str | None = None
        self._state: State | None = None
        try:
            self.path = self._locate(path)
            start = self._start()
            self.compression: str | None = None
            self.workbook: str | None = None
            """Format of a workbook, which is a zip archive that is read as a whole."""
            is_duckdb = start[8:12] == b"DUCK"  # after a checksum, whose bytes may be any
            if start.startswith(_ANY_MAGIC) and not is_duckdb:
                self.compression = next(kind for magic, kind in _MAGIC if start.startswith(magic))
            if self.compression == "zip" and (workbook_kind := _workbook_kind(self.path)):
                self.compression, self.encoding, self.workbook = None, None, workbook_kind
            is_whole = self.compression is None and len(start) < min(HEAD, options.max_bytes)
            self.head = start if self.compression is None else _first(self._unpacked())
            if self.encoding is None and self.head[8:12] != b"DUCK":
                self.encoding = _utf_16(self.head)
            if self.encoding is not None:
                self.head = _first(self._chunks())
            self.head = self.head.removeprefix(b"\xef\xbb\xbf")
            if is_whole and self.encoding is None:
                self._content = self.head  # the head of a small file is all there is
        except BaseException:
            self.close()
            raise

    def _start(self) -> bytes:
        """Return the first bytes as stored, without creating a file object."""
        try:
            handle = os.open(self.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        except PermissionError:
            raise self.error("permission denied: check the permissions of the file.") from None
        try:
            status = os.fstat(handle)
            self._state = _state_of(status)
            return os.read(handle, min(HEAD, status.st_size + 1))
        finally:
            os.close(handle)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        is_own = self.path in self._temporary
        if not is_own and (kind is None or issubclass(kind, Exception)) and self._state != state_of(self.path):
            raise changed(self.name) from error

    def close(self) -> None:
        """Remove the temporary files."""
        for path in self._temporary:
            Path(path).unlink(missing_ok=True)

    @property
    def stem(self) -> str:
        """The file's name without folders and without the endings for compression and format."""
        name = os.path.basename(self.member or self.name)
        for ending in COMPRESSIONS:
            name = name.removesuffix(ending)
        return name

    @property
    def ending(self) -> str:
        """The file extension that identifies the format, in lower case and without compression."""
        return os.path.splitext(self.stem.lower())[1]

    @property
    def size(self) -> int:
        """The size of the file as stored."""
        return os.path.getsize(self.path)

    def error(self, message: str, line: int | None = None) -> FormatError:
        """Create the error that names this input."""
        return FormatError(message, path=self.name, line=line)

    # ---- content ----
    def read_bytes(self) -> bytes:
        """Return the whole content, unpacked, as UTF-8 without a byte order mark."""
        if self._content is None:
            self._content = b"".join(self._chunks()).removeprefix(b"\xef\xbb\xbf")
        return self._content

    def read_text_bytes(self) -> bytes:
        """Return the whole content, checked to be UTF-8 text; raise an error with the line otherwise."""
        content = self.read_bytes()
        if content.isascii():
            return content
        try:
            content.decode("utf-8")
        except UnicodeDecodeError as problem:
            raise self.not_utf_8(content.count(b"\n", 0, problem.start) + 1) from None
        return content

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield (line number, text) for every line: the simplest way to read, intended for plug-ins."""
        content = self.read_text_bytes().decode("utf-8").removesuffix("\n")  # other separators may stand in a name
        yield from ((number, line.removesuffix("\r")) for number, line in enumerate(content.split("\n"), 1))

    def not_utf_8(self, line: int | None) -> FormatError:
        """Create the error for text in another encoding."""
        example = arg("encoding", "latin-1")
        return self.error("the text is not UTF-8: give its encoding, for example " + example + ".", line)

    def plain_path(self) -> str:
        """Return the path of an uncompressed UTF-8 file, which is temporary if the input is not such a file."""
        if self._plain is None:
            if self.compression is None and self.encoding is None:
                self._plain = os.path.abspath(self.path)
            else:
                self._plain = self._temporary_file(self._chunks())
        return self._plain

    def alias(self) -> str:
        """Return another path of the plain file, without characters that DuckDB treats as a pattern."""
        with open(self.plain_path(), "rb") as file:
            self._plain = self._temporary_file(iter(lambda: file.read(CHUNK), b""))
        return self._plain

    def _chunks(self) -> Iterator[bytes]:
        """Yield the unpacked content as UTF-8."""
        if self.encoding is None:
            yield from self._unpacked()
            return
        import codecs

        decoder = codecs.getincrementaldecoder(self.encoding)()
        try:
            for chunk in self._unpacked():
                yield decoder.decode(chunk).encode("utf-8")
            yield decoder.decode(b"", True).encode("utf-8")
        except UnicodeError:
            what = f"the text is not in the encoding {self.encoding}"
            raise self.error(f"{what}: give another " + arg("encoding") + ".") from None

    def _unpacked(self) -> Iterator[bytes]:
        """Yield the unpacked bytes, limited in size and in compression ratio."""
        packed, total = self.size, 0
        try:
            with self._open() as file:
                while chunk := file.read(CHUNK):
                    total += len(chunk)
                    self.check_limits(total, packed, self.compression is not None)
                    yield chunk
        except FormatError:
            raise
        except EOFError:
            raise self.error(
                f"the {self.compression} data end too early: the file is truncated, download it again."
            ) from None
        except _unpacking_errors() as problem:
            raise self.error(f"the {self.compression} data are damaged ({problem}): download the file again.") from None

    def check_limits(self, total: int, packed: int, is_packed: bool = True) -> None:
        """Reject content larger than ``max_bytes``, or than ``max_ratio`` times its packed size."""
        if total > self.options.max_bytes:
            raise self._too_large()
        if is_packed and total > RATIO_FROM and total > self.options.max_ratio * packed:
            raise self.error(
                f"{packed:,} bytes unpack into more than {self.options.max_ratio:g} times as many: "
                "raise " + arg("max_ratio") + " if you trust the file."
            )

    def _too_large(self) -> FormatError:
        what = f"the content is larger than {self.options.max_bytes:,} bytes"
        return self.error(what + clause(": raise ", arg("max_bytes"), " if you trust the file") + ".")

    def _open(self) -> IO[bytes]:
        """Open the file and unpack it if it is compressed."""
        if self.compression is None:
            return open(self.path, "rb")
        if self.compression == "zip":
            return _open_zip(self)
        opened: IO[bytes] = import_module(MODULES[self.compression]).open(self.path, "rb")
        return opened

    # ---- files ----
    def _locate(self, path: PathLike | IO[Any]) -> str:
        """Return the path of the input; standard input and open files are copied to a temporary file."""
        if not isinstance(path, (str, os.PathLike)):
            self.name = str(getattr(path, "name", "the open file"))
            return self._spool(path)
        if os.fspath(path) == "-":
            self.name = "standard input"
            return self._spool(sys.stdin.buffer)
        self.name = os.fspath(path)
        return self._existing(self.name)

    def _existing(self, path: str) -> str:
        """Return the path of an existing file; pipes and special files are copied to a temporary one."""
        try:
            status = os.stat(path)
            mode = status.st_mode
        except (OSError, ValueError):
            mode = 0
        if stat.S_ISDIR(mode):
            raise self.error("this is a folder: name a file in it.")
        if not mode and is_address(path):
            raise self.error("this is a URL: download the file first, and name the copy" + _OPEN_FILE + ".")
        if not mode and not os.fspath(path):
            raise self.error("The file name is empty: name a file.")
        if not mode:
            raise self.error(f"there is no such file: check the name (the current folder is {os.getcwd()}).")
        if not stat.S_ISREG(mode):
            return self._spool_special(path, mode)
        return path if status.st_size else self._unsized(path)

    def _unsized(self, path: str) -> str:
        """Copy a file with a size of 0 that nevertheless has content (as in /proc)."""
        try:
            with open(path, "rb", buffering=0) as file:
                return self._spool(file) if file.read(1) and not file.seek(0) else path
        except OSError:
            return path

    def _spool_special(self, path: str, mode: int) -> str:
        """Copy the content of a pipe or terminal, which can be read only once; reject other devices."""
        if stat.S_ISFIFO(mode):
            try:
                return self._spool_chunks(pipes.chunks_of(path))
            except TimeoutError as problem:
                raise self.error(f"{problem.strerror}: start the program that writes to it.") from None
        if not stat.S_ISCHR(mode):
            raise self.error("this is a device or a socket: name a file.")
        with open(path, "rb", buffering=0) as device:
            if not device.isatty() and os.path.realpath(path) != os.path.realpath(os.devnull):
                raise self.error("this is a device: name a file.")
            return self._spool(device)

    def _spool(self, file: IO[Any]) -> str:
        """Copy an open file, which can be read only once, to a temporary file."""

        def chunks() -> Iterator[bytes | str]:
            while chunk := file.read(CHUNK):
                yield chunk

        return self._spool_chunks(chunks())

    def _spool_chunks(self, chunks: Iterator[bytes | str]) -> str:
        """Copy chunks of bytes or text to a temporary file, up to ``max_bytes``."""

        def bounded() -> Iterator[bytes]:
            total = 0
            for chunk in chunks:
                yield (raw := chunk.encode("utf-8") if isinstance(chunk, str) else chunk)
                total += len(raw)
                if total > self.options.max_bytes:
                    raise self._too_large()

        return self._temporary_file(bounded())

    def _temporary_file(self, chunks: Iterator[bytes]) -> str:
        """Write chunks to a temporary file, which ``close`` removes; return its path."""
        import tempfile

        handle, path = tempfile.mkstemp(prefix="concordant-")
        self._temporary.append(path)
        with open(handle, "wb") as file:
            for chunk in chunks:
                file.write(chunk)
        return path


def names_of(sources: Sequence[Source]) -> list[str]:
    """Return distinct names of the files: without folders if possible, else relative to their common folder."""
    stems = [source.stem for source in sources]
    if len(set(stems)) == len(stems):
        return stems
    names = [source.name for source in sources]
    if len(set(names)) != len(names):
        raise InputError(f"The file {names[0]} is given twice: give each run only once.")
    shared = os.path.commonpath([os.path.dirname(os.path.abspath(name)) for name in names])
    return [os.path.relpath(name, shared) for name in names]


def state_of(path: Any) -> State | None:
    """Return device, inode, size and modification time of a file, to detect changes; None if there is no file."""
    try:
        return _state_of(os.stat(path))
    except (OSError, ValueError, TypeError):
        return None


def _state_of(about: os.stat_result) -> State:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


def changed(name: str) -> FormatError:
    """Create the error for a file that was modified, replaced or removed before all of it was read."""
    return FormatError("the file changed while it was being read: read it again when it is complete.", path=name)


def _workbook_kind(path: str) -> str | None:
    """Return the format of a workbook, None for other zip archives."""
    import zipfile

    try:
        with zipfile.ZipFile(path) as archive:
            names = set(archive.namelist())
            if "[Content_Types].xml" in names and any(name.startswith("xl/") for name in names):
                return "xlsb" if "xl/workbook.bin" in names else "xlsx"
            if "mimetype" in names and "content.xml" in names:
                with archive.open("mimetype") as file:
                    return "ods" if b"opendocument.spreadsheet" in file.read(200) else None
    except Exception:  # whatever is wrong with an archive is said when it is unpacked
        return None
    return None


def _open_zip(source: Source) -> IO[bytes]:
    """Open the only file of a zip archive, or the ratings in the archive of a published dataset."""
    import zipfile

    try:
        archive = zipfile.ZipFile(source.path)
    except NotImplementedError as problem:
        raise source.error(f"the zip archive cannot be opened ({problem}): unpack it yourself.") from None
    members = [
        info.filename for info in archive.infolist() if not info.is_dir() and not info.filename.startswith("__MACOSX/")
    ]
    if len(members) > 1:  # a set as published: its ratings are what is wanted
        members = [name for name in members if os.path.basename(name) in RATINGS] or members
    if len(members) != 1:
        shown = ", ".join(members[:5]) + (", …" if len(members) > 5 else "")
        what = f"contains {len(members)} files ({shown})" if members else "is empty"
        raise source.error(f"the zip archive {what}: unpack it and name the file to read.")
    source.member = members[0]
    try:
        return archive.open(members[0])
    except (RuntimeError, NotImplementedError) as problem:
        raise source.error(f"the zip archive cannot be opened ({problem}): unpack it yourself.") from None


def _unpacking_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions that the decompression modules loaded so far may raise."""
    names = {"zlib": "error", "gzip": "BadGzipFile", "lzma": "LZMAError", "zipfile": "BadZipFile", ZSTD: "ZstdError"}
    errors = [getattr(sys.modules[module], name) for module, name in names.items() if module in sys.modules]
    return (*errors, OSError, ValueError)


def _refuse_unknown_encoding(name: object) -> None:
    """Reject an encoding that Python does not know."""
    try:
        "a".encode(name)  # type: ignore[arg-type]
    except (LookupError, TypeError, ValueError):
        raise InputError(f"Unknown encoding {name!r}: use a name that Python knows, such as 'latin-1'.") from None


def _first(chunks: Iterator[bytes]) -> bytes:
    """Return the first ``HEAD`` bytes of some chunks."""
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= HEAD:
            break
    return head[:HEAD]


def _utf_16(head: bytes) -> str | None:
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    return "utf-16" if head.startswith((b"\xff\xfe", b"\xfe\xff")) else None
