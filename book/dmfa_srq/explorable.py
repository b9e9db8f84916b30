"""Arrivals under the reader's hand, by the printed algorithm and by the right one."""

from book.common.explore import Column, Control, Explorable, Panel, State
from book.dmfa_srq.printed import algorithm_1_printed
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq

__all__ = ["puzzle"]

_USERS = {"A": ((1, 1 / 2), 1 / 4), "B": ((1 / 2, 1), 1 / 4), "C": ((1 / 2, 1), 1 / 2)}


def puzzle() -> Explorable:
    """Let the same users arrive under the printed algorithm and under the right one."""
    demands, brought = map(list, zip(*_USERS.values(), strict=True))
    states = []
    for run in (algorithm_1_printed(demands, brought), dmfa_srq(demands, weights=brought)):
        for k in (1, 2, 3):
            levels, use = run.levels_at(k), run.use_at(k)
            parts = [
                ("ABC"[i], float(levels[i] * brought[i] * demands[i][1])) for i in range(k)
            ]  # every user needs most of one resource, with 1 a task
            shown = [
                Panel(
                    "level of each user",
                    [
                        Column(f"user {who}", [(who, float(y))], f"{y:.3g}")
                        for who, y in zip("ABC", levels, strict=False)
                    ],
                    1.5,
                ),
                Panel("memory in use; the line is what there is", [Column("memory", parts, "", sum(brought[:k]))], 1.1),
            ]
            over = float(use[1]) > sum(brought[:k]) + 1e-9
            states.append(
                State(
                    shown,
                    f"{use[1]:.4g} of memory is in use, and there is {sum(brought[:k]):g}."
                    + (" Where is the error?" if over else ""),
                )
            )
    return Explorable(
        "ABC", [Control("algorithm", ["as printed", "right"]), Control("arrived", ["one", "two", "three"])], states
    )
