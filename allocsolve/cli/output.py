"""Standard output: the one document of a verb, and nothing that anyone else writes."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

__all__ = ["Output", "OutputError"]


class OutputError(Exception):
    """The output cannot be written."""

    exit_code = 74


class Output:
    """The real standard output, behind a descriptor that only this object knows.

    From its creation on, descriptor 1 leads to standard error, also for C++ code.
    """

    def __init__(self) -> None:
        self._descriptor = _duplicate(1)
        _redirect(1, 2)
        self._noise = sys.stdout

    def show_text(self) -> None:
        """Let what Python prints reach the real standard output: help and completion."""
        sys.stdout = io.TextIOWrapper(_RealOutput(self), encoding="utf-8", write_through=True)

    def hide_text(self) -> None:
        """Let what Python prints go to standard error, as everything else."""
        sys.stdout = self._noise or sys.stderr

    def require(self, target: Path | None) -> None:
        """Refuse a target that cannot be written, before any work is done.

        Raises
        ------
        OutputError
            If standard output is closed or no file of this name can exist.
        """
        if target is None:
            if self._descriptor is None:
                raise OutputError("standard output is closed")
            return
        try:
            has_folder, is_folder = target.parent.is_dir(), target.is_dir()
        except OSError as error:  # a name that is too long, a folder that cannot be searched
            raise OutputError(f"{target}: {error.strerror}") from None
        if not has_folder:
            raise OutputError(f"{target}: there is no folder '{target.parent}'")
        if is_folder:
            raise OutputError(f"{target}: is a folder")

    def emit(self, data: bytes, target: Path | None = None) -> None:
        """Write the document to a file, or to standard output if there is no target.

        Raises
        ------
        OutputError
            If it cannot be written.
        """
        self.require(target)
        try:
            if target is None:
                self.write(data)
            else:
                from allocsolve.api.files import replace_file

                replace_file(target, data)
        except OSError as error:
            name = "standard output" if target is None else str(target)
            raise OutputError(f"{name}: {error.strerror or error}") from None

    def write(self, data: bytes) -> None:
        """Write all bytes to the real standard output."""
        if self._descriptor is None:
            raise OSError(9, "it is closed")
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]


class _RealOutput(io.RawIOBase):
    """The binary stream beneath ``sys.stdout`` while help is shown."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        """Say that it can be written."""
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # only bytes-like objects come here
        """Write bytes and return how many."""
        block = bytes(data)
        try:
            self._output.write(block)
        except OSError as error:
            raise OutputError(f"standard output: {error.strerror}") from None
        return len(block)


def _duplicate(descriptor: int) -> int | None:
    try:
        return os.dup(descriptor)
    except OSError:
        return None


def _redirect(descriptor: int, target: int) -> None:
    try:
        os.dup2(target, descriptor)
    except OSError:  # standard error is closed too
        null = os.open(os.devnull, os.O_WRONLY)
        if null != descriptor:
            os.dup2(null, descriptor)
