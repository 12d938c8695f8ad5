"""The bytes of an instance: from a path, from standard input, or compressed, as text."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import sys
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import BinaryIO

from allocsolve.models.dag.validate import UNPRINTABLE
from allocsolve.models.errors import InputError, UsageError, suggest

__all__ = ["LARGEST_FILE", "Source", "load"]

LARGEST_FILE = 256 * 2**20
"""Bytes after decompression beyond which a file is refused."""

_WIDE_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Source:
    """The text of an instance and where it came from.

    Attributes
    ----------
    label
        What errors call it: the path as given, or ``"<stdin>"``.
    filename
        Last part of the path, without ``.gz``; empty for a stream.
    sha256
        Digest of the decompressed bytes.
    folder
        Where it lies, None for a stream; files that an instance names lie there or below.
    """

    label: str
    filename: str
    text: str
    sha256: str
    folder: Path | None = None

    @property
    def suffix(self) -> str:
        """Ending of the file name, lower case."""
        return Path(self.filename).suffix.lower()

    @property
    def name(self) -> str:
        """Name of the instance: the file name without its ending."""
        return _shown(Path(self.filename).stem) or "stdin"


def load(source: str | os.PathLike[str] | BinaryIO) -> Source:
    """Read a source completely.

    Raises
    ------
    InputError
        If it cannot be opened, is too large, is not text in UTF-8, or is empty.
    """
    if isinstance(source, str | os.PathLike):
        label = os.fspath(source)
        if label == "-":
            return load(_standard_input())
        found = _decoded(_read_file(label), label, _plain_name(label))
        return replace(found, folder=Path(label).parent)
    return _decoded(_drain(source), "<stdin>", "")


def _shown(name: str) -> str:
    """Return the name of a file as text that every document can hold.

    A name that is not in the encoding of the system is read as UTF-8 as far as it is that.
    """
    text = os.fsencode(name).decode("utf-8", "replace")
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def _plain_name(label: str) -> str:
    name = Path(label).name
    return name[:-3] if name.lower().endswith(".gz") else name


def _standard_input() -> BinaryIO:
    if sys.stdin is None:  # closed by whoever started the process
        raise _unreadable("<stdin>", "it is closed")
    return sys.stdin.buffer


def _drain(stream: BinaryIO) -> bytes:
    try:
        data = stream.read(LARGEST_FILE + 1)
    except OSError as error:
        raise _unreadable("<stdin>", _cause(error)) from None
    if not isinstance(data, bytes):
        raise UsageError("a stream must be binary: open the file with mode 'rb'")
    return data


def _read_file(label: str) -> bytes:
    try:
        with open(label, "rb") as file:
            return file.read(LARGEST_FILE + 1)
    except (OSError, ValueError) as error:
        raise _unreadable(label, _cause(error) + _neighbour(label, error)) from None


def _unreadable(label: str, cause: str) -> InputError:
    return InputError(
        f"cannot be read: {cause}",
        allowed="a readable file, or - for standard input",
        remedy="check the path and its permissions",
        source=label,
    )


def _cause(error: OSError | ValueError) -> str:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return (reason or str(error)).lower()


def _neighbour(label: str, error: Exception) -> str:
    if not isinstance(error, FileNotFoundError):
        return ""
    try:
        return suggest(Path(label).name, os.listdir(Path(label).parent))
    except OSError:
        return ""


def _decoded(data: bytes, label: str, filename: str) -> Source:
    try:
        plain = _checked_size(_decompressed(data))
        text = _as_text(plain)
    except InputError as error:
        raise error.located(label) from None
    return Source(label, filename, text, hashlib.sha256(plain).hexdigest())


def _decompressed(data: bytes) -> bytes:
    if not data.startswith(b"\x1f\x8b"):
        return data
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            return file.read(LARGEST_FILE + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"damaged gzip data: {error}",
            allowed="a complete .gz file",
            remedy="compress or download the file again",
        ) from None


def _checked_size(data: bytes) -> bytes:
    if len(data) > LARGEST_FILE:
        raise InputError(
            f"the file is larger than {LARGEST_FILE >> 20} MiB",
            allowed=f"at most {LARGEST_FILE >> 20} MiB of text after decompression",
            remedy="check that this is an instance file",
        )
    if not data.strip():
        raise InputError(
            "the file is empty",
            allowed="an instance; see `allocsolve formats`",
            remedy="check that the file was written completely",
        )
    return data


def _as_text(data: bytes) -> str:
    if data.startswith(_WIDE_MARKS):
        raise InputError(
            "the text is encoded as UTF-16",
            allowed="text in UTF-8",
            remedy="save the file as UTF-8",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8 text",
            allowed="text in UTF-8",
            remedy="save the file as UTF-8, or check that it is an instance file",
            line=data.count(b"\n", 0, error.start) + 1,
        ) from None
    if "\0" in text:
        raise InputError(
            "the file holds binary data (a NUL byte)",
            allowed="text in UTF-8",
            remedy="check that this is an instance file",
            line=text.count("\n", 0, text.index("\0")) + 1,
        )
    return text
