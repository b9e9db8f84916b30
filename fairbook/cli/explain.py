"""What ``--explain`` says of a user: why it has what it has, and what a little more of what stops it would change.

The first is the sentence of the result. For the second the mechanism runs again; a run serves all users whom the same
thing stops.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any

import numpy as np

from fairbook.cli.common import SAME, Refused, few, short, shown
from fairbook.cli.given import Given
from fairbook.errors import InvalidInput

_MOST_SHAPES = 4  # of machines that are tried
_MOST_NAMED = 3  # of users that would have more instead


def sentences(given: Given, result: Any, rows: Any, wanted: list[str]) -> dict[Any, str]:
    """Give the text about each user that is asked for, or each user and period; about all where nobody is named."""
    users, n, told = given.users, len(given.users.names), dict[Any, str]()
    labels, records = rows.index.tolist(), rows.to_dict("records")
    key = "tasks" if users.resources else "vms"

    @cache
    def with_more(more: Any) -> tuple[str, Any]:
        """Run once more: what there is one more of, and the rows, or None where the mechanism cannot take it."""
        said, changes = _more(given, more)
        with suppress(InvalidInput):
            return said, given.run(**changes)[1]
        return said, None

    @cache
    def gains(more: Any, t: int) -> Any:
        """Tell what everyone has more then, and the names of those who gain most."""
        now, then = (frame[key].to_numpy(dtype=float)[t * n : (t + 1) * n] for frame in (rows, with_more(more)[1]))
        gain = np.where(np.abs(then - now) > SAME * np.maximum(now, then), then - now, 0.0)
        most = np.argsort(-gain, kind="stable")[:_MOST_NAMED]
        return gain, ", ".join(users.names[i] for i in most if gain[i] > 0)

    for t, i in _asked(given, wanted):
        at = t * n + i
        if users.period:
            text = result.explain(users.names[i], t)
            text = text.replace(f" in {result.step} {t}", f" in {users.period} {users.periods[t]}")
        else:
            text = result.explain(users.names[i])
        for more in _keys(given, records[at], t, i):
            said, frame = with_more(more)
            if frame is None:
                continue
            gain, others = gains(more, t)
            then = frame.iloc[at]
            text += f" With {said} "
            text += f"it would run {short(then[key])}" if gain[i] else "nothing would change for it"
            text += ", fewer than now" if gain[i] < 0 else ""
            if gain[i] <= 0:
                stop = then.get("bottleneck")
                why = [f"{others} would run more"] if others else []
                why += [f"{stop} would stop it"] if stop in users.resources else []
                text += ": " * bool(why) + ", and ".join(why)
            text += "."
        told[labels[at]] = text
    return told


def _asked(given: Given, wanted: list[str]) -> Iterator[tuple[int, int]]:
    """Read USER:PERIOD, or USER for all its periods; none of them: everyone in the last period."""
    users = given.users
    at = {name: i for i, name in enumerate(users.names)}
    if not wanted:
        yield from ((len(users.periods) - 1, i) for i in range(len(at)))
    for text in wanted:
        name, _, period = text.rpartition(":")
        if text in at:
            yield from ((t, at[text]) for t in range(len(users.periods)))
        elif users.period and name in at and period in users.periods:
            yield users.periods.index(period), at[name]
        else:
            meant = f", nor USER:{users.period.upper()} of one" if users.period else ""
            raise Refused(f"--explain {shown(text)} is no user of {users.table.source} ({few(list(at))}){meant}")


def _keys(given: Given, row: dict[str, Any], t: int, i: int) -> list[Any]:
    """Give of what there could be one more: lines of machines, of each shape that is large enough, or what is short."""
    if "machine_counts" in given.arguments:
        machines, demand = given.arguments["machines"], given.arguments["demands"].iloc[i]
        large = ~machines.duplicated() & (machines >= demand).all(axis=1)
        return [] if row.get("stopped_by") == "own bound" else np.flatnonzero(large)[:_MOST_SHAPES].tolist()
    stop = row.get("bottleneck")
    if not given.users.resources and row["vms"] < row["max_vms"]:
        stop = row["cluster"]
    return [stop] if stop in given.pool.index else []


def _more(given: Given, key: Any) -> tuple[str, dict[str, Any]]:
    """Say what one more of it is, and give the arguments that change."""
    takes = given.arguments
    if "machine_counts" in takes:
        counts = list(takes["machine_counts"])
        counts[key] += 1
        return f"one more machine {takes['machines'].index[key]}", {"machine_counts": counts}
    if "machines" in takes:
        machines = takes["machines"].copy()
        largest = machines[key].to_numpy().argmax()
        machines.iloc[largest, machines.columns.get_loc(key)] += 1
        return f"one more {key} on machine {machines.index[largest]}", {"machines": machines}
    pool = given.pool.copy()
    pool[key] += 1
    what = f"{key} ({short(pool[key])} instead of {short(pool[key] - 1)})" if given.users.resources else f"VM on {key}"
    return f"one more {what}", {"capacities": pool}
