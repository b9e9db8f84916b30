"""``fairbook warm``: compile now what a large input would have to wait for."""

from __future__ import annotations

import argparse
from contextlib import suppress
from itertools import product
from typing import Any

from fairbook.cli.common import Refused, add_command, progress
from fairbook.mechanisms import registry

_POOL: dict[str, Any] = {"demands": [[1.0, 4.0], [3.0, 1.0]], "capacities": [9.0, 18.0], "weights": [1.0, 2.0]}
_MACHINES: dict[str, Any] = {"demands": _POOL["demands"], "machines": [[9.0, 18.0], [5.0, 7.0]]}
_PERIODS = _MACHINES | {"demands": [_POOL["demands"]], "tasks": [[3, 2]]}
#: Small inputs of each kind of mechanism: in one pool and on machines, parts for all machines and for each.
_INPUTS: dict[str, list[dict[str, Any]]] = {
    "pool": [_POOL],
    "arrivals": [{"demands": _POOL["demands"], "weights": [1.0, 2.0]}],
    "phases": [_POOL | {"demands": [_POOL["demands"]]}],
    "periods": [
        _PERIODS | {"contributions": [[0.5, 0.4], [0.5, 0.6]]},
        _PERIODS | {"contributions": [0.5, 0.5]},
        _PERIODS | {"contributions": [0.5, 0.5], "machines": [[9.0, 18.0]]},
    ],
    "machines": [_MACHINES],
    "clusters": [{"max_vms": [4, 4, 4], "tolerance": 0.5, "capacities": [5, 4]}],
}


def _besides(name: str) -> None:
    """Run what a small input does not need: a user who leaves, what neither a list nor a short search packs."""
    import numpy as np

    from fairbook.mechanisms.clusters.packing import all_subsets, pack
    from fairbook.mechanisms.pool.online import DmfaSrq

    if name == "dmfa_srq":
        pool = DmfaSrq(2)
        for user in (0, 1, 2):
            pool.arrive(user, [1.0, 2.0 + user], 1.0)
        pool.depart(0)
    if name == "virtual_cluster":
        for kind in (np.int64, np.float64):
            even = (2000 + 2 * (np.arange(24) * 7919 % 1000)).astype(kind)
            odd = np.array([even[::2].sum() - 1, even[1::2].sum() + 1])
            pack(even, odd, 20)
            all_subsets(even[:8].copy(), odd)


def warm(options: argparse.Namespace) -> int:
    """Run mechanisms on little, with every value of what their papers leave open, all compiled."""
    from fairbook import kernels
    from fairbook.errors import InvalidInput
    from fairbook.progress import bar

    if not kernels.compiles():
        raise Refused("there is nothing to compile with: numba is not installed")
    kernels.MOST = -1
    names = list(registry) if "all" in options.mechanisms else options.mechanisms
    for name in bar(names, shown=progress(options), desc="compiling"):
        row = registry[name]
        readings = [{option: value} for option, one in row.readings.items() for value in one.values]
        for given, reading in product(_INPUTS[row.kind], readings or [{}]):
            with suppress(InvalidInput):  # some values ask for another one besides, or for one pool
                row.function(**{key: given[key] for key in given if key in row.takes}, **reading).violations()
        _besides(name)
    return 0


def add_warm(commands: Any) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "warm",
        warm,
        "compile what large inputs need, before the first of them comes",
        details="\nWhat is compiled is kept until the package changes.",
        examples="fairbook warm\nfairbook warm drfh mdrf",
    )
    named = ["all", *registry]
    parser.add_argument("mechanisms", nargs="*", default="all", choices=named, metavar="MECHANISM", help="default: all")
