"""TV-DRF (Li et al. 2019): contributed machines, demands that change with time, fairness over all periods so far.

Users bring parts of machines. In period t user i submits up to B_i(t) tasks that need alpha_i(t) each and last one
period; then all machines are empty again. Two numbers carry fairness over time, both added up over the periods so far:

* the *cumulative share* G_i = sum of N_i r_i / w_i, where N_i is the number of tasks run, r_i the dominant share of one
  task and w_i what i brought;
* the *sharing coefficient* beta_i = min over j of (resource j used) / (resource j that i would have had alone).

The mechanism is the lexicographic max-min optimum of G(t) among the allocations with beta(t) >= 1, program (9), period
by period, what was used before being history. Divisible tasks in one pool have it (``fluid.py``). For whole
tasks the authors have a heuristic, Algorithm 1. In each period (``heuristic``):

1. Everyone who has tasks takes part.
2. If someone who takes part has beta < 1, choose the one with the least beta; otherwise the one with the least G.
3. Put its next task on the machine that holds it and fits best, equation (17), and add it to its beta and G.
4. If no machine holds it, the user takes part no longer in this period. Repeat from 2.

The readings of what was lost of the formulas stand at the head of ``tv_drf.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from math import inf
from typing import Any

import numpy as np

from fairbook.mechanisms.placing.machines import alike, lowest
from fairbook.mechanisms.readings import Alone, TvMethod, Unserved
from fairbook.mechanisms.tv_drf.accounts import Accounts
from fairbook.mechanisms.tv_drf.alone import amounts_alone
from fairbook.mechanisms.tv_drf.fluid import flow
from fairbook.model.exact import fractions
from fairbook.model.inputs import NOTHING


def sharing_coefficient(used: Sequence[Any], owned: Sequence[Any]) -> Any:
    """Equation (8), beta: the least ratio over the resources that the user would have had some of."""
    return min((u / o for u, o in zip(used, owned, strict=True) if o > 0), default=inf if any(used) else 1)


def distance(task: Any, free: Any, machine: Any, pool: Any, near: Any) -> Any:
    """Equation (17); where all of the first resource is used up, what may be overdrawn counts."""
    lead = (task > 0).argmax()
    ahead = free[lead] if free[lead] > 0 else near * machine[lead] + free[lead]
    return sum(abs(task / task[lead] - free / ahead) * pool[lead] / pool)


def heuristic(accounts: Accounts, machines: Any, coefficient: Callable[..., Any], near: Any) -> None:
    """Algorithm 1 in one period; writes down what is left on machines, and (user, machine) of each task, in order."""
    placed: list[tuple[int, int]] = []
    free, pool = machines.copy(), accounts.pool
    accounts.free.append(free)
    accounts.placed.append(placed)
    active = set(range(len(accounts.level)))
    while active := {i for i in active if (accounts.left[:, i] > 0).any()}:
        beta = {i: coefficient(accounts.used[i], accounts.owned[i]) for i in active}
        behind = {i: beta[i] for i in active if beta[i] < 1 - near}
        value = behind or {i: accounts.level[i] for i in active}
        i = lowest(value, value.__getitem__, range(len(accounts.level)), near)
        s = (accounts.left[:, i] > 0).argmax()
        task = accounts.demands[s, i]
        room = np.flatnonzero((task <= free + near * machines).all(axis=1))
        far = {int(k): distance(task, free[k], machines[k], pool, near) for k in room}
        if not far:  # it no longer takes part in this period
            active.remove(i)
            short = task > free.sum(axis=0) + near * pool
            accounts.bottlenecks[accounts.t, i] = short.argmax() if short.any() else NOTHING
            continue
        nearest = min(far.values())
        k = next(k for k in far if alike(far[k], nearest, near))
        free[k] -= accounts.run(s, i, 1)
        placed.append((i, k))


def tv_drf_rule(
    demands: Any,
    tasks: Any,
    machines: Any,
    contributions: Any,
    *,
    method: TvMethod = "heuristic",
    alone: Alone = "bundles",
    unserved: Unserved = "expires",
    weights: Any = None,
    memory: bool = True,
    coefficient: Callable[..., Any] = sharing_coefficient,
    near: Any = 0,
) -> Accounts:
    """TV-DRF period by period: Algorithm 1 in whole tasks, or the optimum of (9) in one pool; floats or fractions.

    Arguments are those of :func:`tv_drf`; weights sum to 1. The part ``near`` of a machine may be overdrawn, and of a
    group be left over; users and machines as near to each other are tied, and the first is taken. Returns the accounts
    of all users after all periods.

    Cost of whole tasks O(n m + K m) each. Fluid: ``fluid.fill``, in each period for all
    groups of tasks that wait. Fractions grow with each user and period, to thousands of digits: 1000 users whose tasks
    wait for 10 periods take a minute, in floats a tenth of a second.

    The second period of the example by hand: both first reach beta = 1, then the lower G takes what is left.

    >>> from fractions import Fraction as F
    >>> demands = [[[F(2), F(1)], [F(1), F(1)]], [[F(5), F(5)], [F(20), F(10)]]]
    >>> run = tv_drf_rule(demands, [[15, 70], [12, 4]], [[F(50), F(50)]] * 2, [[1, 0], [0, 1]], alone="resources")
    >>> [(str(ran), str(share)) for ran, share in zip(run.tasks[1], run.cumulative_shares[1])]
    [('12', '9/5'), ('2', '11/5')]
    """
    demands, machines = np.array(demands), np.array(machines)
    exact = demands.dtype == object or machines.dtype == object
    numbers = fractions if exact else partial(np.array, dtype=float)
    demands, tasks, machines, contributions = map(numbers, (demands, tasks, machines, contributions))
    near, pool, brought = Fraction(near) if exact else float(near), machines.sum(axis=0), contributions @ machines
    weights = (brought / pool).sum(axis=1) / len(pool) if weights is None else numbers(weights)
    whole, waits = method == "heuristic", unserved == "waits"
    needs = demands > 0
    fits = np.where(needs, pool / np.where(needs, demands, 1), inf).min(axis=2)
    most = np.minimum(tasks, 2 * fits * (len(tasks) if waits else 1))  # as good as no bound
    asked = tasks if alone == "resources" else most
    own = amounts_alone(demands, asked, machines, contributions, alone, waits, near)
    accounts = Accounts(demands, most, pool, weights, own, waits, memory)
    if not whole:
        flow(accounts, near)
    for t in range(len(tasks) if whole else 0):
        accounts.begin(t)
        heuristic(accounts, machines, coefficient, near)
        accounts.end()
    accounts.unserved = accounts.unserved + np.cumsum(tasks - most, axis=0) if waits else tasks - accounts.tasks
    return accounts
