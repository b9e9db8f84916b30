"""What ``--explain`` says of a user: what stops it, and what a little more of that would change.

Every sentence is made from the rows that are printed as well; a run with a little more serves all users whom the same
thing stops, so the work is linear in users.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from fairbook.cli.common import Refused, few, short, shown
from fairbook.cli.given import Given
from fairbook.errors import InvalidInput

_MOST_SHAPES = 4  # of machines that are tried
_MOST_NAMED = 3  # of users that would have more instead
#: What the rows call what stops a user, in words.
_STOPS = {
    "own bound": "it has no more tasks",
    "nothing": "nothing stops it, but the mechanism gives it no more",
    "credit": "its credit is spent",
    "no machine": "its next task fits on no machine, though the pool as a whole has room",
    "no room": "no machine has room for another",
    "no room where it may go": "no machine where it may go has room for another",
}
#: What else the rows say, by a column that is there.
_FACTS = {
    "raised_at": "Arrival {raised_at} raised it to this level.",
    "drf_tasks": "DRF alone would give it {drf_tasks}, and its credit factor is {credit_factor}.",
    "guaranteed": "Of its share {guaranteed} is guaranteed and {borrowed} borrowed; it donates {donated} and earns "
    "{earned}, with a credit of {credit} before.",
    "sharing_coefficient": "So far it has {sharing_coefficient} times what it would have had alone.",
}


class _Seen:
    """Rows of a run at one time, and what is used up there; asked for many users, so worked out once."""

    def __init__(self, given: Given, rows: pd.DataFrame, t: int, pool: pd.Series) -> None:
        n = len(rows) // len(given.users.periods)
        self.rows = rows.iloc[t * n : (t + 1) * n]
        self.tasks = self.rows["tasks" if "tasks" in rows else "vms"].to_numpy(dtype=float)
        self.full = np.zeros((n, 0), dtype=bool)
        if given.users.resources:
            demands = given.users.demands()
            demands = demands[t] if given.users.period else demands
            left = pool.to_numpy() - self.rows[given.use].to_numpy(dtype=float).sum(axis=0)
            self.full = (demands > 0) & (left <= 1e-9 * pool.to_numpy())
        else:
            self.left = pool.sub(self.rows.groupby("cluster")["vms"].sum(), fill_value=0)
        stops = self.rows.get("bottleneck")
        for j, name in enumerate(given.users.resources if stops is not None else ()):
            self.full[:, j] |= (stops == name).to_numpy()

    def gains(self, now: _Seen) -> tuple[Any, list[str]]:
        """Give what everyone has more than now, and who has most more."""
        more = self.tasks - now.tasks
        more = np.where(np.abs(more) > 1e-9 * np.maximum(self.tasks, now.tasks), more, 0.0)
        most = np.argsort(-more, kind="stable")[:_MOST_NAMED]
        names = self.rows.index.get_level_values("user")
        return more, [names[i] for i in most if more[i] > 0]


def sentences(given: Given, rows: pd.DataFrame, wanted: list[str]) -> dict[Any, str]:
    """Give the text about each user that is asked for, or each user and period; about all where nobody is named."""
    told: dict[Any, str] = {}
    seen: dict[int, _Seen] = {}
    runs: dict[Any, pd.DataFrame | None] = {}
    kept: dict[Any, Any] = {}
    weights = None if given.arrive else given.arguments.get("weights")
    for t, i in _asked(given, wanted):
        now = seen.get(t) or seen.setdefault(t, _Seen(given, rows, t, given.pool))
        label = now.rows.index[i]
        text = _why(given, now, i)
        if weights is not None:
            text += f" Its weight is {short(weights.iloc[i])} of {short(weights.sum())}."
        for key, more, changes in _more(given, now, i):
            if key not in runs:
                runs[key] = None
                with suppress(InvalidInput):  # what is added may be more than the mechanism takes
                    runs[key] = given.run(**changes)[1]
            frame = runs[key]
            if frame is not None:
                if (key, t) not in kept:
                    then = _Seen(given, frame, t, changes.get("capacities", given.pool))
                    kept[key, t] = then, *then.gains(now)
                text += f" With {more} {_would(given, kept[key, t], i)}."
        told[label] = text
    return told


def _asked(given: Given, wanted: list[str]) -> Iterator[tuple[int, int]]:
    """Read USER:PERIOD, or USER for all its periods; none of them: everyone in the last period."""
    users = given.users
    at = {name: i for i, name in enumerate(users.names)}
    if not wanted:
        yield from ((len(users.periods) - 1, i) for i in range(len(at)))
    for text in wanted:
        name, colon, period = text.rpartition(":")
        if text in at:
            yield from ((t, at[text]) for t in range(len(users.periods)))
        elif colon and users.period and name in at and period in users.periods:
            yield users.periods.index(period), at[name]
        else:
            meant = f", nor USER:{users.period.upper()} of one" if users.period else ""
            raise Refused(f"--explain {shown(text)} is no user of {users.table.source} ({few(list(at))}){meant}")


def _why(given: Given, now: _Seen, i: int) -> str:
    """Say what a user has, and what stops it."""
    row, name, names = now.rows.iloc[i].to_dict(), now.rows.index[i], given.users.resources
    if not names:
        return _virtual(name, row, now)
    name = f"{name[0]}: {name[1]}" if given.users.period else name
    stop = row.get("bottleneck", row.get("stopped_by"))
    full = [names[j] for j in now.full[i].nonzero()[0]]
    text = f"{name} runs {short(row['tasks'])} tasks, {row['dominant_share']:.1%} of all {row['dominant']}"
    if stop in _STOPS and stop not in names:
        text += f": {_STOPS[stop]}"
    elif full:
        text += f": it needs more {' and '.join(full)} than is left"
    numbers = {key: short(value) if isinstance(value, float) else value for key, value in row.items()}
    facts = [fact.format(**numbers) for column, fact in _FACTS.items() if column in row]
    return " ".join([f"{text}.", *facts])


def _virtual(name: str, row: dict[str, Any], now: _Seen) -> str:
    has, cluster = f"{name} has {row['vms']:g} of {row['max_vms']:g} VMs ({row['fraction']:.1%})", row["cluster"]
    if not cluster:
        return f"{name} was turned away: it needs at least {row['minimum']:g} VMs, and so many are free nowhere."
    if row["vms"] >= row["max_vms"]:
        return f"{has}: all that it asked for."
    left = now.left.get(cluster, 0.0)
    return f"{has} on {cluster}, " + (f"where {left:g} VMs are free." if left > 1e-9 else "used up.")


def _would(given: Given, more: tuple[_Seen, Any, list[str]], i: int) -> str:
    """Say what a user would have in a run with a little more; where that is no more, who has it and what stops it."""
    then, gains, names = more
    said = f"it would run {short(then.tasks[i])}" if gains[i] else "nothing would change for it"
    if gains[i] > 0:
        return said
    why = [f"{', '.join(names)} would run more"] if names else []
    full = [given.users.resources[j] for j in then.full[i].nonzero()[0]]
    if "stopped_by" in then.rows:
        bound = then.rows["stopped_by"].iloc[i] == "own bound"
        why.append("its own bound would stop it" if bound else "no machine would have room for another")
    elif full:
        why.append(f"{' and '.join(full)} would stop it")
    return said + (", fewer than now" if gains[i] else "") + (": " if why else "") + ", and ".join(why)


def _more(given: Given, now: _Seen, i: int) -> Iterator[tuple[Any, str, dict[str, Any]]]:
    """Give what a little more could be of what stops a user: a key, words, and arguments that change."""
    row, arguments, machines = now.rows.iloc[i], given.arguments, given.machines
    stop = row.get("bottleneck", row.get("stopped_by"))
    if stop in ("own bound", "credit", "no tasks"):
        return
    if not given.users.resources:
        if row["vms"] < row["max_vms"]:
            sizes = arguments["capacities"].copy()
            name = row["cluster"] if row["cluster"] in sizes.index else sizes.idxmax()
            sizes[name] += 1
            yield name, f"one more VM on {name}", {"capacities": sizes}
    elif machines is not None and "machine_counts" in arguments:
        need = given.users.demands()[i]
        shapes = dict.fromkeys(map(tuple, machines.capacities.tolist()))  # those that are alike are tried once
        large = [shape for shape in shapes if (np.array(shape) >= need).all()]
        for shape in large[:_MOST_SHAPES]:
            line, counts = machines.capacities.tolist().index(list(shape)), list(arguments["machine_counts"])
            counts[line] += 1
            yield line, f"one more machine {machines.names[line]}", {"machine_counts": counts}
    elif "machines" in arguments:
        if row["bottleneck"] in given.users.resources:
            yield row["bottleneck"], *_larger(given, row["bottleneck"])
    else:
        for j in now.full[i].nonzero()[0]:
            pool, name = given.pool.copy(), given.users.resources[j]
            pool[name] += 1
            more = f"one more {name} ({short(pool[name])} instead of {short(given.pool[name])})"
            yield name, more, {"capacities": pool}


def _larger(given: Given, name: str) -> tuple[str, dict[str, Any]]:
    """Give the largest machine one more of a resource; where they must be of one shape, all of them as one."""
    machines, parts = given.arguments["machines"].copy(), given.arguments["contributions"]
    if given.terms.get("method") == "lexicographic":
        brought = parts @ machines[name].to_numpy() / machines[name].sum()
        machines = machines.sum().to_frame("all").T
        machines[name] += 1
        return f"one more {name}", {"machines": machines, "contributions": brought}
    largest = machines[name].to_numpy().argmax()
    machines.iloc[largest, machines.columns.get_loc(name)] += 1
    return f"one more {name} on machine {machines.index[largest]}", {"machines": machines}
