"""What ``--explain`` says of a user: what stops it, and what a little more of that would change."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from fairbook.cli.common import Refused, few, shown
from fairbook.errors import InvalidInput

if TYPE_CHECKING:
    from fairbook.cli.allocate import Given

_MOST_CLASSES = 4  # of machines that are tried
_MOST_NAMED = 3  # of users that would have more instead


def sentences(given: Given, result: Any, wanted: list[str], k: int | None = None) -> dict[Any, str]:
    """Give the text about each user that is asked for, or each user and period; about all where nobody is named."""
    users = given.users
    told: dict[Any, str] = {}
    kept: dict[Any, Any] = {}
    weights = given.arguments.get("weights") if given.rule.kind != "arrivals" else None
    for t, i in _asked(given, wanted, k):
        text = _why(given, result, i, t, k)
        if weights is not None:
            text += f" Its weight is {weights.iloc[i]:.6g} of {weights.sum():.6g}."
        now = _tasks(result, t, k)
        for key, more, changes in _more(given, result, i, t, k):
            with suppress(InvalidInput):  # what is added may be more than the mechanism takes
                kept[key] = kept.get(key) or given.run(**changes)
                text += f" With {more} {_would(given, kept[key], now, i, t, k)}."
        told[(users.periods[t], users.names[i]) if users.period else users.names[i]] = text
    return told


def _asked(given: Given, wanted: list[str], k: int | None) -> Iterator[tuple[int, int]]:
    """Read USER:PERIOD, or USER for all its periods; none of them: everyone in the last period."""
    users = given.users
    if not wanted:
        yield from ((len(users.periods) - 1, i) for i in range(k or len(users.names)))
    for text in wanted:
        name, colon, period = text.rpartition(":")
        if text in users.names[: k or None]:
            yield from ((t, users.names.index(text)) for t in range(len(users.periods)))
        elif colon and users.period and name in users.names and period in users.periods:
            yield users.periods.index(period), users.names.index(name)
        else:
            meant = f", nor USER:{users.period.upper()} of one" if users.period else f" after arrival {k}" if k else ""
            raise Refused(
                f"--explain {shown(text)} is no user of {users.table.source} ({few(users.names[: k or None])}){meant}"
            )


def _tasks(result: Any, t: int, k: int | None) -> Any:
    """Give how many tasks, or virtual machines, each user has."""
    if k is not None:
        return result.tasks_at(k)
    tasks = result.vms if hasattr(result, "vms") else result.tasks
    return tasks[t] if tasks.ndim == 2 else tasks


def _would(given: Given, run: Any, now: Any, i: int, t: int, k: int | None) -> str:
    """Say what a user would have in a run with a little more; where that is no more, who has it and what stops it."""
    then = _tasks(run, t, k)
    gains = np.where(np.abs(then - now) > 1e-9 * np.maximum(then, now), then - now, 0.0)
    said = f"it would run {then[i]:.6g}" if gains[i] else "nothing would change for it"
    if gains[i] > 0:
        return said
    names = [given.users.names[j] for j in np.argsort(-gains, kind="stable")[:_MOST_NAMED] if gains[j] > 0]
    why = [f"{', '.join(names)} would run more"] if names else []
    if given.rule.kind == "machines":
        full = f"no machine would have room for another{'' if getattr(run, 'full', True) else ' where it may go'}"
        why.append(full if then[i] < run.cell.max_tasks[i] else "its own bound would stop it")
    elif given.rule.kind != "clusters" and (short := _short(given, run, i, t, k)):
        why.append(f"{' and '.join(given.users.resources[j] for j in short)} would stop it")
    return said + (", fewer than now" if gains[i] else "") + (": " if why else "") + ", and ".join(why)


def _why(given: Given, result: Any, i: int, t: int, k: int | None) -> str:
    """Say what stops a user."""
    users, name = given.users, given.users.names[i]
    if users.period:
        text, word, label = result.explain(name, t), result.step, users.periods[t]
        if f" in {word} {t}" not in text[len(name) :]:
            return f"{word.capitalize()} {label}: {text}"
        return name + text[len(name) :].replace(f" in {word} {t}", f" in {word} {label}", 1)
    if getattr(result, "rule", "") != "max_min":
        return str(result.explain(name) if k is None else result.explain(name, k))
    largest = (result.demands[i] / result.capacities).argmax()
    has = f"{name} runs {result.tasks[i]:.6g} tasks, {result.dominant_shares[i]:.1%} of all {users.resources[largest]}"
    if result.bottlenecks[i] == -1:
        return f"{has}: its own bound stops it."
    full = [users.resources[j] for j in _short(given, result, i, t, k)]
    return f"{has}: it needs {' and '.join(full)}, all of which {'is' if len(full) == 1 else 'are'} in use."


def _short(given: Given, result: Any, i: int, t: int, k: int | None) -> list[int]:
    """Give the resources that stop a user: it needs them, and they are used up."""
    if given.rule.kind == "arrivals":
        result = result.at(k)
    at, slack = ((t, i), result.slack[t]) if given.users.period else (i, result.slack)
    demands, named = result.demands[at], result.bottlenecks[at]
    if named < 0:
        return []
    whole = getattr(result, "rule", "") == "whole_tasks"
    short = (
        demands > slack + 1e-12 * result.capacities if whole else (demands > 0) & (slack <= 1e-9 * result.capacities)
    )
    short[named] = True
    return [int(j) for j in short.nonzero()[0]]


def _more(given: Given, result: Any, i: int, t: int, k: int | None) -> Iterator[tuple[Any, str, dict[str, Any]]]:
    """Give what a little more could be of what stops a user: a key, words, and arguments that change."""
    kind, users, arguments = given.rule.kind, given.users, given.arguments
    if kind == "clusters":
        j, sizes = int(result.cluster[i]), arguments["capacities"].copy()
        if result.vms[i] < result.requests.max_vms[i]:
            j = j if j >= 0 else int(sizes.to_numpy().argmax())
            sizes.iloc[j] += 1
            yield j, f"one more VM on {sizes.index[j]}", {"capacities": sizes}
        return
    bound = kind == "machines" and result.tasks[i] >= result.cell.max_tasks[i]
    if bound or (kind == "pool" and result.bottlenecks[i] == -1):
        bounds = arguments["max_tasks"].copy()
        bounds.iloc[i] += 1
        yield ("bound", i), f"a bound of {bounds.iloc[i]:.6g} tasks", {"max_tasks": bounds}
    elif kind == "machines":
        large = (result.cell.machines >= result.cell.demands[i]).all(axis=1).nonzero()[0]
        for line in large[:_MOST_CLASSES].tolist():
            counts = list(arguments["machine_counts"])
            counts[line] += 1
            yield line, f"one more machine {result.classes[line]}", {"machine_counts": counts}
    elif kind == "periods":
        if (j := int(result.bottlenecks[t, i])) >= 0:
            yield j, *_larger(result, j)
    else:
        for j in _short(given, result, i, t, k):
            pool = given.pool.copy()
            pool.iloc[j] += 1
            more = f"one more {users.resources[j]} ({pool.iloc[j]:.6g} instead of {given.pool.iloc[j]:.6g})"
            yield j, more, {"capacities": pool}


def _larger(run: Any, j: int) -> tuple[str, dict[str, Any]]:
    """Give the largest machine one more of a resource; where all are one pool, that pool."""
    machines, parts, name = run.machines.copy(), run.contributions, run.resources[j]
    if run.machine_use is None:
        brought = parts @ machines[:, j] / machines[:, j].sum()
        machines = run.capacities[None, :].copy()
        machines[0, j] += 1
        return f"one more {name}", {"machines": machines, "contributions": brought}
    k = int(machines[:, j].argmax())
    machines[k, j] += 1
    return f"one more {name} on machine {run.machine_names[k]}", {"machines": machines, "contributions": parts}
