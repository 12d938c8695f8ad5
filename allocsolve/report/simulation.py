"""The simulation document ``allocsolve.simulation/1``: what plans are worth on real nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, cast

from msgspec import UNSET, UnsetType

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.execution.outcome import Comparison, Interval, Replication, Simulation
from allocsolve.models.laws_base import vector
from allocsolve.models.result import InstanceInfo
from allocsolve.report.codec import Record, builtins, decode, encode, finite, floats
from allocsolve.report.solution import InstanceEntry

__all__ = [
    "ComparisonEntry",
    "EstimateEntry",
    "ReplicationEntry",
    "SimulationDocument",
    "decode_simulation",
    "encode_simulation",
    "read_simulations",
    "simulation_document",
]

Ends = tuple[float | None, float | None]
"""An interval; null where an end is infinite."""

_FIRST = ("schema", "kind", "instance")
"""Fields that the document begins with."""


class ComparisonEntry(Record, frozen=True, kw_only=True):
    """Two plans on common random numbers; the difference is first minus second.

    ``mean_difference`` is null where a mean is infinite, ``variance_reduction`` where it is
    infinite (a constant difference) or unknown.
    """

    first: str
    second: str
    mean_difference: float | None
    ci: Ends | None
    probability_first_better: float
    variance_reduction: float | None


class ReplicationEntry(Record, frozen=True, kw_only=True):
    """One replication in full; an end is null if the task never ends."""

    label: str
    number: int
    value: float | None
    start: list[float | None]
    end: list[float | None]
    node: list[str | None]


class EstimateEntry(Record, frozen=True, kw_only=True):
    """The distribution of the value of one plan.

    ``mean`` is null with ``infinite`` true where it is infinite; so is ``std`` where the
    variance is infinite, a quantile, and an end of an interval. ``mean_ci`` is null where no
    interval holds, or none is needed. For kind ``fair`` the mean is that of the makespan,
    which counts from time 0; ``extra.jobs`` and ``extra.mean_completion_time`` count from the
    arrival of a job.
    """

    name: str
    method: Literal["exact", "monte_carlo"]
    generator: str | None = None
    path: Literal["compiled", "numpy", "plain"] | None = None
    precision: Literal["float64", "float32"] = "float64"
    seed: int | None = None
    replications: int | None = None
    mean: float | None
    infinite: bool | UnsetType = UNSET
    mean_ci: Ends | None = None
    std: float | None
    quantiles: dict[str, float | None]
    quantile_cis: dict[str, Ends]
    deadline: float | None = None
    deadline_probability: float | None = None
    deadline_ci: Ends | None = None
    planned: float | None = None
    utilisation: dict[str, float]
    wasted_work: float | None = None
    criticality: dict[str, float] | None = None
    detailed_replications: int | None = None
    extra: dict[str, Any] | UnsetType = UNSET
    samples: list[float | None] | UnsetType = UNSET
    examples: list[ReplicationEntry] | UnsetType = UNSET
    warnings: list[str]


class SimulationDocument(EstimateEntry, frozen=True, kw_only=True):
    """The plan that was named first, how all pairs compare, and the other plans."""

    schema: Literal["allocsolve.simulation/1"] = "allocsolve.simulation/1"
    kind: Literal["dag", "coded", "fair"]
    instance: InstanceEntry
    comparison: list[ComparisonEntry] | None = None
    others: list[EstimateEntry] | UnsetType = UNSET


def simulation_document(simulations: Simulation | Sequence[Simulation]) -> SimulationDocument:
    """Return the document of simulations of plans of one instance.

    Samples and replications in full are part of it where the samples were kept.

    Raises
    ------
    UsageError
        If there is no simulation.
    """
    found = [simulations] if isinstance(simulations, Simulation) else list(simulations)
    if not found:
        raise UsageError("there is no simulation to write")
    first, origin = found[0], found[0].instance
    return SimulationDocument(
        kind=cast('Literal["dag", "coded", "fair"]', first.kind),
        instance=InstanceEntry(name=origin.name, format=origin.format, sha256=origin.sha256),
        comparison=None if first.comparison is None else [_pair(c) for c in first.comparison],
        others=[EstimateEntry(**_estimate(one)) for one in found[1:]] or UNSET,
        **_estimate(first),
    )


def _estimate(of: Simulation) -> dict[str, Any]:
    """Return the fields of an :class:`EstimateEntry`."""
    full = of.samples is not None
    return {
        "name": of.name,
        "method": of.method,
        "generator": of.generator,
        "path": of.path,
        "precision": of.dtype,
        "seed": of.seed,
        "replications": of.replications,
        "mean": finite(of.mean),
        "infinite": True if of.infinite else UNSET,
        "mean_ci": _ends(of.mean_ci),
        "std": finite(of.std),
        "quantiles": {_key(q): finite(value) for q, value in of.quantiles.items()},
        "quantile_cis": {_key(q): _ends(ci) for q, ci in of.quantile_cis.items()},
        "deadline": None if of.deadline is None else float(of.deadline),
        "deadline_probability": of.deadline_probability,
        "deadline_ci": _ends(of.deadline_ci),
        "planned": finite(of.planned),
        "utilisation": dict(of.utilisation),
        "wasted_work": finite(of.wasted_work),
        "criticality": None if of.criticality is None else dict(of.criticality),
        "detailed_replications": of.detailed,
        "extra": cast("dict[str, Any]", floats(of.extra)) or UNSET,
        "samples": [finite(x) for x in of.samples.tolist()] if of.samples is not None else UNSET,
        "examples": [_example(one) for one in of.examples] if full else UNSET,
        "warnings": list(of.warnings),
    }


def _key(q: float) -> str:
    return repr(q)


def _ends(interval: Interval | None) -> Ends | None:
    return None if interval is None else (finite(interval[0]), finite(interval[1]))


def _pair(of: Comparison) -> ComparisonEntry:
    return ComparisonEntry(
        first=of.first,
        second=of.second,
        mean_difference=of.mean_difference,
        ci=_ends(of.ci),
        probability_first_better=of.probability_first_better,
        variance_reduction=None if of.mean_difference is None else finite(of.variance_reduction),
    )


def _example(of: Replication) -> ReplicationEntry:
    return ReplicationEntry(
        label=of.label,
        number=of.number,
        value=finite(of.value),
        start=[finite(x) for x in of.start.tolist()],
        end=[finite(x) for x in of.end.tolist()],
        node=list(of.node),
    )


def encode_simulation(document: SimulationDocument) -> bytes:
    """Return a simulation document as strict JSON."""
    values = builtins(document)
    return encode({name: values.pop(name) for name in _FIRST} | values)


def decode_simulation(data: bytes) -> SimulationDocument:
    """Read a simulation document.

    Raises
    ------
    InputError
        With the place in the text or the JSON path.
    """
    return decode(data, SimulationDocument)


def read_simulations(data: bytes) -> tuple[Simulation, ...]:
    """Read a simulation document back as the simulations that it was written from.

    Raises
    ------
    InputError
        With the place in the text or the JSON path.
    """
    document = decode_simulation(data)
    origin = document.instance
    instance = InstanceInfo(origin.name or "", origin.format, origin.sha256)
    pairs = None
    if document.comparison is not None:
        pairs = tuple(_comparison(entry) for entry in document.comparison)
    others = [] if isinstance(document.others, UnsetType) else document.others
    return tuple(
        _simulation(entry, path).replace(kind=document.kind, instance=instance, comparison=pairs)
        for entry, path in [
            (document, "$"),
            *((entry, f"$.others[{i}]") for i, entry in enumerate(others)),
        ]
    )


def _simulation(entry: EstimateEntry, path: str) -> Simulation:
    return Simulation(
        kind="",
        name=entry.name,
        method=entry.method,
        generator=entry.generator,
        path=entry.path,
        dtype=entry.precision,
        seed=entry.seed,
        replications=entry.replications,
        mean=_mean(entry, path),
        mean_ci=_interval(entry.mean_ci),
        std=_or_infinite(entry.std),
        quantiles={_number(q, path): _or_infinite(x) for q, x in entry.quantiles.items()},
        quantile_cis={
            _number(q, path): (_or_infinite(ci[0]), _or_infinite(ci[1]))
            for q, ci in entry.quantile_cis.items()
        },
        deadline=entry.deadline,
        deadline_probability=entry.deadline_probability,
        deadline_ci=_interval(entry.deadline_ci),
        planned=entry.planned,
        utilisation=entry.utilisation,
        wasted_work=_or_infinite(entry.wasted_work),
        criticality=entry.criticality,
        detailed=entry.detailed_replications,
        samples=None if isinstance(entry.samples, UnsetType) else _array(entry.samples),
        examples=()
        if isinstance(entry.examples, UnsetType)
        else tuple(_replication(one) for one in entry.examples),
        extra={}
        if isinstance(entry.extra, UnsetType)
        else cast("dict[str, object]", floats(entry.extra)),
        warnings=tuple(entry.warnings),
    )


def _mean(entry: EstimateEntry, path: str) -> float:
    if entry.mean is None and entry.infinite is not True:
        raise InputError(
            "the mean is null, but it is not said to be infinite",
            allowed='a number, or null with "infinite": true',
            path=f"{path}.mean",
        )
    return _or_infinite(entry.mean)


def _or_infinite(value: float | None) -> float:
    return math.inf if value is None else value


def _interval(ends: Ends | None) -> Interval | None:
    return None if ends is None else (_or_infinite(ends[0]), _or_infinite(ends[1]))


def _number(text: str, path: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InputError(
            f"'{text}' is no probability", allowed='"0.5", ...', path=f"{path}.quantiles"
        ) from None


def _array(values: Sequence[float | None]) -> FloatArray:
    return vector([_or_infinite(value) for value in values])


def _replication(entry: ReplicationEntry) -> Replication:
    return Replication(
        label=entry.label,
        number=entry.number,
        value=_or_infinite(entry.value),
        start=_array(entry.start),
        end=_array(entry.end),
        node=tuple(entry.node),
    )


def _comparison(entry: ComparisonEntry) -> Comparison:
    reduction = entry.variance_reduction
    if reduction is None:
        reduction = math.nan if entry.mean_difference is None else math.inf
    return Comparison(
        first=entry.first,
        second=entry.second,
        mean_difference=entry.mean_difference,
        ci=_interval(entry.ci),
        probability_first_better=entry.probability_first_better,
        variance_reduction=reduction,
    )
