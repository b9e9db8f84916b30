"""What ``--explain`` says of a user: what stops it, and what a little more of that would change.

Every sentence is made from the rows that are printed as well; a run with a little more serves all users whom the same
thing stops, so the work is linear in users.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
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
        n, users = len(given.users.names), given.users
        rows = rows.iloc[t * n : (t + 1) * n]
        self.labels, self.rows = rows.index.tolist(), rows.to_dict("records")
        self.tasks = rows["tasks" if users.resources else "vms"].to_numpy(dtype=float)
        self.demands = users.demands()[t] if users.period else users.demands() if users.resources else np.zeros((n, 0))
        if users.resources:
            left = pool.to_numpy() - rows[given.use].to_numpy(dtype=float).sum(axis=0)
            stops = np.stack([rows.get("bottleneck", rows["tasks"]) == name for name in users.resources], axis=1)
            self.full = stops | ((self.demands > 0) & (left <= 1e-9 * pool.to_numpy()))
        else:
            self.left = pool.sub(rows.groupby("cluster")["vms"].sum(), fill_value=0)

    def short_of(self, given: Given, i: int) -> list[str]:
        """Give the resources of which a user needs more than is left."""
        return [given.users.resources[j] for j in self.full[i].nonzero()[0]] if given.users.resources else []

    def gains(self, now: _Seen) -> tuple[Any, list[int]]:
        """Give what everyone has more than now, and who has most more."""
        more = self.tasks - now.tasks
        more = np.where(np.abs(more) > 1e-9 * np.maximum(self.tasks, now.tasks), more, 0.0)
        most = np.argsort(-more, kind="stable")[:_MOST_NAMED]
        return more, [i for i in most.tolist() if more[i] > 0]


def sentences(given: Given, rows: pd.DataFrame, wanted: list[str]) -> dict[Any, str]:
    """Give the text about each user that is asked for, or each user and period; about all where nobody is named."""
    told: dict[Any, str] = {}
    seen: dict[int, _Seen] = {}
    runs: dict[Any, Any] = {}
    kept: dict[Any, Any] = {}
    weights = None if given.arrive else given.arguments.get("weights")
    parts = (
        [f" Its weight is {short(one)} of {short(weights.sum())}." for one in weights] if weights is not None else []
    )
    for t, i in _asked(given, wanted):
        now = seen.get(t) or seen.setdefault(t, _Seen(given, rows, t, given.pool))
        text = _why(given, now, i) + (parts[i] if parts else "")
        for key in _keys(given, now, i):
            if key not in runs:
                more, changes = _more(given, key)
                runs[key] = None
                with suppress(InvalidInput):  # what is added may be more than the mechanism takes
                    runs[key] = more, given.run(**changes)[1], changes.get("capacities", given.pool)
            if runs[key] is not None:
                more, frame, pool = runs[key]
                if (key, t) not in kept:
                    then = _Seen(given, frame, t, pool)
                    kept[key, t] = then, *then.gains(now)
                text += f" With {more} {_would(given, kept[key, t], i)}."
        told[now.labels[i]] = text
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
    row, name, names = now.rows[i], now.labels[i], given.users.resources
    if not names:
        return _virtual(name, row, now)
    name = f"{name[0]}: {name[1]}" if given.users.period else name
    stop, lacks = row.get("bottleneck", row.get("stopped_by")), now.short_of(given, i)
    text = f"{name} runs no tasks"
    if row["tasks"]:
        text = f"{name} runs {short(row['tasks'])} tasks, {row['dominant_share']:.1%} of all {row['dominant']}"
    if stop in _STOPS and stop not in names:
        text += f": {_STOPS[stop]}"
    elif lacks:
        text += f": it needs more {' and '.join(lacks)} than is left"
    numbers = {key: short(value) if isinstance(value, float) else value for key, value in row.items()}
    facts = [fact.format(**numbers) for column, fact in _FACTS.items() if column in row]
    return " ".join([f"{text}.", *facts])


def _virtual(name: str, row: dict[Any, Any], now: _Seen) -> str:
    has, cluster = f"{name} has {row['vms']:g} of {row['max_vms']:g} VMs ({row['fraction']:.1%})", row["cluster"]
    if not cluster:
        return f"{name} was turned away: it needs at least {row['minimum']:g} VMs, and so many are free nowhere."
    if row["vms"] >= row["max_vms"]:
        return f"{has}: all that it asked for."
    left = now.left.get(cluster, 0.0)
    return f"{has} on {cluster}, " + (f"where {left:g} VMs are free." if left > 1e-9 else "used up.")


def _would(given: Given, more: tuple[_Seen, Any, list[int]], i: int) -> str:
    """Say what a user would have in a run with a little more; where that is no more, who has it and what stops it."""
    then, gains, most = more
    said = f"it would run {short(then.tasks[i])}" if gains[i] else "nothing would change for it"
    if gains[i] > 0:
        return said
    why = [f"{', '.join(given.users.names[j] for j in most)} would run more"] if most else []
    stop, lacks = then.rows[i].get("stopped_by"), then.short_of(given, i)
    if stop:
        why.append("its own bound would stop it" if stop == "own bound" else "no machine would have room for another")
    elif lacks:
        why.append(f"{' and '.join(lacks)} would stop it")
    return said + (", fewer than now" if gains[i] else "") + (": " if why else "") + ", and ".join(why)


def _keys(given: Given, now: _Seen, i: int) -> list[Any]:
    """Give of what there could be a little more: clusters, machines, or resources that stop a user, by name."""
    row, takes = now.rows[i], given.arguments
    if row.get("bottleneck", row.get("stopped_by")) in ("own bound", "credit", "no tasks"):
        return []
    if not given.users.resources:
        return [row["cluster"]] if row["vms"] < row["max_vms"] else []
    if "machine_counts" in takes:  # those that are alike are tried once
        large = (shape for shape in given.shapes if all(a >= b for a, b in zip(shape, now.demands[i], strict=True)))
        return list(islice(large, _MOST_SHAPES))
    stop = row.get("bottleneck")
    return now.short_of(given, i) if "machines" not in takes else [stop] if stop in given.users.resources else []


def _more(given: Given, key: Any) -> tuple[str, dict[str, Any]]:
    """Say what a little more of it is, and give the arguments that change."""
    takes = given.arguments
    if "machine_counts" in takes:
        line, counts = given.shapes[key], list(takes["machine_counts"])
        counts[line] += 1
        return f"one more machine {takes['machines'].index[line]}", {"machine_counts": counts}
    if "machines" not in takes:
        pool = given.pool.copy()
        name = key if key in pool.index else pool.idxmax()
        pool[name] += 1
        if not given.users.resources:
            return f"one more VM on {name}", {"capacities": pool}
        return f"one more {name} ({short(pool[name])} instead of {short(given.pool[name])})", {"capacities": pool}
    machines = takes["machines"].copy()
    if given.terms.get("method") == "lexicographic":  # they must be of one shape: all of them as one
        parts = takes["contributions"] @ machines[key].to_numpy() / machines[key].sum()
        machines = machines.sum().to_frame("all").T
        machines[key] += 1
        return f"one more {key}", {"machines": machines, "contributions": parts}
    largest = machines[key].to_numpy().argmax()
    machines.iloc[largest, machines.columns.get_loc(key)] += 1
    return f"one more {key} on machine {machines.index[largest]}", {"machines": machines}
