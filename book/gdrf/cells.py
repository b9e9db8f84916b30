"""Users and machines of the GDRF experiments, who places on them, and what is measured.

Table 1 of the paper is the published mix of 12 583 machines. Smaller cells have the same mix, largest remainders first,
with all capacities times 100. Machines are numbered class after class in the order of the table, which matters to every
mechanism that prefers low numbers. 20 users, with CPU and memory from 1 to 4, want as many VMs as they can get.

The paper's users are lost. ``"paper"`` stands for one mix that is as the text says, :data:`USERS`; ``"random"`` for
mixes whose requests are drawn evenly from 1 to 4 (the total of two such numbers has a bell shape, too). The i-th random
mix is the same in every study with the same seed, at every number of machines.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from book.common.runs import choices, interval, numbers, repeat
from book.gdrf.measures import placement_fairness, relative_utilisation
from fairbook.errors import InvalidInput
from fairbook.mechanisms.placing.drfh import drfh
from fairbook.mechanisms.placing.gdrf import gdrf
from fairbook.mechanisms.placing.mdrf import mdrf
from fairbook.mechanisms.placing.per_server_drf import per_server_drf
from fairbook.metrics import jain_index
from fairbook.model.inputs import FloatArray, as_whole
from fairbook.model.placement import Placement
from fairbook.traces.google2011 import load_digest

#: Root of every random stream.
SEED = 2016
#: Numbers of users.
SIZES = (60, 120, 180, 240, 300)
#: Table 1: CPU and memory of a machine as parts of the largest, and how many there are (Reiss et al., SoCC 2012).
MACHINES: tuple[tuple[float, float, int], ...] = (
    (0.5, 0.5, 6732),
    (0.5, 0.25, 3863),
    (0.5, 0.75, 1001),
    (1.0, 1.0, 795),
    (0.25, 0.25, 126),
    (0.5, 0.12, 52),
    (0.5, 0.03, 5),
    (0.5, 0.97, 5),
    (1.0, 0.5, 3),
    (0.5, 0.06, 1),
)

#: A stand-in for Table 3: each pair from 1 to 4 once, and four in the middle once more.
USERS: tuple[tuple[int, int], ...] = (
    *((c, m) for c in range(1, 5) for m in range(1, 5)),
    (2, 3),
    (3, 2),
    (2, 2),
    (3, 3),
)

#: Rules that are compared.
MECHANISMS = ("gdrf", "mdrf_entropy", "mdrf_type", "drfh_best_fit", "drfh_first_fit", "per_server_drf")
#: Those that GDRF is compared with.
BASELINES = MECHANISMS[1:]

#: What is measured on a placement, see :func:`curves`.
MEASURES = (
    "tasks",
    "cpu",
    "memory",
    "cpu_mean",
    "memory_mean",
    "memory_gap",
    "min_share",
    "jain",
    "fairness",
    "fairness_mean",
    "fairness_whole",
)

#: Compared by difference, not by ratio.
_DIFFERENCES = ("memory_gap",)

SCALE = 100.0


class Instance(NamedTuple):
    """What the mechanisms take, in their order.

    Attributes
    ----------
    demands : ndarray, shape (n, 2)
        CPU and memory of a VM.
    machines : ndarray, shape (K, 2)
        Of one machine of each class that is there.
    counts : ndarray of int, shape (K,)
    """

    demands: FloatArray
    machines: FloatArray
    counts: NDArray[np.int64]


def _share_out(number: int, weights: FloatArray) -> NDArray[np.int64]:
    """Share a number out by largest remainders, ties to the earlier."""
    quota = number * weights / weights.sum()
    counts = np.floor(quota).astype(np.int64)
    most = np.argsort(counts - quota, kind="stable")[: number - int(counts.sum())]
    counts[most] += 1
    return counts


@lru_cache(maxsize=2)
def table_1(capacities: str) -> FloatArray:
    """Give CPU, memory and count of each class, the most frequent first."""
    if capacities == "published":
        return np.array(MACHINES)
    frame = load_digest().machines.sort_values("last_known", ascending=False, kind="stable")
    return frame[["cpu", "memory", "last_known"]].to_numpy(dtype=float)


#: How a cell of so many machines may be read off Table 1; the first is that of the figures.
CELLS: dict[str, dict[str, Any]] = {
    "as in the figures": {},
    "machines drawn": {"machines": "drawn"},
    "capacities of the trace": {"capacities": "trace"},
    "classes in reverse": {"order": "reversed"},
    "machines shuffled": {"order": "shuffled"},
    "all 16 pairs of users": {"users": "covering"},
}


def instance(
    rng: np.random.Generator,
    number: int = 60,
    *,
    users: str = "drawn",
    machines: str = "proportional",
    capacities: str = "published",
    order: str = "table",
) -> Instance:
    """Draw 20 users and a cell of so many machines.

    Parameters
    ----------
    rng : numpy.random.Generator
        Of the run; the users are drawn first.
    number : int
        Machines.
    users : {"drawn", "covering", "paper"}
        Requests drawn evenly from 1 to 4, each pair once and four more drawn, or :data:`USERS`.
    machines : {"proportional", "drawn"}
        The mix of Table 1 by largest remainders, or every machine drawn from it.
    capacities : {"published", "trace"}
        As printed (0.25, ...) or as recorded in the trace (0.2493, ...), times 100 either way.
    order : {"table", "reversed", "shuffled"}
        Machines numbered class after class, the most frequent first or last, or in an order that is drawn.

    Examples
    --------
    >>> from book.common.runs import stream
    >>> instance(stream(1), 60).counts.tolist()
    [32, 18, 5, 4, 1]
    """
    if not isinstance(rng, np.random.Generator):
        raise InvalidInput("rng", "must be a numpy.random.Generator", rng)
    number = as_whole(number, "number", 1)
    for argument, value, allowed in (
        ("users", users, ("drawn", "covering", "paper")),
        ("machines", machines, ("proportional", "drawn")),
        ("capacities", capacities, ("published", "trace")),
        ("order", order, ("table", "reversed", "shuffled")),
    ):
        choices((value,), argument, allowed)
    demands = np.array(USERS, dtype=float)
    if users == "drawn":
        demands = rng.integers(1, 5, demands.shape).astype(float)
    elif users == "covering":
        demands[16:] = rng.integers(1, 5, (4, 2))
    table = table_1(capacities)
    if machines == "proportional":
        counts = _share_out(number, table[:, 2])
    else:
        counts = rng.multinomial(number, table[:, 2] / table[:, 2].sum()).astype(np.int64)
    there = counts > 0
    sizes, counts = SCALE * table[there, :2], counts[there]
    if order == "reversed":
        sizes, counts = sizes[::-1], counts[::-1]
    elif order == "shuffled":
        sizes = rng.permutation(np.repeat(sizes, counts, axis=0))
        counts = np.ones(number, dtype=np.int64)
    return Instance(demands, sizes, counts)


# ---------------------------------------------------------------------------------------------------- placements


def drawn(rng: np.random.Generator, number: int, **how: Any) -> tuple[Instance, int]:
    """Draw users, a cell, and then the lot that settles ties."""
    case = instance(rng, number, **how)
    return case, int(rng.integers(2**31))


def place(case: Instance, mechanism: str, lot: int, **settings: Any) -> Placement:
    """Place by one of the mechanisms; settings are readings of GDRF."""
    if mechanism == "gdrf":
        return gdrf(*case, seed=lot, **settings)
    if mechanism.startswith("mdrf"):
        return mdrf(*case, seed=lot, reading="entropy" if mechanism == "mdrf_entropy" else "type")
    if mechanism == "per_server_drf":
        return per_server_drf(*case)
    return drfh(*case, method="best_fit" if mechanism == "drfh_best_fit" else "first_fit")


def measured(placed: Placement) -> list[float]:
    """Give the :data:`MEASURES` of a placement."""
    total, mean = placed.utilisation, np.nanmean(placed.machine_utilisation, axis=0)
    shares = placed.dominant_shares
    capacities = placed.cell.machines[placed.cell.machine_class]
    w = relative_utilisation(np.minimum(placed.machine_use, capacities), capacities)
    stakes = np.bincount(placed.placed_machine, placed.cell.shares.max(axis=1)[placed.placed_user], minlength=len(w))
    f = placement_fairness(stakes, w)
    whole = placed.tasks @ placed.cell.demands
    return [
        len(placed),
        total[0],
        total[1],
        mean[0],
        mean[1],
        abs(mean[1] - total[1]),
        shares.min(),
        jain_index(shares),
        f.sum(),
        f.mean(),
        shares.sum() ** (whole.sum() / placed.cell.totals.sum()),
    ]


def run_all(run: Callable[..., Any], runs: Any, seed: int, progress: bool, label: str, **how: Any) -> FloatArray:
    """Give what a run finds on each random mix, shape (runs, ...); ``how`` has the number of machines."""
    return np.stack(repeat(run, runs, seed=seed, progress=progress, label=label, **how))


def by_size(sizes: Any, runs: Any) -> list[tuple[int, int]]:
    """Pair numbers of machines with their numbers of runs: one for all, or one each."""
    each, many = numbers(sizes, "sizes", "number of machines"), numbers(runs, "runs", "number of runs")
    if len(many) not in (1, len(each)):
        raise InvalidInput("runs", f"must be one number or one for each of the {len(each)} sizes", runs)
    return list(zip(each, many * len(each) if len(many) == 1 else many, strict=True))


def means(values: FloatArray, digits: int, **names: Sequence[Any]) -> pd.DataFrame:
    """Give mean and interval over runs, the first axis; the others, by name and value, become columns."""
    index = pd.MultiIndex.from_product(names.values(), names=list(names)).to_frame(index=False)
    frame = interval(values.round(digits).reshape(len(values), -1))
    return pd.concat([index, frame], axis=1).assign(runs=len(values))


def gains_over(of: FloatArray, against: FloatArray) -> FloatArray:
    """Compare measures, the last axis: by ratio less 1, a few by difference; nan where divided by 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        found: FloatArray = np.where(against != 0, of / against - 1, np.nan)
    for name in _DIFFERENCES:
        at = MEASURES.index(name)
        found[..., at] = of[..., at] - against[..., at]
    # what is equal but for rounding is equal
    rounded: FloatArray = np.round(found, 12) + 0.0
    return rounded
