"""The accounts of TV-DRF: what each ran, used and would have used alone, period by period."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairbook.model.inputs import IDLE, OWN


class Accounts:
    """Accounts and queues of n users, m resources of the pool; T periods, each of which submits a group of tasks."""

    def __init__(self, demands: Any, tasks: Any, pool: Any, weights: Any, alone: Any, waits: bool, memory: bool):
        self.demands, self.submitted, self.pool, self.alone = demands, tasks, pool, alone
        self.weights, self.waits, self.memory = weights, waits, memory
        self.per_task = (demands / pool).max(axis=2) / weights  # equations (4) and (5): what one task adds to G
        # tasks left of groups, run, and left over at the end; G
        self.left, self.tasks, self.unserved, self.cumulative_shares = np.zeros((4, *tasks.shape), tasks.dtype)
        self.level, self.past = np.zeros((2, *weights.shape), tasks.dtype)  # G, and G of what no longer counts
        self.amounts, self.bottlenecks = np.zeros_like(demands), np.full(tasks.shape, IDLE)
        # of whole tasks, period by period: what is left on machines, (K, m), and user and machine of each
        self.free: list[Any] = []
        self.placed: list[list[tuple[int, int]]] = []
        self.used, self.owned = np.zeros((2, *demands[0].shape), demands.dtype)

    def begin(self, t: int) -> None:
        """Begin a period: submit tasks, and add what users would have had in it alone."""
        self.t = t
        if not self.waits:
            self.left[:t] = 0
        self.left[t] = self.submitted[t]
        self.bottlenecks[t] = np.where((self.left > 0).any(axis=0), OWN, IDLE)
        if not self.memory:
            self.past, self.level = self.past + self.level, self.level * 0
            self.used, self.owned = self.used * 0, self.owned * 0
        self.owned = self.owned + self.alone[t]

    def run(self, s: Any, i: Any, some: Any) -> Any:
        """Run so many tasks of group s of user i, all may be arrays; give what they take."""
        taken = (some * self.demands[s, i].T).T
        np.subtract.at(self.left, (s, i), some)
        for account, what in (
            (self.tasks[self.t], some),
            (self.amounts[self.t], taken),
            (self.used, taken),
            (self.level, some * self.per_task[s, i]),
        ):
            np.add.at(account, i, what)
        return taken

    def end(self) -> None:
        """End a period: write down G, and tasks left over."""
        self.cumulative_shares[self.t], self.unserved[self.t] = self.past + self.level, self.left.sum(axis=0)
