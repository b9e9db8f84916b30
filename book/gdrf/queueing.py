"""The queue of GDRF, Algorithm 2: who gets the slots of each round, and what is asked of that, with margins."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from book.gdrf.properties import Case, Number, Vector, fluid_tasks, gdrf_rule


class Queue(NamedTuple):
    """Slots of Algorithm 2, round by round, where nothing ever fails to fit."""

    amounts: Vector
    """What a slot adds to each user's resource so far."""
    rounds: tuple[tuple[int, ...], ...]
    """Slots of each user in each round."""
    bounds: tuple[int, ...]
    """Slots that each user asks for; who has them is served."""

    @property
    def active(self) -> int:
        """Rounds at whose end everybody wants more."""
        return sum(all(map(int.__lt__, held, self.bounds)) for held in held_after(self))


def queue_rounds(
    demands: tuple[Vector, ...],
    rounds: int,
    room: Vector | None = None,
    *,
    exact: bool = False,
    skips: int | None = None,
    least: str = "amount",
    bounds: Sequence[int] | None = None,
) -> Queue:
    """Read the queue off a run on one machine that is large enough for all of it.

    ``skips`` names a user whom a broken queue leaves out of every round but the last, for checks that must notice.
    ``room`` is the machine, if not the smallest that will do, and ``least`` what is least. Rounds end when all are
    served.
    """
    n = len(demands)
    # nobody can have more slots than there are, and without a bound the smallest users would fill the machine
    bounds = tuple(bounds or (rounds * n,) * n)
    roomy = Case(demands, (room or roomy_machine(demands, rounds),), bounds)
    placed = gdrf_rule(match="any", least=least)(roomy, exact).placed[: rounds * n]
    table = []
    for t in range(-(-len(placed) // n)):
        row = [0] * n
        for user, _ in placed[t * n : (t + 1) * n]:
            row[(user + 1) % n if user == skips and t < rounds - 1 else user] += 1
        table.append(tuple(row))
    return Queue(tuple(sum(row) for row in demands), tuple(table), bounds)


def roomy_machine(demands: Sequence[Vector], rounds: int, many: Sequence[int] | None = None) -> Vector:
    """Give a machine with room for so many rounds, and ``many`` times (each at least 1) as much of each resource."""
    most = [rounds * len(demands) * max(column) for column in zip(*demands, strict=True)]
    return tuple(most if many is None else (k * x for k, x in zip(many, most, strict=True)))


def held_after(queue: Queue) -> list[tuple[int, ...]]:
    """Slots of each user at the end of each round."""
    return [tuple(map(sum, zip(*queue.rounds[:t], strict=True))) for t in range(1, len(queue.rounds) + 1)]


def first_round(queue: Queue) -> Number:
    """Claim of section 2.4: the first round takes every user. Margin: fewest slots of a user in it, less 1."""
    return min(queue.rounds[0]) - 1


def rounds_of_one(queue: Queue) -> Number:
    """Nobody is left out before round 1 + 1/eps, while all want more, amounts within 1 + eps. Margin: as above."""
    low, high = min(queue.amounts), max(queue.amounts)
    last = np.inf if low == high else 1 + Fraction(low) / (high - low)
    rows = enumerate(queue.rounds[: min(queue.bounds)], 1)
    return min((min(row) - 1 for t, row in rows if t < last), default=0)


def _of_queue(queue: Queue) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """List slots at the ends of rounds with each user who still wants more and each other who has some."""
    pairs = list(itertools.permutations(range(len(queue.amounts)), 2))
    return ((held, i, h) for held in held_after(queue) for i, h in pairs if held[i] < queue.bounds[i] and held[h])


def level_within_one(queue: Queue) -> Number:
    """At the end of each round nobody is ahead of who wants more by more than its own last task. Margin in amounts."""
    a = queue.amounts
    return min((held[i] * a[i] - (held[h] - 1) * a[h] for held, i, h in _of_queue(queue)), default=0)


def envy_in_queue(demands: tuple[Vector, ...], queue: Queue) -> Number:
    """At the end of each round nobody who wants more could run more on what another holds, less one task of that."""
    return min(
        (held[i] - fluid_tasks(demands[i], [(held[h] - 1) * d for d in demands[h]]) for held, i, h in _of_queue(queue)),
        default=0,
    )


def shares_in_queue(demands: tuple[Vector, ...], room: Vector, queue: Queue) -> Number:
    """At the end of each round no dominant share, less one task, is above sum(S) / min(S) times that of another who
    wants more. Margin.
    """
    top = [max(row) for row in Case(demands, (room,)).shares]
    apart = Fraction(sum(room)) / min(room)
    return min((apart * held[i] * top[i] - (held[h] - 1) * top[h] for held, i, h in _of_queue(queue)), default=0)


def slots_lost_by_lie(
    demands: tuple[Vector, ...], said: Vector, rounds: int, run: Callable[[tuple[Vector, ...], int, Vector], Queue]
) -> int:
    """Slots that the first user has less, at the end of the round where these are fewest, if it states more.

    Asked of rounds at whose end all want more, with the truth and with the lie.
    """
    lied = (said, *demands[1:])
    room = roomy_machine((*lied, demands[0]), rounds)
    runs = [run(demands, rounds, room), run(lied, rounds, room)]
    honest, claimed = (held_after(one)[: min(one.active for one in runs)] for one in runs)
    return min((a[0] - b[0] for a, b in zip(honest, claimed, strict=True)), default=0)
