"""TV-DRF (Li et al. 2019) on doubles: its input checked, the rule (``rule.py``) or its engine (``whole.py``) run.

What was lost of the formulas has these readings:

============  =====================  ===================================================================================
alone         ``"bundles"``          the amounts of the tasks that i could run on its own parts of the machines,
                                     fractions of tasks allowed
              ``"whole_bundles"``    the same, rounded down to whole tasks after adding up over machines (their sum may
                                     hold tasks that no single part does)
              ``"resources"``        of each resource by itself the smaller of what all submitted tasks need and what i
                                     brought; what no task vector can use counts, too
unserved      ``"expires"``          tasks not run in their period are gone, in the pool and alone
              ``"waits"``            they queue, in the pool and, by what would have been left over there, alone, in the
                                     order of submission: tasks keep their demand vector, and none overtakes an older
                                     one of the same user, not even where that does not fit (in ``"resources"`` alone
                                     each resource has a queue of its own)
============  =====================  ===================================================================================

* **0/0**. beta_i is the least ratio over the resources that i would have had some of, so far. Where there is none, beta
  is 1 if i has used nothing and infinite if it has.
* **best fit (17)**, after DRFH. Demand and what is left on a machine, both as parts of the pool's totals, are divided
  by their entry for the first resource that the task needs; the distance is the sum of the absolute differences. (Where
  the first resource of all is needed, that is DRFH's.) Among the machines that hold the task the nearest one takes it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.mechanisms.placing.nearest_machine import DISTANCE, as_machines
from fairbook.mechanisms.readings import Alone, Engine, TvMethod, Unserved
from fairbook.mechanisms.tv_drf.alone import amounts_alone, coefficients
from fairbook.mechanisms.tv_drf.case import as_case, check_fluid, check_whole
from fairbook.mechanisms.tv_drf.rule import tv_drf_rule
from fairbook.mechanisms.tv_drf.run import TvDrfRun
from fairbook.mechanisms.tv_drf.whole import as_users, hand_out
from fairbook.model.exact import fractions
from fairbook.model.inputs import FITS, IDLE, LARGEST, LEFT, check_switch
from fairbook.model.instance import takes_instance

__all__ = ["tv_drf"]


@takes_instance
def tv_drf(
    demands: Any,
    tasks: Any = None,
    machines: Any = None,
    contributions: Any = None,
    *,
    method: TvMethod = "heuristic",
    alone: Alone = "bundles",
    unserved: Unserved = "expires",
    weights: Any = None,
    memory: bool = True,
    placement: bool = False,
    engine: Engine = "fast",
) -> TvDrfRun:
    """Allocate over periods by TV-DRF (Li et al. 2019).

    Parameters
    ----------
    demands : array_like, shape (T, n, m), sequence of T DataFrames with the same labels, or Instance
        Resource per task in each period, in the unit of ``machines``. A row of zeros: no tasks.
    tasks : array_like or DataFrame, shape (T, n)
        Tasks that each submits in each period, an upper bound: whole for the heuristic, ``inf`` allowed where unserved
        tasks expire, 0 where the demands are zero. The columns of a DataFrame are matched with the users by name; its
        index is not read: row t is period t. In an Instance these are its ``max_tasks``.
    machines : array_like or DataFrame, shape (K, m)
        Capacity of each machine.
    contributions : array_like or DataFrame, shape (n, K), or (n,)
        The part of each machine that each user brought, in [0, 1]; sums to 1 over the users. Shape (n,): the same part
        of every machine. The columns of a DataFrame are matched with the index of ``machines`` by name.
    method : {"heuristic", "lexicographic"}
        ``"heuristic"``: whole tasks one by one (Algorithm 1): as long as someone who can still run a task has beta
        below 1, to the one among them with the least beta, else to the one with the least G; to the machine that fits
        best. Whose next task fits nowhere is done for this period, and the others go on. ``"lexicographic"``: the
        optimum of (9), fluid; machines must have one shape, so that they are one pool.
    alone : {"bundles", "whole_bundles", "resources"}
    unserved : {"expires", "waits"}
        Readings: see the head of :mod:`fairbook.mechanisms.tv_drf.tv_drf`.
    weights : array_like or Series, shape (n,), optional
        w, scaled to sum to 1. Default: the mean over the resources of the part of the pool's total that the user
        brought.
    memory : bool
        Whether the past counts. Without it every period is shared as if it were the first, by beta and G of that period
        alone; the run still reports beta and G over all periods.
    placement : bool
        Whether to keep how many tasks of each user are on each machine: T n K numbers of 4 bytes, at most 1e9 of them.
        Not for the fluid, which fills one pool.
    engine : {"fast", "plain"}
        ``"plain"`` runs ``tv_drf_rule`` on fractions made of the doubles: slow, and exact. ``"fast"`` runs it on
        the doubles where it is fluid.

    Returns
    -------
    TvDrfRun
        ``tasks``, ``sharing_coefficients``, ``cumulative_shares`` (T, n), ``use`` (T, m), ...

    Raises
    ------
    InvalidInput
        Naming argument, rule and value.

    Notes
    -----
    Where beta >= 1 cannot be had for all at once the fluid mechanism first makes min(beta, 1) lexicographically max-min
    fair (``below_one`` tells), then G, as Algorithm 1 does in whole tasks. Divisible tasks can always have it with
    ``"bundles"`` and ``"whole_bundles"``, unless tasks wait and ``memory`` is off; with ``"resources"`` it fails with
    one user, one period: two tasks of (1, 1/2), capacities (1, 1). Whole tasks may miss it in every reading. Of the
    users that have the same beta while their next tasks do not raise it, those with smaller indices pass these tasks if
    there is not room for all (most would pass by solving a knapsack).

    Ties of the heuristic: the user with the smaller index, the machine with the smaller index, among numbers within
    1e-12. A task fits if it leaves no resource of the machine below -1e-12 of its capacity. A coefficient within 1e-12
    of 1 is 1.

    What rounding leaves over holds up no queue: up to 1e-12 of a group of tasks or of an own part (alone), and up to
    1e-13 of a resource of the pool (fluid), count as nothing. Whoever lives on what is left of a resource and needs r
    times more of another may have a share off by r times as much. Where users of a resource need parts of it, for a
    unit of G, that are more than 1e8 times apart, the fluid is refused in doubles; ``engine="plain"`` is exact.

    Cost of the heuristic, per task handed out on K machines: O(log n + m K / 64) where what is free on them is spread
    evenly, at worst O(log n + m K).
    Besides, O(K (m + log K) + n m) a period; O(m K) for each user that is refused, to say what is
    missing; and for the amounts alone O(m) per user, period and distinct machine. All this where the tasks need the
    same resource first: where L different ones come first, m L numbers are kept of a machine in place of m. Memory
    O(K m L + T (K + n) m), but for ``placement``.
    Input for which the pool could hold more than about 1e9 tasks in all is refused.

    Cost of the lexicographic mechanism: O(m^2 p log p) a period for p groups of tasks, in numpy. Where tasks wait, each
    period goes through all groups that are still in a queue: in a pool that is always overloaded the time grows with
    the square of T.

    The run of a period depends on that period and the ones before: with more periods appended, what is already run
    comes out the same. To go on from day to day, append and run again.

    References
    ----------
    Li, Zhang, Li, Zhang 2019, Algorithm 1, (9) and (17) (reconstructed); Wang, Li, Liang, "Dominant resource fairness
    in cloud computing systems with heterogeneous servers", INFOCOM 2014, for the distance.

    Examples
    --------
    The worked example of the paper (task counts of the second period are ours, found by search).

    >>> run = tv_drf([[[2, 1], [1, 1]], [[5, 5], [20, 10]]], [[15, 70], [12, 4]], [[50, 50], [50, 50]],
    ...              [[1, 0], [0, 1]], alone="resources")
    >>> run.tasks
    array([[15., 70.],
           [12.,  2.]])
    >>> run.sharing_coefficients
    array([[1.   , 1.4  ],
           [1.125, 1.   ]])
    """
    check_switch(placement, "placement")
    check_switch(memory, "memory")
    case = as_case(demands, tasks, machines, contributions, weights, method, alone, unserved, memory)
    whole = method == "heuristic"
    if whole:
        check_whole(case, placement)
    else:
        check_fluid(case, placement, engine == "plain")
    found = by_task(case, placement) if whole and engine == "fast" else by_period(case, engine == "plain")
    beta = coefficients(found["amounts"], found["alone"])
    # what the fluid decides on is each period by itself where the past does not count
    decided = beta if whole or memory else coefficients(found["amounts"], found["alone"], False)
    return TvDrfRun(
        **found | ({} if placement else {"placement": None}),
        sharing_coefficients=beta,
        below_one=np.asarray((decided < 1 - FITS).any(axis=1)),
        **case,
    )


# ------------------------------------------------------------------------------------------- worked out in one way


def by_period(case: dict[str, Any], exact: bool) -> dict[str, Any]:
    """Run ``tv_drf_rule``, in fractions of the doubles with parts that sum to 1, or in doubles."""
    whole, bounds = case["method"] == "heuristic", case["max_tasks"]
    demands, machines, weights, parts = (case[name] for name in ("demands", "machines", "weights", "contributions"))
    if exact:
        demands, machines, weights, parts = (fractions(one) for one in (demands, machines, weights, parts))
        parts = parts / parts.sum(axis=0)
    with np.errstate(all="ignore"):
        run = tv_drf_rule(
            demands,
            np.minimum(bounds, LARGEST**2),
            machines,
            parts,
            method=case["method"],
            alone=case["reading"],
            unserved="waits" if case["waits"] else "expires",
            weights=weights,
            memory=case["memory"],
            near=FITS if whole else LEFT,
        )
    names = "tasks", "cumulative_shares", "amounts", "alone", "unserved"
    found = {name: getattr(run, name).astype(float) for name in names} | {"bottlenecks": run.bottlenecks}
    found["unserved"] = np.where(np.isfinite(bounds), found["unserved"], np.inf)
    if not whole:
        return found | {"machine_use": None, "placement": None}
    placement = np.zeros((*bounds.shape, len(machines)), dtype=np.int32)
    for t, one in enumerate(run.placed):
        np.add.at(placement[t], tuple(np.array(one, dtype=int).reshape(-1, 2).T), 1)
    return found | {"machine_use": (machines - np.array(run.free)).astype(float), "placement": placement}


def by_task(case: dict[str, Any], placement: bool) -> dict[str, Any]:
    """Hand out whole tasks one by one."""
    names = "demands", "max_tasks", "machines", "contributions", "weights", "waits", "memory"
    demands, bounds, machines, parts, weights, waits, memory = (case[name] for name in names)
    (T, n, m), (K, _), total = demands.shape, machines.shape, machines.sum(axis=0)
    own = amounts_alone(demands, bounds, machines, parts, case["reading"], waits)
    found: dict[str, Any] = {name: np.zeros((T, n)) for name in ("tasks", "cumulative_shares", "unserved")} | {
        "amounts": np.zeros((T, n, m)),
        "bottlenecks": np.full((T, n), IDLE),
        "alone": own,
        "machine_use": np.zeros((T, K, m)),
        "placement": np.zeros((T, n, K) if placement else (0, 0, 0), dtype=np.int32),
    }
    some = demands[(demands > 0).any(axis=2)] if demands.any() else total[None]
    leads = np.unique((some > 0).argmax(axis=1))
    scale = 1.0 / total
    unit = scale / scale[leads][:, None]
    at = as_machines(machines.copy(), machines.copy(), some.min(axis=0), leads, unit, DISTANCE)
    fields = "tasks", "amounts", "machine_use", "cumulative_shares", "unserved", "bottlenecks", "placement"
    stock = machines, machines.copy(), machines * 0.0, total
    state = as_users(n, m), stock, at, tuple(found[name] for name in fields)
    with np.errstate(all="ignore"):
        for _ in hand_out(demands, bounds, machines, weights, own, waits, memory, *state):
            pass  # an interrupt is seen
    return found
