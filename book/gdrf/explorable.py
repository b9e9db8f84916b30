"""Placing task by task, GDRF beside DRFH's Best-Fit, under the reader's hand."""

import numpy as np

from book.common.explore import Column, Control, Explorable, Panel, State
from book.gdrf.studies import EXAMPLE
from fairbook.mechanisms.placing.drfh import drfh
from fairbook.mechanisms.placing.gdrf import gdrf

__all__ = ["placing", "puzzle"]

_DEMANDS, _MACHINES, _COUNTS = (np.array(part) for part in EXAMPLE[1:])


def placing() -> Explorable:
    """Place the virtual machines of the worked example one by one, under both rules beside each other.

    In this example nobody places twice in a round of GDRF, so a user's k-th virtual machine is one of round k.
    """
    runs = {"GDRF": gdrf(_DEMANDS, _MACHINES, _COUNTS), "Best-Fit": drfh(_DEMANDS, _MACHINES, _COUNTS)}
    room = np.repeat(_MACHINES, _COUNTS, axis=0)
    most = max(len(run.placed_user) for run in runs.values())
    states = []
    for k in range(most + 1):
        panels, said = [], []
        for rule, run in runs.items():
            order = list(zip(run.placed_user.tolist(), run.placed_machine.tolist(), strict=True))
            for j in range(len(room)):
                columns = [
                    Column(
                        name,
                        [("ABC"[i], float(_DEMANDS[i, r])) for i, place in order[:k] if place == j],
                        line=float(room[j, r]),
                    )
                    for r, name in enumerate(("CPU", "memory"))
                ]
                panels.append(Panel(f"{rule}: machine {j}", columns, 8, corner=True))
            counts = [sum(i == user for i, _ in order[:k]) for user in range(3)]
            turn = f"round {counts[order[k - 1][0]]}, " if rule == "GDRF" and 0 < k <= len(order) else ""
            have = ", ".join(f"{who} {count}" for who, count in zip("ABC", counts, strict=True))
            if k > len(order) or k == most:
                last = f"nothing fits any more after {len(order)}"
            else:
                last = f"{'ABC'[order[k - 1][0]]} goes to machine {order[k - 1][1]}" if k else "nothing is placed"
            said.append(f"{rule}: {turn}{last} ({have}).")
        states.append(State(panels, " ".join(said)))
    return Explorable("ABC", [Control("step", [str(k) for k in range(most + 1)])], states)


def puzzle() -> Explorable:
    """Let A, which needs 5 GB, claim more for its virtual machine; there is one machine, and B needs 6."""
    states, claims = [], [5.0, 5.5, 6.5, 7.0]
    for claim in claims:
        first, _ = gdrf([[claim], [6.0]], [[7.0]]).tasks
        held = [("A", claim)] if first else [("B", 6.0)]
        said = f"A claims {claim:g} GB. The larger request comes first: {'A' if first else 'B'} gets the machine."
        said += " A uses 5 GB of it." if first else ""
        states.append(
            State([Panel("the machine; the line is its size", [Column("memory", held, "", 7.0)], 8, "GB")], said)
        )
    return Explorable("AB", [Control("A claims, in GB", [f"{claim:g}" for claim in claims])], states)
