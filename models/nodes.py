"""How long a task takes on a node that straggles: the runtime laws, by name.

A law is one class with cdf, quantile, mean, variance and sampler, and one row in
:data:`LAWS`. Documents hold laws as :class:`Law` records, options as ``NAME:key=value,...``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from allocsolve.models.errors import InputError, UsageError, suggest
from allocsolve.models.exact import Number, exact
from allocsolve.models.laws_base import LAW_CODES, Law, RuntimeLaw
from allocsolve.models.laws_exponential import (
    Bimodal,
    Deterministic,
    Exponential,
    Pareto,
    ShiftedExponential,
    Weibull,
)
from allocsolve.models.laws_gamma import Gamma, Lognormal
from allocsolve.models.laws_mixed import Empirical, Mixture

__all__ = [
    "LAWS",
    "LAW_CODES",
    "Bimodal",
    "Deterministic",
    "Empirical",
    "Exponential",
    "Gamma",
    "Law",
    "Lognormal",
    "Mixture",
    "Pareto",
    "RuntimeLaw",
    "ShiftedExponential",
    "Weibull",
    "law_from",
    "parse_law",
]

_CLASSES: tuple[type[RuntimeLaw], ...] = (
    Deterministic,
    Exponential,
    ShiftedExponential,
    Weibull,
    Pareto,
    Lognormal,
    Gamma,
    Bimodal,
    Empirical,
    Mixture,
)

LAWS: Mapping[str, type[RuntimeLaw]] = MappingProxyType({law.name: law for law in _CLASSES})
"""Every runtime law by its name in documents."""

_DEEPEST = 50


def law_from(record: Law, *, path: str) -> RuntimeLaw:
    """Return the law that a record describes.

    Parameters
    ----------
    record
        Name and parameters; a ``file`` has been replaced by its samples before.
    path
        Place of the record in its document, for errors.

    Raises
    ------
    InputError
        If the name is unknown, a parameter is missing, superfluous or impossible; it names
        the field and what is allowed.
    """
    return _law_from(record, path, _DEEPEST)


def _law_from(record: Law, path: str, depth: int) -> RuntimeLaw:
    law = _known(record.law, path)
    _check_fields(record, law, path)
    arguments = _arguments(record, law, path, depth)
    try:
        return law(**arguments)
    except InputError as error:
        place = (error.path or "$").removeprefix("$")
        raise InputError(
            error.what, allowed=error.allowed, remedy=error.remedy, path=f"{path}{place}"
        ) from None


def _arguments(
    record: Law, law: type[RuntimeLaw], path: str, depth: int
) -> dict[str, float | tuple[float, ...] | tuple[RuntimeLaw, ...]]:
    """Return the arguments of the class of a law."""
    if law is Empirical:
        return {"samples": _floats(record.samples, "samples", path)}
    if law is Mixture:
        return {
            "parts": _parts(record, path, depth),
            "weights": _floats(record.weights, "weights", path),
        }
    values = {field: getattr(record, field) for field in law.fields}
    return {
        field: _float(value, field, path) for field, value in values.items() if value is not None
    }


def _known(name: str, path: str) -> type[RuntimeLaw]:
    if name not in LAWS:
        raise InputError(
            f"unknown runtime law '{name}'{suggest(name, list(LAWS))}",
            allowed=", ".join(LAWS),
            remedy="correct the name of the law",
            path=f"{path}.law",
        )
    return LAWS[name]


def _check_fields(record: Law, law: type[RuntimeLaw], path: str) -> None:
    given = {
        field.name
        for field in msgspec.structs.fields(Law)
        if field.name != "law" and getattr(record, field.name) is not None
    }
    takes = f"law '{law.name}' takes {', '.join(law.fields)}"
    if record.file is not None and law is Empirical:
        raise InputError(
            f"law 'empirical': the file '{record.file}' has not been read"
            + (", and there are samples beside it" if record.samples is not None else ""),
            allowed="samples, or a file named in an instance that is read from a file",
            remedy="give one of samples and file",
            path=f"{path}.file",
        )
    for field in sorted(given - set(law.fields)):
        raise InputError(
            f"{takes}, not {field}",
            allowed=", ".join(law.fields),
            remedy=f"delete {field}, or choose another law",
            path=f"{path}.{field}",
        )
    for field in law.fields:
        if field not in given and field not in law.defaults:
            raise InputError(
                f"{takes}, but {field} is missing",
                allowed=", ".join(law.fields),
                remedy=f"add {field}",
                path=path,
            )


def _parts(record: Law, path: str, depth: int) -> tuple[RuntimeLaw, ...]:
    if not depth:
        raise InputError(
            "mixtures are nested too deeply",
            allowed=f"at most {_DEEPEST} levels",
            remedy="write the parts of the inner mixtures into the outer one",
            path=path,
        )
    parts = enumerate(record.parts or [])
    return tuple(_law_from(part, f"{path}.parts[{i}]", depth - 1) for i, part in parts)


def _floats(values: list[Number] | None, field: str, path: str) -> tuple[float, ...]:
    return tuple(_float(value, f"{field}[{i}]", path) for i, value in enumerate(values or []))


def _float(value: Number, field: str, path: str) -> float:
    try:
        return value if type(value) is float and math.isfinite(value) else float(exact(value))
    except ValueError as error:
        raise InputError(
            f"{field} {value} is not a finite number ({error})",
            allowed="a finite number",
            remedy=f"correct {field}",
            path=f"{path}.{field}",
        ) from None


def parse_law(text: str) -> Law:
    """Return the law that an option ``NAME:key=value,...`` describes.

    Samples are separated by colons: ``empirical:samples=1.2:0.9:1.4``.

    Raises
    ------
    UsageError
        If the text has another form, or the law is not possible; an unknown name is told first.
    """
    name, _, rest = text.partition(":")
    law = _written(text, name)
    record = msgspec.structs.replace(Law(law=name), **_pairs(text, law, rest))
    try:
        law_from(record, path="$")
    except InputError as error:
        raise _unusable(text, error.what, error.allowed or _FORM, error.remedy) from None
    return record


_FORM = "NAME:key=value,..."


def _written(text: str, name: str) -> type[RuntimeLaw]:
    """Return the law of a name that can be written in an option."""
    names = [known for known, law in LAWS.items() if law is not Mixture]
    if name in names:
        return LAWS[name]
    if name == Mixture.name:
        what = "a mixture cannot be written in an option"
        remedy = "name a document of fitted laws as @FILE, or give the law in the instance"
        raise _unusable(text, what, f"@FILE, or one of {', '.join(names)}", remedy)
    what = f"unknown runtime law '{name}'{suggest(name, names)}"
    raise _unusable(text, what, f"{_FORM} with NAME one of {', '.join(names)}; or @FILE")


def _pairs(text: str, law: type[RuntimeLaw], rest: str) -> dict[str, Number | list[Number]]:
    """Return the parameters that an option gives to a law."""
    found: dict[str, Number | list[Number]] = {}
    keys = ", ".join(law.fields)
    for pair in rest.split(",") if rest else []:
        key, separator, value = pair.partition("=")
        if not separator:
            raise _unusable(text, f"'{pair}' is not KEY=VALUE", f"{law.name}:{law.fields[0]}=...")
        if key == "file" and law is Empirical:
            what = "file cannot be written in an option"
            raise _unusable(text, what, keys, "give the file as --law-file, or in the instance")
        if key not in law.fields:
            what = f"law '{law.name}' has no key '{key}'{suggest(key, law.fields)}"
            raise _unusable(text, what, keys)
        if key in found:
            raise _unusable(text, f"{key} is given twice", f"each of {keys} once")
        found[key] = _option(text, key, value)
    return found


def _option(text: str, key: str, value: str) -> Number | list[Number]:
    try:
        if key == "samples":
            return [_numeral(token) for token in value.split(":")]
        return _numeral(value)
    except ValueError:
        what = f"{key} '{value}' is not a finite number"
        allowed = "numbers separated by colons" if key == "samples" else "a finite number"
        raise _unusable(text, what, allowed, f"correct {key}") from None


def _numeral(token: str) -> Number:
    from decimal import Decimal, InvalidOperation

    try:
        return exact(Decimal(token))
    except InvalidOperation:
        raise ValueError(token) from None


def _unusable(text: str, what: str, allowed: str, remedy: str | None = None) -> UsageError:
    lines = [f"law '{text}': {what}", f"  allowed: {allowed}"]
    return UsageError("\n".join([*lines, *([f"  remedy: {remedy}"] if remedy else [])]))
