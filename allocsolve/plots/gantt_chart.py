"""Gantt charts of schedules and of replications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, cast

from allocsolve.api.given import Answer, claim_of
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import NoSolution
from allocsolve.models.exact import exact
from allocsolve.plots.frame import COLOURS, GRID, INK, WIDTH, amount, picture
from allocsolve.report.export import lanes

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["gantt", "in_units"]

_LONGEST_CHART = 40.0
"""Inches; beyond that rows get thinner than print, and their labels are left out."""
_MOST_PROFILES = 6
_SMALLEST_PRINT = 4.0


@dataclass(frozen=True)
class _Bar:
    """A task as drawn: row counted from the top, lane within the row."""

    entry: ScheduledTask
    row: float
    height: float
    colour: str


def gantt(
    problem: DagProblem,
    answer: Answer,
    *,
    form: str = "svg",
    title: str | None = None,
) -> bytes:
    """Draw a schedule: rows are nodes, or tasks above the use of each renewable resource.

    Parameters
    ----------
    answer
        A schedule, its entries, a result, or a solution document (path, bytes or dict). It is
        drawn as it is, whether or not the checker would accept it.
    form
        ``svg``, ``png`` or ``html`` (one page that needs no other file).
    title
        By default the name of the instance.

    Returns
    -------
    bytes
        The same for the same schedule and version of matplotlib.

    Raises
    ------
    SolverMissing
        If matplotlib is not installed.
    UsageError
        If there is no such form, or nothing that can be an answer.
    NoSolution, InputError
        If the result or document holds no schedule, or the document cannot be read.
    """
    entries = _entries(problem, answer)
    heading = title if title is not None else _heading(problem, entries)
    return picture(lambda: _draw(problem, entries, heading), form, heading)


def _entries(problem: DagProblem, answer: Answer) -> Sequence[ScheduledTask]:
    found = claim_of(problem, answer).answer
    if found is None:
        raise NoSolution("there is no schedule to draw")
    if isinstance(found, Schedule):
        return found.entries()
    return cast("Sequence[ScheduledTask]", found)


def _heading(problem: DagProblem, entries: Sequence[ScheduledTask]) -> str:
    name = problem.name or problem.origin.name or "schedule"
    return f"{name}: {len(entries)} tasks, makespan {in_units(problem, _makespan(entries))}"


def in_units(problem: DagProblem, time: float | Fraction) -> str:
    """Return a time with its unit; seconds, which files without a unit have, go without one."""
    return amount(time) + ("" if problem.time_unit == "s" else f" {problem.time_unit}")


def _makespan(entries: Sequence[ScheduledTask]) -> Fraction:
    return max((entry.end for entry in entries), default=Fraction(0))


def _draw(problem: DagProblem, entries: Sequence[ScheduledTask], heading: str) -> Figure:
    from matplotlib.figure import Figure

    on_nodes = any(entry.node is not None for entry in entries)
    bars, labels = (_node_bars if on_nodes else _task_bars)(problem, entries)
    profiles = {} if on_nodes else _profiles(problem, entries)
    row = _row_height(len(labels), on_nodes=on_nodes)
    chart = max(row * len(labels), 1.0)
    heights = [chart, *(0.75 for _ in profiles)]
    total = sum(heights) + 0.95 + 0.16 * len(profiles)
    figure = Figure(figsize=(WIDTH, total), layout="constrained", facecolor="white")
    axes = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)[:, 0]
    _draw_bars(axes[0], bars, labels, size=_font_size(row), inside=on_nodes)
    for axis, (resource, steps) in zip(axes[1:], profiles.items(), strict=True):
        _draw_profile(problem, axis, resource, steps)
    for axis in axes:
        _dress(axis, _makespan(entries), first=axis is axes[0])
    axes[0].set_title(heading, loc="left", fontsize=11, color=INK, pad=14)
    unit = "" if problem.time_unit == "s" else f" ({problem.time_unit})"
    axes[-1].set_xlabel(f"time{unit}", color=INK)
    return figure


def _row_height(rows: int, *, on_nodes: bool) -> float:
    """Inches for a row: fewer when there are many, never less than a line of small print."""
    largest, smallest = (0.46, 0.16) if on_nodes else (0.2, 0.1)
    height = min(largest, max(smallest, 9 / max(rows, 1)))
    return min(height, _LONGEST_CHART / max(rows, 1))


def _font_size(row: float) -> float:
    return min(8.0, row * 72 * 0.7)


def _node_bars(
    problem: DagProblem, entries: Sequence[ScheduledTask]
) -> tuple[list[_Bar], list[str]]:
    """One row for each node that is used, split where a node runs several tasks at once."""
    colours = _colours([entry.task for entry in entries])
    order = {node.id: k for k, node in enumerate(problem.nodes)}
    used = sorted(
        {entry.node or "" for entry in entries}, key=lambda node: (order.get(node, -1), node)
    )
    bars: list[_Bar] = []
    for row, node in enumerate(used):
        group = [entry for entry in entries if (entry.node or "") == node]
        lane = lanes(group)
        height = 0.8 / (max(lane, default=0) + 1)
        for entry, k in zip(group, lane, strict=True):
            middle = row - 0.4 + height * (k + 0.5)
            bars.append(_Bar(entry, middle, height, colours[entry.task]))
    return bars, [node or "(none)" for node in used]


def _task_bars(_: DagProblem, entries: Sequence[ScheduledTask]) -> tuple[list[_Bar], list[str]]:
    """One row for each task, by start; the colour is the mode, so that choices show."""
    ordered = sorted(entries, key=lambda entry: (entry.start, entry.end))
    bars = [
        _Bar(entry, row, 0.72, COLOURS[entry.mode % len(COLOURS)])
        for row, entry in enumerate(ordered)
    ]
    return bars, [entry.task for entry in ordered]


def _colours(tasks: Sequence[str]) -> Mapping[str, str]:
    """Give tasks of one job (``job.operation``) one colour, else each task the next one."""
    jobs = Counter(task.rpartition(".")[0] for task in tasks)
    grouped = "" not in jobs and len(jobs) < len(tasks)
    keys = [task.rpartition(".")[0] if grouped else task for task in tasks]
    rank = {key: k for k, key in enumerate(dict.fromkeys(keys))}
    return {task: COLOURS[rank[key] % len(COLOURS)] for task, key in zip(tasks, keys, strict=True)}


def _draw_bars(
    axis: Axes, bars: Sequence[_Bar], labels: Sequence[str], *, size: float, inside: bool
) -> None:
    width = float(_makespan([bar.entry for bar in bars])) or 1.0
    for bar in bars:
        start, end = float(bar.entry.start), float(bar.entry.end)
        if start == end:
            axis.plot([start], [bar.row], marker="D", markersize=3.2, color=INK, clip_on=False)
        else:
            axis.barh(
                bar.row,
                end - start,
                left=start,
                height=bar.height,
                color=bar.colour,
                edgecolor="white",
                linewidth=0.6,
            )
        if inside:
            _label_inside(axis, bar, size, (end - start) / width)
        else:
            _label_beside(axis, bar, size, before=end > 0.94 * width)
    axis.set_ylim(len(labels) - 0.4, -0.6)
    axis.set_yticks(range(len(labels)) if inside else [], labels if inside else [])
    axis.tick_params(axis="y", labelsize=8, length=0)


def _label_inside(axis: Axes, bar: _Bar, size: float, share: float) -> None:
    """Write the task into its bar where it fits (a letter takes about 0.62 of its size)."""
    room = share * (WIDTH - 1.2) * 72
    fitting = min(size, room / (0.66 * max(len(bar.entry.task), 1)), bar.height * 22)
    if fitting < _SMALLEST_PRINT:
        return
    axis.text(
        float(bar.entry.start + bar.entry.end) / 2,
        bar.row,
        bar.entry.task,
        ha="center",
        va="center_baseline",
        fontsize=fitting,
        color=_contrast(bar.colour),
        clip_on=True,
    )


def _label_beside(axis: Axes, bar: _Bar, size: float, *, before: bool) -> None:
    """Write the task next to its bar, where the eye is, not at the far end of the row."""
    if size < _SMALLEST_PRINT:
        return
    axis.annotate(
        bar.entry.task,
        (float(bar.entry.start if before else bar.entry.end), bar.row),
        xytext=(-4 if before else 4, 0),
        textcoords="offset points",
        ha="right" if before else "left",
        va="center_baseline",
        fontsize=size,
        color=INK,
    )


def _contrast(colour: str) -> str:
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return INK if 0.299 * red + 0.587 * green + 0.114 * blue > 150 else "white"


def _profiles(
    problem: DagProblem, entries: Sequence[ScheduledTask]
) -> dict[str, list[tuple[Fraction, Fraction]]]:
    """Return, for each renewable resource, the amount in use from each time on."""
    tasks = {task.id: task for task in problem.tasks}
    changes: dict[str, dict[Fraction, Fraction]] = {}
    for resource in problem.resources:
        if resource.renewable and len(changes) < _MOST_PROFILES:
            changes[resource.id] = {Fraction(0): Fraction(0)}
    for entry in entries:
        modes = tasks[entry.task].modes if entry.task in tasks else None
        if not modes or not 0 <= entry.mode < len(modes) or entry.start == entry.end:
            continue
        for name, used in modes[entry.mode].demand.items():
            if name in changes:
                steps = changes[name]
                steps[entry.start] = steps.get(entry.start, Fraction(0)) + exact(used)
                steps[entry.end] = steps.get(entry.end, Fraction(0)) - exact(used)
    return {name: _accumulated(steps) for name, steps in changes.items()}


def _accumulated(steps: Mapping[Fraction, Fraction]) -> list[tuple[Fraction, Fraction]]:
    level, profile = Fraction(0), []
    for time in sorted(steps):
        level += steps[time]
        profile.append((time, level))
    return profile


def _draw_profile(
    problem: DagProblem, axis: Axes, name: str, steps: Sequence[tuple[Fraction, Fraction]]
) -> None:
    capacity = next(float(exact(r.capacity)) for r in problem.resources if r.id == name)
    times, levels = [float(time) for time, _ in steps], [float(level) for _, level in steps]
    axis.fill_between(times, levels, step="post", color=COLOURS[8], alpha=0.55, linewidth=0)
    axis.axhline(capacity, color=COLOURS[3], linewidth=1.0)
    axis.set_ylim(0, max([capacity, *levels]) * 1.15 or 1)
    axis.set_yticks([0, capacity], ["0", f"{capacity:.6g}"])
    axis.tick_params(axis="y", labelsize=7, length=0)
    axis.set_ylabel(name, rotation=0, ha="right", va="center", labelpad=14, color=INK)


def _dress(axis: Axes, makespan: Fraction, *, first: bool) -> None:
    end = float(makespan)
    axis.set_xlim(0, end * 1.02 or 1)
    axis.set_axisbelow(True)
    axis.grid(axis="x", color=GRID, linewidth=0.7)
    axis.tick_params(axis="x", length=0, labelcolor=INK)
    for side in ("top", "right", "left"):
        axis.spines[side].set_visible(False)
    axis.spines["bottom"].set_color("#B8BEC6")
    axis.axvline(end, color=INK, linewidth=1.0, linestyle=(0, (4, 2)))
    if first:
        axis.annotate(
            amount(makespan),
            (end, 1),
            xycoords=("data", "axes fraction"),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8,
            color=INK,
        )
