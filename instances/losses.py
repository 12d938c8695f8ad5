"""What text formats cannot hold: refusals by feature, and sentences for what is left out."""

from __future__ import annotations

from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError

__all__ = ["common_losses", "refuse_inexpressible"]


def refuse_inexpressible(
    problem: DagProblem, format_name: str, honours: frozenset[str], more: tuple[str, ...] = ()
) -> None:
    """Refuse a problem whose meaning the format cannot hold.

    Parameters
    ----------
    honours
        Names of :class:`Feature` that the format can hold.
    more
        Further obstacles, by name.

    Raises
    ------
    UsageError
        With the names of all obstacles.
    """
    lacking = [*sorted(problem.features - honours), *more]
    if lacking:
        raise UsageError(
            f"format '{format_name}' cannot express: {', '.join(lacking)} "
            "(format 'native' can express everything)"
        )


def common_losses(problem: DagProblem, *, data: bool = True) -> list[str]:
    """Return a sentence for everything that no text format holds and no schedule needs.

    Parameters
    ----------
    data
        Whether the format leaves out the data of edges, too.
    """
    tasks, nodes = problem.tasks, problem.nodes
    lost = [
        ("due dates", any(task.due is not None for task in tasks)),
        ("weights", any(task.weight != 1 for task in tasks)),
        ("data of edges", data and any(edge.data for edge in problem.edges)),
        ("prices of nodes", any(node.price for node in nodes)),
        ("power of nodes", any(node.power_busy or node.power_idle for node in nodes)),
        ("runtime laws of nodes", any(node.runtime or node.process for node in nodes)),
        ("profiles of price and carbon", problem.profiles is not None),
        (f"the time unit '{problem.time_unit}'", problem.time_unit != "s"),
    ]
    return [f"{what} left out" for what, present in lost if present]
