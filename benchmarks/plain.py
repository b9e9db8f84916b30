"""The opponents: mechanisms in numpy or compiled, and programs for solvers. Nothing checks input."""

import heapq
import math
from bisect import bisect_left
from importlib import import_module
from typing import Any

import numba
import numpy as np
from scipy.optimize import Bounds, LinearConstraint, linprog, milp
from scipy.sparse import block_array, csr_array, diags_array, eye_array, hstack, kron, vstack


def plain_by_task(demands: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """DRF in whole tasks, one after the other from a heap, on a pool of ones; the tasks."""
    per_task = demands.max(axis=1) / (weights / weights.sum())
    left, tasks = np.ones(demands.shape[1]), [0] * len(demands)
    queue = [(0.0, i) for i in range(len(demands))]
    while queue:
        i = queue[0][1]
        if (demands[i] > left + 1e-12).any():
            heapq.heappop(queue)
            continue
        left -= demands[i]
        tasks[i] += 1
        heapq.heapreplace(queue, (tasks[i] * per_task[i], i))
    return np.array(tasks)


def plain_stack(demands: list[list[float]], weights: list[float]) -> list[float]:
    """DMFA-SRQ by the stack of groups in plain Python, one arrival at a time; the levels."""
    level: list[float] = []
    rate: list[list[float]] = []
    left, found = [0.0] * len(demands[0]), []
    for need, weight in zip(demands, weights, strict=True):
        left = [x + weight for x in left]
        own, height = [d * (weight / max(need)) for d in need], 0.0
        while level and all(r * (level[-1] - height) <= x for r, x in zip(own, left, strict=True)):
            left = [x - r * (level[-1] - height) for r, x in zip(own, left, strict=True)]
            own, height = [r + s for r, s in zip(own, rate.pop(), strict=True)], level.pop()
        step = min(x / r for r, x in zip(own, left, strict=True) if r)
        left = [max(x - r * step, 0.0) for r, x in zip(own, left, strict=True)]
        level.append(height + step)
        rate.append(own)
        found.append(height + step)
    return found


def plain_cbdrf(demands: np.ndarray, released: np.ndarray) -> np.ndarray:
    """The paper's rule as one would write it in numpy, where all demands are positive, unchecked; the tasks."""
    credit = np.full(demands.shape[1], 10)  # in tenths; who has none holds nothing, and so complies
    tasks = np.empty(released.shape)
    for t, need in enumerate(demands):
        largest = need.max(axis=1)
        tasks[t] = credit / 10 / largest / (need / largest[:, None]).sum(axis=0).max()
        credit = np.where((released[t] >= 0.75) | (credit == 0), np.minimum(credit + 1, 10), credit - 1)
    return tasks


def highs_drfh(demands: np.ndarray, machines: np.ndarray) -> float:
    """The programme of DRFH as one writes it down, by interior points: the largest level that all users can have."""
    K, n, total = len(machines), len(demands), machines.sum(axis=0)
    load = demands / total / (demands / total).max(axis=1, keepdims=True)
    held = hstack([kron(np.ones((1, K)), eye_array(n)), csr_array(-np.ones((n, 1)))])
    used = hstack([kron(eye_array(K), load.T), csr_array((K * len(total), 1))])
    room = np.append(machines / total, np.zeros(n))
    return -linprog(-np.eye(K * n + 1)[K * n], vstack([used, -held]), room, method="highs-ipm").fun


@numba.njit(error_model="numpy")  # type: ignore[misc]
def scan_best_fit(demands: np.ndarray, machines: np.ndarray) -> np.ndarray:
    """DRFH's Best-Fit by two compiled scans a task, of all users and of all machines; the tasks."""
    n, m = demands.shape
    total = machines.sum(axis=0)
    need, left, free = demands / total, machines.copy(), machines / total
    dominant = np.array([row.argmax() for row in need])
    level, tasks, inside = np.zeros(n), np.zeros(n, np.int64), np.ones(n, np.bool_)
    while True:
        i = -1
        for h in range(n):
            if inside[h] and (i < 0 or level[h] < level[i]):
                i = h
        if i < 0:
            return tasks
        best, j = np.inf, -1
        for k in range(len(left)):
            distance = 0.0
            for r in range(m):
                if left[k, r] < demands[i, r]:
                    distance = np.inf
                    break
                distance += abs(need[i, r] / need[i, 0] - free[k, r] / free[k, 0])
            if distance < best:
                best, j = distance, k
        if j < 0:
            inside[i] = False
            continue
        left[j] -= demands[i]
        free[j] = left[j] / total
        tasks[i] += 1
        level[i] = tasks[i] * demands[i, dominant[i]] / total[dominant[i]]


@numba.njit(error_model="numpy")  # type: ignore[misc]
def scan_per_server(demands: np.ndarray, machines: np.ndarray) -> np.ndarray:
    """DRF machine by machine: all are looked at for a first task, those who have one for each other task; the tasks."""
    n, m = demands.shape
    tasks, runs, level, some = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64)
    left = np.zeros(m)
    for size in machines:
        there = 0
        for j in range(m):
            left[j] = size[j]
        for i in range(n):
            fits = True
            for j in range(m):
                fits &= demands[i, j] <= left[j]
            if fits:
                level[i], runs[i], some[there] = 0.0, 1.0, i
                there += 1
                for j in range(m):
                    left[j] -= demands[i, j]
                    level[i] = max(level[i], demands[i, j] / size[j])
        while there > 0:
            least, fits = 0, True
            for a in range(1, there):
                if runs[some[a]] * level[some[a]] < runs[some[least]] * level[some[least]] * (1 - 1e-12):
                    least = a
            i = some[least]
            for j in range(m):
                fits &= demands[i, j] <= left[j]
            if fits:
                runs[i] += 1.0
                for j in range(m):
                    left[j] -= demands[i, j]
            else:
                tasks[i] += runs[i]
                there -= 1
                for a in range(least, there):
                    some[a] = some[a + 1]
    return tasks


def plain_tv_drf(demands: np.ndarray, tasks: np.ndarray, machines: np.ndarray, own: np.ndarray) -> np.ndarray:
    """TV-DRF's Algorithm 1 as printed, in numpy, equal parts, what is not run expires; the tasks.

    Before every task all coefficients, all G and the distances of one task to all machines are worked out.
    """
    T, n, _ = demands.shape
    total = machines.sum(axis=0)
    before, owned, level = np.zeros(demands.shape[1:]), np.zeros(demands.shape[1:]), np.zeros(n)
    ran = np.zeros((T, n))
    for t, need in enumerate(demands):
        left, rest = machines.copy(), tasks[t].copy()
        owned += own[t]
        dominant = n * (need / total).max(axis=1)
        while (rest > 0).any():
            used = before + ran[t, :, None] * need  # multiplied, not added up, as in tv_drf: many betas tie
            beta = np.where(rest > 0, (used / owned).min(axis=1), np.inf)
            i = beta.argmin() if beta.min() < 1 - 1e-12 else np.where(rest > 0, level, np.inf).argmin()
            ratios = np.abs(need[i] / need[i, 0] - left / left[:, :1]) * (total[0] / total)
            distance = np.where((need[i] <= left).all(axis=1), ratios.sum(axis=1), np.inf)
            k = distance.argmin()
            if distance[k] == np.inf:
                rest[i] = 0
                continue
            left[k] -= need[i]
            level[i] += dominant[i]
            rest[i] -= 1
            ran[t, i] += 1
        before = before + ran[t, :, None] * need
    return ran


@numba.njit  # type: ignore[misc]
def _scan(limit: np.ndarray, used: np.ndarray, need: np.ndarray, able: np.ndarray, f: np.ndarray) -> int:
    """Find the machine of largest f, up to 1e-12, among those that are able and have room; -1 for none."""
    best, tied = -1, 0.0
    for j in range(len(limit)):
        if able[j] and (best < 0 or f[j] > tied):
            for r in range(len(need)):
                if limit[j, r] - used[j, r] < need[r]:
                    break
            else:
                best, tied = j, f[j] + 1e-12 * max(1.0, abs(f[j]))
    return best


def plain_gdrf(demands: np.ndarray, machines: np.ndarray, counts: np.ndarray) -> tuple[list[int], list[int]]:
    """GDRF by a compiled scan of all machines before every task, f kept; whom and where, in order.

    Lots play no part: users and resources are ranked by number where they tie.
    """
    n = len(demands)
    size = np.repeat(machines, counts, axis=0)
    totals = counts @ machines
    share = demands / totals
    largest, dominant = share.max(axis=1), np.argsort(-share, axis=1, kind="stable")
    weight = np.array(
        [math.fsum(d * totals[r] / (d[r] * totals)) for d, r in zip(demands, dominant[:, 0], strict=True)]
    )
    order = np.lexsort((-weight, -largest)).tolist()
    rank, amount = np.argsort(order).tolist(), demands.sum(axis=1).tolist()
    parts = size / totals
    of_type = (parts == parts.max(axis=1, keepdims=True)).T
    limit, whole = size * (1 + 1e-12), size.sum(axis=1)
    used, stakes, f = np.zeros_like(size), np.zeros_like(size), np.zeros(len(size))  # of f the logarithm
    slots, inside = [0] * n, set(range(n))
    users: list[int] = []
    places: list[int] = []
    while inside:
        queue = [0] * n
        for _ in range(n):
            i = min(inside, key=lambda h: (slots[h] * amount[h], rank[h]))
            slots[i] += 1
            queue[i] += 1
        for i in order:
            for _ in range(queue[i]):
                j = next((j for r in dominant[i] if (j := _scan(limit, used, demands[i], of_type[r], f)) >= 0), -1)
                if j < 0:
                    inside.discard(i)
                    break
                used[j] += demands[i]
                stakes[j, dominant[i, 0]] += demands[i, dominant[i, 0]]
                base = sum(one / total for one, total in zip(stakes[j], totals, strict=True) if one)
                f[j] = sum(used[j].tolist()) / whole[j] * math.log(base)
                users.append(i)
                places.append(j)
    return users, places


def highs_clusters(max_vms: np.ndarray, tolerance: np.ndarray, capacities: np.ndarray, nodes: int) -> Any:
    """Equations (1) to (5) in whole VMs as one writes them down: VMs, who is where, the least fraction."""
    n, H = len(max_vms), len(capacities)
    N = n * H
    of_user, of_cluster = kron(eye_array(n), np.ones((1, H))), kron(np.ones((1, n)), eye_array(H))
    rows = block_array(
        [
            [of_user, None, None],
            [of_user, None, -max_vms[:, None]],
            [of_cluster, None, None],
            [eye_array(N), diags_array(-np.repeat(max_vms, H)), None],
            [None, of_user, None],
        ]
    )
    low = [np.ceil((1 - tolerance) * max_vms - 1e-9), np.zeros(n), np.full(H + N, -np.inf), np.ones(n)]
    high = [max_vms, np.full(n, np.inf), capacities, np.zeros(N), np.ones(n)]
    bounds = Bounds(0, np.concatenate([np.repeat(max_vms, H), np.ones(N + 1)]))
    return milp(
        -np.eye(2 * N + 1)[-1],
        integrality=np.arange(2 * N + 1) < 2 * N,
        bounds=bounds,
        constraints=LinearConstraint(csr_array(rows), np.concatenate(low), np.concatenate(high)),
        options={"node_limit": nodes, "mip_rel_gap": 0},
    )


def bisected_clusters(max_vms: np.ndarray, tolerance: np.ndarray, capacities: np.ndarray) -> float:
    """Find the largest level at which everybody fits by CP-SAT, each user in one cluster; a probe is cut short by work.

    Better than one program with the level as a variable: all numbers of a probe are small.
    """
    sat = import_module("ortools.sat.python.cp_model")  # not in the lock

    def fits(level: float) -> bool:
        model = sat.CpModel()
        need = np.ceil(np.maximum(1 - tolerance, level) * max_vms - 1e-9).astype(int).tolist()
        inside = [[model.new_bool_var("") for _ in capacities] for _ in need]
        for row in inside:
            model.add_exactly_one(row)
        for column, capacity in zip(zip(*inside, strict=True), capacities, strict=True):
            model.add(sum(vms * here for vms, here in zip(need, column, strict=True)) <= int(capacity))
        solver = sat.CpSolver()
        solver.parameters.num_workers, solver.parameters.max_deterministic_time = 1, 5.0
        return solver.solve(model) in (sat.OPTIMAL, sat.FEASIBLE)

    levels = np.unique(np.concatenate([np.arange(1, vms + 1) / vms for vms in max_vms]))
    return float(np.append(0.0, levels)[bisect_left(levels, True, key=lambda level: not fits(level))])
