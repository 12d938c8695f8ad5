"""Annealing over a node for every task and an order of all tasks: the compiled loops.

A state is decoded by appending the tasks in their order, each to its node; every schedule
that starts no task later than it must can be written so. A move changes some nodes and
shifts one task within the part of the order that its neighbours leave. Only what stands
behind the first change is decoded, and no further than it takes to see that the move will
be refused: the random limit is drawn first, and the end of a task plus the least time that
its node leaves after it (its *tail*) never exceeds the makespan.

Kirkpatrick, Gelatt and Vecchi, "Optimization by simulated annealing", Science 220, 1983.
"""

from __future__ import annotations

from allocsolve.models.dag.anneal_decode import decode
from allocsolve.models.dag.anneal_moves import fits, propose, take_back
from allocsolve.models.dag.anneal_state import (
    BEST,
    CURRENT,
    DRAWS,
    FRESH,
    REFUSED,
    Sites,
    State,
    draw,
)
from allocsolve.models.kernels import kernel

__all__ = ["anneal"]


@kernel
def anneal(
    sites: Sites, state: State, steps: int, temperature: float, cooling: float, target: int
) -> float:
    """Make so many moves, or stop at a best value of ``target``; return the temperature.

    ``state`` holds a state that is decoded. A move is accepted if the makespan rises by no
    more than an exponential deviate times the temperature: the rule of Metropolis.
    """
    size = state.order.size
    for _ in range(steps):
        temperature *= cooling
        rise = temperature * sites.exponential[draw(state.random, DRAWS)]
        limit = state.field[CURRENT] + int(rise)
        first, reached, value = propose(sites, state), 0, REFUSED
        if first < size and (not sites.limits_memory or fits(sites, state)):
            reached, value = decode(sites, state, first, limit)
        if value > limit:
            take_back(sites, state, first, reached)
            continue
        state.field[CURRENT], state.field[FRESH] = value, 0
        if value < state.field[BEST]:
            state.field[BEST] = value
            for place in range(size):
                task = state.order[place]
                state.best_order[place] = task
                state.best_node[task] = state.node[task]
            if value <= target:
                break
    return temperature
