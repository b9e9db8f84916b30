"""Summing up what an export tells: what each user asks for, and which machines and tasks count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import pandas as pd

from fairbook.exports.told import NOT_READY, Ask, Export


def _listed(text: str, names: Counter[str]) -> str:
    listed = ", ".join([*names][:9] + ["..."] * (len(names) > 9))
    return f"{names.total()} {text}{': ' * bool(listed)}{listed}"


def _in_service(export: Export, all_nodes: bool, notes: list[str]) -> dict[str, Any]:
    """Give the machines that count. A taint that no pod tolerates keeps all of them off."""
    free = {ask.tolerates for ask in export.asks if not ask.bound}
    closed = dict(export.closed)
    for name, taints in export.taints.items():
        if free and not any(_tolerated(taints, tolerates) for tolerates in free):
            closed.setdefault(name, "with a taint that no pod but daemons tolerates")
    end = "counted, as asked" if all_nodes else "left out unless all nodes are asked for"
    for why in dict.fromkeys(closed.values()):
        notes.append(_listed(f"{why}, and {end}", Counter(name for name in closed if closed[name] == why)))
    return {name: one for name, one in export.machines.items() if all_nodes or name not in closed}


def _tolerated(taints: Iterable[tuple[Any, ...]], tolerates: Iterable[tuple[Any, ...]]) -> bool:
    """Tell whether each taint (key, value, effect) is tolerated by one of (key, value or None for any, effect)."""
    return all(
        any(
            given in (key, None) and wanted in (value, None) and on in (effect, None) for given, wanted, on in tolerates
        )
        for key, value, effect in taints
    )


def _kept_off(asks: list[Ask], export: Export, machines: Iterable[str]) -> int:
    """Count the pods and jobs that may not use every machine which counts."""
    taints = {export.taints[name] for name in machines if name in export.taints}
    rooms = {export.rooms[name] for name in machines if name in export.rooms}
    return sum(
        ask.times
        for ask in asks
        if ask.kept
        or any(not _tolerated(some, ask.tolerates) for some in taints)
        or (ask.rooms and any(not ask.rooms & some for some in rooms))
    )


def summed_up(export: Export, all_nodes: bool = False) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Sum up what each user asks for, as :func:`fairbook.read_export` gives it, and what each machine has.

    What asks for nothing, or for what no machine has, is left out.
    """
    notes: list[str] = []
    machines = _in_service(export, all_nodes, notes)
    lost = {*export.notes[NOT_READY], *(export.machines.keys() - machines.keys())}
    notes += [_listed(text, names) for text, names in export.notes.items() if names]
    asks = [ask for ask in export.asks if not (ask.bound and ask.place in lost)]
    if alone := len(export.asks) - len(asks):
        notes.append(f"{alone} that belong to a node which is left out (daemons, static pods) do not count")
    asked = pd.DataFrame([ask[:3] for ask in asks], columns=["user", "times", "place"])
    amounts = pd.DataFrame([ask.amounts for ask in asks], index=asked.index, dtype=float).fillna(0.0)
    if waits := int(asked["place"].isin(lost).sum()):
        notes.append(f"{waits} on nodes that are left out count as waiting")
    there = {name: None for one in machines.values() for name in one}
    counts, amounts = _what_counts(asked["times"], amounts, machines, there, notes)
    kept = _kept_off([ask for ask, counted in zip(asks, counts, strict=True) if counted], export, machines)
    if kept and machines:
        notes.append(
            f"{kept} may not use every machine (selectors, affinity, taints, features, partitions), which is not "
            "looked at; places that they are given may not be allowed"
        )
    asked, amounts = asked[counts], amounts[counts]
    wanted = [name for name in amounts if amounts[name].any()] if export.asks else there
    resources = sorted(wanted, key=lambda name: (name not in ("cpu", "memory"), name))
    amounts = amounts.reindex(columns=resources)
    times = asked["times"].astype(int)
    runs = times * ~asked["place"].isin(["", *lost])
    of_all = (times, amounts.mul(times, axis=0), amounts.mul(runs, axis=0))
    count, total, held = (values.groupby(asked["user"], sort=False).sum() for values in of_all)
    rows = [[float(one[name]) for name in resources] for one in machines.values()]
    table = pd.DataFrame(rows, pd.Index(list(machines), name="machine"), resources, dtype=float)
    taken = {"max_tasks", *(f"held_{name}" for name in resources)}
    apart = {name: f"{name} (resource)" for name in resources if name in taken}
    mean, held = total.div(count, axis=0).rename(columns=apart), held.rename(columns=apart).add_prefix("held_")
    users = pd.concat([mean, count.rename("max_tasks"), held], axis=1)
    users.attrs["notes"] = notes
    return users, table.rename(columns=apart)


def _what_counts(times: Any, amounts: Any, machines: dict[str, Any], there: Any, notes: list[str]) -> tuple[Any, Any]:
    """Tell which pods or jobs count, and give the amounts without what is no resource here."""
    small = [name for name, one in machines.items() if 0 < one["memory"] <= 1 / 1024]
    if small and len(small) == len(machines):
        notes.append("no machine's memory is managed (RealMemory=1), so memory is no resource here")
        there.pop("memory")
        amounts = amounts.drop(columns="memory", errors="ignore")
    if "pods" not in there:
        amounts = amounts.drop(columns="pods", errors="ignore")
    for name in [name for name in amounts if ":" in name]:
        base = name.partition(":")[0]
        if not any(other.startswith(f"{base}:") for other in there):
            of_kind = times[amounts.pop(name) > 0].sum()
            notes.append(f"no machine tells types of {base!r}; {of_kind} that ask for {name!r} ask for {base!r}")
    counts = (amounts != 0).any(axis=1)
    if idle := times[~counts].sum():
        notes.append(f"{idle} that request nothing do not count")
    for name in sorted(set(amounts) - set(there)) if there else ():
        notes.append(f"no machine has any {name!r}; {times[amounts[name] > 0].sum()} that ask are left out")
        counts &= amounts[name] == 0
    return counts, amounts
