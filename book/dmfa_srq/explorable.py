"""Arrivals under the reader's hand: who is raised, and what stops the lowest."""

from book.common.explore import Column, Control, Explorable, Panel, State
from book.dmfa_srq.printed import algorithm_1_printed
from fairbook.mechanisms.pool.dmfa_srq import dmfa_srq

__all__ = ["arrivals", "puzzle"]

_USERS = {"A": ((1, 1 / 2), 1 / 4), "B": ((1 / 2, 1), 1 / 4), "C": ((1 / 2, 1), 1 / 2)}
_ORDERS = {"as in the paper: A, B, C": "ABC", "C first: C, A, B": "CAB"}


def arrivals() -> Explorable:
    """Let the users of the paper's Figure 1 arrive one by one, in its order and with the largest first."""
    states = []
    for order in _ORDERS.values():
        run = dmfa_srq([_USERS[who][0] for who in order], weights=[_USERS[who][1] for who in order])
        for k in range(1, len(order) + 1):
            now, here = run.at(k), order[:k]
            levels = [
                Column(f"user {who}", [(who, level)], f"{level:.3g}", float(now.levels.min()))
                for who, level in zip(here, now.levels, strict=True)
            ]
            pool = [
                Column(
                    name,
                    [(who, float(use)) for who, use in zip(here, now.tasks * now.demands[:, j], strict=True)],
                    f"{float(now.use[j]):.3g} of {float(now.capacities[j]):.3g}",
                    float(now.capacities[j]),
                )
                for j, name in enumerate(("CPU", "memory"))
            ]
            ended = [name for j, name in enumerate(("CPU", "memory")) if now.slack[j] < 1e-12]
            full = f"{' and '.join(ended)} {'are' if len(ended) > 1 else 'is'} full"
            lowest = " and ".join(
                who for who, level in zip(here, now.levels, strict=True) if level < now.levels.min() + 1e-9
            )
            said = (
                f"{order[k - 1]} brings {_USERS[order[k - 1]][1]:g} of each resource. The lowest, {lowest}, "
                f"{'reach' if ' ' in lowest else 'reaches'} level {now.levels.min():.3g}; then {full}."
            )
            states.append(
                State(
                    [Panel("level of each user", levels, 1.5), Panel("in use; the line is what was brought", pool, 1)],
                    said,
                )
            )
    return Explorable(
        "ABC", [Control("order", list(_ORDERS)), Control("arrived", ["one user", "two", "all three"], 2)], states
    )


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
        "ABC", [Control("algorithm", ["as printed", "right"]), Control("arrived", ["one", "two", "three"], 2)], states
    )
