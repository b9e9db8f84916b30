"""The matrix of mechanisms and properties: for each pair the search for a small instance that breaks the property."""

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from book.common.runs import stream
from book.compare.entrants import ENTRANTS, MECHANISMS, Entrant, Shared
from book.compare.properties import PROPERTIES, Property, Witness
from fairbook.model.inputs import as_whole
from fairbook.sweeps import sweep

#: Root of every random stream.
SEED = 2026


def _kept(demands: Any, tasks: Any, block: Any, slot: Any, extra: Any = None) -> Shared:
    rows = np.array(demands, dtype=float)
    nobody = np.array(extra or [], dtype=float).reshape(-1, rows.shape[2])
    return Shared(rows, np.array(tasks, dtype=float), np.array(block, dtype=float), np.array(slot, dtype=float), nobody)


#: Instances that other, longer searches came across or that were made by hand, by the property that one of the
#: mechanisms lacks there: TV-DRF in whole tasks, TV-DRF in fractions, SequentialMinMax, DRF task by task,
#: and one cluster of slots twice.
KEPT: dict[str, tuple[Shared, ...]] = {
    "sharing_periods": (
        _kept(
            [[[3, 1, 1], [1, 3, 1], [2, 1, 3], [3, 1, 1]], [[1, 1, 1], [2, 2, 1], [1, 1, 3], [1, 1, 1]]],
            [[171, 182, 129, 51], [385, 257, 129, 385]],
            [[64, 32, 0], [0, 40, 0], [56, 16, 64], [8, 48, 32]],
            [3, 3, 3],
        ),
    ),
    "sharing_three": (
        _kept(
            [[[4, 4]] * 3, [[1, 4]] * 3, [[4, 1], [4, 1], [4, 2]]], [[0, 0, 2], [3, 0, 1], [0, 3, 1]], [[4, 4]], [4, 4]
        ),
    ),
    "lies_periods": (
        _kept([[[1, 5], [2, 1]], [[1, 1], [1, 1]]], [[99, 99], [0, 0]], [[16, 12]], [2, 5]),
        _kept([[[3], [7]], [[1], [1]]], [[119, 51], [0, 0]], [[102], [30]], [7]),
    ),
    "more": (_kept([[[3], [3], [4]]], [[10, 10, 7]], [[4], [4]], [1], [[3]]),),
    "order": (_kept([[[1], [2]]], [[25, 13]], [[3]] * 4, [1]),),
}


def random_shared(rng: np.random.Generator, size: int, periods: int = 1, grain: int = 1) -> Shared:
    """Draw a small instance in whole numbers.

    Parameters
    ----------
    size : int
        1 to 7: how large its numbers may get; 2 users with one or two machines and one or two resources, up to 4 users
        where it is larger, and with 7 up to 6 users, 4 machines each and 3 resources: what goes wrong between machines
        or racks needs some of them.
    periods : int
        Where there are more than two, demands are powers of two and users at most four: what is lost over three
        periods takes few users whose tasks are far from each other in shape.
    grain : int
        How many times larger machines are: the larger, the less one task is worth.
    """
    most_users, most_resources, most_machines = (6, 3, 4) if size == 7 else (2 + size // 3, 2, 1 + (size > 1))
    n, m = int(rng.integers(2, most_users + 1)), int(rng.integers(1, most_resources + 1))
    n = min(n, 4) if periods > 2 else n
    b = int(rng.integers(1, most_machines + 1))
    while True:
        demands = rng.integers(0, 2 + size, size=(periods, n, m)).astype(float)
        if periods > 2:
            demands = np.where(demands > 0, 2 ** (demands % 4), 0)
        block = rng.integers(0, 4 * size + 1, size=(b, m)).astype(float)
        extra = rng.integers(0, 4 * size + 1, size=(1, m)).astype(float)
        if demands.any(axis=2).all() and (block.sum(axis=0) > 0).all() and block.any(axis=1).all() and extra.any():
            break
    block, extra = grain * block, grain * extra
    total = n * block.sum(axis=0) + extra.sum(axis=0)
    # as good as no bound; where there are two periods, some users want less
    most = np.array([[np.floor((total[row > 0] / row[row > 0]).min()) + 1 for row in rows] for rows in demands])
    if periods > 1:
        most = np.where(rng.random(most.shape) < 0.3, rng.integers(0, 3, size=most.shape), most)
    largest = demands.max(axis=(0, 1)).astype(int)  # a slot holds this, or less: then a task takes several
    return Shared(demands, most, block, rng.integers(np.minimum(largest, 1), largest + 1).astype(float), extra)


def look(entrant: Entrant, property_name: str, tries: int, seed: int = 0) -> tuple[Witness | None, int]:
    """Look for a case that breaks a property (or shows it, for ``"remembers"``), small ones first.

    Parameters
    ----------
    entrant : Entrant
    property_name : str
        Key of :data:`PROPERTIES`.
    tries : int
        Random instances to look at, at most, times the effort of the property; those of :data:`KEPT` come after them.
    seed : int

    Returns
    -------
    (Witness or None, int)
        The first that was found and the number of instances looked at.

    Notes
    -----
    Cost: at most ``tries`` times a few calls of the mechanism; for ``"lies"`` some tens.
    """
    asked = PROPERTIES[property_name]
    number, drawn = 0, _cases(int(tries * asked.effort), asked, seed, entrant.whole)
    for number, case in enumerate(chain(drawn, KEPT.get(property_name, ())), 1):
        if (what := asked.check(case, entrant)) is not None:
            return Witness(case, what), number
    return None, number


def _cases(tries: int, asked: Property, seed: int, whole: bool) -> Iterator[Shared]:
    for number in range(tries):
        rng = np.random.default_rng([seed, number])
        # where a task is a large part of all, "up to one task" forgives everything
        grain = 1 + number % 8 if whole and asked.name != "places" else 1
        # the first half grows step by step, the second is as large as it gets
        case = random_shared(rng, min(1 + 12 * number // tries, 7), asked.periods, grain)
        yield case if asked.name == "more" else replace(case, extra=case.extra[:0])


def _looked(tries: int, seed: int, cell: tuple[str, str]) -> tuple[str, str, int]:
    found, number = look(ENTRANTS[cell[0]], cell[1], tries, seed)
    if found is None:
        return "", "", number
    slot = f"; a slot holds ({', '.join(f'{x:g}' for x in found.case.slot)})" if cell[0].startswith("slots") else ""
    return found.what, str(found.case) + slot, number


def matrix(tries: int = 1000, seed: int = SEED, *, progress: bool = False) -> pd.DataFrame:
    """Ask of every mechanism every property: look for a small instance that breaks it.

    Parameters
    ----------
    tries : int
        Instances looked at for each cell, at most, times the effort of the property; small ones first.
    seed : int
    progress : bool

    Returns
    -------
    DataFrame
        One row per ``mechanism``, ``property``: ``found`` (whether there is a witness), ``tried`` (instances looked
        at), ``witness`` (what happens), ``case`` (where). For ``remembers`` the witness shows the property, for the
        others it breaks it.

    Notes
    -----
    Cost: 192 cells; with linear programs up to 1 s an instance for the fluid DRFH, else some milliseconds.
    """
    tries = as_whole(tries, "tries", 1)
    stream(seed)  # which refuses what is no seed
    asked = [(mechanism, name) for mechanism in MECHANISMS for name in PROPERTIES]
    found = sweep(
        partial(_looked, tries, seed),
        asked,
        progress=progress,
        label="cells of the matrix",
    )
    return pd.DataFrame(
        [
            {
                "mechanism": mechanism,
                "property": name,
                "found": bool(what),
                "tried": number,
                "witness": what,
                "case": case,
            }
            for (mechanism, name), (what, case, number) in zip(asked, found)
        ]
    )
