"""The compiled part of the Google 2011 reader: check, parse and deduplicate task events in one pass over the bytes.

All functions that call each other are in this file, because numba's cache does not notice a change in another one.
The grammar here is a subset of `google2011._parse_line`: a line that it does not take at once (an error, a number of
20 digits, a request of 16) goes back to the caller, which parses that line in Python and either raises or inserts it.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np
from numba.core.cpu import CPUTargetOptions
from numpy.typing import NDArray

__all__ = [
    "DONE",
    "GROW_GROUPS",
    "GROW_JOBS",
    "GROW_TASKS",
    "GROW_USERS",
    "LONGEST_USER",
    "ODD_LINE",
    "Tables",
    "job_group_pairs",
    "new_tables",
    "rebuild_slots",
    "scan",
    "submit",
]

LONGEST_USER = 64

# What `scan` and `submit` return.
DONE, ODD_LINE, GROW_JOBS, GROW_USERS, GROW_GROUPS, GROW_TASKS = range(6)

# Entries of Tables.tally.
JOBS, USERS, GROUPS, TASKS, LINES, SUBMITS, LACKING, LAST_TIME = range(8)

_ABSENT = -1
_END_OF_TRACE = np.int64(2**63 - 1)
_POWERS = 10.0 ** np.arange(23)  # exact in binary64, so one division or product rounds correctly


# These functions allocate nothing and keep nothing, but numba counts references to every array at every call,
# atomically: that takes half the time. The option that stops it is private to numba, so its absence must not matter.
_compiled = numba.njit(cache=True, nogil=True, **({"_nrt": False} if hasattr(CPUTargetOptions, "_nrt") else {}))


class Tables(NamedTuple):
    """Open-addressing hash tables: `*_slot` holds entry numbers (-1 is free), the other columns are dense.

    A *group* is a distinct (user, CPU request, memory request). Slots are at most half full.
    """

    tally: NDArray[np.int64]
    job_slot: NDArray[np.int32]
    job_id: NDArray[np.int64]
    job_user: NDArray[np.int32]
    job_group: NDArray[np.int32]
    user_slot: NDArray[np.int32]
    user_text: NDArray[np.uint8]
    user_length: NDArray[np.int32]
    group_slot: NDArray[np.int32]
    group_user: NDArray[np.int32]
    group_cpu: NDArray[np.float64]
    group_memory: NDArray[np.float64]
    task_slot: NDArray[np.int32]
    task_key: NDArray[np.int64]
    task_time: NDArray[np.int64]
    task_group: NDArray[np.int32]
    task_changed: NDArray[np.bool_]


def new_tables(jobs: int = 1 << 15, users: int = 1 << 11, groups: int = 1 << 14, tasks: int = 1 << 20) -> Tables:
    """Make empty tables; the capacities are powers of two and the caller doubles them when asked to."""

    def slots(n: int) -> NDArray[np.int32]:
        return np.full(2 * n, _ABSENT, np.int32)

    return Tables(
        np.zeros(8, np.int64),
        slots(jobs),
        np.empty(jobs, np.int64),
        np.empty(jobs, np.int32),
        np.empty(jobs, np.int32),
        slots(users),
        np.empty((users, LONGEST_USER), np.uint8),
        np.empty(users, np.int32),
        slots(groups),
        np.empty(groups, np.int32),
        np.empty(groups, np.float64),
        np.empty(groups, np.float64),
        slots(tasks),
        np.empty(tasks, np.int64),
        np.empty(tasks, np.int64),
        np.empty(tasks, np.int32),
        np.empty(tasks, np.bool_),
    )


@_compiled
def _mix(key):  # type: ignore[no-untyped-def]
    """Spread a 64-bit key over all bits (the finaliser of splitmix64)."""
    z = np.uint64(key)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@_compiled
def _hash_text(text, start, stop):  # type: ignore[no-untyped-def]
    h = np.uint64(14695981039346656037)
    for p in range(start, stop):
        h = (h ^ np.uint64(text[p])) * np.uint64(1099511628211)
    return _mix(h)


@_compiled
def _hash_group(user, cpu, memory):  # type: ignore[no-untyped-def]
    # Collisions cost time only, so the fraction bits beyond 2**-40 may be lost; min() keeps the cast in range.
    a = np.int64(min(cpu, 1e6) * 2.0**40)
    b = np.int64(min(memory, 1e6) * 2.0**40)
    return _mix(np.uint64(_mix(np.uint64(_mix(a)) + np.uint64(b))) + np.uint64(user))


@_compiled
def _same_user(user_text, user_length, user, text, start, stop):  # type: ignore[no-untyped-def]
    if user_length[user] != stop - start:
        return False
    for k in range(stop - start):  # noqa: SIM110 - numba compiles loops, not generators
        if user_text[user, k] != text[start + k]:
            return False
    return True


@_compiled
def submit(t, text, start, stop, time, job_id, index, known, cpu, memory):  # type: ignore[no-untyped-def]
    """Insert one SUBMIT event; its user is ``text[start:stop]``. Changes nothing if a table must grow first."""
    count = t.tally
    if count[JOBS] == t.job_id.size:
        return GROW_JOBS
    if count[USERS] == t.user_length.size:
        return GROW_USERS
    if count[GROUPS] == t.group_cpu.size:
        return GROW_GROUPS
    if count[TASKS] == t.task_key.size:
        return GROW_TASKS

    mask = np.int64(t.job_slot.size - 1)
    s = np.int64(_mix(job_id)) & mask
    job = np.int64(t.job_slot[s])
    while job != _ABSENT and t.job_id[job] != job_id:
        s = (s + 1) & mask
        job = np.int64(t.job_slot[s])
    if job == _ABSENT:
        job = count[JOBS]
        count[JOBS] += 1
        t.job_slot[s] = job
        t.job_id[job] = job_id
        t.job_user[job] = _ABSENT
        t.job_group[job] = _ABSENT

    group = np.int64(_ABSENT)
    if known:
        # The job's last user and request are nearly always the right ones: no hashing of 44 characters then.
        user = np.int64(t.job_user[job])
        if user == _ABSENT or not _same_user(t.user_text, t.user_length, user, text, start, stop):
            mask = np.int64(t.user_slot.size - 1)
            s = np.int64(_hash_text(text, start, stop)) & mask
            user = np.int64(t.user_slot[s])
            while user != _ABSENT and not _same_user(t.user_text, t.user_length, user, text, start, stop):
                s = (s + 1) & mask
                user = np.int64(t.user_slot[s])
            if user == _ABSENT:
                user = count[USERS]
                count[USERS] += 1
                t.user_slot[s] = user
                t.user_length[user] = stop - start
                for k in range(stop - start):
                    t.user_text[user, k] = text[start + k]
            t.job_user[job] = user
        group = np.int64(t.job_group[job])
        if (
            group == _ABSENT
            or t.group_user[group] != user
            or t.group_cpu[group] != cpu
            or t.group_memory[group] != memory
        ):
            mask = np.int64(t.group_slot.size - 1)
            s = np.int64(_hash_group(user, cpu, memory)) & mask
            group = np.int64(t.group_slot[s])
            while group != _ABSENT and not (
                t.group_user[group] == user and t.group_cpu[group] == cpu and t.group_memory[group] == memory
            ):
                s = (s + 1) & mask
                group = np.int64(t.group_slot[s])
            if group == _ABSENT:
                group = count[GROUPS]
                count[GROUPS] += 1
                t.group_slot[s] = group
                t.group_user[group] = user
                t.group_cpu[group] = cpu
                t.group_memory[group] = memory
            t.job_group[job] = group

    key = (job << 32) | index
    mask = np.int64(t.task_slot.size - 1)
    s = np.int64(_mix(key)) & mask
    task = np.int64(t.task_slot[s])
    while task != _ABSENT and t.task_key[task] != key:
        s = (s + 1) & mask
        task = np.int64(t.task_slot[s])
    if task == _ABSENT:
        task = count[TASKS]
        count[TASKS] += 1
        t.task_slot[s] = task
        t.task_key[task] = key
        t.task_time[task] = time
        t.task_group[task] = group
        t.task_changed[task] = False
    elif known:
        kept = np.int64(t.task_group[task])
        if kept == _ABSENT:
            t.task_time[task] = time
            t.task_group[task] = group
        else:
            if t.group_cpu[kept] != cpu or t.group_memory[kept] != memory:
                t.task_changed[task] = True
            # Earliest wins; among equal times the one read first.
            if time < t.task_time[task]:
                t.task_time[task] = time
                t.task_group[task] = group
    count[SUBMITS] += 1
    if not known:
        count[LACKING] += 1
    return DONE


@_compiled
def _integer(text, p):  # type: ignore[no-untyped-def]
    """Read digits from p on: value, end, fitness (at most 18 digits)."""
    start = p
    v = np.int64(0)
    c = np.int64(text[p]) - 48
    while 0 <= c <= 9:
        v = v * 10 + c
        p += 1
        c = np.int64(text[p]) - 48
    return v, p, p - start <= 18


@_compiled
def _decimal(text, p):  # type: ignore[no-untyped-def]
    """Read an unsigned decimal from p on: digits, power of ten, end, fitness; an empty field ends where it began."""
    start = p
    v = np.int64(0)
    c = np.int64(text[p]) - 48
    while 0 <= c <= 9:
        v = v * 10 + c
        p += 1
        c = np.int64(text[p]) - 48
    digits = p - start
    scale = np.int64(0)
    if c == -2:
        p += 1
        point = p
        c = np.int64(text[p]) - 48
        while 0 <= c <= 9:
            v = v * 10 + c
            p += 1
            c = np.int64(text[p]) - 48
        scale = point - p
        digits += p - point
        if digits == 0:
            return v, scale, p, False
    if p == start:
        return v, scale, p, True
    # 15 digits fit 2**53 exactly, and so does 10**22: the quotient is then the nearest double.
    fit = 0 < digits <= 15
    if c == 53 or c == 21:
        p += 1
        negative = text[p] == 45
        if negative or text[p] == 43:
            p += 1
        e, q, _ = _integer(text, p)
        if q == p or q - p > 4:
            return v, scale, q, False
        p = q
        scale += -e if negative else e
    return v, scale, p, fit and -22 <= scale <= 22


@_compiled
def _value(v, scale):  # type: ignore[no-untyped-def]
    """Return the double nearest to v * 10**scale, for what `_decimal` calls fit."""
    if scale < 0:
        return v / _POWERS[-scale]
    return v * _POWERS[scale]


@_compiled
def _word(text, p, stop):  # type: ignore[no-untyped-def]
    """Find the end of a text field, -1 if a byte in it is not allowed."""
    # The published hashes have 44 characters: a loop of fixed length without a way out runs on vector registers.
    if p + 44 < stop and text[p + 44] == 44:
        bad = 0
        for k in range(44):
            c = text[p + k]
            bad |= (c <= 32) | (c >= 127) | (c == 34) | (c == 44)
        if bad == 0:
            return p + 44
    start = p
    while text[p] != 44:
        c = text[p]
        if c <= 32 or c >= 127 or c == 34:
            return -1
        p += 1
    return p if p - start <= LONGEST_USER else -1


@_compiled
def scan(text, p, stop, insert, t):  # type: ignore[no-untyped-def]
    """Check the lines of ``text[p:stop]`` (whole lines) and, with `insert`, take in their SUBMIT events.

    Returns where it stopped (the start of a line) and why. Every loop over bytes ends at the newline that closes the
    block at the latest, so nothing is read beyond it.
    """
    comma = 44
    count = t.tally
    while p < stop:
        line = p
        time, q, fit = _integer(text, p)
        if q == p or not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        _, q, fit = _integer(text, p)  # missing info
        if not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        job, q, fit = _integer(text, p)
        if q == p or not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        index, q, fit = _integer(text, p)
        if q == p or not fit or text[q] != comma or index >= 2**31:
            return line, ODD_LINE
        p = q + 1
        _, q, fit = _integer(text, p)  # machine ID
        if not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        event, q, fit = _integer(text, p)
        if q == p or text[q] != comma or event > 8 or not fit:
            return line, ODD_LINE
        p = q + 1
        user = p
        user_end = _word(text, p, stop)
        if user_end < 0:
            return line, ODD_LINE
        p = user_end + 1
        _, q, fit = _integer(text, p)  # scheduling class
        if not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        _, q, fit = _integer(text, p)  # priority
        if q == p or not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        cpu, cpu_scale, q, fit = _decimal(text, p)
        if not fit or text[q] != comma:
            return line, ODD_LINE
        known = q > p
        p = q + 1
        memory, memory_scale, q, fit = _decimal(text, p)
        if not fit or text[q] != comma:
            return line, ODD_LINE
        known = known and q > p
        p = q + 1
        _, _, q, fit = _decimal(text, p)  # disk space
        if not fit or text[q] != comma:
            return line, ODD_LINE
        p = q + 1
        _, q, fit = _integer(text, p)  # different machines
        if not fit:
            return line, ODD_LINE
        p = q
        if text[p] == 13:
            p += 1
        if text[p] != 10:
            return line, ODD_LINE
        p += 1
        if insert:
            if event == 0:
                c = _value(cpu, cpu_scale)
                m = _value(memory, memory_scale)
                status = submit(t, text, user, user_end, time, job, index, known, c, m)
                if status != DONE:
                    return line, status
            if time > count[LAST_TIME] and time != _END_OF_TRACE:
                count[LAST_TIME] = time
        count[LINES] += 1
    return p, DONE


@_compiled
def rebuild_slots(t, jobs, users, groups, tasks):  # type: ignore[no-untyped-def]
    """Fill the named (empty, larger) slot tables again from the dense columns."""
    count = t.tally
    if jobs:
        mask = np.int64(t.job_slot.size - 1)
        for i in range(count[JOBS]):
            s = np.int64(_mix(t.job_id[i])) & mask
            while t.job_slot[s] != _ABSENT:
                s = (s + 1) & mask
            t.job_slot[s] = i
    if users:
        mask = np.int64(t.user_slot.size - 1)
        for i in range(count[USERS]):
            s = np.int64(_hash_text(t.user_text[i], 0, t.user_length[i])) & mask
            while t.user_slot[s] != _ABSENT:
                s = (s + 1) & mask
            t.user_slot[s] = i
    if groups:
        mask = np.int64(t.group_slot.size - 1)
        for i in range(count[GROUPS]):
            s = np.int64(_hash_group(np.int64(t.group_user[i]), t.group_cpu[i], t.group_memory[i])) & mask
            while t.group_slot[s] != _ABSENT:
                s = (s + 1) & mask
            t.group_slot[s] = i
    if tasks:
        mask = np.int64(t.task_slot.size - 1)
        for i in range(count[TASKS]):
            s = np.int64(_mix(t.task_key[i])) & mask
            while t.task_slot[s] != _ABSENT:
                s = (s + 1) & mask
            t.task_slot[s] = i


@_compiled
def job_group_pairs(t, tasks_per_group, pairs):  # type: ignore[no-untyped-def]
    """Count the tasks of each group and write the (job, group) pairs, runs of equal ones once, to `pairs`.

    Returns the number of pairs, of tasks without a request and of tasks whose requests differ. `pairs` may be
    ``t.task_key`` itself: entry i is read before any entry up to i is written, and the keys are not needed again.
    """
    n = 0
    lacking = 0
    changed = 0
    last = np.int64(-1)
    for i in range(t.tally[TASKS]):
        changed += t.task_changed[i]
        group = np.int64(t.task_group[i])
        if group == _ABSENT:
            lacking += 1
            continue
        tasks_per_group[group] += 1
        pair = ((t.task_key[i] >> 32) << 32) | group
        if pair != last:
            pairs[n] = pair
            n += 1
            last = pair
    return n, lacking, changed
