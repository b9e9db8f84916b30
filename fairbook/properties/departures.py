"""DMFA-SRQ with departures, in the form that the search for lies takes: a function of demands and weights.

Departures are ours, not the paper's; see :class:`fairbook.mechanisms.dmfa_srq.DmfaSrq`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from fairbook.errors import InvalidInput
from fairbook.mechanisms.dmfa_srq import DmfaSrq
from fairbook.model import FloatArray

__all__ = ["EventRun", "with_departures"]


@dataclass(frozen=True, eq=False)
class EventRun:
    """Tasks of each user after each event, as the mechanism counts them.

    Attributes
    ----------
    table : ndarray, shape (events, n)
        0 before a user arrives and after it has gone.
    """

    table: FloatArray

    def tasks_of(self, user: int) -> FloatArray:
        """Tasks of one user after each event, shape (events,)."""
        return self.table[:, user]


def with_departures(events: Sequence[int], contribution: Literal["stays", "leaves"]
                    ) -> Callable[[Any, Any], EventRun]:
    """Give the mechanism that runs :class:`~fairbook.mechanisms.dmfa_srq.DmfaSrq` through a fixed sequence of events.

    Parameters
    ----------
    events : sequence of int
        A position the first time: that user arrives; the second time: it departs.
    contribution : {"stays", "leaves"}
        What happens to what a departing user brought.

    Returns
    -------
    callable
        Function of (demands, weights) that returns an :class:`EventRun`.

    Examples
    --------
    Two users arrive, the second leaves with what it brought, the first is back where it was.

    >>> run = with_departures([0, 1, 1], "leaves")([[1, 1/2], [1/2, 1]], [1, 1])
    >>> run.tasks_of(0).round(4).tolist()
    [1.0, 1.3333, 1.0]
    """
    count = max(events) + 1
    if sorted(set(events)) != list(range(count)) or any(list(events).count(i) > 2 for i in range(count)):
        raise InvalidInput("events", "must name every user from 0 once (arrival) or twice (departure)", list(events))

    def run(demands: Any, weights: Any) -> EventRun:
        rows = np.asarray(demands, dtype=np.float64)
        if len(rows) != count:
            raise InvalidInput("demands", f"must have one row for each of the {count} users of the events", rows.shape)
        pool = DmfaSrq(rows.shape[1])
        table = np.zeros((len(events), count))
        present: list[int] = []
        for row, user in zip(table, events):
            if user in present:
                pool.depart(user, contribution)
                present.remove(user)
            else:
                pool.arrive(rows[user], float(weights[user]), user=user)
                present.append(user)
            row[present] = pool.tasks
        return EventRun(table)

    return run
