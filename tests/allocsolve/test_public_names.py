"""`import allocsolve` is cheap, and offers what the contract names."""

from __future__ import annotations

import importlib

import pytest

import allocsolve


@pytest.mark.parametrize("name", allocsolve.__all__)
def test_every_public_name_can_be_used(name: str) -> None:
    """A name that is listed but not there would fail only at its user's place."""
    assert getattr(allocsolve, name) is not None
    assert name in dir(allocsolve)


def test_lazy_names_are_the_real_ones() -> None:
    """The lazy table and the imports for type checkers must agree."""
    for name, module in allocsolve._HOME_OF.items():
        assert getattr(importlib.import_module(module), name) is getattr(allocsolve, name)
    assert set(allocsolve._HOME_OF) | {"__version__"} == set(allocsolve.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    """`hasattr` and `from allocsolve import x` rely on it."""
    with pytest.raises(AttributeError, match="no attribute 'magic'"):
        _ = allocsolve.magic
