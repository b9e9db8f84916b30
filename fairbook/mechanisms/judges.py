"""What runs of cbDRF and TV-DRF are held against: their rules stated a second time, for all steps at once.

Nothing here is shared with what makes the runs. T steps, n users, m resources, K machines everywhere.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairbook.mechanisms.readings import Grant
from fairbook.model.inputs import FITS, IDLE, NOTHING, OWN, FloatArray

Mask = NDArray[np.bool_]

# ------------------------------------------------------------------------------------------------- grants of cbDRF


def stopping(tasks: FloatArray, share: FloatArray, weights: FloatArray, rtol: float) -> Mask:
    """Say which resources prove that a user has its max-min fair tasks, (T, n, m).

    The resource is used up, the user needs it, and nobody that needs it stands at a higher level. It is used up to
    ``rtol`` of what those whom it stops have of it, so that their levels are right to ``rtol``, however light they are.
    """
    taken = tasks[:, :, None] * share
    level = (tasks * share.max(axis=2) / weights)[:, :, None]
    highest = np.where(share > 0, level, 0).max(axis=1, keepdims=True)
    stops: Mask = (share > 0) & (level >= highest * (1 - rtol))
    theirs = np.where(stops, taken, 0).sum(axis=1, keepdims=True)
    return stops & (np.abs(1 - taken.sum(axis=1, keepdims=True)) <= rtol * theirs + FITS)


def grant_faults(
    tasks: FloatArray,
    drf_tasks: FloatArray,
    psi: FloatArray,
    stops: NDArray[np.int64],
    demands: FloatArray,
    pool: FloatArray,
    grant: Grant,
    rtol: float,
) -> list[tuple[str, Mask]]:
    """Give faults, each with the phases and nodes (T, n) that have it; ``demands`` (T, n, m), ``pool`` (T, m).

    DRF amounts are max-min fair: that they are can be seen. ``"scaled"`` grants are psi times as much, ``"weighted"``
    ones max-min fair with weights psi, and ``"capped"`` ones max-min fair besides what punished nodes are given: psi of
    what one could run alone on an equal part. Cost O(T n m).
    """
    needs, there = demands > 0, pool[:, None] > 0
    present, blocked = np.asarray(needs.any(axis=2)), np.asarray((needs & ~there).any(axis=2))
    able: Mask = present & ~blocked
    nothing, capped = able & (psi == 0), able & (psi < 1) & (grant == "capped")
    share = np.where(able[:, :, None] & there, demands / np.where(there, pool[:, None], 1), 0)
    used, plain = (np.einsum("ti,tij->tj", one, share)[:, None] for one in (tasks, drf_tasks))
    fair = stopping(drf_tasks, share, np.ones_like(psi), rtol)
    if grant == "scaled":
        full, by_credit, right = needs & (used >= 1 - rtol), able, psi * drf_tasks
        free = (fair & (used < 1 - FITS / 10)).any(axis=2) | ~full.any(axis=2)  # what stops it in DRF is withheld
    else:
        weights = np.where((psi == 0) | (grant == "capped"), 1, psi / psi.max(axis=1, initial=5e-324, keepdims=True))
        full, free, by_credit = stopping(tasks, share, weights, rtol), nothing, capped | nothing
        alone = np.maximum(present.sum(axis=1, keepdims=True), 1) * np.where(able, share.max(axis=2), 1)
        right = np.where(capped, psi / alone, 0)
    stops_it = np.where(blocked[:, :, None], needs & ~there, full & ~nothing[:, :, None])
    named = np.clip(stops, 0, share.shape[2] - 1)
    said = (stops == named) & np.take_along_axis(stops_it, named[:, :, None], axis=2)[:, :, 0]
    said |= (stops == NOTHING) & (nothing | (able & free))
    return [
        ("{user} is granted what it cannot use", ~able & ~((tasks == 0) & (drf_tasks == 0))),
        ("what {user} needs is overdrawn", (needs & ~((used <= 1 + rtol) & (plain <= 1 + rtol))).any(axis=2)),
        ("the DRF amount of {user} is not max-min fair", able & ~fair.any(axis=2)),
        ("the grant of {user} is not max-min fair", able & ~by_credit & ~full.any(axis=2)),
        ("the grant of {user} is not what its credit makes", by_credit & ~(np.abs(tasks - right) <= rtol * right)),
        ("{user} is not stopped by {stop}", np.where(present, ~np.where(capped, stops == OWN, said), stops != IDLE)),
    ]


# ------------------------------------------------------------------------------------------------ credits of cbDRF


def credit_faults(run: Any, rtol: float) -> dict[str, Mask]:
    """Give what does not follow from the rest in a run of cbDRF, each with the phases (T,) that have it.

    Each number follows from those of its phase and of the one before. Cost O(T n m).
    """
    rule, need, shape = run.rule, run.demands > 0, run.tasks.shape
    start, cap, floor = rule.initial_credit, np.inf if rule.credit_cap is None else rule.credit_cap, rule.credit_floor

    def off(told: FloatArray, right: FloatArray, unit: Any) -> Mask:
        return ~(np.abs(told - right) <= rtol * (unit + np.abs(right))).all(axis=1)

    each, dominant = np.broadcast_to(run.ratios, need.shape), (run.demands / run.capacities).argmax(axis=2)
    several = {
        "least": np.where(need, each, 1).min(axis=2),
        "mean": np.where(need, each, 0).sum(axis=2) / np.maximum(need.sum(axis=2), 1),
        "dominant": np.take_along_axis(each, dominant[:, :, None], axis=2)[:, :, 0],
    }
    ratio = np.where((run.tasks > 0) & need.any(axis=2), several[rule.ratio], 1)
    lost = rule.step_down * (1 - ratio if rule.penalty == "graded" else 1)
    moved = np.where(run.complied, run.credit + rule.step_up, np.maximum(run.credit - lost, floor))
    right = np.vstack([np.full(shape[1:], start), np.minimum(moved, cap)])
    told, steps = np.vstack([run.credit, run.final_credit]), (rule.step_up, rule.step_down)
    apart = np.abs(told - right) - 1e-15 * np.maximum(right, start)  # rounding
    # credit as near to a mark as this is set to it
    snap = min([1e-9 * start, *(step / 1000 for step in steps if step > 0)])
    wrong = ~((apart <= rtol * max(steps)) | (np.isin(told, [start, cap, floor]) & (apart <= snap))).all(axis=1)
    held = np.einsum("ti,tij->tj", run.tasks, run.demands * (1 - run.ratios))
    kept = np.vstack([0 * held[:1], run.held_back[:-1]]) * (rule.held == "stays")
    return {
        "released": off(run.released, ratio, 1e-3),
        "complied": (run.complied != (ratio >= np.full(shape, rule.rho) - FITS)).any(axis=1),
        "credit_factor": off(run.credit_factor, np.minimum(run.credit, start) / start, 0),
        "credit": wrong[:-1],
        "final_credit": wrong[1:] & (np.arange(shape[0]) == shape[0] - 1),
        "held_back": off(run.held_back, held, run.capacities),
        "pool": off(run.pool, run.capacities - kept, run.capacities),
    }


# -------------------------------------------------------------------------------------------- accounts of TV-DRF


def shared_coefficients(amounts: FloatArray, alone: FloatArray, memory: bool = True) -> FloatArray:
    """Give beta after each period, (T, n): the least ratio over what a user would have had alone; without, 1 or inf."""
    used, owned = (np.cumsum(one, axis=0) if memory else one for one in (amounts, alone))
    some = owned > 0
    least = np.where(some, used / np.where(some, owned, 1), np.inf).min(axis=2)
    return np.where(some.any(axis=2) | used.any(axis=2), least, 1.0)


def amounts_alone(
    demands: FloatArray, tasks: FloatArray, machines: FloatArray, parts: FloatArray, reading: str, waits: bool
) -> FloatArray:
    """Give what each user would have in use without sharing, (T, n, m), in one of the three readings.

    Cost O(T n K m), where machines of one size and one ownership count as one.
    """
    if reading == "resources":
        asked, brought = demands * np.where(demands > 0, tasks[:, :, None], 0), parts @ machines
        if not waits:
            return np.minimum(asked, brought)
        # each resource serves a queue at one speed: done is, of all moments, the least that had come until then and
        # full service since
        full = np.arange(1, len(demands) + 1)[:, None, None] * brought
        done = full + np.minimum(np.minimum.accumulate(np.cumsum(asked, axis=0) - full, axis=0), 0)
        return np.diff(done, axis=0, prepend=0 * done[:1])
    m, own = machines.shape[1], np.zeros_like(demands)
    kinds, count = np.unique(np.hstack([machines, parts.T]), axis=0, return_counts=True)
    sizes, block = kinds[:, :m] * count[:, None], max(1, 10**6 // kinds.size)
    for first in range(0, len(parts), block):
        some = slice(first, first + block)
        own[:, some] = _run_alone(
            demands[:, some], tasks[:, some], kinds[:, m:].T[some, :, None] * sizes, reading, waits
        )
    return own


def _run_alone(demands: FloatArray, tasks: FloatArray, own: FloatArray, reading: str, waits: bool) -> FloatArray:
    """Run each user's queue on its own parts of machines, (n, K, m): group by group, spread as room allows."""
    (T, n), whole, slight = tasks.shape, reading == "whole_bundles", FITS * own
    left, ran, at = tasks.copy(), np.zeros_like(demands), np.zeros(n, np.int64)
    for t in range(T):
        room, going, at = own.copy(), np.arange(n), at if waits else np.full(n, t)
        while len(going):
            group = at[going], going
            need = np.where(demands[group].any(axis=1, keepdims=True), demands[group], 1)[:, None]
            over = room[going] + slight[going] * whole
            holds = np.where(need > 0, over / np.where(need > 0, need, 1), np.inf).min(axis=2)
            most = holds.sum(axis=1)
            runs = np.floor(np.minimum(most, left[group])) if whole else np.minimum(most, left[group])
            ran[t, going] += runs[:, None] * demands[group]
            left[group] -= runs
            part = (runs / np.where(most > 0, most, 1))[:, None, None]
            rest = room[going] - part * holds[:, :, None] * need
            room[going] = np.where(rest > slight[going], rest, 0)
            done = left[group] <= FITS * tasks[group]
            at[going] += done
            going = going[done & (at[going] <= t)]
    return ran
