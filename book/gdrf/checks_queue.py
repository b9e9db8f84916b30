"""The claims about the queue of GDRF (2.2, 2.4): who has how many slots at the end of a round."""

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from book.common.claims.registry import Effort, Evidence, Mechanism, Part, claim
from book.common.evidence import in_words, sampled, sampled_claim
from book.gdrf import queueing
from book.gdrf.properties import Case

#: What is judged, and what must be told from it.
QUEUES: dict[str, Any] = {
    "mechanism": Mechanism("queue of GDRF", queueing.queue_rounds),
    "mutant": Mechanism("queue that passes one user over", partial(queueing.queue_rounds, skips=0)),
}


def _users(rng: np.random.Generator, at: int, low: int, high: int) -> tuple[tuple[int, ...], ...]:
    """Draw 2 to 6 users; every fourth time all but the first with zeros, and up to 10^6 times as large."""
    n, m = int(rng.integers(2, 7)), int(rng.integers(1, 4))
    demands = rng.integers(low, high + 1, (n, m))
    if at % 4 == 3:
        demands[1:] *= rng.integers(0, 2, (n - 1, m)) * 10 ** rng.integers(0, 7, (n - 1, 1))
        demands[1:, 0] += demands[1:].sum(axis=1) == 0
    return tuple(map(tuple, demands.tolist()))


def _bounds(rng: np.random.Generator, at: int, users: int) -> list[int] | None:
    """In every other case bound the slots that each user asks for, most of them by few."""
    return rng.choice([1, 2, 3, 5, 8, 12 * users], users).tolist() if at % 2 else None


def _about_the_queue(check: Callable[..., Any], *, largest: int = 9, **about: Any) -> None:
    """Register a statement about Algorithm 2 where nothing ever fails to fit."""

    @sampled_claim(
        **{"kind": "statement"} | about | QUEUES,
        key=15,
        share=20,
        said=lambda margins: (
            f"{len(margins)} random sets of 2 to 6 users, a quarter with zeros and far apart, half with bounds, "
            "through 12 rounds, counted in whole numbers (every tenth placed in fractions): smallest margin "
            f"{min(margins)}."
        ),
        right=lambda margins: True,
    )
    def _look(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
        demands = _users(rng, at, 1 if at // 2 % 2 else largest - 1, largest)  # similar users in every other case
        bounds = _bounds(rng, at, len(demands))
        queue = judged.run(demands, 12, exact=at % 10 == 0, bounds=bounds)
        margin = check(demands, queue) if check is queueing.envy_in_queue else check(queue)
        words = f"Users {demands} who want at most {bounds}: margin {margin}."
        return Part(False, "witness", words, at + 1) if margin < 0 else margin


_about_the_queue(
    queueing.first_round,
    id="gdrf.round_one",
    locator="Section 2.4",
    statement="If everybody asks for a VM, the first round gives every user a slot.",
    proof="thm-gdrf-first-round",
)
_about_the_queue(
    queueing.rounds_of_one,
    id="gdrf.rounds.similar",
    locator="Section 2.4",
    statement="Where amounts lie within a factor 1 + eps, every round before round 1 + 1/eps through which everybody "
    "is in and wants more gives everybody one slot.",
    proof="prop-gdrf-rounds",
)
_about_the_queue(
    queueing.level_within_one,
    id="gdrf.queue",
    locator="Section 2.2, Algorithm 2",
    statement="At the end of a round through which all are in, nobody has more resource than another who wants more by "
    "more than its own last VM.",
    proof="thm-gdrf-queue",
    kind="algorithm",
)
_about_the_queue(
    queueing.envy_in_queue,
    id="gdrf.envy.one",
    locator="beyond the paper (section 2.4)",
    statement="At the end of a round through which all are in, nobody who wants more could run more VMs than it has on "
    "what another holds, less one VM of the other.",
    proof="thm-gdrf-envy",
    kind="extension",
)


def _printed_slots(case: Case, rounds: int, bounds: Sequence[int]) -> list[list[int]]:
    """Algorithm 2 as it is printed: all who have least get a slot, or as many as there are slots, by the ranking."""
    n, table, demands, ranking = len(case.demands), [], case.demands, case.ranking
    held = [0] * n
    for _ in range(rounds):
        left, row = n, [0] * n
        while left and (waiting := [i for i in ranking if held[i] < bounds[i]]):
            least = min(held[i] * sum(demands[i]) for i in waiting)
            for i in [i for i in waiting if held[i] * sum(demands[i]) == least][:left]:
                held[i], row[i], left = held[i] + 1, row[i] + 1, left - 1
        table.append(row)
    return table


@sampled_claim(
    id="gdrf.slots",
    locator="beyond the paper (section 2.2)",
    kind="extension",
    statement="Algorithm 2, which serves all users with the least resource at once, hands out the same slots as one "
    "slot at a time to the first in the ranking of those with the least.",
    proof="lem-gdrf-slots",
    **QUEUES,
    key=28,
    share=20,
    said="{count} random sets of 2 to 6 users, half with bounds, through 8 rounds.",
)
def _batches(rng: np.random.Generator, judged: Mechanism, at: int) -> bool | None:
    demands = _users(rng, at, 1, 5)
    case = Case(demands, (queueing.roomy_machine(demands, 8),))
    if len({(max(row), sum(row)) for row in case.shares}) < len(demands):
        return None  # the lot decides
    bounds = _bounds(rng, at, len(demands)) or [99] * len(demands)
    one_by_one = [list(row) for row in judged.run(demands, 8, case.machines[0], bounds=bounds).rounds]
    return _printed_slots(case, 8, bounds)[: len(one_by_one)] == one_by_one


def _share_margin(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    demands = _users(rng, at, 1, 9)
    room = queueing.roomy_machine(demands, 12, rng.integers(1, 6, len(demands[0])).tolist())
    return queueing.shares_in_queue(demands, room, judged.run(demands, 12, room, bounds=_bounds(rng, at, len(demands))))


@claim(
    id="gdrf.shares",
    locator="beyond the paper (section 1.1)",
    kind="extension",
    statement="At the end of a round through which all are in, a dominant share, less one VM, is at most |S|/min S "
    "times that of anybody who wants more; and two users reach this factor.",
    proof="prop-gdrf-shares",
    **QUEUES,
)
def _apart(effort: Effort, judged: Mechanism) -> Evidence:
    reached, cell = ((1, 0), (1, 2)), (300, 600)
    slots = queueing.held_after(judged.run(reached, 12, cell))[-1]
    tops = [t * max(row) for t, row in zip(slots, Case(reached, (cell,)).shares, strict=True)]
    return Evidence.of(
        sampled(
            _share_margin,
            effort,
            judged,
            key=22,
            share=20,
            said=lambda margins: (
                f"{len(margins)} random sets of 2 to 6 users, half with bounds, through 12 rounds, cells of many "
                f"shapes: smallest margin {float(min(margins)):.3g}."
            ),
            right=lambda margins: min(margins) >= 0,
        ),
        Part(
            tops[0] == tops[1] * Fraction(sum(cell), min(cell)),
            "numbers",
            f"In a cell of {cell}, users {in_words(reached)} have {slots[0]} and {slots[1]} slots after 12 rounds, "
            f"dominant shares {tops[0]} and {tops[1]}.",
            1,
        ),
    )


@sampled_claim(
    id="gdrf.lie.slots",
    locator="beyond the paper (section 2.4)",
    kind="statement",
    variant="while all are in and want more, resource so far by amount",
    statement="A user who overstates its demand has no more slots at the end of any round than with the truth.",
    proof="prop-gdrf-lie",
    mechanism=QUEUES["mechanism"],
    mutant=Mechanism("least dominant share", partial(queueing.queue_rounds, least="dominant_share")),
    key=23,
    share=20,
    said="{count} random sets of 2 to 6 users, half with bounds, through 12 rounds: no lie gains a slot.",
)
def _slots(rng: np.random.Generator, judged: Mechanism, at: int) -> Any:
    demands = _users(rng, at, 1, 5)
    more = rng.integers(0, 4, len(demands[0])).tolist()
    said = tuple(d + more for d, more in zip(demands[0], more, strict=True))
    if at == 0:  # a tie for the last slot of a round, which the larger GDRW wins
        demands, said = ((4, 1), (4, 2), (2, 2)), (4, 3)
    bounds = _bounds(rng, at, len(demands))
    lost = queueing.slots_lost_by_lie(demands, said, 12, partial(judged.run, bounds=bounds))
    words = f"Users {in_words(demands)} who want at most {bounds}: saying {in_words(said)} gains {-lost} slots."
    return Part(False, "witness", words, 1) if lost < 0 else True
