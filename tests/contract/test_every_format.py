"""Every row of the table of formats keeps the same promises on its bundled samples."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import msgspec
import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled, task_graphs, throughput_tables
from allocsolve.instances.reading import read
from allocsolve.instances.registry import FORMATS, Format

ORIGIN = {name: read(path).origin.format for name, path in bundled().items()}


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_every_format_has_a_good_sample(row: Format) -> None:
    """A format without a bundled instance would be missed by every test of this folder."""
    bare = {**task_graphs(), **throughput_tables()}
    found = {read(path, nodes=2).origin.format for path in bare.values()}
    assert row.name in {*ORIGIN.values(), *found}


@pytest.mark.parametrize("name", bundled())
def test_the_format_is_found_by_itself(name: str) -> None:
    """The content alone, without file name and suffix, leads to the same problem."""
    path = bundled()[name]
    named, unnamed = read(path), read(io.BytesIO(path.read_bytes()), format=ORIGIN[name])
    first, second = (
        msgspec.structs.replace(each.to_document(), name="") for each in (named, unnamed)
    )
    assert first == second
    assert named.origin.sha256 == unnamed.origin.sha256


@pytest.mark.parametrize("name", bundled())
def test_packed_files_are_the_same_problem(name: str, tmp_path: Path) -> None:
    """The digest is of the unpacked bytes, so a packed file is the same instance."""
    path = bundled()[name]
    packed = tmp_path / f"{path.name}.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed).to_document() == read(path).to_document()
    assert read(packed).origin.sha256 == read(path).origin.sha256


@pytest.mark.parametrize("name", bundled())
def test_other_line_ends_change_nothing(name: str) -> None:
    """Files that went through another editor carry a byte-order mark, CRLF, trailing blanks."""
    data = bundled()[name].read_bytes()
    edited = b"\xef\xbb\xbf" + data.replace(b"\n", b" \t\r\n")
    again = read(io.BytesIO(edited), format=ORIGIN[name])
    expected = read(io.BytesIO(data), format=ORIGIN[name])
    assert again.to_document() == expected.to_document()


@pytest.mark.parametrize("name", bundled("dag"))
def test_a_conversion_keeps_the_optimum(name: str, tmp_path: Path) -> None:
    """Through the public function, by file name: the converted instance has the same bounds."""
    target = tmp_path / "converted.json"
    allocsolve.convert(bundled()[name], target)
    before, after = (
        allocsolve.bound(allocsolve.read(p, kind="dag")) for p in (bundled()[name], target)
    )
    assert (before.best, before.reason) == (after.best, after.reason)
