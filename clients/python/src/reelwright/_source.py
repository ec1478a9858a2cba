"""What is uploaded: a file by its path, bytes, or an open binary file."""

from __future__ import annotations

import base64
import hashlib
import io
import os
from typing import BinaryIO

from .errors import ReelwrightError

UploadSource = str | os.PathLike[str] | bytes | BinaryIO


class Source:
    """Reads a source once, from its beginning to its end."""

    def __init__(self, source: UploadSource, name: str | None, size: int | None) -> None:
        self._owned: BinaryIO | None = None
        if isinstance(source, (str, os.PathLike)):
            self._file: BinaryIO = open(source, "rb")
            self._owned = self._file
            self.size = os.fstat(self._file.fileno()).st_size
            self.name = name or os.path.basename(os.fspath(source))
        else:
            self._file = io.BytesIO(source) if isinstance(source, bytes) else source
            self.size = len(source) if isinstance(source, bytes) else _size_of(self._file, size)
            self.name = name or os.path.basename(str(getattr(source, "name", "")))
        if self.size < 1:
            self.close()
            raise ReelwrightError("invalid_request", "the file is empty")

    def read(self, size: int) -> bytes:
        pieces = []
        missing = size
        while missing > 0:
            piece = self._file.read(missing)
            if not piece:
                raise ReelwrightError("invalid_request", f"the source is shorter than its {self.size} bytes")
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)

    def skip(self, size: int) -> None:
        if self._file.seekable():
            self._file.seek(size, os.SEEK_CUR)
        else:
            self.read(size)

    def close(self) -> None:
        """Closes the file that was given by its path."""
        if self._owned is not None:
            self._owned.close()


def _size_of(file: BinaryIO, size: int | None) -> int:
    """The size that was given, else the bytes from where the file stands to its end."""
    if size is not None:
        return size
    if not file.seekable():
        raise ReelwrightError("invalid_request", "a stream needs the option `size`")
    start = file.tell()
    end = file.seek(0, os.SEEK_END)
    file.seek(start)
    return end - start


def digest_headers(content: bytes) -> dict[str, str]:
    """What a store needs to refuse a part whose client died in the middle; some take its beginning for the whole."""
    digest = hashlib.md5(content, usedforsecurity=False).digest()
    return {"content-md5": base64.b64encode(digest).decode()}
