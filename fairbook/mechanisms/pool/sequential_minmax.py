"""SequentialMinMax (Parkes, Procaccia, Shah, TEAC 2015): whole tasks one by one, by the level after the task."""

from __future__ import annotations

from typing import Any

from fairbook.mechanisms.pool.whole_tasks import in_whole_tasks
from fairbook.mechanisms.readings import Engine, Ties
from fairbook.model.allocation import Allocation
from fairbook.model.inputs import NOTHING, OWN
from fairbook.model.instance import takes_instance

__all__ = ["sequential_minmax", "sequential_minmax_rule"]


def sequential_minmax_rule(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    ties: Ties = "first",
    near: Any = 0,
) -> tuple[list[int], list[int]]:
    """SequentialMinMax (Parkes et al. 2015, section 5): whole tasks, and what stops each user; numbers of any kind.

    Of those whose next task fits one is served so that the largest level of all after it is smallest. Levels within
    ``near`` of each other, relatively, are one, and a task may overdraw that part of a resource. By hand: the first
    user is served up to the levels 1/4 and 1/2; now a task of the second would lead to 12/20, but 10 of 20 are left.

    >>> from fractions import Fraction as F
    >>> sequential_minmax_rule([[F(5)], [F(12)]], capacities=[F(20)])
    ([4, 0], [0, 0])
    """
    n, m = len(demands), len(demands[0])
    share = [[d / c for d, c in zip(row, capacities or [1] * m, strict=True)] for row in demands]
    per_task = [max(row) / w for row, w in zip(share, weights or [1] * n, strict=True)]
    left, highest = [1 + 0 * per_task[0]] * m, 0 * per_task[0]
    tasks, stops, able = [0] * n, [NOTHING] * n, list(range(n))
    while able:
        for i in able:
            if max_tasks and max_tasks[i] is not None and tasks[i] + 1 > max_tasks[i]:
                stops[i] = OWN
            else:
                stops[i] = next((j for j in range(m) if share[i][j] > left[j] + near), NOTHING)
        able = [i for i in able if stops[i] == NOTHING]
        if able:
            after = {i: max(highest, (tasks[i] + 1) * per_task[i]) for i in able}
            tied = [i for i in able if after[i] <= min(after.values()) * (1 + near)]
            i = tied[0 if ties == "first" else -1]
            highest = after[i]
            tasks[i] += 1
            left = [amount - x for amount, x in zip(left, share[i], strict=True)]
    return tasks, stops


@takes_instance
def sequential_minmax(
    demands: Any,
    *,
    weights: Any = None,
    capacities: Any = None,
    max_tasks: Any = None,
    ties: Ties = "first",
    engine: Engine = "fast",
) -> Allocation:
    """Give the next whole task where the largest level after it is smallest (Parkes et al. 2015, section 5).

    Parameters
    ----------
    demands : array_like or DataFrame, shape (n, m)
        Resource per task, in the unit of ``capacities``; at least 0, with a positive entry for each user.
    weights : array_like or Series, shape (n,), optional
        Positive; scaled to sum to 1. Default: equal, as in the paper.
    capacities : array_like or Series, shape (m,), optional
        Positive. Default: ones.
    max_tasks : array_like or Series, shape (n,), optional
        Bounds, rounded down. Default: none, as in the paper.
    ties : {"first", "last"}
        Which of several users with the same level after the task is served: the first or the last of them.
    engine : {"fast", "plain"}
        ``"plain"`` works :func:`sequential_minmax_rule` out in fractions.

    Returns
    -------
    Allocation
        ``tasks`` are whole numbers. ``bottlenecks`` names a resource that the user's next task would overdraw, -1
        where the bound is reached.

    Notes
    -----
    The level of a user is its dominant share over its weight. The largest level never falls, and whoever could have
    been served below it has been; so the rule serves, of those whose next task fits, a user whose *own* level after
    it is lowest. Who does not fit once never fits again. Cost O((n + t) (m + log n)) for t tasks.
    A task fits if it leaves no resource below -1e-12 of its capacity.

    References
    ----------
    Parkes, Procaccia, Shah, "Beyond Dominant Resource Fairness: Extensions, Limitations, and Indivisibilities",
    ACM TEAC 3(1), 2015, section 5.

    Examples
    --------
    A task of the second user takes 12 of 20, so it waits until the first runs two, and fits no more.

    >>> sequential_minmax([[5], [12]], capacities=[20]).tasks
    array([4., 0.])
    """
    # the largest level never falls, so it is the user's own level after the task that counts: one task ahead
    options: dict[str, Any] = {"ties": ties, "ahead": 1.0, "order": 1 if ties == "first" else -1}
    rule = sequential_minmax_rule
    return in_whole_tasks("sequential_minmax", rule, demands, weights, capacities, max_tasks, engine, **options)
