"""``fairbook warm``: compile now what a large input would have to wait for."""

from __future__ import annotations

import argparse
from contextlib import suppress
from typing import Any

from fairbook.cli.common import add_command, progress
from fairbook.mechanisms import registry

_POOL: dict[str, Any] = {"demands": [[1.0, 4.0], [3.0, 1.0]], "capacities": [9.0, 18.0], "weights": [1.0, 2.0]}
_MACHINES = {"demands": _POOL["demands"], "machines": [[9.0, 18.0]]}
#: The least input of each kind of mechanism.
_INPUT: dict[str, dict[str, Any]] = {
    "pool": _POOL,
    "arrivals": {"demands": _POOL["demands"], "weights": [1.0, 2.0]},
    "phases": _POOL | {"demands": [_POOL["demands"]]},
    "periods": _MACHINES | {"demands": [_POOL["demands"]], "tasks": [[3, 2]], "contributions": [0.5, 0.5]},
    "machines": _MACHINES,
    "clusters": {"max_vms": [3, 2], "tolerance": 0.5, "capacities": [4, 2]},
}


def warm(options: argparse.Namespace) -> int:
    """Run mechanisms on little, with every value of what their papers leave open, all compiled."""
    from fairbook import kernels
    from fairbook.errors import InvalidInput
    from fairbook.progress import bar

    kernels.MOST = -1
    names = list(registry) if "all" in options.mechanisms else options.mechanisms
    for name in bar(names, shown=progress(options), desc="compiling"):
        row = registry[name]
        given = {key: value for key, value in _INPUT[row.kind].items() if key in row.takes}
        readings = [{option: value} for option, one in row.readings.items() for value in one.values]
        for reading in readings or [{}]:
            with suppress(InvalidInput):  # some values ask for another one besides
                row.function(**given, **reading).violations()
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
