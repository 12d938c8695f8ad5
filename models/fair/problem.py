"""The problem kind ``fair``: immutable data, validated at construction."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from allocsolve.models.errors import InputError
from allocsolve.models.fair.arrays import FairArrays
from allocsolve.models.fair.columns import (
    JobColumns,
    JobTable,
    Numbered,
    columns_from,
    columns_of,
    float_array,
    table_of,
)
from allocsolve.models.fair.data import Entity, FairDocument, Goal, Job, Pair, ResourceType, Rounds
from allocsolve.models.fair.pairs import PairTable, check_pair_table
from allocsolve.models.fair.settings import Settings, check_goal, goal_of
from allocsolve.models.fair.validate import (
    check_columns,
    check_entity,
    check_pair,
    check_rounds,
    check_type,
    find_notes,
)
from allocsolve.models.fields import Known, refuse_repeated
from allocsolve.models.result import InstanceInfo

__all__ = ["FairFeature", "FairProblem"]


class FairFeature:
    """Names of what an instance may ask of a method."""

    GANGS = "gangs"
    ENTITIES = "entities"
    DEMANDS = "demands"
    PAIRS = "pairs"
    ROUNDS = "rounds"
    DEADLINES = "deadlines"
    NO_TIME_CAP = "no time cap"


@dataclass(frozen=True, eq=False, repr=False)
class FairProblem:
    """Jobs that share a stock of exchangeable types.

    The fields are the data in input units (see :mod:`allocsolve.models.fair.data`);
    ``arrays`` holds the same as arrays. Build it from records, or from arrays with
    :meth:`from_arrays`, which does no work for each job.

    Raises
    ------
    InputError
        If an id, a reference or a number is wrong.
    UsageError
        If rounds are asked for without whole counts or without the time cap.
    """

    types: Sequence[ResourceType]
    jobs: Sequence[Job]
    entities: Sequence[Entity] = ()
    pairs: Sequence[Pair] = ()
    rounds: Rounds | None = None
    time_cap: bool = True
    objective: Goal | None = None
    name: str = ""
    origin: InstanceInfo = field(default_factory=InstanceInfo)
    notes: tuple[str, ...] = ()
    arrays: FairArrays = field(init=False, repr=False)
    found: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("types", "entities"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if not isinstance(self.pairs, PairTable):
            object.__setattr__(self, "pairs", tuple(self.pairs))
        if not isinstance(self.jobs, JobTable):
            object.__setattr__(self, "jobs", tuple(self.jobs))
        check_goal(self.goal)
        object.__setattr__(self, "arrays", _build(self))
        if self.rounds is not None:
            check_rounds(self.rounds, self.types, time_cap=self.time_cap)
        found = tuple(find_notes(self.arrays, self.job_ids, self.type_ids))
        object.__setattr__(self, "found", found)

    def __repr__(self) -> str:
        """Say what it is in one line; a problem may have a million jobs."""
        return f"<FairProblem {self.name!r}: {len(self.jobs)} jobs, {len(self.types)} types>"

    @classmethod
    def from_arrays(
        cls,
        throughput: object,
        capacity: object,
        *,
        types: Sequence[str] | None = None,
        ids: Sequence[str] | None = None,
        cost: object = None,
        entities: Sequence[Entity] = (),
        columns: Mapping[str, object] | None = None,
        time_cap: bool = True,
        objective: Goal | None = None,
        name: str = "",
    ) -> FairProblem:
        """Build a problem from arrays, without a record for each job.

        Parameters
        ----------
        throughput
            (n, m), progress per unit of time of each job on each type.
        capacity, cost
            (m,), stock and price of each type.
        types, ids
            Ids of types and jobs, "0", "1", ... without.
        columns
            Any of ``weight``, ``gang``, ``elapsed``, ``remaining``, ``isolated``, ``arrival``,
            ``deadline``, each (n,); NaN for an unknown ``remaining`` or ``isolated``, infinity
            for no ``deadline``. ``entity`` (n,) is the position in ``entities``, -1 for none;
            ``demand`` (n, m) the amount held per unit of progress.

        Raises
        ------
        InputError
            If a shape, an id or a number is wrong.
        """
        table = table_of(throughput)
        n, m = table.shape
        names = tuple(types) if types is not None else tuple(str(j) for j in range(m))
        stock = float_array(capacity, "capacity", (m,)).tolist()
        price = float_array(np.zeros(m) if cost is None else cost, "cost", (m,)).tolist()
        for what, given, size in (("types", names, m), ("ids", ids, n)):
            if given is not None and len(given) != size:
                raise InputError(
                    f"{what} has {len(given)} entries, throughput has the shape {table.shape}",
                    allowed=f"{size} ids",
                    remedy=f"correct {what}, or transpose throughput: rows are jobs",
                )
        data = columns_from(table, columns or {}, len(entities))
        return cls(
            types=[
                ResourceType(id=token, count=count, cost=each)
                for token, count, each in zip(names, stock, price, strict=True)
            ],
            jobs=JobTable(names, data, ids, entities),
            entities=entities,
            time_cap=time_cap,
            objective=objective,
            name=name,
            origin=InstanceInfo(name=name),
        )

    @classmethod
    def from_document(
        cls,
        document: FairDocument,
        origin: InstanceInfo | None = None,
        notes: tuple[str, ...] = (),
    ) -> FairProblem:
        """Build the problem that an instance document describes.

        ``notes`` are warnings of the reader of the file.
        """
        return cls(
            types=document.types,
            jobs=document.jobs,
            entities=document.entities,
            pairs=document.pairs,
            rounds=document.rounds,
            time_cap=document.time_cap,
            objective=document.objective,
            name=document.name,
            origin=origin or InstanceInfo(name=document.name),
            notes=notes,
        )

    def to_document(self) -> FairDocument:
        """Return the instance document of this problem."""
        return FairDocument(
            schema="allocsolve.instance/1",
            kind="fair",
            name=self.name,
            time_cap=self.time_cap,
            objective=self.objective,
            types=list(self.types),
            jobs=list(self.jobs),
            entities=list(self.entities),
            pairs=list(self.pairs),
            rounds=self.rounds,
        )

    def replace(self, **changes: object) -> FairProblem:
        """Return a new problem with some data fields changed, validated again."""
        return replace(self, **changes)  # type: ignore[arg-type]  # validated by __post_init__

    def with_pairs(self, ends: object, throughput: object, kind: object = None) -> FairProblem:
        """Return the same problem with these pairs of jobs that may share units.

        Parameters
        ----------
        ends, throughput
            int (q, 2), positions of the two jobs; float (q, m, 2), progress of each of the two
            on each type while they share.
        kind
            int (q,), row of ``throughput`` of each pair, where many pairs are alike.

        Raises
        ------
        InputError
            If a shape, a position or a number is wrong.
        """
        return self.replace(pairs=PairTable(self.type_ids, self.job_ids, ends, throughput, kind))

    def named(self, name: str, origin: InstanceInfo | None = None) -> FairProblem:
        """Return the same problem under another name, without validating its data again."""
        twin = copy.copy(self)
        object.__setattr__(twin, "name", name)
        object.__setattr__(twin, "origin", origin or InstanceInfo(name=name))
        return twin

    def aiming_at(self, name: str, settings: Settings) -> FairProblem:
        """Return the same problem with another objective, without validating its data again."""
        goal = goal_of(name, settings)
        check_goal(goal)
        twin = copy.copy(self)
        object.__setattr__(twin, "objective", goal)
        return twin

    @property
    def kind(self) -> str:
        """The problem kind, ``"fair"``."""
        return "fair"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired while reading, and what is allowed but probably not meant."""
        return (*self.notes, *self.found)

    @property
    def job_ids(self) -> Sequence[str]:
        """Id of each job."""
        return self.jobs.ids if isinstance(self.jobs, JobTable) else self._record_ids

    @property
    def type_ids(self) -> tuple[str, ...]:
        """Id of each type."""
        return tuple(kind.id for kind in self.types)

    @cached_property
    def features(self) -> frozenset[str]:
        """What this instance asks of a method: names of :class:`FairFeature`."""
        arrays = self.arrays
        present = {
            FairFeature.GANGS: bool((arrays.gang > 1).any()),
            FairFeature.ENTITIES: bool((arrays.jobs.entity >= 0).any()),
            FairFeature.DEMANDS: arrays.demand is not None,
            FairFeature.PAIRS: len(self.pairs) > 0,
            FairFeature.ROUNDS: self.rounds is not None,
            FairFeature.DEADLINES: bool(np.isfinite(arrays.jobs.deadline).any()),
            FairFeature.NO_TIME_CAP: not self.time_cap,
        }
        return frozenset(name for name, there in present.items() if there)

    @property
    def goal(self) -> Goal:
        """The objective that the instance asks for, the default one if it names none."""
        return self.objective or Goal()

    @property
    def settings(self) -> Settings:
        """The settings that the instance asks for."""
        return Settings.of(self.goal)

    @cached_property
    def job_index(self) -> Mapping[str, int]:
        """Index of each job id."""
        return {token: i for i, token in enumerate(self.job_ids)}

    @cached_property
    def type_index(self) -> Mapping[str, int]:
        """Index of each type id."""
        return {token: j for j, token in enumerate(self.type_ids)}

    @cached_property
    def _record_ids(self) -> tuple[str, ...]:
        return tuple(job.id for job in self.jobs)


def _build(problem: FairProblem) -> FairArrays:
    """Validate the data and return its arrays."""
    types, ids = problem.types, problem.job_ids
    refuse_repeated("types", "type", problem.type_ids)
    refuse_repeated("entities", "entity", [entity.id for entity in problem.entities])
    stock = [check_type(kind, f"$.types[{j}]") for j, kind in enumerate(types)]
    weights = [
        check_entity(entity, f"$.entities[{k}]") for k, entity in enumerate(problem.entities)
    ]
    known = Known("type", problem.type_ids)
    columns = _columns(problem, known)
    check_columns(columns, ids, problem.type_ids)
    ends, kinds, rates = _pairs(problem, known, columns)
    return FairArrays(
        jobs=columns,
        capacity=np.array([count for count, _ in stock], dtype=np.float64),
        cost=np.array([cost for _, cost in stock], dtype=np.float64),
        entity_weight=np.array(weights, dtype=np.float64),
        entity_is_fifo=np.array([e.policy == "fifo" for e in problem.entities], dtype=np.bool_),
        pair_jobs=ends,
        pair_kind=kinds,
        pair_rates=rates,
        time_cap=problem.time_cap,
    )


def _pairs(
    problem: FairProblem, types: Known, columns: JobColumns
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    """Return jobs and kind of each pair, (q, 2) and (q,), and the rates of each kind."""
    m = len(types.ids)
    if not len(problem.pairs):
        none = np.zeros((0, 2), dtype=np.int64)
        return none, none[:, 0], np.zeros((0, m, 2))
    if isinstance(problem.pairs, PairTable):
        if problem.pairs.throughput.shape[1] != m:
            raise InputError(f"the table of pairs does not have the {m} types of the instance")
        check_pair_table(problem.pairs, columns, problem.job_ids)
        return problem.pairs.ends, problem.pairs.kind, problem.pairs.throughput
    jobs = Known("job", problem.job_ids)
    table = [
        check_pair(pair, f"$.pairs[{q}]", jobs, types, columns)
        for q, pair in enumerate(problem.pairs)
    ]
    first: dict[frozenset[int], int] = {}
    for q, (pair, _) in enumerate(table):
        if first.setdefault(frozenset(pair), q) != q:
            raise InputError(
                f"pair {'-'.join(problem.pairs[q].jobs)} comes twice",
                allowed="each two jobs once",
                remedy="delete one of the two",
                path=f"$.pairs[{q}]",
            )
    ends = np.array([pair for pair, _ in table], dtype=np.int64)
    kinds = np.arange(len(table), dtype=np.int64)
    return ends, kinds, np.array([row for _, row in table], dtype=np.float64)


def _columns(problem: FairProblem, types: Known) -> JobColumns:
    jobs = problem.jobs
    if not isinstance(jobs, JobTable):
        refuse_repeated("jobs", "job", problem.job_ids)
        return columns_of(jobs, types, Known("entity", [e.id for e in problem.entities]))
    if not isinstance(jobs.ids, Numbered):
        refuse_repeated("jobs", "job", jobs.ids)
    if jobs.columns.throughput.shape[1] != len(types.ids):
        raise InputError(
            f"the table of jobs has {jobs.columns.throughput.shape[1]} types, the instance "
            f"{len(types.ids)}"
        )
    return jobs.columns
