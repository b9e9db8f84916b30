"""The worked example of the TV-DRF paper in exact fractions: what it prints, and for which of the lost counts."""

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import pandas as pd

from book.tv_drf.users import Alone
from fairbook.mechanisms.tv_drf.accounts import Accounts
from fairbook.mechanisms.tv_drf.rule import sharing_coefficient, tv_drf_rule
from fairbook.model.exact import as_fractions


class Example(NamedTuple):
    """The paper's worked example, as far as its numbers fix it: users A and B with a machine each.

    Attributes
    ----------
    machines : (2, 2) numbers
        CPU and GB of A's machine and of B's.
    demands : (2 periods, 2 users, 2) numbers
    first : (2,) numbers
        Tasks submitted in the first period: at least as many by B.
    """

    machines: tuple[tuple[int, int], ...]
    demands: tuple[tuple[tuple[int, int], ...], ...]
    first: tuple[int, int]


#: The paper's worked example.
EXAMPLE = Example(((50, 50), (50, 50)), (((2, 1), (1, 1)), ((5, 5), (20, 10))), (15, 70))


@lru_cache(maxsize=2000)
def example_run(alone: str, counts: tuple[int, int], size: int = 50) -> Accounts:
    """Run the example in fractions on machines of ``size``.

    ``counts`` are the tasks that A and B submit in the second period, which the text has lost.
    """
    data = EXAMPLE.demands, [EXAMPLE.first, counts], [[size] * 2] * 2, [[1, 0], [0, 1]]
    return tv_drf_rule(*(as_fractions(one, "the example") for one in data), alone=alone)  # type: ignore[arg-type]


def _sum(rows: Any) -> list[Fraction]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _used(run: Accounts, user: int, tasks: int) -> list[Fraction]:
    """Give all that a user has used once it has run so many tasks of period 2, (m,)."""
    return _sum([run.amounts[0, user], [tasks * d for d in EXAMPLE.demands[1][user]]])


def _owned(run: Accounts, user: int) -> list[Fraction]:
    """Give what a user would have had alone in both periods, (m,)."""
    return _sum(run.alone[:, user])


def _betas(run: Accounts, tasks: tuple[int, int]) -> tuple[Fraction, ...]:
    """Give the coefficients once so many tasks of period 2 have run."""
    return tuple(sharing_coefficient(_used(run, i, tasks[i]), _owned(run, i)) for i in (0, 1))


def _ran(run: Accounts, t: int) -> list[Fraction]:
    """Give the tasks that A and B have run in a period."""
    return list(run.tasks[t])


def _order(run: Accounts) -> list[int]:
    """List whose turn it was in the second period."""
    return [user for user, _ in run.placed[1]]


def _end(run: Accounts, t: int) -> list[Any]:
    """Give both coefficients at the end of a period."""
    return [sharing_coefficient(_sum(run.amounts[: t + 1, i]), _sum(run.alone[: t + 1, i])) for i in (0, 1)]


def _first_of_a(run: Accounts) -> int:
    """What A is given in the second period before B is given anything, of each resource: five times the tasks."""
    order = _order(run)
    return 5 * (order.index(1) if 1 in order else len(order))


def _after_first(run: Accounts) -> tuple[Any, ...]:
    """Tasks of the first period, and what is left of each resource."""
    return (*_ran(run, 0), *_sum(run.free[0]))


class Printed(NamedTuple):
    """What the text prints, how a run's value is shown, the value, and whether it is the printed one."""

    says: str
    shown: str
    value: Callable[[Any], Any]
    agrees: Callable[[Any], bool]


#: Tasks of A, (50, 50), and of B, (40, 20), in the state of period 2 in which both coefficients are said to be 1.
_MIDDLE = (10, 2)

#: Printed in the text, and how to get it from a run of the example.
PRINTED: dict[str, Printed] = {
    "run": Printed(
        "in the first period A runs 15 tasks and B 70, and then the resources are used up",
        "tasks of A and of B, CPU and memory left: {}",
        _after_first,
        lambda run: _ran(run, 0) == [15, 70] and 0 in _after_first(run)[2:],
    ),
    "t1": Printed(
        "after the first period beta_A = 1 and beta_B = 1.4",
        "beta (A, B) is {}",
        lambda run: _end(run, 0),
        lambda run: _end(run, 0) == [1, Fraction(7, 5)],
    ),
    "start": Printed(
        "at the start of the second period beta_A = 0.23 and beta_B = 0.7",
        "beta (A, B) is {}",
        lambda run: _betas(run, (0, 0)),
        lambda run: [f"{float(beta):.2f}" for beta in _betas(run, (0, 0))] == ["0.23", "0.70"],
    ),
    "first": Printed(
        "in the second period A is given (35, 35) before B is given anything",
        "A is given {} of each",
        _first_of_a,
        lambda run: _first_of_a(run) == 35,
    ),
    "middle": Printed(
        "when A has been given (50, 50) and B (40, 20), both betas are 1",
        "beta (A, B) is {}",
        lambda run: _betas(run, _MIDDLE),
        # whether the second period passes that state
        lambda run: (
            any((_order(run)[:k].count(0), _order(run)[:k].count(1)) == _MIDDLE for k in range(13))
            and _betas(run, _MIDDLE) == (1, 1)
        ),
    ),
    "final": Printed(
        "in the end beta_A = 1.125 and beta_B = 1",
        "beta (A, B) is {}",
        lambda run: _end(run, 1),
        lambda run: _end(run, 1) == [Fraction(9, 8), 1],
    ),
}


def example(counts: tuple[int, int] = (12, 4), alone: Alone = "resources") -> pd.DataFrame:
    """Follow the worked example: what A and B have used, would have had alone, and the ratio, at each printed moment.

    Parameters
    ----------
    counts : (int, int)
        Tasks that A and B submit in period 2, which the paper has lost.
    alone : {"resources", "bundles", "whole_bundles"}
        Reading of what a user would have had alone; see :mod:`fairbook.mechanisms.tv_drf.tv_drf`.

    Returns
    -------
    DataFrame
        One row a moment and user: ``moment``, ``user``, ``tasks`` (of the period in question, so far), ``cpu``,
        ``memory`` (used so far, both periods), ``own_cpu``, ``own_memory``, ``beta``, ``exact`` (as text). The middle
        state is listed whether or not the mechanism passes it.

    Examples
    --------
    >>> example()["exact"].tolist()
    ['1', '7/5', '3/13', '7/10', '1', '1', '9/8', '1']
    """
    run = example_run(alone, counts)
    ran = (int(_ran(run, 1)[0]), int(_ran(run, 1)[1]))
    rows: list[dict[str, Any]] = []
    for moment, tasks in (
        ("after period 1", EXAMPLE.first),
        ("start of period 2", (0, 0)),
        ("A has (50, 50), B (40, 20)", _MIDDLE),
        ("end of period 2", ran),
    ):
        for i, user in enumerate("AB"):
            if moment == "after period 1":
                used, owned = run.amounts[0, i], run.alone[0, i]
            else:
                used, owned = _used(run, i, tasks[i]), _owned(run, i)
            beta = sharing_coefficient(used, owned)
            rows.append(
                {
                    "moment": moment,
                    "user": user,
                    "tasks": tasks[i],
                    "cpu": float(used[0]),
                    "memory": float(used[1]),
                    "own_cpu": float(owned[0]),
                    "own_memory": float(owned[1]),
                    "beta": float(beta),
                    "exact": str(beta),
                }
            )
    return pd.DataFrame(rows)
