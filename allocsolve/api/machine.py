"""How many threads this machine can really use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["physical_cores"]

_TOPOLOGY = Path("/sys/devices/system/cpu")


def physical_cores() -> int:
    """Return the number of physical cores that this process may use, at least 1.

    Two hardware threads of a core share its arithmetic units, which a search keeps busy.
    Where the system does not tell its cores, every processor counts as one.
    """
    processors = _usable()
    cores = {_core(processor) for processor in processors}
    return max(len(cores), 1)


def _usable() -> list[int]:
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def _core(processor: int) -> str:
    for name in _sibling_files(processor):
        try:
            return name.read_text(encoding="ascii").strip()
        except OSError:
            continue
    return str(processor)


def _sibling_files(processor: int) -> Iterator[Path]:
    folder = _TOPOLOGY / f"cpu{processor}" / "topology"
    yield folder / "core_cpus_list"
    yield folder / "thread_siblings_list"
